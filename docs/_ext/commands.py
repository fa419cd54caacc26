"""Writes docs/reference/cli.md from the commands themselves: `python docs/_ext/commands.py` (`make docs` calls it).

The page is kept in the repository, so that it can be read without building anything; a test compares it with what
this module writes, so that no command or option goes undocumented.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import click

from whence.cli._group import whence

PAGE = Path(__file__).parents[1] / "reference" / "cli.md"
MARKER = "<!-- from here on written by docs/_ext/commands.py -->\n"


def commands() -> dict[str, click.Command]:
    """Every subcommand by its name, in the order of `whence --help`."""
    context = click.Context(whence, info_name="whence")
    found = {name: whence.get_command(context, name) for name in whence.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


def document(name: str, command: click.Command) -> str:
    """The section of one command."""
    context = click.Context(command, info_name=f"whence {name}")
    usage = " ".join([f"whence {name}", *command.collect_usage_pieces(context)])
    parts = [f"## whence {name}\n", f"```text\n{usage}\n```\n", _prose(command.help or ""), "| option | |\n|---|---|"]
    parts += [_option(each) for each in command.params if isinstance(each, click.Option)]
    return "\n".join(parts) + "\n"


def _prose(text: str) -> str:
    """Help as Markdown: a paragraph that click must not wrap (it starts with \\b) is shown as it stands."""
    blocks = []
    for block in inspect.cleandoc(text).split("\n\n"):
        kept = block.removeprefix("\b\n")
        blocks.append(kept if kept == block else f"```text\n{inspect.cleandoc(kept)}\n```")
    return "\n\n".join(blocks) + "\n"


def _option(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    if isinstance(option.type, click.Choice):
        names += f" `{{{','.join(map(str, option.type.choices))}}}`"
    elif not option.is_flag:
        names += f" `{option.metavar or option.type.name.upper()}`"
    notes = [(option.help or "").replace("|", "\\|")]
    if isinstance(option.default, str | int) and not option.is_flag:
        notes.append(f"Default: `{option.default}`.")
    if option.envvar:
        notes.append(f"Environment: `{option.envvar}`.")
    return f"| {names} | {' '.join(notes)} |"


def page(current: str) -> str:
    """The whole page: what people wrote stays, what follows the marker is written anew."""
    prose = current.split(MARKER)[0]
    return prose + MARKER + "\n" + "\n".join(document(name, command) for name, command in commands().items())


def main() -> None:
    """Write the page if it changed."""
    current = PAGE.read_text(encoding="utf-8")
    if (wanted := page(current)) != current:
        PAGE.write_text(wanted, encoding="utf-8")
        print(f"{PAGE.name}: brought up to date with the commands")


if __name__ == "__main__":
    main()
