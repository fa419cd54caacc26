"""whence: where did this value come from, and where did it go?

>>> import whence as wh
>>> rel = wh.compress([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]], out_shape=(2,), in_shape=(2, 2))
>>> rel.backward([(1,)])
Selection(shape=(2, 2), 2 cells: [1, 0:2])
"""

from typing import TYPE_CHECKING, Any

from whence import errors
from whence.relation import Relation, compress
from whence.selection import Selection

if TYPE_CHECKING:
    from whence.arrays import TrackedFloat64, explain, relation_of, tracked
    from whence.arrays.linking.places import UnknownOrigin
    from whence.arrays.probe import probe
    from whence.arrays.recording.track import LineageLost
    from whence.graph import Graph, summarize
    from whence.log import Log, open
    from whence.store.answers import Answer

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Graph",
    "LineageLost",
    "Log",
    "Relation",
    "Selection",
    "TrackedFloat64",
    "compress",
    "errors",
    "explain",
]
__all__ += ["UnknownOrigin", "open", "probe", "relation_of", "summarize", "tracked"]

# Imported on use: the log imports SQLAlchemy, which is not needed for arrays alone.
_LAZY = {"Graph": "whence.graph", "Log": "whence.log", "open": "whence.log", "summarize": "whence.graph"}
_LAZY |= {
    "Answer": "whence.store.answers",
    "LineageLost": "whence.arrays.recording.track",
    "TrackedFloat64": "whence.arrays",
}
_LAZY |= {"UnknownOrigin": "whence.arrays.linking.places", "probe": "whence.arrays.probe"}
_LAZY |= {"relation_of": "whence.arrays", "tracked": "whence.arrays"}

_LAZY |= {"load_ipython_extension": "whence.notebook"}  # %load_ext whence

_MODULES = {"explain": "whence.arrays.explain"}


def __getattr__(name: str) -> Any:
    if name in _LAZY or name in _MODULES:
        from importlib import import_module

        if name in _MODULES:
            return import_module(_MODULES[name])
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'whence' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_MODULES})
