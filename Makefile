# `make demo` and `make test` are all that a new machine needs; both build .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
NATIVE := $(wildcard native/*.cpp native/*.hpp native/kernels/*.cpp native/kernels/*.hpp)

.PHONY: setup demo test check bench docs clean

setup: $(STAMP)

$(VENV)/.tools: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet "scikit-build-core>=0.11" "nanobind>=2.4"
	$(BIN)/python -m pip install --quiet --group dev --group docs
	touch $@

$(STAMP): $(VENV)/.tools pyproject.toml CMakeLists.txt $(NATIVE)
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[bench,postgres]"
	touch $@

test: setup
	$(BIN)/python -m pytest -q -n 2 --dist worksteal tests

clean:
	rm -rf build $(VENV)
