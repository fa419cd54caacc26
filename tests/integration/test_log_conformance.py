"""What every log does, whatever its catalog and its blobs live in: SQLite or PostgreSQL, a directory or fsspec."""

from __future__ import annotations

import html
import itertools
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

import whence as wh
from whence.errors import (
    BadCells,
    BadType,
    Closed,
    Damaged,
    FutureVersion,
    InUse,
    NoLineage,
    OutOfRange,
    Redefined,
    ShapeMismatch,
    StoreError,
    TooLarge,
    UnknownName,
    WhenceError,
)
from whence.store.catalog import schema

PLACES = ("sqlite", "sqlite+memory", "postgresql")
_memory = itertools.count()


class Place:
    """Somewhere a log can be opened, more than once."""

    def __init__(self, url: str | Path, blobs: str | Path | None) -> None:
        self.url, self.blobs = url, blobs
        self.opened: list[wh.Log] = []

    def open(self, **options: Any) -> wh.Log:
        log = wh.open(self.url, blobs=self.blobs, **options)
        self.opened.append(log)
        return log


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    catalog, _, blobs = request.param.partition("+")
    url = tmp_path / "log.whence" if catalog == "sqlite" else request.getfixturevalue("postgresql_url")
    default = None if catalog == "sqlite" else tmp_path / "blobs"
    place = Place(url, f"memory://conformance{next(_memory)}" if blobs else default)
    yield place
    for log in place.opened:
        log.close()


@pytest.fixture
def log(place: Place) -> wh.Log:
    return place.open()


def state(log: wh.Log) -> tuple[dict[str, list[Any]], dict[str, int]]:
    """All rows of all tables and all files among the blobs."""
    with log._store.database.read() as connection:
        rows = {
            table.name: sorted(map(str, connection.execute(sa.select(table)).all()))
            for table in schema.metadata.sorted_tables
        }
    return rows, {file.name: file.size for file in log._store.blobs.listing()}


def unchanged(log: wh.Log, error: type[WhenceError], match: str, call: Callable[[], object]) -> None:
    """The call fails with that error, and leaves the log as it was."""
    before = state(log)
    with pytest.raises(error, match=match):
        call()
    assert state(log) == before


def cells(selection: wh.Selection) -> list[tuple[int, ...]]:
    return [tuple(cell) for cell in selection.cells().tolist()]


@pytest.fixture
def sums(log: wh.Log) -> wh.Log:
    """A (3 x 2) -> B = A.sum(axis=1) -> C = B[::-1]."""
    log.array("A", shape=(3, 2))
    log.array("B", shape=(3,))
    log.array("C", shape=(3,))
    log.lineage("B", "A", np.array([(i, i, j) for i in range(3) for j in range(2)]))
    log.lineage("C", "B", lambda index: [2 - index[0]])
    return log


# --- datasets


def test_an_array_is_defined_once(log: wh.Log) -> None:
    first = log.array("A", shape=(3, 2))
    assert (first.name, first.kind, first.shape) == ("A", "array", (3, 2))
    before = state(log)
    assert log.array("A", shape=np.array([3, 2]).tolist()) == first
    assert state(log) == before
    unchanged(
        log, Redefined, r"'A' is already an array of shape \(3, 2\), not \(2, 3\)", lambda: log.array("A", (2, 3))
    )


def test_scalars_and_empty_arrays(log: wh.Log) -> None:
    log.array("scalar", shape=())
    log.array("empty", shape=(0, 3))
    log.array("line", shape=4)
    assert [dataset.shape for dataset in log.datasets()] == [(), (0, 3), (4,)]
    log.lineage("scalar", "line", lambda index: [0, 1, 2, 3])
    log.lineage("scalar", "empty", "whole")
    log.lineage("empty", "line", lambda index: [0])
    assert cells(log.query(["scalar", "line"], [()])) == [(0,), (1,), (2,), (3,)]
    assert cells(log.query(["line", "scalar"], [(2,)])) == [()]
    assert cells(log.query(["scalar", "empty"], [()])) == []
    assert log.query(["scalar", "empty"], [()]).shape == (0, 3)


def test_names_that_are_kept(log: wh.Log) -> None:
    names = ["A", "données/2024 (brut).npy", "图像", "a'b\"c; DROP TABLE entities", "%s", "日" * 100]
    log.array("out", shape=(2,))
    for name in names:
        log.array(name, shape=(2,))
        log.lineage("out", name, "identity")
        assert log.show(name).dataset.name == name
    assert sorted(log.backward("out", [(1,)])) == sorted(names)


def test_names_and_shapes_that_are_refused(log: wh.Log) -> None:
    name: Any
    shape: Any
    for name in ["", " A", "A\n", "nul\0", "\ud800", "x" * 1000, 7, None]:
        unchanged(log, BadType, "name", partial(log.array, name, shape=(1,)))
    for shape in [(-1,), (2.5,), "3", None, (True,), (2**61, 2), [[1, 2]], {"a": 1}]:
        unchanged(log, BadCells, "shape", partial(log.array, "A", shape=shape))


def test_a_relation_larger_than_any_memory(log: wh.Log) -> None:
    log.array("A", shape=(2**20, 2**20))
    log.array("B", shape=(2**20, 2**20))
    assert log.lineage("B", "A", "whole").tuples == 2**80
    assert log.show("B").derived_from[0].tuples == 2**80
    found = log.query(["B", "A"], "5,5")
    assert len(found) == 2**40
    unchanged(log, TooLarge, ".", found.cells)
    assert log.check().ok


# --- lineage, in every form of capture


TUPLES = np.array([(i, i, j) for i in range(3) for j in range(2)])


def _parquet(directory: Path) -> str:
    path = directory / "tuples.parquet"
    pq.write_table(pa.table({name: TUPLES[:, i] for i, name in enumerate(("b0", "a0", "a1"))}), path)
    return str(path)


def _frame(_: Path) -> object:
    import pandas as pd

    return pd.DataFrame(TUPLES, columns=["b0", "a0", "a1"])


CAPTURES: dict[str, Callable[[Path], object]] = {
    "callable": lambda _: lambda index: [(index[0], 0), (index[0], 1)],
    "callable, a generator": lambda _: lambda index: ((index[0], j) for j in range(2)),
    "callable, an array": lambda _: lambda index: np.array([(index[0], 0), (index[0], 1)]),
    "callable, a selection": lambda _: lambda i: wh.Selection.from_cells([(i[0], 0), (i[0], 1)], shape=(3, 2)),
    "array": lambda _: TUPLES,
    "array, small unsigned": lambda _: TUPLES.astype(np.uint8),
    "array, shuffled with duplicates": lambda _: np.concatenate([TUPLES[::-1], TUPLES]),
    "list of tuples": lambda _: [tuple(row) for row in TUPLES.tolist()],
    "list of chunks": lambda _: [TUPLES[:2], TUPLES[2:]],
    "iterator of chunks": lambda _: iter([TUPLES[:2], TUPLES[2:]]),
    "Arrow": lambda _: pa.table({name: TUPLES[:, i] for i, name in enumerate(("b0", "a0", "a1"))}),
    "pandas": _frame,
    "Parquet": _parquet,
    "Parquet path": lambda directory: Path(_parquet(directory)),
    "relation": lambda _: wh.compress(TUPLES, (3,), (3, 2)),
}


def test_every_form_of_capture(log: wh.Log, tmp_path: Path) -> None:
    log.array("A", shape=(3, 2))
    for form, capture in CAPTURES.items():
        log.array(form, shape=(3,))
        derivation = log.lineage(form, "A", capture(tmp_path))
        assert (derivation.output, derivation.input, derivation.tuples) == (form, "A", 6)
        assert cells(log.query([form, "A"], [(1,)])) == [(1, 0), (1, 1)]
        assert cells(log.query(["A", form], [(2, 1)])) == [(2,)]
    report = log.check()
    assert report.ok
    assert (report.derivations, report.relations) == (len(CAPTURES), 1)


def test_equal_relations_are_stored_once(sums: wh.Log) -> None:
    sums.array("D", shape=(3,))
    before = state(sums)[1]
    sums.lineage("D", "A", TUPLES)
    sums.lineage("B", "A", TUPLES)
    assert state(sums)[1] == before
    assert len(sums.show("B").derived_from) == 2


def test_a_second_lineage_adds_to_the_first(sums: wh.Log) -> None:
    sums.lineage("B", "A", [(0, 2, 1)])
    assert cells(sums.query(["B", "A"], [(0,)])) == [(0, 0), (0, 1), (2, 1)]
    assert cells(sums.backward("C", [(2,)], to="A")) == [(0, 0), (0, 1), (2, 1)]
    assert cells(sums.forward("A", [(2, 1)], to="B")) == [(0,), (2,)]


BAD: dict[str, tuple[Any, type[WhenceError], str]] = {
    "out of range": ([(0, 3, 0)], OutOfRange, "3"),
    "negative": ([(0, -1, 0)], OutOfRange, "-1"),
    "of the wrong rank": ([(0, 0)], BadCells, "3"),
    "ragged": ([(0, 0, 0), (1, 1)], BadCells, "length"),
    "not integers": (np.array([(0.0, 0.0, 0.5)]), BadCells, "float64"),
    "text": (np.array([("a", "b", "c")]), BadCells, "integers"),
    "beyond 64 bits": (np.array([(0, 0, 2**63)], dtype=np.uint64), BadCells, "9223372036854775808"),
    "a callable, out of range": (lambda index: [(index[0] + 1, 0)], OutOfRange, "3"),
    "a callable, of the wrong rank": (lambda index: [index], BadCells, r"cell \(0,\)"),
    "a callable, one index and no list": (lambda index: (index[0], 0), BadCells, r"such as \[\(0, 0\)\]"),
    "a callable, a number": (lambda index: 3, BadCells, "not 3"),
    "a callable, floats": (lambda index: [(0.5, 1.0)], BadCells, "float64"),
    "a callable, text": (lambda index: "00", BadCells, "'00'"),
    "a selection of another shape": (lambda index: wh.Selection.all((9, 9)), ShapeMismatch, r"\(9, 9\)"),
    "a relation of other shapes": (wh.compress([(0, 0)], (3,), (3,)), ShapeMismatch, r"\(3,\) <- \(3,\)"),
    "identity of unequal shapes": ("identity", ShapeMismatch, "identity"),
    "no file": ("nothing.parquet", BadType, "nothing.parquet"),
    "no capture at all": (None, BadType, "NoneType"),
    "a type": (dict, BadType, "type"),
    "chunks of nonsense": ([TUPLES, "nonsense"], BadType, "str"),
}


def test_a_bad_capture_leaves_the_log_unchanged(sums: wh.Log) -> None:
    for capture, error, match in BAD.values():
        match = f"(?s)lineage of 'B' from 'A'.*{match}"
        unchanged(sums, error, match, partial(sums.lineage, "B", "A", capture))


def test_an_error_of_the_callable_passes_with_a_note(sums: wh.Log) -> None:
    before = state(sums)
    with pytest.raises(ZeroDivisionError) as caught:
        sums.lineage("B", "A", lambda index: [(1 // index[0], 0)])
    assert caught.value.__notes__ == ["while capturing the lineage of the cell (0,) of 'B' from 'A'"]
    assert state(sums) == before


def test_unknown_names_suggest_the_nearest(sums: wh.Log) -> None:
    sums.array("pixels", shape=(2,))
    for call in (
        lambda: sums.lineage("pixls", "A", "whole"),
        lambda: sums.lineage("A", "pixls", "whole"),
        lambda: sums.register_operation("f", ["pixls"], ["A"]),
        lambda: sums.query(["A", "pixls"], "0,0"),
        lambda: sums.query(["pixls"], "0"),
        lambda: sums.backward("pixls", "0"),
        lambda: sums.forward("A", "0,0", to="pixls"),
        lambda: sums.show("pixls"),
        lambda: sums.delete("pixls"),
    ):
        unchanged(sums, UnknownName, "no dataset 'pixls'; did you mean 'pixels'", call)


# --- operations


def test_an_operation_is_recorded_with_all_it_touched(log: wh.Log) -> None:
    for name in ("X", "Y", "sum", "difference"):
        log.array(name, shape=(4,))
    operation = log.register_operation(
        "both",
        ["X", "Y"],
        ["sum", "difference"],
        capture=["identity", "identity", None, lambda index: [3 - index[0]]],
        op_args={"axis": np.int64(1), "where": None, "fill": float("inf"), "index": (slice(1, None), ...)},
        reuse=True,
    )
    assert log.operations() == [operation]
    assert (operation.inputs, operation.outputs, operation.reuse) == (("X", "Y"), ("sum", "difference"), True)
    assert operation.started is not None
    assert operation.ended is not None
    assert operation.started <= operation.ended
    assert operation.args["axis"] == 1
    assert json.loads(json.dumps(operation.as_dict()))["args"]["fill"] == {"$": "float", "value": "inf"}
    assert cells(log.query(["sum", "Y"], [(1,)])) == [(1,)]
    assert cells(log.query(["difference", "Y"], [(1,)])) == [(2,)]
    unchanged(log, NoLineage, "'difference' and 'X'", lambda: log.query(["difference", "X"], [(1,)]))
    assert str(log.show("sum").derived_from[0]) == (
        f"sum <- X by both: 4 tuples in 1 box, {log.show('sum').derived_from[0].size} B"
    )


def test_captures_by_pair(log: wh.Log) -> None:
    for name in ("X", "Y", "Z"):
        log.array(name, shape=(4,))
    log.register_operation("f", ["X", "Y"], ["Z"], capture={("Z", "Y"): "whole"})
    assert len(log.query(["Z", "Y"], [(0,)])) == 4
    assert [edge.input for edge in log.show("Z").derived_from] == ["Y"]


def test_an_input_may_be_used_twice(log: wh.Log) -> None:
    log.array("X", shape=(2, 3))
    log.array("Z", shape=(2, 2))
    left, right = (lambda ij: [(ij[0], k) for k in range(3)]), (lambda ij: [(ij[1], k) for k in range(3)])
    operation = log.register_operation("X @ X.T", ["X", "X"], ["Z"], capture=[left, right])
    assert operation.inputs == ("X", "X")
    assert log.operations() == [operation]
    assert cells(log.backward("Z", [(0, 1)], to="X")) == [(i, k) for i in range(2) for k in range(3)]


def test_an_operation_is_recorded_whole_or_not_at_all(sums: wh.Log) -> None:
    for captures in (["whole", [(0, 9, 9)]], ["whole", lambda index: [(9, 9)]], ["whole", "identity"]):
        with pytest.raises(WhenceError, match="lineage of 'C' from 'A'"):
            sums.register_operation("f", ["A"], ["B", "C"], capture=captures)
    before = state(sums)
    for arguments, error, match in (
        ((["A"], ["B"], ["whole", "whole"]), BadType, "2 captures for 1 pairs"),
        ((["A"], ["B"], "whole"), BadType, "a list with one capture"),
        ((["A"], ["B"], {("A", "B"): "whole"}), BadType, "has the pairs \\(output, input\\)"),
        ((["A"], ["B", "B"], None), BadType, "each output once"),
        ((["A"], [], None), BadType, "at least one"),
        (("A", ["B"], None), BadType, "inputs is a list"),
        ((["A"], ["nothing"], None), UnknownName, "nothing"),
    ):
        with pytest.raises(error, match=match):
            sums.register_operation("f", *arguments)
    with pytest.raises(BadType, match=r"op_args\['f'\] is a function"):
        sums.register_operation("f", ["A"], ["B"], op_args={"f": lambda: None})
    with pytest.raises(BadType, match="op_args must map names to values"):
        sums.register_operation("f", ["A"], ["B"], op_args=[1])  # type: ignore[arg-type] # refused on purpose
    with pytest.raises(NoLineage, match="reuse=True needs the lineage of 'f'"):
        sums.register_operation("f", ["A"], ["B"], reuse=True)
    assert state(sums) == before


# --- questions


def test_a_path_goes_forward_and_backward(sums: wh.Log) -> None:
    sums.array("D", shape=(3,))
    sums.lineage("D", "B", "identity")
    assert cells(sums.query(["C", "B", "A"], [(0,)])) == [(2, 0), (2, 1)]
    assert cells(sums.query(["A", "B", "C"], [(0, 1)])) == [(2,)]
    assert cells(sums.query(["C", "B", "D"], [(0,)])) == [(2,)]
    assert cells(sums.query(["A", "B", "A"], [(0, 1)])) == [(0, 0), (0, 1)]
    assert cells(sums.query(["B"], [(1,)])) == [(1,)]
    assert cells(sums.query(("C", "B"), "0:2")) == [(1,), (2,)]
    assert not sums.query(["C", "B", "A"], wh.Selection.empty((3,)))


def test_both_directions_between_two_are_a_union(log: wh.Log) -> None:
    log.array("A", shape=(4,))
    log.array("B", shape=(4,))
    log.lineage("B", "A", lambda index: [index[0]])
    log.lineage("A", "B", lambda index: [3 - index[0]])
    assert cells(log.query(["B", "A"], [(0,)])) == [(0,), (3,)]


def test_a_path_without_lineage_says_what_there_is(sums: wh.Log) -> None:
    sums.array("D", shape=(3,))
    for call, match in (
        (lambda: sums.query(["C", "A"], "0"), "'C' and 'A': 'C' comes from 'B'; 'A' led to 'B'"),
        (lambda: sums.query(["B", "D"], "0"), "'B' comes from 'A' and led to 'C'; 'D' is connected to nothing"),
        (lambda: sums.backward("B", "0", to="C"), "'C' cannot be reached backward from 'B'"),
        (lambda: sums.forward("C", "0", to="A"), "'A' cannot be reached forward from 'C'"),
        (lambda: sums.backward("C", "0", to="D"), "'D' is connected to nothing"),
    ):
        unchanged(sums, NoLineage, match, call)


def test_bad_cells(sums: wh.Log) -> None:
    asked: Any
    for asked, error in (
        ([(3,)], OutOfRange),
        ([(-4,)], OutOfRange),
        ([(0, 0)], BadCells),
        (np.array([[0.5]]), BadCells),
        ("9", OutOfRange),
        ("x", BadCells),
        (wh.Selection.all((4,)), ShapeMismatch),
    ):
        unchanged(sums, error, ".", partial(sums.query, ["B", "A"], asked))
        unchanged(sums, error, ".", partial(sums.backward, "B", asked))
        unchanged(sums, error, ".", partial(sums.forward, "B", asked, to="C"))


def test_bad_paths(sums: wh.Log) -> None:
    unchanged(sums, BadType, "list of names", lambda: sums.query("BA", "0"))
    unchanged(sums, BadType, "at least one", lambda: sums.query([], "0"))
    unchanged(sums, BadType, "name", lambda: sums.query(["B", 3], "0"))  # type: ignore[list-item] # refused on purpose


def test_all_sources_and_all_results(sums: wh.Log) -> None:
    sums.array("weights", shape=(2,))
    sums.array("D", shape=(2,))
    sums.lineage("B", "weights", "whole")
    sums.lineage("D", "A", lambda index: [(0, index[0])])
    back = sums.backward("C", [(2,)])
    assert {name: cells(found) for name, found in back.items()} == {"A": [(0, 0), (0, 1)], "weights": [(0,), (1,)]}
    forth = sums.forward("A", [(1, 1)])
    assert {name: cells(found) for name, found in forth.items()} == {"C": [(1,)], "D": []}
    assert {name: cells(found) for name, found in sums.backward("A", [(1, 1)]).items()} == {"A": [(1, 1)]}
    assert cells(sums.backward("A", [(1, 1)], to="A")) == [(1, 1)]


def test_cycles_end(log: wh.Log) -> None:
    log.array("A", shape=(50,))
    log.array("B", shape=(50,))
    log.array("outside", shape=(50,))
    log.lineage("B", "A", lambda index: [index[0]])
    log.lineage("A", "B", lambda index: [index[0] - 1] if index[0] else [])
    assert cells(log.backward("B", [(7,)], to="A")) == [(i,) for i in range(8)]
    assert set(log.backward("B", [(7,)])) == {"A", "B"}
    log.lineage("A", "outside", "identity")
    assert {name: len(found) for name, found in log.backward("B", [(7,)]).items()} == {"outside": 8}


# --- looking, deleting, collecting


def test_show_and_print(sums: wh.Log) -> None:
    shown = sums.show("B")
    assert [(edge.output, edge.input) for edge in (*shown.derived_from, *shown.led_to)] == [("B", "A"), ("C", "B")]
    assert shown.derived_from[0].tuples == 6
    assert str(shown).startswith("B: array of shape (3,)\n  created 2")
    assert json.loads(json.dumps(shown.as_dict()))["led_to"][0]["output"] == "C"
    assert "3 datasets, 0 operations, 2 derivations" in repr(sums)
    assert "<td>B</td>" in sums._repr_html_()
    assert sums.where in repr(sums)


def test_deleting_a_dataset(sums: wh.Log) -> None:
    unchanged(sums, InUse, "'C' was derived from 'B'", lambda: sums.delete("B"))
    sums.register_operation("flip", ["B"], ["C"], capture=["identity"])
    sums.delete("C")
    assert [dataset.name for dataset in sums.datasets()] == ["A", "B"]
    assert [operation.outputs for operation in sums.operations()] == [()]
    sums.delete("B", force=True)
    assert (sums.operations(), [dataset.name for dataset in sums.datasets()]) == ([], ["A"])
    report = sums.check()
    assert report.ok
    assert "2 blobs" in str(report) or "3 blobs" in str(report)
    assert sums.collect().blobs == len(TUPLES[:3])
    assert sums.check().notes == ()
    sums.array("B", shape=(5,))
    unchanged(sums, NoLineage, "'B' is connected to nothing", lambda: sums.query(["B", "A"], "0"))


def test_deleting_in_the_middle_cuts_the_lineage(sums: wh.Log) -> None:
    sums.delete("B", force=True)
    assert sums.show("C").derived_from == ()
    assert {name: cells(found) for name, found in sums.backward("C", "0").items()} == {"C": [(0,)]}
    assert sums.check().ok


def test_collecting_keeps_what_is_used(sums: wh.Log) -> None:
    before = state(sums)
    assert sums.collect().blobs == 0
    assert state(sums) == before
    sums.array("D", shape=(3,))
    sums.lineage("D", "A", TUPLES)
    sums.delete("D")
    assert sums.collect().blobs == 0  # B <- A has the same relation
    assert cells(sums.query(["B", "A"], "0")) == [(0, 0), (0, 1)]


# --- several at once


def test_what_another_connection_writes_is_seen_at_once(sums: wh.Log, place: Place) -> None:
    other = place.open()
    assert cells(other.query(["B", "A"], "0")) == [(0, 0), (0, 1)]
    sums.lineage("B", "A", [(0, 2, 1)])
    assert cells(other.query(["B", "A"], "0")) == [(0, 0), (0, 1), (2, 1)]
    other.delete("B", force=True)
    unchanged(sums, UnknownName, "'B'", lambda: sums.query(["B", "A"], "0"))
    other.array("B", shape=(7,))
    unchanged(sums, OutOfRange, "7", lambda: sums.query(["B"], "7"))
    other.collect()
    assert sums.check().ok


def test_a_dataset_redefined_during_capture(sums: wh.Log, place: Place) -> None:
    other = place.open()

    def capture(index: tuple[int, ...]) -> list[tuple[int, int]]:
        if index == (2,):
            other.delete("B", force=True)
            other.array("B", shape=(30,))
        return [(index[0], 0)]

    with pytest.raises(ShapeMismatch, match=r"'B' had the shape \(3,\) when its lineage was recorded"):
        sums.lineage("B", "A", capture)
    assert sums.show("B").derived_from == ()
    assert sums.collect().blobs == 2  # those that deleting left; the failed call has cleaned up after itself


def test_threads_share_a_log(sums: wh.Log) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def work(k: int) -> list[tuple[int, ...]]:
        sums.array(f"T{k}", shape=(3,))
        sums.register_operation("f", ["B"], [f"T{k}"], capture=[lambda index: [(index[0] + k) % 3]])
        sums.collect()
        return cells(sums.backward(f"T{k}", "0", to="A"))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(24))) == [[(k % 3, 0), (k % 3, 1)] for k in range(24)]
    assert sums.check().ok


def test_two_logs_do_not_share_blobs(sums: wh.Log, place: Place, tmp_path: Path) -> None:
    if place.blobs is None:
        with pytest.raises(StoreError, match="belong to the log"):
            wh.open(tmp_path / "other.whence", blobs=Path(place.url) / "blobs")
    else:
        with pytest.raises(StoreError, match="belong to another log"):
            wh.open(tmp_path / "other.whence", blobs=place.blobs)
    assert sums.check().ok


# --- opening and closing


def test_closing(sums: wh.Log, place: Place) -> None:
    sums.close()
    sums.close()
    for call in (
        lambda: sums.array("D", shape=()),
        lambda: sums.lineage("B", "A", "whole"),
        lambda: sums.query(["B", "A"], "0"),
        sums.datasets,
        sums.check,
        sums.collect,
    ):
        with pytest.raises(Closed, match="is closed: open it again"):
            call()
    assert "closed" in repr(sums)
    assert "closed" in sums._repr_html_()
    with place.open() as again:
        assert cells(again.query(["B", "A"], "0")) == [(0, 0), (0, 1)]
    with pytest.raises(Closed):
        again.datasets()


def test_a_log_of_the_future(sums: wh.Log, place: Place) -> None:
    with sums._store.database.write() as connection:
        connection.execute(schema.migrations.insert().values(name="9999-teleport", applied="2099-01-01"))
    with pytest.raises(FutureVersion, match=r"newer whence \(it has 9999-teleport"):
        place.open()


def test_a_log_that_must_be_there(place: Place) -> None:
    with pytest.raises(StoreError, match="there is no log at"):
        place.open(create=False)
    place.open()
    assert place.open(create=False).datasets() == []


def test_the_tables_are_those_the_statements_speak_of(log: wh.Log) -> None:
    with log._store.database.read() as connection:
        inspector = sa.inspect(connection)
        assert set(inspector.get_table_names()) == set(schema.metadata.tables)
        for table in schema.metadata.sorted_tables:
            columns = {column["name"]: column["nullable"] for column in inspector.get_columns(table.name)}
            assert columns == {column.name: bool(column.nullable) for column in table.columns}, table.name
            keys = inspector.get_pk_constraint(table.name)["constrained_columns"]
            assert set(keys) == {column.name for column in table.primary_key}
            foreign = {
                (key["constrained_columns"][0], key["referred_table"]) for key in inspector.get_foreign_keys(table.name)
            }
            assert foreign == {(key.parent.name, key.column.table.name) for key in table.foreign_keys}


# --- damage


def _blob(log: wh.Log, output: str) -> str:
    return log.show(output).derived_from[0].hash


def _overwrite(log: wh.Log, hash: str, change: Callable[[bytes], bytes]) -> None:
    """Change a stored blob behind the log's back."""
    blobs: Any = log._store.blobs
    path = blobs._path(hash)
    if isinstance(path, Path):
        path.write_bytes(change(path.read_bytes()))
    else:
        fs = blobs._file_system()
        fs.pipe_file(path, change(fs.cat_file(path)))


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda data: data[:-3],
    "emptied": lambda data: b"",
    "longer": lambda data: data + b"x",
    "replaced": lambda data: b"something else altogether",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_blob(sums: wh.Log, place: Place, damage: str) -> None:
    blob = _blob(sums, "B")
    _overwrite(sums, blob, DAMAGE[damage])
    with place.open() as fresh:
        unchanged(fresh, Damaged, "'B' from 'A'", lambda: fresh.query(["B", "A"], "0"))
        assert cells(fresh.query(["C", "B"], "0")) == [(2,)]  # the rest is as it was
        report = fresh.check()
        assert not report.ok
        [problem] = report
        assert problem.where == "B <- A"
        assert "truncated or altered" in problem.what
        assert "record the same lineage again" in problem.remedy
        assert "1 problem" in str(report)
        assert str(problem) in html.unescape(report._repr_html_())
        assert json.loads(json.dumps(report.as_dict()))["ok"] is False
        fresh.lineage("B", "A", TUPLES)  # the remedy
        assert fresh.check().ok
    with place.open() as healed:
        assert cells(healed.query(["B", "A"], "0")) == [(0, 0), (0, 1)]


def test_every_bit_of_a_blob_matters(sums: wh.Log, place: Place) -> None:
    blob = _blob(sums, "B")
    size = sums.show("B").derived_from[0].size
    for bit in range(0, size * 8, 1 if isinstance(place.url, Path) else 31):  # a server takes longer to connect to

        def flip(data: bytes, bit: int = bit) -> bytes:
            changed = bytearray(data)
            changed[bit // 8] ^= 1 << bit % 8
            return bytes(changed)

        _overwrite(sums, blob, flip)
        with wh.open(place.url, blobs=place.blobs) as fresh, pytest.raises((Damaged, FutureVersion)):
            fresh.query(["B", "A"], "0")
        if bit % 8 == 0:
            assert len(sums.check()) == 1
        _overwrite(sums, blob, flip)
    assert sums.check().ok


def test_a_missing_blob(sums: wh.Log, place: Place) -> None:
    sums._store.blobs.remove(_blob(sums, "B"))
    with place.open() as fresh:
        unchanged(fresh, Damaged, "lineage of 'B' from 'A': its blob .* is missing", lambda: fresh.backward("C", "0"))
        [problem] = fresh.check()
        assert "is missing" in problem.what


def test_files_that_do_not_belong(sums: wh.Log) -> None:
    blobs: Any = sums._store.blobs
    if isinstance(blobs._path("0" * 64), Path):
        for name in ("notes.txt", ".writing-1-abc", "ab/.writing-2-def"):
            path = Path(blobs.where) / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("x")
    else:
        for name in ("notes.txt", ".writing-1-abc", "ab/.writing-2-def"):
            blobs._file_system().pipe_file(f"{blobs._root}/{name}", b"x")
    report = sums.check()
    assert report.ok
    assert sorted(note.what.split(":")[0] for note in report.notes) == [
        "a temporary file",
        "a temporary file",
        "not a file of the log",
    ]
    assert sums.collect().temporary == 0  # they are young: their writers may be alive
    assert len(sums.check().notes) == 3


def test_check_finds_a_catalog_that_disagrees_with_the_blobs(sums: wh.Log) -> None:
    with sums._store.database.write() as connection:
        connection.execute(schema.entities.update().where(schema.entities.c.name == "A").values(shape=[3, 5]))
        connection.execute(
            schema.relations.update().where(schema.relations.c.hash == _hash_of(connection, "C")).values(tuples="4")
        )
    problems = {problem.where: problem.what for problem in sums.check()}
    assert problems["B <- A"] == (
        "its relation has the shapes (3,) <- (3, 2), the datasets have the shapes (3,) <- (3, 5)"
    )
    assert "4 tuples" in problems["C <- B"]


def _hash_of(connection: sa.Connection, output: str) -> str:
    edges, entities = schema.was_derived_from, schema.entities
    query = (
        sa.select(edges.c.relation).join(entities, entities.c.id == edges.c.generated).where(entities.c.name == output)
    )
    return str(connection.execute(query).scalar_one())
