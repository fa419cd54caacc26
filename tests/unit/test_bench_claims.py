"""Every benchmark runs at its smallest size and gives claims of the form that `whence bench` promises."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the benchmarks are no part of the package
from bench import (
    _asking,
    _common,
    _workflows,
    _workloads,
    capture,
    compression_size,
    compression_speed,
    query_latency,
    scale,
    ui,
)
from bench._asking import Manner, Question
from bench._common import Claim, claim
from bench.baselines import systems

SCRIPTS = {
    "capture": capture,
    "compression_size": compression_size,
    "compression_speed": compression_speed,
    "query_latency": query_latency,
    "ui": ui,
}


@pytest.fixture(scope="module")
def results() -> dict[str, list[Claim]]:
    return {}


@pytest.fixture(params=SCRIPTS)
def script(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def claims(script: str, results: dict[str, list[Claim]]) -> list[Claim]:
    """The claims of a script, which runs once for all tests."""
    if script not in results:
        said: list[str] = []
        results[script] = SCRIPTS[script].run("tiny", progress=said.append)
        assert said, "a script says where it is"
    return results[script]


def test_claims_have_the_form_of_the_contract(claims: list[Claim]) -> None:
    assert claims
    names = [row["name"] for row in claims]
    assert len(set(names)) == len(names)
    for row in claims:
        assert {"name", "ours", "baselines", "ratio", "target", "holds"} <= row.keys()
        assert row["ours"] > 0
        assert row["baselines"]
        assert all(value is None or value > 0 for value in row["baselines"].values())
        assert math.isfinite(row["ratio"])
        assert row["target"] > 0
        assert isinstance(row["holds"], bool)


def test_a_claim_holds_exactly_when_its_ratio_reaches_the_target(claims: list[Claim]) -> None:
    for row in claims:
        if not math.isclose(row["ratio"], row["target"]):  # a bound met exactly may differ in the last digit
            assert row["holds"] == (row["ratio"] > row["target"] and row["correct"])


def test_every_answer_and_every_stored_relation_was_right(claims: list[Claim]) -> None:
    assert [row["name"] for row in claims if not row["correct"]] == []


def test_claims_can_be_written_as_json(claims: list[Claim]) -> None:
    assert json.loads(json.dumps({"claims": claims}))["claims"] == claims


def test_plots_are_drawn(script: str, claims: list[Claim], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="plots need the bench extra")
    drawn = SCRIPTS[script].plot(claims, tmp_path)
    assert drawn
    for path in drawn:
        assert path.read_bytes()[:4] == b"\x89PNG"


def test_the_papers_operations_are_all_there() -> None:
    assert {
        "Negative", "Addition", "Aggregate", "Repetition", "Matrix*Vector", "Matrix*Matrix", "Sort", "ImgFilter",
        "Lime", "DRISE", "Group By", "Inner Join", "RandFilter", "CorrFilter", "RandBin4", "SortedBin4",
    } <= {workload.name for workload in _workloads.workloads("tiny")}  # fmt: skip


@pytest.mark.parametrize("module", SCRIPTS.values(), ids=list(SCRIPTS))
def test_an_unknown_size_is_refused(module: ModuleType) -> None:
    with pytest.raises(ValueError, match="tiny, small, full"):
        module.run("huge")


def test_a_bound_becomes_the_ratio_that_it_amounts_to() -> None:
    row = claim("size", 0.5, {"Parquet": 8.0, "Raw": 20.0}, unit="MB", at_most=1.0)
    assert (row["ratio"], row["target"], row["holds"]) == (16.0, 8.0, True)
    assert not claim("size", 1.5, {"Parquet": 8.0}, unit="MB", at_most=1.0)["holds"]


def test_a_wrong_answer_breaks_a_claim_however_fast_it_came() -> None:
    assert not claim("query", 1.0, {"Parquet": 1000.0}, unit="ms", at_least=10, true=False)["holds"]


def test_a_baseline_that_did_not_take_part_is_no_opponent() -> None:
    row = claim("query", 1.0, {"Array": None, "Parquet": 3.0}, unit="ms", at_least=2)
    assert row["ratio"] == 3.0
    with pytest.raises(ValueError, match="no baseline"):
        claim("query", 1.0, {"Array": None}, unit="ms")


def test_only_the_named_opponents_decide_the_ratio() -> None:
    assert claim("speed", 1.0, {"Array": 0.5, "Parquet": 3.0}, unit="s", against=["Parquet"])["ratio"] == 3.0


def test_a_workspace_leaves_nothing_behind() -> None:
    def fail(directory: Path) -> None:
        (directory / "file").write_text("data")
        raise RuntimeError(directory)

    with pytest.raises(RuntimeError) as failed, _common.workspace() as directory:
        fail(directory)
    assert not failed.value.args[0].exists()


def test_a_system_that_answers_wrongly_is_named(tmp_path: Path) -> None:
    class Broken(systems.Arrays):
        name = "Broken"

        def cells(self, answer: object, direction: str) -> systems.Ints:
            return np.array([0])

    workflow = _workflows.regular(8, 6)
    question = Question(workflow.name, systems.FORWARD, ((2, 3), (0, 5)))
    for kind in (systems.Arrays, Broken):
        system = kind(tmp_path)
        system.store(workflow.steps)
        _asking.ask_all(system, [question], Manner((0.0,), 10, 1))
    assert set(question.wrong) == {"Broken"}
    assert not query_latency.right([question])


def test_scale_measures_only_the_kinds_that_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(scale.CHOSEN, "sort,tpch-0.1")
    assert scale.kinds("full") == ("sort", "tpch-0.1")
    monkeypatch.setenv(scale.CHOSEN, "")
    assert scale.kinds("tiny") == ("sort",)
    monkeypatch.setenv(scale.CHOSEN, "sort,tpcds-1")
    with pytest.raises(ValueError, match="there is no kind 'tpcds-1'; choose of product, sort, group-by, join, tpch-1"):
        scale.run("full")
