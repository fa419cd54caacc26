"""Write plans into documents."""

from __future__ import annotations

import json
from typing import Any

from whence.errors import BadType, TooLarge
from whence.rows.documents.nodes import BY_CLASS
from whence.rows.documents.origins import opaque_reason
from whence.rows.operators import Operator
from whence.rows.saving import TracePlan
from whence.rows.tree import Tree, depth, upwards

VERSION = 1
FORMAT = "whence plan"
DEEPEST = 1_000  # nesting depth
MOST_PARTS = 1_000_000  # nodes of a plan; shared ones count at each occurrence
OPAQUE = "opaque"  # the field that says why a node cannot be computed from the document


def plan_document(plan: Operator, trace: TracePlan | None = None) -> dict[str, Any]:
    """Convert a plan and its trace plan to a JSON document. Columns are renumbered in the order of the nodes.

    >>> from whence.rows import Attr, Filter, IsNull, Source
    >>> a = Attr(71, "a", "long")
    >>> document = plan_document(Filter(Source("t", 0, (a,)), IsNull(a)))
    >>> for node in document["nodes"]:
    ...     print(node)
    {'node': 'column', 'id': 0, 'name': 'a', 'dtype': 'long'}
    {'node': 'source', 'name': 't', 'occurrence': 0, 'columns': [0]}
    {'node': 'is_null', 'arg': 0}
    {'node': 'filter', 'child': 1, 'condition': 2}
    """
    writer = _Writer()
    document: dict[str, Any] = {"format": FORMAT, "version": VERSION, "plan": writer.add(plan)}
    document["trace"] = None if trace is None else _trace(trace, writer)
    document["nodes"] = writer.nodes
    return document


class _Writer:
    """The nodes so far, without duplicates."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self._numbers: dict[str, int] = {}  # by the JSON of a node
        self._known: dict[int, tuple[object, int]] = {}  # by id; keeping the part prevents that its id is reused
        self._columns: dict[int, int] = {}
        self._parts = 0

    def add(self, tree: Tree) -> int:
        """Add a tree to the document, and return its number."""
        if depth(tree) > DEEPEST:
            raise TooLarge(f"a plan with more than {DEEPEST} nested parts is not stored")
        for each in upwards(tree):
            self._parts += 1
            if self._parts > MOST_PARTS:
                raise TooLarge(f"a plan of more than {MOST_PARTS:,} parts is not stored")
            if id(each) not in self._known:
                self._known[id(each)] = each, self._add(each)
        return self.number(tree)

    def number(self, part: object) -> int:
        return self._known[id(part)][1]

    def column(self, id: int) -> int:
        return self._columns.setdefault(id, len(self._columns))

    def _add(self, tree: Tree) -> int:
        kind = BY_CLASS.get(type(tree))
        if kind is None:
            raise BadType(f"{type(tree).__name__} cannot be stored: whence.rows.documents lacks it")
        node: dict[str, Any] = {"node": kind.name}
        for name, field in kind.fields.items():
            value = getattr(tree, name)
            if name not in kind.defaults or not _same(value, kind.defaults[name]):
                node[name] = field.write(value, self)
        reason = opaque_reason(tree)
        if reason is not None:
            node[OPAQUE] = reason
        text = json.dumps(node, sort_keys=True)
        if text not in self._numbers:
            self._numbers[text] = len(self.nodes)
            self.nodes.append(node)
        return self._numbers[text]


def _same(value: object, default: object) -> bool:
    return type(value) is type(default) and not isinstance(value, Tree) and value == default


def _trace(trace: TracePlan, writer: _Writer) -> dict[str, Any]:
    saved = [
        {
            "place": list(each.place),
            "operator": writer.add(each.operator),
            "columns": [writer.add(attr) for attr in each.columns],
            "table": list(each.table),
            "predicate": writer.add(each.predicate),
            "sure": each.sure,
            "why": each.why,
            "recomputed": each.recomputed,
        }
        for each in trace.saved
    ]
    uses = [
        {"source": writer.add(use.source), "table": list(use.table), "predicate": writer.add(use.predicate)}
        for use in trace.uses
    ]
    return {"saved": saved, "uses": uses, "unavailable_reason": trace.unavailable_reason}
