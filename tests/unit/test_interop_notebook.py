"""The cell magic, in a real IPython shell."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import whence as wh
from whence.errors import BadType


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / ".ipython"))
    monkeypatch.delenv("WHENCE_LOG", raising=False)
    (tmp_path / "data.csv").write_text("1,2")
    wh.open(tmp_path / "project.whence").close()
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # which the shell replaces by its own
    made: Any = InteractiveShell  # which has no types
    shell = made()
    shell.history_manager.enabled = False
    shell.run_line_magic("load_ext", "whence")
    yield shell
    atexit.unregister(shell.atexit_operations)
    shell.atexit_operations()


def test_a_cell_is_recorded_with_the_files_it_opens(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    cell = "from pathlib import Path\ntext = Path('data.csv').read_text()\n_ = Path('model.bin').write_text(text)"
    shell.run_cell_magic("whence", "train --agent ada", cell)
    assert shell.user_ns["text"] == "1,2"
    said = capsys.readouterr().err
    assert "train#1 used data.csv@v1; generated model.bin@v1 (in " in said
    assert said.rstrip().endswith("project.whence)"), "the cell says which log"
    with wh.open("project.whence") as log:
        graph = log.graph
        assert graph.ancestors("model.bin") == ["data.csv@v1", "train#1"]
        assert graph.of_kind("agent") == ["ada"]
        assert "model.bin" in graph["train#1"]["source"]


def test_a_file_rewritten_by_a_cell_is_used_as_it_was(shell: Any) -> None:
    shell.run_cell_magic(
        "whence", "", "from pathlib import Path; p = Path('data.csv'); _ = p.write_text(p.read_text() + ',3')"
    )
    with wh.open("project.whence") as log:
        assert log.graph.versions("data.csv") == ["data.csv@v1", "data.csv@v2"]
        assert log.graph["data.csv@v1"]["size"] == 3
        assert log.graph.acyclic


def test_cells_outside_of_the_magic_are_not_looked_at(shell: Any) -> None:
    shell.run_cell("from pathlib import Path; _ = Path('data.csv').read_text()")
    shell.run_cell_magic("whence", "nothing", "x = 1")
    with wh.open("project.whence") as log:
        assert log.graph.of_kind("entity") == []


def test_failures_are_recorded(shell: Any) -> None:
    shell.run_cell_magic("whence", "divide --in data.csv --out never.bin", "1 / 0")
    with wh.open("project.whence") as log:
        assert log.graph["divide#1"]["error"] == "ZeroDivisionError: division by zero"
        assert log.graph.of_kind("entity") == ["data.csv@v1"]


def test_wrong_words_are_errors(shell: Any) -> None:
    from whence.notebook import run_cell

    with pytest.raises(BadType, match="use it as"):
        run_cell(shell, "train --inn data.csv", "x = 1")
    with pytest.raises(BadType, match="close the quotes"):
        run_cell(shell, "train --in 'data.csv", "x = 1")


def test_a_file_that_is_appended_to_is_used_and_one_that_is_left_as_it_is_not_generated(shell: Any) -> None:
    shell.run_cell_magic("whence", "append", "with open('data.csv', 'a') as file: _ = file.write(',3')")
    shell.run_cell_magic("whence", "look", "open('data.csv', 'r+').close()")
    shell.run_cell_magic("whence", "rewrite", "with open('data.csv', 'w+') as file: _ = file.write('new')")
    with wh.open("project.whence") as log:
        edges = {edge for edge in log.graph.edges if edge[1] in ("used", "wasGeneratedBy")}
        assert edges == {
            ("append#1", "used", "data.csv@v1"), ("data.csv@v2", "wasGeneratedBy", "append#1"),
            ("look#2", "used", "data.csv@v2"), ("data.csv@v3", "wasGeneratedBy", "rewrite#3"),
        }  # fmt: skip
