"""The map of the code names files that exist, and every package stands on it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "design" / "architecture.md").read_text(encoding="utf-8")


def test_every_file_on_the_map_exists() -> None:
    named = re.findall(r"`((?:src/whence|native)/[\w/.]+)`", PAGE)
    assert len(named) > 20
    assert [each for each in named if not (ROOT / each).exists()] == []


def test_every_package_is_on_the_map() -> None:
    packages = {each.parent.name for each in (ROOT / "src" / "whence").glob("*/__init__.py")}
    assert {each for each in packages if f"`{each}/`" not in PAGE} == set()


def test_folders_on_the_map_exist() -> None:
    for package in ("spark", "store", "arrays", "rows"):
        (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{package}/`")]
        folders = re.findall(r"`(\w+)/`", row)[1:]
        assert folders
        assert [each for each in folders if not (ROOT / "src" / "whence" / package / each).is_dir()] == []
