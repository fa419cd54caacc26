"""The base class of operators and expressions: immutable trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

T = TypeVar("T", bound="Tree")


class Tree:
    """A frozen dataclass whose fields may contain trees, or tuples of trees.

    >>> from whence.rows import Attr, Compare, Literal, transform
    >>> old = Compare("=", Attr(1, "a", "long"), Literal(3, "long"))
    >>> transform(old, lambda part: Attr(2, "b", "long") if isinstance(part, Attr) else part)
    Compare(op='=', left=Attr(id=2, name='b', dtype='long', nullable=True), right=Literal(value=3, dtype='long'))
    """

    __slots__ = ()

    def parts(self) -> Iterator[Tree]:
        """The trees directly below this one, in the order of the fields."""
        for name in _fields_with_trees(type(self)):
            yield from _trees(getattr(self, name))

    def map_parts(self: T, change: Callable[[Tree], Tree]) -> T:
        """Return this tree with every part changed; return itself if no part changed."""
        changed = {}
        for name in _fields_with_trees(type(self)):
            old = getattr(self, name)
            new = _mapped(old, change)
            if new is not old:
                changed[name] = new
        return replace(self, **changed) if changed else self  # type: ignore[type-var]  # every tree is a dataclass


def walk(tree: Tree) -> Iterator[Tree]:
    """Yield the tree and everything below it, parents first, including the plans of subqueries."""
    yield tree
    below = [tree.parts()]  # an explicit stack, because expressions may nest deeper than Python's recursion limit
    while below:
        part = next(below[-1], None)
        if part is None:
            below.pop()
        else:
            yield part
            below.append(part.parts())


def upwards(tree: Tree) -> Iterator[Tree]:
    """Yield the tree and everything below it, parts before their parents."""
    open_ = [(tree, tree.parts())]
    while open_:
        node, parts = open_[-1]
        part = next(parts, None)
        if part is None:
            open_.pop()
            yield node
        else:
            open_.append((part, part.parts()))


def depth(tree: Tree) -> int:
    """Return the greatest nesting depth of a tree.

    >>> from whence.rows import Attr, IsNull, Not
    >>> depth(Not(IsNull(Attr(1, "a", "long"))))
    3
    """
    open_, deepest = [tree.parts()], 1
    while open_:
        part = next(open_[-1], None)
        if part is None:
            open_.pop()
        else:
            open_.append(part.parts())
            deepest = max(deepest, len(open_))
    return deepest


def transform(tree: Tree, change: Callable[[Tree], Tree]) -> Any:
    """Rebuild the tree bottom-up: `change` is called with each part after the parts below it were changed."""
    open_: list[tuple[Tree, Iterator[Tree], list[Tree]]] = [(tree, tree.parts(), [])]
    while True:
        node, parts, changed = open_[-1]
        part = next(parts, None)
        if part is not None:
            open_.append((part, part.parts(), []))
            continue
        open_.pop()
        made = change(_with_parts(node, changed) if changed else node)
        if not open_:
            return made
        open_[-1][2].append(made)


def _with_parts(tree: T, parts: list[Tree]) -> T:
    """Return the tree with other parts, in the order of `Tree.parts`."""
    new = iter(parts)
    return tree.map_parts(lambda _: next(new))


def written(tree: Tree) -> str:
    """Return the string that `repr` returns, without recursion, so that any depth is possible.

    >>> from whence.rows import Attr, IsNull
    >>> written(IsNull(Attr(1, "a", "long"))) == repr(IsNull(Attr(1, "a", "long")))
    True
    """
    texts: dict[int, str] = {}
    for each in upwards(tree):
        shown = (field.name for field in fields(each) if field.repr)  # type: ignore[arg-type]  # every tree is one
        values = ", ".join(f"{name}={_as_text(getattr(each, name), texts)}" for name in shown)
        texts[id(each)] = f"{type(each).__qualname__}({values})"
    return texts[id(tree)]


def _as_text(value: object, texts: dict[int, str]) -> str:
    if isinstance(value, Tree):
        return texts[id(value)] if id(value) in texts else written(value)
    if isinstance(value, tuple):
        parts = [_as_text(each, texts) for each in value]
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
    return repr(value)


_known: dict[type, tuple[str, ...]] = {}


def _fields_with_trees(kind: Any) -> tuple[str, ...]:
    """The fields that may contain trees: those that take part in comparisons."""
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
