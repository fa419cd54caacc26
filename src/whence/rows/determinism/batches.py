"""Whether a function of columns computes a value that depends on other rows of the batch."""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterator

# Methods of columns whose value for a row depends on other rows. Spark may split a table into any batches.
BEYOND = frozenset(
    {
        "mean", "sum", "std", "var", "sem", "min", "max", "median", "quantile", "prod", "mode", "nunique", "unique",
        "rank", "cumsum", "cumprod", "cummax", "cummin", "shift", "diff", "pct_change", "rolling", "expanding", "ewm",
        "sort_values", "sort_index", "value_counts", "idxmax", "idxmin", "argmax", "argmin", "argsort", "factorize",
        "interpolate", "ffill", "bfill", "duplicated", "drop_duplicates", "groupby", "head", "tail", "iloc", "iat",
        "corr", "cov", "cumulative_sum", "stddev", "variance", "average", "percentile", "nanmean", "nansum",
    }
)  # fmt: skip


def beyond_row(function: object, *, parts: bool = False) -> str | None:
    """Say why a value depends on other rows; None if the code shows no reason.

    If `parts`, the function gets one batch after another, and may accumulate over them.

    >>> beyond_row(lambda column: column - column.mean())
    'it calls mean(), which reads all rows of a batch'
    >>> beyond_row(lambda column: column.str.upper() + "!") is None
    True
    """
    for code in _codes_of(function, set()):
        for step in dis.get_instructions(code):
            if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and step.argval in BEYOND:
                return f"it calls {step.argval}(), which reads all rows of a batch"
            if parts and step.opname == "BINARY_OP" and step.argrepr.endswith("="):
                return "it adds up over the batches"
    return None


def _codes_of(function: object, seen: set[int]) -> Iterator[types.CodeType]:
    """Yield the code of a function and of functions inside of it; for Spark's own functions, only of those inside."""
    if id(function) in seen:
        return
    seen.add(id(function))
    if isinstance(function, functools.partial):
        yield from _codes_of(function.func, seen)
    elif isinstance(function, types.MethodType):
        yield from _codes_of(function.__func__, seen)
    elif isinstance(function, types.FunctionType):
        if not str(function.__module__).startswith("pyspark."):
            yield from _code_within(function.__code__)
        for cell in function.__closure__ or ():
            try:
                inside: object = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
            yield from _codes_of(inside, seen)
        named = (function.__globals__.get(name) for name in function.__code__.co_names)
        for each in named:
            if isinstance(each, types.FunctionType) and each.__module__ == function.__module__:
                yield from _codes_of(each, seen)


def _code_within(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _code_within(const)
