"""The package as a user meets it: what it exports, what importing it costs, what the checkout offers."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata, resources
from pathlib import Path

import pytest

import whence as wh
from whence import errors

ROOT = Path(__file__).parents[2]
HEAVY = (
    "PIL", "duckdb", "fastapi", "flask", "fsspec", "matplotlib", "pandas", "psycopg", "pyarrow", "pyspark", "rich",
    "sqlalchemy", "z3",
)  # fmt: skip


def loaded_by(code: str) -> set[str]:
    """The top-level modules that a fresh process holds after running the code."""
    report = "import sys; print('\\n'.join({name.partition('.')[0] for name in sys.modules}))"
    run = subprocess.run([sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_importing_whence_loads_nothing_heavy() -> None:
    assert loaded_by("import whence").isdisjoint(HEAVY)


def test_using_selections_loads_nothing_heavy() -> None:
    assert loaded_by("import whence; whence.Selection.parse('0:2,1', (3, 3)).cells()").isdisjoint(HEAVY)


def test_help_loads_nothing_heavy() -> None:
    code = (
        "from click.testing import CliRunner; from whence.cli._group import whence; CliRunner().invoke(whence, ['-h'])"
    )
    assert loaded_by(code).isdisjoint(HEAVY)


def test_public_names_are_these_and_no_others() -> None:
    assert sorted(wh.__all__) == [
        "Answer",
        "Graph",
        "LineageLost",
        "Log",
        "Relation",
        "Selection",
        "TrackedFloat64",
        "UnknownOrigin",
        "compress",
        "errors",
        "explain",
        "open",
        "probe",
        "relation_of",
        "summarize",
        "tracked",
    ]
    assert all(getattr(wh, name) is not None for name in wh.__all__)
    assert set(wh.__all__) <= set(dir(wh))


def test_the_package_does_not_use_its_own_public_names() -> None:
    """What stands below would load what stands above; import-linter cannot see it, see pyproject.toml."""
    package = ROOT / "src" / "whence"
    for path in package.rglob("*.py"):
        if path == package / "__init__.py" or path.is_relative_to(package / "cli"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert all(alias.name != "whence" for alias in node.names), path
            elif isinstance(node, ast.ImportFrom) and node.module == "whence":
                modules = {alias.name for alias in node.names}
                assert all(name in ("_core", "_tracked") or (package / f"{name}.py").exists() for name in modules), (
                    path,
                    modules,
                )


def test_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="slection"):
        _ = wh.slection


def test_versions_agree() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert metadata.version("whence") == wh.__version__ == declared
    assert f"\n## {declared}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_types_are_published() -> None:
    assert resources.files("whence").joinpath("py.typed").is_file()


def test_every_error_has_one_root_and_a_builtin() -> None:
    raised = [each for each in vars(errors).values() if isinstance(each, type) and each.__module__ == errors.__name__]
    assert len(raised) > 5
    for error in raised:
        assert issubclass(error, errors.WhenceError)
        builtins = {base for base in error.__mro__ if base.__module__ == "builtins"} - {
            BaseException,
            Exception,
            object,
        }
        assert builtins or error is errors.WhenceError, f"{error.__name__} is no kind of builtin error"


def test_make_alone_lists_the_targets() -> None:
    env = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    listed = subprocess.run(["make"], cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout
    targets = re.findall(r"^\s+make (\w+)\s+\S", listed, re.MULTILINE)
    assert {"setup", "demo", "test", "check", "bench", "docs", "clean"} <= set(targets)


def test_ci_script_is_executable_bash() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", script], check=True)


def test_extras_of_the_contract_exist() -> None:
    extras = set(metadata.metadata("whence").get_all("Provides-Extra") or [])
    assert {"spark", "ui", "explain", "postgres", "all"} <= extras
