"""Which intermediate results a pipeline saves, so that its rows can be traced without running it again."""

from whence.rows.saving.annotate import annotated
from whence.rows.saving.choose import trace_plan
from whence.rows.saving.explain import explained
from whence.rows.saving.paths import PlanPath, operator_at, read_above, replaced_at
from whence.rows.saving.sizes import Sizes, width
from whence.rows.saving.trace_plan import ANNOTATED, OUTPUT, Note, Saved, TracePlan, Use, param, selection

__all__ = [
    "ANNOTATED",
    "OUTPUT",
    "Note",
    "PlanPath",
    "Saved",
    "Sizes",
    "TracePlan",
    "Use",
    "annotated",
    "explained",
    "operator_at",
    "param",
    "read_above",
    "replaced_at",
    "selection",
    "trace_plan",
    "width",
]
