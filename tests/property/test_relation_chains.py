"""Questions over many steps: composed, chained, mixed in direction, always what the join of tuples says."""

from __future__ import annotations

import functools

from hypothesis import given
from hypothesis import strategies as st

import whence as wh
from whence.testing.conformance import answer
from whence.testing.operations import Raw
from whence.testing.oracle import RawRelation, walk
from whence.testing.strategies import Direction, asked, chains, effort, paths


def both(steps: list[Raw]) -> tuple[list[wh.Relation], list[RawRelation]]:
    return [wh.compress(*raw) for raw in steps], [RawRelation.from_rows(*raw) for raw in steps]


@given(chains(2))
@effort(400)
def test_compose_is_the_join(steps: list[Raw]) -> None:
    relations, raws = both(steps)
    joined = functools.reduce(lambda earlier, later: later.compose(earlier), relations)
    expected = functools.reduce(lambda earlier, later: later.compose(earlier), raws)
    assert joined.to_array().tolist() == expected.to_array().tolist()
    assert joined.count() == expected.count()


@given(st.data())
@effort(300)
def test_chain_backward_and_forward(data: st.DataObject) -> None:
    relations, raws = both(data.draw(chains(6)))
    question = data.draw(asked(raws[-1].out_shape))
    reached = functools.reduce(lambda cells, relation: relation.backward(cells), reversed(relations), question.given)
    assert answer(reached) == walk([(raw, "backward") for raw in reversed(raws)], question.cells)
    question = data.draw(asked(raws[0].in_shape))
    reached = functools.reduce(lambda cells, relation: relation.forward(cells), relations, question.given)
    assert answer(reached) == walk([(raw, "forward") for raw in raws], question.cells)


@given(st.data())
@effort(300)
def test_path_of_mixed_directions(data: st.DataObject) -> None:
    start, steps = data.draw(paths(6))
    question = data.draw(asked(start))
    reached = question.given
    for raw, direction in steps:
        relation = wh.compress(*raw)
        reached = relation.backward(reached) if direction == "backward" else relation.forward(reached)
    plain: list[tuple[RawRelation, Direction]] = [(RawRelation.from_rows(*raw), way) for raw, way in steps]
    assert answer(reached) == walk(plain, question.cells)


@given(st.data())
@effort(150)
def test_composing_first_or_asking_step_by_step(data: st.DataObject) -> None:
    relations, raws = both(data.draw(chains(6)))
    joined = functools.reduce(lambda earlier, later: later.compose(earlier), relations)
    question = data.draw(asked(raws[-1].out_shape))
    stepwise = functools.reduce(lambda cells, relation: relation.backward(cells), reversed(relations), question.given)
    assert joined.backward(question.given) == stepwise
    question = data.draw(asked(raws[0].in_shape))
    stepwise = functools.reduce(lambda cells, relation: relation.forward(cells), relations, question.given)
    assert joined.forward(question.given) == stepwise


@given(chains(3).filter(lambda steps: len(steps) == 3))
@effort(100)
def test_compose_is_associative(steps: list[Raw]) -> None:
    (first, second, third), raws = both(steps)
    left, right = third.compose(second).compose(first), third.compose(second.compose(first))
    assert left == right
    assert left.to_array().tolist() == raws[2].compose(raws[1]).compose(raws[0]).to_array().tolist()


@given(chains(2).filter(lambda steps: len(steps) == 2))
@effort(100)
def test_inverse_of_a_composition(steps: list[Raw]) -> None:
    (first, second), _ = both(steps)
    assert second.compose(first).inverse == first.inverse.compose(second.inverse)


@given(chains(1))
@effort(100)
def test_identity_changes_nothing(steps: list[Raw]) -> None:
    (relation,), _ = both(steps)
    assert relation.compose(wh.Relation.identity(relation.in_shape)) == relation
    assert wh.Relation.identity(relation.out_shape).compose(relation) == relation


@given(st.data())
@effort(100)
def test_questions_distribute_over_union(data: st.DataObject) -> None:
    (relation,), (raw,) = both(data.draw(chains(1)))
    first, second = data.draw(asked(raw.out_shape)), data.draw(asked(raw.out_shape))
    together = wh.Selection.of(first.given, raw.out_shape) | wh.Selection.of(second.given, raw.out_shape)
    assert relation.backward(together) == relation.backward(first.given) | relation.backward(second.given)
