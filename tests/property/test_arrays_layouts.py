"""Arrays that lie in memory in every way: what a tracked function returns is what NumPy returns, bit for bit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.arrays.recording.calls import captured
from whence.arrays.tracing import Run
from whence.arrays.tracing._rebound import rebound
from whence.errors import NoRule
from whence.testing.survey import _pairs_that_change

Function = Callable[..., Any]


def layouts(dtype: Any = float) -> dict[str, Any]:
    """Arrays of 3 by 4 cells, all different, that lie in memory in different ways."""
    base = np.arange(12, dtype=dtype).reshape(3, 4) * 1.25 if dtype is float else np.arange(12).reshape(3, 4)
    base = (base + 0.5).astype(dtype)
    strided = np.zeros((6, 8), dtype)[::2, ::2]
    strided[...] = base
    columns = np.asfortranarray(np.zeros((3, 8), dtype))[:, ::2]
    columns[...] = base
    backwards = np.zeros((3, 4), dtype)[::-1, ::-1]
    backwards[...] = base
    gaps = np.zeros((5, 4, 3), dtype)[2].T
    gaps[...] = base
    field = np.zeros((3, 4), np.dtype([("a", dtype), ("b", dtype)]))["b"]
    field[...] = base
    odd = np.dtype([("a", "i1"), ("b", dtype)])
    packed, of_three = np.zeros((3, 4), odd)["b"], np.zeros((4, 3), odd)["b"]
    packed[...] = base
    of_three[...] = base.reshape(4, 3)
    return {
        "C": base,
        "F": np.asfortranarray(base),
        "strided": strided,
        "F strided": columns,
        "negative": backwards,
        "one negative": backwards[::-1].copy()[::-1],
        "transposed": strided.T,
        "gaps": gaps,
        "broadcast rows": np.broadcast_to(base[0], (3, 4)),
        "broadcast columns": np.broadcast_to(base[:, :1], (3, 4)),
        "newaxis": base[:, None, :],
        "newaxis strided": strided[:, :, None].transpose(2, 1, 0),
        "field": field,
        "packed": packed,
        "packed, of three": of_three,
        "three axes": base.reshape(3, 2, 2).transpose(2, 0, 1),
        "three axes F": np.asfortranarray(base.reshape(3, 2, 2)).transpose(1, 0, 2)[:, ::-1],
        "one row": strided[:1],
        "none": strided[:0],
    }


FUNCTIONS: dict[str, Function] = {
    **{f"flatten {o}": (lambda a, o=o: a.flatten(o)) for o in "CFAK"},
    **{f"ravel {o}": (lambda a, o=o: a.ravel(order=o)) for o in "CFAK"},
    **{f"np.ravel {o}": (lambda a, o=o: np.ravel(a.T, o.lower())) for o in "CFAK"},
    **{f"reshape {o}": (lambda a, o=o: a.reshape(-1, order=o)) for o in "CFA"},
    **{f"T reshape {o}": (lambda a, o=o: np.reshape(a.T, (-1, 1), order=o)) for o in "CFA"},
    **{f"copy {o}": (lambda a, o=o: a.copy(order=o).ravel("K")) for o in "CFAK"},
    **{f"np.copy {o}": (lambda a, o=o: np.copy(a.T, order=o).ravel("K")) for o in "CFAK"},
    **{f"np.array {o}": (lambda a, o=o: np.array(a, order=o).ravel("K")) for o in "CFAK"},
    **{f"astype {o}": (lambda a, o=o: a.astype("f4", order=o).ravel("K")) for o in "CFAK"},
    **{f"zeros_like {o}": (lambda a, o=o: (np.zeros_like(a, order=o) + a).ravel("K")) for o in "CFAK"},
    **{f"add {o}": (lambda a, o=o: np.add(a, 1, order=o).ravel("K")) for o in "CFAK"},
    "negative": lambda a: (-a).ravel("K"),
    "both": lambda a: (a * a.T.copy().T).ravel("K"),
    "mixed": lambda a: (a + np.asfortranarray(np.ones(np.shape(a)))).ravel("K"),
    "sort": lambda a: np.sort(a, axis=0).ravel("K"),
    "round": lambda a: a.round(1).ravel("K"),
    "clip": lambda a: a.clip(2, 9).ravel("A"),
    "cumsum": lambda a: np.cumsum(a, axis=0).ravel("K"),
    "pad": lambda a: np.pad(a, 1).ravel("K"),
    "roll": lambda a: np.roll(a, 1, axis=0).ravel("K"),
    "where": lambda a: np.where(a > 3, a, 0).ravel("K"),
    "concatenate": lambda a: np.concatenate([a, a]).ravel("K"),
    "stack": lambda a: np.stack([a, a], axis=1).ravel("K"),
    "list": lambda a: np.array([a, a + 1]).ravel("K"),
    "take": lambda a: a.take([0, 0], axis=0).ravel("K"),
    "rows": lambda a: a[[0, 0]].ravel("K"),
    "columns": lambda a: a[:, [0, 0]].ravel("K"),
    "mask": lambda a: a[a > 2].ravel("K"),
    "flip": lambda a: np.flip(a).flatten("K"),
    "diff": lambda a: np.diff(a, axis=-1).ravel("K"),
    "repeat": lambda a: np.repeat(a, 2, axis=0).ravel("K"),
    "tile": lambda a: np.tile(a, 2).ravel("K"),
    "matmul": lambda a: (a.T @ a if a.ndim == 2 else np.moveaxis(a, 0, -1)).ravel("K"),
    "full_like": lambda a: (np.full_like(a, 2) * a).ravel("K"),
    "moveaxis": lambda a: np.moveaxis(a, 0, -1).ravel("A"),
    "deep copy": lambda a: __import__("copy").deepcopy(a).ravel("K"),
    "shallow copy": lambda a: __import__("copy").copy(a).ravel("K"),
    "along": lambda a: np.apply_along_axis(lambda lane: lane * 2, 0, a).ravel("K"),
    "mean": lambda a: a.mean(axis=0, keepdims=True).ravel("K"),
    "out": lambda a: np.multiply(a, 2, out=np.empty_like(a)).ravel("K"),
}


def lineage(function: Function, array: Any) -> tuple[Any, set[tuple[int, ...]]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = captured(function, (array,), {}, ("a",), "f", selection=True)
    said = {tuple(row) for edge in found.edges for row in edge.relation.to_array().tolist()}
    return found.result, said


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_lineage_on_every_layout(name: str) -> None:
    function = FUNCTIONS[name]
    for layout, array in layouts().items():
        if name == "mean" and not array.size:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = function(array)
        except (ValueError, IndexError):  # no rows, say
            continue
        got, said = lineage(function, array)
        assert got.tobytes() == expected.tobytes(), layout
        assert (got.shape, got.strides, got.dtype) == (expected.shape, expected.strides, expected.dtype), layout
        assert {pair for pairs in changes(function, array).values() for pair in pairs} <= said, layout
        if name.startswith(("flatten", "ravel", "np.ravel", "reshape", "T reshape")) and array.size:
            assert len(said) == array.size, layout


def changes(function: Function, array: Any) -> Any:
    """By perturbation of a cell at a time, in an array that lies as this one does."""
    from whence.testing.numpy_calls import Call

    if 0 in array.strides:  # a cell of its own for each: only the order in which they are read can be compared
        return {}

    def laid(values: Any) -> Any:
        low, high = np.lib.array_utils.byte_bounds(array)
        memory = np.zeros(high - low, np.uint8)
        start = array.__array_interface__["data"][0] - low
        made: Any = np.ndarray(array.shape, array.dtype, memory, start, array.strides)
        made[...] = values
        return function(made)

    return _pairs_that_change(Call(laid, (np.ascontiguousarray(array),), {}))


@pytest.mark.parametrize("order", "CFAK")
def test_cells_of_a_broadcast_array_are_distinguished(order: str) -> None:
    """Cells that lie at one place are inputs of their own, in the order in which NumPy reads them."""
    for array in (np.broadcast_to(np.arange(4.0), (3, 4)), np.broadcast_to(np.arange(3.0)[:, None], (3, 4))):
        numbers = np.arange(12).reshape(3, 4)
        # NumPy's iterator says which cell comes when; the stride of an axis of which all cells lie at one place is 0.
        with np.nditer(array, flags=["c_index"], order=order) as walk:  # type: ignore[call-overload] # NumPy takes it
            read = [walk.index for _ in walk]
        for function in (lambda a: a.ravel(order), lambda a: a.flatten(order)):
            _, said = lineage(function, array)
            assert said == {(at, *map(int, np.argwhere(numbers == cell)[0])) for at, cell in enumerate(read)}


@st.composite
def strange(draw: st.DrawFn) -> Any:
    """An array of up to four axes that is a transposed, sliced, reversed part of a larger one."""
    rank = draw(st.integers(1, 4))
    sides = draw(st.lists(st.integers(1, 5), min_size=rank, max_size=rank))
    steps = draw(st.lists(st.sampled_from([1, 1, 2, -1, -2]), min_size=rank, max_size=rank))
    whole = np.arange(float(np.prod(sides))).reshape(sides, order=draw(st.sampled_from("CF")))
    part = whole[tuple(slice(None, None, step) for step in steps)]
    if draw(st.booleans()):
        part = part[None] if rank < 4 else part
    return part.transpose(draw(st.permutations(range(part.ndim))))


CHAINED = sorted(name for name in FUNCTIONS if not name.startswith(("list", "mixed", "np.array")))
"""Functions that are followed also where np is NumPy itself: in a table, a run does not see their names."""


@settings(max_examples=150, deadline=None)
@given(array=strange(), chain=st.lists(st.sampled_from(CHAINED), min_size=1, max_size=3), turn=st.booleans())
def test_chains_on_random_layouts(array: Any, chain: list[str], turn: bool) -> None:
    def program(a: Any) -> Any:
        for name in chain:
            a = FUNCTIONS[name](a.reshape(2, -1).T if turn and a.size % 2 == 0 else a)
        return a

    try:
        expected = program(array)
    except (ValueError, IndexError):
        return
    got, _ = lineage(program, array)
    assert (got.tobytes(), got.shape, got.strides) == (expected.tobytes(), expected.shape, expected.strides)


def test_a_view_that_overlaps_itself_is_not_written() -> None:
    def smeared(a: Any) -> Any:
        windows = np.lib.stride_tricks.as_strided(a, (3, 2), (a.itemsize, a.itemsize))
        windows[...] = 1
        return a

    run = Run()
    with pytest.raises(NoRule, match="several cells"):
        rebound(smeared, run)(run.input(np.arange(4.0)))


@pytest.mark.parametrize("layout", [name for name, array in layouts().items() if array.ndim == 2 and array.size])
def test_writes_that_no_rule_covers_on_every_layout(layout: str) -> None:
    """The tracked dtype runs them, on cells that lie as the array's do."""

    def filled(a: Any) -> Any:
        np.fill_diagonal(a, [0.25, 0.75], wrap=True)
        return a

    array = layouts()[layout]
    if 0 in array.strides:
        return
    expected = filled(np.array(array))
    found = captured(filled, (array,), {}, ("a",), "f", selection=False)
    said = {tuple(row) for edge in found.edges for row in edge.relation.to_array().tolist()}
    assert found.result is array
    assert array.tolist() == expected.tolist()
    numbers = np.arange(array.size).reshape(array.shape) + 1
    assert said == {(*map(int, at), *map(int, at)) for at in np.argwhere(filled(numbers.copy()))}


def test_numbers_that_numpy_casts_come_from_everywhere() -> None:
    """np.var with dtype= computes with plain numbers, and writes them into the tracked array."""

    def varied(a: Any, into: Any) -> Any:
        np.var(a, axis=1, dtype="f8", out=into)
        return into

    found = captured(
        varied,
        (np.random.default_rng(0).random((2, 3)), np.zeros(2)),
        {},
        ("a", "into"),
        "f",
        selection=False,
        unknown="whole",
    )
    of_a = [edge.relation for edge in found.edges if edge.input == 0]
    assert {relation.count() for relation in of_a} == {12}
    assert any(found.said)


@pytest.mark.parametrize("function", [np.nanmin, np.nanmax])
def test_a_mask_that_leaves_no_cell_gives_the_initial_number(function: Any) -> None:
    """NumPy gives NaN instead for arrays of a class of their own, as tracked ones are."""
    cells, mask = np.array([[0.5, 0.2], [0.4, 0.8]]), np.array([[True, True], [False, False]])
    found = captured(lambda a: function(a, axis=1, initial=0.3, where=mask), (cells,), {}, ("a",), "f", selection=False)
    assert found.result.tolist() == function(cells, axis=1, initial=0.3, where=mask).tolist()
