"""Logs for the tests of the explorer, its screenshots and its benchmark."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

from whence.log import Log
from whence.log import open as open_log

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "<script>document.title='taken'</script>",
    "a&b;'\"`${x}",
    "../../etc/passwd",
    "name with spaces#1",
    "javascript:alert(1)",
)
"""Names of datasets that would do harm if they were not escaped."""

UNPRINTED = "\x1b[31mred\x1b[0m abc\u202egnp.exe"
"""A string that a command may contain, but no dataset name: a terminal escape, and a character that reverses text."""


def project(directory: Path) -> Path:
    """Make a small project: readings fetched in versions, cleaned, and models trained in a sweep with one failed run,
    by two people; and an image whose hot spots are found.

    The values of the arrays are next to it, in `values`.
    """
    path = directory / "project.whence"
    with open_log(path) as log:
        fill(log, directory)
    return path


def fill(log: Log, directory: Path) -> None:
    """Record that project in a log; its files are in the directory."""
    for version in range(1, 4):
        with log.activity("fetch.py", command=f"python fetch.py --day {version}", agent="ada") as run:
            raw = _written(directory / "raw" / "readings.csv", _readings(version))
            run.generated(raw)
    with log.activity("clean.py", command="python clean.py raw/readings.csv", agent="ada") as run:
        run.used(raw).generated(_written(directory / "clean.csv", _readings(3).replace("9", "8")))
    for number, rate in enumerate(("0.01", "0.03", "0.1", "0.3"), 1):
        _trained(log, directory, rate, fails=number == 4)
    with log.activity("report.py", command="python report.py model.bin", agent="bob") as run:
        run.used(directory / "model.bin", directory / "clean.csv")
        run.generated(_written(directory / "report.md", "# Report\n"))
    arrays = _spots(log)
    values = directory / "values"
    values.mkdir(exist_ok=True)
    for name, array in arrays.items():
        np.save(values / f"{name}.npy", array)


def _trained(log: Log, directory: Path, rate: str, *, fails: bool) -> None:
    command = f"python train.py --data clean.csv --rate {rate} --out model.bin"
    with log.activity("train.py", command=command, agent="bob") as run:
        run.used(directory / "clean.csv")
        if fails:
            run.note(exit_code=1, error="FloatingPointError: overflow")
        else:
            run.generated(_written(directory / "model.bin", f"weights at {rate}"))


def _spots(log: Log) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    rows, columns = np.mgrid[0:48, 0:64]
    thermal = 0.3 + 0.002 * columns
    for row, column in ((12, 20), (33, 44)):
        thermal = thermal + np.exp(-((rows - row) ** 2 + (columns - column) ** 2) / 18)
    thermal[40, 5] = np.nan

    def smooth(image):  # type: ignore[no-untyped-def] # any function of a user
        return (image[1:, 1:] + image[:-1, 1:] + image[1:, :-1] + image[:-1, :-1]) / 4

    def peaks(image):  # type: ignore[no-untyped-def] # likewise
        return np.stack([image[:, :32].max(axis=1), image[:, 32:].max(axis=1)])

    smoothed = log.track(smooth, names={"image": "thermal", "return": "smooth"})(thermal)
    return {"thermal": thermal, "smooth": smoothed, "peaks": log.track(peaks)(smoothed)}


def hostile(directory: Path) -> Path:
    """Make a log whose datasets have names that would do harm if they were not escaped."""
    path = directory / "hostile.whence"
    with open_log(path) as log:
        for name in HOSTILE:
            log.array(name, shape=(3, 2))
        for before, after in itertools.pairwise(HOSTILE):
            log.register_operation(f"{after} by hand", [before], [after], capture=["identity"])
        with log.activity("shown", command=UNPRINTED, agent=HOSTILE[0]) as run:
            run.used(HOSTILE[0])
    return path


def _readings(version: int) -> str:
    random = np.random.default_rng(version)
    lines = [f"{hour},{station},{value:.1f}" for hour, (station, value) in
             enumerate(zip(random.integers(0, 4, 40), random.normal(12, 3, 40), strict=True))]  # fmt: skip
    return "\n".join(["hour,station,value", *lines]) + "\n"


def _written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
