"""What two calls must have in common for the lineage of the one to be that of the other."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Hashable, Mapping
from typing import Any

import numpy as np

PLAIN = (bool, int, float, str, bytes, complex)
SMALL = 4
"""Integers below are axes, counts and special cases; from here on they may be lengths."""

Signature = tuple[tuple[str, Hashable], ...]


class Unkeyed(Exception):
    """An argument that cannot be compared with those of other calls."""


class Any_:
    """Stands for an argument whose value does not matter; its type does, and which value it is as good as."""

    def __init__(self, item: Any, like: str = "") -> None:
        self.kind = type(item).__name__
        self.like = like


def dim_sig(given: Mapping[str, Any]) -> Signature:
    """Shapes and types of the arrays, which of them are the same one, and all other arguments, by parameter.

    >>> import numpy as np
    >>> x = np.zeros((3, 2))
    >>> dim_sig({"a": x, "b": x, "axis": 1}) == dim_sig({"a": x, "b": x.copy(), "axis": 1})
    False
    """
    seen: dict[int, int] = {}
    return tuple((name, _part(item, seen)) for name, item in given.items())


def value_of(item: Any) -> Hashable:
    """One argument, as it can be compared with those of other calls."""
    return _part(item, {})


def _part(item: Any, seen: dict[int, int]) -> Hashable:
    if isinstance(item, np.ndarray):
        if type(item) not in (np.ndarray, np.memmap) or item.dtype.kind == "V":
            raise Unkeyed(f"a {type(item).__name__} of {item.dtype}")  # whoever runs the call refuses it by name
        return ("array", item.shape, item.dtype.str, seen.setdefault(id(item), len(seen)))
    if isinstance(item, Any_):
        return ("any", item.kind, item.like)
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


def in_order(given: Mapping[str, Any]) -> bool:
    """Whether all arrays lie in memory as new ones do: NumPy may return copies of others, and no views.

    >>> x = np.zeros((3, 2))
    >>> in_order({"a": x, "more": [x, 1]}), in_order({"a": x, "more": [x.T, 1]})
    (True, False)
    """

    def fine(item: Any) -> bool:
        if isinstance(item, np.ndarray):
            return bool(item.flags.c_contiguous)
        if isinstance(item, dict):
            return all(map(fine, item.values()))
        return all(map(fine, item)) if isinstance(item, (list, tuple)) else True

    return fine(dict(given))


def gen_sig(
    signature: Signature, literal: Collection[str] = ()
) -> tuple[tuple[Hashable, ...], tuple[int, ...], tuple[int, ...]]:
    """The same without the lengths of axes and without integers that may be lengths; both come apart, in order.

    `literal` names arguments whose integers are none.

    >>> gen_sig((("a", ("array", (3, 2), "<f8", 0)), ("shape", ("tuple", ("int", 1), ("int", 6)))))
    ((('a', ('array', 2, '<f8', 0)), ('shape', ('tuple', ('int', 1), ('int', 'any')))), (3, 2), (6,))
    """
    sizes: list[int] = []
    integers: list[int] = []

    def strip(item: Hashable, lengths: bool) -> Hashable:
        if not isinstance(item, tuple) or not item:
            return item
        if len(item) == 4 and item[0] == "array" and isinstance(item[1], tuple):
            sizes.extend(item[1])
            return ("array", len(item[1]), *item[2:])
        if lengths and len(item) == 2 and item[0] == "int" and item[1] >= SMALL:
            integers.append(item[1])
            return ("int", "any")
        return tuple(strip(each, lengths) for each in item)

    stripped = tuple((name, strip(part, name not in literal)) for name, part in signature)
    return stripped, tuple(sizes), tuple(integers)


def base_sig(given: Mapping[str, Any]) -> str:
    """The contents of the arrays, and all other arguments, as one hash."""
    digest = hashlib.blake2b(text_of(dim_sig(given)).encode(), digest_size=16)

    def feed(item: Any) -> None:
        if isinstance(item, np.ndarray):
            flat = np.ascontiguousarray(item).reshape(-1)
            digest.update(flat.view(np.uint8).data if item.size else b"")
        elif isinstance(item, (list, tuple)):
            for each in item:
                feed(each)
        elif isinstance(item, dict):
            for each in item.values():
                feed(each)

    for item in given.values():
        feed(item)
    return digest.hexdigest()


def text_of(signature: Hashable) -> str:
    """A signature as text, the same in every process."""
    return repr(signature)
