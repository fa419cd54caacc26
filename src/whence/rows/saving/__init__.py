"""Which intermediate results a pipeline saves, so that its rows can be traced without running it again."""

from whence.rows.saving.carry import carried
from whence.rows.saving.choose import scheme
from whence.rows.saving.explain import explained
from whence.rows.saving.places import Place, operator_at, read_above, replaced_at
from whence.rows.saving.scheme import CARRIED, OUTPUT, Note, Saved, Scheme, Use, param, selection
from whence.rows.saving.sizes import Sizes, width

__all__ = [
    "CARRIED",
    "OUTPUT",
    "Note",
    "Place",
    "Saved",
    "Scheme",
    "Sizes",
    "Use",
    "carried",
    "explained",
    "operator_at",
    "param",
    "read_above",
    "replaced_at",
    "scheme",
    "selection",
    "width",
]
