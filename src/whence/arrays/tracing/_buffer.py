"""The memory behind traced arrays, and a decorator for methods that may refuse an operation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from whence.arrays.tracing._later import Later
from whence.arrays.tracing._origins import Origins, Shape
from whence.errors import NoRule


class Buffer:
    """Memory that views share: its shape, and the origins of its cells, which may be computed later."""

    __slots__ = ("origins", "shape", "version")

    def __init__(self, shape: Shape, origins: Origins | Later) -> None:
        self.shape = shape
        self.origins = origins
        self.version = 0


def refusing(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method of a traced array, so that the run notes each NoRule that it raises."""

    @functools.wraps(method)
    def noting(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except NoRule as error:
            self._run.refuse(error)
            raise

    return noting
