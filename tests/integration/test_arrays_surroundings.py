"""Functions that read more than their arguments: what decides is what they did, and not what they might read."""

from __future__ import annotations

import functools
import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence as wh
from whence.arrays.recording.track import LineageLost
from whence.testing.hostile import HOSTILE, calls_of, cells_in
from whence.testing.hostile._case import Case


@pytest.fixture
def log(tmp_path: Path) -> Iterator[wh.Log]:
    with wh.open(tmp_path / "log.whence") as opened:
        yield opened


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.filterwarnings("ignore")
def test_lineage_is_what_the_values_say(name: str) -> None:
    calls = list(calls_of(HOSTILE[name]))
    assert [number for number, each in enumerate(calls) if not each.right] == []


@pytest.mark.filterwarnings("ignore")
def test_the_table_is_hostile() -> None:
    assert len(HOSTILE) >= 150
    changed = [name for name, case in HOSTILE.items() if len(_results_at_six(case)) > 1]
    assert len(changed) > 80  # the lineage at one length is another one after the world has changed


def _results_at_six(case: Callable[[], Case]) -> set[frozenset[tuple[int, int]]]:
    function, change = case()
    found = set()
    for number in range(3):
        if number:
            change()
        for _ in range(2):
            result = function(2.0 ** np.arange(6))
            found.add(frozenset(cells_in(result[0] if isinstance(result, tuple) else result)))
    return found


def test_what_reads_the_world_is_still_reused(log: wh.Log) -> None:
    steps = [1]
    rolled = log.track(lambda x: np.roll(x, steps[0]) * steps[-1], name="rolled")
    reused = []
    for k, last in ((1, 1), (1, 2), (2, 2), (1, 3), (2, 5)):
        steps[:] = [k, last]
        rolled(np.arange(4.0))
        reused.append(rolled.last.reused)
    assert reused == [False, True, False, True, True]


def test_notes_of_a_reused_call_are_its_own(log: wh.Log) -> None:
    scaled = log.track(lambda a: a / float(a.max()), name="scaled")
    for x in (np.array([1.0, 2.0]), np.array([3.0, 1.0])):
        with pytest.warns(LineageLost, match="scaled took 1 value"):
            scaled(x)
        assert scaled.last.notes == {"casts": 1}
    assert scaled.last.reused


def test_arguments_of_a_wrapper(log: wh.Log) -> None:
    def passing(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    rolled = log.track(passing(lambda x, how="left": np.roll(x, 1 if how == "left" else -1)), name="rolled")
    for how, source in (("left", 3), ("left", 3), ("left", 3), ("right", 1), ("left", 3)):
        rolled(np.arange(4.0), how=how)
        assert log.backward(rolled.last.outputs[0], [(0,)], to=rolled.last.inputs[0]).cells().tolist() == [[source]]


SCRIPT = """
import sys, numpy as np, whence as wh
import helpers
with wh.open(sys.argv[1]) as log:
    @log.track
    def f(a):
        return helpers.moved(a)
    f(np.arange(4.0))
    print(f.last.reused, log.backward(f.last.outputs[0], [(0,)], to=f.last.inputs[0]).cells().tolist())
"""


def test_a_helper_that_was_edited_between_two_programs(tmp_path: Path) -> None:
    def run(helper: str) -> str:
        (tmp_path / "helpers.py").write_text(helper)
        (tmp_path / "script.py").write_text(SCRIPT)
        command = [sys.executable, "-B", "script.py", "log.whence"]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout.strip()

    assert run("def moved(a):\n    return a * 2\n") == "False [[0]]"
    assert run("def moved(a):\n    return a * 2\n") == "True [[0]]"
    assert run("def moved(a):\n    return a[::-1] * 2\n") == "False [[3]]"


HELPING = """
from scipy import ndimage
from scipy.ndimage import rotate

def bigger(x):
    return ndimage.zoom(x, 2, order=1)

def turned(x):
    return rotate(x, 90)

def blurred(x):
    return ndimage.gaussian_filter(x, 1)
"""


def test_what_helpers_of_other_modules_call_is_not_followed_and_that_is_said(
    log: wh.Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "helping_elsewhere.py").write_text(HELPING)
    monkeypatch.syspath_prepend(tmp_path)
    helping = importlib.import_module("helping_elsewhere")
    x = np.random.default_rng(0).random((4, 4))
    for name in ("bigger", "turned", "blurred"):
        helper = getattr(helping, name)
        with pytest.warns(wh.LineageLost, match=f"{name} is recorded as if each result came from every cell"):
            result = log.track(lambda a, helper=helper: helper(a) + 1, name=name)(x)
        assert np.array_equal(result, helper(x) + 1)
        answer = log.backward(name, "1, 1")
        assert answer["a"].count == x.size
        assert not answer.precise
        assert "is not followed" in str(answer)
