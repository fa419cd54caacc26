"""Arrays that a tracked function stores elsewhere are plain ones when the call is over."""

from __future__ import annotations

import copy
import gc
import pickle
from collections import deque
from traceback import walk_tb
from typing import Any, NamedTuple

import numpy as np
import pytest

import whence as wh
from whence.arrays.tracing import _run
from whence.arrays.tracing._finished import Finished

X = np.arange(6.0).reshape(3, 2)
KEPT: dict[str, Any] = {}
LAST: Any = None


class Pair(NamedTuple):
    mean: Any
    std: Any


class Slotted:
    __slots__ = ("mean",)
    mean: Any


class Model:
    def __init__(self) -> None:
        self.deep: dict[str, Any] = {"list": [[]], "dict": {}}
        self.inner = Slotted()
        self.center: Any = None
        self.closed: Any = None
        self.queue: deque[Any] = deque(maxlen=3)

    def fit(self, x: Any) -> Any:
        self.mean = x.mean(axis=0)
        self.total = x.sum()
        self.pair = (x.max(axis=0), [x.min(axis=0)])
        self.named = Pair(x.mean(axis=0), x.std(axis=0))
        self.deep["list"][0].append(x[0])
        self.deep["dict"]["x"] = x[:, 1]
        self.inner.mean = x.mean(axis=1)
        self.queue.append(x * 2)
        self.center = lambda z: z - self.mean
        middle = np.median(x, axis=0)
        self.closed = lambda z: z - middle
        self.later = (row * 2 for row in x)
        self.count = len(x)
        self.made = np.zeros(3)
        KEPT["x"] = x + 1
        return x - self.mean


class OnTheDtype(Model):
    def fit(self, x: Any) -> Any:
        super().fit(x)
        self.column = np.asarray(x)[:, 0] * 2
        return np.pad(x, 1, mode="mean")  # a mode that has no rule


def plain(item: Any) -> bool:
    return type(item) in (np.ndarray, np.float64) and item.dtype == np.float64


@pytest.mark.parametrize("kind", [Model, OnTheDtype])
def test_what_is_stored_is_plain(tmp_path: Any, kind: type[Model]) -> None:
    with wh.open(tmp_path / "log.whence") as log:
        model, bare = kind(), kind()
        expected = bare.fit(X)
        kept = KEPT.pop("x")
        got = log.track(model.fit)(X)
    assert np.array_equal(got, expected)
    stored = [
        model.mean, model.total, model.pair[0], model.pair[1][0], *model.named, model.deep["list"][0][-1],
        model.deep["dict"]["x"], model.inner.mean, model.queue[-1], model.center(X), model.closed(X), model.made,
        KEPT["x"],
    ]  # fmt: skip
    assert [each for each in stored if not plain(each)] == []
    assert plain(getattr(model, "column", model.mean))
    assert isinstance(model.named, Pair)
    assert np.array_equal(model.mean, bare.mean)
    assert np.array_equal(KEPT.pop("x"), kept)
    assert [np.asarray(each).tolist() for each in model.later] == [each.tolist() for each in bare.later]
    assert plain(np.ones((2, 2)) @ model.mean)
    assert plain(np.arange(3.0) * model.count)
    for name in ("center", "closed", "later"):
        delattr(model, name)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.mean, bare.mean)
    np.save(tmp_path / "mean.npy", model.mean)
    assert np.array_equal(np.load(tmp_path / "mean.npy"), bare.mean)


def test_in_a_global_and_a_closure(tmp_path: Any) -> None:
    cell = None

    def remember(x: Any) -> Any:
        global LAST  # that is the test
        nonlocal cell
        LAST = cell = x * 2
        return x + 1

    with wh.open(tmp_path / "log.whence") as log:
        log.track(remember)(X)
    assert plain(LAST)
    assert plain(cell)


def test_after_an_exception(tmp_path: Any) -> None:
    model = Model()

    def fails(x: Any) -> Any:
        model.fit(x)
        raise KeyError("no")

    with wh.open(tmp_path / "log.whence") as log, pytest.raises(KeyError):
        log.track(fails)(X)
    assert plain(model.mean)
    assert plain(model.pair[1][0])


def test_where_nothing_can_be_replaced_it_behaves_as_its_array(tmp_path: Any) -> None:
    def frozen(x: Any) -> Any:
        def rows(own: Any) -> Any:
            while True:
                yield own

        KEPT["rows"] = rows(x)
        next(KEPT["rows"])
        return x + 1

    with wh.open(tmp_path / "log.whence") as log:
        log.track(frozen)(X)
    left = next(KEPT.pop("rows"))
    assert type(left) is Finished
    assert isinstance(left, np.ndarray)
    for made in (np.asarray(left), left + 1, 1 - left, left.T, left[1:], np.sum(left, axis=0), left.mean(axis=0),
                 np.concatenate([left, X]), copy.copy(left), copy.deepcopy(left), pickle.loads(pickle.dumps(left)),
                 X @ left.T, np.add(left, 1, out=np.zeros((3, 2)))):  # fmt: skip
        assert type(made) is np.ndarray
    assert np.array_equal(left, X)
    assert (len(left), left.shape, left.dtype, repr(left), str(left)) == (3, X.shape, X.dtype, repr(X), str(X))
    assert (float(left[0, 1]), left.tolist(), 5.0 in left) == (1.0, X.tolist(), True)
    with pytest.raises(TypeError, match="unhashable"):
        hash(left)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(left)
    with pytest.raises(AttributeError):
        left.no_such_thing  # noqa: B018  # that is the test
    with wh.open(tmp_path / "log.whence") as log:
        tracked = log.track(lambda y: y + left, name="sum")
        assert np.array_equal(tracked(X), X + X)


def _of_runs() -> list[Any]:
    from whence.arrays.tracing import Traced

    return [each for each in gc.get_objects() if type(each) in (Traced, Finished)]


def test_a_call_leaves_nothing_behind(tmp_path: Any) -> None:
    with wh.open(tmp_path / "log.whence") as log:
        gc.collect()
        gc.disable()
        try:
            before = {id(each) for each in _of_runs()}  # other tests may hold some
            log.track(lambda x: np.sort(x, axis=0)[::-1] @ x.T, name="f")(X)
            assert [each for each in _of_runs() if id(each) not in before] == []
        finally:
            gc.enable()


def test_a_refused_call_needs_no_search_and_leaves_the_callers_errors_alone(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[Any] = []
    monkeypatch.setattr(_run, "finish", lambda arrays, _: searched.extend(arrays))
    with wh.open(tmp_path / "log.whence") as log:
        view = log.track(lambda x: (x * 2).view("i8"), name="view", unknown="error")
        try:
            _fails(3)
        except ValueError as error:
            with pytest.raises(wh.errors.NoRule):
                view(X)
            frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    assert frames[-1].f_locals == {"number": 3}
    assert searched == []


def _fails(number: int) -> None:
    raise ValueError(number)


def test_in_containers_that_the_garbage_collector_does_not_track(tmp_path: Any) -> None:
    def remember(x: Any) -> Any:
        whole = np.asarray(x)  # is no RunArray
        KEPT["apart"] = {"pair": (whole[0] * 2, 1.0)}
        return np.pad(x, 1, mode="mean")

    with wh.open(tmp_path / "log.whence") as log:
        log.track(remember)(X)
    assert plain(KEPT.pop("apart")["pair"][0])


def test_a_tracked_array_from_before_forget_is_left_alone(tmp_path: Any) -> None:
    from whence import arrays

    KEPT["old"] = arrays.tracked(X, "A") * 2
    arrays.forget()
    with wh.open(tmp_path / "log.whence") as log:
        got = log.track(lambda x: np.pad(np.asarray(x), 1, mode="mean"), name="padded")(X)
    assert plain(got)
    assert arrays.is_tracked(KEPT.pop("old"))
