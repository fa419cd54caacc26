"""Draw chains: Spark, arrays, Spark, up to eight steps with the hand-overs."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from whence.testing.chains.arrays import FUNCTIONS, PLAIN
from whence.testing.chains.chain import USED, Chain, Part
from whence.testing.strategies.pipelines import STEPS, rows

NUMBERS = ("v", "w", "x")
CHANCE = ("any", "sample")  # steps whose rows cannot be predicted


def chains(most: int = 8) -> st.SearchStrategy[Chain]:
    """Draw chains of up to `most` steps, with at least one step of a pipeline and one function."""
    return _chain(most)


@st.composite
def _chain(draw: Any, most: int) -> Chain:
    names = sorted({*STEPS, *USED} - {*CHANCE})
    step = st.tuples(st.sampled_from(names), st.integers(0, 9))
    function = st.tuples(st.sampled_from([*["nothing"] * 5, *PLAIN]), st.sampled_from(sorted(FUNCTIONS)))
    left, parts = most, []
    for _ in range(draw(st.sampled_from([1, 1, 2]))):
        steps = draw(st.lists(step, min_size=1, max_size=max(1, min(3, left - 2))))
        left -= len(steps)
        functions = draw(st.lists(function, min_size=1, max_size=max(1, min(3, left - 1))))
        left -= len(functions)
        columns = draw(st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=3, unique=True))
        frame, materialize = draw(st.sampled_from([False, False, False, True])), draw(st.booleans())
        parts.append(Part(tuple(steps), tuple(columns), tuple(functions), materialize, frame))
    last = draw(st.lists(step, min_size=1, max_size=max(1, min(3, left))))
    table = rows().filter(len).map(tuple)
    return Chain(draw(table), draw(table), tuple(parts), tuple(last), draw(st.booleans()), draw(st.booleans()))
