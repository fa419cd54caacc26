"""Time to run NumPy with lineage: against NumPy alone, arrays of annotated Python objects, and lists of ids."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that `python bench/NAME.py` finds `bench`
from bench._common import Claim, Progress, check_size, claim, dots, main, quiet, seconds
from bench.baselines import idlists
from bench.baselines.idlists import Listed

import whence as wh
from whence.arrays import forget, values
from whence.arrays.recording.calls import captured
from whence.testing.annotated import annotated, matmul

COUNTS = {"tiny": (2_500,), "small": (10_000, 1_000_000), "full": (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)}
OBJECTS = 10_000  # an array of Python objects takes too long for more cells
TUPLES = 10_000_000  # with more tuples, only a part is measured
IDS = 30_000_000  # lists of ids take too much memory for more
ELEMENTWISE, AGGREGATION = 2.5, 3.0  # times NumPy's own time
LARGE_OVERHEAD = 0.1  # seconds that an aggregation of 1e8 cells may take longer

# Figures from the papers: section VII.A, and the thesis.
PAPER = {
    "element-wise": "up to 5x NumPy's time",
    "aggregation": "up to 44x NumPy's time; less than 50 s for 1e8 cells",
}

Work = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation in NumPy, and in the other schemes."""

    name: str
    kind: str
    work: Work  # for plain and tracked arrays
    objects: Work  # for arrays of annotated objects
    listed: Callable[[Listed, Listed], Listed] | None
    ids: Callable[[tuple[int, int]], int]  # how many ids the lists would contain
    most: int = 1 << 62  # cells


def cells(shape: tuple[int, int]) -> int:
    """Return the number of cells: one id for each."""
    return shape[0] * shape[1]


def stencil(x: Any, _: Any) -> Any:
    """The sum of each cell's neighbourhood of three by three."""
    n, m = x.shape[0] - 2, x.shape[1] - 2
    out = x[:n, :m] + x[:n, 1 : m + 1]
    for i, j in ((0, 2), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)):
        out = out + x[i : i + n, j : j + m]
    return out


def order(x: NDArray[Any]) -> NDArray[np.int64]:
    """Return a fixed random permutation of the cells."""
    return np.random.default_rng(0).permutation(x.size)


def listed_sort(x: Listed, _: Listed) -> Listed:
    places = np.argsort(x.values, axis=1) + np.arange(x.values.shape[0])[:, None] * x.values.shape[1]
    return idlists.taken(x, places.ravel(), np.sort(x.values, axis=1))


def listed_gather(x: Listed, _: Listed) -> Listed:
    places = order(x.values)
    return idlists.taken(x, places, x.values.ravel()[places])


def elementwise(name: str, work: Callable[[Any], Any]) -> Operation:
    """Return an operation with one operand."""
    return Operation(
        name, "element-wise", lambda x, _: work(x), lambda x, _: work(x), lambda x, _: idlists.unary(work, x), cells
    )


def aggregation(name: str, work: Any, axis: int) -> Operation:
    """Return a reduction along an axis. Annotated objects are added, which gives the same sets."""
    return Operation(
        f"{name}, axis {axis}",
        "aggregation",
        lambda x, _: work(x, axis=axis),
        lambda x, _: x.sum(axis=axis),
        lambda x, _: idlists.reduced(work, x, axis),
        cells,
    )


def other(name: str, work: Work, listed: Any, ids: Any, most: int, objects: Work | None = None) -> Operation:
    """Return an operation that has no target relative to NumPy's time."""
    return Operation(name, "other", work, objects or work, listed, ids, most)


OPERATIONS = (
    elementwise("negative", np.negative),
    elementwise("multiply by a constant", lambda x: x * 3.0),
    elementwise("exp", np.exp),
    Operation(
        "add",
        "element-wise",
        lambda x, y: x + y,
        lambda x, y: x + y,
        lambda x, y: idlists.binary(np.add, x, y),
        lambda shape: 2 * cells(shape),
    ),
    aggregation("sum", np.sum, 1),
    aggregation("sum", np.sum, 0),
    aggregation("max", np.max, 1),
    other(
        "cumsum, axis 1",
        lambda x, _: np.cumsum(x, axis=1),
        lambda x, _: idlists.accumulated(x),
        lambda shape: cells(shape) * (shape[1] + 1) // 2,
        10**7,
    ),
    other("sort, axis 1", lambda x, _: np.sort(x, axis=1), listed_sort, cells, 10**7),
    other("matrix product", lambda x, y: x @ y, idlists.product, lambda s: 2 * s[0] * s[0] * s[1], 10**6, matmul),
    other("random gather", lambda x, _: x.ravel()[order(x)], listed_gather, cells, 10**7),
    other("stencil of 3 x 3", stencil, None, lambda shape: 9 * cells(shape), 10**7),
)


def run(size: str = "small", progress: Progress | None = None) -> list[Claim]:
    """Time to run NumPy with lineage: against NumPy alone, arrays of annotated Python objects, and lists of ids."""
    say = progress or quiet
    check_size(size)
    claims: list[Claim] = []
    for count in COUNTS[size]:
        for each in OPERATIONS:
            if count > each.most:
                continue
            say(f"capture: {each.name}, {count:,} cells")
            claims += compare(each, shape_of(each, count))
            forget()
        say(f"capture: memory and relations, {count:,} cells")
        claims.append(relation_from_annotations(shape_of(OPERATIONS[0], count)))
        claims.append(memory(count))
        forget()
    return claims


def shape_of(each: Operation, count: int) -> tuple[int, int]:
    """Return the shape: a thousand columns if there are enough cells; products are square."""
    if each.name == "matrix product" or count < 100_000:
        return (int(count**0.5), int(count**0.5))
    return (count // 1000, 1000)


def compare(each: Operation, shape: tuple[int, int]) -> list[Claim]:
    """Run the operation on the same numbers in every scheme."""
    rng = np.random.default_rng(1)
    a, b = rng.random(shape), rng.random(shape)
    x, y = wh.tracked(a, "A"), wh.tracked(b, "B")
    bare, ours = side_by_side(lambda: each.work(a, b), lambda: each.work(x, y), budget=0.3 if a.size < 10**6 else 3.0)
    result = each.work(x, y)
    true = bool(np.array_equal(values(result), each.work(a, b)))
    count = f"{a.size:.0e} cells"
    claims = []
    if each.kind != "other":
        most = ELEMENTWISE if each.kind == "element-wise" else AGGREGATION
        claims.append(
            claim(
                f"{each.name}: {count}, over NumPy alone", ours, {"NumPy": bare}, unit="s", at_least=1 / most,
                against=("NumPy",), true=true,
                kind=each.kind, operation=each.name, cells=a.size, times=ours / bare, paper=PAPER[each.kind],
            )
        )  # fmt: skip
    if each.kind == "aggregation" and a.size >= 10**8:
        claims.append(
            claim(
                f"{each.name}: {count}, time added", max(ours - bare, 1e-9), {"NumPy": bare}, unit="s",
                at_most=LARGE_OVERHEAD, true=true, kind="added", operation=each.name, cells=a.size, paper="< 50 s",
            )
        )  # fmt: skip
    if each.kind != "other":
        claims.append(by_rule(each, a, b, bare))
    others, agree = schemes(each, a, b, result)
    if any(value is not None for value in others.values()):
        claims.append(
            claim(
                f"{each.name}: {count}, against other captures", ours, {**others, "NumPy": bare}, unit="s",
                against=tuple(others), true=true and agree, kind="capture", operation=each.name, cells=a.size,
            )
        )  # fmt: skip
    return claims


def by_rule(each: Operation, a: NDArray[Any], b: NDArray[Any], bare: float) -> Claim:
    """Measure `log.track`: NumPy runs on plain arrays, and rules give the relations."""
    names = ("x", "y")
    with_rules = seconds(lambda: captured(each.work, (a, b), {}, names, "f", selection=False), repeat=5)
    found = captured(each.work, (a, b), {}, names, "f", selection=False)
    true = bool(np.array_equal(found.result, each.work(a, b))) and all(len(edge.relation) == 1 for edge in found.edges)
    return claim(
        f"{each.name}: {a.size:.0e} cells by rules, time added", max(with_rules - bare, 1e-9), {"NumPy": bare},
        unit="s", at_most=LARGE_OVERHEAD, true=true, kind="added by rules", operation=each.name, cells=a.size,
        paper="< 50 s",
    )  # fmt: skip


def schemes(each: Operation, a: NDArray[Any], b: NDArray[Any], result: Any) -> tuple[dict[str, float | None], bool]:
    """Time the other schemes, if they are able, and return whether all agree on the lineage of a cell."""
    taken: dict[str, float | None] = {"Python objects": None, "lists of ids": None}
    where = tuple(d // 2 for d in result.shape)
    expected = {(name, int(np.ravel_multi_index(index, a.shape))) for name, index in result[where].parents}
    agree = True
    if a.size <= OBJECTS:
        p, q = annotated(a, "A"), annotated(b, "B")
        taken["Python objects"] = seconds(lambda: each.objects(p, q))
        if "sort" not in each.name:  # in a sort, sets move with their numbers, and there may be ties
            agree = each.objects(p, q)[where].cells == expected
    if each.listed is not None and each.ids(a.shape) <= IDS:
        listed = each.listed
        u, v = Listed.of(a), Listed.of(b, a.size)
        taken["lists of ids"] = seconds(lambda: listed(u, v))
        if a.size <= OBJECTS:
            ids = listed(u, v).lists()[int(np.ravel_multi_index(where, result.shape))]
            agree = agree and ids == sorted(i + (name == "B") * a.size for name, i in expected)
    return taken, agree


def relation_from_annotations(shape: tuple[int, int]) -> Claim:
    """Time from a captured aggregation to its relation, compared with making and compressing the tuples."""
    x = wh.tracked(np.ones(shape), "A")
    y = x.sum(axis=1)
    ours = seconds(lambda: wh.relation_of(y, "A"), repeat=7)
    found = wh.relation_of(y, "A")
    part = min(1.0, TUPLES / x.size)  # with more cells, only a part is measured
    some = (int(shape[0] * part), shape[1])

    def tuples() -> NDArray[np.int64]:
        rows, columns = np.divmod(np.arange(some[0] * some[1]), some[1])
        return np.stack([rows, rows, columns], axis=1)

    making = seconds(tuples) / part
    raw = tuples()
    baselines = {
        "making the tuples": making,
        "tuples, compressed": making + seconds(lambda: wh.compress(raw, some[:1], some)) / part,
    }
    return claim(
        f"relation of a sum over {x.size:.0e} cells, from annotations", ours, baselines, unit="s",
        at_least=10.0 if x.size >= 10**5 else 1.0, against=("tuples, compressed",),
        true=(len(found), found.count()) == (1, x.size), kind="relation", cells=x.size,
    )  # fmt: skip


def memory(count: int) -> Claim:
    """Measure the bytes for each cell of a captured elementwise operation of two operands, including its arena."""
    from whence import _tracked

    shape = (max(count // 1000, 1), 1000)
    x, y = wh.tracked(np.ones(shape), "A"), wh.tracked(np.ones(shape), "B")
    before = _tracked.statistics()["arena_bytes"]
    z = x + y
    held = z.nbytes + _tracked.statistics()["arena_bytes"] - before
    return claim(
        f"add: bytes a cell, {z.size:.0e} cells", held / z.size, {"NumPy": 8.0, "lists of ids": 8.0 + 8 + 2 * 8},
        unit="bytes", at_most=16.5, against=("lists of ids",), kind="memory", cells=z.size,
    )  # fmt: skip


def side_by_side(bare: Callable[[], Any], ours: Callable[[], Any], budget: float) -> tuple[float, float]:
    """Return the best time of each of two calls, run in turns so that the load of the machine is the same for both."""
    best = [float("inf")] * 2
    gc.collect()
    end = time.perf_counter() + budget
    rounds = 0
    while rounds < 3 or (time.perf_counter() < end and rounds < 200):
        for number, work in enumerate((bare, ours)):
            start = time.perf_counter()
            work()
            best[number] = min(best[number], time.perf_counter() - start)
        rounds += 1
    return best[0], best[1]


def plot(claims: list[Claim], directory: Path) -> list[Path]:
    """Draw the times of every scheme at each number of cells."""
    drawn = []
    for count in dict.fromkeys(row["cells"] for row in claims if row["kind"] == "capture"):
        rows = [row for row in claims if row["kind"] == "capture" and row["cells"] == count]
        used = {name for row in rows for name, value in row["baselines"].items() if value is not None}
        rows = [{**row, "baselines": {name: row["baselines"][name] for name in used}} for row in rows]
        drawn.append(dots(rows, directory / f"capture-{count}.png", f"Time to capture, {count:.0e} cells", "seconds"))
    return drawn


if __name__ == "__main__":
    main(run, plot)
