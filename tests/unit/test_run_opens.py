"""What compiled libraries and other programs read under `whence run`, and what the run says that it cannot see."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import whence as wh
from whence.interop import preload
from whence.interop.command import Run, run

pytestmark = pytest.mark.skipif(preload.library() is None, reason="the library is for Linux")


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> wh.Log:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("b,2\na,1\n")
    parquet.write_table(pa.table({"x": [1, 2]}), tmp_path / "data.parquet")
    with sqlite3.connect(tmp_path / "data.db") as database:
        database.execute("CREATE TABLE t (x)")
    database.close()
    return wh.open(tmp_path / "project.whence")


def python(log: wh.Log, code: str, opens: bool = True) -> Run:
    done = run(log, [sys.executable, "-c", code], opens=opens)
    assert done.exit_code == 0
    return done


@pytest.mark.parametrize(
    ("code", "read"),
    [
        ("from pyarrow import parquet; parquet.read_table('data.parquet')", "data.parquet"),
        ("from pyarrow import csv; csv.read_csv('data.csv')", "data.csv"),
        ("import duckdb; duckdb.sql(\"SELECT * FROM 'data.parquet'\").fetchall()", "data.parquet"),
        ("import subprocess; subprocess.run(['sort', 'data.csv'], check=True)", "data.csv"),
        ("import os; os.system('cat < data.csv | wc -l')", "data.csv"),
        ("import sqlite3; sqlite3.connect('data.db').execute('SELECT * FROM t').fetchall()", "data.db"),
    ],
)
def test_what_the_audit_hook_misses_is_seen(log: wh.Log, code: str, read: str) -> None:
    done = python(log, code)
    assert (done.used, done.generated, done.unseen) == ({read: f"{read}@v1"}, {}, ())


def test_recipes_and_scripts_are_seen(log: wh.Log) -> None:
    Path("Makefile").write_text("sorted.csv: data.csv\n\tsort data.csv > sorted.csv\n")
    done = run(log, ["make", "-s"])
    assert sorted(done.used) == ["Makefile", "data.csv"]
    assert list(done.generated) == ["sorted.csv"]
    Path("count.sh").write_text("name=sorted\nwc -l < $name.csv > count.txt\n")
    done = run(log, ["sh", "count.sh"])
    assert done.used == {"count.sh": "count.sh@v1", "sorted.csv": "sorted.csv@v1"}
    assert log.graph.ancestors("count.txt@v1")[-1] == done.activity
    assert log.graph[done.activity]["files_found_by"] == "opens"


def test_a_database_changed_in_place_is_used_as_it_was(log: wh.Log) -> None:
    before = hashlib.sha256(Path("data.db").read_bytes()).hexdigest()
    code = "import sqlite3\nwith sqlite3.connect('data.db') as c: c.execute('INSERT INTO t VALUES (1)')"
    done = run(log, [sys.executable, "-S", "-c", code])  # -S: without the audit hook
    assert done.used == {"data.db": "data.db@v1"}
    assert done.generated == {"data.db": "data.db@v2"}
    assert log.graph["data.db@v1"]["sha256"] == before
    assert ("data.db@v2", "wasDerivedFrom", "data.db@v1") in log.graph.edges


@pytest.mark.parametrize("size", [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000, 100_000])
def test_what_is_appended_to_is_used_as_it_was(log: wh.Log, size: int) -> None:
    """The library computes SHA-256 itself: lengths around the ends of its blocks."""
    content = bytes(place % 251 for place in range(size))
    Path("grows.bin").write_bytes(content)
    done = run(log, ["sh", "-c", "echo more >> grows.bin"])
    assert (done.used, done.generated) == ({"grows.bin": "grows.bin@v1"}, {"grows.bin": "grows.bin@v2"})
    assert log.graph["grows.bin@v1"]["sha256"] == hashlib.sha256(content).hexdigest()


def test_what_is_overwritten_is_not_used(log: wh.Log) -> None:
    assert run(log, ["sh", "-c", "echo other > data.csv"]).used == {}
    assert run(log, ["sh", "-c", "sort data.csv > tmp; mv tmp data.csv"]).used == {"data.csv": "data.csv@v1"}


def test_a_program_of_the_project_is_used(log: wh.Log) -> None:
    shutil.copy(str(shutil.which("cat")), "reader")
    done = run(log, ["./reader", "data.csv"])
    assert sorted(done.used) == ["data.csv", "reader"]


def test_installed_packages_and_hidden_files_are_no_inputs(log: wh.Log) -> None:
    for place in (".cache/a.txt", "__pycache__/a.txt", "env/lib/site-packages/a.txt", "other.whence/a.txt"):
        Path(place).parent.mkdir(parents=True)
        Path(place).write_text("x")
    everything = "cat .cache/a.txt __pycache__/a.txt env/lib/site-packages/a.txt other.whence/a.txt data.csv"
    assert list(run(log, ["sh", "-c", everything]).used) == ["data.csv"]


def test_without_the_library_the_run_says_what_it_cannot_see(log: wh.Log) -> None:
    code = "from pyarrow import parquet; parquet.read_table('data.parquet')"
    done = python(log, code, opens=False)
    assert done.used == {}
    assert done.unseen == (preload.COMPILED,)
    assert log.graph[done.activity]["not_seen"] == [preload.COMPILED]


def test_a_program_linked_statically_is_named(log: wh.Log, tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("g++")
    source = tmp_path / "static.c"
    source.write_text("int main() { return 0; }")
    if compiler is None or subprocess.run([compiler, "-static", "-o", "fixed", source], check=False).returncode:
        pytest.skip("no compiler that links statically")
    for command in (["./fixed"], ["sh", "-c", "./fixed; ./fixed"]):
        [told] = run(log, command).unseen
        assert told.startswith("what fixed read is not known, because it is linked statically")


def test_another_library_that_is_loaded_stays(log: wh.Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", str(preload.library()))
    code = "import os; open('variable.txt', 'w').write(os.environ['LD_PRELOAD'])"
    python(log, code)
    assert Path("variable.txt").read_text() == f"{preload.library()} {preload.library()}"


def test_many_processes_note_side_by_side(log: wh.Log) -> None:
    for number in range(40):
        Path(f"part-{number}.txt").write_text(str(number))
    done = run(log, ["sh", "-c", "for i in $(seq 0 39); do cat part-$i.txt > out-$i.txt & done; wait"])
    assert len(done.used) == len(done.generated) == 40
    assert done.uncertain == ()


def test_what_another_program_writes_meanwhile_is_not_an_output(log: wh.Log) -> None:
    def edit() -> None:
        while not Path("started.txt").exists():
            time.sleep(0.01)
        Path("data.db").unlink()
        Path("notes.txt").write_text("from an editor")

    editor = threading.Thread(target=edit)
    editor.start()
    done = run(log, ["sh", "-c", "echo > started.txt; until [ -s notes.txt ]; do sleep 0.05; done"])
    editor.join()
    assert (list(done.generated), done.uncertain, done.removed) == (["started.txt"], ("data.db", "notes.txt"), {})
