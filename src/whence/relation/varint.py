"""Integers with variable length: seven bits in each byte, low ones first; signed ones with zigzag encoding."""

from __future__ import annotations

from collections.abc import Iterable

from whence.errors import Damaged


def write(out: bytearray, value: int) -> None:
    """Append an unsigned integer.

    >>> out = bytearray(); write(out, 300); out.hex()
    'ac02'
    """
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def write_signed(out: bytearray, value: int) -> None:
    """Append a signed integer."""
    write(out, value << 1 if value >= 0 else (-value << 1) - 1)


def write_all(out: bytearray, values: Iterable[int]) -> None:
    """Append the number of integers, then these unsigned integers."""
    values = tuple(values)
    write(out, len(values))
    for value in values:
        write(out, value)


class Reader:
    """Reads what the functions above wrote; reading past the end raises Damaged."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def at_end(self) -> bool:
        """Whether every byte has been read."""
        return self._at == len(self._data)

    def read(self) -> int:
        """Read the next unsigned integer."""
        value = shift = 0
        while True:
            if self._at >= len(self._data):
                raise Damaged("a number ends after the end of its header or block")
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >= 1 << 64:
                    break
                return value
            shift += 7
            if shift > 63:
                break
        raise Damaged("a number has more than 64 bits")

    def read_signed(self) -> int:
        """Read the next signed integer."""
        value = self.read()
        return -((value + 1) >> 1) if value & 1 else value >> 1

    def rest(self) -> bytes:
        """Return the bytes that have not been read."""
        return self._data[self._at :]

    def read_all(self) -> tuple[int, ...]:
        """Read a count, then so many unsigned integers."""
        return tuple(self.read() for _ in range(self.read()))
