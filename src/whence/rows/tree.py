"""Immutable trees: what operators and expressions have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

T = TypeVar("T", bound="Tree")


class Tree:
    """A frozen dataclass whose fields may hold further trees, alone or in tuples.

    >>> from whence.rows import Attr, Compare, Literal, transform
    >>> old = Compare("=", Attr(1, "a", "long"), Literal(3, "long"))
    >>> transform(old, lambda part: Attr(2, "b", "long") if isinstance(part, Attr) else part)
    Compare(op='=', left=Attr(id=2, name='b', dtype='long', nullable=True), right=Literal(value=3, dtype='long'))
    """

    __slots__ = ()

    def parts(self) -> Iterator[Tree]:
        """The trees directly below this one, in the order of the fields."""
        for name in _fields(type(self)):
            yield from _trees(getattr(self, name))

    def map_parts(self: T, change: Callable[[Tree], Tree]) -> T:
        """This tree with every part changed; itself, where no part changed."""
        changed = {}
        for name in _fields(type(self)):
            old = getattr(self, name)
            new = _mapped(old, change)
            if new is not old:
                changed[name] = new
        return replace(self, **changed) if changed else self  # type: ignore[type-var]  # every tree is a dataclass


def walk(tree: Tree) -> Iterator[Tree]:
    """The tree and everything below it, parents first; subquery plans included."""
    yield tree
    for part in tree.parts():
        yield from walk(part)


def transform(tree: Tree, change: Callable[[Tree], Tree]) -> Any:
    """The tree rebuilt bottom-up: `change` sees each part after the parts below it were changed."""
    return change(tree.map_parts(lambda part: transform(part, change)))


_known: dict[type, tuple[str, ...]] = {}


def _fields(kind: Any) -> tuple[str, ...]:
    """The fields that may hold trees: those that count when two are compared."""
    if kind not in _known:
        _known[kind] = tuple(each.name for each in fields(kind) if each.compare)
    return _known[kind]


def _trees(value: object) -> Iterator[Tree]:
    if isinstance(value, Tree):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _trees(each)


def _mapped(value: Any, change: Callable[[Tree], Tree]) -> Any:
    if isinstance(value, Tree):
        return change(value)
    if isinstance(value, tuple):
        new = tuple(_mapped(each, change) for each in value)
        return value if all(a is b for a, b in zip(new, value, strict=True)) else new
    return value
