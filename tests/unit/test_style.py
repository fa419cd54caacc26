"""Rules of the house: short modules, a reason behind each exception from a linter, pages that name what exists."""

from __future__ import annotations

import inspect
import pkgutil
import re
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

import whence as wh
import whence.arrays
import whence.graph
import whence.spark

ROOT = Path(__file__).parents[2]
CODE = sorted(
    path for folder in ("src", "bench", "tests", "examples", "docs") for path in (ROOT / folder).rglob("*.py")
)
PAGES = sorted((ROOT / "docs" / "design").glob("*.md"))
REFERENCE = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
PRAGMA = re.compile(r"# (?:type: ignore\[[\w,-]+\]|noqa: [A-Z0-9, ]+)(?P<reason>.*)$")


def test_every_exception_from_a_linter_has_a_reason() -> None:
    """Behind it in a few words, or in the comment above."""
    bare = []
    for path in CODE:
        lines = path.read_text(encoding="utf-8").splitlines()
        for above, (number, line) in zip(["", *lines], enumerate(lines, 1), strict=False):
            found = PRAGMA.search(line)
            if found and not re.search(r"\w", found["reason"]) and not above.strip().startswith("#"):
                bare.append(f"{path.relative_to(ROOT)}:{number}")
    assert bare == []


def test_modules_are_short() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in CODE if "src" in path.parts}
    assert {path.name: length for path, length in lengths.items() if length > 400} == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_design_page_is_short_and_names_files_that_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 150
    folders = [ROOT, ROOT / "src" / "whence", *(path for path in (ROOT / "src" / "whence").iterdir() if path.is_dir())]
    named = re.findall(r"`([\w./-]+/[\w.-]+\.(?:py|cpp|hpp|md|ts|tsx))`", text)
    assert [name for name in named if not any((folder / name).exists() for folder in folders)] == []


def test_the_reference_has_every_public_name() -> None:
    documented = set(re.findall(r"auto\w+:: (?:[\w.]+\.)?(\w+)", REFERENCE))
    members = {name.strip() for line in re.findall(r":members: (.+)", REFERENCE) for name in line.split(",")}
    for package in (wh, whence.graph, whence.arrays, whence.spark):
        public_names = {name for name in package.__all__ if not inspect.ismodule(getattr(package, name))}
        assert public_names - documented - members == set(), package.__name__


def test_the_reference_has_every_public_member() -> None:
    """Sphinx lists the members of a class that have a docstring, if it is not given a list of its own."""
    module, undocumented = "", []
    for line, after in pairwise(REFERENCE.splitlines()):
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif found := re.match(r"\.\. autoclass:: ([\w.]+)", line):
            assert after == "   :members:", line
            name = found[1] if found[1].startswith("whence.") else f"{module}.{found[1]}"
            kind: Any = pkgutil.resolve_name(name)
            undocumented += [f"{name}.{each}" for each in public(kind) if not inspect.getdoc(getattr(kind, each))]
    assert undocumented == []


def public(kind: type) -> list[str]:
    """The methods and properties of a class that users may call."""
    ours = [each for each in kind.__mro__ if each.__module__.startswith("whence")]
    members = {name: value for each in reversed(ours) for name, value in vars(each).items() if name[0] != "_"}
    methods = (property, cached_property, classmethod, staticmethod, FunctionType)
    return [name for name, value in members.items() if isinstance(value, methods)]
