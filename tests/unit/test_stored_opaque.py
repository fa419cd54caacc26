"""What a log does not hold is left out of a trace plan: a superset, with the reason, and nothing else is left out."""

from __future__ import annotations

import pytest

from whence.rows import (
    AggCall,
    And,
    Attr,
    Call,
    Compare,
    Expr,
    Filter,
    Frame,
    Literal,
    Named,
    Operator,
    Param,
    Project,
    Source,
    Udf,
    WindowCall,
    conjuncts,
    keep,
)
from whence.rows.documents import NotHeld, plan_document, read_plan
from whence.rows.saving import TracePlan, trace_plan
from whence.spark.catalyst import stored_calls, stored_names
from whence.spark.sources.kind import Listing
from whence.spark.sources.stored import StoredLeaf
from whence.spark.stored.opaque import not_replayable, relaxed

A, B, C = Attr(1, "a", "string"), Attr(2, "b", "string"), Attr(3, "c", "string")
ROWS = Source("t", 0, (A, B))
PARQUET = StoredLeaf("parquet", Listing(("file:/t",), ("file:/t",), {}))


def stored(plan: Operator, leaf: StoredLeaf = PARQUET) -> tuple[Operator, TracePlan]:
    found = read_plan(plan_document(plan, trace_plan(plan)), {0: leaf})
    assert found.trace is not None
    return found.plan, found.trace


def made(by: Expr) -> Operator:
    return Project(ROWS, (*keep(A), Named(C, by)))


def facts(trace: TracePlan) -> int:
    (use,) = trace.uses
    return len(conjuncts(use.predicate))


def test_a_function_of_the_users_is_left_out() -> None:
    _, trace = stored(made(Udf("PythonUDF", (B,), "string", 'name="shout"')))
    less, reasons = relaxed(trace)
    assert (facts(trace), facts(less)) == (2, 1)
    assert "shout is a Python function, whose code the log does not hold" in reasons[0]


def test_a_function_that_nobody_knows_is_left_out() -> None:
    _, trace = stored(made(Call("SoundEx", (B,), "string")))
    less, reasons = relaxed(trace)
    assert (facts(trace), facts(less)) == (2, 1)
    assert "it calls Spark's SoundEx" in reasons[0]


def test_functions_that_duckdb_or_spark_computes_stay() -> None:
    for call in (
        Call("Concat", (A, B), "string"),  # both do
        Call("Left", (B, Literal(2, "integer")), "string"),
        Call("Upper", (B,), "string"),  # Spark does
    ):
        _, trace = stored(made(call))
        assert relaxed(trace) == (trace, ())


def test_what_only_duckdb_computes_is_left_out_where_only_spark_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(stored_names.FUNCTIONS, "Left")
    left = Call("Left", (B, Literal(2, "integer")), "string")
    _, trace = stored(made(left))
    assert relaxed(trace) == (trace, ())
    _, trace = stored(made(left), StoredLeaf("csv"))
    less, reasons = relaxed(trace)
    assert (facts(trace), facts(less)) == (2, 1)
    assert reasons


def test_a_fact_that_has_such_a_function_anywhere_is_left_out_whole() -> None:
    hidden = Udf("PythonUDF", (B,), "boolean")
    condition = And((Compare("=", A, Literal("x", "string")), Call("Not", (hidden,), "boolean")))
    _, trace = stored(Filter(ROWS, condition))
    less, _ = relaxed(trace)
    (use,) = less.uses
    assert not any(isinstance(part, Udf) for fact in conjuncts(use.predicate) for part in [fact, *fact.parts()])
    assert any(isinstance(part, Param) for fact in conjuncts(use.predicate) for part in fact.parts())


def test_whether_a_plan_can_run_again_is_known_without_spark() -> None:
    assert not_replayable(stored(made(Call("Upper", (B,), "string")))[0]) is None
    assert "RegExp" in str(not_replayable(stored(made(Call("RegExp", (B,), "string")))[0]))
    lost = StoredLeaf("memory", lost="its rows were in memory")
    assert not_replayable(stored(made(B), lost)[0]) == "source 't' cannot be read again: its rows were in memory"


def test_what_a_forged_plan_calls_is_not_known() -> None:
    """Other functions, other details and too few arguments: nothing of it is looked up in Spark."""
    frame = Frame("rows", None, 0)
    complete = 'isDistinct=false mode={"object": "org.apache.spark.sql.catalyst.expressions.aggregate.Complete$"} '
    for call in (
        Call("CallMethodViaReflection", (A, B), "string"),
        Call("reflect", (A, B), "string"),
        Call("java_method", (A,), "string"),
        Call("Upper", (A,), "string", "more=1"),
        Call("Between", (), "boolean"),
        Call("GetStructField", (A,), "string", 'name="a" and "more"'),
        Call("GetArrayItem", (A,), "string", "failOnError=true"),
        Call("CommonExpressionRef", (), "string", "id=CommonExpressionId(1; drop table,false) nullable=true"),
        AggCall("ScalaUDAF", (A,), "string"),
        AggCall("Sum", (A,), "string", python=True),
        WindowCall("reflect", (A,), frame, "string"),
        WindowCall("Sum", (A,), frame, "string", f"{complete}evalContext=what"),
        WindowCall("Lag", (A,), frame, "string", "ignoreNulls=true"),
        WindowCall("RowNumber", (), Frame("rows", "now()", 0, NotHeld("a text")), "string"),
        Udf("Upper", (A,), "string"),
    ):
        assert not stored_calls.known(call), call
    for call in (
        WindowCall("Sum", (A,), frame, "long", f"{complete}evalContext=NumericEvalContext(ANSI,true)"),
        WindowCall("Rank", (A,), frame, "integer"),
        AggCall("First", (A,), "string", detail="ignoreNulls=true"),
        Call("GetStructField", (A,), "string", 'name="a"'),
    ):
        assert stored_calls.known(call), call
