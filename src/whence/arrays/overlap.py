"""Arrays whose cells share memory."""

from __future__ import annotations

from typing import Any


def overlaps_itself(array: Any) -> bool:
    """Whether several cells may share the same memory.

    >>> import numpy as np
    >>> x = np.zeros((2, 3))
    >>> overlaps_itself(x[:, ::-2].T), overlaps_itself(np.broadcast_to(x, (4, 2, 3)))
    (False, True)
    """
    reach = array.itemsize
    for step, side in sorted((abs(step), side) for step, side in zip(array.strides, array.shape, strict=True)):
        if side > 1 and array.size:
            if step < reach:
                return True
            reach += step * (side - 1)
    return False
