"""Time of everyday programs with lineage, compared with the bare functions.

This is processor time: nothing here waits for a disk, and other programs on the machine do not count.
"""

from __future__ import annotations

import sys
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that `python bench/NAME.py` finds `bench`
from bench._common import Claim, Progress, check_size, claim, main, quiet, workspace
from bench._common import seconds as seconds_by

import whence as wh
from whence.testing.programs import PROGRAMS, Program

seconds = partial(seconds_by, clock=time.process_time)
CELLS = {"tiny": (600,), "small": (600, 40_000, 1_000_000), "full": (600, 40_000, 1_000_000)}
TIMES = 10.0  # times the bare function's own time
AT_ONCE = 0.5  # seconds that are always acceptable, however fast the bare function is


def run(size: str = "small", progress: Progress = quiet) -> list[Claim]:
    """First and later calls of everyday programs under `log.track`, at three sizes, beside the bare functions."""
    claims: list[Claim] = []
    for cells in CELLS[check_size(size)]:
        for program in PROGRAMS:
            progress(f"{program.name}, {cells:,} cells")
            claims.append(_measured(program, cells))
    return claims


def _measured(program: Program, cells: int) -> Claim:
    x = program.make(cells)
    bare = seconds(lambda: program.function(x.copy()))
    with workspace() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # these programs take numbers out of arrays on purpose
        with wh.open(folder / "log") as log:
            tracked = log.track(program.function, name=program.name)
            first = seconds(lambda: tracked(x.copy()), repeat=1)
            again = seconds(lambda: tracked(x.copy()))
            size = sum(each.size for name in tracked.last.outputs for each in log.show(name).derived_from)
    return claim(
        f"{program.field}: {program.name}, {x.size:,} cells",
        first,
        {"bare NumPy": bare},
        unit="s",
        at_most=max(AT_ONCE, TIMES * bare),
        again=again,
        stored=size,
    )


def plot(claims: list[Claim], directory: Path) -> list[Path]:
    """Draw both times of each program, one point for each size."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 5))
    bare: list[Any] = [each["baselines"]["bare NumPy"] for each in claims]
    for label, key in (("the first call", "ours"), ("a later call", "again")):
        axes.loglog(bare, [each[key] for each in claims], "o", alpha=0.7, label=label)
    axes.loglog(bare, bare, "k-", lw=0.8, label="no overhead")
    axes.set_xlabel("the bare function, seconds")
    axes.set_ylabel("with lineage recorded, seconds")
    axes.legend()
    target = directory / "programs.png"
    figure.savefig(target, dpi=120, bbox_inches="tight")
    plt.close(figure)
    return [target]


if __name__ == "__main__":
    main(run, plot)
