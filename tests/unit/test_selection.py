"""Selections by name: what goes in, what is refused and how it is said, how it prints."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from typing import Any

import numpy as np
import pytest

from whence import _core, selection
from whence.errors import BadCells, BadType, OutOfRange, ShapeMismatch, TooLarge, WhenceError
from whence.selection import Selection

# What goes in


@pytest.mark.parametrize(
    ("cells", "shape", "expected"),
    [
        ((1, 2), (3, 4), [(1, 2)]),
        ([(1, 2), (0, 0), (1, 2)], (3, 4), [(0, 0), (1, 2)]),
        (((1, 2), (0, 0)), (3, 4), [(0, 0), (1, 2)]),
        ({(1, 2), (0, 0)}, (3, 4), [(0, 0), (1, 2)]),
        ([[1, 2], [0, 0]], [3, 4], [(0, 0), (1, 2)]),
        (np.array([[1, 2], [0, 0]], dtype=np.uint8), (3, 4), [(0, 0), (1, 2)]),
        (np.array([[1, 0], [2, 0]]).T, (3, 4), [(0, 0), (1, 2)]),
        ([], (3, 4), []),
        (np.empty((0, 2)), (3, 4), []),
        (3, (5,), [(3,)]),
        (np.int64(3), 5, [(3,)]),
        (np.array(3), (5,), [(3,)]),
        ((3,), (5,), [(3,)]),
        ([3, 1], (5,), [(1,), (3,)]),
        (range(2), (5,), [(0,), (1,)]),
        (np.array([3, 1]), (5,), [(1,), (3,)]),
        (slice(3, None), (5,), [(3,), (4,)]),
        (slice(1, 2), (2, 2), [(1, 0), (1, 1)]),
        ((slice(None), 0), (2, 2), [(0, 0), (1, 0)]),
        ((..., 0), (2, 2), [(0, 0), (1, 0)]),
        (..., (2,), [(0,), (1,)]),
        (np.array([True, False]), (2,), [(0,)]),
        ("1", (2,), [(1,)]),
        ((), (), [()]),
        ([()], (), [()]),
        ([], (), []),
        (np.empty((3, 0), dtype=int), (), [()]),
        (np.bool_(True), (), [()]),
        (np.array(False), (), []),
        (..., (), [()]),
        ([], (0, 3), []),
        (slice(None), (0, 3), []),
    ],
)
def test_of_takes_whatever_says_which_cells(cells: Any, shape: Any, expected: list[tuple[int, ...]]) -> None:
    assert list(Selection.of(cells, shape)) == expected


def test_of_a_selection_is_that_selection() -> None:
    given = Selection.of((1, 2), (3, 4))
    assert Selection.of(given, (3, 4)) is given
    assert Selection.of(given, [3, 4]) is given
    with pytest.raises(ShapeMismatch, match=r"\(3, 4\).*\(4, 3\)"):
        Selection.of(given, (4, 3))


@pytest.mark.parametrize(
    ("text", "shape", "expected"),
    [
        ("3,4", (5, 5), "[3, 4]"),
        (" 3 , 4 ", (5, 5), "[3, 4]"),
        ("(3, 4)", (5, 5), "[3, 4]"),
        ("0:10,5", (20, 6), "[0:10, 5]"),
        (":,0", (3, 2), "[0:3, 0]"),
        ("::2", (5,), "[0], [2], [4]"),
        ("...,1", (2, 2, 2), "[0:2, 0:2, 1]"),
        ("1:", (3, 2), "[1:3, 0:2]"),
        ("-2:", (5,), "[3:5]"),
        ("3:99", (5,), "[3:5]"),
        ("3,4 0,0", (5, 5), "[0, 0], [3, 4]"),
        ("3,4;0,0;", (5, 5), "[0, 0], [3, 4]"),
        ("[3, 4]; [0:2, 0]", (5, 5), "[0:2, 0], [3, 4]"),
        ("4,", (5,), "[4]"),
        ("", (), "[()]"),
        ("()", (), "[()]"),
    ],
)
def test_parse(text: str, shape: tuple[int, ...], expected: str) -> None:
    assert repr(Selection.parse(text, shape)).endswith(f": {expected})")


@pytest.mark.parametrize("count", [3000, 20_000])
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("far", [False, True])
def test_many_cells_in_any_order(count: int, axes: int, far: bool) -> None:
    """Enough of them to be sorted digit by digit when they are far apart, or marked in a bitmap when they are near."""
    size = 10**6 if far else round((4 * count) ** (1 / axes))
    cells = np.random.default_rng(count + axes).integers(0, size, (count, axes))
    selection = Selection.from_cells(cells, (size,) * axes)
    assert np.array_equal(selection.cells(), np.unique(cells, axis=0))
    assert _core.is_canonical(selection.boxes)
    runs = np.stack([cells, cells], axis=-1)
    runs[:, -1, 1] += 2
    runs[:, -1] = np.minimum(runs[:, -1], size - 1)
    longer = np.concatenate([cells, cells, cells])
    longer[:, -1] = np.minimum(longer[:, -1] + np.repeat([0, 1, 2], count), size - 1)
    assert Selection.from_boxes(runs, (size,) * axes) == Selection.from_cells(longer, (size,) * axes)


def test_many_boxes_sorted_digit_by_digit() -> None:
    """Boxes too tall to be taken line by line: a sweep, after a radix sort along axis 0."""
    corners = np.argwhere(np.ones((60, 60), dtype=bool)) * 10**5
    boxes = np.random.default_rng(0).permutation(np.stack([corners, corners + 10**4], axis=-1))
    selection = Selection.from_boxes(boxes, (10**7, 10**7))
    assert selection.boxes.tolist() == np.stack([corners, corners + 10**4], axis=-1).tolist()
    assert selection.count == 3600 * 10_001**2


def test_a_mask_may_hold_other_bytes_than_one() -> None:
    mask = np.array([0, 2, 255, 0, 1], dtype=np.uint8).view(np.bool_)
    assert list(Selection.from_mask(mask)) == [(1,), (2,), (4,)]


def test_boxes_may_be_empty_but_not_reversed() -> None:
    assert not Selection.from_boxes([[[2, 1], [0, 9]]], (3, 3))
    assert not Selection.from_boxes([], (3, 3))
    assert not Selection.from_boxes(np.empty((0, 2, 2)), (3, 3))
    assert len(Selection.from_boxes([[]], ())) == 1
    with pytest.raises(BadCells, match=r"\[\[2, 0\], \[0, 1\]\] ends before it starts"):
        Selection.from_boxes([[[2, 0], [0, 1]]], (3, 3))


def test_the_given_array_is_not_kept() -> None:
    boxes = np.array([[[0, 1]]])
    made = Selection.from_boxes(boxes, (3,))
    boxes[0, 0, 1] = 2
    assert len(made) == 2


@pytest.mark.parametrize("cells", [(-1, 1), [(-1, -1)], np.array([[-1, 1], [2, -1]]), (slice(-1, None), -1), "-1,-1"])
def test_negative_indices_count_from_the_end(cells: Any) -> None:
    assert Selection.of(cells, (3, 2)).cells().tolist() == [[2, 1]]


# What is refused

LARGE = 2**70


@pytest.mark.parametrize(
    ("cells", "shape", "error", "said"),
    [
        ((3, 0), (3, 2), OutOfRange, r"cell \(3, 0\) is outside the shape \(3, 2\): axis 0 has the indices 0 to 2"),
        ([(0, 0), (0, 5)], (3, 2), OutOfRange, r"cell \(0, 5\) .*axis 1 has the indices 0 to 1"),
        ([(0, 0), (-4, 1)], (3, 2), OutOfRange, r"cell \(-4, 1\) is outside the shape \(3, 2\): axis 0 has the"),
        ((-4, 1), (3, 2), OutOfRange, r"cell \(-4, 1\) is outside"),
        (np.array([[7, 0]]), (3, 2), OutOfRange, r"cell \(7, 0\)"),
        ([(0, 0)], (3, 0), OutOfRange, "axis 1 has no cells"),
        ((slice(None), 2), (3, 2), OutOfRange, "index 2 on axis 1"),
        ((slice(None), -3), (3, 2), OutOfRange, "index -3 on axis 1 is outside"),
        ([(LARGE, 0)], (3, 2), OutOfRange, f"{LARGE} is too large for an index"),
        ([(2**63, 0)], (3, 2), OutOfRange, "too large for an index"),
        ([(2**63, -1)], (3, 2), OutOfRange, "too large for an index"),
        (np.array([[2**63, 0]], dtype=np.uint64), (3, 2), OutOfRange, "too large for an index"),
        ((LARGE, 0), (3, 2), OutOfRange, r"outside the shape \(3, 2\)"),
        ((1,), (3, 2), BadCells, r"the index \(1,\) has 1 index, and the shape \(3, 2\) has 2 axes; for whole axes"),
        (1, (3, 2), BadCells, "has 1 index"),
        ((1, 2, 3), (3, 2), BadCells, "has 3 indices"),
        ((0, 1), (3,), BadCells, r"pass several cells as a list, \[0, 1\]"),
        ([(1, 2, 3)], (3, 2), BadCells, r"the cell \(1, 2, 3\) has 3 indices"),
        ([(1, 2), (1,)], (3, 2), BadCells, "same number of indices"),
        ([1, 2], (3, 2), BadCells, r"an array \(n, 2\).*got one of the shape \(2,\)"),
        (np.zeros((1, 2, 2), dtype=int), (3, 2), BadCells, r"got one of the shape \(1, 2, 2\)"),
        ([(0.0, 1.0)], (3, 2), BadCells, "0.0 is not one"),
        (np.array([[0.5, 1.0]]), (3, 2), BadCells, "0.5 is not one"),
        (np.array([[0, "a"]], dtype=object), (3, 2), BadCells, "integers"),
        ([("a", 0)], (3, 2), BadCells, "'a' is not one"),
        ([None], (3,), BadCells, "None is not one"),
        (None, (3,), BadCells, "got None"),
        (("a", 0), (3, 2), BadCells, "tuple of 2 integers"),
        ((True, 0), (3, 2), BadCells, "tuple of 2 integers"),
        (np.nonzero(np.eye(2)), (2, 2), BadCells, "np.argwhere"),
        ((slice(None), np.array([0])), (3, 2), BadCells, "on axis 1"),
        ((slice(None), None), (3, 2), BadCells, "on axis 1"),
        ((slice(None), True), (3, 2), BadCells, "on axis 1"),
        ((slice(None), slice(0, 1.5)), (3, 2), BadCells, r"\[0:1.5\] on axis 1"),
        ((slice(None), slice(0, 1, 0)), (3, 2), BadCells, "step cannot be zero"),
        ((..., 0, ...), (3, 2), BadCells, "only once"),
        ((slice(None), 0, 0), (3, 2), BadCells, r"\[:, 0, 0\] has 3 indices"),
        (np.ones((2, 3), dtype=bool), (3, 2), ShapeMismatch, r"mask has the shape \(2, 3\)"),
        (True, (3,), ShapeMismatch, r"mask has the shape \(\)"),
        (slice(None, None, 2), (2**40,), TooLarge, "549,755,813,888 separate boxes"),
        ((slice(None, None, 2),) * 2, (2**20, 2**20), TooLarge, "separate boxes"),
    ],
)
def test_of_refuses(cells: Any, shape: Any, error: type[WhenceError], said: str) -> None:
    with pytest.raises(error, match=said):
        Selection.of(cells, shape)


def test_from_cells_refuses_a_mask_and_says_where_it_goes() -> None:
    with pytest.raises(BadCells, match="from_mask"):
        Selection.from_cells(np.eye(2, dtype=bool), (2, 2))
    with pytest.raises(BadCells, match="got 'ab'"):
        Selection.from_cells("ab", (2, 2))


def test_from_mask_refuses_numbers() -> None:
    with pytest.raises(BadCells, match="booleans, not of int"):
        Selection.from_mask(np.eye(2, dtype=int))


@pytest.mark.parametrize(
    ("boxes", "error", "said"),
    [
        ([[[0, 3], [0, 1]]], OutOfRange, r"box \[\[0, 3\], \[0, 1\]\]: cell \(3, 1\) is outside the shape \(3, 2\)"),
        ([[[-1, 1], [0, 1]]], OutOfRange, r"cell \(-1, 0\) is outside"),
        ([[[-(2**63), 2**63 - 1], [0, 1]]], OutOfRange, "is outside"),
        ([[0, 1], [0, 1]], BadCells, r"array \(n, 2, 2\) of inclusive bounds"),
        ([[[0.0, 1.0], [0, 1]]], BadCells, "bounds are integers"),
        ("0:1", BadCells, "got '0:1'"),
    ],
)
def test_from_boxes_refuses(boxes: Any, error: type[WhenceError], said: str) -> None:
    with pytest.raises(error, match=said):
        Selection.from_boxes(boxes, (3, 2))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a", "'a': 'a' is not an index; cells are written as '3,4'"),
        ("1.5,0", "'1.5' is not an index"),
        ("", "names no cell"),
        (" ; ", "names no cell"),
        ("1:2:3:4,0", "'1:2:3:4' is not an index"),
        ("::0,0", "the step of '::0' is zero"),
        (",1", "'' is not an index"),
        ("(1,1", "has an unclosed bracket"),
        ("3(4,0", r"'3\(4' is not an index"),
        ("0 : 2,0", "a space beside ':'"),
        ("0: 2,0", "a space beside ':'"),
        ("9" * 5000 + ",0", "is not an index"),
        ("1", "'1': the index .* has 1 index"),
        ("1,1,1", "has 3 indices"),
    ],
)
def test_parse_refuses_and_shows_the_text(text: str, said: str) -> None:
    with pytest.raises(BadCells, match=said) as caught:
        Selection.parse(text, (3, 2))
    assert repr(text) in str(caught.value)


def test_parse_refuses_integers_out_of_range() -> None:
    with pytest.raises(OutOfRange, match="index 3 on axis 0 is outside"):
        Selection.parse("3,0", (3, 2))
    with pytest.raises(OutOfRange, match="index -4 on axis 0 is outside"):
        Selection.parse("-4,0", (3, 2))
    with pytest.raises(BadType, match="parse takes text"):
        Selection.parse(3, (3,))  # type: ignore[arg-type] # refused on purpose


@pytest.mark.parametrize("shape", [(-1,), (2, -1), (2**63,)])
def test_shapes_have_sizes_that_an_array_can_have(shape: tuple[int, ...]) -> None:
    with pytest.raises(BadCells, match="sizes from 0"):
        Selection.all(shape)


@pytest.mark.parametrize("shape", [(1.5,), "ab", None, ("a",)])
def test_shapes_are_of_whole_numbers(shape: Any) -> None:
    with pytest.raises(BadType, match="tuple of whole numbers"):
        Selection.all(shape)


def test_different_datasets_do_not_mix() -> None:
    a, b = Selection.all((3, 2)), Selection.all((2, 3))
    for mix in (lambda: a | b, lambda: a & b, lambda: a - b, lambda: a ^ b, lambda: a.issubset(b)):
        with pytest.raises(ShapeMismatch, match=r"\(3, 2\) and \(2, 3\)"):
            mix()
    with pytest.raises(ShapeMismatch):
        a.isdisjoint(b)
    assert a != b
    assert a != "all"
    for other in ({(0, 0)}, None):
        with pytest.raises(TypeError):
            a | other
        with pytest.raises(BadType, match="another Selection"):
            a.issubset(other)  # type: ignore[arg-type] # refused on purpose


def test_what_is_too_large_to_expand_says_how_large_and_what_else_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    huge = Selection.all((2**40, 2**40))
    with pytest.raises(TooLarge, match=r"1,208,925,819,614,629,174,706,176 cells.*\.boxes"):
        huge.cells()
    with pytest.raises(TooLarge, match=r"\.boxes"):
        huge.mask()
    with pytest.raises(OverflowError):
        len(huge)
    assert huge.count == 2**80 > sys.maxsize
    assert repr(huge) == (
        "Selection(shape=(1099511627776, 1099511627776), 1,208,925,819,614,629,174,706,176 cells: "
        "[0:1099511627776, 0:1099511627776])"
    )
    monkeypatch.setattr(selection._selection, "CELL_LIMIT", 8)
    assert len(Selection.all((2, 2)).cells()) == 4
    with pytest.raises(TooLarge, match="5 cells"):
        Selection.all((5, 1)).cells()


def test_no_selection_without_cells_and_shape() -> None:
    with pytest.raises(BadType, match=r"Selection\.of"):
        Selection()


# What it is


def test_it_cannot_be_changed() -> None:
    given = Selection.of((1, 2), (3, 4))
    with pytest.raises(AttributeError):
        given.shape = (1,)  # type: ignore[misc] # refused on purpose
    with pytest.raises(AttributeError):
        given.note = "x"  # type: ignore[attr-defined] # refused on purpose
    for made in (
        given,
        Selection.all((3,)),
        Selection.empty((3,)),
        Selection.parse("0 2", (3,)),
        ~given,
        given | given,
    ):
        with pytest.raises(ValueError, match="read-only"):
            made.boxes[...] = 0


def test_it_is_hashable_and_survives_copies() -> None:
    given = Selection.parse("0:2,1; 2,0", (3, 2))
    assert len({given, Selection.parse("2,0; 0:2,1", (3, 2)), Selection.all((3, 2))}) == 2
    assert pickle.loads(pickle.dumps(given)) == given
    assert copy.deepcopy(given) == given
    assert len({Selection.empty(()), Selection.all(())}) == 2


def test_membership() -> None:
    given = Selection.parse("0:2,1; 2,0", (3, 2))
    assert (1, 1) in given
    assert (1, 0) not in given
    assert (9, 9) not in given
    assert (-1, 0) in given  # counted from the end
    assert (-4, 0) not in given
    assert 2 in Selection.parse("2", (3,))
    assert np.int64(1) not in Selection.parse("2", (3,))
    assert () in Selection.all(())
    assert () not in Selection.empty(())
    for wrong in (1, (1,), "1", (1.0, 1)):
        with pytest.raises(BadCells):
            assert wrong in given


def test_iteration_is_lazy_and_sorted() -> None:
    steps = iter(Selection.parse("1:,5; 1:,7", (2**40, 10)))
    assert [next(steps) for _ in range(3)] == [(1, 5), (1, 7), (2, 5)]


def test_kernels_run_side_by_side() -> None:
    """Long ones let go of the interpreter, and share nothing."""
    rng = np.random.default_rng(3)
    cells = [rng.integers(0, 10**6, (20_000, 2)) for _ in range(4)]
    alone = [Selection.from_cells(c, (10**6, 10**6)) for c in cells]
    together: list[Selection | None] = [None] * 4

    def work(i: int) -> None:
        for _ in range(5):
            together[i] = Selection.from_cells(cells[i], (10**6, 10**6))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone


# How it looks


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Selection.parse("0:2,0:2", (3, 2)), "Selection(shape=(3, 2), 4 cells: [0:2, 0:2])"),
        (Selection.parse("0:10,5", (20, 6)), "Selection(shape=(20, 6), 10 cells: [0:10, 5])"),
        (Selection.of(3, (5,)), "Selection(shape=(5,), 1 cell: [3])"),
        (Selection.empty((5,)), "Selection(shape=(5,), no cells)"),
        (Selection.all(()), "Selection(shape=(), 1 cell: [()])"),
        (
            Selection.parse("::2", (18,)),
            "Selection(shape=(18,), 9 cells: [0], [2], [4], [6], [8], [10], [12], [14], ... and 1 more box)",
        ),
        (
            Selection.parse("::2", (40,)),
            "Selection(shape=(40,), 20 cells: [0], [2], [4], [6], [8], [10], [12], [14], ... and 12 more boxes)",
        ),
    ],
)
def test_repr(given: Selection, expected: str) -> None:
    assert repr(given) == expected
