"""Labels of nodes: short, with the part that distinguishes one node from the next."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from whence.graph.finding import split_version
from whence.graph.programs import parameters, program_of

LONGEST = 30  # characters of a label
_NUMBERED = re.compile(r"(?P<name>.+)#(?P<number>[0-9]+)\Z", re.DOTALL)


def shortened(text: str, longest: int = LONGEST) -> str:
    """Shorten a string in the middle, because its beginning and its end say most.

    >>> shortened("data/2026/01/measurements-of-the-north.csv", 26)
    'data/2026/01...e-north.csv'
    """
    text = " ".join(text.split())
    if len(text) <= longest:
        return text
    left = (longest - 3) // 2 + (longest - 3) % 2
    return f"{text[:left]}...{text[-((longest - 3) // 2) :]}"


def distinct_labels(texts: Sequence[str], longest: int = LONGEST) -> list[str]:
    """Shorten strings. If different strings would become equal, the part that differs is kept.

    >>> distinct_labels([f"features of the northern stations, {year}, winter" for year in (2025, 2026)])
    ['features of ...5... winter', 'features of ...6... winter']
    """
    texts = [" ".join(text.split()) for text in texts]
    same: dict[str, set[str]] = {}
    for text in texts:
        same.setdefault(shortened(text, longest), set()).add(text)
    found = {}
    for short, own in same.items():
        if len(own) == 1:
            found[next(iter(own))] = short
            continue
        start = _shared([*own])
        end = _shared([text[len(start) :][::-1] for text in own])[::-1]
        for text in own:
            core = shortened(text[len(start) : len(text) - len(end)], longest - 6)
            room = max((longest - 6 - len(core)) // 2, 0)
            head = f"{start[:room]}..." if len(start) > room else start
            tail = f"...{end[len(end) - min(room, 8) :]}" if len(end) > min(room, 8) else end
            found[text] = f"{head}{core}{tail}"
    return [found[text] for text in texts]


def _shared(texts: Sequence[str]) -> str:
    """The common prefix of strings: that of the first and the last in sorted order."""
    first, last = min(texts), max(texts)
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return "".join(one for one, _ in same)


def files(names: Iterable[str]) -> dict[str, str]:
    """Shorten file names: drop directories that are not needed to distinguish the names.

    >>> files(["raw/a.csv@v1", "raw/a.csv@v2", "2025/b.csv@v1", "2026/b.csv@v1"])["raw/a.csv@v2"]
    'a.csv@v2'
    >>> files(["2025/b.csv", "2026/b.csv"])
    {'2025/b.csv': '2025/b.csv', '2026/b.csv': '2026/b.csv'}
    """
    names = list(dict.fromkeys(names))
    parts = {name: name.split("/") for name in names}
    found, depth = {name: parts[name][-1] for name in names}, 1
    while depth < 40:
        shared: dict[str, list[str]] = {}
        for name, short in found.items():
            shared.setdefault(short, []).append(name)
        again = [name for own in shared.values() if len(own) > 1 for name in own if len(parts[name]) > depth]
        if not again:
            break
        depth += 1
        for name in again:
            found[name] = "/".join(parts[name][-depth:])
    return found


def numbered(name: str) -> tuple[str, str]:
    """Split the name of an activity into name and number.

    >>> numbered("train#3"), numbered("review")
    (('train', '#3'), ('review', ''))
    """
    found = _NUMBERED.match(name)
    return (found["name"], f"#{found['number']}") if found else (name, "")


def runs(named: Mapping[str, Mapping[str, Any]], drawn: Collection[str] = ()) -> dict[str, str]:
    """Make labels of activities, by name, from their properties: the program, and the parameters that differ.

    If a program has only one run, its label has all parameters except the names of files in `drawn`.

    >>> sweep = {f"run#{i}": {"command": f"python train.py --data d.csv --rate 0.{i}"} for i in (1, 2)}
    >>> runs(sweep)
    {'run#1': 'train.py --rate 0.1', 'run#2': 'train.py --rate 0.2'}
    >>> runs({"run#1": {"command": "python train.py --rate 0.1"}, "look#2": {}})
    {'run#1': 'train.py --rate 0.1', 'look#2': 'look'}
    >>> runs({"run#1": {"command": "python train.py --data d.csv --rate 0.1"}}, {"d.csv"})
    {'run#1': 'train.py --rate 0.1'}
    """
    groups: dict[str, list[str]] = {}
    for name, properties in named.items():
        groups.setdefault(program_of(properties) or numbered(name)[0], []).append(name)
    found: dict[str, str] = {}
    for program, own in groups.items():
        given = {name: _parameters(named[name]) for name in own}
        keys = dict.fromkeys(key for each in given.values() for key in each)
        if len(own) == 1:
            differing = [key for key in keys if given[own[0]][key] not in drawn]
        else:
            differing = [key for key in keys if len({each.get(key) for each in given.values()}) > 1]
        for name in own:
            said = " ".join(_said(key, given[name][key]) for key in differing if key in given[name])
            found[name] = f"{program} {said}".strip()
    return dict(zip(found, distinct_labels(list(found.values()), LONGEST + 8), strict=True))


def _said(key: str, value: str) -> str:
    return value if key.startswith("argument ") else f"{key} {value}" if key.startswith("-") else f"{key}={value}"


def _parameters(properties: Mapping[str, Any]) -> dict[str, str]:
    command = properties.get("command")
    if not isinstance(command, str) or program_of(properties) == command:
        return {}
    try:
        return parameters(shlex.split(command))
    except ValueError:  # not a command line
        return {}


def spans(names: Sequence[str]) -> str:
    """The versions or numbers of runs as a range.

    >>> spans(["m.bin@v1", "m.bin@v2", "m.bin@v3"]), spans(["run#2", "run#7"])
    ('v1-v3', '#2-#7')
    """
    marks = [mark for name in names if (mark := split_version(name)[1].lstrip("@") or numbered(name)[1])]
    if len(marks) < 2:
        return "".join(marks)
    return f"{marks[0]}-{marks[-1]}"


def titled(name: str, properties: Mapping[str, Any]) -> str:
    """The tooltip of a node."""
    return "\n".join([name, *(f"{key}: {shortened(str(value), 80)}" for key, value in list(properties.items())[:12])])
