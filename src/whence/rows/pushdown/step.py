"""One step of Algorithm 1 of PredTrace: a question about the output of an operator becomes questions about its inputs.

`infer` takes the steps one after another. `whence.rows.saving` takes them too, and saves a result where a step is not
precise.
"""

from __future__ import annotations

from dataclasses import dataclass

from whence.rows.expressions import FALSE, Expr, Literal
from whence.rows.operators import Limit, Operator, Source, Union, Values
from whence.rows.pushdown.base import Aim, Pushed, give_up
from whence.rows.pushdown.guards import GUARDS, without_risks
from whence.rows.pushdown.possible import possible
from whence.rows.pushdown.rules import push
from whence.rows.tree import walk

LOST = "the row may come from another branch, and rows of this one may match too"


@dataclass(frozen=True, slots=True)
class Question:
    """The rows of an operator's output that a question selects.

    `row_exists`: the predicate is known to select a row there, because the row that the user asks about exists. `place`
    is the path to the operator in the plan: the index of a child at each level, from the root.
    """

    operator: Operator
    predicate: Expr
    row_exists: bool = True
    place: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A question, and the questions about the inputs that follow from it; `why` says why they are not `precise`.

    `large`: the predicate would be too large, here and for every question from further up.
    """

    question: Question
    below: tuple[Question, ...] = ()
    precise: bool = True
    why: str = ""
    large: bool = False

    @property
    def operator(self) -> Operator:
        """The operator that the question is about."""
        return self.question.operator

    @property
    def predicate(self) -> Expr:
        """The predicate on its output."""
        return self.question.predicate


def step(question: Question, aim: Aim, witness: str = "rows") -> Step:
    """Return the questions about the inputs of an operator. A source has none.

    >>> from whence.rows import Attr, IsNull, Project, Source, keep
    >>> a, b = Attr(1, "a", "long"), Attr(2, "b", "long")
    >>> (below,) = step(Question(Project(Source("t", 0, (a, b)), keep(a)), IsNull(a)), Aim.LINEAGE).below
    >>> print(below.predicate, below.place)
    a#1 is null (0,)
    """
    op, predicate = question.operator, question.predicate
    if isinstance(op, Source | Values):
        return Step(question)
    if predicate == FALSE and aim is Aim.LINEAGE:  # nothing below contributes, and that is exact
        return Step(question, _asked_of(question, Pushed(tuple(FALSE for _ in op.children))))
    pushed = _pushed(question, aim, witness)
    lost = pushed.precise and pushed.assumes_row_exists and not question.row_exists
    if lost and aim is Aim.RESTRICT and isinstance(op, GUARDS):
        pushed = without_risks(pushed)
    why = LOST if lost else pushed.why
    return Step(question, _asked_of(question, pushed), pushed.precise and not lost, why, pushed.large)


def _asked_of(question: Question, pushed: Pushed) -> tuple[Question, ...]:
    return tuple(
        Question(child, each, question.row_exists and index not in pushed.optional_inputs, (*question.place, index))
        for index, (child, each) in enumerate(zip(question.operator.children, pushed.inputs, strict=True))
    )


def _pushed(question: Question, aim: Aim, witness: str) -> Pushed:
    """Apply the operator's rule, and what follows only from the rest of the plan."""
    op, predicate = question.operator, question.predicate
    pushed = push(op, predicate, aim, witness)
    if isinstance(op, Union) and any(isinstance(part, Literal) for part in walk(predicate)):
        # Constants may rule a branch out. Parameters alone cannot, so the check of every branch is skipped for them.
        pairs = zip(op.inputs, pushed.inputs, strict=True)
        inputs = tuple(each if possible(child, each) else FALSE for child, each in pairs)
        only = len(inputs) - inputs.count(FALSE) == 1
        return Pushed(inputs, optional_inputs=frozenset() if only else pushed.optional_inputs)
    if isinstance(op, Limit) and aim is Aim.RESTRICT and not question.row_exists:
        return give_up(op, "on fewer rows, the limit would keep a row that it removed")
    return pushed
