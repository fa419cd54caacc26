"""What may come out differently in another run: only where it matters."""

from __future__ import annotations

from whence.rows import (
    AggCall,
    Aggregate,
    Arrange,
    Attr,
    Call,
    Compare,
    Distinct,
    Filter,
    Frame,
    Generate,
    IsNull,
    Join,
    Limit,
    Literal,
    Named,
    Operator,
    Project,
    Sort,
    SortKey,
    Source,
    Window,
    WindowCall,
    keep,
)
from whence.rows.determinism.reasons import unpinned

A, B, R, N = Attr(1, "a", "long"), Attr(2, "b", "long"), Attr(3, "r", "double"), Attr(4, "n", "double")
RAND = Call("Rand", (), "double", pure=False)
NUMBERED = Project(Source("t", 0, (A, B)), (*keep(A, B), Named(R, RAND)))
RANGE = Frame("range", None, 0)
SAID = ("rand in Project has another value in each run",)


def test_a_random_column_that_nothing_reads_does_no_harm() -> None:
    assert unpinned(NUMBERED) == SAID
    assert unpinned(Project(NUMBERED, keep(A))) == ()
    exploded = Generate(NUMBERED, Call("Explode", (B,), "long"), (N,), (A, R))
    assert unpinned(Project(exploded, keep(A, N))) == ()
    ranked = Window(NUMBERED, (Named(N, WindowCall("Rank", (), RANGE, "integer")),), (A,), (SortKey(B),))
    assert unpinned(Project(ranked, keep(A, N))) == ()
    counted = Aggregate(NUMBERED, (A,), (*keep(A), Named(N, AggCall("Count", (B,), "long"))))
    assert unpinned(Project(counted, keep(A))) == ()


def test_one_that_decides_which_rows_there_are_does() -> None:
    assert unpinned(Project(Filter(NUMBERED, Compare("<", R, Literal(0.5, "double"))), keep(A))) == SAID
    exploded = Generate(NUMBERED, Call("Explode", (R,), "double"), (N,), (A, B))
    assert unpinned(Project(exploded, keep(A))) == SAID
    ranked = Window(NUMBERED, (Named(N, WindowCall("Rank", (), RANGE, "integer")),), (A,), (SortKey(R),))
    assert unpinned(Project(ranked, keep(A))) == SAID
    assert unpinned(Project(Distinct(NUMBERED, (A, B, R)), keep(A))) == SAID
    assert unpinned(Project(Aggregate(NUMBERED, (A, R), keep(A)), keep(A))) == SAID


def test_an_aggregate_that_nothing_reads_may_still_decide_witnesses() -> None:
    largest = Aggregate(NUMBERED, (A,), (*keep(A), Named(N, AggCall("Max", (R,), "double"))))
    assert unpinned(Project(largest, keep(A))) == SAID


def test_an_order_by_chance_does_harm_only_where_the_order_decides_which_rows_there_are() -> None:
    ordered = Sort(NUMBERED, (SortKey(B), SortKey(R)))
    assert unpinned(Project(ordered, keep(A))) == ()
    other = Source("u", 1, (Attr(7, "c", "long"),))
    assert unpinned(Project(Join(ordered, other, "inner", Compare("=", A, other.columns[0])), keep(A))) == ()
    assert unpinned(Project(Limit(ordered, Literal(2, "integer")), keep(A))) == SAID
    first = Aggregate(ordered, (A,), (*keep(A), Named(N, AggCall("First", (B,), "long"))))
    assert set(SAID) <= set(unpinned(first))
    placed = Project(ordered, (*keep(A), Named(N, Call("MonotonicallyIncreasingID", (), "long", pure=False))))
    assert set(SAID) <= set(unpinned(placed))


def test_a_limit_of_rows_that_were_repartitioned_may_take_others() -> None:
    moved = Arrange(Source("t", 0, (A, B)), "Repartition")
    said = ("Limit 3 takes rows in an order that the data does not determine",)
    for child in (moved, Filter(moved, Compare("=", A, Literal(1, "long")))):
        assert unpinned(Limit(child, Literal(3, "integer"))) == said
    hinted = Arrange(Source("t", 0, (A, B)), "ResolvedHint")
    assert unpinned(Limit(Sort(moved, (SortKey(A), SortKey(B))), Literal(3, "integer"))) == ()
    assert unpinned(Limit(hinted, Literal(3, "integer"))) == ()


def _filled(name: str, frame: Frame, below: Operator, *order: Attr) -> Window:
    call = WindowCall(name, (A,), frame, "long", "ignoreNulls=true")
    return Window(below, (Named(N, call),), (), tuple(map(SortKey, order)))


def test_numbers_of_rows_in_their_files_that_only_order_a_window_do_no_harm() -> None:
    source, before, near = Source("t", 0, (A, B)), Frame("rows", None, -1), Frame("range", -5, 0)
    number = Named(R, Call("MonotonicallyIncreasingID", (), "long", pure=False))
    placed = Project(source, (*keep(A, B), number))
    said = ("monotonicallyincreasingid in Project has another value in each run",)
    assert unpinned(Project(_filled("Last", before, placed, R), keep(A, N))) == ()
    renamed = Project(Filter(placed, IsNull(B)), (*keep(A), Named(B, R)))
    assert unpinned(Project(_filled("Last", before, renamed, B), keep(A, N))) == ()
    assert unpinned(_filled("Last", before, placed, R)) == said  # the output shows the numbers
    assert said[0] in unpinned(Project(_filled("Sum", near, placed, R), keep(A, N)))
    moved = Project(Arrange(source, "Repartition"), (*keep(A, B), number))
    assert unpinned(Project(_filled("Last", before, moved, R), keep(A, N))) == said
    kept = Filter(_filled("Last", before, placed, R), Compare("<", R, Literal(5, "long")))
    assert unpinned(Project(kept, keep(A, N))) == said


def test_a_row_that_is_picked_by_its_position_depends_on_ties() -> None:
    source, whole = Source("t", 0, (A, B)), Frame("rows", None, None)
    assert unpinned(Project(_filled("Max", whole, source, A), keep(N))) == ()
    (said,) = unpinned(Project(_filled("First", whole, source, A), keep(N)))
    assert "order may have ties" in said
