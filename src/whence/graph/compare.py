"""Compare two activities or two versions: parameters, inputs, code, outputs, and the origins of inputs that differ."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.errors import BadType
from whence.graph.columns import each_of
from whence.graph.model import ACTIVITY, ASSOCIATED, GENERATED, KINDS, USED
from whence.graph.programs import parameters, program_of
from whence.words import in_units, table

if TYPE_CHECKING:
    from whence.graph._graph import Graph

CODE = {
    ".py",
    ".ipynb",
    ".r",
    ".rmd",
    ".jl",
    ".sh",
    ".sql",
    ".scala",
    ".java",
    ".c",
    ".cpp",
    ".rs",
    ".go",
    ".js",
    ".mk",
}
# Properties about how or when an activity was recorded; they are not parameters.
ASIDE = {
    "command", "arguments", "started", "ended", "files_found_by", "not_seen", "program", "reuse", "removed", "script",
    "line", "read_but_changed", "unreadable", "perhaps_changed_by_others", "prov:startTime", "prov:endTime",
}  # fmt: skip
_WORDS = {"git_commit": "commit", "git_changed": "uncommitted changes", "exit_code": "exit status"}
_DEEPEST = 20  # differences of inputs are followed back by this many steps


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. `before` or `after` is None if that side has nothing."""

    kind: str  # program, parameter, agent, code, input, output, commit ...
    name: str
    before: str | None
    after: str | None
    note: str = ""

    @classmethod
    def between(cls, kind: str, name: str, sides: Iterable[str | None], note: str = "") -> Change:
        """Make a change from a pair of both sides."""
        before, after = sides
        return cls(kind, name, before, after, note)


@dataclass(frozen=True)
class Difference:
    """The differences between two activities or versions, and the origins of inputs that differ."""

    one: str
    other: str
    changes: tuple[Change, ...]
    same: tuple[str, ...]  # common inputs and outputs
    because: tuple[Difference, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The differences as a dictionary for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join(self._lines(""))

    __repr__ = __str__

    def _lines(self, intro: str) -> list[str]:
        lines = [f"{intro}{self.one} -> {self.other}"]
        rows = [(each.kind, each.name, _side(each.before), "->", _side(each.after), each.note) for each in self.changes]
        if rows:
            lines += [f"  {line}" for line in table(("what", "name", "first", "", "second", "note"), rows).splitlines()]
        else:
            lines.append("  nothing that was recorded differs")
        if self.same:
            shown = ", ".join(self.same[:6]) + (f" and {len(self.same) - 6} more" if len(self.same) > 6 else "")
            lines.append(f"  the same in both: {shown}")
        for each in self.because:
            lines += ["", *each._lines("how the inputs came to differ: ")]
        return lines


def compare(graph: Graph, one: str, other: str) -> Difference:
    """Compare two activities, or two entities with how they were made."""
    numbers = []
    for name in (one, other):
        found = graph.numbers(name)
        if len(found) > 1:
            shown = ", ".join(graph.ids.of(found.tolist()[:12]))
            raise BadType(f"name two things to compare; {name!r} means {len(found)} ({shown}): choose one")
        numbers.append(int(found[0]))
    kinds = [KINDS[graph.kinds[number]] for number in numbers]
    if kinds[0] != kinds[1] or "agent" in kinds:
        raise BadType(f"{one!r} is an {kinds[0]} and {other!r} an {kinds[1]}: give two activities, or two files")
    return _Comparison(graph).of(numbers[0], numbers[1], _DEEPEST)


class _Comparison:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.done: set[tuple[int, int]] = set()

    def of(self, one: int, other: int, depth: int) -> Difference:
        self.done.add((one, other))
        if self.graph.kinds[one] == ACTIVITY:
            return self._activities(one, other, depth)
        return self._entities(one, other, depth)

    def _entities(self, one: int, other: int, depth: int) -> Difference:
        changes = [] if one == other else [self._versions("content", self._name(one), one, other)]
        makers = self._maker(one), self._maker(other)
        because = []
        if None not in makers and makers[0] != makers[1] and makers not in self.done and depth:
            because = [self.of(*makers, depth - 1)]  # type: ignore[arg-type] # both are numbers
        elif makers[0] != makers[1]:
            names = [None if each is None else self.graph.ids[each] for each in makers]
            changes.append(
                Change("made by", self._name(one), names[0] or "nothing recorded", names[1] or "nothing recorded")
            )
        return Difference(self.graph.ids[one], self.graph.ids[other], tuple(changes), (), tuple(because))

    def _activities(self, one: int, other: int, depth: int) -> Difference:
        properties = self.graph.properties.row(one), self.graph.properties.row(other)
        changes = [Change.between(kind, name, pair) for kind, name, pair in _changed_properties(properties)]
        agents = [self._around(each, ASSOCIATED) for each in (one, other)]
        if agents[0] != agents[1]:
            changes.append(Change.between("agent", "", (", ".join(self.graph.ids.of(each)) or None for each in agents)))
        same: list[str] = []
        because: list[Difference] = []
        for what, relation in (("input", USED), ("output", GENERATED)):
            sides = [self._by_name(self._around(each, relation)) for each in (one, other)]
            for name, pair in _same_names(*sides):
                if pair[0] == pair[1]:
                    same += self.graph.ids.of(pair[0])
                    continue
                kind = "code" if what == "input" and _is_code(name) else what
                if len(pair[0]) == len(pair[1]) == 1:
                    changes.append(self._versions(kind, name, pair[0][0], pair[1][0]))
                    if what == "input":
                        because += self._because(pair[0][0], pair[1][0], depth)
                else:
                    texts = [", ".join(map(self._version, each)) or None for each in pair]
                    changes.append(Change.between(kind, name, texts, _only_text(texts)))
        return Difference(self.graph.ids[one], self.graph.ids[other], tuple(changes), tuple(same), tuple(because))

    def _because(self, one: int, other: int, depth: int) -> list[Difference]:
        makers = self._maker(one), self._maker(other)
        if None in makers or makers[0] == makers[1] or makers in self.done or not depth:
            return []
        return [self.of(*makers, depth - 1)]  # type: ignore[arg-type] # both are numbers

    def _versions(self, kind: str, name: str, one: int, other: int) -> Change:
        """The change between two versions of a file, and how their sizes differ."""
        texts = [self._version(each) for each in (one, other)]
        sizes = [self.graph.properties.get(each, "size") for each in (one, other)]
        note = "changed" if kind == "code" else ""
        if all(isinstance(size, int) for size in sizes):
            note = f"{note}{', ' if note else ''}{_grown(sizes[0], sizes[1])}"
        return Change.between(kind, name, texts, note)

    def _version(self, number: int) -> str:
        version = self.graph.properties.get(number, "version")
        return self.graph.ids[number] if version is None else f"v{version}"

    def _name(self, number: int) -> str:
        artifact = self.graph.properties.get(number, "artifact")
        return artifact if isinstance(artifact, str) else self.graph.ids[number]

    def _by_name(self, numbers: Sequence[int]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number in numbers:
            found.setdefault(self._name(number), []).append(number)
        return found

    def _around(self, number: int, relation: int) -> list[int]:
        """The other ends of the edges of a relation. For wasGeneratedBy, these are the generated entities."""
        table_, forward = self.graph.edge_table, relation != GENERATED
        here, there = (table_.source, table_.target) if forward else (table_.target, table_.source)
        found: list[int] = there[np.flatnonzero((here == number) & (table_.relation == relation))].tolist()
        return found

    def _maker(self, entity: int) -> int | None:
        """The activity that made an entity; if there are several, the last."""
        table_ = self.graph.edge_table
        found = table_.target[np.flatnonzero((table_.source == entity) & (table_.relation == GENERATED))].tolist()
        ended = {each: str(self.graph.properties.get(each, "ended") or "") for each in found}
        return max(found, key=lambda each: (ended[each], each), default=None)


def _changed_properties(
    properties: tuple[Mapping[str, Any], Mapping[str, Any]],
) -> list[tuple[str, str, tuple[str | None, str | None]]]:
    """The properties that differ between two activities: kind, name, and both values."""
    sides: list[dict[tuple[str, str], str]] = []
    for own in properties:
        command = str(own.get("command", ""))
        side = {("program", ""): program_of(own)}
        side |= {("parameter", name): value for name, value in parameters(_command_words(own, command)).items()}
        for name, value in own.items():
            if name not in ASIDE and not name.startswith("whence:"):
                text = ", ".join(str(each) for each in each_of(value))
                side[(_WORDS.get(name, "parameter"), "" if name in _WORDS else name)] = text
        sides.append(side)
    keys = [*sides[0], *(key for key in sides[1] if key not in sides[0])]
    return [(*key, (sides[0].get(key), sides[1].get(key))) for key in keys if sides[0].get(key) != sides[1].get(key)]


def _command_words(properties: Mapping[str, Any], command: str) -> list[str]:
    """The words of a command line."""
    given = properties.get("arguments")
    if isinstance(given, list) and all(isinstance(each, str) for each in given):
        try:
            return [*shlex.split(command)[:1], *given]
        except ValueError:
            return ["", *given]
    try:
        return shlex.split(command)
    except ValueError:
        return [command]


def _same_names(
    one: Mapping[str, list[int]], other: Mapping[str, list[int]]
) -> list[tuple[str, tuple[list[int], list[int]]]]:
    """Pair entities by name. If each side has exactly one name that the other lacks, these two are a pair."""
    left, right = [name for name in one if name not in other], [name for name in other if name not in one]
    found = [(name, (one[name], other[name])) for name in one if name in other]
    if len(left) == len(right) == 1:
        return [*found, (f"{left[0]} | {right[0]}", (one[left[0]], other[right[0]]))]
    return [*found, *((name, (one[name], [])) for name in left), *((name, ([], other[name])) for name in right)]


def _is_code(name: str) -> bool:
    return PurePath(name).suffix.lower() in CODE or PurePath(name).name == "Makefile"


def _only_text(texts: Sequence[str | None]) -> str:
    return "" if None not in texts else f"only the {'second' if texts[0] is None else 'first'} has it"


def _side(text: str | None) -> str:
    return "-" if text is None else text


def _grown(one: int, other: int) -> str:
    """Describe how much larger or smaller something became.

    >>> _grown(1000, 2500), _grown(1000, 990), _grown(3, 3)
    ('1.0 kB -> 2.5 kB, 2.5 times as large', '1.0 kB -> 990 B, 10 B smaller', '3 B both')
    """
    if one == other:
        return f"{in_units(one)} both"
    sizes = f"{in_units(one)} -> {in_units(other)}"
    if one and other and max(one, other) >= 2 * min(one, other):
        return f"{sizes}, {max(one, other) / min(one, other):.1f} times as {'large' if other > one else 'small'}"
    return f"{sizes}, {in_units(abs(other - one))} {'larger' if other > one else 'smaller'}"
