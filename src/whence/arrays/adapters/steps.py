"""Record one operation in a traced run whose lineage an adapter has computed."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.arrays.tracing._operations import NumberedLink
from whence.relation import Relation

if TYPE_CHECKING:
    from whence.arrays.rules import Kind
    from whence.arrays.tracing import Run


def step(run: Run, what: str, operands: Sequence[Any], value: Any, links: Sequence[tuple[int, Relation, Kind]]) -> Any:
    """Return the result as a traced array; `links` have the index of an operand, the relation to it, and the kind.

    The relations are part of the tape, so that runs with the same call record have the same lineage.
    """
    places = tuple(NumberedLink(*each) for each in links)
    said = [(each.array, each.kind, _digest(each.relation)) for each in places]
    run.tape.add((what, [each._number_in_run for each in operands], said))
    return operands[0]._new(np.asarray(value), operands[0]._origins_of(places, operands))


def _digest(relation: Relation) -> str:
    return hashlib.blake2b(relation.to_bytes(), digest_size=16).hexdigest()
