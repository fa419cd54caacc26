"""A run in the log is a relation: rows by number go in, and the rows of each source come out, as the oracle has them.

The runs are made without Spark, and asked where pyspark cannot be imported.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

import whence as wh
from whence.errors import MissingExtra
from whence.rows import Attr, Compare, Filter, Literal, Operator, Source
from whence.rows.questions.restrict import sources
from whence.spark.stored import StoredRun
from whence.testing.interpreter import Row, Tables, run
from whence.testing.stored import recorded
from whence.testing.strategies.plans import plans, tables_of_plans

K, V = Attr(1, "k", "long"), Attr(2, "v", "long")


@pytest.fixture(autouse=True)
def _no_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)


def expected(plan: Operator, rows: list[Row], places: list[int]) -> dict[str, set[int]]:
    """What the oracle says of output rows, and of those that are equal to them."""
    names = {each.occurrence: each.name for each in sources(plan)}
    shown = [row.shown(plan.output) for row in rows]
    found: dict[str, set[int]] = {name: set() for name in names.values()}
    for place, row in enumerate(rows):
        if shown[place] in [shown[each] for each in places]:
            for occurrence, number in row.lineage:
                found[names[occurrence]].add(number)
    return found


def backward(stored: StoredRun, places: list[int]) -> dict[str, set[int]]:
    lineage = stored.backward(numbers=places)
    assert lineage.precise
    return {name: set(stored.source_numbers(lineage, name).to_pylist()) for name in lineage}


@settings(max_examples=40, deadline=None)
@given(plans(), tables_of_plans(), st.sampled_from(["rows", "group"]), st.data())
def test_a_run_is_a_relation(plan: Operator, tables: Tables, witness: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder, wh.open(f"{folder}/a.whence") as log:
        stored = recorded(log, plan, tables, Path(folder), witness)
        rows = run(plan, tables, witness)
        assume(stored is not None and rows)
        assert stored is not None
        assert (stored.rows, stored.columns) == (len(rows), tuple(attr.name for attr in plan.output))
        places = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=3, unique=True))
        held = stored.output_rows(places)
        assert [tuple(column[i].as_py() for column in held.columns) for i in range(len(places))] == [
            rows[place].shown(plan.output) for place in places
        ]
        try:
            found = backward(stored, places)
        except MissingExtra:
            event("needs Spark")
            return
        event("asked")
        assert found == expected(plan, rows, places)
        for name, numbers in found.items():
            for number in sorted(numbers)[:2]:
                reached = set(stored.reached_numbers(stored.forward(name, numbers=[number])).to_pylist())
                table = tables[name]
                alike = {at for at, row in enumerate(table) if row == table[number]}
                uses = {each.occurrence for each in sources(plan) if each.name == name}
                ids = {(use, at) for use in uses for at in alike}
                shown = {row.shown(plan.output) for row in rows if row.lineage & ids}
                assert reached == {at for at, row in enumerate(rows) if row.shown(plan.output) in shown}


@pytest.fixture
def log(tmp_path: Path) -> wh.Log:
    return wh.open(tmp_path / "a.whence")


def test_the_check_would_notice_a_wrong_answer(log: wh.Log, tmp_path: Path) -> None:
    plan = Filter(Source("r", 0, (K, V)), Compare(">", V, Literal(1, "long")))
    tables: Tables = {"r": [(1, 1), (1, 2), (2, 3)]}
    stored = recorded(log, plan, tables, tmp_path)
    assert stored is not None
    assert backward(stored, [0]) == {"r": {1}} == expected(plan, run(plan, tables), [0])
    assert backward(stored, [0, 1]) == {"r": {1, 2}}
    assert stored.source_rows("r") == 3
    assert stored.forward("r", numbers=[0]).count() == 0


def test_the_runs_of_a_log_are_a_table(log: wh.Log, tmp_path: Path) -> None:
    assert repr(log.runs()) == "no runs"
    recorded(log, Source("r", 0, (K, V)), {"r": [(1, 1)]}, tmp_path)
    (run_,) = log.runs()
    assert repr(log.runs()).splitlines()[0].split() == ["run", "pipeline", "sources", "rows", "recorded"]
    assert run_.backward({"k": 1}).arrow("r").to_pylist() == [{"k": 1, "v": 1}]
    assert run_.as_dict()["pipeline"] == "made"
    assert log.runs("made") == [run_]
    assert hash(run_) == hash(log.runs()[0])
    assert log.runs("else") == []


def test_spark_is_named_where_it_is_needed(log: wh.Log, tmp_path: Path) -> None:
    recorded(log, Source("r", 0, (K, V)), {"r": [(1, 1)]}, tmp_path)
    with pytest.raises(MissingExtra, match="needs Spark, because DuckDB"):
        log.runs()[-1].backward({"k": 1}, engine="spark").arrow("r")
    with pytest.raises(MissingExtra, match="needs Spark, because DuckDB"):
        log.runs()[-1].backward({"k": 1}, witness="group")  # the run saved results for the other one
