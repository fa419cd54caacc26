"""The text of `Pipeline.explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whence.rows import TRUE, Expr, Opaque, Operator, Udf, walk
from whence.rows.functions.texts import SPACE
from whence.rows.saving import explained
from whence.spark.running.execute import calls_again
from whence.spark.tables import by_tasks
from whence.spark.tracing.choose import explained_choice
from whence.spark.tracing.matching import Matcher
from whence.spark.tracing.tracer import Asking

if TYPE_CHECKING:
    from whence.spark.running.subject import Subject

LONGEST = 300  # characters of a translation that are shown


class Explanation(str):
    """A string that notebooks show without quotes and escapes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def explanation(subject: Subject) -> Explanation:
    """Describe the operators with the predicate at each, what a run saves, how a question is answered, and what is not
    exact.
    """
    analysis, run = subject.analysis, subject.run
    settings = analysis.settings
    asking = Asking(Matcher(analysis.jvm), settings.witness)
    lines = [
        explained(analysis.plan, analysis.trace_plan if run is None else run.trace_plan),
        *_saving(subject),
        *explained_choice(subject, asking),
        *_materializing(subject),
    ]
    lines += _functions(analysis.plan)
    lines += [f"not saved: {failure}" for failure in (() if run is None else run.failures)]
    lines += [f"not reproducible: {reason}" for reason in analysis.nondeterminism.possible_reasons]
    lines += [f"a superset: {reason}" for reason in analysis.annotated(settings.witness).reasons]
    lines += [f"not traced further: {reason}" for reason in analysis.cuts]
    return Explanation("\n".join(lines))


def _functions(plan: Operator) -> list[str]:
    """The translations of Python functions, or the lines that prevent them."""
    lines: dict[str, None] = {}
    for part in walk(plan):
        if isinstance(part, Udf | Opaque) and part.holds:
            title = part.title or part.name if isinstance(part, Udf) else part.why
            lines[f"not followed: the function {title} holds {', '.join(part.holds)}"] = None
        if isinstance(part, Udf) and part.title:
            if part.inside is None:
                lines[f"the function {part.title} is not translated: {part.closed}"] = None
                continue
            value, domain = _short(part.over(part.inside.value)), part.over(part.inside.domain)
            only = "" if domain == TRUE else f", where {_short(domain)}"
            lines[f"the function {part.title} is translated to {value}{only}"] = None
    return list(lines)


def _short(expr: Expr) -> str:
    text = str(expr).replace(repr(SPACE), "white space")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def _materializing(subject: Subject) -> list[str]:
    """A line if Spark's tasks store the lineage of a run, instead of this process."""
    engine, why = by_tasks.chosen(subject.analysis)
    return [f"materialize() uses Spark's tasks: {why}"] if engine == "spark" else []


def _saving(subject: Subject) -> list[str]:
    """What a run saves."""
    analysis, settings = subject.analysis, subject.analysis.settings
    plan = analysis.trace_plan if subject.run is None else subject.run.trace_plan
    if settings.mode == "eager":
        return ["eager: a run annotates each row with the ids of its source rows"]
    if settings.save != "never" and not analysis.causes and calls_again(analysis):
        return [
            "a run annotates each row with the ids of its source rows: a question would call Python functions again"
        ]
    if analysis.causes and settings.save != "never":
        return [f"a run annotates each row with the ids of its source rows: {analysis.causes[0].why}"]
    if settings.save == "never":
        return ["a run saves nothing: save='never'"]
    if plan.unavailable_reason:
        return [f"a run saves nothing but its output: {plan.unavailable_reason}"]
    written = len(plan.written)
    lines = [
        f"a run saves {written} intermediate result{'' if written == 1 else 's'}, from which rows are traced"
        if written
        else "a run saves nothing but its output"
    ]
    if len(plan.saved) > written:
        lines.append(
            "results marked as recomputed are not saved, but computed from the files; save='always' saves them"
        )
    return lines
