"""Values in the catalog that are of another kind than their column: the check names them, and questions say so."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence as wh
from whence.errors import WhenceError

FORGED: dict[tuple[str, str], list[Any]] = {
    ("entities", "shape"): ["x", 5, "{}", "[-1]", "[1.5]", "null", "[" * 3000, b"\x00"],
    ("entities", "properties"): ["x", 5, "[]", "null", "[" * 3000],
    ("entities", "name"): [b"\xff", 7.5],
    ("activities", "args"): ["x", 3.5],
    ("activities", "properties"): ["[]", b"{"],
    ("agents", "properties"): [2**62, "3"],
    ("relations", "size"): ["x", 1.5, b"\x01"],
    ("relations", "boxes"): ["x"],
    ("relations", "tuples"): ["", "-1", "x", "1e9"],
    ("relations", "data"): ["[]", 5],
    ("was_derived_from", "generated"): ["x", 99, b"\x00"],
    ("was_derived_from", "used"): ["2020-99-99", 99],
    ("was_generated_by", "entity"): ["x", 99],
    ("used", "entity"): ["x", 99],
    ("views", "payload"): ["x"],
    ("views", "hits"): ["x"],
    ("migrations", "name"): [b"\x00"],
}
NUMERIC = {("entities", "name"): [7.5]}  # a column of text makes a text of a number

QUESTIONS: list[Callable[[wh.Log], object]] = [
    lambda log: [str(each) for each in log.check()],
    lambda log: repr(log.datasets()),
    lambda log: repr(log.show("doubled")),
    lambda log: repr(log.backward("doubled", [(0,)])),
    lambda log: repr(log.forward("x", [(0,)])),
    lambda log: log.graph.edges,
    lambda log: log.graph.segment(None, ["doubled"]).vertices,
    lambda log: [repr(each) for each in log.views()],
    lambda log: log.track(lambda x: x * 2, name="doubled")(np.arange(3.0)),
]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    where = tmp_path_factory.mktemp("recorded") / "log"
    with wh.open(where) as log:
        log.track(lambda x: x * 2, name="doubled")(np.arange(3.0))
    with sqlite3.connect(where / "catalog.sqlite") as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()
    return (where / "catalog.sqlite").read_bytes()


@pytest.mark.parametrize(("table", "column"), FORGED)
def test_what_a_column_cannot_hold_is_damage(table: str, column: str, recorded: bytes, tmp_path: Path) -> None:
    for number, value in enumerate(FORGED[table, column]):
        where = tmp_path / str(number)
        where.mkdir()
        (where / "catalog.sqlite").write_bytes(recorded)
        with sqlite3.connect(where / "catalog.sqlite") as connection:
            connection.execute("pragma foreign_keys = off")
            row = connection.execute(f"select min(rowid) from {table}").fetchone()[0]
            connection.execute(f"update {table} set {column} = ? where rowid = ?", (value, row))
        connection.close()
        try:
            log = wh.open(where)
        except WhenceError:
            assert table == "migrations"
            continue
        with log:
            if value not in NUMERIC.get((table, column), []):
                assert not log.check().ok, value
            for ask in QUESTIONS:
                with suppress(WhenceError):  # any other error is one of Python's, and fails
                    ask(log)
