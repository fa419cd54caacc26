"""Wrong calls of NumPy raise the same errors in a tracked function as without whence."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence as wh
from whence.errors import BadType

X = np.random.default_rng(2).random((3, 4))
Wrong = Callable[[Any], Any]

WRONG: tuple[Wrong, ...] = (
    lambda v: v.reshape(5, 3),
    lambda v: v.reshape(-1, 5),
    lambda v: v.reshape(2.5, 3),
    lambda v: v[5],
    lambda v: v["a"],
    lambda v: v[1.5],
    lambda v: v[[9]],
    lambda v: v[np.ones(7, bool)],
    lambda v: v + np.ones(5),
    lambda v: [1.0, 2.0] * v,
    lambda v: v == np.ones(9),
    lambda v: v @ np.ones(3),
    lambda v: divmod(v, np.ones(9)),
    lambda v: np.concatenate([v, v[0]]),
    lambda v: np.block([[v, v[0]], [v]]),
    lambda v: np.sum(v, axis=(0, 0)),
    lambda v: v.sum(axis=5),
    lambda v: np.take(v, [5], axis=1),
    lambda v: np.einsum("ij->k", v),
    lambda v: np.einsum("ij,jk", v, v),
    lambda v: np.cross(v, v),
    lambda v: np.pad(v, -1),
    lambda v: np.percentile(v, 200),
    lambda v: np.where(v > 0, v, np.ones(9)),
    lambda v: np.select([v > 0], [v, v]),
    lambda v: np.ix_(v, v),
    lambda v: np.cov(v, np.ones(3)),
    lambda v: np.linspace(v[0], v[1], -1),
    lambda v: np.average(v, weights=np.ones(9)),
    lambda v: np.matmul(v, 3),
    lambda v: np.diag(v[None]),
    lambda v: np.tril(v[0, 0]),
    lambda v: np.fft.fft(v, axis=5),
    lambda v: np.linalg.inv(v),
    lambda v: np.linalg.solve(v @ v.T, np.ones(9)),
    lambda v: np.interp(v, [1, 2], [1]),
    lambda v: np.digitize(v, [3, 1, 2]),
    lambda v: np.lib.stride_tricks.sliding_window_view(v, 9),
    lambda v: v.fill("a"),
    lambda v: v.__setitem__(0, np.ones(9)),
    lambda v: v.__setitem__(slice(None), "a"),
    lambda v: v.__delitem__(0),
    lambda v: v.nosuch,
    lambda v: v[0, 0].nosuch,
    lambda v: len(v[0, 0]),
    lambda v: iter(v[0, 0]),
    lambda v: range(v[0, 0]),
    lambda v: float(v),
    lambda v: bool(v),
    lambda v: hash(v),
    lambda v: v.item(),
)
DIRECT: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (
    (np.reshape, ((5, 3),)), (np.take, ([5], 1)), (np.percentile, (200,)), (np.add, (np.ones(5),)), (np.sum, (7,)),
)  # fmt: skip


def raised(function: Callable[[], Any]) -> tuple[type[BaseException], str]:
    with pytest.raises(Exception) as found:  # noqa: PT011  # any: the test compares it
        function()
    return type(found.value), str(found.value)


@pytest.mark.parametrize("wrong", WRONG, ids=range(len(WRONG)))
def test_an_error_is_that_of_numpy(wrong: Wrong, tmp_path: Path) -> None:
    with wh.open(tmp_path / "log.whence") as log:
        tracked = log.track(wrong, name="wrong")
        assert raised(lambda: tracked(X.copy())) == raised(lambda: wrong(X.copy()))


@pytest.mark.parametrize(("function", "rest"), DIRECT, ids=lambda each: getattr(each, "__name__", ""))
def test_an_error_of_a_tracked_function_of_numpy(function: Any, rest: Any, tmp_path: Path) -> None:
    with wh.open(tmp_path / "log.whence") as log:
        tracked = log.track(function)
        assert raised(lambda: tracked(X, *rest)) == raised(lambda: function(X, *rest))


@pytest.mark.parametrize(
    "function",
    [
        lambda v: np.matrix(v[:, :3]) * np.matrix(v[:, :3]),
        lambda v: (v.item(3), [*v.flat][1:2]),
        lambda v: ([*v.flat][:2], v[0].tolist()),
        lambda v: (round(v[0, 0], 2), round(v[0, 1])),
    ],
    ids=["matrices", "item", "tolist", "round"],
)
def test_results_have_the_types_that_numpy_gives(function: Any, tmp_path: Path) -> None:
    def typed(item: Any) -> Any:
        return (
            [typed(each) for each in item]
            if isinstance(item, (tuple, list))
            else (type(item), np.array(item).tobytes())
        )

    with wh.open(tmp_path / "log.whence") as log, warnings.catch_warnings():
        warnings.simplefilter("ignore", wh.LineageLost)
        warnings.simplefilter("ignore", PendingDeprecationWarning)  # of np.matrix
        assert typed(log.track(function, name="f")(X.copy())) == typed(function(X.copy()))


def test_a_program_goes_on_after_an_error_that_it_expects(tmp_path: Path) -> None:
    told: list[str] = []

    def shaped(v: Any) -> Any:
        try:
            return v.reshape(5, 3)
        except ValueError as error:
            told.append(str(error))
            return v.reshape(4, 3)

    with wh.open(tmp_path / "log.whence") as log:
        double = log.track(lambda y: y * 2, name="double")
        double(log.track(shaped)(X.copy())[1:])
        assert log.backward("double", (0, 0), to="v").cells().tolist() == [[0, 3]]
    assert told == ["cannot reshape array of size 12 into shape (5,3)"]


def test_wrong_arguments_of_whence_are_named(tmp_path: Path) -> None:
    with wh.open(tmp_path / "log.whence") as log:
        double = log.track(lambda x: x * 2, name="double")
        double(X)
        with pytest.raises(BadType, match="names maps parameters to names, .* not 'A'"):
            log.track(np.sum, names="A")  # type: ignore[arg-type]  # on purpose
        with pytest.raises(BadType, match="names: double has no 'y'; names maps 'x', 'return' to the names of dat"):
            log.track(lambda x: x * 2, name="double", names={"y": "A"})
        with pytest.raises(BadType, match="a name is a string, not int: 3"):
            log.track(np.sum, name=3)  # type: ignore[arg-type]  # on purpose
        with pytest.raises(BadType, match="log.first takes a function that returns a mask"):
            log.first("double", "nan")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(BadType, match="wh.probe takes a function of an array, not int"):
        wh.probe(3, X)  # type: ignore[arg-type]  # on purpose
