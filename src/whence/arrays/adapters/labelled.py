"""xarray: a DataArray can contain any array that behaves like NumPy's, also traced arrays while a function runs.

The functions of xarray that would make plain arrays of them are patched. Coordinates are not followed, because mostly
they are positions. Coordinates that the code of a function names as attributes are inputs as a whole.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_done = False


def install() -> None:
    """Patch xarray, so that it accepts traced arrays."""
    global _done
    core: Any = sys.modules.get("xarray.core.variable")
    named: Any = sys.modules.get("xarray.namedarray.core")
    if _done or not hasattr(core, "Variable") or not hasattr(named, "from_array"):
        return
    _done = True
    values, make, compatible = core.Variable.values, named.from_array, core.as_compatible_data

    def numbers(self: Any) -> Any:
        return self._data if _is_traced(self._data) else values.fget(self)

    def from_array(dims: Any, data: Any, attrs: Any = None) -> Any:
        return named.NamedArray(dims, data, attrs) if _is_traced(data) else make(dims, data, attrs)

    def as_compatible_data(data: Any, *args: Any, **options: Any) -> Any:
        return data if _is_traced(data) else compatible(data, *args, **options)

    core.Variable.values = property(numbers, values.fset, values.fdel, values.__doc__)
    named.from_array, core.as_compatible_data = from_array, as_compatible_data


def _is_traced(item: Any) -> bool:
    return hasattr(type(item), "_is_traced")


def is_labelled(item: Any) -> bool:
    """Whether it is a DataArray or Dataset of xarray that is in memory."""
    kind = type(item)
    if kind.__module__.partition(".")[0] != "xarray" or kind.__name__ not in ("DataArray", "Dataset"):
        return False
    return not item.chunks


def parts(item: Any) -> list[tuple[str, Any]]:
    """Return its arrays by name; the name for a DataArray is ""."""
    if type(item).__name__ == "DataArray":
        return [("", _numbers(item.variable))]
    return [(str(name), _numbers(each.variable)) for name, each in item.data_vars.items()]


def _numbers(variable: Any) -> Any:
    return variable._data if _is_traced(variable._data) else variable.values


def with_parts(item: Any, new: Sequence[Any]) -> Any:
    """Return a copy with other arrays."""
    if type(item).__name__ == "DataArray":
        return item._replace(variable=_with_data(item.variable, new[0]))
    made = item.copy(deep=False)
    for name, data in zip(list(item.data_vars), new, strict=True):
        made._variables[name] = _with_data(item._variables[name], data)
    return made


def _with_data(variable: Any, data: Any) -> Any:
    made = variable.copy(deep=False)
    made._data = data if _is_traced(data) else np.asarray(data)
    return made


def changed(item: Any, change: Callable[[Any], Any]) -> Any:
    """Return a copy with every array changed; the object itself if none is."""
    before = [each for _, each in parts(item)]
    after = [change(each) for each in before]
    return item if all(a is b for a, b in zip(before, after, strict=True)) else with_parts(item, after)


def coordinates(item: Any) -> dict[str, Any]:
    """Return the numeric coordinates by name."""
    found = {str(name): np.asarray(each.values) for name, each in item.coords.items()}
    return {name: each for name, each in found.items() if each.dtype.kind in "biuf" and each.size}
