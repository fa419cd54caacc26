"""The cases that have caught others out, each by its name."""

from __future__ import annotations

import numpy as np
import pytest

import whence as wh
from whence.testing import operations as ops
from whence.testing.conformance import answer
from whence.testing.operations import Raw
from whence.testing.oracle import RawRelation, all_cells
from whence.testing.strategies import swapped

CASES: dict[str, Raw] = {
    # ties: one output axis decides several input axes, which must not come apart
    "diagonal extracted": ops.diag_extract((5, 5)),
    "diagonal extracted, shifted": ops.diag_extract((5, 7), 2),
    "diagonal constructed": ops.diag_construct((5,)),
    "diagonal of a cube": ops.fancy((4, 4, 4), range(4), range(4), range(4)),
    "diagonal against the grain": ops.fancy((4, 4), range(4), range(3, -1, -1)),
    "three axes tied, with steps": ops.fancy((3, 6, 9), range(3), range(0, 6, 2), range(8, 0, -3)),
    "tie on the output side": ops.moved(np.where(np.eye(4, dtype=bool), np.arange(4)[:, None], -1), (4,)),
    "a diagonal from the diagonal of a cube": ops.moved(np.diag(np.arange(3) * 13 + 1) - 1, (3, 3, 3)),
    "diagonal band": ops.convolve((6,), 3, "same"),
    # triangles
    "lower triangle": ops.tril((5, 5)),
    "upper triangle, shifted": ops.triu((4, 6), 1),
    "triangle cut by the edge": ops.tril((6, 3), 2),
    "cumsum": ops.cumsum((7,)),
    "cumsum on axis 0": ops.cumsum((4, 3), 0),
    "reversed cumsum": ops.along((6,), 0, 6, *np.triu_indices(6)),
    # strides
    "every second": ops.sliced((9,), slice(None, None, 2)),
    "every third, from one": ops.sliced((11, 4), slice(1, None, 3), slice(None, None, 2)),
    "reversed": ops.flip((6,)),
    "reversed on both axes": ops.flip((3, 4)),
    "reversed with a step": ops.sliced((10,), slice(8, 1, -3)),
    "turned": ops.rot90((3, 5)),
    "written with a step": ops.assigned((3,), (8,), slice(1, 7, 2)),
    # repeats and radices
    "repeat": ops.repeat((4,), 3),
    "repeat on axis 0": ops.repeat((3, 2), 2, 0),
    "tile": ops.tile((2, 3), (2, 2)),
    "upsample": ops.upsample((2, 3), (3, 2)),
    "ravel": ops.reshape((3, 4), (12,)),
    "unravel": ops.reshape((24,), (2, 3, 4)),
    "reshape with unrelated radices": ops.reshape((4, 6), (3, 8)),
    "reshape with unrelated radices, 3-d": ops.reshape((4, 6, 5), (10, 3, 4)),
    "transpose of rank 4": ops.transpose((2, 3, 2, 3), (3, 1, 0, 2)),
    "transpose, then ravel": ops.transpose_reshape((3, 4), (1, 0), (12,)),
    "Fortran order": ops.reshape((3, 4), (6, 2), "F"),
    "kron": ops.kron_right((2, 2), (2, 3)),
    # windows and their edges
    "convolve full": ops.convolve((8,), 3),
    "convolve same, even kernel": ops.convolve((8,), 4, "same"),
    "convolve valid": ops.convolve((8,), 3, "valid"),
    "kernel as long as the signal": ops.convolve((4,), 4),
    "kernel longer than the signal": ops.convolve((2,), 5),
    "image filter": ops.convolve_nd((5, 6), (3, 3)),
    "image filter, even kernel": ops.convolve_nd((5, 6), (2, 4)),
    "diff": ops.diff((6,)),
    "gradient": ops.gradient((6, 2)),
    "pool": ops.pool((7, 6), (2, 3)),
    "pad by reflection": ops.pad((5,), 3, "reflect"),
    "pad by wrapping": ops.pad((4,), 6, "wrap"),
    "roll": ops.roll((7,), 3),
    "roll of the raveled array": ops.roll((3, 4), 5),
    # products
    "matmul left": ops.matmul_left((3, 4), 2),
    "matmul right": ops.matmul_right((4, 2), 3),
    "batched matmul": ops.matmul_left((2, 3, 2), 3),
    "outer": ops.outer_right((3,), 4),
    # 0-d, one cell, no cell
    "0-d to 0-d": ops.negative(()),
    "0-d to 0-d, nothing": ops.nothing((), ()),
    "0-d to n-d": ops.broadcast((), (2, 3)),
    "n-d to 0-d": ops.sum_over((2, 3)),
    "one cell of n-d to 0-d": ops.sliced((2, 3), 1, 1),
    "0-d into one cell of n-d": swapped(ops.sliced((2, 3), 1, 1)),
    "1 x 1": ops.negative((1, 1)),
    "1 x 1 to 0-d": ops.sum_over((1, 1)),
    "axes of one among others": ops.transpose((1, 3, 1), (1, 2, 0)),
    "zero-size": ops.negative((0,)),
    "zero-size axis among others": ops.negative((3, 0, 2)),
    "zero-size from something": ops.sliced((5,), slice(0, 0)),
    "something from zero-size": ops.sum_over((0, 3), 0),
    "0-d from zero-size": ops.sum_over((0,)),
    "nothing": ops.nothing((3,), (2, 2)),
    "everything": ops.all_to_all((2, 3), (4,)),
    # no structure
    "sort": ops.sort((12,)),
    "sort of lanes": ops.sort((3, 5)),
    "filter": ops.filter_rows((12, 2)),
    "bins": ops.bins((20,), 4),
    "bins of sorted values": ops.bins((20,), 4, ordered=True),
    "group by": ops.group_by((10, 2), 3),
    "join": ops.join_left((6, 2), 5, 3),
    "chessboard": ops.moved(np.where(np.indices((5, 5)).sum(0) % 2, np.arange(25).reshape(5, 5), -1), (5, 5)),
    "a square with a hole": ops.moved(np.where(np.arange(25) == 12, -1, np.arange(25)).reshape(5, 5), (5, 5)),
    "one tuple": ops.moved(np.array([[-1, 3]]), (2, 2)),
}


@pytest.mark.parametrize("name", CASES)
def test_tuples_come_back(name: str) -> None:
    raw = CASES[name]
    relation = wh.compress(*raw)
    assert (relation.out_shape, relation.in_shape) == (raw.out_shape, raw.in_shape)
    assert relation.to_array().shape == raw.tuples.shape
    assert np.array_equal(relation.to_array(), raw.tuples)
    assert relation.count() == len(raw.tuples)
    assert wh.Relation.from_bytes(relation.to_bytes()) == relation


@pytest.mark.parametrize("name", CASES)
def test_each_cell_backward_and_forward(name: str) -> None:
    raw = CASES[name]
    relation, plain = wh.compress(*raw), RawRelation.from_rows(*raw)
    for cell in all_cells(raw.out_shape):
        assert answer(relation.backward([cell])) == plain.backward([cell])
    for cell in all_cells(raw.in_shape):
        assert answer(relation.forward([cell])) == plain.forward([cell])


@pytest.mark.parametrize("name", CASES)
def test_random_cells_backward_and_forward(name: str) -> None:
    raw = CASES[name]
    relation, plain = wh.compress(*raw), RawRelation.from_rows(*raw)
    rng = np.random.default_rng(1)
    for share in (0.0, 0.2, 0.5, 0.8, 1.0):
        for shape, ask, expect in (
            (raw.out_shape, relation.backward, plain.backward),
            (raw.in_shape, relation.forward, plain.forward),
        ):
            mask = rng.random(shape) < share
            asked = [cell for cell in all_cells(shape) if mask[cell]]
            assert answer(ask(np.asarray(mask))) == expect(asked)


@pytest.mark.parametrize("name", CASES)
def test_composed_with_itself_inverted(name: str) -> None:
    raw = CASES[name]
    relation, plain = wh.compress(*raw), RawRelation.from_rows(*raw)
    assert relation.inverse.compose(relation).to_array().tolist() == plain.inverse.compose(plain).to_array().tolist()
    assert relation.compose(relation.inverse).to_array().tolist() == plain.compose(plain.inverse).to_array().tolist()


def test_the_diagonal_does_not_become_a_square() -> None:
    relation = wh.compress(*ops.diag_extract((100, 100)))
    found = relation.backward((slice(10, 20),))
    assert found.cells().tolist() == [[i, i] for i in range(10, 20)]
    assert relation.forward((slice(10, 20), slice(15, 30))).cells().tolist() == [[i] for i in range(15, 20)]


def test_the_diagonal_of_a_matrix_product_is_a_trace() -> None:
    trace = wh.compress(*ops.sum_over((4,))).compose(wh.compress(*ops.diag_extract((4, 4))))
    assert trace.backward([()]).cells().tolist() == [[i, i] for i in range(4)]


def test_reshape_there_and_back_is_the_identity() -> None:
    relation = wh.compress(*ops.reshape((4, 6), (3, 8)))
    assert relation.inverse.compose(relation) == wh.Relation.identity((4, 6))
    assert relation.compose(relation.inverse) == wh.Relation.identity((3, 8))


def test_flip_twice_and_four_turns_are_the_identity() -> None:
    flip, turn = wh.compress(*ops.flip((5,))), wh.compress(*ops.rot90((5, 5)))
    assert flip.compose(flip) == wh.Relation.identity((5,))
    assert turn.compose(turn).compose(turn).compose(turn) == wh.Relation.identity((5, 5))


def test_what_has_no_lineage_answers_nothing() -> None:
    relation = wh.compress(*ops.pad((3,), 2))
    assert len(relation.backward([(0,), (1,), (5,), (6,)])) == 0
    assert not relation.backward([(0,)])
    assert relation.backward([(0,), (2,)]).cells().tolist() == [[0]]


def test_zero_d_answers_hold_the_one_cell_or_none() -> None:
    total = wh.compress(*ops.sum_over((2, 2)))
    assert total.forward([(1, 1)]).cells().shape == (1, 0)
    assert total.forward(np.zeros((2, 2), bool)).cells().shape == (0, 0)
    assert len(total.backward([()])) == 4


def test_constructors() -> None:
    assert wh.Relation.identity((3, 2)).to_array().tolist() == ops.negative((3, 2)).tuples.tolist()
    assert wh.Relation.whole((2,), (3,)).to_array().tolist() == ops.all_to_all((3,), (2,)).tuples.tolist()
    assert wh.Relation.empty((2,), (3,)).to_array().shape == (0, 2)
    assert wh.Relation.whole((), ()) == wh.Relation.identity(())
    assert wh.Relation.whole((0, 2), (3,)) == wh.Relation.empty((0, 2), (3,))
    assert len(wh.Relation.empty((2,), (3,))) == 0


def test_large_relations_need_no_expansion() -> None:
    side = 2**20
    whole = wh.Relation.whole((side,), (side,))
    assert whole.count() == side * side
    assert len(whole.backward([(5,)])) == side
    identity = wh.Relation.identity((side, side))
    assert identity.count() == side * side
    assert identity.backward([(side - 1, 7)]).cells().tolist() == [[side - 1, 7]]
    assert len(identity.forward((slice(3, 9), slice(None)))) == 6 * side


def test_a_relation_does_not_change() -> None:
    raw = ops.convolve((8,), 3)
    rows = raw.tuples.copy()
    relation = wh.compress(rows, raw.out_shape, raw.in_shape)
    rows[:] = 0
    expanded = relation.to_array()
    if expanded.flags.writeable:
        expanded[:] = 0
    assert np.array_equal(relation.to_array(), raw.tuples)
    with pytest.raises(AttributeError):
        relation.out_shape = (1,)  # type: ignore[misc] # refused on purpose


def test_it_prints_what_it_is() -> None:
    shown = repr(wh.compress(*ops.sum_over((3, 2), 1)))
    assert "3" in shown
    assert len(shown) < 1000
    assert len(repr(wh.compress(*ops.sort((5000,))))) < 2000
