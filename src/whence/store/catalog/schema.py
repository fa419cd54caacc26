"""The catalog's tables, for the statements to speak of: a W3C PROV graph, with a relation on each derivation.

The migrations make the tables; a test compares the two.
"""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()

# One row. `changes` counts the committed writes, `removals` those that deleted something: a reader compares them
# with what it saw last to learn whether, and how much of, its picture of the graph is out of date.
log = sa.Table(
    "log",
    metadata,
    sa.Column("one", sa.Integer, primary_key=True),
    sa.Column("id", sa.Text, nullable=False),
    sa.Column("created", sa.Text, nullable=False),
    sa.Column("changes", sa.BigInteger, nullable=False),
    sa.Column("removals", sa.BigInteger, nullable=False),
)

migrations = sa.Table(
    "migrations",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("applied", sa.Text, nullable=False),
)

entities = sa.Table(
    "entities",
    metadata,
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("shape", sa.JSON),
    sa.Column("created", sa.Text),  # NULL: not known, because it was imported
    sa.Column("properties", sa.JSON, nullable=False),
)

activities = sa.Table(
    "activities",
    metadata,
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("args", sa.JSON, nullable=False),
    sa.Column("started", sa.Text),  # NULL: not known, as above
    sa.Column("ended", sa.Text),
    sa.Column("properties", sa.JSON, nullable=False),
    sa.Column("identifier", sa.Text),
)

agents = sa.Table(
    "agents",
    metadata,
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("properties", sa.JSON, nullable=False),
)

# A relation's content; `hash` names its blob, unless it is small and has its bytes in `data`. `tuples` is text: 2^80
# tuples are a few boxes, and no integer column.
relations = sa.Table(
    "relations",
    metadata,
    sa.Column("hash", sa.Text, primary_key=True),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("boxes", sa.BigInteger, nullable=False),
    sa.Column("tuples", sa.Text, nullable=False),
    sa.Column("created", sa.Text, nullable=False),
    sa.Column("data", sa.LargeBinary),
)

# The parts of a relation of many: blobs that its own blob, the index, names.
parts = sa.Table(
    "parts",
    metadata,
    sa.Column("relation", sa.ForeignKey("relations.hash"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
)

used = sa.Table(
    "used",
    metadata,
    sa.Column("activity", sa.ForeignKey("activities.id"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("entity", sa.ForeignKey("entities.id"), nullable=False),
)

was_generated_by = sa.Table(
    "was_generated_by",
    metadata,
    sa.Column("activity", sa.ForeignKey("activities.id"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("entity", sa.ForeignKey("entities.id"), nullable=False),
)

was_derived_from = sa.Table(
    "was_derived_from",
    metadata,
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("generated", sa.ForeignKey("entities.id"), nullable=False),
    sa.Column("used", sa.ForeignKey("entities.id"), nullable=False),
    sa.Column("activity", sa.ForeignKey("activities.id")),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("relation", sa.ForeignKey("relations.hash")),
    sa.Column("created", sa.Text, nullable=False),
)

# What tracked calls taught of a function; `key` is a hash of level and signature.
views = sa.Table(
    "views",
    metadata,
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("function", sa.Text, nullable=False),
    sa.Column("identity", sa.Text, nullable=False),
    sa.Column("level", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("signature", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("hits", sa.BigInteger, nullable=False),
    sa.Column("misses", sa.BigInteger, nullable=False),
    sa.Column("payload", sa.JSON, nullable=False),
    sa.Column("created", sa.Text, nullable=False),
)

# A version of an artifact: the content that a file had, by its SHA-256.
snapshots = sa.Table(
    "snapshots",
    metadata,
    sa.Column("entity", sa.ForeignKey("entities.id"), primary_key=True),
    sa.Column("artifact", sa.Text, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
)

# Relations of PROV without a table of their own, and the attributes of those that have one.
statements = sa.Table(
    "statements",
    metadata,
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("relation", sa.Text, nullable=False),
    sa.Column("source_kind", sa.Text, nullable=False),
    sa.Column("source", sa.BigInteger, nullable=False),
    sa.Column("target_kind", sa.Text, nullable=False),
    sa.Column("target", sa.BigInteger, nullable=False),
    sa.Column("properties", sa.JSON, nullable=False),
)

prefixes = sa.Table(
    "prefixes",
    metadata,
    sa.Column("prefix", sa.Text, primary_key=True),
    sa.Column("uri", sa.Text, nullable=False),
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

# A run of a pipeline; `fingerprint` is the same for the same plan, and NULL where that is not known.
runs = sa.Table(
    "runs",
    metadata,
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("activity", sa.ForeignKey("activities.id"), nullable=False),
    sa.Column("pipeline", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.Text),
    sa.Column("document", sa.JSON, nullable=False),
    sa.Column("created", sa.Text, nullable=False),
)

# The files that a run saved, as blobs.
results = sa.Table(
    "results",
    metadata,
    sa.Column("run", sa.ForeignKey("runs.id"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
)

# Blobs with values of a dataset: the rows of a table that a program handed to Spark, or the preview of an array.
table_rows = sa.Table(
    "table_rows",
    metadata,
    sa.Column("entity", sa.ForeignKey("entities.id"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
)
