"""What is inside of the functions that pandas API on Spark makes."""

from __future__ import annotations

from typing import Any

from whence.rows import Inside, Udf
from whence.rows.determinism.reasons import unpinned
from whence.rows.eager import eager
from whence.rows.expressions import Attr, Call, fresh
from whence.rows.functions import Untranslated, translate
from whence.rows.functions.evaluating import evaluated
from whence.rows.operators import Join, Named, Opaque, Project, Source, keep
from whence.rows.tree import walk

A, B = Attr(1, "a", "string"), Attr(2, "b", "long")


def shout(text: Any) -> Any:
    return "?" if text is None else text + "!"


def test_null_is_nan_in_columns_of_floats() -> None:
    found = translate(
        lambda x: "none" if x is None else "nan" if x != x else "some", ["double"], "string", travels="pandas"
    )
    assert isinstance(found, Inside)
    (parameter,) = found.parameters
    assert [evaluated(found.value, {parameter: each}) for each in (None, 1.0)] == ["nan", "some"]


def test_whole_numbers_of_pandas_are_not_followed() -> None:
    assert isinstance(translate(lambda x: x + 1, ["long"], "long", travels="pandas"), Untranslated)


def test_a_number_that_nothing_reads_makes_no_doubt() -> None:
    """The index of pandas API on Spark is handed to functions that do not look at it."""
    index = Attr(3, "__index_level_0__", "long")
    rows = Join(Source("t", 0, (A, B)), Source("u", 1, (Attr(7, "c", "long"),)), "cross")
    numbered = Project(rows, (Named(index, Call("MonotonicallyIncreasingID", (), "long", pure=False)), *keep(A)))
    inside = translate(shout, ["string"], "string")
    assert isinstance(inside, Inside)
    placed = Inside((fresh("_0", "long"), *inside.parameters), inside.value, inside.domain)
    out = Attr(4, "out", "string")
    closed, opened = (Udf("PythonUDF", (index, A), "string", inside=each) for each in (None, placed))
    assert unpinned(Project(numbered, (Named(out, closed),)))
    assert not unpinned(Project(numbered, (Named(out, opened),)))


def test_a_function_of_each_row_carries_the_ids_of_the_row() -> None:
    source = Source("t", 0, (A, B))
    whole = eager(Opaque((source,), (Attr(5, "c", "string"),), "f"), "rows")
    each = eager(Opaque((source,), (Attr(5, "c", "string"),), "f", by_row=True), "rows")
    assert whole.reasons
    assert not each.reasons
    (part,) = [part for part in walk(each.plan) if isinstance(part, Opaque)]
    assert len(part.annotated) == 1
    assert part.output[1:] == tuple(out for _, out in part.annotated)
