"""Activities, versions and imports in a log whose catalog is in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import whence as wh
from whence.interop import prov
from whence.store.prov.importing import add_graph
from whence.testing.graphs import lifecycle


@pytest.fixture
def log(postgresql_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[wh.Log]:
    monkeypatch.chdir(tmp_path)
    with wh.open(postgresql_url, blobs=str(tmp_path / "blobs")) as log:
        yield log


def test_versions_and_statements(log: wh.Log) -> None:
    Path("data.csv").write_text("1")
    with log.activity("copy", rate=0.5) as a:
        a.used("data.csv").generated("copy.csv", derived_from="data.csv")
        Path("copy.csv").write_text("1")
    Path("data.csv").write_text("2")
    with log.activity("look") as a:
        a.used("data.csv")
    assert log.graph.versions("data.csv") == ["data.csv@v1", "data.csv@v2"]
    assert log.backward("copy.csv@v1", "()", to="data.csv@v1").count == 1
    assert log.ancestors("copy.csv") == ["data.csv@v1", "copy#1"]
    assert [row["now"] for row in log.versions("data.csv").rows()] == ["no", "yes"]  # type: ignore[attr-defined] # of a table
    assert log.backward("data.csv").how == "data.csv@v2 is a source: nothing recorded made it"
    log.delete("data.csv@v1", force=True)
    assert log.graph.versions("data.csv") == ["data.csv@v2"]
    assert log.check().ok


def test_imports_and_exports(log: wh.Log) -> None:
    document = "document\n prefix ex <http://example.org/>\n entity(ex:a, [ex:n=1])\n entity(ex:b)\n"
    document += ' activity(ex:do)\n used(ex:do, ex:a, -, [prov:role="in"])\n alternateOf(ex:a, ex:b)\nendDocument\n'
    Path("a.provn").write_text(document)
    assert log.import_("a.provn").relations == 2
    assert log.import_("a.provn").relations == 0
    assert add_graph(log._store, lifecycle()).entities == 11
    again = prov.parse(prov.dump(log.graph, "json"), "json").graph
    assert sorted(again.edges) == sorted(log.graph.edges)


def test_writers_side_by_side_give_each_version_a_number_of_its_own(log: wh.Log) -> None:
    Path("data.csv").write_text("1")

    def write(number: int) -> None:
        with log.activity("write", number=number) as a:
            a.used("data.csv").generated("out.csv")
            Path(f"out-{number}").write_text(f"{number}")
            Path(f"out-{number}").rename("out.csv")  # whatever the others do, it holds a number of theirs or its own

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(8)))
    graph = log.graph
    versions = graph.versions("out.csv")
    assert versions == [f"out.csv@v{number}" for number in range(1, len(versions) + 1)]
    assert len([edge for edge in graph.edges if edge[1] == "wasGeneratedBy"]) == 8
    assert log.graph.versions("data.csv") == ["data.csv@v1"]
