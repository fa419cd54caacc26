"""isl, the integer set library, weighed against whence's own boxes: what docs/design/isl.md rests on.

    python bench/isl_weighing.py

Prints, side by side on the same lineage: a chain of ten regular operations asked in both directions, the answer
turned into boxes, the chain composed, and a permutation (Sort) of more and more cells.
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Callable
from typing import Any

import islpy as isl
import numpy as np

import whence as wh
from whence.errors import TooLarge
from whence.testing import operations as ops
from whence.testing.operations import Raw

# From the input (1000, 1000) on: a formula for isl, output cell -> input cell, and the tuples for whence.
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
    """The least time of a call in seconds, and what it returned."""
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
    """The bytes that this process holds in memory now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def box(ranges: tuple[tuple[int, int], ...]) -> Any:
    names = [f"x{axis}" for axis in range(len(ranges))]
    rules = [f"{low} <= {name} < {high}" for name, (low, high) in zip(names, ranges, strict=True)]
    return isl.Set(f"{{ [{', '.join(names)}] : {' and '.join(rules)} }}")


def points(found: Any) -> list[tuple[int, ...]]:
    """The cells of an isl set: the only general way from it to arrays."""
    cells: list[tuple[int, ...]] = []
    kind, axes = isl.dim_type.set, range(found.dim(isl.dim_type.set))
    found.foreach_point(lambda p: cells.append(tuple(p.get_coordinate_val(kind, axis).to_python() for axis in axes)))
    return cells


def chain() -> None:
    maps = [isl.Map(text) for _, text, _ in CHAIN]
    inverses = [each.reverse() for each in maps]
    relations = [wh.compress(*make()) for _, _, make in CHAIN]
    show("rows of the ten", str(sum(each.n_basic_map() for each in maps)), str(sum(map(len, relations))))
    for way, asked in (("backward", BACK), ("forward", FORTH)):
        for name, ranges in asked.items():
            start = box(ranges)
            cells = wh.Selection.from_slices(tuple(slice(*pair) for pair in ranges), _ends(relations, way))
            theirs, found = timed(
                lambda start=start, way=way: functools.reduce(
                    lambda s, m: s.apply(m), reversed(maps) if way == "backward" else inverses, start
                )
            )
            ours, answer = timed(
                lambda cells=cells, way=way: functools.reduce(
                    lambda s, r: getattr(r, way)(s), reversed(relations) if way == "backward" else relations, cells
                )
            )
            counting, count = timed(lambda found=found: found.count_val().to_python())
            agreed = "" if count == len(answer) else "DIFFERENT ANSWERS"
            show(f"ten steps {way}, {name}", ms(theirs), ms(ours), f"{count:,} cells {agreed}")
            listing, cells_found = timed(lambda found=found: points(found), 0.2)
            expanding, array = timed(lambda answer=answer: answer.cells(), 0.2)
            show("  to an array of cells", ms(listing), ms(expanding), f"counted in {ms(counting)}")
            assert sorted(cells_found) == [tuple(row) for row in array.tolist()]
            show("  to boxes", "none but cell by cell", f"{len(answer.boxes):,} boxes")
    for names in (range(10), range(4), range(6, 9)):
        theirs, joined = timed(lambda names=names: _composed([maps[n] for n in names], "apply_range"))
        try:
            ours, relation = timed(lambda names=names: _composed([relations[n] for n in names], "compose"))
            shown, rows = ms(ours), f"{len(relation):,}"
        except TooLarge:
            shown, rows = "refused: TooLarge", "no"
        path = "all ten" if len(names) == 10 else ", ".join(CHAIN[n][0] for n in names)
        show("composed", ms(theirs), shown, f"{joined.n_basic_map()} and {rows} rows: {path}")


def _composed(steps: list[Any], method: str) -> Any:
    return functools.reduce(lambda later, earlier: getattr(later, method)(earlier), reversed(steps))


def _ends(relations: list[wh.Relation], way: str) -> tuple[int, ...]:
    return relations[-1].out_shape if way == "backward" else relations[0].in_shape


def sort(cells: int) -> None:
    """A permutation: as many disjuncts as cells."""
    raw = ops.sort((cells,))
    before = resident()
    start = time.perf_counter()
    permutation = isl.Map("{ " + "; ".join(f"[{b}] -> [{a}]" for b, a in raw.tuples.tolist()) + " }")
    theirs, theirs_memory = time.perf_counter() - start, resident() - before
    before = resident()
    start = time.perf_counter()
    relation = wh.compress(*raw)
    ours, ours_memory = time.perf_counter() - start, resident() - before
    show(f"sort of {cells:,}: made", ms(theirs), ms(ours))
    show("  memory", f"{theirs_memory / 1e6:.1f} MB", f"{max(ours_memory, 0) / 1e6:.1f} MB")
    for name, share in (("one cell", 1), ("a tenth", cells // 10)):
        asked = box(((5, 5 + share),))
        selected = wh.Selection.from_slices((slice(5, 5 + share),), (cells,))
        theirs, _ = timed(lambda asked=asked: points(asked.apply(permutation)))
        ours, _ = timed(lambda selected=selected: relation.backward(selected).cells())
        show(f"  asked, {name}", ms(theirs), ms(ours))
    if cells <= 1000:
        theirs, _ = timed(lambda: permutation.apply_range(permutation))
        ours, _ = timed(lambda: relation.compose(relation))
        show("  composed with itself", ms(theirs), ms(ours))


def whence_only(cells: int) -> None:
    """Where isl would need hours to begin."""
    raw = ops.sort((cells,))
    made, relation = timed(lambda: wh.compress(*raw), 0.0)
    selected = wh.Selection.from_slices((slice(5, 6),), (cells,))
    asked, _ = timed(lambda: relation.backward(selected).cells())
    show(f"sort of {cells:,}: made, one cell asked", "-", f"{ms(made)}, {ms(asked)}")


def main() -> None:
    parser = argparse.ArgumentParser(description="isl weighed against whence's own boxes")
    parser.add_argument("--cells", type=int, nargs="*", default=[1000, 3000, 10_000], help="cells of the sorts")
    options = parser.parse_args()
    show("", f"isl {isl.version.VERSION_TEXT}", "whence")
    chain()
    for cells in options.cells:
        sort(cells)
    for cells in (100_000, 1_000_000):
        whence_only(cells)


if __name__ == "__main__":
    np.seterr(all="raise")
    main()
