"""Index tuples in a Spark frame: checked, and each side as the number of its cell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whence.errors import BadCells, BadType, OutOfRange
from whence.relation.compress import out_of_range
from whence.relation.layout import Shape

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

INTEGERS = frozenset({"tinyint", "smallint", "int", "bigint"})
AGAIN = "the frame had other rows when Spark computed it again: write it to a file first, and read that"


@dataclass(frozen=True, slots=True)
class Numbered:
    """Tuples as pairs of numbers (columns `o` and `i`, null where they are outside), and how many rows there are."""

    frame: DataFrame
    rows: int


def classic(frame: object) -> bool:
    """Whether this is a frame whose session runs in this process, and not a Connect or pandas-on-Spark frame."""
    from pyspark.sql.classic.dataframe import DataFrame

    return isinstance(frame, DataFrame)


def numbered(df: DataFrame, out_shape: Shape, in_shape: Shape) -> Numbered:
    """The tuples of a frame: one column for each axis, output first. One Spark job looks for what is wrong."""
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
    """The frame with plain names for its columns, and the names they have; an error if they cannot be indices."""
    from pyspark.sql import functions as F

    names = list(df.columns)
    if len(names) != width:
        raise BadCells(f"{len(names)} columns ({', '.join(names)}), but {expected.format(width)}")
    for name, kind in df.dtypes:
        if kind not in INTEGERS:
            raise BadCells(f"column {name!r} must be integers, got {kind}; convert indices with .cast('long')")
    plain = df.toDF(*(f"c{place}" for place in range(width)))
    return plain.select(*(F.col(name).cast("long").alias(name) for name in plain.columns)), names


def checked(plain: DataFrame, names: list[str], dims: Shape, error: Any) -> int:
    """How many rows there are; an error for missing values, and for the first row that `within` does not hold for."""
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
    """Whether each column is an index of its axis."""
    from pyspark.sql import functions as F

    held = F.lit(True)
    for name, side in zip(plain.columns, dims, strict=True):
        held = held & (F.col(name) >= 0) & (F.col(name) < side)
    return held


def number(columns: list[str], shape: Shape) -> Column:
    """The place of a cell in C order."""
    from pyspark.sql import functions as F

    if math.prod(side for side in shape if side) >= 1 << 62:
        raise BadType(f"an array of shape {shape} has too many cells")
    place = F.lit(0).cast("long")
    for name, side in zip(columns, shape, strict=True):
        place = place * F.lit(side).cast("long") + F.col(name)
    return place
