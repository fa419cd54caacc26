"""Functions that fill an array cell by cell.

Each write changes the rows of an array's lineage, so a loop over n cells costs n times the rows. The tracked dtype
stores the lineage of each cell with the cell, so its cost is linear. So after many writes, the function runs again on
the tracked dtype. The lineage of that run is used if its results are the same. There is no second run if the function
may have side effects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whence.arrays.recording.again import undoing
from whence.arrays.tracing._code import mentioned
from whence.errors import NoRule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whence.arrays.recording.calls import Call, Edge
    from whence.arrays.recording.structures import Array

MANY_WRITES = 48
"""After this many writes into one array, the function is run again on the tracked dtype."""

EFFECTS = frozenset([
    "print", "open", "input", "write", "writelines", "append", "extend", "add", "update", "pop", "remove", "clear",
    "insert", "save", "savez", "savez_compressed", "savetxt", "tofile", "dump", "dumps", "to_csv", "to_parquet",
    "execute", "commit", "send", "put", "debug", "info", "warning", "error", "exception", "log", "system", "run",
    "Popen", "mkdir", "unlink", "rename", "touch", "write_text", "write_bytes", "random", "default_rng", "shuffle",
    "permutation", "choice", "normal", "uniform", "seed", "time", "time_ns", "perf_counter", "monotonic", "now",
    "today", "urandom", "uuid4", "next",
])  # fmt: skip
"""Names of functions that have side effects, or may return different values in a second run."""


def edges_by_cells(call: Call, outputs: Sequence[Array], selects: bool) -> tuple[Edge, ...] | None:
    """Return the lineage that a second run on the tracked dtype finds; None if there is none, or its results differ.

    `selects` says that the run has selection lineage, which the tracked dtype does not record.
    """
    if call.winner or (call.selection and selects):
        return None
    if any(isinstance(each, str) and each in EFFECTS for each in mentioned(call.function)):
        return None
    from whence.arrays.dtype.runs import by_dtype  # imports whence.arrays.recording.calls

    undo = undoing(call.function, call.named, [each.value for each in call.inputs])
    try:
        found = by_dtype(call, NoRule("the tracked dtype does not follow this function"), again=True)
    except NoRule:
        return None
    finally:
        undo()
    same = len(found.outputs) == len(outputs) and all(
        _equal(one.value, other.value) for one, other in zip(found.outputs, outputs, strict=True)
    )
    return found.edges if same and not found.written else None


def _equal(a: Any, b: Any) -> bool:
    return np.shape(a) == np.shape(b) and bool(np.array_equal(a, b, equal_nan=True))
