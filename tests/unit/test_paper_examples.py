"""The examples of the DSLog papers, with their 1-based indices moved to 0-based ones.

The running example is `B = np.sum(A, axis=1)` with A of shape (3, 2) (Figure 1 and Tables I to VI of the article;
Tables 4.1 to 4.5 are the thesis's).
"""

from __future__ import annotations

import numpy as np
import pytest

import whence as wh
from whence.testing import operations as ops
from whence.testing.operations import Raw
from whence.testing.oracle import RawRelation

ONE_BASED = np.array([[1, 1, 1], [1, 1, 2], [2, 2, 1], [2, 2, 2], [3, 3, 1], [3, 3, 2]])
TUPLES = ONE_BASED - 1


@pytest.fixture
def total() -> wh.Relation:
    return wh.compress(TUPLES, (3,), (3, 2))


def test_figure_1_the_lineage_of_a_sum() -> None:
    assert np.array_equal(ops.sum_over((3, 2), 1).tuples, TUPLES)


def test_section_4_ranges_of_integers() -> None:
    numbers = [1, 2, 3, 4, 9, 12, 13, 14, 15]
    selection = wh.Selection.from_cells([(n,) for n in numbers], shape=(16,))
    assert selection.boxes.tolist() == [[[1, 4]], [[9, 9]], [[12, 15]]]


def test_table_1_input_ranges(total: wh.Relation) -> None:
    """Each b1 has the whole range of a2: three rows after the first step."""
    for b in range(3):
        assert total.backward([(b,)]).boxes.tolist() == [[[b, b], [0, 1]]]


def test_table_2_one_row_after_the_relative_transformation(total: wh.Relation) -> None:
    assert len(total) == 1
    assert np.array_equal(total.to_array(), TUPLES)


def test_table_3_the_same_row_answers_forward(total: wh.Relation) -> None:
    assert total.forward((slice(0, 3), slice(0, 2))).boxes.tolist() == [[[0, 2]]]
    assert total.forward([(1, 0)]).boxes.tolist() == [[[1, 1]]]
    assert len(total.inverse) == 1
    assert total.inverse.backward([(1, 0)]) == total.forward([(1, 0)])


def test_table_4_and_6_the_query_and_its_answer(total: wh.Relation) -> None:
    asked = wh.Selection.from_boxes([[[0, 1]]], shape=(3,))
    assert total.backward(asked).boxes.tolist() == [[[0, 1], [0, 1]]]


def test_table_5_the_range_join_keeps_the_pairs_of_the_queried_cells(total: wh.Relation) -> None:
    queried = wh.compress(np.array([[0, 0], [1, 1]]), (3,), (3,))
    joined = queried.compose(total)
    assert joined.to_array().tolist() == TUPLES[:4].tolist()
    assert len(joined) == 1


def test_range_join_of_intervals() -> None:
    """[1, 3] and [0, 2] overlap in [1, 2]; [4, 8] and [10, 12] do not."""

    def interval(low: int, high: int) -> wh.Selection:
        return wh.Selection.from_boxes([[[low, high]]], shape=(13,))

    assert (interval(1, 3) & interval(0, 2)).boxes.tolist() == [[[1, 2]]]
    assert not interval(4, 8) & interval(10, 12)


def test_figure_2_all_of_a_matrix_into_one_cell() -> None:
    relation = wh.compress(*ops.sum_over((4, 4), keepdims=True))
    assert len(relation) == 1
    assert relation.backward([(0, 0)]).boxes.tolist() == [[[0, 3], [0, 3]]]


def test_figure_3_one_to_one() -> None:
    relation = wh.compress(*ops.negative((2, 1)))
    assert len(relation) == 1
    assert relation.backward([(1, 0)]).boxes.tolist() == [[[1, 1], [0, 0]]]


def test_figure_4_all_to_all_within_intervals() -> None:
    relation = wh.Relation.whole((3,), (2,))
    assert relation.backward((slice(0, 2),)).boxes.tolist() == [[[0, 1]]]


def test_figure_5_a_relative_interval_breaks_the_all_to_all() -> None:
    """a = b + [0, 1]: asking for b in [0, 1] gives a in [0, 2], and each b its own two cells."""
    rows = [[b, b + delta] for b in range(3) for delta in (0, 1)]
    relation = wh.compress(np.array(rows), (3,), (4,))
    assert len(relation) == 1
    assert relation.backward((slice(0, 2),)).boxes.tolist() == [[[0, 2]]]
    assert relation.backward([(2,)]).boxes.tolist() == [[[2, 3]]]


def test_rel_for_as_it_should_read() -> None:
    """The printed rel_for takes r.x[1] twice: b in [a - hi, a - lo], within b's own interval."""
    rows = [[b, b + delta] for b in range(1, 5) for delta in (-1, 0, 1)]
    raw = Raw(np.array(rows), (6,), (6,))
    relation, plain = wh.compress(*raw), RawRelation.from_rows(*raw)
    for first in range(6):
        for last in range(first, 6):
            found = relation.forward((slice(first, last + 1),)).cells()
            assert set(map(tuple, found.tolist())) == plain.forward([(a,) for a in range(first, last + 1)])


def test_delta_is_input_minus_output() -> None:
    later = wh.compress(*ops.sliced((10,), slice(3, None)))
    assert later.backward([(0,)]).cells().tolist() == [[3]]
    earlier = wh.compress(*ops.pad((10,), (3, 0)))
    assert earlier.backward([(3,)]).cells().tolist() == [[0]]


def test_thesis_table_4_1() -> None:
    rows = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]]
    relation = wh.compress(np.array(rows), (2,), (2, 2))
    assert relation.to_array().tolist() == rows
    assert relation.backward([(0,)]).cells().tolist() == [[0, 0], [0, 1]]


@pytest.mark.parametrize(
    ("raw", "one_based"),
    [
        (ops.sliced((3, 2), slice(1, 3), 1), [[1, 2, 2], [2, 3, 2]]),
        (ops.sliced((3, 2), slice(None), 0), [[1, 1, 1], [2, 2, 1], [3, 3, 1]]),
        (ops.sum_over((3, 2), 1), ONE_BASED.tolist()),
    ],
    ids=["slicing", "projection", "sum along axis"],
)
def test_thesis_table_4_2(raw: Raw, one_based: list[list[int]]) -> None:
    assert (raw.tuples + 1).tolist() == one_based
    relation = wh.compress(*raw)
    assert (relation.to_array() + 1).tolist() == one_based
    assert len(relation) == 1


@pytest.mark.parametrize(
    ("raw", "rows"),
    [
        (ops.negative((1000,)), 1),
        (ops.add((1000,), (1000,)), 1),
        (ops.sum_over((1000,), 0), 1),
        (ops.tile((1000,), 2), 2),
        (ops.matmul_left((50, 50), 50), 1),
        (ops.matmul_right((50, 50), 50), 1),
        (ops.transpose((1000, 100)), 1),
    ],
    ids=["negative", "add", "sum", "tile", "dot, left", "dot, right", "transpose"],
)
def test_thesis_table_4_5(raw: Raw, rows: int) -> None:
    """No more rows than the papers' own encoding needs."""
    relation = wh.compress(*raw)
    assert len(relation) <= rows
    assert np.array_equal(relation.to_array(), raw.tuples)


def test_two_input_axes_relative_to_one_output_axis_stay_tied() -> None:
    """Where the papers' de-relativizing turns a diagonal into a square."""
    relation = wh.compress(*ops.diag_extract((3, 3)))
    assert relation.backward((slice(0, 2),)).cells().tolist() == [[0, 0], [1, 1]]
