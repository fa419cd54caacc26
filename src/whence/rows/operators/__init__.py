"""The operators: those of PredTrace's Table 2, and more that Spark has."""

from whence.rows.operators.aggregate import Aggregate
from whence.rows.operators.arrange import Arrange
from whence.rows.operators.base import Named, Operator, keep
from whence.rows.operators.distinct import Distinct
from whence.rows.operators.expand import Expand, Generate
from whence.rows.operators.filter import Filter
from whence.rows.operators.join import JOINS, Join
from whence.rows.operators.opaque import Cogroup, GroupedMap, Opaque
from whence.rows.operators.order import Limit, Sort
from whence.rows.operators.project import Project
from whence.rows.operators.sample import Sample
from whence.rows.operators.sets import Except, Intersect, Union
from whence.rows.operators.source import Source, Values
from whence.rows.operators.window import Window

__all__ = [
    "JOINS",
    "Aggregate",
    "Arrange",
    "Cogroup",
    "Distinct",
    "Except",
    "Expand",
    "Filter",
    "Generate",
    "GroupedMap",
    "Intersect",
    "Join",
    "Limit",
    "Named",
    "Opaque",
    "Operator",
    "Project",
    "Sample",
    "Sort",
    "Source",
    "Union",
    "Values",
    "Window",
    "keep",
]
