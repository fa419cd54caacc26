"""Functions of a row: arithmetic, casts, built-ins, users' functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whence.rows.expressions.base import Attr, Expr

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A function of its arguments, named after Catalyst's class (`Add`, `Cast`, `Year`, `CaseWhen` ...).

    `detail` holds whatever else decides the value (a time zone, an escape character, the ANSI mode), as text: two
    calls are equal only if it is. `origin` leads back to the Catalyst expression, which is how Spark runs it; a call
    without one is made by whence, and its name is that of the SQL function.
    """

    name: str
    args: tuple[Expr, ...]
    dtype: str
    detail: str = ""
    pure: bool = True  # False: rand, uuid, current_timestamp, a UDF marked so
    origin: object = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Inside:
    """What a user's function computes: `value` over `parameters`, for arguments for which `domain` is not false.

    For arguments for which the function raises an error, the value means nothing.
    """

    parameters: tuple[Attr, ...]
    value: Expr
    domain: Expr


@dataclass(frozen=True, slots=True)
class Udf(Call):
    """A user's function (Python, pandas, Scala): its arguments are all that is known, unless `inside` says more.

    Spark always runs the user's own function, to which `origin` leads. `varies` says why it may give something else
    for the same arguments, if its code shows that; `closed` why nothing is known of the inside; `code` is a hash of
    what the function is made of, the same in every session; `title` is what the user calls it; `holds` names the data
    that it brings along.
    """

    varies: str = field(default="", compare=False)
    inside: Inside | None = field(default=None, compare=False, repr=False)
    closed: str = field(default="", compare=False, repr=False)
    code: str = field(default="", compare=False, repr=False)
    title: str = field(default="", compare=False, repr=False)
    holds: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def over(self, expr: Expr) -> Expr:
        """An expression of the inside, over the arguments."""
        from whence.rows.tree import transform

        assert self.inside is not None
        given: Mapping[Attr, Expr] = dict(zip(self.inside.parameters, self.args, strict=True))
        found: Expr = transform(expr, lambda part: given.get(part, part) if isinstance(part, Attr) else part)
        return found

    @property
    def read(self) -> tuple[Expr, ...]:
        """The arguments that the value depends on."""
        if self.inside is None:
            return self.args
        used = self.inside.value.attrs | self.inside.domain.attrs
        pairs = zip(self.inside.parameters, self.args, strict=True)
        return tuple(arg for parameter, arg in pairs if parameter in used)
