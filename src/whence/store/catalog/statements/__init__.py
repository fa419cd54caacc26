"""The SQL statements that read and write the catalog."""

from whence.store.catalog.statements.agents import agent_called, current_agent
from whence.store.catalog.statements.deleting import delete_dataset, forget_relations
from whence.store.catalog.statements.following import (
    Derived,
    Loose,
    datasets_after,
    edges_after,
    is_commit,
    label,
    last_activity,
    loose_after,
)
from whence.store.catalog.statements.inserting import insert
from whence.store.catalog.statements.reading import (
    content,
    counts,
    dataset,
    datasets,
    derivations,
    ids_of,
    log_id,
    names,
    operations,
    referenced,
    relations,
    require_shapes,
    stamp,
)
from whence.store.catalog.statements.writing import Edge, Stored, add_dataset, add_edges, add_operation

__all__ = [
    "Derived",
    "Edge",
    "Loose",
    "Stored",
    "add_dataset",
    "add_edges",
    "add_operation",
    "agent_called",
    "content",
    "counts",
    "current_agent",
    "dataset",
    "datasets",
    "datasets_after",
    "delete_dataset",
    "derivations",
    "edges_after",
    "forget_relations",
    "ids_of",
    "insert",
    "is_commit",
    "label",
    "last_activity",
    "log_id",
    "loose_after",
    "names",
    "operations",
    "referenced",
    "relations",
    "require_shapes",
    "stamp",
]
