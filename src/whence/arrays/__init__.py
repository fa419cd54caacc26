"""Relations from NumPy: known operations, annotated runs, and what was learned from earlier ones."""

from whence.arrays.lineage import relation
from whence.arrays.losses import Losses, watch
from whence.arrays.sources import forget
from whence.arrays.tracking import TrackedFloat64, is_tracked, register_ufuncs, tracked, values

__all__ = [
    "Losses",
    "TrackedFloat64",
    "forget",
    "is_tracked",
    "register_ufuncs",
    "relation",
    "tracked",
    "values",
    "watch",
]
