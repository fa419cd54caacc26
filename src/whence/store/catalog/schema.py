"""The catalog's tables, as SQLAlchemy sees them: a W3C PROV graph, with a relation for each derivation.

The migrations create the tables; a test compares the two definitions.
"""

from __future__ import annotations

import sqlalchemy as sa

from whence.store.catalog.kinds import Content, Digits, Document, Number, Properties, Shape, SmallNumber, Words

metadata = sa.MetaData()

# One row. `changes` counts the committed writes, `removals` those that deleted something. A reader compares them with
# the last counts it saw: new changes are read into its graph; after a removal it reads the whole graph again.
log = sa.Table(
    "log",
    metadata,
    sa.Column("one", SmallNumber, primary_key=True),
    sa.Column("id", Words, nullable=False),
    sa.Column("created", Words, nullable=False),
    sa.Column("changes", Number, nullable=False),
    sa.Column("removals", Number, nullable=False),
)

migrations = sa.Table(
    "migrations",
    metadata,
    sa.Column("name", Words, primary_key=True),
    sa.Column("applied", Words, nullable=False),
)

entities = sa.Table(
    "entities",
    metadata,
    sa.Column("id", Number, primary_key=True),
    sa.Column("name", Words, nullable=False),
    sa.Column("kind", Words, nullable=False),
    sa.Column("shape", Shape),
    sa.Column("created", Words),  # NULL: unknown, because it was imported
    sa.Column("properties", Properties, nullable=False),
)

activities = sa.Table(
    "activities",
    metadata,
    sa.Column("id", Number, primary_key=True),
    sa.Column("name", Words, nullable=False),
    sa.Column("args", Document, nullable=False),
    sa.Column("started", Words),  # NULL: unknown, as above
    sa.Column("ended", Words),
    sa.Column("properties", Properties, nullable=False),
    sa.Column("identifier", Words),
)

agents = sa.Table(
    "agents",
    metadata,
    sa.Column("id", Number, primary_key=True),
    sa.Column("name", Words, nullable=False),
    sa.Column("kind", Words, nullable=False),
    sa.Column("properties", Properties, nullable=False),
)

# The content of a relation. `hash` names its blob; the bytes of a small relation are in `data` instead. `tuples` is
# text because 2^80 tuples may be a few boxes, and do not fit into an integer column.
relations = sa.Table(
    "relations",
    metadata,
    sa.Column("hash", Words, primary_key=True),
    sa.Column("size", Number, nullable=False),
    sa.Column("boxes", Number, nullable=False),
    sa.Column("tuples", Digits, nullable=False),
    sa.Column("created", Words, nullable=False),
    sa.Column("data", Content),
)

# The parts of a large relation: blobs that are named in its own blob, the index.
parts = sa.Table(
    "parts",
    metadata,
    sa.Column("relation", sa.ForeignKey("relations.hash"), primary_key=True),
    sa.Column("position", SmallNumber, primary_key=True),
    sa.Column("hash", Words, nullable=False),
    sa.Column("size", Number, nullable=False),
)

used = sa.Table(
    "used",
    metadata,
    sa.Column("activity", sa.ForeignKey("activities.id"), primary_key=True),
    sa.Column("position", SmallNumber, primary_key=True),
    sa.Column("entity", sa.ForeignKey("entities.id"), nullable=False),
)

was_generated_by = sa.Table(
    "was_generated_by",
    metadata,
    sa.Column("activity", sa.ForeignKey("activities.id"), primary_key=True),
    sa.Column("position", SmallNumber, primary_key=True),
    sa.Column("entity", sa.ForeignKey("entities.id"), nullable=False),
)

was_derived_from = sa.Table(
    "was_derived_from",
    metadata,
    sa.Column("id", Number, primary_key=True),
    sa.Column("generated", sa.ForeignKey("entities.id"), nullable=False),
    sa.Column("used", sa.ForeignKey("entities.id"), nullable=False),
    sa.Column("activity", sa.ForeignKey("activities.id")),
    sa.Column("kind", Words, nullable=False),
    sa.Column("relation", sa.ForeignKey("relations.hash")),
    sa.Column("created", Words, nullable=False),
)

# Reuse rules; `key` is a hash of level and signature.
views = sa.Table(
    "views",
    metadata,
    sa.Column("id", Number, primary_key=True),
    sa.Column("function", Words, nullable=False),
    sa.Column("identity", Words, nullable=False),
    sa.Column("level", Words, nullable=False),
    sa.Column("key", Words, nullable=False),
    sa.Column("signature", Words, nullable=False),
    sa.Column("state", Words, nullable=False),
    sa.Column("hits", Number, nullable=False),
    sa.Column("misses", Number, nullable=False),
    sa.Column("payload", Document, nullable=False),
    sa.Column("created", Words, nullable=False),
)

# A version of an artifact, with the SHA-256 of the file's content.
snapshots = sa.Table(
    "snapshots",
    metadata,
    sa.Column("entity", sa.ForeignKey("entities.id"), primary_key=True),
    sa.Column("artifact", Words, nullable=False),
    sa.Column("version", Number, nullable=False),
    sa.Column("hash", Words, nullable=False),
)

# PROV relations without a table of their own, and the attributes of those that have one.
statements = sa.Table(
    "statements",
    metadata,
    sa.Column("id", Number, primary_key=True),
    sa.Column("relation", Words, nullable=False),
    sa.Column("source_kind", Words, nullable=False),
    sa.Column("source", Number, nullable=False),
    sa.Column("target_kind", Words, nullable=False),
    sa.Column("target", Number, nullable=False),
    sa.Column("properties", Properties, nullable=False),
)

prefixes = sa.Table(
    "prefixes",
    metadata,
    sa.Column("prefix", Words, primary_key=True),
    sa.Column("uri", Words, nullable=False),
)

was_associated_with = sa.Table(
    "was_associated_with",
    metadata,
    sa.Column("activity", sa.ForeignKey("activities.id"), primary_key=True),
    sa.Column("agent", sa.ForeignKey("agents.id"), primary_key=True),
)

was_attributed_to = sa.Table(
    "was_attributed_to",
    metadata,
    sa.Column("entity", sa.ForeignKey("entities.id"), primary_key=True),
    sa.Column("agent", sa.ForeignKey("agents.id"), primary_key=True),
)

# A run of a pipeline; runs of the same plan have the same `fingerprint`, NULL if it is unknown.
runs = sa.Table(
    "runs",
    metadata,
    sa.Column("id", Number, primary_key=True),
    sa.Column("activity", sa.ForeignKey("activities.id"), nullable=False),
    sa.Column("pipeline", Words, nullable=False),
    sa.Column("fingerprint", Words),
    sa.Column("document", Document, nullable=False),
    sa.Column("created", Words, nullable=False),
)

# The files that a run saved, as blobs.
results = sa.Table(
    "results",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id"), primary_key=True),
    sa.Column("position", SmallNumber, primary_key=True),
    sa.Column("hash", Words, nullable=False),
    sa.Column("size", Number, nullable=False),
)

# Blobs with values of a dataset: the rows of a table that a program passed to Spark, or the preview of an array.
table_rows = sa.Table(
    "table_rows",
    metadata,
    sa.Column("entity", sa.ForeignKey("entities.id"), primary_key=True),
    sa.Column("position", SmallNumber, primary_key=True),
    sa.Column("hash", Words, nullable=False),
    sa.Column("size", Number, nullable=False),
)
