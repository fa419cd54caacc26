"""Index tuples in a Spark frame: check them, and convert each side to a flat index."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whence.errors import BadCells, BadType, OutOfRange
from whence.relation.compress import out_of_range
from whence.relation.layout import Shape
from whence.words import counted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

INTEGERS = frozenset({"tinyint", "smallint", "int", "bigint"})
AGAIN = "the frame had other rows when Spark computed it again: write it to a file first, and read that"


@dataclass(frozen=True, slots=True)
class Numbered:
    """Tuples as pairs of flat indices (columns `o` and `i`, null if out of range), and the number of rows."""

    frame: DataFrame
    rows: int


def classic(frame: object) -> bool:
    """Whether the session of a frame runs in this process. It does not for frames of Spark Connect or pandas API on
    Spark.
    """
    from pyspark.sql.classic.dataframe import DataFrame

    return isinstance(frame, DataFrame)


def without_pandas(frame: Any) -> Any:
    """Return the DataFrame of Spark that is behind a frame of the pandas API, and any other frame unchanged."""
    return frame.spark.frame() if hasattr(frame, "to_spark") else frame


def numbered(df: DataFrame, out_shape: Shape, in_shape: Shape) -> Numbered:
    """Convert the tuples of a frame: one column for each axis, output first. One Spark job checks them."""
    from pyspark.sql import functions as F

    plain, names = indexed(df, len(out_shape) + len(in_shape), "output and input have {} axes together")
    outs = len(out_shape)
    rows = checked(plain, names, out_shape + in_shape, lambda row: out_of_range(row, out_shape, in_shape))
    inside = within(plain, out_shape + in_shape)
    chosen = [
        F.when(inside, number(plain.columns[:outs], out_shape)).alias("o"),
        F.when(inside, number(plain.columns[outs:], in_shape)).alias("i"),
    ]
    return Numbered(plain.select(*chosen), rows)


def indexed(df: DataFrame, width: int, expected: str) -> tuple[DataFrame, list[str]]:
    """Return the frame with columns c0, c1 ..., and their original names. Raise if they cannot be indices."""
    from pyspark.sql import functions as F

    if df.isStreaming:
        raise BadType("a streaming DataFrame has no end: give each of its batches, in foreachBatch")
    names = list(df.columns)
    if len(names) != width:
        raise BadCells(f"{counted(len(names), 'column')} ({', '.join(names)}), but {expected.format(width)}")
    for name, kind in df.dtypes:
        if kind not in INTEGERS:
            raise BadCells(f"column {name!r} must be integers, got {kind}; convert indices with .cast('long')")
    plain = df.toDF(*(f"c{place}" for place in range(width)))
    return plain.select(*(F.col(name).cast("long").alias(name) for name in plain.columns)), names


def checked(plain: DataFrame, names: list[str], dims: Shape, error: Any) -> int:
    """Return the number of rows. Raise for missing values, and for the first row with an index out of range."""
    from pyspark.sql import functions as F

    inside = within(plain, dims)
    sums = [F.count(F.col(name)).alias(f"n{name}") for name in plain.columns]
    outside = F.count(F.when(~inside, F.lit(1))).alias("outside")
    found = plain.agg(F.count(F.lit(1)).alias("rows"), outside, *sums).first()
    assert found is not None  # an aggregate has one row
    for name, column in zip(names, plain.columns, strict=True):
        if missing := int(found["rows"]) - int(found[f"n{column}"]):
            raise BadCells(f"column {name!r} has {missing} missing values; an index cannot be missing")
    if found["outside"]:
        row = plain.where(~inside).first()
        raise error(list(row)) if row is not None else OutOfRange(AGAIN)
    return int(found["rows"])


def within(plain: DataFrame, dims: Shape) -> Column:
    """Whether each column is a valid index of its axis."""
    from pyspark.sql import functions as F

    held = F.lit(True)
    for name, side in zip(plain.columns, dims, strict=True):
        held = held & (F.col(name) >= 0) & (F.col(name) < side)
    return held


def number(columns: list[str], shape: Shape) -> Column:
    """The flat index of a cell in C order."""
    from pyspark.sql import functions as F

    if math.prod(side for side in shape if side) >= 1 << 62:
        raise BadType(f"an array of shape {shape} has too many cells")
    place = F.lit(0).cast("long")
    for name, side in zip(columns, shape, strict=True):
        place = place * F.lit(side).cast("long") + F.col(name)
    return place
