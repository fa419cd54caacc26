"""Plans as documents: every class has a place there, nothing is lost, and nothing strange is let in."""

from __future__ import annotations

import inspect
import json
from copy import deepcopy
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import assume, given, settings

from whence.errors import BadType, Damaged, FutureVersion, TooLarge
from whence.rows import (
    AggCall,
    Aggregate,
    Attr,
    Call,
    Compare,
    Expr,
    Filter,
    IsNull,
    Literal,
    Named,
    Not,
    Opaque,
    Operator,
    Project,
    Source,
    Udf,
    Values,
    expressions,
    keep,
    operators,
    walk,
)
from whence.rows.documents import NotHeld, plan_document, read_plan
from whence.rows.documents.nodes import BY_CLASS
from whence.rows.saving import trace_plan
from whence.rows.tree import Tree, transform
from whence.testing.interpreter import Tables, run, trace
from whence.testing.strategies.plans import expressions as any_expression
from whence.testing.strategies.plans import plans, tables_of_plans

LONG = "long"
A, B, N = Attr(7, "a", LONG), Attr(-3, "b", "string", nullable=False), Attr(9, "n", LONG)
ROWS = Source("t", 0, (A, B), "parquet", ("file:/t",))
GROUPS = Aggregate(Filter(ROWS, Not(IsNull(A))), (B,), (*keep(B), Named(N, AggCall("Sum", (A,), LONG))))

CLASSES = {
    each
    for module in (operators, expressions)
    for each in vars(module).values()
    if inspect.isclass(each) and issubclass(each, Tree) and each not in (Operator, Expr, expressions.Logic)
}


def through(document: object) -> Any:
    """What another program reads."""
    return json.loads(json.dumps(document))


def numbered(plan: Operator) -> Operator:
    """The plan with the numbers that a document gives its columns."""
    return read_plan(plan_document(plan), new_columns=False).plan


# --- nothing is missing


def test_every_class_has_a_place_in_documents() -> None:
    assert {each.__name__ for each in CLASSES - set(BY_CLASS)} == set(), "whence.rows.documents.nodes lacks these"
    assert len(CLASSES) > 35


@pytest.mark.parametrize("made", sorted(BY_CLASS, key=str))
def test_every_field_has_a_place_in_documents(made: Any) -> None:
    """An origin is Spark's or the user's object: it is the only thing that is left out."""
    assert {each.name for each in fields(made)} - {"origin"} == set(BY_CLASS[made].fields)


# --- nothing is lost


@settings(max_examples=200, deadline=None)
@given(any_expression())
def test_any_expression_comes_back(expr: Expr) -> None:
    plan = Source("t", 0, tuple(expr.attrs))
    try:
        whole = Project(plan, (Named(N, expr),))
    except BadType:  # an outer reference is no column of the row
        assume(False)
    document = plan_document(whole)
    again = read_plan(through(document), new_columns=False).plan
    assert plan_document(again) == document
    ids = {part.id for part in walk(again) if isinstance(part, Attr)}
    assert ids == set(range(len(ids)))


@settings(max_examples=150, deadline=None)
@given(plans(), tables_of_plans())
def test_a_stored_plan_gives_the_same_rows_with_the_same_lineage(plan: Operator, tables: Tables) -> None:
    found = trace_plan(plan)
    stored = read_plan(through(plan_document(plan, found)))
    before, after = run(plan, tables), run(stored.plan, tables)
    assert [row.lineage for row in before] == [row.lineage for row in after]
    assert [row.shown(plan.output) for row in before] == [row.shown(stored.plan.output) for row in after]
    assert str(stored.trace.unavailable_reason) == str(found.unavailable_reason)  # type: ignore[union-attr]  # the plan was stored with one
    assume(found.unavailable_reason is None)
    assert stored.trace is not None
    for one, other in zip(before, after, strict=True):
        asked = trace(stored.trace, stored.plan, tables, [other.values])
        assert asked == trace(found, plan, tables, [one.values])


def test_the_columns_that_are_read_meet_no_others() -> None:
    one, other = (read_plan(plan_document(GROUPS)).plan for _ in range(2))
    ids = [{part.id for part in walk(plan) if isinstance(part, Attr)} for plan in (one, other)]
    assert not ids[0] & ids[1]
    assert all(each < 0 for each in ids[0])


def test_equal_parts_are_written_once() -> None:
    nested: Expr = A
    for _ in range(12):
        nested = Call("Add", (nested, nested), LONG)
    document = plan_document(Project(ROWS, (Named(N, nested),)))
    assert len(document["nodes"]) < 20
    again = read_plan(through(document), new_columns=False).plan
    assert isinstance(again, Project)
    assert sum(1 for _ in walk(again.columns[0].expr)) == 2**13 - 1


def test_a_domain_copy_and_a_cut_are_kept() -> None:
    source = replace(ROWS, is_domain_copy=True, cut="Python made it")
    again = numbered(source)
    assert isinstance(again, Source)
    assert (again.is_domain_copy, again.cut, again.paths) == (True, "Python made it", ("file:/t",))


# --- no code, no objects


def test_functions_of_users_are_stored_by_name_type_and_reason() -> None:
    function = Udf("PythonUDF", (A,), "string", 'name="f"', origin=object(), varies="it reads the clock")
    document = plan_document(Project(ROWS, (Named(B, function),)))
    (node,) = [each for each in document["nodes"] if each["node"] == "function"]
    assert node["opaque"] == "f is a Python function, whose code the log does not hold"
    plan = read_plan(through(document)).plan
    assert isinstance(plan, Project)
    again = plan.columns[0].expr
    assert isinstance(again, Udf)
    assert (again.dtype, again.varies) == ("string", "it reads the clock")
    assert again.origin == NotHeld(node["opaque"])


@pytest.mark.parametrize(
    "plan",
    [
        Opaque((ROWS,), (N,), "mapInPandas", origin=object()),
        operators.GroupedMap(ROWS, (A,), (N,), Udf("f", (A,), LONG), origin=object()),
        operators.Cogroup(ROWS, ROWS, (A,), (A,), (N,), Udf("f", (A,), LONG), origin=object()),
        Values((A,), origin=object()),
    ],
)
def test_opaque_operators_say_why(plan: Operator) -> None:
    again = read_plan(through(plan_document(plan))).plan
    assert isinstance(again.origin, NotHeld)  # type: ignore[attr-defined]  # all of these operators have one
    assert "the log" in again.origin.why  # type: ignore[attr-defined]  # all of these operators have one


def test_a_function_that_spark_would_look_up_by_name_is_never_taken_for_one_of_whences() -> None:
    """`reflect` calls whatever method of Java it is given."""
    evil = Call("reflect", (Literal("java.lang.System", "string"), Literal("exit", "string")), "string")
    plan = read_plan(through(plan_document(Project(ROWS, (Named(B, evil),))))).plan
    assert isinstance(plan, Project)
    assert isinstance(plan.columns[0].expr.origin, NotHeld)  # type: ignore[attr-defined]  # a Udf


def test_a_type_that_names_a_class_is_refused() -> None:
    dtype = '{"type":"udt","class":"java.lang.Thread","pyClass":"os.system","sqlType":"long"}'
    with pytest.raises(BadType, match="cannot be stored"):
        plan_document(Source("t", 0, (Attr(1, "x", dtype),)))
    document = plan_document(ROWS)
    document["nodes"][0]["dtype"] = json.loads(dtype)
    with pytest.raises(Damaged, match="not a type that whence reads"):
        read_plan(document)


# --- hostile documents


def changed(path: str, value: object) -> Any:
    """The document of GROUPS with something else at a place."""
    document = plan_document(GROUPS, trace_plan(GROUPS))
    at: Any = document
    *above, last = (int(step) if step.lstrip("-").isdigit() else step for step in path.split("."))
    for step in above:
        at = at[step]
    if value is DELETE:
        del at[last]
    else:
        at[last] = value
    return through(document)


DELETE = object()


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("format", "other", "not a stored plan"),
        ("version", "1", "no version"),
        ("version", 0, "no version"),
        ("plan", 99, "earlier node"),
        ("plan", True, "earlier node"),
        ("plan", 0, "Attr where Operator"),
        ("plan", DELETE, "missing or unknown fields"),
        ("extra", 1, "missing or unknown fields: extra"),
        ("nodes", {}, "are a list"),
        ("nodes.0", 3, "has a kind that this version"),
        ("nodes.0.node", "os.system", "that this version of whence does not know: 'os.system'"),
        ("nodes.0.node", ["column"], "has a kind that this version"),
        ("nodes.0.id", "0", "an integer of 64 bits"),
        ("nodes.0.id", 1 << 70, "an integer of 64 bits"),
        ("nodes.0.id", DELETE, "lacks id"),
        ("nodes.0.name", 5, "a text of at most"),
        ("nodes.0.dtype", "long); DROP", "not a type"),
        ("nodes.0.nullable", 1, "true or false"),
        ("nodes.0.origin", "x", "does not know: 'origin'"),
        ("nodes.2.columns", 0, "a list is expected"),
        ("nodes.2.columns", [2], "earlier node"),
        ("nodes.2.columns", [0, "1"], r"field 'columns'\[1\]"),
        ("trace.saved", 3, "a list is expected"),
        ("trace.uses.0.source", 0, "Attr where Source"),
        ("trace.uses.0.table", [5], "is not valid at source 't'"),
        ("trace.uses.0.predicate", -1, "earlier node"),
        ("trace.unavailable_reason", 3, "a text of at most"),
    ],
)
def test_a_damaged_document_is_named_with_the_place(path: str, value: object, message: str) -> None:
    with pytest.raises(Damaged, match=message):
        read_plan(changed(path, value))


def test_a_newer_document_says_so() -> None:
    with pytest.raises(FutureVersion, match="newer whence"):
        read_plan(changed("version", 2))


@pytest.mark.parametrize("document", [None, [], "plan", 3, {"format": "whence plan"}])
def test_what_is_no_document_is_refused(document: object) -> None:
    with pytest.raises(Damaged):
        read_plan(document)


def test_no_node_refers_to_itself_or_to_a_later_one() -> None:
    document = plan_document(GROUPS)
    for number, node in enumerate(document["nodes"]):
        if "child" in node:
            for later in (number, number + 1):
                bad = deepcopy(document)
                bad["nodes"][number]["child"] = later
                with pytest.raises(Damaged, match="earlier node"):
                    read_plan(bad)


def test_an_operator_that_reads_a_column_it_does_not_have_is_refused() -> None:
    document = plan_document(Filter(Project(ROWS, keep(A)), IsNull(A)))
    (null,) = [each for each in document["nodes"] if each["node"] == "is_null"]
    (b,) = [n for n, each in enumerate(document["nodes"]) if each["node"] == "column" and each["name"] == "b"]
    null["arg"] = b
    with pytest.raises(Damaged, match="is not valid"):
        read_plan(document)


def bomb(nodes: int, width: int) -> Any:
    """A small document of a plan that is large when it is written out."""
    document = plan_document(Project(ROWS, (Named(N, Call("Add", (A, A), LONG)),)))
    (at,) = [number for number, each in enumerate(document["nodes"]) if each["node"] == "call"]
    call, rest = document["nodes"][at], document["nodes"][at + 1 :]
    grown = [{**call, "args": [at + n] * width} for n in range(nodes)]
    moved = [
        {
            key: value + nodes if type(value) is int and value >= at and key in ("expr", "attr") else value
            for key, value in each.items()
        }
        for each in rest
    ]
    document["nodes"] = [*document["nodes"][: at + 1], *grown, *moved]
    return document


def test_a_plan_that_doubles_with_every_node_is_refused() -> None:
    with pytest.raises(Damaged, match="if what is shared is written out"):
        read_plan(bomb(60, 2))


def test_a_plan_that_is_too_deep_is_refused_both_ways() -> None:
    with pytest.raises(Damaged, match="nested parts"):
        read_plan(bomb(2000, 1))
    deep: Expr = IsNull(A)
    for _ in range(1500):
        deep = Not(deep)
    with pytest.raises(TooLarge, match="nested parts"):
        plan_document(Filter(ROWS, deep))


@pytest.mark.parametrize(
    "value", [{"decimal": "1e99999999"}, {"decimal": "NaN"}, {"float": "x"}, {"date": "soon"}, {"pickle": "gASV"}, [1]]
)
def test_strange_constants_are_refused(value: object) -> None:
    document = plan_document(Filter(ROWS, Compare("=", A, Literal(1, LONG))))
    (node,) = [each for each in document["nodes"] if each["node"] == "literal"]
    node["value"] = value
    with pytest.raises(Damaged):
        read_plan(document)


def test_a_constant_that_no_document_can_hold_is_an_error_that_names_it() -> None:
    with pytest.raises(BadType, match="type object"):
        plan_document(Filter(ROWS, Compare("=", A, Literal(object(), LONG))))


def test_a_class_without_a_place_is_an_error_that_names_it() -> None:
    class Strange(Filter):
        pass

    with pytest.raises(BadType, match="Strange cannot be stored"):
        plan_document(Strange(ROWS, IsNull(A)))


def test_transforming_a_plan_that_was_read_keeps_what_it_does_not_hold() -> None:
    plan = read_plan(plan_document(Project(ROWS, (Named(B, Udf("f", (A,), "string", origin=object())),)))).plan
    again = transform(plan, lambda part: replace(part, name="x") if isinstance(part, Attr) else part)
    assert isinstance(again.columns[0].expr.origin, NotHeld)
