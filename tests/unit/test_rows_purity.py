"""Functions whose code says that they give something else each time, and functions whose code does not."""

from __future__ import annotations

import bisect
import datetime as dt
import functools
import gzip
import heapq
import itertools
import math
import operator
import os
import queue
import random
import re
import sys
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from random import random as chance
from typing import Any

import numpy as np
import pandas as pd
import pytest

from whence.rows.determinism.purity import varies

calls = 0
seen: list[int] = []
state: dict[str, Any] = {"n": 0, "rng": random.Random(3), "kept": [], "inner": {"n": 0}}
numbers = itertools.count()
table = {"a": 1, "b": 2}
lookup = pd.DataFrame({"k": [1], "v": [2]})
pattern = re.compile("a+")


def counting(x: int) -> int:
    global calls
    calls += 1
    return x + calls


def remembering(x: int) -> bool:
    known = x in seen
    seen.append(x)
    return known


def in_a_dictionary(x: int) -> Any:
    state["n"] += 1
    return state["n"]


def by_another_name(x: int) -> int:
    mine = seen
    mine[0] = x
    return mine[0]


def imported_inside(x: int) -> str:
    import uuid as maker

    return f"{maker.uuid4()}-{x}"


def imported_from(x: int) -> float:
    from random import random as draw

    return x + draw()


def helped(x: int) -> float:
    return _helper(x) * 2


def _helper(x: int) -> float:
    return x + time.time()


def nested(x: int) -> float:
    def inner() -> float:
        return sum([random.random() for _ in range(3)])

    return inner() + x


def with_default(x: int, memory: list[int] = []) -> int:  # noqa: B006 # a default that is kept is the point
    memory.append(x)
    return len(memory)


def a_file(x: int) -> str:
    with open(f"{x}.txt") as file:
        return file.read()


def in_parts(parts: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for part in parts:
        part["u"] = [str(uuid.uuid4()) for _ in range(len(part))]
        yield part


def closure() -> Callable[[int], int]:
    count = 0

    def next_one(x: int) -> int:
        nonlocal count
        count += 1
        return x + count

    return next_one


def closure_of_a_list() -> Callable[[int], int]:
    counts = [0]

    def next_one(x: int) -> int:
        counts[0] += 1
        return counts[0]

    return next_one


def by_another_name_inside(x: int) -> int:
    mine = seen

    def inner() -> None:
        mine.append(x)

    inner()
    return len(mine)


def closure_of_chance() -> Callable[[int], float]:
    rng = np.random.default_rng(7)
    return lambda x: x + rng.random()


class Stateful:
    total = 0

    def __init__(self) -> None:
        self.n = 0

    def __call__(self, x: int) -> int:
        self.n += 1
        return self.n

    def method(self, x: int) -> int:
        return self._more(x)

    def _more(self, x: int) -> int:
        self.n += x
        return self.n

    def after_itself(self, x: int) -> int:
        return self.after_itself(x - 1) if x else self._counted(x)

    def _counted(self, x: int) -> int:
        return Stateful.of_the_class(x)

    @classmethod
    def of_the_class(cls, x: int) -> int:
        cls.total += x
        return cls.total


class Scaled:
    def __init__(self, by: int) -> None:
        self.by = by

    def __call__(self, x: int) -> int:
        return x * self.by

    def method(self, x: int) -> int:
        return self(x) + 1


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def around(*args: Any) -> Any:
        return function(*args)

    return around


def changes(box: Any) -> Any:
    box["n"] += 1
    return box["n"]


def changes_inside(box: Any, by: int = 1) -> Any:
    inner = box["inner"]
    return changes(inner)


def fills_in(row: dict[str, Any], given: dict[str, int]) -> dict[str, Any]:
    row["w"] = given["a"]
    return row


def a_part(x: int) -> int:
    kept = state["kept"]
    kept.append(x)
    return len(kept)


def each_part(x: int) -> list[Any]:
    for place, part in enumerate(parts):
        part["n"] = place
    return parts


def unpacked(x: int) -> Any:
    first, _second = state, x
    first["n"] += 1
    return first


class Moving:
    n = 0

    @property
    def next(self) -> int:
        self.n += 1
        return self.n


parts: list[dict[str, int]] = [{"n": 0}]
cells = np.zeros(3)
moving = Moving()
waiting: queue.Queue[int] = queue.Queue()

VARYING: dict[str, object] = {
    "a list in a dictionary": lambda x: state["kept"].append(x),
    "part of a dictionary": a_part,
    "each part of a list": each_part,
    "unpacked": unpacked,
    "a helper that changes what it is given": lambda x: changes(state),
    "a helper of a helper": lambda x: changes_inside(state, by=x),
    "the argument that is changed": lambda x: fills_in(given={"a": x}, row=state),
    "a heap": lambda x: heapq.heappush(seen, x),
    "a sorted list": lambda x: bisect.insort(seen, x),
    "an operator": lambda x: operator.setitem(state, "n", x),
    "a method of the list's class": lambda x: list.append(seen, x),
    "an attribute by name": lambda x: setattr(moving, "n", x),
    "an array as out": lambda x: np.add(cells, x, out=cells)[0],
    "an array at places": lambda x: np.add.at(cells, 0, x),
    "an array put": lambda x: np.put(cells, 0, x),
    "a property": lambda x: moving.next + x,
    "a queue": lambda x: waiting.get() + x,
    "the names of the module": lambda x: globals().setdefault("later", x),
    "a compressed file": lambda x: gzip.GzipFile("numbers.gz").read(),
    "the arguments of the program": lambda x: sys.argv[x],
    "the directory": lambda x: Path.cwd() / x,
    "a lambda": lambda x: f"{uuid.uuid4()}{x}",
    "random": lambda x: random.random() + x,
    "a name of random": lambda x: chance() + x,
    "a name from random": lambda x: random.choice([x, 1]),
    "numpy": lambda x: x + np.random.rand(),  # noqa: NPY002 # the global state is the point
    "a seeded generator of numpy": lambda s: np.random.default_rng().normal(size=len(s)),
    "the current time": lambda x: time.time() - x,
    "now": lambda x: dt.datetime.now() - x,
    "today": lambda x: dt.date.today() == x,
    "pandas' now": lambda x: pd.Timestamp.now() - x,
    "now by name": lambda x: pd.Timestamp("now") - x,
    "a module as a value": lambda x: getattr(random, "random")() + x,  # noqa: B009 # a name at run time is the point
    "a method of something": lambda box, x: box.value.random() + x,
    "the environment": lambda x: os.environ["HOME"] + x,
    "the process": lambda x: os.getpid() + x,
    "an iterator": lambda x: next(numbers) + x,
    "a sample": lambda rows: rows.sample(2),
    "a file by its path": lambda x: Path(x).read_text(),
    "pandas reads": lambda x: pd.read_csv(x),
    "an object in a dictionary": lambda x: state["rng"].random() + x,
    "a global": counting,
    "a list": remembering,
    "a dictionary": in_a_dictionary,
    "another name": by_another_name,
    "another name inside": by_another_name_inside,
    "imported inside": imported_inside,
    "imported from": imported_from,
    "a helper": helped,
    "nested": nested,
    "a default": with_default,
    "a file": a_file,
    "in parts": in_parts,
    "nonlocal": closure(),
    "a list of the closure": closure_of_a_list(),
    "a generator of the closure": closure_of_chance(),
    "an object": Stateful(),
    "a bound method": Stateful().method,
    "a recursive method": Stateful().after_itself,
    "a method of the class": Stateful.of_the_class,
    "a partial": functools.partial(helped),
    "an argument of a partial": functools.partial(lambda rng, x: x, random.Random(1)),
    "a decorator": decorated(helped),
    "a cache": functools.lru_cache(helped),
    "vectorized": np.vectorize(helped),
    "a bound method of chance": random.Random(3).random,
    "uuid4 itself": uuid.uuid4,
}


def fills(rows: pd.DataFrame) -> pd.DataFrame:
    rows["w"] = rows["k"].map(table).fillna(0)
    rows.loc[rows["w"] > 1, "w"] = 1
    return rows.merge(lookup, on="k").sort_values("k")


def counts(rows: pd.DataFrame) -> pd.DataFrame:
    found: defaultdict[str, int] = defaultdict(int)
    tally = Counter(rows["k"])
    parts = []
    for key, n in tally.items():
        found[key] += n
        parts.append(key)
    parts.sort()
    return pd.DataFrame({"k": parts, "n": [found[each] for each in parts]})


def local_closure(x: int) -> int:
    total = 0

    def add(y: int) -> None:
        nonlocal total
        total += y

    add(x)
    return total


def with_plain_default(rows: Any = None, factor: int = 2) -> Any:
    rows["w"] = factor
    return rows


def recursive(x: int) -> int:
    return 1 if x < 2 else x * recursive(x - 1)


def copied(x: int) -> dict[str, int]:
    mine = dict(table)
    mine["c"] = x
    other = {**table}
    other.update(mine)
    return other


def collected(x: int) -> list[int]:
    found = []
    for key, value in table.items():
        found.append(value if key else x)
    return found


def one_of_them(x: int) -> dict[str, int]:
    weight = table["a"]
    row: dict[str, int] = {}
    row["w"] = weight
    return row


def filtered(x: int) -> pd.DataFrame:
    some = lookup[lookup["k"] == x]
    some["w"] = 1
    return some


STEADY: dict[str, object] = {
    "a copy of a table": copied,
    "a list of its own": collected,
    "a number out of a table": one_of_them,
    "a filtered table of pandas": filtered,
    "a helper that changes a row by a table": lambda x: fills_in({"x": x}, table),
    "the same by name": lambda x: fills_in(row={"x": x}, given=table),
    "an ordered copy": lambda x: [*sorted(seen), x],
    "a place in a list": lambda x: bisect.bisect(seen, x),
    "arithmetic": lambda x: x * 2,
    "math": lambda x: math.sqrt(abs(x)),
    "text": lambda x: pattern.sub("b", x).upper(),
    "a table": lambda x: table.get(x, 0),
    "numpy": lambda x: np.log1p(x).sum(),
    "pandas": fills,
    "counts": counts,
    "a closure inside": local_closure,
    "a default": with_plain_default,
    "an object": Scaled(3),
    "a bound method": Scaled(3).method,
    "a partial": functools.partial(pow, 2),
    "a seeded sample": lambda rows: rows.sample(2, random_state=1),
    "a date": lambda x: dt.datetime(2024, 1, 1) + dt.timedelta(days=x),
    "parts of a path": lambda x: os.path.join("a", os.path.basename(x)),
    "a hash": lambda x: uuid.uuid5(uuid.NAMESPACE_DNS, x),
    "a column called now": lambda row: row.now + row.today,
    "recursive": recursive,
    "a cache": functools.lru_cache(recursive),
    "a built-in": len,
}


@pytest.mark.parametrize("name", VARYING)
def test_code_that_gives_something_else_each_time(name: str) -> None:
    assert varies(VARYING[name])


@pytest.mark.parametrize("name", STEADY)
def test_code_that_does_not(name: str) -> None:
    assert varies(STEADY[name]) is None


def test_the_reason_names_what_is_called() -> None:
    assert varies(VARYING["a lambda"]) == "it calls uuid.uuid4"
    assert varies(counting) == "it changes the global variable 'calls'"
    assert varies(helped) == "it calls time.time"
    assert "'counts'" in str(varies(closure_of_a_list()))
