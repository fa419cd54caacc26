"""whence: where did this value come from, and where did it go?

>>> import whence as wh
>>> rel = wh.compress([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]], out_shape=(2,), in_shape=(2, 2))
>>> rel.backward([(1,)])
Selection(shape=(2, 2), 2 cells: [1, 0:2])
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from whence import errors
from whence.relation import Relation, compress
from whence.selection import Selection

if TYPE_CHECKING:
    from whence.arrays import TrackedFloat64, explain, relation, tracked
    from whence.graph import Graph, summarize
    from whence.store import Log, open

__version__ = "0.1.0"

__all__ = ["Graph", "Log", "Relation", "Selection", "compress", "errors", "explain", "open", "summarize"]
__all__ += ["TrackedFloat64", "relation", "tracked"]

# Loaded on use: the store brings SQLAlchemy, which arrays alone do not need.
_LAZY = {"Graph": "whence.graph", "Log": "whence.store", "open": "whence.store", "summarize": "whence.graph"}
_LAZY |= {"TrackedFloat64": "whence.arrays", "tracked": "whence.arrays"}

_MODULES = {"explain": "whence.arrays.explain"}


class _RelationModule(ModuleType):
    """whence.relation is a package; called, as whence.relation(array, name), it is the function of whence.arrays."""

    def __call__(self, array: Any, name: str) -> Relation:
        from whence.arrays import relation

        return relation(array, name)


sys.modules["whence.relation"].__class__ = _RelationModule


def __getattr__(name: str) -> Any:
    if name in _LAZY or name in _MODULES:
        from importlib import import_module

        if name in _MODULES:
            return import_module(_MODULES[name])
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'whence' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_MODULES})
