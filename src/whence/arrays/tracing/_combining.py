"""`np.add.at`, and `at` of other ufuncs, on traced arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.arrays import rules
from whence.arrays.rules._rows import linked
from whence.arrays.tracing._later import Later
from whence.arrays.tracing._spelling import Spelled
from whence.arrays.tracing._writing import added_in, united_all
from whence.errors import NoRule
from whence.relation import Relation


def combined_at(ufunc: np.ufunc, array: Any, key: Any, *given: Any) -> None:
    """`np.add.at(array, key, value)`: combine each selected cell with all values that are given for it."""
    from whence.arrays.tracing._traced import Traced

    if type(array) is not Traced:
        raise NoRule(
            f"{rules.name_of(ufunc, 'at')} writes into an array that is not traced: make it with np.zeros_like"
        )
    run, shape = array._run, array.value.shape
    plain, _, chosen_by, _ = array._key(key)
    for each in given:
        if type(each) is Traced:
            Spelled(run).check(each)
    cells = np.arange(array.value.size).reshape(shape)[plain]
    run.before_writing(array)
    values = [each.value if type(each) is Traced else np.asarray(each) for each in given]
    ufunc.at(array.value, plain, *values)
    numbers = [(getattr(each, "_number_in_run", 0), np.ndim(value)) for each, value in zip(given, values, strict=True)]
    run.tape.add((rules.name_of(ufunc, "at"), numbers), (), tuple(side for each in values for side in each.shape))
    parts = [array._buffer.origins]
    for each in given:
        if type(each) is Traced:
            sources = np.broadcast_to(np.arange(each.value.size).reshape(each.value.shape), cells.shape)
            relation = linked(cells.ravel(), sources.ravel(), shape, each.value.shape)
            parts.append(Later(added_in, array._view, relation, each._origins(), "value"))
    for each in chosen_by if run.selection else ():
        every = Relation.whole(shape, each.value.shape)
        parts.append(Later(added_in, array._view, every, each._origins(), "selection"))
    array._replaced_origins(Later(united_all, *parts))
