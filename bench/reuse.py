"""Reuse of lineage over NumPy's functions (DSLog, section VII.E and Table IX), over hostile ones, and what it costs.

Each of the 136 functions of the papers is called many times with random shapes and arguments. The lineage of every call
is computed as well, to compare it with the reused lineage. Hostile functions read external state, which changes, or use
lengths in unusual ways; the values of their results show the true lineage.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that `python bench/NAME.py` finds `bench`
from bench._common import Claim, Progress, check_size, claim, dots, main, quiet, workspace

import whence as wh
from whence.arrays.recording.calls import Captured, captured
from whence.arrays.recording.structures import parameters_of
from whence.arrays.reuse import ReuseIndex
from whence.arrays.reuse.learned import same
from whence.testing import numpy_calls
from whence.testing.hostile import HOSTILE, calls_of
from whence.testing.numpy_calls import PAPERS
from whence.testing.shelf import Shelf

PAPER = "DSLog (paper)"
NAMES = tuple("abcdefgh")


def coverage(name: str, runs: int) -> dict[str, Any]:
    """Measure one function: how often lineage was known for the same shapes and for others, and how often it was
    wrong.
    """
    rng = np.random.default_rng(7)
    memory = ReuseIndex(Shelf(), name)
    found: dict[str, Any] = {"dim": 0, "gen": 0, "wrong": 0, "values": False, "compressed": True}
    for _ in range(runs):
        call = PAPERS[name](rng)
        for again in (False, True):  # a second call of the same shapes, with other values
            args = _other_values(call.args, rng) if again and not found["values"] else call.args
            truth = captured(call.function, args, call.kwargs, parameters_of(call.function), name, selection=False)
            assert truth.call_record is not None, name
            found["values"] |= truth.call_record.values
            known = memory.find(truth.call_record, tuple(each.shape for each in truth.outputs))
            if known is not None:
                found["dim" if again else known.level] += 1
                found["wrong"] += not same(known.edges, truth.edges)
            elif not again:
                memory.learn(truth)
    return found


def _other_values(item: Any, rng: np.random.Generator) -> Any:
    if isinstance(item, np.ndarray):
        return rng.random(item.shape)
    return type(item)(_other_values(each, rng) for each in item) if isinstance(item, (list, tuple)) else item


def compressed(name: str, longest: int) -> bool:
    """Whether the lineage needs less than half the bytes of its tuples as text."""
    before, numpy_calls.LONGEST = numpy_calls.LONGEST, longest
    call = max((PAPERS[name](np.random.default_rng(seed)) for seed in range(8)), key=_cells)
    numpy_calls.LONGEST = before
    truth: Captured = captured(call.function, call.args, call.kwargs, NAMES, name, selection=False)
    edges = [edge for edge in truth.edges if edge.relation.count()]
    raw = sum(_text_size(edge.relation.to_array()) for edge in edges)
    return sum(len(edge.relation.to_bytes()) for edge in edges) < raw / 2


def _cells(call: Any) -> int:
    return sum(each.value.size for each in known_arrays(call))


def known_arrays(call: Any) -> list[Any]:
    """The arrays of a call."""
    from whence.arrays.recording.structures import arrays_in

    return list(arrays_in(NAMES, call.args, call.kwargs))


def _text_size(tuples: Any) -> int:
    digits = np.floor(np.log10(np.maximum(tuples, 1))).astype(int) + 1
    return int(digits.sum() + tuples.size)


def hostile(progress: Progress) -> dict[str, Any]:
    """Run all hostile functions: count reused calls, and how often these, or a signature, were wrong.

    A signature as in the paper: a call is assumed to have the lineage of the first call of the function with that
    shape.
    """
    found: dict[str, Any] = {"calls": 0, "reused": 0, "wrong": 0, "by signature": 0, "which": []}
    for name, case in HOSTILE.items():
        progress(f"hostile: {name}")
        first: dict[int, Any] = {}
        for each in calls_of(case):
            found["calls"] += 1
            found["reused"] += each.reused
            found["by signature"] += first.setdefault(each.length, each.expected) != each.expected
            if not each.right:
                found["wrong"] += 1
                found["which"].append(name)
    return found


def _chain(times: int) -> Any:
    """Return a function of seven NumPy calls for each repetition."""

    def chain(a: Any) -> Any:
        for _ in range(times):
            a = a - a.mean(axis=0)
            a = np.abs(a)[:, :]
            a = np.concatenate([a[1:], a[:1]])
        return a

    return chain


def _cost(calls: int) -> dict[str, float]:
    """Return the processor time of NumPy's own calls, and what reuse and tracing add to each."""
    x = np.random.default_rng(0).random((50, 8))
    spent: dict[str, dict[int, float]] = {"bare": {}, "reused": {}, "traced": {}}
    with workspace() as directory, wh.open(directory / "log") as log:
        for times in (1, 11):
            function = _chain(times)
            reused, traced = log.track(function, name=f"r{times}"), log.track(function, name=f"t{times}", reuse=False)
            reused(x)
            for what, each, count in (("bare", function, calls), ("reused", reused, calls), ("traced", traced, 3)):
                spent[what][times] = _processor_time(each, x, count)
            assert reused.last.reused
    each = {what: (some[11] - some[1]) / 70 for what, some in spent.items()}
    return {what: some - each["bare"] * (what != "bare") for what, some in each.items()}


def _processor_time(function: Any, x: Any, count: int) -> float:
    best = float("inf")
    for _ in range(7):
        start = time.thread_time()
        for _ in range(count):
            function(x)
        best = min(best, (time.thread_time() - start) / count)
    return best


def _reused_call(calls: int, side: int = 30) -> tuple[float, float, float, float]:
    """Return the processor time of the function, and the additional time of a reused, a written and a traced call."""
    x = np.random.default_rng(0).random((side, side))

    def smooth(a: Any) -> Any:
        both = a[1:] + a[:-1]  # named, so that NumPy divides into new memory, as in a tracked call
        return both / 2

    with workspace() as directory, wh.open(directory / "log") as log:
        tracked, traced = log.track(smooth), log.track(smooth, name="traced", reuse=False)
        tracked(x)
        bare = _processor_time(smooth, x, calls)
        start = time.thread_time()
        for _ in range(calls):
            tracked(x)
        answered = time.thread_time()
        log.operations()  # a question writes what is pending first
        written = time.thread_time()
        slow = _processor_time(traced, x, 5)
    return bare, (answered - start) / calls - bare, (written - start) / calls - bare, slow - bare


def run(size: str = "small", progress: Progress = quiet) -> list[Claim]:
    """Coverage of reuse over the 136 functions of the papers; hostile functions; the cost of a reused call."""
    check_size(size)
    runs = {"tiny": 24, "small": 40, "full": 100}[size]
    table: dict[str, dict[str, Any]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in PAPERS:
            progress(name)
            table[name] = {**coverage(name, runs), "compressed": compressed(name, 120)}
        odd = hostile(progress)
    fixed = [name for name, each in table.items() if not each["values"]]
    total = len(PAPERS)
    lists = {
        "not compressed below half": [name for name, each in table.items() if not each["compressed"]],
        "not reusable by shape": [name for name in fixed if not each_dim(table[name])],
        "not reusable for any shape": [name for name, each in table.items() if not each["gen"]],
    }
    papers = {
        "not compressed below half": total - 130,
        "not reusable by shape": total - 126,
        "not reusable for any shape": total - 99,
    }
    limits = {"not compressed below half": 0.5, "not reusable by shape": 0.5, "not reusable for any shape": total - 120}
    claims = [
        claim(f"functions {what}, of {total}", len(names), {PAPER: papers[what]}, unit="functions",
              at_most=limits[what], which=names)
        for what, names in lists.items()
    ]  # fmt: skip
    wrong = sum(each["wrong"] for each in table.values())
    claims.append(claim("wrong lineage of them, reused", wrong, {PAPER: 1}, unit="calls", at_most=0.5, runs=runs))
    claims.append(
        claim(f"wrong lineage of {len(HOSTILE)} hostile functions, in {odd['calls']:,} calls", odd["wrong"],
              {"by signatures of calls": odd["by signature"]}, unit="calls", at_most=0.5,
              which=odd["which"], reused=odd["reused"])
    )  # fmt: skip
    cost = {key: 1e6 * value for key, value in _cost({"tiny": 20, "small": 50, "full": 200}[size]).items()}
    claims.append(
        claim("reused: processor time for each NumPy call, beyond its own", cost["reused"],
              {"traced": cost["traced"]}, unit="us", at_most=15.0, bare=cost["bare"])
    )  # fmt: skip
    _, call, recorded, traced = (each * 1e6 for each in _reused_call({"tiny": 200, "small": 1000, "full": 3000}[size]))
    claims.append(claim("a reused call, beyond the function", call, {"traced": traced}, unit="us", at_most=250.0))
    claims.append(claim("the same with its record written", recorded, {"traced": traced}, unit="us", at_least=3))
    bare, call, _, _ = (each * 1e6 for each in _reused_call(20, 1000))
    claims.append(
        claim("a reused call on 8 MB, which is digested as it goes in and comes out", call,
              {"the function": bare}, unit="us", at_most=5000.0)
    )  # fmt: skip
    return claims


def each_dim(found: dict[str, Any]) -> bool:
    """Whether calls of the same shapes were reused."""
    return bool(found["dim"])


def plot(claims: list[Claim], directory: Path) -> list[Path]:
    """Draw dots next to the paper's."""
    return [dots(claims[:4], directory / "reuse.png", "What cannot be reused", "functions")]


if __name__ == "__main__":
    main(run, plot)
