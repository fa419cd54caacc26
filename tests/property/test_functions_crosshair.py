"""CrossHair looks for arguments for which a function and its translation differ."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FUNCTIONS = {
    "age_band": "int",
    "clamped": "int",
    "region": "str",
    "email_domain": "str",
    "grade": "float",
    "tier": "int",
}
MODULE = """
from typing import Optional
from whence.rows.functions import translate
from whence.rows.functions.evaluating import evaluated
from whence.testing.everyday import EVERYDAY, FURTHER

EACH = next(each for each in (*EVERYDAY, *FURTHER) if each.name == {name!r})
INSIDE = translate(EACH.function, EACH.arguments, EACH.returns)


def wanted(x: Optional[{kind}]) -> object:
    try:
        return EACH.function(x)
    except Exception:
        return "raised"


def made(x: Optional[{kind}]) -> object:
    row = {{INSIDE.parameters[0]: x}}
    known = wanted(x)
    if known == "raised" or (isinstance(x, int) and abs(x) >= 2**31) or evaluated(INSIDE.domain, row) is False:
        return known
    return evaluated(INSIDE.value, row){wrong}
"""


def searched(name: str, directory: Path, wrong: str = "") -> subprocess.CompletedProcess[str]:
    (directory / "pair.py").write_text(MODULE.format(name=name, kind=FUNCTIONS[name], wrong=wrong), encoding="utf-8")
    limits = ["--per_condition_timeout", "6", "--per_path_timeout", "3"]
    command = [sys.executable, "-m", "crosshair", "diffbehavior", "pair.wanted", "pair.made", *limits]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=900, check=False)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_difference_is_found(name: str, tmp_path: Path) -> None:
    found = searched(name, tmp_path)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "No differences found" in found.stdout


def test_a_difference_would_be_found(tmp_path: Path) -> None:
    found = searched("clamped", tmp_path, wrong=" + (x == 37)")
    assert found.returncode == 1
    assert "37" in found.stdout
