"""What a log does between its parts: imports, migrations, freshness, order of writing."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

import whence as wh
from whence.errors import FutureVersion, StoreError
from whence.graph import Graph
from whence.relation.tables import over_columns
from whence.store.catalog import database, migrations, statements
from whence.store.catalog.migrations import Migration
from whence.store.prov.importing import add_graph

HEAVY = {"sqlalchemy", "fsspec", "pyarrow", "pandas", "rich", "psycopg", "pyspark", "duckdb"}


def test_importing_the_store_imports_nothing_heavy() -> None:
    code = "import sys, whence.store; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "whence" in loaded
    assert not HEAVY & set(loaded)


def two_arrays(log: wh.Log) -> wh.Log:
    log.array("A", shape=(5,))
    log.array("B", shape=(5,))
    log.lineage("B", "A", "identity")
    return log


def spied(patch: pytest.MonkeyPatch, owner: Any, name: str) -> list[Any]:
    """The last argument of each call; the calls go through."""
    calls: list[Any] = []
    real = getattr(owner, name)

    def call(*arguments: Any) -> Any:
        calls.append(arguments[-1])
        return real(*arguments)

    patch.setattr(owner, name, call)
    return calls


def test_a_warm_question_reads_one_row_of_the_catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with two_arrays(wh.open(tmp_path / "log")) as log:
        log.query(["B", "A"], "0")
        reads, opened = spied(monkeypatch, database.Database, "read"), spied(monkeypatch, log._store.blobs, "open")
        for _ in range(5):
            assert len(log.query(["B", "A"], "0")) == 1
            assert len(log.backward("B", "0", to="A")) == 1
        assert (reads, opened) == ([], [])
        log.array("C", shape=(5,))
        reads.clear()
        assert len(log.query(["B", "A"], "0")) == 1
        assert len(reads) == 1
        assert opened == []


def test_only_what_is_new_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = spied(monkeypatch, statements, "edges_after")
    with two_arrays(wh.open(tmp_path / "log")) as log:
        log.query(["B", "A"], "0")
        log.lineage("B", "A", "whole")
        assert len(log.query(["B", "A"], "0")) == 5
        log.array("C", shape=(5,))
        log.lineage("C", "B", "identity")
        log.delete("C")
        log.query(["B", "A"], "0")
    assert asked[0] == -1
    assert sorted(asked[1:-1]) == asked[1:-1]
    assert asked[-2] >= 2
    assert asked[-1] == -1  # something was deleted: all of it is read again


def test_a_small_cache_still_answers(tmp_path: Path) -> None:
    with two_arrays(wh.open(tmp_path / "log", cache=0)) as log:
        for _ in range(3):
            assert len(log.query(["B", "A"], "0:3")) == 3


def test_a_relation_whose_rows_fit_into_the_cache_is_read_once(tmp_path: Path) -> None:
    """Its size is that of its columns in memory: those that are constant, such as the columns of a table, take none."""
    rows = np.random.default_rng(0).permutation(20_000)
    pairs = np.stack([np.arange(len(rows)), rows], axis=1)
    relation = over_columns(wh.compress(pairs, (len(rows),), (len(rows),)), 3, 4)
    with wh.open(tmp_path / "log") as log:
        log.array("A", shape=relation.in_shape)
        log.array("B", shape=relation.out_shape)
        log.lineage("B", "A", relation)
    with wh.open(tmp_path / "log", cache=8 * 2 * len(rows)) as log:
        reader = log._store.reader
        with reader._database.read() as connection:
            (found,) = statements.derivations(connection, output="B")
        held = reader.boxes(found.hash)
        assert held.numbers == len(rows)
        assert log.backward("B", [(7, 0)], to="A").cells().tolist() == [[rows[7], each] for each in range(4)]
        assert reader.boxes(found.hash) is held


def test_the_catalog_refers_only_to_blobs_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []
    write, replace = database.Database.write, os.replace

    def spy_write(self: Any, *arguments: Any, **options: Any) -> Any:
        happened.append("transaction")
        return write(self, *arguments, **options)

    def spy_replace(source: Any, target: Any) -> None:
        replace(source, target)
        happened.append("blob")

    with wh.open(tmp_path / "log") as log:
        log.array("A", shape=(5,))
        log.array("B", shape=(5,))
        monkeypatch.setattr(database.Database, "write", spy_write)
        monkeypatch.setattr(os, "replace", spy_replace)
        log.register_operation("f", ["A", "B"], ["B"], capture=["identity", "whole"])
    assert happened == ["blob", "blob", "transaction"]


# --- migrations


def _second(connection: sa.Connection, types: dict[str, str], now: str) -> None:
    connection.exec_driver_sql(f"CREATE TABLE versions (id {types['id']}, note {types['json']})")
    connection.exec_driver_sql("ALTER TABLE entities ADD COLUMN version BIGINT")


def _failing(connection: sa.Connection, types: dict[str, str], now: str) -> None:
    _second(connection, types, now)
    connection.exec_driver_sql("UPDATE entities SET version = 1")
    connection.exec_driver_sql("this is not SQL")


def _tables(log: wh.Log) -> set[str]:
    with log._store.database.read() as connection:
        return set(sa.inspect(connection).get_table_names())


def test_a_log_in_which_all_times_were_known_is_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = tuple(each for each in migrations.MIGRATIONS if not each.name.startswith("0005"))
    with monkeypatch.context() as patch:
        for module in (migrations, database):
            patch.setattr(module, "MIGRATIONS", older)
        with two_arrays(wh.open(tmp_path / "log")) as log:
            before = log.datasets(), log.operations(), log.graph.edges
    with wh.open(tmp_path / "log") as log:
        assert (log.datasets(), log.operations(), log.graph.edges) == before
        assert log.check().ok
        add_graph(log._store, Graph.build([("undated", "entity")], []))
        assert log.datasets()[-1].created is None


def test_an_older_log_is_brought_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two_arrays(wh.open(tmp_path / "log")).close()
    newer = (*migrations.MIGRATIONS, Migration("0002-versions", _second))
    with monkeypatch.context() as patch:
        for module in (migrations, database):
            patch.setattr(module, "MIGRATIONS", newer)
        for _ in range(2):
            with wh.open(tmp_path / "log") as log:
                assert "versions" in _tables(log)
                assert len(log.query(["B", "A"], "0")) == 1
        with wh.open(tmp_path / "new") as log:
            assert "versions" in _tables(log)
    with pytest.raises(FutureVersion, match="0002-versions"):
        wh.open(tmp_path / "log")


def test_a_migration_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two_arrays(wh.open(tmp_path / "log")).close()
    newer = (*migrations.MIGRATIONS, Migration("0002-versions", _failing))
    with monkeypatch.context() as patch:
        for module in (migrations, database):
            patch.setattr(module, "MIGRATIONS", newer)
        for path in (tmp_path / "log", tmp_path / "new"):
            with pytest.raises(StoreError, match="cannot open"):
                wh.open(path)
    for path in (tmp_path / "log", tmp_path / "new"):
        with wh.open(path) as log:
            assert "versions" not in _tables(log)
            assert log.check().ok


# --- letting go


def test_a_log_that_is_forgotten_lets_go_of_its_files(tmp_path: Path) -> None:
    def open_files() -> list[str]:
        links = [Path("/proc/self/fd", fd) for fd in os.listdir("/proc/self/fd")]
        return [os.readlink(link) for link in links if link.is_symlink() and str(tmp_path) in os.readlink(link)]

    log = two_arrays(wh.open(tmp_path / "log"))
    log.query(["B", "A"], "0")
    assert open_files()
    del log
    gc.collect()
    assert open_files() == []


def test_many_open_relations_are_few_open_files(tmp_path: Path) -> None:
    with two_arrays(wh.open(tmp_path / "log")) as log:
        log.query(["B", "A"], "0")
        names = [
            os.readlink(f"/proc/self/fd/{fd}")
            for fd in os.listdir("/proc/self/fd")
            if fd.isdigit()
            if os.path.islink(f"/proc/self/fd/{fd}")
        ]
        assert not [name for name in names if "/blobs/" in name]
