"""The survey of NumPy's functions: values must be NumPy's own, and no cell outside the lineage may matter.

Each function is called with random arguments and small arrays. Its lineage is checked by perturbation: every input cell
is changed a little, and every output cell that changes must have it in its lineage. The changes are small, so that
selections and orders by value stay the same. The tracked dtype is checked in the same way, in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from whence.arrays import rules
from whence.arrays.recording.calls import captured
from whence.arrays.recording.structures import arrays_in, outputs_of, replaced
from whence.testing import numpy_calls
from whence.testing.numpy_beyond import EVERYTHING
from whence.testing.numpy_calls import PAPERS, Call

STEP = 1e-6
PARAMETERS = tuple("abcdefgh")


@dataclass(frozen=True, slots=True)
class Surveyed:
    """The result for one function.

    Its lineage is "exact" (only the cells that change it), "safe" (a superset), "wrong" or "refused".
    """

    name: str
    papers: bool
    values: bool
    lineage: str  # exact, safe, wrong, or refused
    by: str  # rule, trace
    dtype: str  # the same for the tracked dtype; crash if its process died
    detail: str = ""

    @property
    def fine(self) -> bool:
        """Whether nothing is silently wrong."""
        return (
            self.values
            and self.lineage in ("exact", "safe", "refused")
            and self.dtype in ("exact", "safe", "refused", "-")
        )


def survey(names: list[str] | None = None, seed: int = 0) -> Iterator[Surveyed]:
    """Survey all functions, or the named ones, by rules and by tracing; `with_dtype` surveys the dtype."""
    longest, numpy_calls.LONGEST = numpy_calls.LONGEST, 5
    try:
        for name, make in EVERYTHING.items():
            if names is None or name in names:
                yield _surveyed(name, make(np.random.default_rng(seed)))
    finally:
        numpy_calls.LONGEST = longest


def _surveyed(name: str, call: Call) -> Surveyed:
    by = "rule" if rules.has_rule(call.function) else "trace"
    plain = _outputs(call.function(*call.args, **call.kwargs))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = captured(call.function, call.args, call.kwargs, PARAMETERS, "f", selection=True)
    except rules.NoRule as error:
        return Surveyed(name, name in PAPERS, True, "refused", by, "-", str(error))
    same = all(_equal(a, b.value) for a, b in zip(plain, found.outputs, strict=True))
    said: dict[tuple[int, int], set[tuple[int, ...]]] = {}
    for edge in found.edges:
        said.setdefault((edge.output, edge.input), set()).update(map(tuple, edge.relation.to_array().tolist()))
    value = {(edge.output, edge.input) for edge in found.edges if edge.kind == "value"}
    only = {
        key: {tuple(each) for edge in found.edges if (edge.output, edge.input) == key and edge.kind == "value"
              for each in edge.relation.to_array().tolist()}
        for key in value
    }  # fmt: skip
    changed = _pairs_that_change(call)
    wrong = [key for key, pairs in changed.items() if not pairs <= said.get(key, set())]
    exact = all(changed.get(key, set()) == pairs for key, pairs in only.items())
    return Surveyed(
        name, name in PAPERS, same, "wrong" if wrong else "exact" if exact else "safe", by, "-", str(wrong or "")
    )


def _outputs(result: Any) -> list[Any]:
    return [each.value for each in outputs_of(result, "f")]


def _equal(a: Any, b: Any) -> bool:
    return np.shape(a) == np.shape(b) and bool(np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind in "fc"))


def _pairs_that_change(call: Call) -> dict[tuple[int, int], set[tuple[int, ...]]]:
    """For each output and input, the pairs of cells where one changes with the other."""
    inputs = list(arrays_in(PARAMETERS, call.args, call.kwargs))
    before = _outputs(call.function(*call.args, **call.kwargs))
    found: dict[tuple[int, int], set[tuple[int, ...]]] = {}
    for number, each in enumerate(inputs):
        if each.value.dtype.kind != "f":
            continue
        for cell in np.ndindex(each.value.shape):
            for step in (STEP, -STEP):
                copy = each.value.copy()
                copy[cell] += step

                def changed(item: Any, array: Any = each.value, other: Any = copy) -> Any:
                    return other if item is array else item

                after = _outputs(call.function(*replaced(call.args, changed), **replaced(call.kwargs, changed)))
                for at, (old, new) in enumerate(zip(before, after, strict=True)):
                    if np.shape(old) == np.shape(new):
                        where = np.argwhere(~((old == new) | _tiny(old, new)))
                        found.setdefault((at, number), set()).update((*map(int, index), *cell) for index in where)
    return found


def _tiny(old: Any, new: Any) -> Any:
    """Whether the difference is only rounding: LAPACK and FFT may add the same numbers in another order."""
    with np.errstate(invalid="ignore"):
        both_nan = np.isnan(old) & np.isnan(new) if np.asarray(old).dtype.kind in "fc" else False
        return (np.abs(np.subtract(old, new, dtype=complex)) <= STEP * 1e-6) | both_nan


# --- the dtype, in separate processes


def with_dtype(name: str, seed: int = 0) -> str:
    """Return the verdict on the tracked dtype for one function, in this process."""
    from whence.arrays import is_tracked, relation_of, tracked, values, watch
    from whence.errors import WhenceError

    longest, numpy_calls.LONGEST = numpy_calls.LONGEST, 5
    call = EVERYTHING[name](np.random.default_rng(seed))
    numpy_calls.LONGEST = longest
    inputs = list(arrays_in(PARAMETERS, call.args, call.kwargs))
    copies = {
        id(each.value): tracked(each.value, f"{number}")
        for number, each in enumerate(inputs)
        if each.value.dtype.kind == "f"
    }

    def change(item: Any) -> Any:
        return copies.get(id(item), item)

    try:
        with watch() as lost, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = _outputs(call.function(*replaced(call.args, change), **replaced(call.kwargs, change)))
    except (WhenceError, TypeError, NotImplementedError, ValueError):
        return "refused"
    plain = _outputs(call.function(*call.args, **call.kwargs))
    changed = _pairs_that_change(call)
    exact = True
    for at, (each, expected) in enumerate(zip(made, plain, strict=True)):
        cells = np.asarray(each)
        if not is_tracked(cells):
            if (
                np.asarray(expected).dtype.kind in "fc"
                and any(changed.get((at, n)) for n in range(len(inputs)))
                and not lost.any
            ):
                return "wrong"
            continue
        try:
            numbers = values(cells)
        except WhenceError:
            return "refused"
        if not _equal(expected, numbers):
            return "wrong"
        for number, given in enumerate(inputs):
            if id(given.value) not in copies:
                continue
            said = {tuple(row) for row in relation_of(cells, f"{number}").to_array().tolist()}
            pairs = changed.get((at, number), set())
            if not pairs <= said:
                return "wrong"
            exact &= pairs == said
    return "exact" if exact else "safe"


def dtype_verdicts(names: list[str]) -> dict[str, str]:
    """Return the verdicts on the dtype.

    All functions run in one process. If it dies, the function is a crash, and a new process continues with the next.
    """
    code = (
        "import sys, json; from whence.testing.survey import with_dtype\n"
        "for n in json.loads(sys.argv[1]): print(json.dumps([n, with_dtype(n)]), flush=True)"
    )
    found: dict[str, str] = {}
    left = list(names)
    while left:
        run = subprocess.run(
            [sys.executable, "-c", code, json.dumps(left)], capture_output=True, text=True, check=False
        )
        found.update(json.loads(line) for line in run.stdout.splitlines() if line.startswith("["))
        done = [name for name in left if name in found]
        left = left[len(done) :]
        if left and run.returncode:
            found[left.pop(0)] = "crash"
    return found


def complete(report: Callable[[str], None] = lambda _: None) -> list[Surveyed]:
    """Run the whole survey."""
    report("by rules and by tracing")
    rows = list(survey())
    report("on the tracked dtype")
    verdicts = dtype_verdicts([each.name for each in rows])
    return [Surveyed(**{**asdict(each), "dtype": verdicts.get(each.name, "-")}) for each in rows]
