"""Functions of other packages in a traced run: followed by a rule, or replaced by a function that works on traced
arrays.

They read the memory of their arguments, so a traced array must never reach them. The tracked function runs with
replacements for the names that its code uses: the function itself, or its module.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Iterable
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

from whence.arrays.rules._rules import FOREIGN, RULES, VALUES_MATTER, Links

if TYPE_CHECKING:
    from whence.arrays.tracing._run import Run

Function = Callable[..., Any]
Arguments = types.SimpleNamespace

_stand_ins: dict[Function, Callable[..., Any]] = {}  # called with the run, the function, and its arguments
_packages: set[str] = set()


def follow(package: str, names: Iterable[str], rule: Callable[[Arguments], Links | tuple[Links, ...]],
           *, values: bool = False) -> None:  # fmt: skip
    """Add a rule for functions of a package; it takes their arguments by name, including defaults."""
    for real in _found(package, names):
        signature = inspect.signature(real)

        def bound(
            *args: Any, _signature: Any = signature, _name: str = real.__name__, **kwargs: Any
        ) -> Links | tuple[Links, ...]:
            given = _signature.bind(*args, **kwargs)
            given.apply_defaults()
            return rule(Arguments(**given.arguments, function=_name))

        RULES[real] = bound
        FOREIGN[real] = f"{package.partition('.')[0]} {_version(package)}"
        if values:
            VALUES_MATTER.add(real)
        _stand_ins[real] = _by_rule


def compose(package: str, name: str, make: Callable[..., Any]) -> None:
    """Replace a function of a package by `make(run, real, *args, **kwargs)` when it is called with traced arrays."""
    for real in _found(package, [name]):
        _stand_ins[real] = make


def _found(package: str, names: Iterable[str]) -> list[Function]:
    module = sys.modules[package]
    _packages.add(package.partition(".")[0])
    return [found for each in names if (found := getattr(module, each, None)) is not None and found not in _stand_ins]


def _version(package: str) -> str:
    return str(getattr(sys.modules[package.partition(".")[0]], "__version__", "?"))


def traced_in(item: Any) -> Any:
    """Return the first traced array among arguments, or None."""
    if hasattr(type(item), "_is_traced"):
        return item
    if isinstance(item, (list, tuple)):
        return next((found for each in item if (found := traced_in(each)) is not None), None)
    if isinstance(item, dict):
        return traced_in(list(item.values()))
    return None


def _by_rule(run: Run, real: Function, *args: Any, **kwargs: Any) -> Any:
    return traced_in([*args, kwargs]).__array_function__(real, (), args, kwargs)


def stand_in(run: Run, item: Any) -> Any:
    """Return the replacement of a function or module in a traced run; most objects have none and are returned
    unchanged.
    """
    if isinstance(item, types.ModuleType):
        return _Module(run, item) if item.__name__.partition(".")[0] in _packages else item
    if not _stand_ins or not isinstance(item, types.FunctionType) or item not in _stand_ins:
        return item
    made = _stand_ins[item]

    @wraps(item)
    def called(*args: Any, **kwargs: Any) -> Any:
        if run.finished or traced_in([*args, kwargs]) is None:
            return item(*args, **kwargs)
        return made(run, item, *args, **kwargs)

    return called


class _Module:
    """A module of such a package, with its functions replaced."""

    def __init__(self, run: Run, real: types.ModuleType) -> None:
        self._run, self._real = run, real

    def __getattr__(self, name: str) -> Any:
        return stand_in(self._run, getattr(self._real, name))


def importing(run: Run, numpy: Any) -> Callable[..., Any]:
    """Return the `__import__` function for code in a traced run."""
    return partial(_imported, run, numpy)


def _imported(run: Run, numpy: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    found = __import__(name, *args, **kwargs)
    if run.finished:
        return found
    if name == "numpy" or (found is sys.modules.get("numpy")):
        return numpy
    from whence.arrays.adapters import load

    load()
    return stand_in(run, found)
