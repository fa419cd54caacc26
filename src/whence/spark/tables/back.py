"""Hand-overs to Spark: a pandas frame or an array becomes a DataFrame whose rows have lineage in the log.

The rows are written to the log as a Parquet file, which Spark reads. So they have numbers, and a pipeline over them
answers questions like any other, also in a later program.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.errors import BadType, MissingExtra
from whence.relation import Relation
from whence.spark.sessions.failures import is_stopped
from whence.spark.sources.handed import remember_file
from whence.store.catalog.runs import File
from whence.store.recording.tables import Table, record_given

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

    from whence.store import Store


def to_spark(
    store: Store, value: Any, spark: SparkSession | None, name: str | None, columns: Sequence[str] | None
) -> DataFrame:
    """Return the DataFrame, and record its rows in the log."""
    import pyarrow.parquet as pq

    store.database.require_writable()
    spark = spark or _active()
    if is_stopped(spark):
        raise BadType("the Spark session was stopped: pass an active one, log.to_spark(frame, spark)")
    frame = _frame(value, columns)
    if not len(frame.columns):
        raise BadType("the frame has no columns")
    known = store.tracker.known_as(value, name or "frame")
    label = name or f"{known}_table"
    made = _created(spark, frame)
    held = made.toArrow()
    buffer = io.BytesIO()
    pq.write_table(held, buffer, compression="zstd")
    file = File.of(buffer.getvalue())
    names, types = made.columns, [_type(field) for field in made.schema.fields]
    if len(set(names)) < len(names):
        raise BadType("two columns have the same name: rename one, so that questions can name them")
    properties = {
        "types": types, "format": "parquet", "blobs": [file.hash], "blob_columns": names,
        "numbering": [[0, held.num_rows]], "files": [file.hash],
    }  # fmt: skip
    digest = f"{file.hash} of {known}"
    table = Table(label, tuple(names), held.num_rows, digest, properties)
    shape = np.shape(value)
    relation = Relation.identity(shape) if len(shape) == 2 else _of_vector(shape)
    record_given(store, table, file, relation, known, "to_spark")
    path = str(store.blobs.local(file.hash, f"the rows of {label!r}"))
    remember_file(f"file:{path}", label, digest)
    return spark.read.schema(made.schema).parquet(f"file://{path}")


def _frame(value: Any, columns: Sequence[str] | None) -> pd.DataFrame:
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        if columns is not None:
            raise BadType("columns= is for arrays; a frame has column names: frame.rename(columns=...)")
        if not all(isinstance(each, str) for each in value.columns):
            raise BadType("the column names of the frame must be strings: frame.columns = [...]")
        return value
    array = np.asarray(value)
    if array.ndim not in (1, 2) or array.dtype.kind not in "biuf":
        raise BadType(
            f"a DataFrame is made of a pandas frame, or of an array of numbers with one or two axes, not of "
            f"{type(value).__name__} of shape {array.shape} and type {array.dtype}"
        )
    width = 1 if array.ndim == 1 else array.shape[1]
    names = [f"c{place}" for place in range(width)] if columns is None else list(columns)
    if len(names) != width:
        raise BadType(f"{len(names)} names were given for {width} columns")
    return pd.DataFrame(array.reshape(-1, width), columns=names)


def _created(spark: SparkSession, frame: pd.DataFrame) -> DataFrame:
    """Convert a pandas frame to a DataFrame. Spark infers types from rows; without rows, the dtypes are used."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema

    columns = [frame.iloc[:, place] for place in range(len(frame.columns))]
    unknown = [
        name for name, each in zip(frame.columns, columns, strict=True) if each.dtype == object and each.isna().all()
    ]
    if unknown:
        raise BadType(
            f"column {unknown[0]!r} of the frame has no values, so its type is not known: give it one, such as "
            f"frame.astype({{{unknown[0]!r}: 'string'}})"
        )
    if len(frame):
        return spark.createDataFrame(frame)
    return spark.createDataFrame([], from_arrow_schema(pa.Schema.from_pandas(frame, preserve_index=False)))


def _of_vector(shape: tuple[int, ...]) -> Relation:
    """The relation of a table with one column: row i is from cell i."""
    every = (-1, 0, 0)
    rows = [([every, every, (0, 1, 1)], [(0, shape[0] - 1), (0, 0), (0, 0)])]
    return Relation.from_rows((shape[0], 1), shape, rows)


def _type(field: Any) -> str:
    """The name of a Spark type, as plans write it."""
    simple = field.dataType.jsonValue()
    if isinstance(simple, str):
        return simple
    return str(field.dataType.json())


def _active() -> SparkSession:
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingExtra.of("pyspark", "spark") from error
    found = SparkSession.getActiveSession()
    if found is None:
        raise BadType("no Spark session is active: give one, log.to_spark(frame, spark)")
    return found
