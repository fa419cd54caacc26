"""Lineage of NumPy arrays: rules for known operations, traced runs, the tracked dtype, and reuse of earlier lineage."""

from whence.arrays.dtype.arrays import TrackedFloat64, is_tracked, register_ufuncs, tracked, values
from whence.arrays.dtype.lineage import relation_of
from whence.arrays.dtype.losses import Losses, watch
from whence.arrays.dtype.sources import forget

__all__ = [
    "Losses",
    "TrackedFloat64",
    "forget",
    "is_tracked",
    "register_ufuncs",
    "relation_of",
    "tracked",
    "values",
    "watch",
]
