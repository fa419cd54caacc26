"""Compare isl, the integer set library, with whence's own boxes: the measurements for docs/design/isl.md.

    python bench/isl_weighing.py

Prints, for the same lineage: a chain of ten regular operations asked in both directions, the conversion of the answer
to boxes, the composition of the chain, and a permutation (Sort) of more and more cells.
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import islpy as isl

import whence as wh
from whence.errors import TooLarge
from whence.testing import operations as ops
from whence.testing.operations import Raw

# Starting from the input (1000, 1000): a formula for isl, output cell -> input cell, and the tuples for whence.
CHAIN: list[tuple[str, str, Callable[[], Raw]]] = [
    ("flip", "{ [i, j] -> [999 - i, j] : 0 <= i < 1000 and 0 <= j < 1000 }", lambda: ops.flip((1000, 1000), 0)),
    ("transpose", "{ [i, j] -> [j, i] : 0 <= i < 1000 and 0 <= j < 1000 }", lambda: ops.transpose((1000, 1000))),
    (
        "3 x 3 filter",
        "{ [i, j] -> [k, l] : i - 1 <= k <= i + 1 and j - 1 <= l <= j + 1 and 0 <= i < 1000 and 0 <= j < 1000 "
        "and 0 <= k < 1000 and 0 <= l < 1000 }",
        lambda: ops.convolve_nd((1000, 1000), (3, 3)),
    ),
    (
        "[::2]",
        "{ [i, j] -> [2i, j] : 0 <= i < 500 and 0 <= j < 1000 }",
        lambda: ops.sliced((1000, 1000), slice(None, None, 2)),
    ),
    ("rot90", "{ [i, j] -> [j, 999 - i] : 0 <= i < 1000 and 0 <= j < 500 }", lambda: ops.rot90((500, 1000))),
    (
        "reshape",
        "{ [i, j] -> [k, l] : 2000i + j = 500k + l and 0 <= i < 250 and 0 <= j < 2000 and 0 <= k < 1000 "
        "and 0 <= l < 500 }",
        lambda: ops.reshape((1000, 500), (250, 2000)),
    ),
    (
        "repeat",
        "{ [i, j] -> [floor(i/2), j] : 0 <= i < 500 and 0 <= j < 2000 }",
        lambda: ops.repeat((250, 2000), 2, 0),
    ),
    (
        "roll",
        "{ [i, j] -> [i, (j + 1993) mod 2000] : 0 <= i < 500 and 0 <= j < 2000 }",
        lambda: ops.roll((500, 2000), 7, 1),
    ),
    (
        "pool 5 x 4",
        "{ [i, j] -> [k, l] : 5i <= k < 5i + 5 and 4j <= l < 4j + 4 and 0 <= i < 100 and 0 <= j < 500 }",
        lambda: ops.pool((500, 2000), (5, 4)),
    ),
    ("cumsum", "{ [i, j] -> [i, l] : 0 <= l <= j < 500 and 0 <= i < 100 }", lambda: ops.cumsum((100, 500), 1)),
]
BACK = {"one cell": ((50, 51), (250, 251)), "4,000 cells": ((20, 40), (100, 300)), "all cells": ((0, 100), (0, 500))}
FORTH = {"one cell": ((50, 51), (250, 251)), "100,160 cells": ((200, 520), (100, 413)), "all": ((0, 1000), (0, 1000))}


def timed(work: Callable[[], Any], budget: float = 1.0) -> tuple[float, Any]:
    """Return the least time of a call in seconds, and its result."""
    times: list[float] = []
    while not times or (sum(times) < budget and len(times) < 50):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def show(what: str, theirs: str, ours: str, note: str = "") -> None:
    print(f"{what:<34} {theirs:>24} {ours:>24}  {note}".rstrip(), flush=True)


def ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.3f} ms"


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def box(ranges: tuple[tuple[int, int], ...]) -> Any:
    names = [f"x{axis}" for axis in range(len(ranges))]
    rules = [f"{low} <= {name} < {high}" for name, (low, high) in zip(names, ranges, strict=True)]
    return isl.Set(f"{{ [{', '.join(names)}] : {' and '.join(rules)} }}")


def points(found: Any) -> list[tuple[int, ...]]:
    """Return the cells of an isl set: this is the only general way to convert it to arrays."""
    cells: list[tuple[int, ...]] = []
    kind, axes = isl.dim_type.set, range(found.dim(isl.dim_type.set))
    found.foreach_point(lambda p: cells.append(tuple(p.get_coordinate_val(kind, axis).to_python() for axis in axes)))
    return cells


def asked_isl(steps: Sequence[Any], start: Any) -> Any:
    for step in steps:
        start = start.apply(step)
    return start


def asked_whence(steps: Sequence[wh.Relation], way: str, start: wh.Selection) -> wh.Selection:
    for step in steps:
        start = step.backward(start) if way == "backward" else step.forward(start)
    return start


def composed(steps: Sequence[Any], method: str) -> Any:
    return functools.reduce(lambda later, earlier: getattr(later, method)(earlier), reversed(steps))


def chain() -> None:
    """Measure ten regular steps."""
    maps = [isl.Map(text) for _, text, _ in CHAIN]
    relations = [wh.compress(*make()) for _, _, make in CHAIN]
    show("rows of the ten", str(sum(each.n_basic_map() for each in maps)), str(sum(map(len, relations))))
    for name, ranges in BACK.items():
        question(f"backward, {name}", maps[::-1], relations[::-1], "backward", ranges)
    inverses = [each.reverse() for each in maps]
    for name, ranges in FORTH.items():
        question(f"forward, {name}", inverses, relations, "forward", ranges)
    for some in (slice(0, 10), slice(0, 4), slice(6, 9)):
        theirs, joined = timed(partial(composed, maps[some], "apply_range"))
        try:
            ours, relation = timed(partial(composed, relations[some], "compose"))
            shown, rows = ms(ours), f"{len(relation):,}"
        except TooLarge:
            shown, rows = "refused: TooLarge", "no"
        names = ", ".join(name for name, _, _ in CHAIN[some])
        show("composed", ms(theirs), shown, f"{joined.n_basic_map()} and {rows} rows: {names}")


def question(
    what: str, maps: Sequence[Any], relations: Sequence[wh.Relation], way: str, ranges: tuple[tuple[int, int], ...]
) -> None:
    """Time one question over the whole chain: to the set, and to its cells."""
    shape = relations[0].out_shape if way == "backward" else relations[0].in_shape
    cells = wh.Selection.from_slices(tuple(slice(*pair) for pair in ranges), shape)
    theirs, found = timed(partial(asked_isl, maps, box(ranges)))
    ours, answer = timed(partial(asked_whence, relations, way, cells))
    counting, count = timed(found.count_val)
    show(f"ten steps {what}", ms(theirs), ms(ours), f"{count.to_python():,} cells, {len(answer.boxes):,} boxes")
    listing, listed = timed(partial(points, found), 0.2)
    expanding, array = timed(answer.cells, 0.2)
    show("  as an array of cells", ms(listing), ms(expanding), f"isl counts them in {ms(counting)}")
    if sorted(listed) != [tuple(row) for row in array.tolist()]:
        raise AssertionError(f"{what}: the two answers differ")


def sort(cells: int) -> None:
    """Measure a permutation: it has as many disjuncts as cells."""
    raw = ops.sort((cells,))
    before = resident()
    start = time.perf_counter()
    permutation = isl.Map("{ " + "; ".join(f"[{b}] -> [{a}]" for b, a in raw.tuples.tolist()) + " }")
    theirs, theirs_memory = time.perf_counter() - start, resident() - before
    start = time.perf_counter()
    relation = wh.compress(*raw)
    show(f"sort of {cells:,}: made", ms(theirs), ms(time.perf_counter() - start))
    show("  bytes", f"{theirs_memory:,} in memory", f"{len(relation.to_bytes()):,} in a file")
    for name, share in (("one cell", 1), ("a tenth", cells // 10)):
        selected = wh.Selection.from_slices((slice(5, 5 + share),), (cells,))
        theirs, found = timed(partial(asked_isl, [permutation], box(((5, 5 + share),))))
        ours, answer = timed(partial(relation.backward, selected))
        show(f"  asked, {name}", ms(theirs), ms(ours))
        if sorted(points(found)) != [tuple(row) for row in answer.cells().tolist()]:
            raise AssertionError("the two answers differ")
    if cells <= 1000:
        theirs, _ = timed(partial(permutation.apply_range, permutation))
        ours, _ = timed(partial(relation.compose, relation))
        show("  composed with itself", ms(theirs), ms(ours))


def whence_only(cells: int) -> None:
    """Measure whence alone, at sizes where isl would take hours."""
    raw = ops.sort((cells,))
    made, relation = timed(partial(wh.compress, *raw), 0.0)
    asked, _ = timed(partial(relation.backward, wh.Selection.from_slices((slice(5, 6),), (cells,))))
    show(f"sort of {cells:,}: made", "-", ms(made))
    show("  asked, one cell", "-", ms(asked))


def main() -> None:
    parser = argparse.ArgumentParser(description="isl weighed against whence's own boxes")
    parser.add_argument("--cells", type=int, nargs="*", default=[1000, 3000, 10_000], help="cells of the sorts")
    options = parser.parse_args()
    show("", f"isl {isl.version.VERSION_TEXT}", "whence")
    for cells in options.cells:  # before the chain, whose freed memory would hide what a permutation needs
        sort(cells)
    for cells in (100_000, 1_000_000):
        whence_only(cells)
    chain()


if __name__ == "__main__":
    main()
