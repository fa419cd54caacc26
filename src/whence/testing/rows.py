"""The lineage of all rows of a Spark pipeline over little data, to check answers.

`annotated` runs the pipeline with row ids (`whence.rows.eager`); `selected` returns the source rows that predicates
select; `over_only` is the pipeline over only some rows; `faults` returns errors of inference and answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from whence.rows import (
    FALSE,
    Compare,
    Expr,
    Filter,
    In,
    Join,
    Literal,
    Named,
    Operator,
    Project,
    Source,
    Tree,
    disjunction,
    fresh,
    keep,
    transform,
)
from whence.rows.eager import eager
from whence.rows.eager.ids import LIST, LONG, as_list
from whence.rows.expressions import Call
from whence.rows.pushdown import infer
from whence.rows.questions.restrict import restrict, sources
from whence.rows.questions.rows import Asked, described, predicate
from whence.spark.catalyst.frames import frame
from whence.spark.lineage import given

if TYPE_CHECKING:
    from whence.spark.catalyst.plan import Plan
    from whence.spark.pipeline import Pipeline

MOST_IDS = 200  # the most ids in a predicate
IdSets = dict[int, frozenset[int]]  # by the occurrence of the source


@dataclass(frozen=True, slots=True)
class AnnotatedRow:
    """An output row and the ids of the source rows that it came from."""

    values: tuple[Any, ...]
    ids: IdSets


def annotated(plan: Plan, witness: str = "rows", root: Operator | None = None) -> list[AnnotatedRow]:
    """Return every output row of the plan, or of another root, with its lineage."""
    root = plan.root if root is None else root
    tagged = eager(root, witness)
    lists = tuple(Named(fresh("_ids", LIST), as_list(each)) for each in tagged.ids.values())
    width = len(root.output)
    found = frame(Project(tagged.plan, (*keep(*root.output), *lists)), plan.jvm).collect()
    numbers = [source.occurrence for source in sources(root)]
    out = []
    for row in found:
        ids = dict(zip(tagged.ids, map(frozenset, row[width:]), strict=True))
        out.append(AnnotatedRow(tuple(row[:width]), {number: ids.get(number, frozenset()) for number in numbers}))
    return out


def selected(plan: Plan, questions: Sequence[Mapping[int, Expr]]) -> list[IdSets]:
    """Return for each question (a predicate for each use of a source) the ids of the rows that it selects."""
    answers: list[dict[int, set[int]]] = [{} for _ in questions]
    for source in sources(plan.root):
        row_id = fresh("_id", LONG, nullable=False)
        flags = tuple(
            Named(fresh("_held", "boolean"), _null_as_false(question.get(source.occurrence, FALSE)))
            for question in questions
        )
        some = disjunction(*(named.expr for named in flags))
        rows = Project(Filter(replace(source, row_id=row_id), some), (*keep(row_id), *flags))
        for answer in answers:
            answer[source.occurrence] = set()
        for number, *held in frame(rows, plan.jvm).collect():
            for answer, flag in zip(answers, held, strict=True):
                if flag:
                    answer[source.occurrence].add(number)
    return [{number: frozenset(each) for number, each in answer.items()} for answer in answers]


def over_only(plan: Plan, ids: Mapping[int, Iterable[int]]) -> Operator:
    """Return the plan over only the given rows of each use of a source."""

    def only(part: Tree) -> Tree:
        if not isinstance(part, Source) or part.is_domain_copy:
            return part
        row_id = fresh("_id", LONG, nullable=False)
        rows = replace(part, row_id=row_id)
        wanted = sorted(ids.get(part.occurrence, ()))
        if len(wanted) > MOST_IDS:
            table = given(plan.jvm.spark.createDataFrame([(each,) for each in wanted], "id long"))
            return Project(Join(rows, table, "semi", Compare("=", row_id, table.output[0])), keep(*part.columns))
        held = In(row_id, tuple(Literal(each, LONG) for each in wanted)) if wanted else FALSE
        return Project(Filter(rows, held), keep(*part.columns))

    changed = transform(plan.root, only)
    assert isinstance(changed, Operator)
    return changed


def united(rows: Iterable[AnnotatedRow]) -> IdSets:
    """Unite the lineage of several rows."""
    out: dict[int, frozenset[int]] = {}
    for row in rows:
        for number, ids in row.ids.items():
            out[number] = out.get(number, frozenset()) | ids
    return out


def asked_for(plan: Plan, rows: Iterable[AnnotatedRow], question: Asked) -> list[AnnotatedRow]:
    """The rows that a question selects."""
    places = [plan.root.output.index(attr) for attr, _ in question]
    values = [value for _, value in question]
    return [row for row in rows if all(same_value(row.values[i], v) for i, v in zip(places, values, strict=True))]


def faults(plan: Plan, rows: Sequence[AnnotatedRow], questions: Sequence[Asked], witness: str = "rows") -> list[str]:
    """Describe where inference and ids disagree; empty if they agree.

    Predicates may select too many rows only if they say so, and never too few. Over restricted sources, the selected
    rows and their lineage must not change; this needs a run, so it is checked only for the last question.
    """
    found = []
    inferred = [infer(plan.root, predicate((question,)), witness) for question in questions]
    held = selected(plan, [each.lineage for each in inferred])
    for question, inference, ids in zip(questions, inferred, held, strict=True):
        for number, wanted in united(asked_for(plan, rows, question)).items():
            if not wanted <= ids[number]:
                found.append(f"{described(question)}: the predicate of use {number} loses {wanted - ids[number]}")
            elif inference.precise and wanted != ids[number]:
                found.append(f"{described(question)}: the predicate of use {number} adds {ids[number] - wanted}")
    question, expected = questions[-1], asked_for(plan, rows, questions[-1])
    cut = restrict(plan.root, inferred[-1].restrict)
    again = annotated(plan, witness, Filter(cut, predicate((question,))))
    if len(again) != len(expected) or united(again) != united(expected):
        found.append(f"{described(question)}: over sources cut down it is {united(again)}, not {united(expected)}")
    return found


def answer_faults(pipeline: Pipeline, plan: Plan, rows: Sequence[AnnotatedRow], question: Asked) -> list[str]:
    """Describe where the user's answer and the ids disagree."""
    lineage = pipeline.backward({attr.name: value for attr, value in question})
    expected = united(asked_for(plan, rows, question))
    wanted: dict[str, set[int]] = {}
    for source in sources(plan.root):
        wanted.setdefault(source.name, set()).update(expected[source.occurrence])
    out = [] if lineage.precise else [f"{described(question)}: not precise, {lineage.reason}"]
    for name, ids in wanted.items():
        found = {each["_row"] for each in lineage.identified(name).select("_row").collect()}
        if found != ids:
            out.append(f"{described(question)}: {name} has {len(found)} rows, not {len(ids)}")
    return out


def same_value(a: Any, b: Any) -> bool:
    """Equality in questions: NULL equals NULL, and NaN equals NaN."""
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b):
        return True
    return bool(a == b) if a is not None and b is not None else a is b


def _null_as_false(predicate: Expr) -> Expr:
    return Call("coalesce", (predicate, FALSE), "boolean")


def stored_faults(plan: Operator) -> list[str]:
    """Describe the differences in a plan and its trace plan after writing them to a document and reading them again."""
    import json

    from whence.rows.documents import plan_document, read_plan
    from whence.rows.saving import trace_plan
    from whence.spark.running.fingerprint import canonical

    trace = trace_plan(plan)
    document = json.loads(json.dumps(plan_document(plan, trace)))
    stored = read_plan(document)
    assert stored.trace is not None
    found = [] if canonical(stored.plan) == canonical(plan) else ["the plan is another"]
    pairs = zip(trace.saved, stored.trace.saved, strict=True)
    found += [f"{a.place} is another" for a, b in pairs if canonical(a.operator) != canonical(b.operator)]
    if plan_document(stored.plan, stored.trace) != document:
        found.append("it is written in another way")
    return found
