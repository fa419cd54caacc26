"""`whence doctor`: check the installation, and say what to do about missing parts."""

from __future__ import annotations

import dataclasses
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whence.cli._options import json_option, log_option
from whence.cli._output import emit_json, emit_table, terminal
from whence.store.locating import locate

if TYPE_CHECKING:
    from whence.cli._environment import Finding


@click.command("doctor")
@log_option
@json_option
def command(log: str | None, as_json: bool) -> None:
    """Check what is installed on this machine, and say what to do about what is missing.

    Exits with status 1 only if something that whence requires is missing.

    \b
      whence doctor
      whence doctor --json
    """
    from whence.cli._environment import examine

    findings = examine(_place(log))
    ok = all(finding.ok for finding in findings if finding.required)
    if as_json:
        version = metadata.version("whence")
        emit_json({"ok": ok, "version": version, "checks": [dataclasses.asdict(each) for each in findings]})
    elif terminal():
        _print_findings(findings)
    else:
        rows = [(_mark(each)[0], each.name, each.found, each.advice) for each in findings]
        emit_table(("state", "part", "found", "what to do"), rows)
    if not ok:
        click.echo("Something that whence requires is missing.", err=True)
        raise SystemExit(1)


def _place(log: str | None) -> Path:
    """Return the directory whose disk is checked: the log's if there is one, else the current one."""
    found = locate(log)
    return Path.cwd() if found is None or "://" in found else Path(found).absolute()


def _mark(finding: Finding) -> tuple[str, str]:
    """Return a status word and its style."""
    if finding.ok:
        return "ok", "green"
    return ("MISSING", "bold red") if finding.required else ("absent", "yellow")


def _print_findings(findings: list[Finding]) -> None:
    """Print the findings, with advice below each: 80 columns have no room for it on the same line."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for each in findings:
        found = Text(each.found)
        if each.advice:
            found.append(f"\n{each.advice}", "italic")
        table.add_row(Text(*_mark(each)), each.name, found)
    Console().print(table)
