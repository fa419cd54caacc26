"""Parse command lines: the program that they run, and its parameters."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

INTERPRETERS = ("python", "bash", "sh", "Rscript", "perl", "ruby", "node", "julia")


def program(command: Sequence[str]) -> tuple[str, int]:
    """The program of a command and the index of its first argument. If an interpreter runs a script, the script is the
    program.

    >>> program(["python3", "-u", "src/train.py", "--fast"]), program(["/usr/bin/sort", "a.txt"])
    (('train.py', 3), ('sort', 1))
    >>> program(["python3", "-m", "pytest", "-q"]), program(["python3", "-c", "print(1.5)"])
    (('pytest', 3), ('python3', 1))
    """
    name = PurePath(command[0]).name
    if name.startswith(INTERPRETERS):
        for place, each in enumerate(command[1:], 1):
            if each in ("-c", "-e"):  # the next argument is code
                break
            if each == "-m":
                return " ".join(command[place + 1 : place + 2]) or name, place + 2
            if not each.startswith("-"):
                return (PurePath(each).name, place + 1) if PurePath(each).suffix else (name, 1)
    return name, 1


def program_of(properties: Mapping[str, Any]) -> str:
    """The program of an activity: its property `program`, else the program of its command, else the command.

    >>> program_of({"command": "python train.py --rate 0.1"}), program_of({"command": "review of Monday"})
    ('train.py', 'review of Monday')
    """
    given = properties.get("program")
    if isinstance(given, str):
        return given
    command = properties.get("command")
    if not isinstance(command, str):
        return ""
    try:
        words = shlex.split(command)
    except ValueError:  # not a command line
        return command
    if not words:
        return command
    name, start = program(words)
    is_command_line = start > 1 or "/" in words[0] or any(each.startswith("-") or "=" in each for each in words[1:])
    return name if is_command_line else command


def parameters(command: Sequence[str]) -> dict[str, str]:
    """The arguments of a command by name: options with their values, settings `name=value`, and others by position.

    >>> parameters(["python", "train.py", "--rate", "0.1", "--fast", "data.csv", "depth=3", "--out=m.bin"])
    {'--rate': '0.1', '--fast': 'data.csv', 'depth': '3', '--out': 'm.bin'}
    >>> parameters(["sort", "-r", "-k", "2", "a.txt", "b.txt"])
    {'-r': 'yes', '-k': '2', 'argument 1': 'a.txt', 'argument 2': 'b.txt'}
    """
    if not command:
        return {}
    words = list(command[program(command)[1] :])
    found: dict[str, str] = {}
    place = 0
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if word.startswith("-") and not _is_number(word) and word not in ("-", "--"):
            if not equals:
                takes = bool(words) and (not words[0].startswith("-") or _is_number(words[0]))
                value = words.pop(0) if takes else "yes"
            _add_option(found, name, value)
        elif equals and name.replace("_", "").replace(".", "").replace("-", "").isalnum():
            _add_option(found, name, value)
        else:
            place += 1
            found[f"argument {place}"] = word
    return found


def _add_option(found: dict[str, str], name: str, value: str) -> None:
    found[name] = f"{found[name]}, {value}" if name in found else value


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
