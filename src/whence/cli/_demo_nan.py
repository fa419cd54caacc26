"""The part of `whence demo` that traces a NaN in a report to one cell of a CSV file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

import whence as wh
from whence.cli._ask import spelled
from whence.words import counted

Floats = NDArray[np.float64]
DAYS, HOURS, SENSORS = 14, 24, 6
BROKEN = (200, 4)


def daily(readings: Floats) -> Floats:
    """Return by how much each day's highest reading exceeds the day's mean, for each sensor."""
    days = readings.reshape(-1, HOURS, readings.shape[1])
    highest: Floats = (days - days.mean(axis=1, keepdims=True)).max(axis=1)
    return highest


@dataclass(frozen=True, slots=True)
class Traced:
    """The NaN of a report, the readings it came from, and those of them that are NaN."""

    log: Path
    file: Path
    files: list[str]
    hole: tuple[int, ...]
    readings: wh.Selection
    cells: list[tuple[int, ...]]
    texts: list[str]
    agrees: bool

    def as_dict(self) -> dict[str, Any]:
        """Return this as a dictionary for JSON."""
        return {
            "log": str(self.log),
            "file": str(self.file),
            "report": list(self.hole),
            "boxes": self.readings.boxes.tolist(),
            "cells": [list(cell) for cell in self.cells],
            "texts": self.texts,
            "agrees": self.agrees,
        }


def run(where: Path, values: Path) -> Traced:
    """Write the file, run the program, ask the log, and check the answer; save the values for the explorer."""
    path = write(where.parent / "sensors.csv")
    with wh.open(where) as log:
        tracked = log.track(daily)
        with log.activity("read sensors.csv"):
            readings = np.loadtxt(path, delimiter=",")
            report = tracked(readings)
        [taken], [given] = tracked.last.inputs, tracked.last.outputs
        spoiled = np.isnan(report)
        np.save(values / f"{taken}.npy", readings)
        np.save(values / f"{given}.npy", report)
        found = log.backward(given, spoiled, to=taken)
        files = sorted(log.backward(given, spoiled))
    [hole] = [tuple(cell) for cell in np.argwhere(spoiled).tolist()]
    cells = [tuple(cell) for cell in np.argwhere(found.mask() & np.isnan(readings)).tolist()]
    lines = path.read_text(encoding="utf-8").splitlines()
    texts = [lines[line].split(",")[field] for line, field in cells]
    agrees = bool(np.array_equal(found.mask(), spoils(readings, hole)))
    return Traced(where, path, files, hole, found, cells, texts, agrees)


def write(path: Path) -> Path:
    """Write generated readings, a line for each hour and a field for each sensor; one of them is missing."""
    readings = np.random.default_rng(5).normal(12, 3, (DAYS * HOURS, SENSORS))
    readings[BROKEN] = np.nan
    np.savetxt(path, readings, fmt="%.1f", delimiter=",")
    return path


def spoils(readings: Floats, hole: tuple[int, ...]) -> NDArray[np.bool_]:
    """Find by brute force which readings, set to NaN one at a time, make this cell of the report NaN."""
    whole = np.nan_to_num(readings)
    found = np.zeros(readings.shape, dtype=bool)
    for cell in np.ndindex(*readings.shape):
        kept, whole[cell] = whole[cell], np.nan
        found[cell] = np.isnan(daily(whole)[hole])
        whole[cell] = kept
    return found


def report(traced: Traced) -> None:
    """Print the results."""
    day, sensor = traced.hole
    click.echo(
        f"A file of readings, {DAYS * HOURS} hours of {SENSORS} sensors, becomes a report by one tracked function.\n"
    )
    click.echo(f"Why is daily[{day},{sensor}] NaN? It came from {counted(traced.readings.count, 'reading')}:")
    click.echo(f"  {'  '.join(spelled(traced.readings))}  of {', '.join(traced.files)}")
    for (line, field), text in zip(traced.cells, traced.texts, strict=True):
        click.echo(f"  one of them is missing: {traced.file}, line {line + 1}, field {field + 1}: {text!r}")
    verdict = "the same" if traced.agrees else "SOMETHING ELSE"
    click.echo(f"  brute force, which breaks each reading in turn, says {verdict}")
