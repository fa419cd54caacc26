"""Functions that use the length of their argument in ways that no formula describes."""

from __future__ import annotations

import functools
import itertools
import json
import math
import struct
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from whence.testing.hostile._case import Case, nothing

STEPS = [0, 7, 12, 20, 33]
TABLE = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2, 7, 9, 5, 0, 2, 8, 8, 4]


def _halvings(n: int) -> int:
    count = 0
    while n > 1:
        n //= 2
        count += 1
    return count


def _counted(x: Any) -> int:
    total = 0
    for total, _ in enumerate(x):
        if total > 14:
            break
    return total


@functools.lru_cache
def _remembered(n: int) -> int:
    return n * n % 7


def _by_exception(n: int) -> int:
    try:
        return TABLE[n - 9]
    except IndexError:
        return 0


def _by_recursion(n: int) -> int:
    return 1 if n < 2 else _by_recursion(n // 3) + n % 3


SHIFTS: dict[str, Callable[[Any], int]] = {
    "length of a range": lambda x: len(range(20, len(x))),
    "key of a dict": lambda x: {13: 3, 24: 5, 40: 7}.get(len(x), 1),
    "member of a set": lambda x: 2 if len(x) in {13, 17, 40} else 0,
    "shape in a set": lambda x: 2 if x.shape in {(13,), (24,)} else 1,
    "first digit": lambda x: int(str(len(x))[0]),
    "formatted": lambda x: int(f"{len(x):03d}"[1]),
    "digits": lambda x: len(f"{len(x)}"),
    "bits": lambda x: len(x).bit_length(),
    "ones": lambda x: x.size.bit_count(),
    "binary text": lambda x: int(f"{len(x):b}"[1]),
    "hashed": lambda x: hash(x.shape) % 3,
    "rows counted": lambda x: max(sum(1 for _ in x) - 12, 1),
    "rows listed": lambda x: max(len(list(x)) - 12, 1),
    "pairs counted": lambda x: max(len(list(zip(x, x, strict=True))) - 12, 1),
    "root": lambda x: math.isqrt(len(x)),
    "remainder": lambda x: len(x) % 5,
    "quotient": lambda x: divmod(len(x), 7)[0],
    "common divisor": lambda x: math.gcd(len(x), 12),
    "looked up in a list": lambda x: TABLE[len(x) % len(TABLE)],
    "searched": lambda x: int(np.searchsorted(STEPS, len(x))),
    "halved in a loop": lambda x: _halvings(len(x)),
    "broken off": _counted,
    "remembered": lambda x: _remembered(len(x)),
    "exception": lambda x: _by_exception(len(x)),
    "recursion": lambda x: _by_recursion(len(x)),
    "json": lambda x: len(json.dumps({"shape": list(x.shape)})),
    "packed": lambda x: struct.pack("<i", len(x))[0] % 6,
    "logarithm": lambda x: round(math.log(len(x)) * 2),
    "sine": lambda x: int(10 * abs(math.sin(len(x)))),
    "counted letters": lambda x: Counter("a" * len(x) + "b" * 14).most_common(1)[0][0] == "a",
    "combinations": lambda x: math.comb(len(x), 2) % 4,
    "primes": lambda x: sum(all(n % d for d in range(2, n)) for n in range(2, len(x) + 1)),
    "accumulated": lambda x: list(itertools.accumulate(range(len(x))))[-1] % 5,
    "sorted with others": lambda x: sorted([len(x), 12, 20]).index(len(x)),
    "bytes": lambda x: len(bytes(len(x)).hex()) // 16,
    "memory": lambda x: x.nbytes // 100,
    "through an array": lambda x: int(np.array([len(x)]).max()) // 9,
    "a mean of lengths": lambda x: int(np.mean([len(x), 13])) - 9,
    "size of a text": lambda x: len(repr(tuple(range(len(x))))) % 7,
    "complex": lambda x: int(abs(complex(len(x), 12))) % 6,
}  # fmt: skip

PIECES: dict[str, Callable[[Any], Any]] = {
    "at most twelve": lambda x: x[: min(len(x), 12)] * 1,
    "all but the first twenty": lambda x: x[20:].sum() + x[0],
    "cut off": lambda x: x[:20].sum(),
    "rolled by twenty": lambda x: np.roll(x, 20),
    "ramp": lambda x: x[np.arange(len(x)) < 20].sum(),
    "every fifth": lambda x: sum(x[i] for i in range(len(x)) if i % 5 == 0),
    "last digit": lambda x: x[int(str(len(x))[-1]) % len(x)] + 0,
    "reversed from 15 on": lambda x: x[::-1] * 1 if len(x) > 15 else x * 1,
    "middle": lambda x: x[(len(x) - 1) // 2 : len(x) // 2 + 1].sum(),
    "blocks": lambda x: x[: len(x) // 4 * 4].reshape(-1, 4).sum(axis=1),
    "triangle": lambda x: x[np.tril_indices(len(x) % 4 + 2)[0]],
    "split": lambda x: np.split(x, [min(12, len(x) - 1)])[0].sum(),
    "thirds": lambda x: np.array_split(x, 3)[1] * 1,
}


def _rolled(shift: Callable[[Any], int]) -> Callable[[], Case]:
    return lambda: ((lambda x: np.roll(x, shift(x))), nothing)


def _piece(function: Callable[[Any], Any]) -> Callable[[], Case]:
    return lambda: (function, nothing)


CASES: dict[str, Callable[[], Case]] = {
    **{f"length: {name}": _rolled(shift) for name, shift in SHIFTS.items()},
    **{f"part: {name}": _piece(function) for name, function in PIECES.items()},
}
