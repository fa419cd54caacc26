"""From a predicate on a pipeline's output to predicates on its sources (PredTrace, sections 3 and 4).

The docstring of each module shows a predicate above an operator, and the predicates that its rule gives for the
inputs:

    before: city <=> :city  on  Filter(n > 5, sales)
    after:  n > 5 and city <=> :city  on  sales
"""

from whence.rows.pushdown.base import Aim, Pushed
from whence.rows.pushdown.infer import Inference, infer, row_selection, steps_down
from whence.rows.pushdown.rules import RULES, push
from whence.rows.pushdown.step import Question, Step, step

__all__ = [
    "RULES",
    "Aim",
    "Inference",
    "Pushed",
    "Question",
    "Step",
    "infer",
    "push",
    "row_selection",
    "step",
    "steps_down",
]
