"""Shared by `whence backward` and `whence forward`: ask the log, and print selections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from whence.cli._cells import AboutCells, about_cells, meant
from whence.cli._complete import dataset_names
from whence.cli._names import named
from whence.cli._options import blobs_option, json_option, log_option, open_log
from whence.cli._output import emit_json, emit_table, terminal
from whence.progress import working
from whence.store.answers import Step, selection_dict

if TYPE_CHECKING:
    from whence.selection import Selection
    from whence.store.answers import Answer
    from whence.store.derivations.adjacency import Lineage

Direction = Literal["backward", "forward"]
SHOWN_BOXES = 12  # printed boxes of one dataset on a terminal; a pipe and --json get all

out_option = click.option(
    "--out",
    metavar="FILE.png",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the answer as a picture (one to three axes).",
)
above_option = click.option(
    "--above",
    metavar="LEVEL",
    type=float,
    help="Only contributions of at least this weight, at every step (for lineage of models).",
)

_PARAMETERS: tuple[Callable[[Any], Any], ...] = (
    about_cells,
    click.option(
        "--to",
        metavar="NAME",
        shell_complete=dataset_names,
        help="The dataset to end at. Default: all sources (or all final results).",
    ),
    above_option,
    click.option("--steps", "show_steps", is_flag=True, help="Also print each step, and how it was answered."),
    out_option,
    log_option,
    blobs_option,
    json_option,
)
report_option = click.option(
    "--report",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write an erasure report: everything that was reached, and what to do about it (.html, .json or .txt).",
)


def question(direction: Direction, help: str) -> click.Command:
    """Return the command for questions in one direction."""

    def ask(
        dataset: str,
        cells: str | None,
        pairs: tuple[str, ...],
        nulls: tuple[str, ...],
        columns: str | None,
        lineage: Lineage,
        to: str | None,
        above: float | None,
        show_steps: bool,
        out: Path | None,
        log: str | None,
        blobs: str | None,
        as_json: bool,
        report: Path | None = None,
    ) -> None:
        with working(f"asking about {dataset}"), open_log(log, blobs) as opened:
            start, given, chosen = meant(opened, dataset, cells, pairs, nulls, columns)
            if report is not None:
                if to is not None:
                    raise click.UsageError("--report lists everything that was reached: leave out --to")
                opened.erasure(start, given, columns=chosen).save(report)
            asking = opened.backward if direction == "backward" else opened.forward
            end = None if to is None else named(opened, to)
            answer = (
                asking(start, given, above=above, columns=chosen, lineage=lineage)
                if end is None
                else asking(start, given, to=end, above=above, columns=chosen, lineage=lineage)
            )
        if report is not None:
            click.echo(f"wrote {report}", err=True)
        shown = given if isinstance(given, dict) else cells
        asked: dict[str, object] = {"direction": direction, "dataset": dataset, "cells": shown}
        if isinstance(answer, Mapping):
            _emit(answer, out, asked, as_json, show_steps)
            return
        if as_json and answer.notes:
            asked["notes"] = list(answer.notes)
        emit_answers({str(to): answer}, out, asked if as_json else None)
        for note in () if as_json else answer.notes:
            click.echo(f"note: {note}", err=True)

    for parameter in reversed(_PARAMETERS if direction == "backward" else (*_PARAMETERS, report_option)):
        ask = parameter(ask)
    return click.command(direction, help=help, cls=AboutCells)(ask)


def _emit(answer: Answer, out: Path | None, asked: Mapping[str, object], as_json: bool, show_steps: bool) -> None:
    """Print an answer: the cells on standard output, reasons and notes on standard error."""
    if as_json:
        said = {key: value for key, value in (("how", answer.how), ("notes", list(answer.notes))) if value}
        exact = {"precise": answer.precise, "reason": answer.reason}
        emit_answers(answer, out, {**asked, **said, **exact, "steps": [each.as_dict() for each in answer.steps]})
        return
    if answer.how:
        click.echo(answer.how, err=not terminal())  # a pipe gets only the table
    emit_answers(answer, out, None)
    if show_steps:
        emit_table(Step.COLUMNS, [each.row() for each in answer.steps], numbers=("count", "ms"))
    if not answer.precise:
        click.echo(f"not exact: {answer.reason}", err=True)
    for note in answer.notes:
        if note not in answer.reasons:
            click.echo(f"note: {note}", err=True)


def emit_answers(found: Mapping[str, Selection], out: Path | None, asked: Mapping[str, object] | None) -> None:
    """Draw the answers if `out` is given, and print them: as JSON with the question, or as a table."""
    if out is not None:
        _draw_cells(found, out)
    if asked is not None:
        emit_json({**asked, "answers": answers(found)})
    elif terminal():
        _show(found)
    else:
        emit_table(("dataset", "cells"), [(name, text) for name, sel in found.items() for text in spelled(sel)])


def answers(found: Mapping[str, Selection]) -> list[dict[str, object]]:
    """Return the selections for JSON: each box is a [first, last] pair for each axis, both ends included."""
    return [selection_dict(name, each) for name, each in found.items()]


def spelled(selection: Selection) -> list[str]:
    """Format each box as commands accept it: `3,4`, `0:10,5`; `()` is the one cell of a dataset without axes."""
    spans = ([(first, last + 1) for first, last in box] for box in selection.boxes.tolist())
    return [
        ",".join(str(first) if stop == first + 1 else f"{first}:{stop}" for first, stop in box) or "()" for box in spans
    ]


def _show(found: Mapping[str, Selection]) -> None:
    rows = []
    for name, selection in found.items():
        texts = spelled(selection)
        if len(texts) > SHOWN_BOXES + 1:  # one more box takes no more lines than the message
            texts[SHOWN_BOXES:] = [f"... and {len(texts) - SHOWN_BOXES:,} more boxes (--json lists all)"]
        rows.append((name, f"{selection.count:,}", "\n".join(texts) or "none"))
    emit_table(("dataset", "count", "cells"), rows, numbers=("count",))


def _draw_cells(found: Mapping[str, Selection], out: Path) -> None:
    if len(found) != 1:
        ends = ", ".join(found) or "nothing"
        raise click.UsageError(f"a picture shows one dataset, and the answer has {ends}: choose one with --to")
    [selection] = found.values()
    out.parent.mkdir(parents=True, exist_ok=True)
    selection.draw(out)
