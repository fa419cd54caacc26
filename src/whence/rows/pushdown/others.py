"""Sets, limits, windows, generators, samples, and what nothing is known of."""

from __future__ import annotations

from whence.rows.expressions import FALSE, Expr, conjunction, conjuncts
from whence.rows.operators import Except, Generate, Intersect, Limit, Opaque, Sample, Window
from whence.rows.pushdown.base import Aim, Pushed, give_up
from whence.rows.pushdown.pins import pins, substituted
from whence.rows.pushdown.unique import unique


def push_intersect(op: Intersect, predicate: Expr, aim: Aim) -> Pushed:
    """Both sides' equal rows."""
    decided = _all_pinned(op, predicate) and not op.all
    why = "" if decided else "rows that only one side has may be among them"
    return Pushed((predicate, _by_place(op, predicate)), decided, why, relies=True)


def push_except(op: Except, predicate: Expr, aim: Aim) -> Pushed:
    """The left side's equal rows, and nothing of the right."""
    decided = _all_pinned(op, predicate) and not op.all
    right = FALSE if aim is Aim.LINEAGE else _by_place(op, predicate)
    why = "" if decided else "rows that the right side takes away may be among them"
    return Pushed((predicate, right), decided, why, relies=True)


def push_limit(op: Limit, predicate: Expr, aim: Aim) -> Pushed:
    """A row, if it cannot be mistaken for one that the limit leaves out."""
    if not _all_pinned(op, predicate):
        return give_up(op, "a limit counts rows, so all columns must be asked for")
    if not unique(op.child, frozenset(op.output)):
        why = "equal rows may lie on both sides of the limit"
        return Pushed((predicate,), False, why) if aim is Aim.LINEAGE else give_up(op, why)
    return Pushed((predicate,), relies=True)


def push_window(op: Window, predicate: Expr, aim: Aim) -> Pushed:
    """The partition, if its columns are pinned; exact only where every frame is the whole of it."""
    known = pins(predicate)
    attrs = frozenset(attr for expr in op.partition for attr in expr.attrs)
    if not (attrs <= known.keys() and all(expr.deterministic for expr in op.partition)):
        return give_up(op, "the columns that the window is partitioned by are not pinned")
    facts = [fact for fact in conjuncts(predicate) if fact.attrs <= attrs]
    whole = all(function.frame.whole for function in op.functions)
    return Pushed((conjunction(*facts),), whole, "" if whole else "the frame is only a part of the partition", True)


def push_generate(op: Generate, predicate: Expr, aim: Aim) -> Pushed:
    """The row that was expanded; which element it gave cannot be asked of it."""
    kept = frozenset(op.kept)
    facts = [fact for fact in conjuncts(predicate) if fact.attrs <= kept]
    decided = op.outer and len(facts) == len(conjuncts(predicate))
    why = "" if decided else "rows that are equal but for the expanded column may be among them"
    return Pushed((conjunction(*facts),), decided, why)


def push_sample(op: Sample, predicate: Expr, aim: Aim) -> Pushed:
    """A sample depends on the place of every row."""
    return give_up(op, "a sample is drawn by the places of the rows")


def push_opaque(op: Opaque, predicate: Expr, aim: Aim) -> Pushed:
    """Anything."""
    return give_up(op, op.why)


def _all_pinned(op: Intersect | Except | Limit, predicate: Expr) -> bool:
    known = pins(predicate)
    return all(attr in known for attr in op.output)


def _by_place(op: Intersect | Except, predicate: Expr) -> Expr:
    return substituted(predicate, dict(zip(op.output, op.right.output, strict=True)))
