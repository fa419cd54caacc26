"""Check answers about chains.

Precise answers must be the lineage, and others must contain it, in one world for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whence.errors import NotTraceable
from whence.testing.chains.chain import Recorded, RunStep, World
from whence.testing.chains.runs import Cell, Cells

if TYPE_CHECKING:
    from whence.log import Log
    from whence.store.answers import Answer


@dataclass
class Jury:
    """A recorded chain, and the worlds in which all answers so far were correct."""

    recorded: Recorded
    log: Log
    precise: int = 0  # precise answers
    superset: int = 0
    refused: int = 0  # questions that the log alone cannot answer, and says so
    _worlds: list[World] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._worlds = list(self.recorded.worlds)

    def faults(self, start: str, cells: Iterable[Cell], direction: str, lineage: str) -> list[str]:
        """Describe what is wrong with the answer to a question; empty if it is correct."""
        asked = frozenset(cells)
        ask: Any = self.log.backward if direction == "backward" else self.log.forward
        try:
            answer = ask(start, sorted(asked), lineage=lineage)
        except NotTraceable:  # only the pipeline itself, which is not available here, could answer
            if self.log is self.recorded.log or self._is_stored(start, direction):
                raise
            self.refused += 1
            return []
        self.precise, self.superset = self.precise + answer.precise, self.superset + (not answer.precise)
        found: list[str] = []
        right = []
        for world in self._worlds:
            expected = self.recorded.expected(start, asked, direction, lineage, world)
            found = list(self._differences(answer, expected))
            if not found:
                right.append(world)
        self._worlds = right or self._worlds
        asked_for = f"{direction} of {sorted(asked)} of {start!r}, {lineage}"
        why = f"precise={answer.precise} {answer.reason or ''}; steps:\n{answer.steps}"
        return [] if right else [f"{asked_for}: {each}; {why}" for each in found]

    def _is_stored(self, start: str, direction: str) -> bool:
        """Whether the question can be answered without asking a run."""
        graph = self.recorded
        reached, names = {start}, list(graph.shapes)
        for here in reversed(names) if direction == "backward" else names:
            for step in graph.steps:
                ends = (step.output, step.input) if direction == "backward" else (step.input, step.output)
                if ends[0] == here and here in reached:
                    if isinstance(step, RunStep):
                        return False
                    reached.add(ends[1])
        return True

    def _differences(self, answer: Answer, expected: Any) -> Iterable[str]:
        for name in self.recorded.shapes:
            given = _cells(answer, name)
            wanted = expected.get(name, frozenset())
            if given != wanted and (answer.precise or not wanted <= given):
                yield f"{name} has {sorted(given)}, not {sorted(wanted)}"


def asked_at_random(recorded: Recorded, random: Any) -> tuple[str, Cells, str, str] | None:
    """Draw a question about whole rows or cells, of the first, the last or any other dataset."""
    direction = random.choice(["backward", "forward"])
    known = {name for step in recorded.steps for name in (step.output, step.input)}
    names = [name for name, shape in recorded.shapes.items() if all(shape) and name in known]
    if not names:
        return None
    ends = [names[-1], names[-1]] if direction == "backward" else ["rx", "ry"]
    start = random.choice([*[each for each in ends if each in names], random.choice(names)])
    rows, columns = recorded.shapes[start]
    chosen = random.sample(range(rows), min(rows, random.choice([1, 1, 2, 3])))
    some = range(columns) if random.random() < 0.4 else random.sample(range(columns), random.choice([1, columns]))
    cells = frozenset((row, column) for row in chosen for column in some)
    return start, cells, direction, random.choice(["value+selection", "value+selection", "value"])


def _cells(answer: Answer, name: str) -> Cells:
    found = answer.reached.get(name)
    return frozenset() if found is None else frozenset(tuple(map(int, cell)) for cell in found.cells())
