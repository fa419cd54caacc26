"""Finding the earliest cells along the lineage for which a condition holds.

Cells for which it holds are followed backward, dataset by dataset, as long as it holds for their inputs. A cell is one
of the earliest if the condition holds for it, and for none of the cells that it came from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from whence.selection import Selection
from whence.store.answers import Answer
from whence.store.derivations.adjacency import is_activity
from whence.store.derivations.walk import Load, Plan, moved

Holds = Callable[[str], Selection | None]
"""Returns the cells of a dataset for which the condition holds; None if its values are unknown."""


@dataclass(frozen=True, slots=True)
class Hunt:
    """A backward walk from cells for which a condition holds."""

    plan: Plan
    holds: Holds

    def follow(self, selection: Selection, load: Load) -> Answer:
        """Return the earliest cells by dataset; notes name the datasets whose values are unknown."""
        plan = self.plan
        reached: dict[str, Selection] = {plan.start: selection}
        holding: dict[str, Selection] = {}
        unknown: list[str] = []
        for here in plan.order:  # each dataset comes after all that lead to it
            cells = reached.get(here)
            if not cells:
                continue
            known = selection if here == plan.start else self.holds(here)
            if known is None:
                unknown.append(here)
            holding[here] = cells if known is None else cells & known
            for way in plan.edges[here]:
                there = way.there
                arrived = moved(way, holding[here], "backward", plan.shapes[there], load).selection
                reached[there] = reached[there] | arrived if there in reached else arrived
        first = self._first(holding, set(unknown), load)
        notes = [
            f"the values of {plan.public.get(each, each)!r} are not known here: values={{{each!r}: array}} gives them"
            for each in unknown
            if not is_activity(each)
        ]
        return Answer({plan.public.get(name, name): cells for name, cells in first.items()}, notes=notes)

    def _first(self, holding: Mapping[str, Selection], unknown: set[str], load: Load) -> dict[str, Selection]:
        """Return the cells for which the condition holds, without those that came from such cells."""
        plan, first = self.plan, dict[str, Selection]()
        explains: dict[str, Selection] = {}
        for here in reversed(plan.order):
            if here not in holding:
                continue
            explained = Selection.empty(plan.shapes[here])
            for way in plan.edges[here]:
                if explains.get(way.there):
                    explained |= moved(way, explains[way.there], "forward", plan.shapes[here], load).selection
            explained &= holding[here]
            explains[here] = explained if here in unknown else holding[here]
            if here not in unknown and (began := holding[here] - explained):
                first[here] = began
        return first
