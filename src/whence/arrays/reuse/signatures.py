"""What two calls must have in common for the lineage of the one to be that of the other."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from typing import Any

import numpy as np

PLAIN = (bool, int, float, str, bytes, complex)


class Unkeyed(Exception):
    """An argument that cannot be compared with those of other calls."""


def dim_sig(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Hashable, ...]:
    """Shapes and types of the arrays, which of them are the same one, and all other arguments.

    >>> import numpy as np
    >>> x = np.zeros((3, 2))
    >>> dim_sig((x, x), {"axis": 1}) == dim_sig((x, x.copy()), {"axis": 1})
    False
    """
    seen: dict[int, int] = {}
    found = [_part(item, seen) for item in args]
    for key in kwargs:
        found.append(key)
        found.append(_part(kwargs[key], seen))
    return tuple(found)


def _part(item: Any, seen: dict[int, int]) -> Hashable:
    if isinstance(item, np.ndarray):
        return ("array", item.shape, item.dtype.str, seen.setdefault(id(item), len(seen)))
    if item is None or item is Ellipsis:
        return repr(item)
    if isinstance(item, PLAIN):
        return (type(item).__name__, repr(item) if isinstance(item, (float, complex)) else item)
    if isinstance(item, np.generic):
        return (item.dtype.str, repr(item.item()))
    if isinstance(item, (list, tuple)):
        return (type(item).__name__, *(_part(each, seen) for each in item))
    if isinstance(item, dict):
        return ("dict", *((key, _part(each, seen)) for key, each in item.items()))
    if isinstance(item, slice):
        return ("slice", *(_part(each, seen) for each in (item.start, item.stop, item.step)))
    if isinstance(item, (type, np.dtype)):
        return ("type", str(item))
    raise Unkeyed(f"an argument of type {type(item).__name__}")


def gen_sig(signature: tuple[Hashable, ...]) -> tuple[tuple[Hashable, ...], tuple[int, ...]]:
    """The same without the lengths of axes, which come apart, in order.

    >>> gen_sig((("array", (3, 2), "<f8", 0), ("int", 1)))
    ((('array', 2, '<f8', 0), ('int', 1)), (3, 2))
    """
    sizes: list[int] = []

    def strip(item: Hashable) -> Hashable:
        if isinstance(item, tuple):
            if len(item) == 4 and item[0] == "array" and isinstance(item[1], tuple):
                sizes.extend(item[1])
                return ("array", len(item[1]), *item[2:])
            return tuple(strip(each) for each in item)
        return item

    stripped = tuple(strip(each) for each in signature)
    return stripped, tuple(sizes)


def base_sig(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The contents of the arrays, and all other arguments, as one hash."""
    digest = hashlib.blake2b(text_of(dim_sig(args, kwargs)).encode(), digest_size=16)

    def feed(item: Any) -> None:
        if isinstance(item, np.ndarray):
            digest.update(np.ascontiguousarray(item).view(np.uint8).reshape(-1).data if item.size else b"")
        elif isinstance(item, (list, tuple)):
            for each in item:
                feed(each)
        elif isinstance(item, dict):
            for each in item.values():
                feed(each)

    for item in (*args, *kwargs.values()):
        if isinstance(item, np.ndarray) and item.ndim == 0:
            item = item.reshape(1)
        feed(item)
    return digest.hexdigest()


def text_of(signature: Hashable) -> str:
    """A signature as text, the same in every process."""
    return repr(signature)
