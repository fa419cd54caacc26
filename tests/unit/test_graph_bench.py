"""The benchmark of graphs at its smallest size: the form of its claims, its figures, and the generators behind it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the benchmarks are no part of the package
from bench import graph as script
from bench._common import Claim

from whence.testing.graphs import pd, sd
from whence.testing.graphs.psum import psum


@pytest.fixture(scope="module")
def claims() -> list[Claim]:
    said: list[str] = []
    found = script.run("tiny", progress=said.append)
    assert said
    return found


def test_claims_have_the_form_of_the_contract_and_answers_agreed(claims: list[Claim]) -> None:
    assert len({row["name"] for row in claims}) == len(claims)
    for row in claims:
        assert {"name", "ours", "baselines", "ratio", "target", "holds"} <= row.keys()
        assert row["correct"], row["name"]
    assert json.loads(json.dumps(claims)) == claims


def test_summaries_are_smaller_than_those_of_psum(claims: list[Claim]) -> None:
    for row in claims:
        if row.get("figure", "a") in "efgh":
            assert all(point["PgSum"] <= point["pSum"] for point in row["points"])


def test_all_parts_of_the_figure_are_drawn(claims: list[Claim], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="plots need the bench extra")
    drawn = script.plot(claims, tmp_path)
    assert {path.name for path in drawn} == {"graph.png", *(f"graph-5{letter}.png" for letter in "abcdefgh")}
    assert all(path.read_bytes()[:4] == b"\x89PNG" for path in drawn)


def test_pd_has_the_shape_that_the_paper_gives() -> None:
    arrays = pd(20_000, seed=1)
    kinds = np.bincount(arrays.kinds)
    assert kinds[2] == 9  # log of 20,000
    assert kinds[1] == 5_000
    assert abs(kinds.sum() - 20_000) < 600
    used, made = arrays.edges["used"], arrays.edges["wasGeneratedBy"]
    assert 2.0 < len(used[0]) / kinds[1] < 3.1  # 1 + m picks, of which some coincide
    assert 2.8 < len(made[0]) / kinds[1] < 3.2
    assert (used[0] > used[1]).all(), "what is used was there before"
    assert (made[0] > made[1]).all()
    late, early = pd(5_000, s_e=2.1), pd(5_000, s_e=1.1)
    ages = [np.median(each.edges["used"][0] - each.edges["used"][1]) for each in (late, early)]
    assert ages[0] < ages[1], "a greater skew picks later entities"


def test_sd_has_the_shape_that_the_paper_gives() -> None:
    parts = sd(k=4, n=15, segments=6, seed=3)
    assert len(parts) == 6
    for part in parts:
        activities = [part.graph[name] for name in part.vertices if part.graph[name].kind == "activity"]
        assert len(activities) == 15
        assert {each["command"] for each in activities} <= set(range(4))
        assert len(part.edges) >= 30


def test_psum_merges_what_is_alike_on_both_sides_only() -> None:
    assert psum(["a", "b", "a", "b"], [(0, 0, 1), (2, 0, 3)]) == 2
    assert psum(["a", "b", "c", "b"], [(0, 0, 1), (2, 0, 3)]) == 4  # PgSum would merge the two b: same ways on
    assert psum(["a", "b", "a"], [(0, 0, 1)]) == 3
