"""What a log does not hold is left out of a trace plan: a superset, with the reason, and nothing else is left out."""

from __future__ import annotations

from whence.rows import (
    And,
    Attr,
    Call,
    Compare,
    Expr,
    Filter,
    Literal,
    Named,
    Operator,
    Param,
    Project,
    Source,
    Udf,
    conjuncts,
    keep,
)
from whence.rows.documents import plan_document, read_plan
from whence.rows.saving import TracePlan, trace_plan
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
    assert "shout is a function of the pipeline's own" in reasons[0]


def test_a_function_that_nobody_knows_is_left_out() -> None:
    _, trace = stored(made(Call("RegExpReplace", (B, Literal("o", "string"), Literal("0", "string")), "string")))
    less, reasons = relaxed(trace)
    assert (facts(trace), facts(less)) == (2, 1)
    assert "it calls Spark's RegExpReplace" in reasons[0]


def test_functions_that_duckdb_or_spark_computes_stay() -> None:
    for call in (
        Call("Concat", (A, B), "string"),  # both do
        Call("Left", (B, Literal(2, "integer")), "string"),  # DuckDB does
        Call("Upper", (B,), "string"),  # Spark does
    ):
        _, trace = stored(made(call))
        assert relaxed(trace) == (trace, ())


def test_what_only_duckdb_computes_is_left_out_where_only_spark_reads() -> None:
    _, trace = stored(made(Call("Left", (B, Literal(2, "integer")), "string")), StoredLeaf("csv"))
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
