"""Shared code of the benchmark scripts: the form of a claim, sizes, timing, temporary files, the command line."""

from __future__ import annotations

import argparse
import gc
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Claim = dict[str, Any]
Progress = Callable[[str], None]
Run = Callable[..., list[Claim]]
Plot = Callable[[list[Claim], Path], list[Path]]

SIZES = ("tiny", "small", "full")


def check_size(size: str) -> str:
    """Return the size; raise an error that names the three sizes if it is not one."""
    if size not in SIZES:
        raise ValueError(f"there is no size {size!r}; choose one of {', '.join(SIZES)}")
    return size


def claim(
    name: str,
    ours: float,
    baselines: Mapping[str, float | None],
    *,
    unit: str,
    against: Collection[str] | None = None,
    at_least: float = 1.0,
    at_most: float | None = None,
    ratio: float | None = None,
    true: bool = True,
    **more: Any,
) -> Claim:
    """Make one claim, in which less is always better; it holds exactly if ratio >= target.

    `ratio` is the best baseline (of those in `against`, or of all) divided by ours, unless it is given: the median of
    many ratios is not the ratio of the medians. The target is a ratio, `at_least`, or a bound on our own number,
    `at_most`, which is converted to a ratio for this run. A baseline of None was not measured. A claim with
    `true=False` (an answer was wrong) does not hold.

    >>> claim("size", 2.0, {"Parquet": 8.0, "Raw": 9.0}, unit="MB", at_least=3)["holds"]
    True
    """
    known = {key: value for key, value in baselines.items() if value is not None}
    best = min((value for key, value in known.items() if against is None or key in against), default=None)
    if best is None:
        raise ValueError(f"the claim {name!r} has no baseline to compare with")
    if ratio is None:
        ratio = best / ours if ours > 0 else float("inf")
    if at_most is None:
        opponents = " or ".join(against) if against else "any baseline"
        target, reached, goal = at_least, ratio >= at_least, f"{at_least:g}x {opponents}"
    else:
        target, reached, goal = best / at_most, ours <= at_most, f"at most {at_most:.4g} {unit}"
    return {
        "name": name, "ours": ours, "baselines": dict(baselines), "ratio": ratio, "target": target,
        "holds": bool(reached and true), "unit": unit, "goal": goal, "correct": true, **more,
    }  # fmt: skip


@contextmanager
def workspace() -> Iterator[Path]:
    """Make a temporary directory that is always removed afterwards."""
    path = Path(tempfile.mkdtemp(prefix="whence-bench-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def seconds(
    work: Callable[[], Any], repeat: int = 3, budget: float = 2.0, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Return the median wall-clock time of a call, over at most `repeat` calls and about `budget` seconds."""
    times: list[float] = []
    gc.collect()
    while len(times) < repeat and (not times or sum(times) < budget):
        start = clock()
        work()
        times.append(clock() - start)
    return statistics.median(times)


def quiet(_: str) -> None:
    """Show no progress."""


def show(claims: list[Claim]) -> None:
    """Print the claims as a table on the terminal."""
    from rich.console import Console
    from rich.table import Table

    table = Table()
    for header, side in (("claim", "left"), ("ours", "right"), ("best other", "right"), ("ratio", "right")):
        table.add_column(header, justify=side, overflow="fold")  # type: ignore[arg-type] # a string that rich accepts
    table.add_column("goal")
    table.add_column("holds")
    for row in claims:
        known = {key: value for key, value in row["baselines"].items() if value is not None}
        best = min(known, key=lambda key: known[key])
        unit = row["unit"]
        table.add_row(
            row["name"], f"{row['ours']:.4g} {unit}", f"{best} {known[best]:.4g} {unit}", f"{row['ratio']:.3g}x",
            row["goal"], "yes" if row["holds"] else "[bold red]NO[/]",
        )  # fmt: skip
    Console().print(table)


def main(run: Run, plot: Plot) -> None:
    """`python bench/NAME.py [--size SIZE] [--json FILE] [--plot DIRECTORY]`."""
    parser = argparse.ArgumentParser(description=(run.__doc__ or "").strip())
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the claims here")
    parser.add_argument("--plot", type=Path, metavar="DIRECTORY", help="draw them as PNG files into this directory")
    options = parser.parse_args()
    claims = run(options.size, progress=lambda text: print(text, flush=True))
    show(claims)
    if options.json:
        options.json.write_text(json.dumps({"claims": claims}, indent=2) + "\n")
    if options.plot:
        for path in plot(claims, options.plot):
            print(f"drawn: {path}")


def dots(claims: list[Claim], path: Path, title: str, label: str) -> Path:
    """Draw a line for each claim with a dot for each system, on a logarithmic scale: further left is better."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    systems = [*dict.fromkeys(key for row in claims for key in row["baselines"]), "whence"]
    figure, axes = plt.subplots(figsize=(9, 1.5 + 0.32 * len(claims)), layout="constrained")
    for place, system in enumerate(systems):
        values = [row["ours"] if system == "whence" else row["baselines"].get(system) for row in claims]
        points = [(value, number) for number, value in enumerate(values) if value is not None]
        ours = system == "whence"
        axes.scatter(
            [value for value, _ in points], [number for _, number in points],
            s=60 if ours else 34, marker="D" if ours else "o", label=system,
            color="black" if ours else f"C{place}", zorder=3 if ours else 2,
        )  # fmt: skip
    axes.set_yticks(range(len(claims)), [row["name"].split(":")[0] for row in claims])
    axes.set_ylim(len(claims) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.set_xlabel(label)
    axes.set_title(title)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=4, fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path
