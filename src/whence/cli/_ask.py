"""What `whence backward` and `whence forward` share: ask the log, and print selections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from whence.cli._names import named
from whence.cli._options import blobs_option, json_option, log_option, open_log
from whence.cli._output import emit_json, emit_table, terminal

if TYPE_CHECKING:
    from whence.selection import Selection

Direction = Literal["backward", "forward"]
SHOWN_BOXES = 12  # boxes of one dataset on a terminal; a pipe and --json get all

out_option = click.option(
    "--out",
    metavar="FILE.png",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the answer as a picture (one to three axes).",
)

_PARAMETERS: tuple[Callable[[Any], Any], ...] = (
    click.argument("dataset"),
    click.argument("cells", required=False),
    click.option("--to", metavar="NAME", help="The dataset to end at; otherwise all sources (or all final results)."),
    out_option,
    log_option,
    blobs_option,
    json_option,
)


def question(direction: Direction, help: str) -> click.Command:
    """The command that asks in one direction."""

    def ask(
        dataset: str,
        cells: str | None,
        to: str | None,
        out: Path | None,
        log: str | None,
        blobs: str | None,
        as_json: bool,
    ) -> None:
        with open_log(log, blobs) as opened:
            asking = opened.backward if direction == "backward" else opened.forward
            start, end = named(opened, dataset), None if to is None else named(opened, to)
            if cells is None and opened.show(start).dataset.shape:
                raise click.UsageError(
                    f"say which cells of {dataset!r} are meant: 3,4 or 0:10,5 or ... for all of them"
                )
            answer = asking(start, cells) if end is None else asking(start, cells, to=end)
        found: Mapping[str, Selection] = answer if isinstance(answer, Mapping) else {str(to): answer}
        how = getattr(answer, "how", "")
        asked: dict[str, object] = {"direction": direction, "dataset": dataset, "cells": cells}
        if how:
            asked["how"] = how
        if how and not as_json:
            click.echo(how, err=not terminal())  # through a pipe, only the table
        if answer.notes and as_json:
            asked["notes"] = list(answer.notes)
        emit_answers(found, out, asked if as_json else None)
        for note in () if as_json else answer.notes:
            click.echo(f"note: {note}", err=True)

    for parameter in reversed(_PARAMETERS):
        ask = parameter(ask)
    return click.command(direction, help=help)(ask)


def emit_answers(found: Mapping[str, Selection], out: Path | None, asked: Mapping[str, object] | None) -> None:
    """Draw the answers if there is a file to draw into, and print them: as JSON with what was asked, or as a table."""
    if out is not None:
        _draw_cells(found, out)
    if asked is not None:
        emit_json({**asked, "answers": answers(found)})
    elif terminal():
        _show(found)
    else:
        emit_table(("dataset", "cells"), [(name, text) for name, sel in found.items() for text in spelled(sel)])


def answers(found: Mapping[str, Selection]) -> list[dict[str, object]]:
    """The selections as JSON: each box is a [first, last] pair for each axis, both ends included."""
    return [
        {"dataset": name, "shape": list(sel.shape), "count": sel.count, "boxes": sel.boxes.tolist()}
        for name, sel in found.items()
    ]


def spelled(selection: Selection) -> list[str]:
    """Each box as a command takes it: `3,4`, `0:10,5`; a dataset without axes has the one cell `()`."""
    spans = ([(first, last + 1) for first, last in box] for box in selection.boxes.tolist())
    return [
        ",".join(str(first) if stop == first + 1 else f"{first}:{stop}" for first, stop in box) or "()" for box in spans
    ]


def _show(found: Mapping[str, Selection]) -> None:
    rows = []
    for name, selection in found.items():
        texts = spelled(selection)
        if len(texts) > SHOWN_BOXES + 1:  # one more line is no longer than saying that it is left out
            texts[SHOWN_BOXES:] = [f"... and {len(texts) - SHOWN_BOXES:,} more boxes (--json lists all)"]
        rows.append((name, f"{selection.count:,}", "\n".join(texts) or "none"))
    emit_table(("dataset", "count", "cells"), rows, numbers=("count",))


def _draw_cells(found: Mapping[str, Selection], out: Path) -> None:
    if len(found) != 1:
        ends = ", ".join(found) or "nothing"
        raise click.UsageError(f"a picture shows one dataset, and this leads to {ends}: choose with --to")
    [selection] = found.values()
    out.parent.mkdir(parents=True, exist_ok=True)
    selection.draw(out)
