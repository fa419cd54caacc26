"""Importing the edges of a graph, by column: rows of their tables, or statements if they have attributes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from whence.graph.model import CODES, KINDS, RELATIONS
from whence.store.catalog import schema as t
from whence.store.catalog.columns import Ints, pairs
from whence.store.recording.bulk import insert_rows
from whence.store.values import plain, several

if TYPE_CHECKING:
    from whence.graph import Graph

# Relations with a table of their own, and the columns for source and target.
_TABLES = {
    "used": (t.used, "activity", "entity"),
    "wasGeneratedBy": (t.was_generated_by, "entity", "activity"),
    "wasDerivedFrom": (t.was_derived_from, "generated", "used"),
    "wasAssociatedWith": (t.was_associated_with, "activity", "agent"),
    "wasAttributedTo": (t.was_attributed_to, "entity", "agent"),
}
_STATEMENT = ("relation", "source_kind", "source", "target_kind", "target", "properties")
Keys = set[tuple[Any, ...]]


class EdgeTaker:
    """Imports the edges of a graph whose vertices have these ids in the catalog."""

    def __init__(self, connection: sa.Connection, graph: Graph, ids: Ints, time: str) -> None:
        self.connection, self.graph, self.ids, self.time = connection, graph, ids, time

    def take(self) -> int:
        """Write the edges that the log does not have; return their number."""
        edges = self.graph.edge_table
        described = self._described()
        as_statements = described | ~np.isin(edges.relation, [CODES[name] for name in _TABLES])
        rows = np.zeros(len(edges), np.bool_)  # edges whose row is new
        for relation in _TABLES:
            own = np.flatnonzero(edges.relation == CODES[relation])
            rows[own[self._rows(relation, own)]] = True
        return int((rows | self._statements(np.flatnonzero(as_statements))).sum())

    def _described(self) -> NDArray[np.bool_]:
        """Return which edges have attributes, or equal an edge that has: each of these becomes a statement."""
        edges, count = self.graph.edge_table, len(self.graph) + 1
        key = (edges.relation.astype(np.int64) * count + edges.source) * count + edges.target
        return np.isin(key, key[self.graph.edge_properties.having_any()])

    def _rows(self, relation: str, own: NDArray[np.int64]) -> NDArray[np.int64]:
        """Insert the new rows of a relation with a table; return their indices in `own`, without duplicates."""
        if not len(own):
            return own
        table, source, target = _TABLES[relation]
        edges = self.graph.edge_table
        ends = self.ids[edges.source[own]], self.ids[edges.target[own]]
        known = pairs(self.connection, table.c[source], table.c[target])
        most = 1 + max(int(each.max(initial=0)) for each in (*ends, *known))
        key, old = (one * most + other for one, other in (ends, known))
        first = np.sort(np.unique(key, return_index=True)[1])
        first = first[~np.isin(key[first], old)]
        one, other = (each[first] for each in ends)
        columns: dict[str, list[Any]] = {source: one.tolist(), target: other.tolist()}
        if "position" in table.c:
            columns["position"] = self._positions(table, one if source == "activity" else other).tolist()
        if relation == "wasDerivedFrom":
            columns |= {"kind": ["imported"] * len(first), "created": [self.time] * len(first)}
        insert_rows(self.connection, table, tuple(columns), list(zip(*columns.values(), strict=True)))
        return first

    def _positions(self, table: sa.Table, activities: Ints) -> Ints:
        """Return positions among the inputs or outputs of activities, after the existing ones."""
        order = np.argsort(activities, kind="stable")
        grouped = activities[order]
        starts = np.flatnonzero(np.diff(grouped, prepend=-1))
        within = np.arange(len(grouped)) - np.repeat(starts, np.diff(starts, append=len(grouped)))
        last = sa.select(table.c.activity, sa.func.max(table.c.position)).group_by(table.c.activity)
        known = {row[0]: row[1] + 1 for row in self.connection.execute(last)}
        found = np.zeros(len(activities), np.int64)
        found[order] = within
        if known:
            found += np.array([known.get(each, 0) for each in activities.tolist()], np.int64)
        return found

    def _statements(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Write edges with their attributes as statements; return a mask of the edges that were new."""
        edges, new = self.graph.edge_table, np.zeros(len(self.graph.edge_table), np.bool_)
        if not len(rows):
            return new
        known = self._known()
        found = []
        properties = self.graph.edge_properties.rows(rows.astype(np.int32))
        columns = (edges.relation[rows], edges.source[rows], edges.target[rows])
        for row, code, source, target, given in zip(
            rows.tolist(), *(each.tolist() for each in columns), properties, strict=True
        ):
            relation = RELATIONS[code].name
            ends = (self._kind(source), int(self.ids[source]), self._kind(target), int(self.ids[target]))
            own = plain(several(given), f"an attribute of {relation}")
            key = (relation, *ends, _json_text(own))
            if key not in known:
                known.add(key)
                new[row] = True
                found.append((relation, *ends, own))
        insert_rows(self.connection, t.statements, _STATEMENT, found)
        return new

    def _kind(self, vertex: int) -> str:
        return KINDS[int(self.graph.kinds[vertex])]

    def _known(self) -> Keys:
        return {
            (row.relation, row.source_kind, row.source, row.target_kind, row.target, _json_text(row.properties))
            for row in self.connection.execute(sa.select(t.statements))
        }


def _json_text(properties: dict[str, Any]) -> str:
    return json.dumps(properties, sort_keys=True)
