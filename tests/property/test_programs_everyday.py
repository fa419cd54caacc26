"""Everyday programs: their lineage holds whatever a changed input changes, and no more where all of it counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whence as wh
from whence.arrays.recording.calls import captured
from whence.testing.programs import PROGRAMS, Program

LINEAR = {"sharpen", "thumbnail", "heat", "moving_average", "smoothing", "convolved", "resampled", "standardised"}
"""Programs in which every cell that went into a result also changes it (as long as nothing is clipped)."""


def first(result: Any) -> Any:
    return result[0] if isinstance(result, tuple) else result


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.name)
def test_what_a_change_changes_is_in_the_lineage(program: Program) -> None:
    x = program.make(60)
    found = captured(program.function, (x,), {}, ("x",), program.name, selection=True)
    shape = found.outputs[0].shape
    for cell in [tuple(side // 2 for side in shape), tuple(side - 1 for side in shape)]:
        probed = wh.probe(lambda x: first(program.function(x)), x, cell).backward(cell)
        lineage = wh.Selection.empty(x.shape)
        for edge in found.edges:
            if edge.output == 0:
                lineage |= edge.relation.backward(cell)
        assert probed.issubset(lineage), (
            f"{program.name}{list(cell)} changes with {(probed - lineage).cells().tolist()}"
        )


@pytest.mark.parametrize("program", [each for each in PROGRAMS if each.name in LINEAR], ids=lambda each: each.name)
def test_nothing_else_is_in_the_lineage(program: Program) -> None:
    x = program.make(60)
    if program.name == "sharpen":
        x = 0.4 + 0.1 * x  # within the limits, even where it is changed a little
    found = captured(program.function, (x,), {}, ("x",), program.name, selection=False)
    shape = found.outputs[0].shape
    cell = tuple(side // 2 for side in shape)
    lineage = wh.Selection.empty(x.shape)
    for edge in found.edges:
        lineage |= edge.relation.backward(cell)
    assert lineage == wh.probe(lambda x: first(program.function(x)), np.array(x), cell).backward(cell)
