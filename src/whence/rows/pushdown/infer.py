"""Algorithm 1 of PredTrace: a question about an output row, walked down to the sources."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from whence.errors import BadType
from whence.rows.expressions import FALSE, Attr, Compare, Expr, Param, conjunction, disjunction
from whence.rows.operators import Limit, Operator, Source, Union, Values
from whence.rows.pushdown.base import Aim, Pushed, give_up
from whence.rows.pushdown.guards import GUARDS, without_risks
from whence.rows.pushdown.possible import possible
from whence.rows.pushdown.rules import push

LOST = "the row may not have come this way, and then rows that only look as if are among them"


@dataclass(frozen=True, slots=True)
class Step:
    """The question at one operator, and what became of it below."""

    operator: Operator
    predicate: Expr
    precise: bool
    why: str


@dataclass(frozen=True, slots=True)
class Inference:
    """What a question about the output says of each use of a source.

    `restrict` cuts the sources down without changing the selected output: what a replay runs on. `lineage` selects
    the rows that contributed: exactly if `precise`, otherwise a superset for the reasons given.
    """

    restrict: dict[int, Expr]
    lineage: dict[int, Expr]
    steps: tuple[Step, ...]

    @property
    def precise(self) -> bool:
        """Whether lineage is exact everywhere."""
        return all(step.precise for step in self.steps)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is not, operator by operator from the root."""
        return tuple(f"{type(step.operator).__name__}: {step.why}" for step in self.steps if not step.precise)


def row_selection(operator: Operator, columns: Iterable[Attr] | None = None) -> Expr:
    """One output row: each column, or each of the given ones, is the value of a parameter of its own."""
    chosen = operator.output if columns is None else tuple(columns)
    missing = [attr for attr in chosen if attr not in operator.output]
    if missing:
        raise BadType(f"the output has no column {', '.join(map(str, missing))}")
    return conjunction(*(Compare("<=>", attr, Param(f"p{attr.id}", attr.dtype)) for attr in chosen))


def infer(plan: Operator, question: Expr | None = None, witness: str = "rows") -> Inference:
    """What a question about the plan's output (one whole row, unless given) says of each use of a source."""
    asked = row_selection(plan) if question is None else question
    restrict: dict[int, list[Expr]] = {}
    lineage: dict[int, list[Expr]] = {}
    steps: list[Step] = []
    _walk(plan, asked, Aim.RESTRICT, witness, True, restrict, [])
    _walk(plan, asked, Aim.LINEAGE, witness, True, lineage, steps)
    return Inference(_united(restrict), _united(lineage), tuple(steps))


def _united(found: dict[int, list[Expr]]) -> dict[int, Expr]:
    return {occurrence: disjunction(*each) for occurrence, each in found.items()}


def _walk(
    op: Operator, predicate: Expr, aim: Aim, witness: str, sure: bool, found: dict[int, list[Expr]], steps: list[Step]
) -> None:
    """`sure`: the predicate is known to select a row here, because the row that was asked about exists."""
    if isinstance(op, Source):
        found.setdefault(op.occurrence, []).append(predicate)
        steps.append(Step(op, predicate, True, ""))
        return
    if isinstance(op, Values):
        return
    if predicate == FALSE and aim is Aim.LINEAGE:
        # Nothing below contributes, and that is exact.
        for child in op.children:
            _walk(child, FALSE, aim, witness, sure, found, steps)
        return
    pushed = _pushed(op, predicate, aim, witness, sure)
    lost = pushed.precise and pushed.assumes_row_exists and not sure
    if lost and aim is Aim.RESTRICT and isinstance(op, GUARDS):
        pushed = without_risks(pushed)
    steps.append(Step(op, predicate, pushed.precise and not lost, LOST if lost else pushed.why))
    for i, (child, each) in enumerate(zip(op.children, pushed.inputs, strict=True)):
        _walk(child, each, aim, witness, sure and i not in pushed.optional_inputs, found, steps)


def _pushed(op: Operator, predicate: Expr, aim: Aim, witness: str, sure: bool) -> Pushed:
    """What the rule says, and what only the place in the plan can tell."""
    pushed = push(op, predicate, aim, witness)
    if isinstance(op, Union):
        pairs = zip(op.inputs, pushed.inputs, strict=True)
        inputs = tuple(each if possible(child, each) else FALSE for child, each in pairs)
        only = len(inputs) - inputs.count(FALSE) == 1
        return Pushed(inputs, optional_inputs=frozenset() if only else pushed.optional_inputs)
    if isinstance(op, Limit) and aim is Aim.RESTRICT and not sure:
        return give_up(op, "a row that the limit left out would be let in")
    return pushed
