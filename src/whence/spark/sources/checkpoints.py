"""Checkpoints that are followed: Spark keeps no plan of what a checkpoint was made of, so whence remembers it.

PySpark's `checkpoint` and `localCheckpoint` are wrapped as soon as whence works with Spark: when `whence.spark` is
imported, a log is opened or a pipeline is made while PySpark is loaded. A checkpoint that was made before is a cut.
"""

from __future__ import annotations

import functools
import logging
import sys
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkContext

METHODS = ("checkpoint", "localCheckpoint")
MARK = "_whence_remembers"
DEEPEST = 5  # checkpoints of checkpoints that are remembered: what one was made of stays in memory with it

REASONS = 1000  # that are remembered: finding one means reading the plan

# For each application, Java's WeakHashMap: an RDD, and the plan that it was made of. It forgets an RDD with Spark.
_plans: weakref.WeakKeyDictionary[SparkContext, Any] = weakref.WeakKeyDictionary()
_reasons: weakref.WeakKeyDictionary[SparkContext, dict[int, str]] = weakref.WeakKeyDictionary()  # by the RDD's number


def remember_checkpoints() -> None:
    """Remember, from now on, the plan of each checkpoint. Without PySpark there is nothing to do; twice is once."""
    if "pyspark.sql" not in sys.modules:
        return
    try:
        from pyspark.sql.classic.dataframe import DataFrame
    except ImportError:  # a client of Spark Connect, which has no plans to read
        return
    for name in METHODS:
        method = getattr(DataFrame, name)
        if not hasattr(method, MARK):
            setattr(DataFrame, name, _remembering(method))


def plan_of(leaf: Any, context: SparkContext) -> Any:
    """The analyzed plan that a checkpoint was made of; None for any other leaf, and for one that is not known."""
    known = _plans.get(context)
    return None if known is None or leaf.nodeName() != "LogicalRDD" else known.get(leaf.rdd())


def reason(leaf: Any, context: SparkContext, find: Callable[[], str]) -> str:
    """Why a checkpoint cannot be computed again, as `find` says; it is asked once for each checkpoint."""
    known, number = _reasons.setdefault(context, {}), int(leaf.rdd().id())
    if number not in known:
        known[number] = find()
        while len(known) > REASONS:
            del known[next(iter(known))]
    return known[number]


def _remembering(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def made(self: Any, *args: Any, **options: Any) -> Any:
        df = method(self, *args, **options)
        try:
            _remember(self, df)
        except Exception as error:  # the user's checkpoint is there: it is a cut, as if whence were not
            logging.getLogger("whence").warning("a checkpoint is not followed: %s", error)
        return df

    setattr(made, MARK, True)
    return made


def _remember(df: Any, made: Any) -> None:
    from whence.spark.catalyst.jvm import items

    leaf, plan = made._jdf.queryExecution().analyzed(), df._jdf.queryExecution().analyzed()
    if leaf.nodeName() != "LogicalRDD" or df.isStreaming:
        return
    context = df.sparkSession.sparkContext
    known = _plans.get(context)
    if known is None:
        known = _plans[context] = context._jvm.java.util.WeakHashMap()
    if _depth(plan, known, items, DEEPEST) < DEEPEST:
        known.put(leaf.rdd(), plan)


def _depth(plan: Any, known: Any, items: Callable[[Any], list[Any]], most: int) -> int:
    """How many checkpoints that are remembered lie within one another below a plan; no more than `most` are counted."""
    if not most:
        return 0
    below = [known.get(leaf.rdd()) for leaf in items(plan.collectLeaves()) if leaf.nodeName() == "LogicalRDD"]
    return max((1 + _depth(each, known, items, most - 1) for each in below if each is not None), default=0)
