"""The tracer that runs the pipeline again, with the ids of source rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from whence.rows import TRUE, Attr, Expr, Limit, Opaque, Operator, disjunction, walk
from whence.rows.eager import FUNCTIONS, Tagged, eager
from whence.rows.pushdown import infer
from whence.rows.questions.restrict import restrict
from whence.rows.questions.rows import Asked, is_simple, predicate
from whence.spark.catalyst.frames import frame
from whence.spark.tracing.annotated import AnnotatedTracer
from whence.spark.tracing.questions import matching
from whence.spark.tracing.saved_ids import SavedIds
from whence.spark.tracing.tracer import absent

if TYPE_CHECKING:
    from whence.spark.running.subject import Subject

RESTRICTED_FOR = 20  # up to this many rows, the sources are restricted; for more, the whole plan runs


class ReplayTracer(AnnotatedTracer):
    """Runs the plan with ids, over the part of the sources that the question needs. It can always answer."""

    title: ClassVar[str] = "a replay: the pipeline runs again on the part of the sources that matters"
    how: ClassVar[str] = "replayed"
    tried: ClassVar[bool] = False

    def unavailable_reason(self, *, may_look: bool = True) -> str | None:
        return None

    def _saved_ids(self) -> SavedIds | None:
        return None

    def _askable(self) -> tuple[Attr, ...]:
        return self._analysis.plan.output

    def _tagged(self, asked: tuple[Asked, ...] | None) -> Tagged:
        """The plan with ids, over restricted sources if that gives the same answer."""
        analysis, witness = self._analysis, self._asking.witness
        cut = None if asked is None else restriction(self._subject, asked, witness)
        if cut is None and not self.tried:
            return analysis.annotated(witness)
        return eager(analysis.plan if cut is None else restrict(analysis.plan, cut), witness, tried=self.tried)

    def _rows(self, tagged: Tagged) -> Operator:
        return tagged.plan

    def _reasons(self, tagged: Tagged) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*super()._reasons(tagged), *self._analysis.nondeterminism.reasons())))


class TriedTracer(ReplayTracer):
    """Like `ReplayTracer`, but also calls functions of groups with fewer rows: those that they seem to keep.

    If these rows give the output row by themselves, they are the answer; otherwise the whole group is.
    """

    title: ClassVar[str] = "a replay that also calls functions of groups with fewer rows"
    how: ClassVar[str] = "replayed, functions tried on fewer rows"
    tried: ClassVar[bool] = True

    def unavailable_reason(self, *, may_look: bool = True) -> str | None:
        functions = (part for part in walk(self._analysis.plan) if isinstance(part, FUNCTIONS))
        if not any(each.triable if isinstance(each, Opaque) else True for each in functions):
            return "the pipeline has no function of groups"
        reasons = self._analysis.nondeterminism.possible_reasons
        return f"another run may give another result: {reasons[0]}" if reasons else None


def restriction(subject: Subject, asked: tuple[Asked, ...], witness: str) -> dict[int, Expr] | None:
    """Return a predicate for each use of a source that selects the rows the question needs, or None for all rows.

    Restricted sources give the same selected output (F(Op(G(T))) = F(Op(T))), so the ids are the same. Limits are an
    exception: with fewer rows, a limit may keep a row that it left out. So the row is first looked up in the
    unrestricted output. A plan that may give another result in another run is not restricted.
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
