"""`whence demo`: the main features end to end, on a generated image and a generated shop."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.cli._options import json_option
from whence.cli._output import emit_json, emit_table
from whence.errors import MissingExtra, Redefined
from whence.words import in_units

if TYPE_CHECKING:
    from whence.cli._hotspot import Brute, Cells, Floats
    from whence.log import Log
    from whence.selection import Selection

LOG_NAME = "demo.whence"
VALUES = "values"  # the directory of the arrays for the explorer; the log has no values
ASKED_SPOT = 0
FORWARD_ENDS = ("spots", "overview")
DATASETS = ("thermal", "smooth", "spots", "overview")
OTHERS = (  # what the parts about files and rows record
    "sensors", "sensors.csv", "daily", "report", "customers", "orders", "lines", "cents", "euros",
    "shop/customers.parquet", "shop/orders.parquet", "shop/lines.csv", "shop/report.sql",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stored:
    """The lineage of one function: its number of tuples, and its size in the log."""

    function: str
    shape: tuple[int, ...]
    tuples: int
    int64_bytes: int
    boxes: int
    stored_bytes: int


@dataclass(frozen=True, slots=True)
class Answer:
    """One question to the log, its answer, and whether brute force agrees."""

    question: str
    dataset: str
    cells: Selection
    seconds: float
    brute_seconds: float
    agrees: bool

    def as_dict(self) -> dict[str, Any]:
        """Return this as a dictionary for JSON."""
        return {
            "question": self.question,
            "dataset": self.dataset,
            "count": self.cells.count,
            "boxes": self.cells.boxes.tolist(),
            "seconds": self.seconds,
            "brute_seconds": self.brute_seconds,
            "agrees": self.agrees,
        }


@click.command("demo")
@click.option(
    "--out",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo-out"),
    help="Directory for the log and the picture. Default: demo-out",
)
@click.option(
    "--only",
    type=click.Choice(["arrays", "rows"]),
    help="Run one part: cells of arrays, or rows of a Spark pipeline. Default: both.",
)
@click.option("--open", "open_", is_flag=True, help="Then show the log of all this in a browser.")
@json_option
def command(out: Path, only: str | None, open_: bool, as_json: bool) -> None:
    """Trace a hot spot of an image to its pixels, and a row of a Spark report to its source rows.

    Arrays: ordinary functions rotate, flip, smooth and threshold a generated thermal image, and group hot pixels into
    spots; log.track records their lineage. The demo traces one spot back to its pixels and one pixel forward to the
    results, compares the answers with brute force, and draws the spot.

    Files: a report of generated readings shows a NaN, which the demo traces to one cell of a CSV file.

    Rows: Spark joins, filters and groups the tables of a generated shop. The demo traces one row of the result back to
    the rows of three files, and a customer forward to output rows; pandas checks the answers.

    \b
      whence demo
      whence demo --only arrays --open
    """
    out.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {}
    agrees = True
    if only != "rows":
        agrees = _demo_of_arrays(out, as_json, found)
    if only != "arrays":
        agrees = _demo_of_rows(out, as_json, found, required=only == "rows") and agrees
    if as_json:
        emit_json(found)
    if not agrees:
        click.echo("the log and the brute force disagree: this is a bug in whence, please report it", err=True)
        raise SystemExit(1)
    if open_:
        _show(out / LOG_NAME, out)


def _show(log: Path, out: Path) -> None:
    from whence.cli.ui import show

    show(str(log), None, values=(str(out / VALUES),), port=0, is_opened=True)


def _demo_of_arrays(out: Path, as_json: bool, found: dict[str, Any]) -> bool:
    """Run the part about arrays; return whether the answers are right."""
    import numpy as np

    import whence as wh
    from whence.cli import _demo_nan, _hotspot

    image = _hotspot.thermal()
    with wh.open(out / LOG_NAME) as log:
        forget(log)
        arrays = compute(log, image)
        sizes = [measure(log, name, array) for name, array in arrays.items()]
        answers = ask(log, _hotspot.Brute(image))
        seen = log.backward("spots", f"{ASKED_SPOT},:", to="smooth")
    (out / VALUES).mkdir(exist_ok=True)
    for name, array in {"thermal": image, **arrays}.items():
        np.save(out / VALUES / f"{name}.npy", array)
    picture = draw(image, arrays, answers[0], seen, out / "hotspot.png")
    traced = _demo_nan.run(out / LOG_NAME, out / VALUES)
    found |= {
        "log": str(out / LOG_NAME),
        "picture": str(picture),
        "steps": [asdict(each) for each in sizes],
        "answers": [each.as_dict() for each in answers],
        "nan": traced.as_dict(),
    }
    if not as_json:
        report(arrays["spots"], sizes, answers, out / LOG_NAME, picture)
        click.echo("\n")
        _demo_nan.report(traced)
    return traced.agrees and all(each.agrees for each in answers)


def _demo_of_rows(out: Path, as_json: bool, found: dict[str, Any], required: bool) -> bool:
    """Run the part about a Spark pipeline, if Spark is installed; return whether the answers are right."""
    from whence.cli import _demo_rows

    try:
        shop = _demo_rows.run(out / LOG_NAME)
    except MissingExtra as error:
        if required:
            raise
        found["rows"] = None
        click.echo(f"\nThe demo leaves out Spark pipelines: {error}", err=as_json)
        return True
    found["rows"] = shop.as_dict()
    if not as_json:
        if "steps" in found:
            click.echo("\n")
        _demo_rows.report(shop)
    return shop.agrees


def forget(log: Log) -> None:
    """Delete the arrays that an earlier demo recorded; raise Redefined if the log has anything else."""
    there = [dataset.name for dataset in log.datasets()]
    if strangers := {name for name in there if re.split("[@#]", name)[0] not in {*DATASETS, *OTHERS}}:
        raise Redefined(
            f"{log.where} holds {sorted(strangers)[0]!r}, which the demo did not write: choose another --out"
        )
    for name in set(there) & set(DATASETS):
        log.delete(name, force=True)
    log.collect()


def compute(log: Log, image: Floats) -> dict[str, Floats]:
    """Run the program with its three functions tracked."""
    from whence.cli import _hotspot

    log.array("thermal", image)  # a source: nobody will ask how it was made
    smooth = log.track(_hotspot.smooth)(image)
    return {
        "smooth": smooth,
        "spots": log.track(_hotspot.spots)(smooth),
        "overview": log.track(_hotspot.overview)(smooth),
    }


def measure(log: Log, name: str, array: Floats) -> Stored:
    """Measure how much space the lineage of a function takes in the log."""
    derivations = log.show(name).derived_from
    tuples = sum(each.tuples for each in derivations)
    return Stored(
        function=name,
        shape=array.shape,
        tuples=tuples,
        int64_bytes=tuples * (array.ndim + 2) * 8,  # all inputs have two axes
        boxes=sum(each.boxes for each in derivations),
        stored_bytes=sum(each.size for each in derivations),
    )


def ask(log: Log, brute: Brute) -> list[Answer]:
    """Trace one spot back to its pixels, and one of these pixels forward to every result."""
    pixels = _timed_answer(
        f"backward spots[{ASKED_SPOT},:]", "thermal",
        lambda: log.backward("spots", f"{ASKED_SPOT},:", to="thermal"), lambda: brute.backward(ASKED_SPOT),
    )  # fmt: skip
    cells = pixels.cells.cells()
    pixel = tuple(int(index) for index in cells[len(cells) // 2])
    text = ",".join(map(str, pixel))
    return [pixels] + [
        _timed_answer(
            f"forward thermal[{text}]", end,
            partial(log.forward, "thermal", text, to=end), partial(brute.forward, pixel, end),
        )
        for end in FORWARD_ENDS
    ]  # fmt: skip


def _timed_answer(question: str, end: str, asked: Callable[[], Selection], brute: Callable[[], Cells]) -> Answer:
    start = time.perf_counter()
    found = asked()
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    expected = brute()
    brute_seconds = time.perf_counter() - start
    agrees = {tuple(cell) for cell in found.cells().tolist()} == expected
    return Answer(question, end, found, seconds, brute_seconds, agrees)


def draw(image: Floats, arrays: dict[str, Floats], pixels: Answer, seen: Selection, path: Path) -> Path:
    """Draw the pixels of the spot on the sensor's image, and the spot in the smoothed image."""
    from whence.cli._overlay import Panel, compose

    row, column, heat = arrays["spots"][ASKED_SPOT]
    count = len(pixels.cells)
    heading = f"Where did hot spot {ASKED_SPOT} come from? From these {count} pixels, through five operations."
    before = Panel(
        "thermal: what the sensor saw", image, pixels.cells.mask(),
        f"backward spots[{ASKED_SPOT}, :] to thermal: {count} pixels, outlined",
    )  # fmt: skip
    after = Panel(
        "smooth: rotated, flipped and smoothed", arrays["smooth"], seen.mask(),
        f"spots[{ASKED_SPOT}, :] = row {row:.1f}, column {column:.1f}, heat {heat:.2f}: {len(seen)} pixels, outlined",
    )  # fmt: skip
    compose(heading, (before, after)).save(path, optimize=True)
    return path


def report(spots: Floats, sizes: list[Stored], answers: list[Answer], log: Path, picture: Path) -> None:
    """Print the results."""
    click.echo("A thermal image of 480 x 640 pixels: rotated, flipped, smoothed, thresholded, grouped into spots,")
    click.echo("by three ordinary functions, each under log.track.\n")
    rows = [
        (
            each.function,
            " x ".join(map(str, each.shape)),
            f"{each.tuples:,}",
            in_units(each.int64_bytes),
            f"{each.boxes:,}",
            in_units(each.stored_bytes),
            f"{each.int64_bytes / each.stored_bytes:,.0f}x",
        )
        for each in sizes
    ]
    columns = ("function", "result", "tuples", "as int64", "boxes", "stored", "smaller")
    emit_table(columns, rows, numbers=columns[2:], aligned=True)
    tuples = sum(each.tuples for each in sizes)
    raw, stored = sum(each.int64_bytes for each in sizes), sum(each.stored_bytes for each in sizes)
    click.echo(f"\nTogether {tuples:,} tuples: {in_units(raw)} as int64, {in_units(stored)} in the log.")
    click.echo(f"\nHot spots found: {len(spots)}")
    for number, (row, column, heat) in enumerate(spots):
        click.echo(f"  spots[{number}]  centre {row:.1f}, {column:.1f}, heat {heat:.2f}")
    for each in answers:
        verdict = "the same" if each.agrees else "SOMETHING ELSE"
        count = each.cells.count
        said = f"{count} cell{'' if count == 1 else 's'}"
        click.echo(f"\n{each.question} to {each.dataset}: {said}, in {each.seconds * 1000:.1f} ms")
        click.echo(f"  {_brief(each.cells)}")
        click.echo(f"  brute force says {verdict}, in {each.brute_seconds * 1000:.0f} ms")
    click.echo(f"\nThe picture:  {picture}")
    click.echo(f"The log:      {log}")
    click.echo(f"Ask yourself: whence backward spots 1,: --to thermal --log {log}")
    click.echo(f"Look at it:   whence ui --log {log} --values {log.parent / VALUES}")


def _brief(cells: Selection, most: int = 4) -> str:
    from whence.cli._ask import spelled

    boxes = spelled(cells)
    return "  ".join(boxes[:most]) + (f"  ... and {len(boxes) - most} more boxes" if len(boxes) > most else "")
