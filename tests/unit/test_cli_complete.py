"""Completion of names in a shell."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import BashComplete

import whence as wh
from whence.cli._group import whence


def completed(folder: Path, words: str) -> list[str]:
    """What is offered for the last of the words."""
    *before, last = words.split(" ")[1:]
    with contextlib.chdir(folder):
        offered = BashComplete(whence, {}, "whence", "_WHENCE_COMPLETE").get_completions(before, last)
    return [each.value for each in offered]


@pytest.fixture(autouse=True)
def _no_other_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WHENCE_LOG", raising=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log with arrays, a file, a run, and names that would disturb a shell."""
    own = tmp_path_factory.mktemp("project")
    with wh.open(own / "project.whence") as log:
        for name in ("spots", "spectrum", "10%_up", "10 percent"):
            log.array(name, shape=(2,))
        with log.activity("train.py") as activity:
            for name in ("out.csv", "\x1b[31mred\n.csv"):
                (own / name).write_text("a\n1\n")
                activity.generated(own / name)
    return own


def test_names_of_datasets_are_completed(folder: Path) -> None:
    assert completed(folder, "whence backward sp") == ["spectrum", "spots"]
    assert completed(folder, "whence backward spots 0 --to spe") == ["spectrum"]
    assert completed(folder, "whence backward 10%") == ["10%_up"], "no pattern"
    assert completed(folder, "whence versions o") == ["out.csv", "out.csv@v1"], "a version may be left out"
    offered = completed(folder, "whence show ")
    assert {"spots", "out.csv@v1"} < set(offered)
    assert all(each.isprintable() for each in offered), "a shell would take each line for a name"
    with wh.open(folder / "project.whence") as log:
        assert completed(folder, "whence segment --dst train") == list(log.graph.of_kind("activity"))


def test_without_a_log_nothing_is_offered(folder: Path, tmp_path: Path) -> None:
    assert completed(tmp_path, "whence backward ") == [], "no log"
    (tmp_path / "a.whence").mkdir()
    (tmp_path / "a.whence" / "catalog.sqlite").write_bytes(b"damaged" * 100)
    assert completed(tmp_path, "whence backward ") == [], "a damaged catalog"
    (tmp_path / "b.whence").mkdir()
    assert completed(tmp_path, "whence backward ") == [], "several logs"
    assert completed(tmp_path, f"whence backward --log {folder / 'project.whence'} sp") == ["spectrum", "spots"]


def test_a_shell_gets_one_name_a_line_and_no_message(folder: Path, tmp_path: Path) -> None:
    for where, offered in ((folder, "plain,spectrum\nplain,spots\n"), (tmp_path, "\n")):
        words = {"_WHENCE_COMPLETE": "bash_complete", "COMP_WORDS": "whence backward sp", "COMP_CWORD": "2"}
        done = subprocess.run(
            [sys.executable, "-c", "from whence.cli import main; main()"], cwd=where, env=os.environ | words,
            text=True, capture_output=True, check=False,
        )  # fmt: skip
        assert (done.stdout, done.stderr) == (offered, "")
