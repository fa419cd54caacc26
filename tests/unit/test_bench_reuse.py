"""The benchmark of reuse counts what it says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the benchmarks are no part of the package
from bench import reuse


@pytest.mark.parametrize(("name", "dim", "gen"), [("sum", True, True), ("cross", True, True), ("sort", True, False)])
def test_coverage_of_a_function(name: str, dim: bool, gen: bool) -> None:
    found = reuse.coverage(name, 40)
    assert (found["dim"] > 0, found["gen"] > 0, found["wrong"]) == (dim, gen, 0)
    assert found["values"] == (name == "sort")


def test_compression_is_measured_against_text() -> None:
    assert reuse.compressed("add", 40)
