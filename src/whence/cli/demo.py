"""`whence demo`: the main jobs end to end, on an image and a shop of its own making."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.cli._options import json_option
from whence.cli._output import emit_json, emit_table
from whence.errors import MissingExtra, Redefined
from whence.words import in_units

if TYPE_CHECKING:
    from whence.cli._hotspot import Floats, Ints, Step
    from whence.log import Log
    from whence.selection import Selection

Cells = set[tuple[int, ...]]
LOG_NAME = "hotspot.whence"
ASKED_SPOT = 0
FORWARD_ENDS = ("spots", "overview")


@dataclass(frozen=True, slots=True)
class Stored:
    """One step's lineage: its raw tuples, and what the log keeps of them."""

    operation: str
    output: str
    shape: tuple[int, ...]
    tuples: int
    csv_bytes: int
    int64_bytes: int
    boxes: int
    stored_bytes: int


@dataclass(frozen=True, slots=True)
class Answer:
    """One question to the log, its answer, and whether brute force over the tuples agrees."""

    question: str
    dataset: str
    cells: Selection
    seconds: float
    brute_seconds: float
    agrees: bool

    def as_dict(self) -> dict[str, Any]:
        """The same, ready for JSON."""
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
    help="Where the log and the picture go. Default: demo-out",
)
@click.option(
    "--only",
    type=click.Choice(["arrays", "rows"]),
    help="One part: cells of arrays, or rows of a Spark pipeline. Otherwise both.",
)
@json_option
def command(out: Path, only: str | None, as_json: bool) -> None:
    """Trace a hot spot of an image to its pixels, and a row of a Spark report to its source rows.

    A made-up thermal image is rotated, flipped, smoothed and thresholded; hot pixels are grouped into spots. The
    lineage of each step goes into a log. Then one spot is traced back to its pixels and one pixel forward to the
    results, the answers are compared with brute force over all tuples, and the spot is drawn as a picture.

    A made-up shop's tables are joined, filtered and grouped by Spark; one row of the result is traced back to the rows
    of three files, and a customer forward to the rows it is in; pandas checks the answers.
    """
    out.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {}
    agrees = True
    if only != "rows":
        agrees = _arrays(out, as_json, found)
    if only != "arrays":
        agrees = _rows(out, as_json, found, required=only == "rows") and agrees
    if as_json:
        emit_json(found)
    if not agrees:
        click.echo("the log and the brute force disagree: this is a bug of whence, please report it", err=True)
        raise SystemExit(1)


def _arrays(out: Path, as_json: bool, found: dict[str, Any]) -> bool:
    """Cells of arrays; whether the answers are right."""
    import whence as wh
    from whence.cli import _hotspot

    image = _hotspot.thermal()
    steps = list(_hotspot.run(image))
    with wh.open(out / LOG_NAME) as log:
        forget(log, {"thermal", *(step.output for step in steps)})
        record(log, image, steps)
        sizes = [measure(log, step) for step in steps]
        answers = ask(log, steps)
    picture = draw(image, steps, answers[0], out / "hotspot.png")
    found |= {
        "log": str(out / LOG_NAME),
        "picture": str(picture),
        "steps": [asdict(each) for each in sizes],
        "answers": [each.as_dict() for each in answers],
    }
    if not as_json:
        report(steps, sizes, answers, out / LOG_NAME, picture)
    return all(each.agrees for each in answers)


def _rows(out: Path, as_json: bool, found: dict[str, Any], required: bool) -> bool:
    """Rows of a Spark pipeline, where Spark is installed; whether the answers are right."""
    from whence.cli import _demo_rows

    try:
        shop = _demo_rows.run(out)
    except MissingExtra as error:
        if required:
            raise
        found["rows"] = None
        click.echo(f"\nThe part on rows of Spark pipelines is left out: {error}", err=as_json)
        return True
    found["rows"] = shop.as_dict()
    if not as_json:
        if "steps" in found:
            click.echo("\n")
        _demo_rows.report(shop)
    return shop.agrees


def forget(log: Log, names: set[str]) -> None:
    """Remove what an earlier demo recorded, and nothing else."""
    there = [dataset.name for dataset in log.datasets()]
    if strangers := set(there) - names:
        raise Redefined(f"{log.where} holds {sorted(strangers)[0]!r}, which is not of the demo: choose another --out")
    for name in there:
        log.delete(name, force=True)
    log.collect()


def record(log: Log, image: Floats, steps: list[Step]) -> None:
    """Tell the log about every array and every step."""
    log.array("thermal", shape=image.shape)
    for step in steps:
        log.array(step.output, shape=step.array.shape)
        log.register_operation(
            step.operation, [step.input], [step.output], capture=[step.tuples], op_args=step.arguments
        )


def measure(log: Log, step: Step) -> Stored:
    """How small the log keeps the lineage of a step."""
    [derivation] = log.show(step.output).derived_from
    return Stored(
        operation=step.operation,
        output=step.output,
        shape=step.array.shape,
        tuples=len(step.tuples),
        csv_bytes=csv_bytes(step.tuples),
        int64_bytes=step.tuples.size * 8,
        boxes=derivation.boxes,
        stored_bytes=derivation.size,
    )


def csv_bytes(tuples: Ints) -> int:
    """The size of the tuples as a CSV file: their digits, and one separator or line end for each number.

    >>> import numpy as np
    >>> csv_bytes(np.array([(0, 12), (345, 6)])), len("0,12\\n345,6\\n")
    (11, 11)
    """
    import numpy as np

    powers = 10 ** np.arange(1, 19)
    digits = sum(int((np.searchsorted(powers, column, side="right") + 1).sum()) for column in tuples.T)
    return digits + tuples.size


def ask(log: Log, steps: list[Step]) -> list[Answer]:
    """One spot back to the pixels, and one of these pixels forward to every result."""
    spots = next(step.array for step in steps if step.output == "spots")
    spot: Cells = {(ASKED_SPOT, column) for column in range(spots.shape[1])}
    pixels = _timed(log, steps, "backward", "spots", f"{ASKED_SPOT},:", spot, "thermal")
    cells = pixels.cells.cells()
    pixel = tuple(int(index) for index in cells[len(cells) // 2])
    text = ",".join(map(str, pixel))
    return [pixels, *(_timed(log, steps, "forward", "thermal", text, {pixel}, end) for end in FORWARD_ENDS)]


def _timed(log: Log, steps: list[Step], direction: str, dataset: str, text: str, asked: Cells, end: str) -> Answer:
    start = time.perf_counter()
    found = (log.backward if direction == "backward" else log.forward)(dataset, text, to=end)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    expected = brute_force(steps, direction, dataset, asked, end)
    brute_seconds = time.perf_counter() - start
    agrees = {tuple(cell) for cell in found.cells().tolist()} == expected
    return Answer(f"{direction} {dataset}[{text}]", end, found, seconds, brute_seconds, agrees)


def brute_force(steps: list[Step], direction: str, dataset: str, asked: Cells, end: str) -> Cells:
    """The same question answered by looking at every tuple of every step on the way."""
    from whence.cli._hotspot import follow

    first, last = (end, dataset) if direction == "backward" else (dataset, end)
    makers = {step.output: step for step in steps}
    way = []
    while last != first:  # upstream from the later dataset: each has one input
        way.append(makers[last])
        last = makers[last].input
    for step in way if direction == "backward" else reversed(way):
        asked = follow(step.tuples, asked, step.array.ndim, forward=direction == "forward")
    return asked


def draw(image: Floats, steps: list[Step], pixels: Answer, path: Path) -> Path:
    """The pixels of the spot on the sensor's image, and the spot where the pipeline saw it."""
    from whence.cli._overlay import Panel, compose

    arrays = {step.output: step for step in steps}
    spots, smooth = arrays["spots"].array, arrays["smooth"].array.astype(float)
    spot: Cells = {(ASKED_SPOT, column) for column in range(spots.shape[1])}
    seen = brute_force(steps, "backward", "spots", spot, "smooth")
    marked = smooth != smooth
    marked[tuple(zip(*sorted(seen), strict=True))] = True
    row, column, size = spots[ASKED_SPOT]
    count = len(pixels.cells)
    heading = f"Where did hot spot {ASKED_SPOT} come from? From these {count} pixels, through five operations."
    before = Panel(
        "thermal: what the sensor saw", image, pixels.cells.mask(),
        f"backward spots[{ASKED_SPOT}, :] to thermal: {count} pixels, outlined",
    )  # fmt: skip
    after = Panel(
        "smooth: rotated, flipped and smoothed", smooth, marked,
        f"spots[{ASKED_SPOT}, :] = row {row:.1f}, column {column:.1f}, {size:.0f} hot pixels, outlined",
    )  # fmt: skip
    compose(heading, (before, after)).save(path, optimize=True)
    return path


def report(steps: list[Step], sizes: list[Stored], answers: list[Answer], log: Path, picture: Path) -> None:
    """All of it, for a person."""
    spots = next(step.array for step in steps if step.output == "spots")
    click.echo("A thermal image of 480 x 640 pixels: rotated, flipped, smoothed, thresholded, grouped into spots.\n")
    rows = [
        (
            each.operation,
            " x ".join(map(str, each.shape)),
            f"{each.tuples:,}",
            in_units(each.csv_bytes),
            in_units(each.int64_bytes),
            f"{each.boxes:,}",
            in_units(each.stored_bytes),
            f"{each.csv_bytes / each.stored_bytes:,.0f}x",
        )
        for each in sizes
    ]
    columns = ("operation", "output", "tuples", "as CSV", "as int64", "boxes", "stored", "smaller")
    emit_table(columns, rows, numbers=columns[2:], aligned=True)
    tuples = sum(each.tuples for each in sizes)
    csv, stored = sum(each.csv_bytes for each in sizes), sum(each.stored_bytes for each in sizes)
    click.echo(f"\nTogether {tuples:,} tuples: {in_units(csv)} as CSV, {in_units(stored)} in the log.")
    click.echo(f"\nHot spots found: {len(spots)}")
    for number, (row, column, size) in enumerate(spots):
        click.echo(f"  spots[{number}]  centre {row:.1f}, {column:.1f}, {size:.0f} pixels")
    for each in answers:
        verdict = "the same" if each.agrees else "SOMETHING ELSE"
        count = each.cells.count
        said = f"{count} cell{'' if count == 1 else 's'}"
        click.echo(f"\n{each.question} to {each.dataset}: {said}, in {each.seconds * 1000:.1f} ms")
        click.echo(f"  {_brief(each.cells)}")
        click.echo(f"  brute force over every tuple on the way says {verdict}, in {each.brute_seconds * 1000:.0f} ms")
    click.echo(f"\nThe picture:  {picture}")
    click.echo(f"The log:      {log}")
    click.echo(f"Ask yourself: whence backward spots 1,: --to thermal --log {log}")


def _brief(cells: Selection, most: int = 4) -> str:
    from whence.cli._ask import spelled

    boxes = spelled(cells)
    return "  ".join(boxes[:most]) + (f"  ... and {len(boxes) - most} more boxes" if len(boxes) > most else "")
