"""Finding a Java that Spark can run on."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from whence.errors import MissingExtra
from whence.spark.sessions import local as session


def fake_java(directory: Path, version: str) -> Path:
    java = directory / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-01-01' >&2\n")
    java.chmod(0o755)
    return directory


@pytest.mark.parametrize(("text", "major"), [("17.0.15", 17), ("1.8.0_402", 8), ("25", 25), ("21-ea", 21)])
def test_versions(tmp_path: Path, text: str, major: int) -> None:
    assert session._java_version(fake_java(tmp_path, text) / "bin" / "java") == major
    assert session._java_version(tmp_path / "nothing") is None


def test_java_home_first_unless_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new, old = fake_java(tmp_path / "new", "21.0.1"), fake_java(tmp_path / "old", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(new))
    monkeypatch.setattr(session, "_system", lambda: str(old))
    assert session.find_java() == session.Java(new, 21, "JAVA_HOME")
    monkeypatch.setenv("JAVA_HOME", str(old))
    monkeypatch.setattr(session, "_system", lambda: str(new))
    assert session.find_java().whose == "system"


def test_no_java_says_where_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(session, "_system", lambda: None)
    monkeypatch.setattr(session, "_bundled", lambda: None)
    with pytest.raises(MissingExtra, match=r"whence\[spark\]"):
        session.find_java()


def test_the_bundled_java_runs_without_the_module_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache with a space"))
    home = session._wrapped(Path("/bin/echo"))
    run = [str(home / "bin" / "java"), "-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "Main"]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "-Xmx1g a b Main\n"
    assert session._wrapped(Path("/bin/echo")) == home
