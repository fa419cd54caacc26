"""Find the user's function inside the wrappers of pandas API on Spark."""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any

AROUND = "PandasOnSparkSeriesMethods._transform_batch.<locals>."
PASSED = "PandasOnSparkSeriesMethods.transform_batch.<locals>.<lambda>"
RENAMED = "GroupBy._make_pandas_df_builder_func.<locals>.rename_output"
APPLIED, MAPPED = "Series.apply.<locals>.apply_each", "Series.map.<locals>.<lambda>"


@dataclass(frozen=True, slots=True)
class OfEach:
    """A function that is called with each value of one column, and the index of that column among the arguments."""

    function: Any
    place: int


def of_each(function: object) -> OfEach | None:
    """Return the function that `Series.apply` or `Series.map` calls for each value, or None for other functions.

    Each wrapper is recognized by its name. Anything else in between could compute something different.
    """
    concat = _inside(function, f"{AROUND}pudf", "pandas_concat")
    columns = _inside(concat, f"{AROUND}pandas_concat", "columns")
    output = _inside(function, f"{AROUND}pudf", "output_func")
    restored = _inside(output, RENAMED, "arguments_for_restore_index")
    applied = _inside(_inside(output, RENAMED, "func"), f"{AROUND}apply_func", "func")
    if not isinstance(columns, list) or not isinstance(restored, dict) or _inside(output, RENAMED, "retain_index"):
        return None
    data = [place for place, name in enumerate(columns) if name not in restored.get("index_columns", ())]
    found = _applied(applied)
    return OfEach(found, data[0]) if found is not None and len(data) == 1 else None


def by_row(function: object) -> bool:
    """Whether it is `DataFrame.apply(..., axis=1)`, which makes each row from one row, in order."""
    output = _inside(function, "DataFrame.apply.<locals>.<lambda>", "output_func")
    applied = _inside(output, RENAMED, "func")
    return _inside(applied, "DataFrame.apply.<locals>.apply_func", "axis") in (1, "columns")


def _applied(function: object) -> Any:
    """The user's function inside `apply` or `map`."""
    if _inside(function, PASSED, "args") == () and _inside(function, PASSED, "kwargs") == {}:
        function = _inside(function, PASSED, "func")
        if callable(_inside(function, MAPPED, "arg")) and _inside(function, MAPPED, "na_action") is None:
            return _inside(function, MAPPED, "arg")
        return None
    if _inside(function, APPLIED, "args") == () and _inside(function, APPLIED, "kwds") == {}:
        return _inside(function, APPLIED, "func")
    return None


def _inside(function: object, name: str, variable: str) -> Any:
    """A variable in the closure of one of the wrappers."""
    if not isinstance(function, types.FunctionType) or function.__qualname__ != name:
        return None
    if not function.__module__.startswith("pyspark.pandas.") or variable not in function.__code__.co_freevars:
        return None
    return (function.__closure__ or ())[function.__code__.co_freevars.index(variable)].cell_contents
