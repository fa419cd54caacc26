"""Relational operations against loops over cells, on arrays and on pandas frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import whence as wh
from whence.arrays import frames
from whence.errors import BadCells, BadType, ShapeMismatch, UnknownName


def tuples(relation: Any) -> set[tuple[int, ...]]:
    return {tuple(each) for each in relation.to_array().tolist()}


def tables(values: Any) -> list[Any]:
    return [values, pd.DataFrame(values, columns=[f"c{i}" for i in range(values.shape[1])])]


def key(table: Any, column: int) -> Any:
    return column if isinstance(table, np.ndarray) else f"c{column}"


RNG = np.random.default_rng(3)
CODES = RNG.integers(0, 4, (12, 3)).astype(float)


@pytest.mark.parametrize("table", tables(CODES))
def test_filter(table: Any) -> None:
    done = frames.filter_rows(table, lambda each: np.asarray(each)[:, 1] > 1)
    kept = np.flatnonzero(CODES[:, 1] > 1)
    assert np.array_equal(np.asarray(done.result), CODES[kept])
    assert tuples(done.relations[0]) == {(i, c, int(r), c) for i, r in enumerate(kept) for c in range(3)}
    assert tuples(done.decided[0]) == {
        (i, c, int(r), d) for i, r in enumerate(kept) for c in range(3) for d in range(3)
    }
    assert frames.filter_rows(table, np.zeros(12, bool)).relations[0].count() == 0


@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize("table", tables(CODES))
def test_group_by(table: Any, column: int) -> None:
    done = frames.group_by(table, key(table, column))
    keys = np.unique(CODES[:, column])
    others = [i for i in range(3) if i != column]
    expected = [[k, *(CODES[CODES[:, column] == k][:, i].sum() for i in others)] for k in keys]
    assert np.allclose(np.asarray(done.result, float), expected)
    places = {column: 0, **{c: 1 + i for i, c in enumerate(others)}}
    group = {r: int(np.searchsorted(keys, CODES[r, column])) for r in range(12)}
    assert tuples(done.relations[0]) == {(group[r], places[c], r, c) for r in range(12) for c in range(3)}
    assert tuples(done.decided[0]) == {(group[r], p, r, column) for r in range(12) for p in range(3)}


@pytest.mark.parametrize("columns", [(0, 0), (1, 2), (2, 1)])
@pytest.mark.parametrize("which", [0, 1])
def test_inner_join(columns: tuple[int, int], which: int) -> None:
    right = RNG.integers(0, 5, (7, 3)).astype(float)
    a, b = tables(CODES)[which], tables(right)[which]
    done = frames.inner_join(a, b, on=(key(a, columns[0]), key(b, columns[1])))
    pairs = [(i, j) for i in range(12) for j in range(7) if CODES[i, columns[0]] == right[j, columns[1]]]
    others = [c for c in range(3) if c != columns[1]]
    expected = [[*CODES[i], *right[j][others]] for i, j in pairs]
    assert np.array_equal(np.asarray(done.result), expected)
    assert tuples(done.relations[0]) == {(n, c, i, c) for n, (i, _) in enumerate(pairs) for c in range(3)}
    from_right = {(n, columns[0], j, columns[1]) for n, (_, j) in enumerate(pairs)}
    from_right |= {(n, 3 + p, j, c) for n, (_, j) in enumerate(pairs) for p, c in enumerate(others)}
    assert tuples(done.relations[1]) == from_right


@pytest.mark.parametrize("column", [0, 2])
@pytest.mark.parametrize("table", tables(CODES))
def test_one_hot(table: Any, column: int) -> None:
    done = frames.one_hot(table, key(table, column))
    classes = np.unique(CODES[:, column])
    others = [c for c in range(3) if c != column]
    flags = CODES[:, [column]] == classes
    assert np.array_equal(np.asarray(done.result, float), np.column_stack([CODES[:, others], flags]))
    expected = {(r, p, r, c) for r in range(12) for p, c in enumerate(others)}
    expected |= {(r, 2 + p, r, column) for r in range(12) for p in range(len(classes))}
    assert tuples(done.relations[0]) == expected
    assert len(done.relations[0]) <= 3


@pytest.mark.parametrize("table", tables(CODES))
def test_add_columns(table: Any) -> None:
    done = frames.add_columns(
        table,
        {"total": lambda each: np.asarray(each).sum(axis=1), "twice": lambda each: np.asarray(each)[:, 1] * 2},
        {"twice": [key(table, 1)]},
    )
    assert np.array_equal(np.asarray(done.result), np.column_stack([CODES, CODES.sum(axis=1), CODES[:, 1] * 2]))
    expected = {(r, c, r, c) for r in range(12) for c in range(3)} | {(r, 3, r, c) for r in range(12) for c in range(3)}
    assert tuples(done.relations[0]) == expected | {(r, 4, r, 1) for r in range(12)}


def test_tables_in_the_log(tmp_path: Path) -> None:
    left, right = tables(CODES)[1], pd.DataFrame({"c0": [0.0, 1.0], "price": [5.0, 7.0]})
    with wh.open(tmp_path / "l") as log:
        joined = log.tables.inner_join(left, right, "c0", names={"left": "sales", "right": "prices"})
        log.tables.group_by(joined, "c1", names={"return": "totals"}, lineage="value+selection")
        keys = np.unique(np.asarray(joined["c1"]))
        row = int(np.flatnonzero(keys == np.asarray(joined["c1"])[0])[0])
        cells = log.backward("totals", [(row, 3)], to="prices").cells().tolist()
        assert [int(np.asarray(joined["c0"])[0]), 1] in cells
        kinds = sorted(each.kind for each in log.show("totals").derived_from)
        assert kinds == ["boxes", "selection"]
        assert [each.name for each in log.operations()] == ["inner_join", "group_by"]
        with pytest.raises(BadType, match="'all'"):
            log.tables.one_hot(left, "c0", lineage="all")  # type: ignore[arg-type]  # which is what is tried


def test_bad_tables_are_refused() -> None:
    with pytest.raises(UnknownName, match="c9"):
        frames.group_by(tables(CODES)[1], "c9")
    with pytest.raises(UnknownName, match="columns 0 to 2"):
        frames.group_by(CODES, 5)
    with pytest.raises(ShapeMismatch, match="12 rows"):
        frames.filter_rows(CODES, [True])
    with pytest.raises(BadCells, match="rows and columns"):
        frames.group_by(CODES[0], 0)
    with pytest.raises(ShapeMismatch, match="'bad'"):
        frames.add_columns(CODES, {"bad": lambda each: each})
    no_function: Any = {"c1": "sum"}
    with pytest.raises(BadType, match="such as np.sum"):
        frames.group_by(CODES, 0, no_function)
    with pytest.raises(BadType, match="cannot be compared"):
        frames.inner_join(np.array([["1.0", "x"]]), np.array([[1.0, 2.0]]), 0)
    with pytest.raises(UnknownName, match="2 columns"):
        frames.one_hot(pd.DataFrame([[1, 2]], columns=["a", "a"]), "a")


LARGE = 2**53
KEYS = {
    "text": ["b", None, "a", None, "b"],
    "float": [2.0, np.nan, 1.0, np.nan, 2.0],
    "string": pd.array(["b", None, "a", None, "b"], dtype="string"),
    "whole": pd.array([LARGE + 1, None, LARGE, None, LARGE + 1], dtype="Int64"),
    "time": pd.to_datetime(["2026-01-02", None, "2026-01-01", None, "2026-01-02"]),
    "category": pd.Categorical(["b", None, "a", None, "b"]),
}


@pytest.mark.parametrize("kind", KEYS)
def test_missing_keys_are_one_key_as_in_pandas(kind: str) -> None:
    table = pd.DataFrame({"k": KEYS[kind], "v": [1.0, 2.0, 4.0, 8.0, 16.0]})
    groups = frames.group_by(table, "k")
    assert groups.result["v"].tolist() == [4.0, 17.0, 10.0]
    assert pd.isna(groups.result["k"]).tolist() == [False, False, True]
    assert [groups.relations[0].backward([(g, 1)]).cells()[:, 0].tolist() for g in range(3)] == [[2], [0, 4], [1, 3]]
    joined = frames.inner_join(table, table.rename(columns={"v": "w"}), "k")
    theirs = table.merge(table.rename(columns={"v": "w"}), on="k")
    assert joined.result[["v", "w"]].to_numpy().tolist() == theirs[["v", "w"]].to_numpy().tolist()
    assert frames.one_hot(table, "k").result.iloc[:, 1:].to_numpy().argmax(axis=1).tolist() == [1, 2, 0, 2, 1]


def test_keys_of_two_kinds_are_compared_as_they_are() -> None:
    whole = pd.DataFrame({"k": [LARGE, LARGE + 1], "v": [1, 2]})
    other = pd.DataFrame({"k": [float(LARGE)], "w": [3]})
    assert frames.inner_join(whole, other, "k").result.to_numpy().tolist() == [[LARGE, 1, 3]]
