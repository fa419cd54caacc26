"""Answers by running the pipeline again, with the ids of source rows beside each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from whence.rows import TRUE, Attr, Expr, Limit, Operator, disjunction, walk
from whence.rows.eager import Tagged, eager
from whence.rows.pushdown import infer
from whence.rows.questions.restrict import restrict
from whence.rows.questions.rows import Asked, is_simple, predicate
from whence.spark.catalyst.write import frame
from whence.spark.tracing.annotated import AnnotatedTracer
from whence.spark.tracing.kept import Kept
from whence.spark.tracing.questions import matching
from whence.spark.tracing.tracer import absent

if TYPE_CHECKING:
    from whence.spark.running.subject import Subject

RESTRICTED_FOR = 20  # rows asked at once for which the sources are restricted; for more, the whole plan runs


class ReplayTracer(AnnotatedTracer):
    """Runs the plan with ids, over no more of the sources than the rows asked about need. It can always answer."""

    title: ClassVar[str] = "a replay: the pipeline runs again on the part of the sources that matters"
    how: ClassVar[str] = "replayed"

    def unavailable_reason(self, *, may_look: bool = True) -> str | None:
        return None

    def _kept(self) -> Kept | None:
        return None

    def _askable(self) -> tuple[Attr, ...]:
        return self._analysis.plan.output

    def _tagged(self, asked: tuple[Asked, ...] | None) -> Tagged:
        """The plan with ids, over restricted sources where that gives the same answer."""
        analysis, witness = self._analysis, self._asking.witness
        cut = None if asked is None else restriction(self._subject, asked, witness)
        return analysis.annotated(witness) if cut is None else eager(restrict(analysis.plan, cut), witness)

    def _rows(self, tagged: Tagged) -> Operator:
        return tagged.plan

    def _reasons(self, tagged: Tagged) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*super()._reasons(tagged), *self._analysis.nondeterminism.reasons())))


def restriction(subject: Subject, asked: tuple[Asked, ...], witness: str) -> dict[int, Expr] | None:
    """What of each use of a source the rows asked about need; None for all.

    Restricted sources give the same selected output (F(Op(G(T))) = F(Op(T))), so the ids are the same, too. A limit
    is the exception: it would let in a row that it left out, so the row has to be seen in the real output first.
    A plan that may give something else in every run is not restricted.
    """
    analysis = subject.analysis
    whole = analysis.plan
    if subject.annotated is not None or len(asked) > RESTRICTED_FOR or not is_simple(asked):
        return None
    if analysis.nondeterminism.reasons():
        return None
    if any(isinstance(part, Limit) for part in walk(whole)):
        if len(asked) > 1:
            return None
        if not frame(matching(whole, asked, analysis.session), analysis.jvm).take(1):
            raise absent(subject, "the output", asked)
    found = [infer(whole, predicate((row,)), witness).restrict for row in asked]
    cut = {number: disjunction(*(each[number] for each in found)) for number in found[0]}
    return None if all(each == TRUE for each in cut.values()) else cut
