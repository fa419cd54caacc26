"""A block of integers as bytes: the first value, then the rest in the shorter of two codes.

pcodec comes near the entropy of any column of integers, but stores their distribution. Rice's code stores one small
integer instead, and is optimal for geometric distributions, such as the gaps and runs after a random filter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whence.errors import Damaged
from whence.relation import varint

Ints = NDArray[np.int64]

PCO, RICE, RICE_OF_STEPS = range(3)
MOST_LOW_BITS = 8
SHORT = "a block holds fewer numbers than its part has rows"


def pack(values: Ints) -> bytes:
    """Return the bytes of a block.

    >>> unpack(pack(np.array([7, 7, 9, 8])), 4).tolist()
    [7, 7, 9, 8]
    """
    from pcodec import ChunkConfig, standalone

    head = bytearray()
    varint.write_signed(head, int(values[0]))
    if len(values) == 1:
        return bytes(head)
    best: bytes = standalone.simple_compress(np.ascontiguousarray(values[1:]), ChunkConfig())
    method = PCO
    for code, rest in ((RICE, values[1:]), (RICE_OF_STEPS, np.diff(values))):
        coded = _rice(rest, len(best))
        if coded is not None:
            method, best = code, coded
    return bytes(head) + bytes([method]) + best


def unpack(data: bytes, rows: int) -> Ints:
    """Return the integers of a block; raise Damaged, with only the reason, if its bytes are not valid."""
    out = np.empty(rows, dtype=np.int64)
    unpack_into(data, out)
    return out


def unpack_into(data: bytes, out: Ints) -> None:
    """Write the integers of a block to an array: without a copy, a large part is read in half the time."""
    reader = varint.Reader(data)
    out[0] = reader.read_signed()
    if len(out) == 1:
        return
    method = reader.read()
    if method == PCO:
        _unpcodec(reader.rest(), out[1:])
    elif method in (RICE, RICE_OF_STEPS):
        out[1:] = _unrice(reader, len(out) - 1)
        if method == RICE_OF_STEPS:
            np.cumsum(out, out=out)
    else:
        raise Damaged(f"a block has the unknown code {method}")


def _unpcodec(data: bytes, out: Ints) -> None:
    from pcodec import standalone

    try:
        progress = standalone.simple_decompress_into(data, out)
    except BaseException as error:  # a panic of the Rust code is not an Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        raise Damaged(f"a block cannot be decoded by pcodec ({error})") from error
    if progress.n_processed != len(out):
        raise Damaged(SHORT)


def _rice(values: Ints, below: int) -> bytes | None:
    """Return Rice's code: the low bits of each value, then its high part as so many zeros and a one. None if not
    shorter.
    """
    least = int(values.min())
    shifted = values - least
    mean = float(shifted.view(np.uint64).mean())  # as unsigned, because a mean of int64 beyond 2^53 is not exact
    if mean >= 1 << MOST_LOW_BITS:
        return None
    guess = max(0, int(mean).bit_length() - 1)
    sizes = {k: int((shifted >> k).sum()) + len(values) * (1 + k) for k in (guess, guess + 1)}
    low_bits = min(sizes, key=lambda k: sizes[k])
    head = bytearray([low_bits])
    varint.write_signed(head, least)
    if len(head) + sizes[low_bits] // 8 + 2 >= below:
        return None
    high = shifted >> low_bits
    ones = np.cumsum(high + 1) - 1
    zeros = np.zeros(int(ones[-1]) + 1, dtype=np.uint8)
    zeros[ones] = 1
    low = (shifted[:, None] >> np.arange(low_bits)) & 1
    return bytes(head) + np.packbits(low.astype(np.uint8)).tobytes() + np.packbits(zeros).tobytes()


def _unrice(reader: varint.Reader, count: int) -> Ints:
    low_bits, least = reader.read(), reader.read_signed()
    if low_bits > MOST_LOW_BITS:
        raise Damaged(f"a block has {low_bits} low bits per number, more than any writer makes")
    data = np.frombuffer(reader.rest(), dtype=np.uint8)
    split = (count * low_bits + 7) // 8
    if len(data) < split:
        raise Damaged(SHORT)
    low = np.unpackbits(data[:split], count=count * low_bits).reshape(count, low_bits).astype(np.int64)
    ones = np.flatnonzero(np.unpackbits(data[split:]))
    if len(ones) < count:
        raise Damaged(SHORT)
    high = np.diff(ones[:count], prepend=-1) - 1
    values: Ints = (high << low_bits) + (low << np.arange(low_bits)).sum(axis=1) + least
    return values
