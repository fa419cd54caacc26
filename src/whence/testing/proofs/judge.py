"""Check whether a pushed predicate is correct, over all tables of a few rows (section 4.2 of PredTrace)."""

from __future__ import annotations

import z3

from whence.rows.expressions import Expr
from whence.rows.operators import Operator
from whence.rows.pushdown.base import Aim, Pushed
from whence.testing.proofs.exprs import evaluate
from whence.testing.proofs.symbolic import SymbolicRow, Table
from whence.testing.proofs.tables import promised, run, symbolic
from whence.testing.proofs.values import same, true

ROWS = 2
"""Rows of each symbolic table: enough for operators that compare pairs of rows."""

DEADLINE_MS = 5_000


def equivalent(
    op: Operator, predicate: Expr, pushed: Pushed, aim: Aim, *, rows: int = ROWS, witness: str = "rows"
) -> bool:
    """Whether the pushed predicates are proven correct; False for a time-out or an unknown result.

    RESTRICT: the selected output is the same over the restricted inputs. LINEAGE: an input row is selected exactly if
    it contributed to a selected output row. If the rule `assumes_row_exists`, such an output row is assumed.
    """
    inputs = [symbolic(child.output, rows, number) for number, child in enumerate(op.children)]
    whole = run(op, inputs, witness)
    selected = [z3.And(row.there, true(evaluate(predicate, row.values))) for row in whole]
    solver = z3.Solver()
    solver.set("timeout", DEADLINE_MS)
    solver.add(*promised(op, inputs))
    if aim is Aim.RESTRICT:
        cut = [_selected_rows(table, each) for table, each in zip(inputs, pushed.inputs, strict=True)]
        differs = []
        for before, after, chosen in zip(whole, run(op, cut, witness), selected, strict=True):
            still = z3.And(after.there, true(evaluate(predicate, after.values)))
            kept = z3.And(*(same(before.values[attr], after.values[attr]) for attr in op.output))
            differs.append(z3.Or(chosen != still, z3.And(chosen, z3.Not(kept))))
        solver.add(z3.Or(*differs))
    else:
        if pushed.assumes_row_exists:
            solver.add(z3.Or(*selected))
        wrong = []
        for number, (table, each) in enumerate(zip(inputs, pushed.inputs, strict=True)):
            for i, row in enumerate(table):
                said = z3.And(row.there, true(evaluate(each, row.values)))
                made = z3.And(row.there, _contributed(whole, selected, (number, i)))
                wrong.append(said != made)
        solver.add(z3.Or(*wrong))
    return bool(solver.check() == z3.unsat)


def _selected_rows(table: Table, predicate: Expr) -> Table:
    return [
        SymbolicRow(z3.And(row.there, true(evaluate(predicate, row.values))), row.values, row.made_of) for row in table
    ]


def _contributed(whole: Table, selected: list[z3.BoolRef], key: tuple[int, int]) -> z3.BoolRef:
    uses = [z3.And(chosen, row.made_of[key]) for row, chosen in zip(whole, selected, strict=True) if key in row.made_of]
    return z3.Or(*uses)
