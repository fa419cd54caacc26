"""Lengths of axes that notice when Python code compares them.

Lineage learned from some shapes is only good for others as long as no decision hangs on a length. Sums, products and
quotients of lengths notice too; NumPy takes them for the integers that they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whence.arrays.functions._run import Run


class Size(int):
    """The length of an axis.

    >>> from whence.arrays.functions import Run
    >>> run = Run()
    >>> n = Size.of(5, run)
    >>> n // 2 + 1, run.sizes_compared
    (3, False)
    >>> n > 3, run.sizes_compared
    (True, True)
    """

    _run: Run

    @classmethod
    def of(cls, value: int, run: Run) -> Size:
        """A length seen in this run."""
        made = cls(value)
        made._run = run
        return made

    __hash__ = int.__hash__


def _arithmetic(name: str) -> Any:
    plain = getattr(int, name)

    def method(self: Size, *others: Any) -> Any:
        found = plain(self, *others)
        return Size.of(found, self._run) if type(found) is int else found

    return method


def _comparison(name: str) -> Any:
    plain = getattr(int, name)

    def method(self: Size, *others: Any) -> Any:
        self._run.sizes_compared = True
        return plain(self, *others)

    return method


for _name in ("add", "sub", "mul", "floordiv", "mod"):
    setattr(Size, f"__{_name}__", _arithmetic(f"__{_name}__"))
    setattr(Size, f"__r{_name}__", _arithmetic(f"__r{_name}__"))
Size.__neg__ = _arithmetic("__neg__")  # type: ignore[method-assign]
for _name in ("eq", "ne", "lt", "le", "gt", "ge", "bool"):
    setattr(Size, f"__{_name}__", _comparison(f"__{_name}__"))
