# `make demo` and `make test` are all that a new machine needs. Every target first brings .venv up to date,
# which costs nothing when neither pyproject.toml nor the native sources changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
NATIVE := CMakeLists.txt $(wildcard native/*.cpp native/*.hpp native/*/*.cpp native/*/*.hpp)

# An editable install finds new modules by itself, but remembers where the old ones were: it is renewed when one is gone.
GONE := $(shell cat $(STAMPS)/modules 2> /dev/null | while read module; do test -e "$$module" || echo "$$module"; done)

# Two warnings that tell a user of this Makefile nothing: a newer pip exists; pip runs as root (in a container, into a venv).
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
PIP := $(BIN)/python -m pip -qq # errors only: an index that lacks a package is no news while another has it

ASAN_TESTS ?= tests/unit/test_tracked_*.py tests/property/test_tracked_*.py tests/property/test_relation_compress.py \
  tests/property/test_relation_lookup.py tests/property/test_relation_validation.py tests/unit/test_relation_disjoint.py tests/unit/test_relation_named.py

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-programs test-pipelines test-tpcds check lint types imports doctest bench docs clean asan ui

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMPS)/package ## build the native core and install everything into .venv

demo: setup ## the main jobs end to end: a hot spot traced to its pixels, a row of a Spark report to its source rows
	@$(BIN)/whence demo

test: setup ## every test
	@$(BIN)/python -m pytest -q -n auto --maxprocesses 8 --dist worksteal tests

test-programs: setup ## three thousand random programs of tracked calls and plain code (make test takes thirty)
	@WHENCE_EXAMPLES=3000 $(BIN)/python -m pytest -q -n 0 tests/property/test_linking_programs.py

test-pipelines: setup ## all pipelines like those of notebooks, against lineage written by hand (make test takes a dozen)
	@WHENCE_ALL_PIPELINES=1 $(BIN)/python -m pytest -q -n auto --maxprocesses 4 --dist worksteal tests/pipelines

# DuckDB's generator of TPC-DS is a wheel for one version of DuckDB, which is not the one that whence uses.
TPCDS := build/tpcds
$(TPCDS)/bin/python:
	@$(PYTHON) -m venv $(TPCDS)
	@$@ -m pip -qq install duckdb==1.5.5 duckdb-extension-tpcds==1.5.5

test-tpcds: setup $(TPCDS)/bin/python ## the lineage of all 99 queries of TPC-DS, and its page in the documentation
	@$(BIN)/python bench/tpcds_coverage.py --data $(TPCDS)/data --python $(TPCDS)/bin/python --page docs/reference/tpcds.md

check: lint types imports docs doctest ## format, lint, types, import direction, docs without warnings, doctests

asan: setup ## the native core's tests under AddressSanitizer and UBSan
	@$(BIN)/cmake -S . -B build/asan -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DWHENCE_SANITIZE=ON \
	  -DPython_EXECUTABLE=$(abspath $(BIN))/python > build/asan.log || { cat build/asan.log; exit 1; }
	@$(BIN)/cmake --build build/asan > build/asan.log || { cat build/asan.log; exit 1; }
	@LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0 \
	  $(BIN)/python tests/sanitized.py build/asan $(ASAN_TESTS)

bench: setup ## every claim against its baselines, at small sizes
	@$(BIN)/whence bench --size small

ui: ## the explorer's page, from ui/ into src/whence/ui/static (needs npm; only who changes the page needs it)
	@cd ui && npm ci --silent && npm run --silent types && npm run --silent build

docs: setup ## the documentation, into docs/_build/html
	@$(BIN)/python docs/_ext/commands.py
	@$(BIN)/python docs/_ext/operators.py
	@$(BIN)/python docs/_ext/measured.py
	@$(BIN)/python -m sphinx -q -W --keep-going -j auto -b html -d docs/_build/doctrees docs docs/_build/html

clean: ## remove whatever the other targets made
	rm -rf build $(VENV) ui/node_modules docs/_build demo-out bench-out .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache

# The parts of `make check`, each of which runs on its own too.
lint: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: setup
	@$(BIN)/mypy

imports: setup
	@$(BIN)/lint-imports --no-logo > $(VENV)/.imports.txt || { cat $(VENV)/.imports.txt; exit 1; }

doctest: setup
	@$(BIN)/python -m pytest -q --doctest-modules src examples

# .venv in steps, so that a change reinstalls no more than it has to.
$(STAMPS)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "whence needs Python 3.11 or newer, and $(PYTHON) is not: make PYTHON=/path/to/python3 ..."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install --upgrade "pip>=25.1" # the first that knows dependency groups
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/tools: $(STAMPS)/python pyproject.toml
	@echo "installing the tools into $(VENV)"
	@$(PIP) install --group dev --group docs
	@touch $@

$(STAMPS)/package: $(STAMPS)/tools pyproject.toml $(NATIVE) $(if $(GONE),FORCE)
	@echo "building whence"
	@$(PIP) install --no-build-isolation --editable ".[all]"
	@find src/whence -name '*.py' > $(STAMPS)/modules
	@touch $@

FORCE:
