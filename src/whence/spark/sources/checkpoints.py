"""Follow checkpoints: Spark does not keep the plan of a checkpoint, so whence remembers it.

PySpark's `checkpoint` and `localCheckpoint` are wrapped as soon as whence works with Spark: when `whence.spark` is
imported, or when a log is opened or a pipeline is made while PySpark is loaded. A checkpoint from before is a cut.
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
DEEPEST = 5  # how many nested checkpoints are remembered: each keeps its plan in memory

REASONS = 1000  # reasons are remembered, because finding one means reading the plan

# For each application, a Java WeakHashMap from an RDD to its plan. The entry lasts as long as the RDD.
_plans: weakref.WeakKeyDictionary[SparkContext, Any] = weakref.WeakKeyDictionary()
_reasons: weakref.WeakKeyDictionary[SparkContext, dict[int, str]] = weakref.WeakKeyDictionary()  # by RDD id


def remember_checkpoints() -> None:
    """Remember the plan of each checkpoint from now on. It may be called repeatedly, and does nothing without
    PySpark.
    """
    if "pyspark.sql" not in sys.modules:
        return
    try:
        from pyspark.sql.classic.dataframe import DataFrame
    except ImportError:  # Spark Connect has no plans to read
        return
    for name in METHODS:
        method = getattr(DataFrame, name)
        if not hasattr(method, MARK):
            setattr(DataFrame, name, _remembering(method))


def plan_of(leaf: Any, context: SparkContext) -> Any:
    """The analyzed plan of a checkpoint; None for any other leaf, or if the plan is not known."""
    known = _plans.get(context)
    return None if known is None or leaf.nodeName() != "LogicalRDD" else known.get(leaf.rdd())


def reason(leaf: Any, context: SparkContext, find: Callable[[], str]) -> str:
    """Return why a checkpoint cannot be computed again. `find` is called once for each checkpoint."""
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
        except Exception as error:  # the user's checkpoint succeeded: it becomes a cut
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
    """The number of remembered checkpoints nested below a plan, at most `most`."""
    if not most:
        return 0
    below = [known.get(leaf.rdd()) for leaf in items(plan.collectLeaves()) if leaf.nodeName() == "LogicalRDD"]
    return max((1 + _depth(each, known, items, most - 1) for each in below if each is not None), default=0)
