"""The base class of operators: tables in, one table out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from whence.errors import BadType
from whence.rows.expressions.base import Attr, Expr
from whence.rows.tree import Tree


class Operator(Tree):
    """A node of a plan. `output` is its columns, in order; `children` are its inputs."""

    __slots__ = ()

    @property
    def output(self) -> tuple[Attr, ...]:
        raise NotImplementedError(type(self).__name__)

    @property
    def children(self) -> tuple[Operator, ...]:
        return tuple(part for part in self.parts() if isinstance(part, Operator))

    @property
    def expressions(self) -> tuple[Tree, ...]:
        """The expressions and named columns that it computes, without its inputs."""
        return tuple(part for part in self.parts() if not isinstance(part, Operator))

    def __str__(self) -> str:
        from whence.rows.printing import tree_text

        return tree_text(self)


@dataclass(frozen=True, slots=True)
class Named(Tree):
    """An output column and its expression. A column that is passed on is `Named(a, a)`."""

    attr: Attr
    expr: Expr

    def __str__(self) -> str:
        return str(self.attr) if self.expr == self.attr else f"{self.expr} as {self.attr}"


def keep(*attrs: Attr) -> tuple[Named, ...]:
    """Return columns that pass the attributes on."""
    return tuple(Named(attr, attr) for attr in attrs)


def require(operator: str, needed: Iterable[Tree], child: Operator) -> None:
    """Raise unless the child has all the columns that the operator reads in these expressions."""
    known = frozenset(child.output)
    for each in needed:
        expr = each.expr if isinstance(each, Named) else each
        missing = expr.attrs - known if isinstance(expr, Expr) else frozenset[Attr]()
        if missing:
            names = ", ".join(sorted(map(str, missing)))
            raise BadType(f"{operator}({each}) reads {names}, which its input does not have")


def require_operator(where: str, *children: object) -> None:
    """Raise unless all are operators."""
    for child in children:
        if not isinstance(child, Operator):
            raise BadType(f"the input of {where} is an operator, not {type(child).__name__}")
