"""Hypothesis strategies: shapes, relations as raw tuples, questions, chains.

Arrays are small (at most a few dozen cells), and everything else varies: 0 to 4 axes per side, zero-size and 0-d
arrays, regular operations, unions of affine patterns, regular ones with a missing tuple, and noise.
"""

from ._operations import BUILDERS, operations_on
from ._relations import (
    Direction,
    affine_tuples,
    bounded_tuples,
    box_tuples,
    chains,
    loose_tuples,
    near_misses,
    paths,
    product,
    relations,
    relations_from,
    scrambled,
    swapped,
    unions,
)
from ._shapes import LONG, Asked, asked, effort, shapes

__all__ = [
    "BUILDERS",
    "LONG",
    "Asked",
    "Direction",
    "affine_tuples",
    "asked",
    "bounded_tuples",
    "box_tuples",
    "chains",
    "effort",
    "loose_tuples",
    "near_misses",
    "operations_on",
    "paths",
    "product",
    "relations",
    "relations_from",
    "scrambled",
    "shapes",
    "swapped",
    "unions",
]
