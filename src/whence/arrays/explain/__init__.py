"""Estimated lineage of a model's output: which parts of the input contributed, and with which weight.

>>> import numpy as np, whence as wh
>>> x = np.arange(1.0, 7.0)
>>> found = wh.explain.lime(lambda x: x[:2] + 3 * x[4:], x, samples=400, seed=0)
>>> found.backward([(1,)], above=0.5)
Selection(shape=(6,), 1 cell: [5])
"""

from whence.arrays.explain._contributions import Contributions, from_weights
from whence.arrays.explain._drise import drise, similarity
from whence.arrays.explain._lime import grid, lime

__all__ = ["Contributions", "drise", "from_weights", "grid", "lime", "similarity"]
