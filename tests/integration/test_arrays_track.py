"""Tracked functions and captures in a real log: what is recorded, named, reused, refused."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence as wh
from whence.arrays.recording.calls import captured
from whence.arrays.recording.track import LineageLost
from whence.errors import BadType, Closed, NoRule, Redefined


@pytest.fixture
def log(tmp_path: Path) -> Iterator[wh.Log]:
    with wh.open(tmp_path / "log.whence") as opened:
        yield opened


def tuples(log: wh.Log, out: str, inp: str) -> list[list[int]]:
    return [
        [*cell, *source]
        for cell in np.ndindex(*log.show(out).dataset.shape)
        for source in log.backward(out, [cell], to=inp).cells().tolist()
    ]


def test_a_tracked_function_returns_what_it_did_and_its_lineage_is_in_the_log(log: wh.Log) -> None:
    @log.track
    def hotspot(X: Any, *, scale: float = 2.0) -> Any:
        """Doc."""
        out = np.zeros(X.shape[0])
        for i in range(len(X)):
            out[i] = X[i].sum() * scale
        return out

    x = np.arange(6.0).reshape(3, 2)
    result = hotspot(x, scale=3.0)
    assert type(result) is np.ndarray
    assert result.tolist() == [3.0, 15.0, 27.0]
    assert (hotspot.__name__, hotspot.__doc__) == ("hotspot", "Doc.")
    assert tuples(log, "hotspot", "X") == [[i, i, j] for i in range(3) for j in range(2)]
    (operation,) = log.operations()
    assert (operation.name, operation.inputs, operation.outputs) == ("hotspot", ("X",), ("hotspot",))
    assert operation.args == {"scale": 3.0}
    assert log.check().ok


def test_results_of_one_call_are_inputs_of_the_next(log: wh.Log) -> None:
    double, total = log.track(lambda a: a * 2, name="double"), log.track(np.sum)
    x = np.ones((2, 3))
    total(double(x), axis=0)
    assert log.backward("sum", [(1,)], to="a").cells().tolist() == [[0, 1], [1, 1]]
    assert [each.name for each in log.datasets()] == ["a", "double", "sum"]


def test_several_inputs_and_outputs_by_every_way_of_passing_them(log: wh.Log) -> None:
    def mixed(a: Any, more: list[Any], *, b: Any) -> dict[str, Any]:
        return {"total": a.sum() + b[0], "rows": (more[0] - more[1], a @ b)}

    mix = log.track(mixed, name="mix", names={"b": "right", "mix.total": "T"})
    x, y, z = np.ones((2, 2)), np.zeros(3), np.ones(2)
    result = mix(x, [y, y + 1], b=z)
    assert isinstance(result["total"], np.floating)
    assert result["rows"][0].tolist() == [-1, -1, -1]
    assert mix.last.inputs == ("a", "more[0]", "more[1]", "right")
    assert mix.last.outputs == ("T", "mix.rows.0", "mix.rows.1")
    assert log.backward("T", [()], to="right").cells().tolist() == [[0]]
    assert log.backward("mix.rows.0", [(1,)], to="more[1]").cells().tolist() == [[1]]


def test_in_place_writes_make_a_new_dataset(log: wh.Log) -> None:
    @log.track
    def shift(a: Any) -> Any:
        view = a[1:]
        view[...] = a[:-1] * 2
        return a.sum()

    x = np.arange(4.0)
    assert shift(x) == 6.0
    assert x.tolist() == [0.0, 0.0, 2.0, 4.0]
    assert shift.last.outputs == ("shift", "a#2")
    assert tuples(log, "a#2", "a") == [[0, 0], [1, 0], [2, 1], [3, 2]]
    shift(x)
    assert (shift.last.inputs, shift.last.reused) == (("a#2",), True)  # it did the same again
    assert x.tolist() == [0.0, 0.0, 0.0, 4.0]
    assert tuples(log, shift.last.outputs[1], "a#2") == [[0, 0], [1, 0], [2, 1], [3, 2]]


def test_writes_through_strides_that_overlap_are_refused(log: wh.Log) -> None:
    @log.track
    def put(v: Any) -> Any:
        windows = np.lib.stride_tricks.as_strided(v, (3, 2), (8, 8))
        np.put(windows, [0], 5.0)
        return windows.sum(0)

    with pytest.raises(NoRule):
        log.track(put.function, unknown="error")(np.arange(8.0))
    assert log.datasets() == []
    with pytest.warns(wh.LineageLost, match="not followed"):
        put(x := np.arange(8.0))
    assert x[0] == 5
    assert len(log.backward("put", (1,), to="v")) == 8


def test_writes_into_shared_arguments_are_not_followed(log: wh.Log) -> None:
    def set_zero(a: Any, b: Any) -> Any:
        a[...] = 0
        return b * 1

    clear = log.track(set_zero, name="clear", unknown="error")

    x = np.arange(5.0)
    clear(x[:3].copy(), x[2:])
    with pytest.raises(NoRule, match="shares memory"):
        clear(x[:3], x[2:])
    assert x.tolist() == [0, 1, 2, 3, 4]
    with pytest.warns(wh.LineageLost, match="shares memory"):
        log.track(clear.function, name="anyhow")(x[:3], x[2:])
    assert x.tolist() == [0, 0, 0, 3, 4]
    assert not log.backward("anyhow", 0).precise


def test_nested_tracked_calls_compose(log: wh.Log) -> None:
    @log.track
    def inner(a: Any) -> Any:
        return a[::-1]

    @log.track
    def outer(x: Any) -> Any:
        return inner(x) + inner(x[None])[0]

    outer(np.arange(3.0))
    assert [each.name for each in log.operations()] == ["outer"]
    assert tuples(log, "outer", "x") == [[0, 0], [0, 2], [1, 1], [2, 0], [2, 2]]


def test_exceptions_leave_the_log_as_it_was(log: wh.Log) -> None:
    @log.track
    def fails(a: Any) -> Any:
        raise ZeroDivisionError(a.sum())

    with pytest.raises(ZeroDivisionError):
        fails(np.ones(2))
    with pytest.raises(IndexError), log.capture() as capture:
        capture.write("B", capture.read("A", np.ones(2))[5])
    assert log.datasets() == log.operations() == []  # type: ignore[comparison-overlap] # refused on purpose


def test_a_capture_records_its_block(log: wh.Log) -> None:
    with log.capture("clean", lineage="value+selection") as capture:
        a = capture.read("A", np.array([3.0, -1.0, 2.0]))
        b = capture.write("B", np.where(a > 0, a, 0.0))
    assert b.tolist() == [3.0, 0.0, 2.0]
    kinds = {each.kind: each.tuples for each in log.show("B").derived_from}
    assert kinds == {"boxes": 2, "selection": 3}
    with pytest.raises(BadType, match="within its block"):
        capture.read("C", np.ones(1))
    assert type(np.asarray(a)) is np.ndarray  # after its block
    with log.capture() as other, pytest.raises(BadType, match="no lineage here"):
        other.write("D", a)


def test_what_cannot_be_tracked_is_refused_by_name(log: wh.Log) -> None:
    def generator(a: Any) -> Any:
        yield a

    with pytest.raises(BadType, match="one by one"):
        log.track(generator)
    with pytest.raises(BadType, match="generator"):
        log.track(lambda a: sum(a), name="total")(each for each in [np.ones(2)])
    with pytest.raises(BadType, match="generator"):
        log.track(lambda a: (each for each in a), name="rows")(np.ones(2))
    with pytest.warns(wh.LineageLost, match="no array"):
        assert log.track(lambda a: "text", name="text")(np.ones(2)) == "text"
    with pytest.raises(BadType, match="'all'"):
        log.track(np.negative, unknown="all")  # type: ignore[arg-type]  # which is what is tried
    with pytest.raises(BadType, match="'always'"):
        log.track(np.negative, reuse="always")  # type: ignore[arg-type]  # which is what is tried
    with pytest.raises(NoRule, match=r"numpy\.sort_complex "):
        log.track(lambda a: np.sort_complex(a) * 1, name="complex", unknown="error")(np.arange(2.0))
    log.array("taken", shape=(5,))
    with pytest.raises(Redefined, match="taken"):
        log.track(np.negative, names={"return": "taken"})(np.ones(2))
    tracked = log.track(np.negative)
    log.close()
    with pytest.raises(Closed):
        tracked(np.ones(2))


@pytest.mark.parametrize("kind", ["complex128", "object", "U3", "M8[D]"])
def test_arrays_of_other_kinds_are_not_followed_and_that_is_said(log: wh.Log, kind: str) -> None:
    given = np.zeros(2, kind)
    chosen = log.track(lambda x, of: x[of == of[0]] * 2, name="chosen")
    assert chosen(np.arange(2.0), given).tolist() == [0, 2]
    answer = log.backward("chosen", (1,))
    assert [(name, each.cells().ravel().tolist()) for name, each in answer.items()] == [("x", [1]), ("of", [0, 1])]
    assert any("only some cells of 'of'" in each for each in answer.notes)
    with log.capture() as capture, pytest.raises(BadType, match="'A' is an array of"):
        capture.read("A", given)


UNKNOWN = {"whole": [0, 1, 2, 3], "elementwise": [1], "probe": [2]}


@pytest.mark.parametrize("unknown", UNKNOWN)
def test_what_cannot_be_followed_is_recorded_as_the_caller_says(log: wh.Log, unknown: Any) -> None:
    def opaque(x: Any, by: float) -> Any:
        return np.frombuffer(x.tobytes(), float)[::-1] * by

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = log.track(opaque, unknown=unknown)(np.arange(4.0), 2.0)
    assert found.tolist() == [6, 4, 2, 0]
    assert [str(each.message).startswith("opaque is recorded as if") for each in said] == [True] * (unknown == "whole")
    answer = log.backward("opaque", (1,))
    assert answer["x"].cells().ravel().tolist() == UNKNOWN[unknown]
    assert any("'opaque'" in each for each in answer.notes)


def test_elementwise_must_fit(log: wh.Log) -> None:
    half = log.track(lambda x: np.frombuffer(x.tobytes(), float)[::2], name="half", unknown="elementwise")
    with pytest.raises(BadType, match="unknown='whole' or 'probe'"):
        half(np.arange(4.0))


def test_arrays_that_compute_in_a_way_of_their_own_go_in_as_a_whole(log: wh.Log) -> None:
    plain = np.arange(4.0).reshape(2, 2)
    squared = log.track(lambda a: a * a, name="squared")
    squared(plain)
    squared(plain)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)  # NumPy's own word on matrices
        matrix, masked = np.asmatrix(plain), np.ma.array(plain, mask=plain > 2)
        assert squared(matrix).tolist() == (plain @ plain).tolist()
    assert len(log.backward(squared.last.outputs[0], [(0, 0)], to=squared.last.inputs[0])) == 4
    assert squared(masked).tolist() == [[0, 1], [4, None]]
    found = log.backward(squared.last.outputs[0], [(0, 0)])
    assert {len(each) for each in found.values()} == {4}
    assert any("masked arrays" in note for note in found.notes)
    for given, word in ((matrix, "is a matrix"), (masked, r"is a MaskedArray.*filled")):
        with log.capture() as capture, pytest.raises(BadType, match=word):
            capture.read("A", given)
    with pytest.raises(BadType, match="matrix"):
        wh.tracked(matrix, "A")


def test_a_masked_array_that_is_made_within_stays_masked(log: wh.Log) -> None:
    large = log.track(lambda a: np.ma.masked_less(a, 0.5).mean(axis=0), name="large")
    a = np.array([[0.1, 0.9], [0.2, 0.7]])
    with pytest.warns(LineageLost, match="every cell"):
        assert large(a).tolist() == [None, 0.8]
    assert len(log.backward("large", [(1,)], to="a")) == 4


def test_arrays_of_too_many_cells_are_refused(log: wh.Log) -> None:
    with pytest.raises(BadType, match=r"at most 2\^36"):
        log.track(lambda a: a[0, 0], name="first")(np.broadcast_to(0.0, (1 << 20, 1 << 17)))


def test_a_log_that_is_closed_in_between(tmp_path: Path) -> None:
    log = wh.open(tmp_path / "closed")

    @log.track
    def closing(a: Any) -> Any:
        log.close()
        return a + 1

    with pytest.raises(Closed):
        closing(np.ones(2))
    with wh.open(tmp_path / "closed") as log:
        assert log.datasets() == []
        capture = log.capture().__enter__()
        capture.write("B", capture.read("A", np.ones(2)) * 2)
        log.close()
        with pytest.raises(Closed):
            capture.__exit__(None, None, None)
    with wh.open(tmp_path / "closed") as log:
        assert log.datasets() == []
        with pytest.raises(BadType, match="'x' is tracked already"):
            log.track(np.negative)(wh.tracked(np.ones(2), "A"))


def test_numbers_taken_out_of_arrays_are_reported(log: wh.Log) -> None:
    @log.track
    def scaled(a: Any) -> Any:
        return a / float(a.max())

    with pytest.warns(LineageLost, match="scaled took 1 value"):
        scaled(np.array([1.0, 2.0]))
    assert scaled.last.notes == {"casts": 1}


def test_numbers_taken_out_in_a_block_are_reported(log: wh.Log) -> None:
    with warnings.catch_warnings(record=True) as said, log.capture("block") as capture:
        warnings.simplefilter("always")
        a = capture.read("A", np.array([1.0, 2.0]))
        capture.write("B", a * sum(float(each) for each in a) if a[0] > 0 else a)
    (warning,) = said
    assert warning.category is LineageLost
    assert "block took 2 values" in str(warning.message)
    assert warning.filename == __file__
    assert capture.record.notes == {"casts": 2, "branches": 1}


def test_reuse_by_shape_is_seen_in_the_views(log: wh.Log) -> None:
    @log.track
    def smooth(a: Any) -> Any:
        return (a[1:] + a[:-1]) / 2

    for values in (np.arange(5.0), np.ones(5)):
        smooth(values)
    assert smooth.last.reused
    (view,) = [each for each in log.views() if each.level == "dim"]
    assert (view.function, view.state, view.hits) == ("smooth", "confirmed", 1)
    assert tuples(log, smooth.last.outputs[0], smooth.last.inputs[0]) == [[i, i + d] for i in range(4) for d in (0, 1)]


def test_lineage_that_follows_from_values_is_reused_for_the_same_values_only(log: wh.Log) -> None:
    @log.track
    def positive(a: Any) -> Any:
        return a[a > 0]

    x = np.array([1.0, -1.0, 2.0])
    positive(x)
    positive(x.copy())
    assert positive.last.reused
    positive(-x)
    assert not positive.last.reused
    assert tuples(log, positive.last.outputs[0], positive.last.inputs[0]) == [[0, 1]]


def test_what_was_drawn_decides(log: wh.Log) -> None:
    rng = np.random.default_rng(0)
    draws: list[Any] = [
        lambda a: a[np.random.permutation(4)],  # noqa: NPY002 # the global state is the point
        lambda a: a[rng.permutation(4)],
        lambda a: a[_drawn()],
    ]
    for number, draw in enumerate(draws):
        tracked = log.track(draw, name=f"draw {number}")
        x = np.arange(4.0)
        for _ in range(8):
            result = tracked(x)
            found = tuples(log, tracked.last.outputs[0], tracked.last.inputs[0])
            assert found == [[i, int(value)] for i, value in enumerate(result)]


def _drawn() -> Any:
    return np.random.default_rng().permutation(4)


def test_reuse_false_never_reuses_and_verify_compares(log: wh.Log) -> None:
    plain = log.track(lambda a: a + 1, name="plain", reuse=False)
    checked = log.track(lambda a: a + 1, name="checked", reuse="verify")
    for each in (plain, checked):
        each(np.ones(3))
        each(np.ones(3))
        assert not each.last.reused
    assert {each.function: each.hits for each in log.views() if each.level == "dim"} == {"checked": 1}


def test_a_maximum_may_come_from_the_winner_alone(log: wh.Log) -> None:
    x = np.array([[1.0, 5.0], [7.0, 2.0]])
    peaks = log.track(lambda a: a.max(axis=0) - np.min(a), name="peaks", extremes="winner")
    peaks(x)
    assert tuples(log, "peaks", "a") == [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 1]]
    log.track(np.max, name="top", names={"a": "A"}, extremes="winner")(x)
    assert tuples(log, "top", "A") == [[1, 0]]
    peaks(x[::-1].copy())
    assert not peaks.last.reused  # another winner


def test_a_block_may_want_the_winner_too(log: wh.Log) -> None:
    with log.capture(extremes="winner") as capture:
        capture.write("B", capture.read("A", np.array([3.0, 7.0, 5.0])).max())
    assert log.backward("B", [()], to="A").cells().tolist() == [[1]]
    with pytest.raises(BadType, match="'most'"):
        log.capture(extremes="most")  # type: ignore[arg-type]  # which is what is tried


def test_what_decided_is_distinguished(log: wh.Log) -> None:
    log.track(lambda a: a[a > 1], name="kept", lineage="value+selection")(np.array([3.0, 1.0]))
    said = str(log.show("kept"))
    assert "kept <- a by kept: 1 tuple in 1 box" in said
    assert "kept <- a by kept (selection): 1 tuple in 1 box" in said


def test_what_decided_can_be_left_out_of_answers(log: wh.Log) -> None:
    kept = log.track(lambda a: a[a > 1], name="kept", lineage="value+selection")
    doubled = log.track(lambda a: a * 2, name="doubled")
    doubled(kept(np.array([3.0, 1.0, 2.0])))
    assert log.backward("doubled", [(1,)], to="a").cells().tolist() == [[0], [1], [2]]
    assert log.backward("doubled", [(1,)], to="a", lineage="value").cells().tolist() == [[2]]
    assert log.query(["doubled", "kept", "a"], [(1,)], lineage="value").cells().tolist() == [[2]]
    assert log.forward("a", [(1,)], lineage="value")["doubled"].cells().tolist() == []
    assert log.forward("a", [(1,)])["doubled"].cells().tolist() == [[1]]
    with pytest.raises(BadType, match="'values'"):
        log.backward("doubled", [(1,)], lineage="values")  # type: ignore[call-overload]  # which is what is tried


def test_functions_that_ask_where_memory_lies(log: wh.Log) -> None:
    tracked = log.track(lambda a, b: a * 1 if np.shares_memory(a, b) else b * 1, name="either")
    a = np.ones(3)
    for b, expected in ((a[:], "a"), (a.copy(), "b"), (a[:], "a")):
        tracked(a, b)
        (source,) = log.backward(tracked.last.outputs[0], [(0,)])
        assert source == tracked.last.inputs[expected == "b"]
    assert tracked.last.reused


def test_arguments_matter_only_for_what_is_done(log: wh.Log) -> None:
    def scaled(a: Any, by: float, verbose: bool = False, unit: str = "m") -> Any:
        if verbose:
            print("scaling")
        return a * by

    tracked = log.track(scaled)
    calls: list[dict[str, Any]] = [{"by": 2.0}, {"by": -1}, {"by": 3.0, "verbose": True}, {"by": 1.5, "unit": "km"}]
    reused = []
    for each in calls:
        tracked(np.ones(3), **each)
        reused.append(tracked.last.reused)
    assert reused == [False, True, True, True]


def test_arguments_that_matter_stay(log: wh.Log) -> None:
    def one(a: Any, by: float) -> Any:
        return a[::-1] * 1 if by > 3 else a * by

    def two(a: Any, by: float) -> Any:
        return a[: int(by * 10)].sum()

    def three(a: Any, by: float) -> Any:
        return a[math.floor(by) :] * by

    def four(a: Any, how: str) -> Any:
        return a[:100] * 2 if how == "head" else a * 2 if how == "all" else a[:100] * 2.0

    for each, values in (
        (one, [0.5, 1.5, 2.5, 3.5, 4.5]),
        (two, [9.1, 9.2, 9.3, 0.1, 0.2]),
        (three, [0.1, 0.2, 0.3, 1.3]),
    ):
        tracked = log.track(each)
        for by in values:
            tracked(np.arange(5.0), by)
            truth = captured(each, (np.arange(5.0), by), {}, ("a", "by"), "f", selection=False)
            recorded = tuples(log, tracked.last.outputs[0], tracked.last.inputs[0])
            assert sorted(recorded) == sorted(truth.edges[0].relation.to_array().tolist())
    tracked = log.track(four)
    for n, how, cells in ((5, "head", 5), (5, "all", 5), (5, "other", 5), (200, "head", 100), (200, "all", 200)):
        tracked(np.ones(n), how)
        assert len(tuples(log, tracked.last.outputs[0], tracked.last.inputs[0])) == cells
    tracked(np.ones(200), "all")
    assert tracked.last.reused


def test_integers_given_are_lengths_too(log: wh.Log) -> None:
    tiled = log.track(lambda a, times: np.tile(a, times), name="tiled")
    for n, times in [(4, 5), (5, 4), (6, 9), (7, 5), (8, 6), (9, 4), (5, 8), (14, 12)]:
        tiled(np.ones(n), times)
    assert tiled.last.reused
    assert log.backward(tiled.last.outputs[0], [(15,)], to=tiled.last.inputs[0]).cells().tolist() == [[1]]


def test_arrays_of_two_captures_are_not_mixed(log: wh.Log) -> None:
    with log.capture() as one, log.capture() as two:
        a, b = one.read("A", np.ones(2)), two.read("B", np.ones(2))
        for mixed in (lambda: a + b, lambda: np.concatenate([a, b]), lambda: a.__setitem__(0, b[0]), lambda: a[b > 0]):
            with pytest.raises(BadType, match="two captures"):
                mixed()
        with pytest.raises(NoRule, match="cannot be pickled"):
            a.__reduce_ex__(4)
        with pytest.raises(BadType, match="another capture"):
            two.write("C", a)
    assert (pickle.loads(pickle.dumps(a)) + a + b).tolist() == [3.0, 3.0]  # plain arrays, after their blocks


def test_threads_track_at_once(log: wh.Log) -> None:
    def shifted(a: Any, by: int) -> Any:
        return np.roll(a, by) + a

    tracked = log.track(shifted)

    def work(by: int) -> list[tuple[str, str, int]]:
        found = []
        for _ in range(5):
            tracked(np.ones(6), by)
            found.append((tracked.last.outputs[0], tracked.last.inputs[0], by))
            assert log.backward(*found[-1][:1], [(0,)], to=found[-1][1])  # asking while others write
        return found

    with ThreadPoolExecutor(4) as pool:
        done = [each for part in pool.map(work, range(1, 5)) for each in part]
    assert len({out for out, _, _ in done}) == 20
    for out, inp, by in done[::3]:
        assert log.backward(out, [(0,)], to=inp).cells().ravel().tolist() == [0, 6 - by]


SCRIPT = """
import sys, numpy as np, whence as wh
with wh.open(sys.argv[1]) as log:
    @log.track
    def f(a):
        return np.cumsum(a, axis=1)[:, 1:] - a[:, :-1]
    for shape in eval(sys.argv[2]):
        f(np.random.default_rng(0).random(shape))
        print(f.last.reused)
"""


def test_what_one_program_learned_another_uses(tmp_path: Path) -> None:
    def run(shapes: list[tuple[int, int]]) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path / "l"), repr(shapes)],
            capture_output=True, text=True, check=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
        return done.stdout.split()

    assert run([(4, 5), (6, 4), (5, 9), (7, 7)]) == ["False"] * 4
    assert run([(4, 5), (9, 6), (11, 8), (30, 20), (2, 3)]) == ["True", "False", "False", "True", "False"]
    with wh.open(tmp_path / "l") as log:
        (view,) = [each for each in log.views() if each.level == "gen"]
        assert (view.state, view.hits, view.misses) == ("confirmed", 1, 7)
        assert log.check().ok


def test_calls_that_wait_are_written_before_any_question(log: wh.Log, tmp_path: Path) -> None:
    add = log.track(lambda a: a + 1, name="add")
    x = np.ones(3)
    for _ in range(20):
        x = add(x)
    with wh.open(tmp_path / "log.whence") as other:
        assert len(other.operations()) < 20  # still waiting
    assert len(log.operations()) == 20
    assert log.backward(add.last.outputs[0], [(1,)], to="a").cells().tolist() == [[1]]
