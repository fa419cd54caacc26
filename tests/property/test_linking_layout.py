"""The relation of a view to the array whose memory it shows, against the addresses of all cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from whence.arrays.linking.layout import Layout, shown


def addresses(x: Any) -> Any:
    found = np.full(x.shape, x.__array_interface__["data"][0], np.int64)
    for k, (side, step) in enumerate(zip(x.shape, x.strides, strict=True)):
        found += (np.arange(side) * step).reshape([-1 if i == k else 1 for i in range(x.ndim)])
    return found


def stepped(draw: Any, x: Any) -> Any:
    """One more view, if it is one."""
    match draw(st.sampled_from(["slice", "index", "flip", "turn", "new", "reshape", "diagonal", "windows", "wide"])):
        case "slice":
            cuts = [draw(st.integers(0, side)) for side in x.shape]
            return x[tuple(slice(cut, None, draw(st.sampled_from([1, 2, -1]))) for cut in cuts)]
        case "index" if x.ndim and x.shape[0]:
            return x[(draw(st.integers(0, x.shape[0] - 1)), ...)]
        case "flip" if x.ndim:
            return np.flip(x, draw(st.integers(0, x.ndim - 1)))
        case "turn":
            return np.transpose(x, draw(st.permutations(range(x.ndim))))
        case "new" if x.ndim < 4:
            return np.expand_dims(x, draw(st.integers(0, x.ndim)))
        case "reshape" if x.size:
            sides = [n for n in range(1, x.size + 1) if x.size % n == 0]
            made = x.reshape(draw(st.sampled_from(sides)), -1)
            return made if np.shares_memory(made, x) else x
        case "diagonal" if x.ndim > 1:
            return np.diagonal(x, draw(st.integers(-1, 1)))
        case "windows" if x.ndim and x.shape[-1] > 1:
            return sliding_window_view(x, 2, axis=-1)
        case "wide" if x.ndim < 4:
            return np.broadcast_to(x, (2, *x.shape))
    return x


@given(st.data())
def test_views_by_their_memory(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 4), max_size=3)))
    whole = np.arange(int(np.prod(shape)) * 2.0).reshape((*shape, 2), order=data.draw(st.sampled_from("CF")))
    known = whole[..., 0] if data.draw(st.booleans()) else whole
    for _ in range(data.draw(st.integers(0, 2))):
        known = stepped(data.draw, known)
    view = known
    for _ in range(data.draw(st.integers(0, 4))):
        view = stepped(data.draw, view)
    if data.draw(st.booleans()):
        known, view = view, known
    where: dict[int, list[Any]] = {}
    for index, address in np.ndenumerate(addresses(known)):
        where.setdefault(int(address), []).append(index)
    found = shown(Layout.of(view), Layout.of(known))
    places = [(index, where.get(int(address))) for index, address in np.ndenumerate(addresses(view))]
    if any(each is None or len(each) > 1 for _, each in places):
        assert found is None
    elif found is None:
        assert any(len(each) > 1 for each in where.values())  # overlapping cells cannot be distinguished
    else:
        assert found.to_array().tolist() == sorted([*index, *each[0]] for index, each in places if each)


def test_large_views_are_a_row_or_a_few() -> None:
    x = np.zeros((1000, 1000))
    for view in (x.T, x[1:, ::-2], x.reshape(-1), x.reshape(500, 2000)[:, 3:7], x.reshape(-1)[::-3], x[None, 5]):
        found = shown(Layout.of(view), Layout.of(x))
        assert found is not None
        assert len(found) == 1
        assert found.count() == view.size
    floats = np.zeros(4, np.float64)
    assert shown(Layout.of(floats.view(np.int64)), Layout.of(floats)) is None
