"""`whence run`: run a command and record what it did."""

from __future__ import annotations

import json
from pathlib import Path

import click

from whence.cli._options import blobs_option, json_file_option, log_option, open_or_make_log


@click.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--in", "inputs", metavar="FILE", multiple=True, help="A file that the command reads; may be repeated.")
@click.option("--out", "outputs", metavar="FILE", multiple=True, help="A file that it writes; may be repeated.")
@click.option("--agent", metavar="NAME", help="Who runs the command. Default: you.")
@click.option("--no-opens", is_flag=True, help="Do not load the library that notes which files programs open (Linux).")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@log_option
@blobs_option
@json_file_option
def command(
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    agent: str | None,
    no_opens: bool,
    command: tuple[str, ...],
    log: str | None,
    blobs: str | None,
    json_file: Path | None,
) -> None:
    """Run a command and record it: arguments, exit status, times, git commit, files read, written and removed.

    For Python programs, whence sees every file of the project (the log's directory) that they open. On Linux it also
    sees the files that other programs and compiled libraries open. Elsewhere, a changed file counts as written, and a
    file among the arguments as read. The command says what it could not see; name such files with --in and --out.
    Files that something else may have changed meanwhile are left out, and listed. The command keeps the terminal,
    and whence exits with its status. If there is no log, whence creates project.whence.

    \b
      whence run -- python train.py --rate 0.1
      whence run --in data.bin --out model.bin -- ./train
    """
    from whence.interop.command import run

    with open_or_make_log(log, blobs) as opened:
        done = run(opened, command, inputs=inputs, outputs=outputs, agent=agent, opens=not no_opens)
    used, made = (", ".join(each.values()) or "nothing" for each in (done.used, done.generated))
    removed = ", ".join(version or file for file, version in done.removed.items())
    also = f"; removed {removed}" if removed else ""
    click.echo(f"whence: {done.activity} used {used}; generated {made}{also}", err=True)
    if done.unknown:
        unknown = ", ".join(done.unknown)
        click.echo(
            f"whence: {unknown} changed during the run, so the version that was read is not known: name it with --in",
            err=True,
        )
    if done.uncertain:
        uncertain = ", ".join(done.uncertain)
        click.echo(
            f"whence: something else may have changed {uncertain} during the run, so it is not recorded as generated:"
            " name it with --out if this command wrote it",
            err=True,
        )
    for each in done.unseen:
        click.echo(f"whence: {each}", err=True)
    if json_file is not None:
        json_file.write_text(json.dumps(done.as_dict(), indent=2) + "\n", encoding="utf-8")
    raise SystemExit(done.exit_code)
