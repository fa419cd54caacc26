"""Traced runs: run functions on traced arrays, with the rules of whence.arrays.rules.

>>> import numpy as np
>>> run = Run()
>>> x = run.input(np.arange(6.0).reshape(2, 3))
>>> y = np.sort(x, axis=1)[:, ::-1].sum(axis=0)
>>> y.value.tolist()
[7.0, 5.0, 3.0]
>>> y.relation(0).backward([(0,)])
Selection(shape=(2, 3), 2 cells: [0:2, 2])
"""

from whence.arrays.tracing._run import Run
from whence.arrays.tracing._traced import Traced
from whence.arrays.tracing._tracked_array import TrackedArray

__all__ = ["Run", "Traced", "TrackedArray"]
