"""Writes docs/reference/operators.md from the rules themselves: `python docs/_ext/operators.py` (`make docs` calls it).

For each operator there is an example below. Which columns of an output row have to be given for predicates alone to
find its lineage is tried out, set of columns by set of columns; the solver judges each claim; and the rewriting with
row ids says what a replay can and cannot do. A test compares the page with what this module writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from whence.errors import BadType
from whence.rows import (
    AggCall,
    Aggregate,
    Arrange,
    Attr,
    Call,
    Cogroup,
    Compare,
    Distinct,
    Except,
    Expand,
    Filter,
    Frame,
    Generate,
    GroupedMap,
    Intersect,
    IsNull,
    Join,
    Limit,
    Literal,
    Named,
    Opaque,
    Operator,
    Or,
    Project,
    Sample,
    Sort,
    SortKey,
    Source,
    Udf,
    Union,
    Window,
    WindowCall,
    disjunction,
    keep,
)
from whence.rows.determinism.reasons import unpinned
from whence.rows.eager import eager
from whence.rows.frames import OF_LIMIT
from whence.rows.pushdown import Aim, push, row_selection
from whence.rows.saving import trace_plan
from whence.testing.proofs import equivalent

PAGE = Path(__file__).parents[1] / "reference" / "operators.md"

HEAD = """# Operators, and what is exact

`docs/_ext/operators.py` writes this page from the rules. The examples read two tables, `t(a, b)` and `u(c, d)`, with
integer columns.

- **comes from**: the input rows that are the lineage of an output row.
- **by predicates, given**: the columns of the output row that a question must give, so that a predicate on each input
  selects exactly these rows. Such a question is only a filter; nothing needs to be saved. *anything*: every question is
  exact; *never*: none is, not even about a whole row. Questions with fewer columns use saved results or a replay.
- **proven**: whether a solver has proven the rule for all tables of two rows with nulls. *no theory*: the solver does
  not support the operator, so the rule is only tested against other ways to answer.
- **saved**: the columns that a run saves if the output does not have them. A question is then exact, and nothing runs
  again. `_key` is a group key that was not selected.
- **replayed**: whether a replay with row ids is exact. If it is a superset, or may differ from run to run, this is the
  text of `lin.reason`. `p.run()` pins a run that may differ: it saves the ids of its rows, so questions about it are
  exact. Ties are looked for in the data.

If a plan has an operator that is not in these tables, whence raises an error that names it.
"""


@dataclass(frozen=True, slots=True)
class Example:
    """An operator as people write it, and what its rows come from."""

    written: str
    operator: Operator
    comes_from: str


LONGS = '{"type":"array","elementType":"long","containsNull":true}'
A, B, C, D = (Attr(i, name, "long") for i, name in enumerate("abcd", 1))
M, N, K = Attr(11, "m", "long"), Attr(12, "n", "long"), Attr(13, "k", "long")
FLAG, LIST, E = Attr(14, "found", "boolean"), Attr(15, "list", LONGS), Attr(16, "e", "long")
T, U, V = Source("t", 0, (A, B)), Source("u", 1, (C, D)), Source("v", 2, (A, LIST))
KEY = Compare("=", A, C)
PLUS, RANDOM = Call("Add", (A, B), "long"), Call("Rand", (), "double", pure=False)
SUM, LEAST = AggCall("Sum", (B,), "long"), AggCall("Min", (B,), "long")
NOTHING, FUNCTION = Literal(None, "long"), Udf("f", (), "long")
THREE = Literal(3, "integer")
LISTED = disjunction(*(Compare("<=>", B, Literal(value, "long")) for value in (3, 4)))
EXPLODED = Call("Explode", (LIST,), "long")
ROW, PAIR, GROUP = "the row", "the two rows", "all rows of the group"
EQUAL = "all rows equal to it"


def _less(left: Attr, right: Attr | Literal) -> Compare:
    return Compare("<", left, right)


def _grouped(*outputs: Named) -> Aggregate:
    return Aggregate(T, (A,), outputs)


def _window(name: str, lower: int | None, upper: int | None) -> Window:
    call = WindowCall(name, (B,), Frame("rows", lower, upper), "long")
    return Window(T, (Named(N, call),), (A,), (SortKey(B),))


KEPT = (Named(A, A),)
EXAMPLES: dict[str, tuple[Example, ...]] = {
    "Row by row": (
        Example("`where b < 3`", Filter(T, _less(B, Literal(3, "long"))), ROW),
        Example("`select a as m, a + b as n`, a UDF column", Project(T, (Named(M, A), Named(N, PLUS))), ROW),
        Example("`select a as m, rand() as n`", Project(T, (Named(M, A), Named(N, RANDOM))), ROW),
        Example("`order by b`", Sort(T, (SortKey(B),)), ROW),
        Example("`limit 3`", Limit(T, THREE), ROW),
        Example(
            "`order by a, b limit 3` of distinct rows",
            Limit(Sort(Distinct(T, (A, B)), (SortKey(A), SortKey(B))), THREE),
            ROW,
        ),
        Example("`repartition`, `coalesce`, hints", Arrange(T, "repartition"), ROW),
        Example("`sample(0.1)`", Sample(T, 0.0, 0.1, False, 1), ROW),
        Example("`select a, explode(list) as e`", Generate(V, EXPLODED, (E,), (A,)), "the row that was expanded"),
        Example(
            "`unpivot`, grouping sets",
            Expand(T, ((A, Literal(0, "long")), (NOTHING, Literal(1, "long"))), (M, N)),
            "the row that was expanded",
        ),
    ),
    "Joins and subqueries": (
        Example("`t join u on a = c`", Join(T, U, "inner", KEY), PAIR),
        Example("`t join u on b < d`", Join(T, U, "inner", _less(B, D)), PAIR),
        Example("`t cross join u`", Join(T, U, "cross"), PAIR),
        Example("`t left join u on a = c`", Join(T, U, "left", KEY), f"{PAIR}, or the left one alone"),
        Example("`t right join u on a = c`", Join(T, U, "right", KEY), f"{PAIR}, or the right one alone"),
        Example("`t full join u on a = c`", Join(T, U, "full", KEY), f"{PAIR}, or either one alone"),
        Example(
            "`where exists (... a = c)`, `a in (select c ...)`, semi-join",
            Join(T, U, "semi", KEY),
            "the row, and all inner rows that match",
        ),
        Example(
            "`where not exists (... a = c)`, anti-join",
            Join(T, U, "anti", KEY),
            "the row, and nothing of the inner side",
        ),
        Example(
            "`where a not in (select c ...)`",
            Join(T, U, "anti", Or((KEY, IsNull(KEY)))),
            "the row, and nothing of the inner side",
        ),
        Example(
            "`exists (... a = c) or ...`", Join(T, U, "existence", KEY, FLAG), "the row, and all inner rows that match"
        ),
        Example(
            "a scalar subquery, `(select d ... where c = a)`",
            Join(T, U, "single", KEY),
            "the row, and the inner rows that gave the value",
        ),
    ),
    "Groups and windows": (
        Example("`select a, sum(b) ... group by a`", _grouped(*KEPT, Named(N, SUM)), GROUP),
        Example(
            "`pivot (sum(b) for b in (3, 4))`",
            replace(_grouped(*KEPT, Named(N, SUM)), listed=LISTED),
            "the rows of the group whose value is listed; all of them where none is",
        ),
        Example("`select sum(b) ... group by a`", _grouped(Named(N, SUM)), GROUP),
        Example(
            "`select a, min(b) ... group by a`; max, first, last, any",
            _grouped(*KEPT, Named(N, LEAST)),
            'the rows of the group that attain the value; all of them with `witness="group"`',
        ),
        Example("`select distinct`", Distinct(T, (A, B)), "all the duplicates"),
        Example('`dropDuplicates(["a"])`', Distinct(T, (A,)), "all the duplicates"),
        Example("`sum(b) over (partition by a)`", _window("Sum", None, None), "the row, and the rows of the frame"),
        Example(
            "`sum(b) over (partition by a order by b)`",
            Window(T, (Named(N, WindowCall("Sum", (B,), Frame("range", None, 0), "long")),), (A,), (SortKey(B),)),
            "the row, and the rows of the frame",
        ),
        Example("`sum(b) over (... rows 1 preceding)`", _window("Sum", -1, 0), "the row, and the rows of the frame"),
        Example(
            "`sum(b) over (order by a rows 1 preceding)`, where rows tie",
            Window(T, (Named(N, WindowCall("Sum", (B,), Frame("rows", -1, 0), "long")),), (), (SortKey(A),)),
            "the row, and the rows of the frame",
        ),
        Example(
            "`lateral (select ... order by b limit 3)`",
            Window(
                T,
                (Named(N, WindowCall("RowNumber", (), Frame("rows", None, 0), "long", OF_LIMIT)),),
                (A,),
                (SortKey(B),),
            ),
            ROW,
        ),
        Example("`applyInPandas`, a grouped map", GroupedMap(T, (A,), (M, N), FUNCTION), GROUP),
        Example("`cogroup`", Cogroup(T, U, (A,), (C,), (M, N), FUNCTION), "all rows of the group on both sides"),
    ),
    "Sets": (
        Example("`union all`", Union((T, U), (M, N)), "the row, of its own branch"),
        Example("`intersect`", Intersect(T, U), f"{EQUAL}, of both sides"),
        Example("`intersect all`", Intersect(T, U, all=True), f"{EQUAL}, of both sides"),
        Example("`except`", Except(T, U), f"{EQUAL}, of the left side"),
        Example("`except all`", Except(T, U, all=True), f"{EQUAL}, of the left side"),
    ),
    "Anything else": (Example("`mapInPandas`, RDDs", Opaque((T,), (M, N), "mapInPandas"), "the whole input, marked"),),
}


def questions(op: Operator) -> Iterator[tuple[Attr, ...]]:
    """Sets of output columns that a question may give, the smallest first."""
    for count in range(len(op.output) + 1):
        yield from combinations(op.output, count)


def enough(op: Operator) -> list[tuple[Attr, ...]]:
    """The smallest sets of columns with which the predicates are exact, whatever is given besides."""
    exact = {given: push(op, row_selection(op, given)).precise for given in questions(op)}
    found: list[tuple[Attr, ...]] = []
    for given in exact:
        more = (precise for each, precise in exact.items() if set(given) <= set(each))
        if not any(set(each) <= set(given) for each in found) and all(more):
            found.append(given)
    return found


def given_text(op: Operator) -> str:
    """Which columns these are, for the page."""
    found = enough(op)
    if not found:
        return f"never: {push(op, row_selection(op)).why}"
    return " or ".join(", ".join(f"`{attr.name}`" for attr in each) or "anything" for each in found)


def proven(op: Operator) -> str:
    """What the solver says of these claims."""
    verdicts = set()
    for given in enough(op):
        question = row_selection(op, given)
        try:
            verdicts.add(equivalent(op, question, push(op, question), Aim.LINEAGE))
        except BadType:
            return "no theory"
    return {frozenset(): "", frozenset({True}): "yes"}.get(frozenset(verdicts), "NO")


def saved(op: Operator) -> str:
    """The columns that a run saves of the output, where the pipeline's output does not show those that are needed."""
    found = enough(op)
    if found and not found[0]:
        return ""
    needed = {attr for each in found for attr in each}
    rest = tuple(attr for attr in op.output if attr not in needed)
    count = Named(Attr(99, "count", "long"), AggCall("Count", (Literal(1, "integer"),), "long"))
    chosen = trace_plan(Project(op, keep(*rest)) if rest else Aggregate(op, (), (count,)))
    if chosen.unavailable_reason is not None:
        return "nothing: replayed"
    return ", ".join(f"`{attr.name}`" for each in chosen.saved for attr in each.columns if attr not in rest)


def replayed(op: Operator) -> str:
    """What a replay gives: exact, or why not."""
    reasons = (*eager(op).reasons, *unpinned(op))
    return "; ".join(reasons) if reasons else "exact"


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, examples in EXAMPLES.items():
        parts.append(f"\n## {title}\n\n| operator | comes from | by predicates, given | proven | saved | replayed |\n")
        parts.append("|---|---|---|---|---|---|\n")
        for each in examples:
            op = each.operator
            cells = (each.written, each.comes_from, given_text(op), proven(op), saved(op), replayed(op))
            parts.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n")
    return "".join(parts)


def main() -> None:
    """Write the page if it changed."""
    wanted = page()
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != wanted:
        PAGE.write_text(wanted, encoding="utf-8")
        print(f"{PAGE.name}: brought up to date with the rules")


if __name__ == "__main__":
    main()
