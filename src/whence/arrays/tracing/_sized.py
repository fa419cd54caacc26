"""Selection lineage of lengths: how many cells a mask selects depends on all of the mask.

The k-th cell of `x[mask]` depends on the mask only up to its own cell. But a sum of all these cells, the last of them
and their number depend on the rest of the mask, too: another cell may join them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from whence.arrays.tracing._later import Later
from whence.arrays.tracing._origins import composed
from whence.arrays.tracing._run import Run, decision
from whence.arrays.tracing._writing import united_all
from whence.relation import Relation

SELECTING = frozenset(
    (
        np.argwhere, np.compress, np.extract, np.flatnonzero, np.intersect1d, np.nonzero, np.setdiff1d, np.setxor1d,
        np.trim_zeros, np.union1d, np.unique, np.unique_all, np.unique_counts, np.unique_inverse, np.unique_values,
    )
)  # fmt: skip
"""Functions that return as many cells as the values decide."""


def selects_cells(function: Callable[..., Any], args: Any, kwargs: Any) -> bool:
    """Whether the lengths of the function's results depend on values."""
    return function in SELECTING or (function is np.where and len(args) + len(kwargs) == 1)


def counts_from_start(key: Any) -> bool:
    """Whether cells that are added at the end would not change what the index selects.

    >>> counts_from_start(slice(2, None)), counts_from_start(-1), counts_from_start(slice(None, None, -1))
    (True, False, False)
    """
    return all(
        part is None
        or part is Ellipsis
        or getattr(getattr(part, "dtype", None), "kind", "") == "b"
        or (isinstance(part, (int, np.integer)) and part >= 0)
        or (isinstance(part, slice) and all(each is None or each >= 0 for each in (part.start, part.stop, part.step)))
        for part in (key if type(key) is tuple else (key,))
    )


def sized_by(
    run: Run, arrays: Sequence[Any], made: Any, keys: Sequence[Any] = (), *, aligned: bool = False,
    selects: bool = False,
) -> Any:  # fmt: skip
    """Note what decided how many cells the results of an operation on these arrays have, and return them.

    Unless the operation is `aligned`, so that the k-th cell of a result comes from the k-th cells of the arrays, each
    cell depends on the lengths of the arrays. `selects`: the arrays themselves decide the lengths.
    """
    if not run.selection:
        return made
    before = [found for each in arrays if (found := getattr(each, "_sized", None)) is not None]
    masks = [each for each in keys if each.value.dtype.kind == "b"]
    deciding = [each for each in (arrays if selects else masks) if hasattr(each, "_sized")]
    if not before and not deciding:
        return made
    lengths = before + [decision(each.value.shape, each._origins()) for each in deciding]
    for each in made if isinstance(made, (tuple, list)) else (made,):
        if not hasattr(each, "_sized"):
            continue
        if each.value.ndim:
            each._sized = Later(united_all, *lengths)
        if before and not aligned:
            each._add_decided(Later(composed, Relation.whole(each.value.shape, ()), Later(united_all, *before)))
    return made
