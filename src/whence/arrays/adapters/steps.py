"""One operation in a traced run whose lineage an adapter has found itself."""

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
    """The result as a traced array; `links` say by number of which operands it is.

    The relations themselves go onto the tape, so that runs with the same call record have the same.
    """
    places = tuple(NumberedLink(*each) for each in links)
    said = [(each.array, each.kind, _digest(each.relation)) for each in places]
    run.tape.add((what, [each._number_in_run for each in operands], said))
    return operands[0]._new(np.asarray(value), operands[0]._origins_of(places, operands))


def _digest(relation: Relation) -> str:
    return hashlib.blake2b(relation.to_bytes(), digest_size=16).hexdigest()
