"""A Turbo-RC-like columnar format: each column on its own, runs and differences, then an entropy coder.

A column is cut into blocks. For each block the coder tries the values, their differences, the runs of either, and the
runs of the values with the differences between them, and keeps the smallest. An integer stream goes through a range
ANS coder of order 0 (`constriction`), with the distribution of the block's own symbols: the values themselves if they
are few, otherwise a token for the magnitude (as JPEG XL does) followed by the remaining bits as they are.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

import constriction
import numpy as np
from bench.baselines.columns import regroup
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

BLOCK = 1 << 20
FEW = 1024  # more distinct symbols than this are split into token and rest
VALUES, STEPS, RUNS, RUNS_OF_STEPS = 0, 1, 2, 4  # ways to code a column; RUNS adds to either of the first two
CONSTANT, SYMBOLS, TOKENS = 0, 1, 2  # ways to code a stream
SMALL = 4  # numbers below 2 ** SMALL are tokens of their own
TOP = 2  # of larger ones, the token holds the length and this many leading bits


def zigzag(values: Ints) -> Words:
    """Signed numbers as unsigned ones, small stays small."""
    return ((values << 1) ^ (values >> 63)).view(np.uint64)


def unzigzag(words: Words) -> Ints:
    """The inverse of `zigzag`."""
    return (words >> np.uint64(1)).view(np.int64) ^ -(words & np.uint64(1)).view(np.int64)


def bit_length(words: Words) -> Ints:
    """How many bits each number needs."""
    length = np.zeros(len(words), dtype=np.int64)
    rest = words.copy()
    for step in (32, 16, 8, 4, 2, 1):
        high = rest >= np.uint64(1) << np.uint64(step)
        length[high] += step
        rest[high] >>= np.uint64(step)
    return length + (rest > 0)


def tokens(words: Words) -> tuple[Ints, Words, Ints]:
    """Each number as a token, its remaining bits, and how many those are."""
    length = bit_length(words)
    large = length > SMALL
    spare = np.where(large, length - 1 - TOP, 0)
    leading = (words >> spare.view(np.uint64)).view(np.int64) & ((1 << TOP) - 1)
    token = np.where(large, (1 << SMALL) + ((length - 1 - SMALL) << TOP) + leading, words.view(np.int64))
    rest = np.where(large, words & ((np.uint64(1) << spare.view(np.uint64)) - np.uint64(1)), np.uint64(0))
    return token, rest, spare


def untokens(token: Ints, rest: Words) -> Words:
    """The inverse of `tokens`."""
    large = token >= 1 << SMALL
    over = np.where(large, token - (1 << SMALL), 0)
    spare = (over >> TOP) + SMALL - TOP
    high = ((1 << TOP) | (over & ((1 << TOP) - 1))) << spare
    return np.where(large, high, token).view(np.uint64) | rest


def spare_bits(token: Ints) -> Ints:
    """How many bits follow each token."""
    return np.where(token >= 1 << SMALL, ((token - (1 << SMALL)) >> TOP) + SMALL - TOP, 0)


def pack(rest: Words, spare: Ints) -> bytes:
    """The remaining bits, back to back."""
    total = int(spare.sum())
    owner = np.repeat(np.arange(len(rest)), spare)
    place = np.repeat(np.cumsum(spare), spare) - 1 - np.arange(total)
    return np.packbits(((rest[owner] >> place.view(np.uint64)) & np.uint64(1)).astype(np.uint8)).tobytes()


def unpack(data: bytes, spare: Ints) -> Words:
    """The inverse of `pack`."""
    total = int(spare.sum())
    bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8), count=total).astype(np.uint64)
    place = np.repeat(np.cumsum(spare), spare) - 1 - np.arange(total)
    rest = np.zeros(len(spare), dtype=np.uint64)
    starts = (np.cumsum(spare) - spare)[spare > 0]
    if total:
        rest[spare > 0] = np.bitwise_or.reduceat(bits << place.view(np.uint64), starts)
    return rest


def varints(values: Iterable[int]) -> bytes:
    """Unsigned numbers, seven bits a byte."""
    data = bytearray()
    for value in values:
        while value > 127:
            data.append(value & 127 | 128)
            value >>= 7
        data.append(value)
    return bytes(data)


class Reader:
    """Reads back, in order, what was written."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def varints(self, count: int) -> list[int]:
        return [self.varint() for _ in range(count)]

    def take(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]


def model(counts: Ints) -> constriction.stream.model.Categorical:
    """The coder's model of symbols that occurred that often."""
    return constriction.stream.model.Categorical(counts / counts.sum(), perfect=False)


def entropy(symbols: Ints, counts: Ints) -> bytes:
    """The symbols, coded with their own distribution; at least two symbols are in use."""
    coder = constriction.stream.stack.AnsCoder()
    coder.encode_reverse(symbols.astype(np.int32), model(counts))
    return bytes(coder.get_compressed().astype("<u4").tobytes())


def encode_stream(values: Ints) -> bytes:
    """One stream of integers."""
    words = zigzag(values)
    if len(values) == 0 or (words == words[0]).all():
        return varints([CONSTANT, len(values), int(words[0]) if len(values) else 0])
    best = encode_tokens(words)
    distinct = np.unique(words[:: max(1, len(words) // 4096)])
    if len(distinct) <= FEW:
        distinct, symbols = np.unique(words, return_inverse=True)
        if len(distinct) <= FEW:
            best = min(best, encode_symbols(distinct, symbols, len(words)), key=len)
    return best


def encode_symbols(distinct: Words, symbols: Ints, count: int) -> bytes:
    """A stream of few distinct numbers: the numbers, how often each occurs, and the coded places."""
    counts = np.bincount(symbols, minlength=len(distinct))
    coded = entropy(symbols, counts)
    steps = np.diff(distinct, prepend=np.uint64(0)).tolist()
    return varints([SYMBOLS, count, len(distinct), *steps, *counts.tolist(), len(coded)]) + coded


def encode_tokens(words: Words) -> bytes:
    """A stream of many distinct numbers: coded magnitudes, then the bits that follow them."""
    token, rest, spare = tokens(words)
    packed = pack(rest, spare)
    counts = np.bincount(token)
    used = np.flatnonzero(counts)
    coded = b""
    if len(used) > 1:
        place = np.zeros(len(counts), dtype=np.int64)
        place[used] = np.arange(len(used))
        coded = entropy(place[token], counts[used])
    head = [TOKENS, len(words), len(used), *used.tolist(), *counts[used].tolist(), len(coded), len(packed)]
    return varints(head) + coded + packed


def decode_stream(reader: Reader) -> Ints:
    """The inverse of `encode_stream`."""
    kind, count = reader.varint(), reader.varint()
    if kind == CONSTANT:
        return unzigzag(np.full(count, reader.varint(), dtype=np.uint64))
    used = reader.varint()
    symbols = np.array(reader.varints(used), dtype=np.uint64)
    counts = np.array(reader.varints(used), dtype=np.int64)
    size = reader.varint()
    packed = reader.varint() if kind == TOKENS else 0
    places = np.zeros(count, dtype=np.int64)
    if used > 1:
        coder = constriction.stream.stack.AnsCoder(np.frombuffer(reader.take(size), dtype="<u4").astype(np.uint32))
        places = coder.decode(model(counts), count).astype(np.int64)
    if kind == SYMBOLS:
        return unzigzag(np.cumsum(symbols, dtype=np.uint64)[places])
    token = symbols.view(np.int64)[places]
    return unzigzag(untokens(token, unpack(reader.take(packed), spare_bits(token))))


def runs(values: Ints) -> tuple[Ints, Ints]:
    """The value of each run, and its length less one."""
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    return values[starts], np.diff(np.concatenate([starts, [len(values)]])) - 1


def encode_column(values: Ints) -> bytes:
    """One block of a column, in the smallest of the ways."""
    if len(values) == 0:
        return bytes([VALUES]) + encode_stream(values)
    candidates = []
    for way, plain in ((VALUES, values), (STEPS, np.diff(values, prepend=0))):
        heads, lengths = runs(plain)
        if len(heads) <= len(plain) * 3 // 4:  # two streams: few runs are needed for them to pay
            coded = encode_stream(lengths)
            candidates.append(bytes([way + RUNS]) + encode_stream(heads) + coded)
            if way == VALUES:
                candidates.append(bytes([RUNS_OF_STEPS]) + encode_stream(np.diff(heads, prepend=0)) + coded)
        if len(heads) > len(plain) // 64:
            candidates.append(bytes([way]) + encode_stream(plain))
    return min(candidates, key=len)


def decode_column(reader: Reader) -> Ints:
    """The inverse of `encode_column`."""
    way = reader.varint()
    plain = decode_stream(reader)
    if way == RUNS_OF_STEPS:
        plain = np.cumsum(plain)
    if way >= RUNS:
        plain = np.repeat(plain, decode_stream(reader) + 1)
    return np.cumsum(plain) if way in (STEPS, STEPS + RUNS) else plain


def write(chunks: Iterable[Ints], path: Path, width: int) -> int:
    """The tuples as one file; its size."""
    with open(path, "wb") as file:
        file.write(struct.pack("<4sI", b"TRC1", width))
        for chunk in regroup(chunks, BLOCK):
            block = b"".join(encode_column(np.ascontiguousarray(column)) for column in chunk.T)
            file.write(struct.pack("<I", len(block)) + block)
    return path.stat().st_size


def read(path: Path) -> Ints:
    """The tuples of a file, all of them: nothing in this format can be asked in place."""
    data = path.read_bytes()
    _, width = struct.unpack_from("<4sI", data)
    blocks, at = [], 8
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        reader = Reader(data[at + 4 : at + 4 + size])
        blocks.append(np.stack([decode_column(reader) for _ in range(width)], axis=1))
        at += 4 + size
    return np.concatenate(blocks) if blocks else np.empty((0, width), dtype=np.int64)
