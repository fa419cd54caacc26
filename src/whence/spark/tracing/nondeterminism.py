"""Why another run of a pipeline may give another result: because of the plan, or because of ties in the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whence.rows import AggCall, Aggregate, Compare, Filter, Literal, Named, Operator, Window, fresh
from whence.rows.columns import read_by
from whence.rows.determinism.reasons import Cause, causes
from whence.spark.catalyst.frames import frame

if TYPE_CHECKING:
    from whence.spark.catalyst.jvm import Jvm

ONE = Literal(1, "long")


class Nondeterminism:
    """The reasons why a plan may give another result in another run."""

    def __init__(self, plan: Operator, jvm: Jvm) -> None:
        self._jvm = jvm
        self._ties: dict[Window, bool] = {}
        self.causes = causes(plan)

    def to_pin(self, picked: bool) -> tuple[Cause, ...]:
        """Why a run must annotate its rows. With `picked`, operators that only pick rows in no order count too."""
        return tuple(each for each in self.causes if each.tied is None and (picked or not each.picked))

    def reasons(self) -> tuple[str, ...]:
        """Why another run may give another result. This looks for ties in the data, with a Spark job for each
        window.
        """
        return tuple(dict.fromkeys(each.why for each in self.causes if each.tied is None or self._tied(each.tied)))

    @property
    def possible_reasons(self) -> tuple[str, ...]:
        """Like `reasons`, without a search of the data: ties that were not searched count as possible."""
        kept = (each for each in self.causes if each.tied is None or self._ties.get(each.tied, True))
        return tuple(dict.fromkeys(each.why for each in kept))

    def _tied(self, window: Window) -> bool:
        if window not in self._ties:
            read = frozenset(attr for key in (*window.partition, *window.order) for attr in read_by(key))
            unsteady = any(each.tied is None or self._tied(each.tied) for each in causes(window.child, read))
            self._ties[window] = unsteady or self._ties_in(window)
        return self._ties[window]

    def _ties_in(self, window: Window) -> bool:
        count = fresh("_count", "long")
        keys = (*window.partition, *(key.expr for key in window.order))
        rows = Aggregate(window.child, keys, (Named(count, AggCall("count", (ONE,), "long")),))
        return bool(frame(Filter(rows, Compare(">", count, ONE)), self._jvm).take(1))
