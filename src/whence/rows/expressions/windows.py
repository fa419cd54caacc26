"""Window functions: values of the rows around a row."""

from __future__ import annotations

from dataclasses import dataclass, field

from whence.errors import BadType
from whence.rows.expressions.base import Expr


@dataclass(frozen=True, slots=True)
class Frame:
    """Which rows around the current one: `unit` is rows or range; a bound of None is unbounded, 0 the current row.

    A bound is the distance in rows, or what is added to the order key; before the current row it is negative. A
    bound that is not a plain number (an interval) is its text; `origin` then leads to the frame itself.
    """

    unit: str
    lower: int | str | None
    upper: int | str | None
    origin: object = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.unit not in ("rows", "range"):
            raise BadType(f"a frame is of rows or a range, not {self.unit!r}")

    @property
    def whole(self) -> bool:
        """Whether it is the whole partition."""
        return self.lower is None and self.upper is None

    def __str__(self) -> str:
        lower = "unbounded" if self.lower is None else self.lower
        return f"{self.unit} {lower} to {'unbounded' if self.upper is None else self.upper}"


@dataclass(frozen=True, slots=True)
class WindowCall(Expr):
    """A function over a frame. Partition and order are those of the Window operator that holds it."""

    name: str
    args: tuple[Expr, ...]
    frame: Frame
    dtype: str
    detail: str = ""
    python: bool = False
    origin: object = field(default=None, compare=False, repr=False)
    varies: str = field(default="", compare=False)  # why it may give something else for the same rows
    where: Expr | None = None  # FILTER: which rows of the frame enter it
