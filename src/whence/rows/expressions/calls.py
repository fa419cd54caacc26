"""Functions of a row: arithmetic, casts, built-in functions and UDFs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whence.rows.expressions.base import Attr, Expr

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A function of its arguments, named after Catalyst's class (`Add`, `Cast`, `Year`, `CaseWhen` ...).

    `detail` is a string with everything else that determines the value (a time zone, an escape character, the ANSI
    mode); equal calls have equal details. `origin` refers to the Catalyst expression, which Spark runs. whence made a
    call without an origin; its name is that of the SQL function.
    """

    name: str
    args: tuple[Expr, ...]
    dtype: str
    detail: str = ""
    pure: bool = True  # False: rand, uuid, current_timestamp, a UDF marked so
    origin: object = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Inside:
    """The translation of a user's function: `value` over `parameters`, valid for arguments where `domain` is not false.

    For arguments for which the function raises an error, the value has no meaning.
    """

    parameters: tuple[Attr, ...]
    value: Expr
    domain: Expr


@dataclass(frozen=True, slots=True)
class Udf(Call):
    """A user's function (Python, pandas, Scala). Only its arguments are known, unless `inside` has its translation.

    Spark always runs the user's function itself, to which `origin` refers. `varies` says why it may return another
    value for the same arguments, if its code shows that. `closed` says why it is not translated. `code` is a hash of
    the function, the same in every session. `title` is the user's name for it. `holds` names the data that it contains.
    """

    varies: str = field(default="", compare=False)
    inside: Inside | None = field(default=None, compare=False, repr=False)
    closed: str = field(default="", compare=False, repr=False)
    code: str = field(default="", compare=False, repr=False)
    title: str = field(default="", compare=False, repr=False)
    holds: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def over(self, expr: Expr) -> Expr:
        """Return an expression over the parameters as one over the arguments."""
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
