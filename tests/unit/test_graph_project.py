"""What differs, what a name means, what a segment leaves out, and how answers print: small graphs, answers by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import whence as wh
from whence.errors import Ambiguous, BadCells, BadType, UnknownName
from whence.graph import Graph, summarize, what
from whence.graph.programs import parameters, program_of
from whence.store.answers import Answer, Listed
from whence.testing.graphs import pd


def version(artifact: str, number: int, size: int) -> tuple[str, str, dict[str, object]]:
    name = f"{artifact}@v{number}"
    return name, "entity", {"artifact": artifact, "version": number, "size": size, "sha256": f"{number}"}


def activity(name: str, command: str, day: int, **properties: object) -> tuple[str, str, dict[str, object]]:
    return name, "activity", {"command": command, "ended": f"2026-01-0{day}T00:00:00Z", **properties}


@pytest.fixture
def graph() -> Graph:
    """Two runs of a sweep on two versions of the data, which two runs of another program made, by two people."""
    vertices: list[tuple[str, str, dict[str, object]]] = [
        activity("clean#1", "python clean.py", 1, exit_code=0),
        activity("clean#2", "python clean.py --drop-empty", 2, exit_code=0),
        activity("train#3", "python train.py --rate 0.1 x", 3, exit_code=0, seed=1),
        activity("train#4", "python train.py --rate=0.2 x", 4, exit_code=1, seed=1),
        version("data/clean.csv", 1, 1000), version("data/clean.csv", 2, 900), version("raw.csv", 1, 2000),
        version("src/train.py", 1, 50), version("src/train.py", 2, 60), version("out/model.bin", 1, 10_000),
        version("out/model.bin", 2, 25_000), version("out/log.txt", 1, 7), version("old/model.bin", 1, 1),
        ("ada", "agent", {}), ("bob", "agent", {}),
    ]  # fmt: skip
    edges = [
        ("clean#1", "used", "raw.csv@v1"), ("data/clean.csv@v1", "wasGeneratedBy", "clean#1"),
        ("clean#2", "used", "raw.csv@v1"), ("data/clean.csv@v2", "wasGeneratedBy", "clean#2"),
        ("train#3", "used", "data/clean.csv@v1"), ("train#3", "used", "src/train.py@v1"),
        ("train#4", "used", "data/clean.csv@v2"), ("train#4", "used", "src/train.py@v2"),
        ("out/model.bin@v1", "wasGeneratedBy", "train#3"), ("out/model.bin@v2", "wasGeneratedBy", "train#4"),
        ("out/log.txt@v1", "wasGeneratedBy", "train#4"), ("out/model.bin@v2", "wasRevisionOf", "out/model.bin@v1"),
        ("train#3", "wasAssociatedWith", "ada"), ("train#4", "wasAssociatedWith", "bob"),
    ]  # fmt: skip
    return Graph.build(vertices, edges)


def test_differences_are_said_in_words(graph: Graph, tmp_path: Path) -> None:
    log = wh.open(tmp_path / "a.whence")
    from whence.store.prov.importing import add_graph

    add_graph(log._store, graph)
    found = log.diff("train#3", "train#4")
    assert [(each.kind, each.name, each.before, each.after, each.note) for each in found.changes] == [
        ("parameter", "--rate", "0.1", "0.2", ""),
        ("exit status", "", "0", "1", ""),
        ("agent", "", "ada", "bob", ""),
        ("input", "data/clean.csv", "v1", "v2", "1.0 kB -> 900 B, 100 B smaller"),
        ("code", "src/train.py", "v1", "v2", "changed, 50 B -> 60 B, 10 B larger"),
        ("output", "out/model.bin", "v1", "v2", "10.0 kB -> 25.0 kB, 2.5 times as large"),
        ("output", "out/log.txt", None, "v1", "only the second has it"),
    ]
    [because] = found.because
    assert (because.one, because.other, because.same) == ("clean#1", "clean#2", ("raw.csv@v1",))
    assert [(each.name, each.before, each.after) for each in because.changes][:1] == [("--drop-empty", None, "yes")]
    assert "parameter    --rate          0.1    ->  0.2" in str(found)
    assert log.diff("out/model.bin@v1", "out/model.bin@v2").because[0].changes == found.changes
    with pytest.raises(BadType, match="an activity and .* an entity"):
        log.diff("train#3", "raw.csv")
    assert log.check().ok


def test_a_bare_name_is_the_one_file_whose_path_ends_so(graph: Graph) -> None:
    assert graph.ancestors("clean.csv@v1") == ["raw.csv@v1", "clean#1"]
    assert graph.versions_at("clean.csv") == []
    assert set(graph.ids.of(graph.numbers("clean.csv").tolist())) == {"data/clean.csv@v1", "data/clean.csv@v2"}
    assert graph.ids.of(graph.numbers("log.txt@v1").tolist()) == ["out/log.txt@v1"]
    with pytest.raises(Ambiguous, match=r"'model\.bin' may be old/model\.bin or out/model\.bin: say which"):
        graph.numbers("model.bin")
    with pytest.raises(Ambiguous, match=r"old/model\.bin@v1 or out/model\.bin@v1"):
        graph.numbers("model.bin@v1")
    assert graph.ids.of(graph.numbers("model.bin@v2").tolist()) == ["out/model.bin@v2"]
    with pytest.raises(Ambiguous, match="train#3 or train#4"):
        graph.numbers("train")
    for name in ("lean.csv", "nothing", "model.bin@v9", "", "@v1"):
        with pytest.raises(UnknownName):
            graph.numbers(name)


def test_a_segment_says_which_inputs_it_leaves_out(graph: Graph) -> None:
    found = graph.segment("raw.csv@v1", "out/model.bin@v2")
    assert found.left_out == ["src/train.py@v2"]
    assert "1 input of these activities is on no path from src and left out (src/train.py@v2): inputs=True" in str(
        found
    )
    wider = graph.segment("raw.csv@v1", "out/model.bin@v2", inputs=True)
    assert (wider.by_rule["input"], wider.left_out) == (["src/train.py@v2"], [])
    assert set(wider) == {*found, "src/train.py@v2"}
    assert ("train#4", "used", "src/train.py@v2") in wider.edges
    assert set(found.edges) < set(wider.edges)
    for exclude in (
        what(artifact="src/train.py"),
        "used",
    ):  # what is excluded is not brought in, nor said to be left out
        narrow = found.adjust(exclude=exclude)
        assert narrow.left_out == []
        assert "src/train.py@v2" not in narrow.with_inputs()
    assert graph.induced(["train#4"]).left_out == []


def test_without_sources_a_segment_is_all_that_led_there(graph: Graph) -> None:
    found = graph.segment(dst="out/model.bin@v2")
    assert set(found) == {
        "out/model.bin@v2", "out/log.txt@v1", "bob", *graph.ancestors("out/model.bin@v2"),
    }  # fmt: skip
    assert found.by_rule["source"] == ["raw.csv@v1", "src/train.py@v2"]
    assert found.left_out == []
    assert set(graph.segment(dst="raw.csv@v1")) == {"raw.csv@v1"}
    with pytest.raises(BadType, match="dst must name at least one entity"):
        graph.segment("raw.csv@v1")


def test_what_was_committed_and_nothing_else_is_a_source() -> None:
    vertices: list[tuple[str, str, dict[str, object]]] = [
        activity("commit-1", "git commit", 1), activity("run#2", "python run.py", 2),
        version("a.csv", 1, 1), version("b.csv", 1, 1), version("other.csv", 1, 1), version("out.csv", 1, 1),
        ("ada", "agent", {}),
    ]  # fmt: skip
    edges = [
        *((f"{name}.csv@v1", "wasGeneratedBy", "commit-1") for name in ("a", "b", "other")),
        ("run#2", "used", "a.csv@v1"), ("run#2", "used", "b.csv@v1"), ("out.csv@v1", "wasGeneratedBy", "run#2"),
        ("commit-1", "wasAssociatedWith", "ada"),
    ]  # fmt: skip
    graph = Graph.build(vertices, edges)
    found = graph.segment(dst="out.csv@v1")
    assert sorted(found.by_rule["source"]) == ["a.csv@v1", "b.csv@v1"]
    assert found.by_rule["origin"] == ["commit-1"]
    assert set(found) == {"out.csv@v1", *graph.ancestors("out.csv@v1"), "ada"}  # not other.csv, of the same commit
    assert ("a.csv@v1", "wasGeneratedBy", "commit-1") in found.edges
    assert "1 that made the sources" in found.why
    assert "commit-1" not in graph.segment(["a.csv@v1", "b.csv@v1"], "out.csv@v1")
    assert set(found.adjust(exclude="wasAssociatedWith")) == set(found) - {"ada"}


@pytest.mark.parametrize("seed", range(5))
def test_on_large_graphs_nothing_is_missing_without_sources(seed: int) -> None:
    graph = pd(3_000, seed=seed).graph()
    last = str(np.flatnonzero(graph.kinds == 0)[-1])
    found = graph.segment(dst=last)
    assert set(graph.ancestors(last)) <= set(found)
    rules = found.by_rule
    assert set(found) - {last, *graph.ancestors(last)} == {*rules["sibling"], *rules["agent"]}
    assert found.left_out == []


def test_a_summary_tells_its_rows_apart_and_merges_a_sweep(graph: Graph) -> None:
    parts = [graph.segment(dst=each) for each in ("out/model.bin@v1", "out/model.bin@v2")]
    summary = summarize(parts, keep={"entity": ["artifact"], "activity": ["program"]})
    labels = [vertex.label for vertex in summary.vertices]
    assert "train.py" in labels
    assert len([label for label in labels if label.startswith("train.py")]) == 1
    lines = str(summary).splitlines()
    assert len(set(lines)) == len(lines)
    apart = summarize(parts, keep={"entity": ["artifact"], "activity": ["command"]})
    assert sum("train.py --rate" in vertex.label for vertex in apart.vertices) == 2
    alike = summarize(
        [graph.segment("raw.csv@v1", "data/clean.csv@v1"), graph.segment("raw.csv@v1", "out/model.bin@v2")]
    )
    assert len(set(alike.names.values())) == len(alike.vertices)


def test_programs_and_parameters_of_command_lines() -> None:
    assert program_of({"command": "/opt/bin/python3.11 -u src/train.py --rate 0.1"}) == "train.py"
    assert program_of({"command": "it's no command line"}) == "it's no command line"
    assert program_of({"program": "given", "command": "python a.py"}) == "given"
    assert program_of({}) == ""
    assert parameters([]) == {}
    assert parameters(["train", "-n", "-5", "--tag", "a", "--tag", "b"]) == {"-n": "-5", "--tag": "a, b"}


def test_answers_print_as_tables(tmp_path: Path) -> None:
    with wh.open(tmp_path / "a.whence") as log:
        log.array("A", shape=(3, 2))
        log.array("B", shape=(3,))
        log.lineage("B", "A", lambda index: [(index[0], 0), (index[0], 1)])
        found = log.backward("B", "1:3")
        assert isinstance(found, Answer)
        assert repr(found) == "dataset  count  cells\nA        4      1:3,0:2"
        assert "<td>1:3,0:2</td>" in found._repr_html_()
        assert repr(log.datasets()).splitlines()[1].split()[:5] == ["A", "array", "3", "x", "2"]
        assert str(log.show("B")) == repr(log.show("B"))
        with pytest.raises(
            BadCells, match=r"say which cells of 'B' are meant, which has 1 axis: log\.backward\('B', '\.\.\.'\)"
        ):
            log.backward("B")
        assert repr(log.operations()) == "no operations"
    many = Listed(range(100), ("n",), lambda each: (each,))
    assert repr(many).endswith("\n59\n... and 40 more")


def test_pictures_fit_their_page(graph: Graph) -> None:
    text = graph.segment(dst="out/model.bin@v2").to_svg()
    head = text.split(">", 1)[0]
    assert 'style="max-width:100%;height:auto"' in head
    assert "viewBox=" in head
