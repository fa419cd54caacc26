"""What decides results in Python code: branches, lengths of what masks select, and numbers that pass through text."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence as wh
from whence.testing.influence import influences

X = np.array([0.9, 0.1, 0.7, 0.2, 0.3])
Function = Callable[[Any], Any]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[wh.Log]:
    with wh.open(tmp_path / "log.whence") as log:
        yield log


# --- with lineage="value+selection"


def a_branch(v: Any) -> Any:
    return np.arange(3.0) * (2 if v[0] > 0.5 else 3) + v[:3]


def a_branch_on_many(v: Any) -> Any:
    return v * 2 if (v[1:3] > 0.5).any() else v


def a_loop_that_ends(v: Any) -> Any:
    step = np.ones(2)
    while step[0] > abs(v[3]):
        step = step / 2
    return step


def sorted_by_python(v: Any) -> Any:
    return np.array(sorted(v)[:2])


def sum_of_selected(v: Any) -> Any:
    return v[v > 0.5].sum()


def last_of_selected(v: Any) -> Any:
    return v[v > 0.5][-1]


def selected_in_reverse(v: Any) -> Any:
    return (v[v > 0.5] * 2)[::-1][:1]


def selected_before_others(v: Any) -> Any:
    return np.concatenate([v[v > 0.5], v])[:4]


def part_of_a_chosen_row(v: Any) -> Any:
    return np.stack([v, -v])[(v[4:] > 0.5).astype(int)[0]][1:3][:1]


def how_many(v: Any) -> Any:
    return np.arange(2.0) / len(v[v > 0.5])


def how_many_places(v: Any) -> Any:
    return np.full(2, 1.0 / np.flatnonzero(v > 0.5).size)


def sum_at_places(v: Any) -> Any:
    return v[np.nonzero(v > 0.5)].sum()


def steps_of_a_loop(v: Any) -> Any:
    total = np.zeros(1)
    for _ in v[v > 0.5]:
        total = total + 1
    return total


DECIDED: tuple[Function, ...] = (
    a_branch, a_branch_on_many, a_loop_that_ends, sorted_by_python, sum_of_selected, last_of_selected,
    selected_in_reverse, selected_before_others, part_of_a_chosen_row, how_many, how_many_places,
    sum_at_places, steps_of_a_loop,
)  # fmt: skip


@pytest.mark.parametrize("function", DECIDED, ids=lambda each: each.__name__)
def test_what_decides_a_result_is_its_selection_lineage(log: wh.Log, function: Function) -> None:
    changes = [lambda number, by=by: number + by for by in (-0.6, 0.05, 0.3, 0.9)]
    changed: set[tuple[int, ...]] = set()
    for change in changes:
        try:
            changed |= influences(function, [X], change)[0, 0]
        except (ValueError, IndexError):  # the result has another length
            continue
    tracked = log.track(function, name="f", lineage="value+selection")
    double = log.track(lambda y: y * 2, name="double")
    for _ in range(2):  # the second call is reused
        double(tracked(X.copy()))
        assert tracked.last.notes.get("casts", 0) == 0
        for *out, cell in changed:
            answer = log.backward(double.last.outputs[0], [tuple(out)], to=tracked.last.inputs[0])
            assert [cell] in answer.cells().tolist()
    assert tracked.last.reused


def test_the_first_of_the_selected_do_not_depend_on_later_ones(log: wh.Log) -> None:
    kept = log.track(lambda v: v[v > 0.5][:1] * 2, name="kept", lineage="value+selection")
    kept(X.copy())
    assert log.backward("kept", 0, to="v").cells().tolist() == [[0]]


def test_branches_do_not_count_if_only_values_are_followed(log: wh.Log) -> None:
    log.track(a_branch, name="f")(X.copy())
    assert log.backward("f", 1, to="v").cells().tolist() == [[1]]


# --- through text


def parsed(v: Any) -> Any:
    return np.arange(3.0) * float(f"{v[0]:.3f}")


def parsed_from_many(v: Any) -> Any:
    return v[:2] + float(np.array2string(v).strip("[]").split()[1])


def parsed_from_repr(v: Any) -> Any:
    return np.arange(3.0) * float(repr(v[1:2]).strip("ary([])"))


@pytest.mark.parametrize("function", [parsed, parsed_from_many, parsed_from_repr])
def test_numbers_that_pass_through_text_are_said(log: wh.Log, function: Function) -> None:
    tracked = log.track(function, name="f")
    assert tracked(X.copy()).tobytes() == function(X).tobytes()
    answer = log.backward("f", 1)
    assert not answer.precise
    assert "what is read from text again is not followed" in (answer.reason or "")
    assert set(answer) == {"v"}


def test_text_that_is_only_printed_changes_no_answer(log: wh.Log, capsys: pytest.CaptureFixture[str]) -> None:
    def told(v: Any) -> Any:
        print(f"{v[0]:.1f} {v[1]!r} {v[:2]!r}")
        return v * 2

    log.track(told)(X.copy())
    assert capsys.readouterr().out == "0.9 np.float64(0.1) array([0.9, 0.1])\n"
    answer = log.backward("told", 1)
    assert answer.precise
    assert answer["v"].cells().tolist() == [[1]]


# --- as NumPy does it


def test_rounded_numbers_are_what_numpy_gives_and_followed(log: wh.Log) -> None:
    rounded = log.track(lambda v: (round(v[0], 1), round(v[1])), name="rounded")
    found = rounded(X.copy())
    assert [type(each) for each in found] == [np.float64, int]
    assert found == (0.9, 0)
    plain = log.track(lambda v: round(v[2], 1) * np.ones(2), name="plain")
    plain(X.copy())
    assert log.backward("plain", 0)[plain.last.inputs[0]].cells().tolist() == [[2]]


def test_a_function_that_pickles_its_argument_runs_as_without_whence(log: wh.Log) -> None:
    again = log.track(lambda v: pickle.loads(pickle.dumps(v)) * 2, name="again")
    with pytest.warns(wh.LineageLost):
        assert again(X.copy()).tolist() == (X * 2).tolist()
    assert not log.backward("again", 0).precise


# --- in a block


def test_a_block_says_the_same_of_branches_lengths_and_text(log: wh.Log) -> None:
    with log.capture("decided", lineage="value+selection") as block:
        a = block.read("A", X.copy())
        block.write("counted", np.zeros_like(a) + len(a[a > 0.5]))
    assert log.backward("counted", 0, to="A").count == 5
    with log.capture("branched", lineage="value+selection") as block:
        a = block.read("B", X.copy())
        block.write("chosen", a[:2] if a[3] > 0 else a[2:])
    assert log.backward("chosen", 0, to="B").cells().tolist() == [[0], [3]]
    with log.capture("written") as block:
        a = block.read("C", X.copy())
        block.write("scaled", a[:2] * float(f"{a[3]:.2f}"))
    answer = log.backward("scaled", 0)
    assert not answer.precise
    assert "what is read from text again is not followed" in (answer.reason or "")


def test_thousands_of_branches(log: wh.Log) -> None:
    def counted(v: Any, limit: Any) -> Any:
        n = sum(1 for each in v if each > limit)
        return v[:1] * n

    tracked = log.track(counted, lineage="value+selection")
    tracked(np.linspace(0, 1, 2000) ** 2, np.array(0.3))
    answer = log.backward("counted", 0)
    assert answer["v"].count == 2000
    assert answer["limit"].count == 1
