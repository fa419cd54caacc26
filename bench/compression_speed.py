"""Time from raw tuples in memory to a compressed file, and the memory it takes."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that `python bench/NAME.py` finds `bench`
from bench._common import Claim, Progress, check_size, claim, main, quiet, seconds, workspace
from bench._memory import measured
from bench.baselines import columns

import whence as wh
from whence.testing import operations
from whence.testing.operations import Raw

COUNTS = {
    "tiny": (1_000, 10_000),
    "small": (10_000, 100_000, 1_000_000),
    "full": (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000),
}
IRREGULAR = 10_000_000  # the most tuples for which a random permutation is measured
PARQUET = ("Parquet", "Parquet-GZip")
GIB = 1 << 30
NANOSECONDS_A_TUPLE = 20.0  # 50 million tuples a second

# Figure 7 of the paper: ProvRC-GZip is slower than both Parquet formats on large element-wise lineage.
PAPER = {"element-wise": "slower than Parquet and Parquet-GZip on large tables", "aggregation": "faster on small ones"}


def run(size: str = "small", progress: Progress | None = None) -> list[Claim]:
    """Time from raw tuples in memory to a compressed file, and the memory it takes."""
    say = progress or quiet
    check_size(size)
    claims: list[Claim] = []
    counts = COUNTS[size]
    with workspace() as directory:
        for kind in ("element-wise", "aggregation", "sort"):
            for count in counts:
                if kind == "sort" and count > IRREGULAR:
                    continue
                say(f"compression speed: {kind}, {count:,} tuples")
                raw = tuples(kind, count)
                claims.append(compare(kind, raw, directory))
                if count == counts[-1]:
                    if kind != "sort":
                        claims.append(throughput(kind, raw, directory, claims[-1]))
                    claims.append(memory(kind, raw, directory))
                del raw
        if size == "full":
            say("compression speed: a matrix product of 1e9 tuples as a stream")
            claims.append(streaming(1000, directory))
    return claims


def tuples(kind: str, count: int) -> Raw:
    """Make about that many tuples of one kind, column by column: at 1e8, there is no memory for copies."""
    if kind == "sort":
        return operations.sort((count,))
    shape = (10, count // 10) if kind == "element-wise" else (max(1, count // 1000), min(count, 1000))
    rows, side = shape
    axes = 2 if kind == "element-wise" else 1
    raw = np.empty((rows * side, axes + 2), dtype=np.int64)
    grid = raw.reshape(rows, side, axes + 2)
    grid[:, :, 0] = grid[:, :, axes] = np.arange(rows)[:, None]
    grid[:, :, axes + 1] = np.arange(side)
    if axes == 2:
        grid[:, :, 1] = np.arange(side)
    return Raw(raw, shape[:axes], shape)


def write(raw: Raw, path: Path) -> None:
    """Compress tuples and save them to a file with whence."""
    wh.compress(raw.tuples, raw.out_shape, raw.in_shape).save(path)


def compare(kind: str, raw: Raw, directory: Path) -> Claim:
    """Write the same tuples in every format; median wall-clock time to a closed file."""
    header = columns.names(len(raw.out_shape), len(raw.in_shape))
    path = directory / "file"
    count = len(raw.tuples)
    ours = seconds(lambda: write(raw, path), repeat=5)
    right = wh.Relation.load(path).count() == count
    path.unlink()
    baselines = {
        "Array": seconds(lambda: columns.write_array(raw.tuples, directory / "array.npy"), repeat=5),
        "Parquet": seconds(lambda: columns.write_parquet([raw.tuples], path, header), repeat=5),
        "Parquet-GZip": seconds(lambda: columns.write_parquet([raw.tuples], path, header, "gzip")),
    }
    path.unlink()
    (directory / "array.npy").unlink()
    return claim(
        f"{kind}: time to compress {count:.0e} tuples", ours, baselines, unit="s", against=opponents(kind), true=right,
        paper=PAPER.get(kind), kind=kind, tuples=count,
    )  # fmt: skip


def opponents(kind: str) -> tuple[str, ...]:
    """Return the formats to compare with: snappy stores a permutation uncompressed, so only GZip does comparable
    work.
    """
    return PARQUET[1:] if kind == "sort" else PARQUET


def throughput(kind: str, raw: Raw, directory: Path, timed: Claim) -> Claim:
    """Measure the processor time for each tuple, which does not depend on the load of the machine."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        write(raw, directory / "file")
        best = min(best, time.process_time() - start)
    (directory / "file").unlink()
    each = 1e9 / len(raw.tuples)
    baselines = {name: value * each for name, value in timed["baselines"].items()}
    return claim(
        f"{kind}: processor time a tuple", best * each, baselines, unit="ns", against=PARQUET,
        at_most=NANOSECONDS_A_TUPLE, true=timed["correct"], tuples=len(raw.tuples),
        **{"tuples a second": len(raw.tuples) / best},
    )  # fmt: skip


def memory(kind: str, raw: Raw, directory: Path) -> Claim:
    """Compare the memory of the tuples and of compressing them with twice the tuples."""
    path = directory / "raw.npy"
    np.save(path, raw.tuples)
    shapes = [",".join(map(str, shape)) for shape in (raw.out_shape, raw.in_shape)]
    found = measured("array", str(path), str(directory / "file"), *shapes)
    path.unlink()
    (directory / "file").unlink()
    total: float = (found["input"] + found["extra"]) / 1e6
    return claim(
        f"{kind}: memory to compress {len(raw.tuples):.0e} tuples", total, {"the tuples": found["input"] / 1e6},
        unit="MB", at_most=2 * found["input"] / 1e6,
    )  # fmt: skip


def streaming(side: int, directory: Path) -> Claim:
    """Compress 1e9 tuples in bounded memory."""
    found = measured("product", str(directory / "file"), str(side))
    (directory / "file").unlink()
    input_bytes = found["tuples"] * 4 * 8
    more: dict[str, Any] = {"tuples": found["tuples"], "seconds": found["seconds"]}
    return claim(
        f"Matrix*Matrix: memory to compress {found['tuples']:.0e} tuples as a stream", found["peak"] / GIB,
        {"the tuples": input_bytes / GIB}, unit="GiB", at_most=2.0, true=found["tuples"] == side**3, **more,
    )  # fmt: skip


def plot(claims: list[Claim], directory: Path) -> list[Path]:
    """Draw the time by the number of tuples, one picture for each kind of lineage."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    timed = [row for row in claims if row["unit"] == "s"]
    kinds = list(dict.fromkeys(row["kind"] for row in timed))
    figure, every = plt.subplots(1, len(kinds), figsize=(5 * len(kinds), 4), layout="constrained", squeeze=False)
    for axes, kind in zip(every[0], kinds, strict=True):
        rows = [row for row in timed if row["kind"] == kind]
        counts = [row["tuples"] for row in rows]
        for system in rows[0]["baselines"]:
            axes.plot(counts, [row["baselines"][system] for row in rows], marker=".", label=system)
        axes.plot(counts, [row["ours"] for row in rows], marker="o", color="black", label="whence")
        axes.set(xscale="log", yscale="log", xlabel="tuples", ylabel="seconds", title=kind)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "compression-speed.png"
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return [path]


if __name__ == "__main__":
    main(run, plot)
