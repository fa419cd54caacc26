"""Size on disk of the lineage of single operations, in every format."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that `python bench/NAME.py` finds `bench`
from bench._common import Claim, Progress, check_size, claim, dots, main, quiet, workspace
from bench._workloads import SCALES, STEADY, Lineage, Workload, steady, workloads
from bench.baselines import columns, provrc, turbo

import whence as wh

MB = 1e6
REGULAR = 0.001  # MB: the most bytes of the lineage of a regular operation at any size
CHECKED = 4_000_000  # up to this many tuples, the stored relation is expanded again and compared


def run(size: str = "small", progress: Progress | None = None) -> list[Claim]:
    """Size on disk of the lineage of single operations, in every format."""
    say = progress or quiet
    check_size(size)
    claims = []
    with workspace() as directory:
        for workload in workloads(size):
            say(f"compression size: {workload.name}")
            claims.append(compare(workload, directory, SCALES[size].side ** 2))
        say("compression size: boxes of regular operations at two sizes")
        claims += constant(*STEADY[size])
    return claims


def compare(workload: Workload, directory: Path, cells: int) -> Claim:
    """Measure one operation in every format; two inputs are added."""
    relations = workload.relations()
    sizes: dict[str, int] = {}
    details: dict[str, Any] = {"tuples": 0, "boxes": 0, "ProvRC rows": 0, "seconds to compress": 0.0}
    correct = True
    for relation in relations:
        mine, right = ours(relation, directory / "relation", details)
        correct = correct and right
        for system, bytes_ in {**theirs(relation, directory / "file", details), "whence": mine}.items():
            sizes[system] = sizes.get(system, 0) + bytes_
    baselines = {system: size / MB for system, size in sizes.items() if system != "whence"}
    bound = {
        "regular": REGULAR,
        "sort": cells * (cells - 1).bit_length() / 8 / MB * 1.008,
        "other": max(REGULAR, min(baselines.values())),  # below 1 kB, sizes are mostly headers
    }[workload.kind]
    return claim(
        f"{workload.name}: size", sizes["whence"] / MB, baselines, unit="MB", at_most=bound, true=correct,
        paper=workload.paper, **details,
    )  # fmt: skip


def ours(relation: Lineage, path: Path, details: dict[str, Any]) -> tuple[int, bool]:
    """Return whence's own size, and whether the stored file has exactly the same tuples."""
    start = time.perf_counter()
    made = wh.compress(relation.chunks(), relation.out_shape, relation.in_shape)
    made.save(path)
    details["seconds to compress"] += time.perf_counter() - start
    size = path.stat().st_size
    stored = wh.Relation.load(path)
    tuples = sum(len(chunk) for chunk in relation.chunks())
    details["tuples"] += tuples
    details["boxes"] += len(stored)
    right = stored.count() == tuples
    if right and tuples <= CHECKED:
        right = bool(np.array_equal(stored.to_array(), np.concatenate(list(relation.chunks()))))
    del stored
    path.unlink()
    return size, right


def theirs(relation: Lineage, path: Path, details: dict[str, Any]) -> dict[str, int]:
    """Return the bytes in every other format; Raw and Array are computed, the others are written, measured and
    removed.
    """
    out_axes, in_axes = len(relation.out_shape), len(relation.in_shape)
    header = columns.names(out_axes, in_axes)
    table = provrc.compress(relation.chunks(), out_axes)
    details["ProvRC rows"] += len(table)
    sizes = {
        "Raw": columns.text_size(relation.chunks()),
        "Array": columns.array_size(relation.chunks()),
        "Parquet": columns.write_parquet(relation.chunks(), path, header),
        "Parquet-GZip": columns.write_parquet(relation.chunks(), path, header, "gzip"),
        "Turbo-RC-like": turbo.write(relation.chunks(), path, len(header)),
        "ProvRC": provrc.write(table, path),
        "ProvRC-GZip": provrc.write(table, path, "gzip"),
    }
    path.unlink()
    return sizes


def constant(smaller: int, larger: int) -> Iterator[Claim]:
    """Count the boxes of an operation at two sizes: they must not grow."""
    before, after = steady(smaller), steady(larger)
    for name, raw in after.items():
        relation = wh.compress(*raw)
        right = bool(np.array_equal(relation.to_array(), raw.tuples))
        boxes = len(wh.compress(*before[name]))
        plain = len(provrc.compress([raw.tuples], len(raw.out_shape)))
        yield claim(
            f"{name}: boxes at a side of {larger}", len(relation), {f"side {smaller}": boxes, "ProvRC": plain},
            unit="boxes", against=[f"side {smaller}"], true=right, tuples=len(raw.tuples),
        )  # fmt: skip


def plot(claims: list[Claim], directory: Path) -> list[Path]:
    """Draw the sizes of the operations, and the numbers of boxes."""
    sizes = [row for row in claims if row["unit"] == "MB"]
    boxes = [{**row, "baselines": {"ProvRC": row["baselines"]["ProvRC"]}} for row in claims if row["unit"] == "boxes"]
    return [
        dots(sizes, directory / "compression-size.png", "Lineage of one operation on disk", "MB"),
        dots(boxes, directory / "compression-boxes.png", "Rows that hold the lineage", "rows"),
    ]


if __name__ == "__main__":
    main(run, plot)
