"""Window functions."""

from __future__ import annotations

from dataclasses import dataclass, field

from whence.errors import BadType
from whence.rows.expressions.base import Expr


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows around the current row that a function reads. `unit` is rows or range; a bound of None is unbounded, 0
    is the current row.

    A bound is a distance in rows, or a value added to the order key; it is negative before the current row. A bound
    that is not a number (an interval) is a string; `origin` then refers to Catalyst's frame.
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
    """A function over a frame. The Window operator that contains it has the partitioning and the order."""

    name: str
    args: tuple[Expr, ...]
    frame: Frame
    dtype: str
    detail: str = ""
    python: bool = False
    origin: object = field(default=None, compare=False, repr=False)
    varies: str = field(default="", compare=False)  # why it may return another value for the same rows
    where: Expr | None = None  # FILTER: the rows of the frame that count
