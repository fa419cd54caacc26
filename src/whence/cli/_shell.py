"""Translating messages to the command line: Python's `force=True` becomes `--force`."""

from __future__ import annotations

import re
from collections.abc import Collection

# First Python calls that have a command, then other phrases.
_CALLS = (
    (re.compile(r"log\.delete\('([^']+)'\)"), r"`whence delete \1`"),
    (re.compile(r"log\.(backward|forward)\('([^']+)', '\.\.\.'\) for all"), r"`whence \1 \2 ...` for all"),
    (re.compile(r"exclude=where\('([^']+)'\)"), r"--exclude-where \1"),
    (re.compile(r"log\.pipeline\(df, (\w+)='(\w+)'\)"), r"--\1 \2"),
)
_VALUE = r"(?P<name>[a-z][a-z_]*)=(?P<value>True|'[^']*'|\.\.\.)"
_WORD = re.compile(r"(?<![-\w.@/#])(?P<word>src|dst)(?![-\w@/#]|\.\w)")


def spoken(message: str, options: Collection[str]) -> str:
    """Translate a message for a command with these options.

    >>> spoken("delete that first, or give force=True to cut its lineage", {"--force"})
    'delete that first, or give --force to cut its lineage'
    >>> spoken("say where the blobs are, with blobs=...", {"--blobs"})
    'say where the blobs are, with --blobs'
    >>> spoken("no path leads back from dst to src: exchange src and dst", {"--src", "--dst"})
    'no path leads back from --dst to --src: exchange --src and --dst'
    >>> spoken("choose another name, or log.delete('A') first", ())
    'choose another name, or `whence delete A` first'
    """
    for call, said in _CALLS:
        message = call.sub(said, message)

    def option(found: re.Match[str]) -> str:
        name, value = f"--{found['name'].replace('_', '-')}", found["value"]
        if name not in options:
            return found[0]
        return name if value in ("True", "...") else f"{name} {value.strip(chr(39))}"

    message = re.sub(rf"(?<![-\w]){_VALUE}", option, message)
    return _WORD.sub(lambda found: f"--{found['word']}" if f"--{found['word']}" in options else found[0], message)
