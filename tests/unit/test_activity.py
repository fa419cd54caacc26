"""Activities on files: versions by content, chains of derivation, failures recorded, bad input refused."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

import pytest

import whence as wh
from whence.errors import BadType, Redefined, StoreError, UnknownName
from whence.graph import GraphWarning
from whence.store.recording.artifacts import Content


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "raw.csv").write_text("1,2,3")
    return tmp_path


@pytest.fixture
def log(project: Path) -> wh.Log:
    return wh.open(project / "project.whence")


def train(log: wh.Log, weights: str, rate: float = 0.5) -> str:
    with log.activity("train", command="python train.py", rate=rate) as a:
        a.used("data/raw.csv")
        Path("model.bin").write_text(weights)
        a.generated("model.bin")
    assert a.id is not None
    return a.id


def test_what_was_used_and_generated_is_in_the_graph(log: wh.Log) -> None:
    first = train(log, "w1", rate=0.1)
    graph = log.graph
    assert graph.edges == [
        (first, "used", "data/raw.csv@v1"),
        ("model.bin@v1", "wasGeneratedBy", first),
        (first, "wasAssociatedWith", graph.of_kind("agent")[0]),
        ("model.bin@v1", "wasAttributedTo", graph.of_kind("agent")[0]),
    ]
    assert graph[first]["command"] == "python train.py"
    assert graph[first]["rate"] == 0.1
    assert graph["model.bin@v1"]["sha256"] == hashlib.sha256(b"w1").hexdigest()
    assert log.check().ok


def test_versions_are_a_chain_and_the_artifact_stands_for_all(log: wh.Log) -> None:
    train(log, "w1")
    Path("data/raw.csv").write_text("1,2,3,4")
    second = train(log, "w2")
    graph = log.graph
    assert graph.versions("data/raw.csv") == ["data/raw.csv@v1", "data/raw.csv@v2"]
    assert ("data/raw.csv@v2", "wasRevisionOf", "data/raw.csv@v1") in graph.edges
    assert ("model.bin@v2", "wasRevisionOf", "model.bin@v1") in graph.edges
    assert graph.segment("data/raw.csv", "model.bin@v2").by_rule["source"] == graph.versions("data/raw.csv")
    assert second in graph.segment("data/raw.csv@v2", "model.bin").vertices


def test_equal_content_is_the_same_version_whether_it_is_read_or_written(log: wh.Log) -> None:
    runs = [train(log, "w1"), train(log, "w1")]
    graph = log.graph
    assert graph.versions("data/raw.csv") == ["data/raw.csv@v1"]
    assert graph.versions("model.bin") == ["model.bin@v1"]
    assert [edge[2] for edge in graph.edges if edge[:2] == ("model.bin@v1", "wasGeneratedBy")] == runs
    assert [edge[1] for edge in graph.edges].count("wasAttributedTo") == 1
    train(log, "w2")
    last = train(log, "w1")  # an older content again
    assert log.graph.versions("model.bin") == ["model.bin@v1", "model.bin@v2"]
    assert ("model.bin@v1", "wasGeneratedBy", last) in log.graph.edges
    train(log, "w3")
    assert ("model.bin@v3", "wasRevisionOf", "model.bin@v1") in log.graph.edges  # which is what it took the place of
    assert log.check().ok


def test_equal_content_with_derivations_answers_once(log: wh.Log) -> None:
    for _ in range(2):
        with log.activity("copy") as a:
            a.used("data/raw.csv").generated("copy.csv", derived_from="data/raw.csv")
            Path("copy.csv").write_text("1,2,3")
    assert log.backward("copy.csv@v1", "...")["data/raw.csv@v1"].count == 1
    assert len(log.graph.of_kind("activity")) == 2
    assert log.check().ok


def test_a_file_that_is_read_and_left_as_it_was_is_not_generated(log: wh.Log) -> None:
    with log.activity("touch") as a:
        a.used("data/raw.csv").generated("data/raw.csv")
    assert (a.inputs, a.outputs) == ({"data/raw.csv": "data/raw.csv@v1"}, {})


def test_equal_content_made_out_of_its_own_result_is_another_version(log: wh.Log) -> None:
    """Otherwise raw.csv@v1 would have been made out of packed.bin, which was made out of raw.csv@v1."""
    with log.activity("pack") as a:
        a.used("data/raw.csv").generated("packed.bin")
        Path("packed.bin").write_text("packed")
    with log.activity("move") as a:
        a.used("packed.bin").generated("moved.bin")
        Path("moved.bin").write_text("moved")
    with log.activity("unpack") as a:
        a.used("moved.bin").generated("data/raw.csv")
    assert a.outputs == {"data/raw.csv": "data/raw.csv@v2"}
    assert log.graph.acyclic


def test_names_of_files_are_not_mistaken_for_each_other(log: wh.Log) -> None:
    with log.activity("look") as a:
        for name in ("a\nb", "a\\nb", "a\\\\nb"):
            Path(name).write_text(name)
            a.used(Path(name))
    assert len(a.inputs) == 3


def test_a_file_rewritten_in_place_is_used_as_it_was(log: wh.Log) -> None:
    with log.activity("sort") as a:
        a.used("data/raw.csv").generated("data/raw.csv")
        Path("data/raw.csv").write_text("3,2,1")
    assert a.inputs == {"data/raw.csv": "data/raw.csv@v1"}
    assert a.outputs == {"data/raw.csv": "data/raw.csv@v2"}
    assert log.graph.acyclic


def write(log: wh.Log, name: str, text: str, *, agent: str, reads: bool) -> None:
    with log.activity("write", agent=agent) as a:
        if reads:
            a.used(name)
        Path(name).write_text(text)
        a.generated(name)


def test_what_overwrites_without_reading_is_no_derivation(log: wh.Log) -> None:
    write(log, "out.txt", "one", agent="ada", reads=False)
    write(log, "out.txt", "two", agent="bob", reads=False)
    write(log, "out.txt", "two and three", agent="eve", reads=True)
    graph = log.graph
    between = [edge for edge in graph.edges if edge[0].startswith("out.txt") and edge[2].startswith("out.txt")]
    assert sorted(between) == [
        ("out.txt@v2", "wasRevisionOf", "out.txt@v1"),
        ("out.txt@v3", "wasDerivedFrom", "out.txt@v2"),
        ("out.txt@v3", "wasRevisionOf", "out.txt@v2"),
    ]
    assert graph.ancestors("out.txt@v2") == ["write#2"]
    assert graph.ancestors("out.txt@v3") == ["write#2", "out.txt@v2", "write#3"]
    assert graph.descendants("out.txt@v1") == []
    assert list(graph.blame("out.txt@v3")) == ["bob", "eve"]
    assert not len(graph.segment("out.txt@v1", "out.txt@v2"))
    assert graph.following_revisions.ancestors("out.txt@v3") == [
        "write#1", "out.txt@v1", "write#2", "out.txt@v2", "write#3",
    ]  # fmt: skip
    assert list(graph.following_revisions.blame("out.txt@v3")) == ["ada", "bob", "eve"]
    assert len(graph.following_revisions.segment("out.txt@v1", "out.txt@v2")) == 4
    assert log.check().ok


def test_revisions_may_lead_round(log: wh.Log) -> None:
    """The first content again, made out of what the second led to: no ancestor of itself, unless revisions count."""
    write(log, "out.txt", "one", agent="ada", reads=False)
    write(log, "out.txt", "two", agent="ada", reads=False)
    with log.activity("copy") as a:
        a.used("out.txt").generated("copy.txt")
        Path("copy.txt").write_text("copied")
    with log.activity("back") as a:
        a.used("copy.txt").generated("out.txt")
        Path("out.txt").write_text("one")
    assert a.outputs == {"out.txt": "out.txt@v1"}
    assert log.graph.acyclic
    with pytest.warns(GraphWarning, match="cycle"):
        assert not log.graph.following_revisions.acyclic


def test_a_file_edited_by_hand_is_a_revision(log: wh.Log) -> None:
    train(log, "w1")
    Path("data/raw.csv").write_text("by hand")
    train(log, "w2")
    assert log.graph.ancestors("model.bin@v2") == ["data/raw.csv@v2", "train#2"]


def test_older_logs_learn_which_versions_are_derivations(log: wh.Log, project: Path) -> None:
    write(log, "out.txt", "one", agent="ada", reads=False)
    write(log, "out.txt", "two", agent="bob", reads=False)
    write(log, "out.txt", "two and three", agent="eve", reads=True)
    edges = sorted(log.graph.edges)
    log.close()
    with sqlite3.connect(project / "project.whence" / "catalog.sqlite") as catalog:  # as it was before the migration
        catalog.execute("DELETE FROM statements WHERE relation = 'wasRevisionOf'")
        catalog.execute("DELETE FROM was_derived_from")
        catalog.execute(
            "INSERT INTO was_derived_from (generated, used, kind, created) "
            "SELECT one.entity, other.entity, 'revision', '2026-01-01' FROM snapshots one, snapshots other "
            "WHERE one.version = other.version + 1"
        )
        catalog.execute("DELETE FROM migrations WHERE name = '0006-revisions'")
    with wh.open(project / "project.whence") as again:
        assert sorted(again.graph.edges) == edges


def test_a_failure_is_recorded_with_what_there_is(log: wh.Log) -> None:
    a = log.activity("divide").used("data/raw.csv").generated("never.bin")
    with pytest.raises(ZeroDivisionError), a:
        _ = 1 / 0
    assert a.id is not None
    assert log.graph[a.id]["error"].startswith("ZeroDivisionError")
    assert a.outputs == {}
    assert log.graph.ancestors(a.id) == ["data/raw.csv@v1"]


def test_cells_are_followed_through_files_if_derivations_are_given(log: wh.Log) -> None:
    log.array("table", shape=(2, 2))
    with log.activity("load") as a:
        a.used("data/raw.csv").generated("table", derived_from="data/raw.csv")
    assert log.backward("table", "1,0")["data/raw.csv@v1"].count == 1
    assert log.check().ok


def test_agents_can_be_named(log: wh.Log) -> None:
    for name in ("ada", "bob"):
        with log.activity("clean", agent=name) as a:
            a.used("data/raw.csv")
            Path("clean.csv").write_text(name)
            a.generated("clean.csv")
    assert sorted(log.graph.of_kind("agent")) == ["ada", "bob"]
    assert list(log.graph.blame("clean.csv@v1")) == ["ada"]


def test_bad_input_is_refused_and_nothing_is_recorded(log: wh.Log) -> None:
    a = log.activity("train")
    with pytest.raises(UnknownName, match="neither a dataset of the log nor a file"):
        a.used("missing.csv")
    with pytest.raises(StoreError, match="directory"):
        a.used(Path("data"))
    with pytest.raises(BadType, match="datasets by name, or paths"):
        a.used(3)  # type: ignore[arg-type] # refused on purpose
    with pytest.raises(UnknownName, match="used by this activity"):
        a.generated("model.bin", derived_from="data/raw.csv")
    with pytest.raises(StoreError, match="no such file"), a:
        a.generated("model.bin")
    assert len(log.graph) == 0
    with log.activity("fine") as a:
        pass
    with pytest.raises(Redefined, match="has ended"):
        a.used("data/raw.csv")


def test_a_version_can_be_deleted(log: wh.Log) -> None:
    train(log, "w1")
    train(log, "w2")
    log.delete("model.bin@v1")
    assert log.graph.versions("model.bin") == ["model.bin@v2"]
    assert log.check().ok


def test_what_is_no_file_has_versions_by_its_fingerprint(log: wh.Log) -> None:
    def run(orders: str) -> dict[str, str]:
        a = log.activity("q4", command="q4", engine="spark")
        a.used_content(Content("orders", "orders.parquet", orders, 0, "table", {"rows": 3}))
        a.generated_content(Content("q4", "", orders * 2, 7, "table", {"columns": {"fields": {}}}))
        a.record()
        return {**a.inputs, **a.outputs}

    assert run("x") == {"orders": "orders@v1", "q4": "q4@v1"}
    assert run("x") == {"orders": "orders@v1", "q4": "q4@v1"}
    assert run("y") == {"orders": "orders@v2", "q4": "q4@v2"}
    graph = log.graph
    assert graph.versions("orders") == ["orders@v1", "orders@v2"]
    assert {name: graph["q4@v1"][name] for name in ("kind", "fingerprint", "size", "columns")} == {
        "kind": "table", "fingerprint": "xx", "size": 7, "columns": {"fields": {}},
    }  # fmt: skip
    assert graph["orders@v1"]["rows"] == 3
    assert "size" not in graph["orders@v1"].properties
    assert graph.segment("orders", "q4").by_rule["source"] == ["orders@v1", "orders@v2"]
