"""Rules for Fourier transforms: within each slice along the axis, every cell contributes to every result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whence.arrays.rules._rows import Shape
from whence.arrays.rules._rules import Link, Links, axes_of, axis_of, named, rule, shape
from whence.arrays.rules.windows import lane
from whence.relation import Relation


def transformed(in_shape: Shape, axes: Sequence[int], sides: Sequence[int], used: Sequence[int]) -> Relation:
    """Compose transforms along several axes: each reads `used` cells of the input and makes `sides` cells of the
    output.
    """
    found = Relation.identity(in_shape)
    for axis, side, some in zip(axes, sides, used, strict=True):
        found = lane(found.out_shape, axis, side, some).compose(found)
    return found


def _fft(name: str, side: Any, used: Any) -> None:
    """Add rules; `side` and `used` return the length of the output and of the part that is read, from n and the axis
    length.
    """

    @rule(f"fft.{name}")
    def along_one(a: Any, n: int | None = None, axis: int = -1, norm: Any = None, out: Any = None) -> Links:
        at = axis_of(axis, len(shape(a)))
        own = shape(a)[at]
        return [Link(a, lane(shape(a), at, side(n, own), used(n, own)))]

    for several, default in ((name + "2", (-2, -1)), (name + "n", None)):
        if name in ("fft", "ifft") and named(f"fft.{several}") is not None:
            _add_rule_over_axes(several, default)


def _add_rule_over_axes(name: str, default: Any) -> None:
    @rule(f"fft.{name}")
    def along_many(a: Any, s: Any = None, axes: Any = default, norm: Any = None, out: Any = None) -> Links:
        found = (
            axes_of(axes, len(shape(a)))
            if axes is None or s is None
            else tuple(axis_of(i, len(shape(a))) for i in axes)
        )
        sides = [shape(a)[i] if s is None or s[n] in (None, -1) else int(s[n]) for n, i in enumerate(found)]
        return [Link(a, transformed(shape(a), found, sides, sides))]


def _real(name: str, default: Any) -> None:
    """Add a rule for a real transform over several axes: the last axis is halved, or restored."""
    back = name.startswith("i")

    @rule(f"fft.{name}")
    def along_many(a: Any, s: Any = None, axes: Any = default, norm: Any = None, out: Any = None) -> Links:
        if s is not None:
            raise TypeError("lengths of its own")
        rank = len(shape(a))
        found = list(range(rank)) if axes is None else [axis_of(i, rank) for i in axes]
        sides = [shape(a)[i] for i in found]
        last = 2 * (sides[-1] - 1) if back else sides[-1] // 2 + 1
        return [Link(a, transformed(shape(a), found, [*sides[:-1], last], sides))]


for _name, _default in (("rfft2", (-2, -1)), ("rfftn", None), ("irfft2", (-2, -1)), ("irfftn", None)):
    _real(_name, _default)

_fft("fft", lambda n, own: n or own, lambda n, own: n or own)
_fft("ifft", lambda n, own: n or own, lambda n, own: n or own)
_fft("rfft", lambda n, own: (n or own) // 2 + 1, lambda n, own: n or own)
_fft("irfft", lambda n, own: n or 2 * (own - 1), lambda n, own: (n or 2 * (own - 1)) // 2 + 1)
_fft("hfft", lambda n, own: n or 2 * (own - 1), lambda n, own: (n or 2 * (own - 1)) // 2 + 1)
_fft("ihfft", lambda n, own: (n or own) // 2 + 1, lambda n, own: n or own)


@rule("fft.fftshift")
def fftshift(x: Any, axes: Any = None) -> Links:
    """Roll by half of each axis."""
    from whence.arrays.rules.shapes import roll

    found = axes_of(axes, len(shape(x)))
    return roll(x, tuple(shape(x)[i] // 2 for i in found), found)


@rule("fft.ifftshift")
def ifftshift(x: Any, axes: Any = None) -> Links:
    """Roll back by half of each axis."""
    from whence.arrays.rules.shapes import roll

    found = axes_of(axes, len(shape(x)))
    return roll(x, tuple(-(shape(x)[i] // 2) for i in found), found)
