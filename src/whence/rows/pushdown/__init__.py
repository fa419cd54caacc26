"""From a predicate on a pipeline's output to predicates on its sources (PredTrace, sections 3 and 4)."""

from whence.rows.pushdown.base import Aim, Pushed
from whence.rows.pushdown.infer import Inference, Step, infer, row_selection
from whence.rows.pushdown.rules import RULES, push

__all__ = ["RULES", "Aim", "Inference", "Pushed", "Step", "infer", "push", "row_selection"]
