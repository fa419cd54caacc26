"""Functions of a row: arithmetic, casts, built-ins, users' functions."""

from __future__ import annotations

from dataclasses import dataclass, field

from whence.rows.expressions.base import Expr


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
class Udf(Call):
    """A user's function (Python, pandas, Scala): opaque, its arguments are all that is known.

    The place for looking inside: `origin` leads to the pickled function of the user's own session. `varies` says why
    it may give something else for the same arguments, if its code shows that.
    """

    varies: str = field(default="", compare=False)
