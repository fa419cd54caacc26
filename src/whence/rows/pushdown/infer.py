"""Algorithm 1 of PredTrace: push a question about an output row down to the sources."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from whence.errors import BadType
from whence.rows.expressions import Attr, Compare, Expr, Param, conjunction, disjunction
from whence.rows.operators import Operator, Source, Values
from whence.rows.pushdown.base import Aim
from whence.rows.pushdown.step import Question, Step, step


@dataclass(frozen=True, slots=True)
class Inference:
    """The predicates on each use of a source that follow from a question about the output.

    `restrict` reduces the sources without changing the selected output; a replay runs on these rows. `lineage` selects
    the rows that contributed: exactly if `precise`, otherwise a superset for the given reasons.
    """

    restrict: dict[int, Expr]
    lineage: dict[int, Expr]
    steps: tuple[Step, ...]

    @property
    def precise(self) -> bool:
        """Whether the lineage is exact at every step."""
        return all(step.precise for step in self.steps)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is not precise, operator by operator from the root."""
        return tuple(f"{type(step.operator).__name__}: {step.why}" for step in self.steps if not step.precise)


def row_selection(operator: Operator, columns: Iterable[Attr] | None = None) -> Expr:
    """Return a predicate that selects one output row: each column, or each given one, equals a parameter of its own."""
    chosen = operator.output if columns is None else tuple(columns)
    missing = [attr for attr in chosen if attr not in operator.output]
    if missing:
        raise BadType(f"the output has no column {', '.join(map(str, missing))}")
    return conjunction(*(Compare("<=>", attr, Param(f"p{attr.id}", attr.dtype)) for attr in chosen))


def infer(plan: Operator, question: Expr | None = None, witness: str = "rows") -> Inference:
    """Push a question about the plan's output (one whole row, if None) down to each use of a source."""
    asked = Question(plan, row_selection(plan) if question is None else question)
    restrict, lineage = steps_down(asked, Aim.RESTRICT, witness), steps_down(asked, Aim.LINEAGE, witness)
    return Inference(_of_sources(restrict), _of_sources(lineage), tuple(lineage))


def steps_down(question: Question, aim: Aim, witness: str = "rows") -> list[Step]:
    """Return all steps from a question to the sources, an operator before its inputs."""
    steps, waiting = list[Step](), [question]
    while waiting:
        taken = step(waiting.pop(), aim, witness)
        if not isinstance(taken.operator, Values):
            steps.append(taken)
        waiting += reversed(taken.below)
    return steps


def _of_sources(steps: Iterable[Step]) -> dict[int, Expr]:
    """The predicate for each use of a source."""
    found: dict[int, list[Expr]] = {}
    for each in steps:
        if isinstance(each.operator, Source):
            found.setdefault(each.operator.occurrence, []).append(each.predicate)
    return {occurrence: disjunction(*predicates) for occurrence, predicates in found.items()}
