"""What the explorer answers, compared with the log, NumPy and brute force; and whom it refuses."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("starlette")
from starlette.testclient import TestClient

import whence as wh
from whence.errors import BadType, StoreError
from whence.log import Log
from whence.selection import Selection
from whence.testing.graphs import pd
from whence.testing.looked_at import HOSTILE, hostile, project
from whence.ui import answers, overview
from whence.ui.arrays import quantized
from whence.ui.explorer import Explorer
from whence.ui.guard import POLICY
from whence.ui.routes import ROUTES, answered
from whence.ui.serving import bound
from whence.ui.values import Values
from whence.ui.web import app

MODULE = Path(wh.__file__).parent / "ui" / "static" / "explorer.js"


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    place = project(tmp_path_factory.mktemp("project"))
    with wh.open(place, create=False) as log:
        yield Explorer(log, Values.of([str(place.parent / "values")]))


def ask(explorer: Explorer, question: str, /, **params: str) -> Any:
    status, found = answered(explorer, question, params)
    assert status == 200, found
    return found


# --- who is let in

PORT = 8123
HOME = f"http://127.0.0.1:{PORT}"


@pytest.fixture
def client(explorer: Explorer) -> TestClient:
    return TestClient(app(explorer, "secret", PORT), base_url=HOME, follow_redirects=False)


def test_the_token_becomes_a_cookie_and_leaves_the_address(client: TestClient) -> None:
    assert client.get("/").status_code == 401
    assert client.get("/?token=wrong").status_code == 401
    entered = client.get("/?token=secret&view=array")
    assert (entered.status_code, entered.headers["location"]) == (303, "/?view=array")
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert client.get("/?view=array").status_code == 200
    assert client.get("/api/summary").json()["vertices"] > 20


def test_only_this_machine_and_the_page_itself_may_ask(client: TestClient) -> None:
    client.get("/?token=secret")
    for headers in (
        {"host": f"evil.example:{PORT}"}, {"host": "127.0.0.1"}, {"origin": "http://evil.example"}, {"origin": "null"},
        {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"},
    ):  # fmt: skip
        assert client.get("/api/summary", headers=headers).status_code == 403, headers
        assert client.get("/?token=secret", headers=headers).status_code == 403, headers
    for headers in ({"origin": HOME}, {"host": f"localhost:{PORT}"}, {"sec-fetch-site": "same-origin"}):
        assert (
            client.get("/api/summary", headers=headers | {"cookie": f"whence-token-{PORT}=secret"}).status_code == 200
        )
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert client.request(method, "/api/summary").status_code == 403


def test_every_reply_has_the_strict_policy(client: TestClient) -> None:
    client.get("/?token=secret")
    for path in ("/", "/explorer.js", "/api/summary", "/api/nothing", "/nowhere", "/../catalog.sqlite"):
        reply = client.get(path)
        assert reply.headers["content-security-policy"] == POLICY
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
    assert "unsafe" not in POLICY
    assert "http" not in client.get("/").text.replace("http-equiv", "")  # nothing is fetched from elsewhere


def test_the_socket_is_of_this_machine_alone() -> None:
    with bound(0) as place:
        host, port = place.getsockname()
        assert host == "127.0.0.1"
        with pytest.raises(StoreError, match="--port 0 takes one that is free"):
            bound(port)


def test_the_module_is_small_and_fetches_nothing() -> None:
    data = MODULE.read_bytes()
    assert len(gzip.compress(data, 9)) <= 60_000
    found = set(re.findall(rb"https?://[^\"'`\s)]+", data))
    assert found <= {
        b"http://www.w3.org/2000/svg",
        b"http://www.w3.org/1999/xhtml",
        b"http://www.w3.org/1998/Math/MathML",
    }
    assert b"eval(" not in data
    assert b"innerHTML=" not in data.replace(b"dangerouslySetInnerHTML", b"") or data.count(b".innerHTML=") <= 1


def test_the_command_prints_one_line_and_serves_until_interrupted(explorer: Explorer) -> None:
    command = [
        sys.executable,
        "-c",
        "from whence.cli import main; main()",
        "ui",
        "--no-open",
        "--log",
        explorer.log.where,
    ]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert running.stdout is not None
    line = running.stdout.readline()
    assert re.fullmatch(r"whence ui: http://127\.0\.0\.1:\d+/\?token=[\w-]{20,}\n", line)
    with pytest.raises(urllib.error.HTTPError, match="401"):  # it serves, and not to everybody
        urllib.request.urlopen(line.split()[-1].partition("?")[0], timeout=60)
    running.send_signal(signal.SIGINT)
    rest, wrong = running.communicate(timeout=60)
    assert (rest, wrong) == ("", "")


# --- the project


def test_filters_and_the_overview_cover_every_vertex_once(explorer: Explorer) -> None:
    graph = explorer.graph()
    told = ask(explorer, "overview")
    ids = [each for node in told["picture"]["nodes"] for each in node["ids"]]
    assert sorted(ids) == sorted(each for each in graph.vertices if graph[each].kind != "agent")
    assert sum(ask(explorer, "summary")["kinds"].values()) == len(ids)


def test_lines_of_the_overview_are_edges_of_the_graph(explorer: Explorer) -> None:
    graph = explorer.graph()
    picture = ask(explorer, "overview")["picture"]
    edges = {(source, relation, target) for source, relation, target in graph.edges}
    for line in picture["lines"]:
        ends = (picture["nodes"][line[end]]["ids"] for end in ("source", "target"))
        sources, targets = ends
        assert any((one, line["relation"], other) in edges for one in sources for other in targets), line


@pytest.mark.parametrize("size", [40, 400, 5000])
def test_the_overview_of_any_graph_is_small_and_counts_all(size: int) -> None:
    graph = pd(size).graph()
    every = np.arange(len(graph), dtype=np.int32)
    found = overview.overview(graph, every)
    assert len(found.scene.nodes) <= max(overview.MOST, 2)
    assert sum(node.stands_for for node in found.scene.nodes) == int((graph.kinds != 2).sum())


def test_a_segment_is_the_graphs_own(explorer: Explorer) -> None:
    told = ask(explorer, "segment", src='["raw/readings.csv@v3"]', dst='["report.md@v1"]', expand="1")
    expected = explorer.graph().segment(["raw/readings.csv@v3"], ["report.md@v1"], expand=1)
    assert told["vertices"] == expected.vertices
    assert told["why"] == expected.why


def test_what_failed_is_distinguished(explorer: Explorer) -> None:
    nodes = ask(explorer, "overview")["picture"]["nodes"]
    assert [node["ids"] for node in nodes if node["failed"]] == [["train.py#8"]]


# --- arrays


def test_lineage_is_told_for_every_dataset_of_the_chain(explorer: Explorer) -> None:
    told = ask(explorer, "lineage", name="peaks", cells="0,3")
    log = explorer.log
    for each in told["backward"]:
        expected = log.backward("peaks", "0,3", to=each["name"])
        assert each["count"] == expected.count
        assert Selection.from_boxes(np.array(each["boxes"]), each["shape"]) == expected
    assert [each["name"] for each in told["backward"]] == ["smooth", "thermal"]
    assert told["forward"] == []
    assert [each["name"] for each in ask(explorer, "array", name="smooth")["chain"]] == ["thermal", "smooth", "peaks"]


@settings(max_examples=60)
@given(st.data())
def test_boxes_that_are_drawn_coarsely_cover_those_that_are_meant(data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 40))
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=rows * columns, max_size=rows * columns)))
    cells = Selection.from_mask(mask.reshape(rows, columns))
    before = answers.MOST_BOXES
    try:
        answers.MOST_BOXES = data.draw(st.integers(1, 20))
        found, step = answers.boxes(cells)
        assert len(found) <= answers.MOST_BOXES or step == [1, 1]
    finally:
        answers.MOST_BOXES = before
    drawn = Selection.from_boxes(np.array(found).reshape(-1, 2, 2), (rows, columns))
    assert cells.issubset(drawn)
    if step == [1, 1]:
        assert drawn == cells
    near = {(row // step[0], column // step[1]) for row, column in cells.cells().tolist()}
    assert {(row // step[0], column // step[1]) for row, column in drawn.cells().tolist()} == near


@settings(max_examples=30)
@given(st.integers(1, 700), st.integers(1, 700), st.integers(0, 3), st.integers(0, 2), st.integers(0, 2))
def test_a_tile_is_every_nth_cell(rows: int, columns: int, level: int, x: int, y: int) -> None:
    array = np.arange(rows * columns, dtype=np.float64).reshape(rows, columns)
    scale = 2**level
    with wh_log(array) as explorer:
        data = ask(explorer, "tile", name="A", scale=str(scale), x=str(x), y=str(y))
    high, wide = np.frombuffer(data[:8], dtype="<u4").tolist()
    square = array[y * 256 * scale : (y + 1) * 256 * scale : scale, x * 256 * scale : (x + 1) * 256 * scale : scale]
    assert (high, wide) == square.shape
    sample = array[:: -(-rows // 512), :: -(-columns // 512)]
    assert np.array_equal(np.frombuffer(data[8:], np.uint8).reshape(high, wide),
                          quantized(square, sample.min(), sample.max()))  # fmt: skip


class wh_log:
    """A log with one array, whose values are at hand."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        import tempfile

        self._directory = tempfile.TemporaryDirectory()
        np.save(f"{self._directory.name}/A.npy", array)
        self._log: Log = wh.open(f"{self._directory.name}/a.whence")
        self._log.array("A", array)

    def __enter__(self) -> Explorer:
        return Explorer(self._log, Values.of([f"A={self._directory.name}/A.npy"]))

    def __exit__(self, *_: object) -> None:
        self._log.close()
        self._directory.cleanup()


@pytest.mark.parametrize("shape", [(), (7,), (0,), (3, 4), (2, 3, 4), (2, 2, 3, 1)])
def test_arrays_of_any_rank_have_a_picture(shape: tuple[int, ...]) -> None:
    array = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    with wh_log(array) as explorer:
        told = ask(explorer, "array", name="A")
        assert told["shape"] == list(shape)
        data = ask(explorer, "tile", name="A", at=",".join("1" for _ in shape[:-2]))
        high, wide = np.frombuffer(data[:8], dtype="<u4").tolist()
        assert (high, wide) == ((1, shape[0] if shape else 1) if len(shape) < 2 else shape[-2:])
        if array.size:
            cell = ",".join("0" for _ in shape) or "..."
            assert ask(explorer, "value", name="A", cell=cell) == {"value": array.flat[0]}


@pytest.mark.parametrize("values", [[-1e308, 0.0, 1e308], [1e300, 1e300], [5e-324, 0.0], [2.0**63], []])
def test_values_at_the_ends_of_what_numbers_can_be_have_a_histogram(tmp_path: Path, values: list[float]) -> None:
    np.save(tmp_path / "A.npy", np.array(values))
    with wh.open(tmp_path / "a.whence") as log:
        log.array("A", (len(values),))
        told = ask(Explorer(log, Values.of([str(tmp_path)])), "array", name="A")["values"]
    assert sum(told["counts"]) == len(values) - told["not_finite"] == len(values)
    json.dumps(told, allow_nan=False)


def test_rows_and_columns_of_a_tile_are_scaled_by_themselves(tmp_path: Path) -> None:
    """A thin array is drawn higher than wide: all its rows, every nth of its columns."""
    array = np.arange(3 * 5000.0).reshape(3, 5000)
    np.save(tmp_path / "A.npy", array)
    with wh.open(tmp_path / "a.whence") as log:
        log.array("A", array, preview=5000)
        for values in (Values.of([f"A={tmp_path / 'A.npy'}"]), Values()):
            body = ask(Explorer(log, values), "tile", name="A", scale="32", down="1")
            assert np.frombuffer(body[:8], "<u4").tolist() == [3, 157]
            drawn = np.frombuffer(body[8:], np.uint8).reshape(3, 157)
            assert (np.diff(drawn.astype(int), axis=0) > 0).all()


def test_values_must_be_those_of_the_array(tmp_path: Path) -> None:
    np.save(tmp_path / "A.npy", np.zeros((2, 3)))
    with wh.open(tmp_path / "a.whence") as log:
        log.array("A", shape=(3, 2))
        given = Explorer(log, Values.of([f"A={tmp_path / 'A.npy'}"]))
        told = ask(given, "array", name="A")
        assert told["values"] is None  # and the rest is there: lineage needs no values
        assert "holds an array of shape (2, 3)" in told["unread"]
        status, told = answered(given, "tile", {"name": "A"})
    assert (status, "holds an array of shape (2, 3)" in str(told)) == (400, True)
    with pytest.raises(BadType, match="NAME=FILE"):
        Values.of(["nothing"])
    buffer = io.BytesIO()
    np.save(buffer, np.array([{}], dtype=object), allow_pickle=True)
    (tmp_path / "B.npy").write_bytes(buffer.getvalue())
    with pytest.raises(StoreError, match="cannot be read as an array"):
        Values.of([f"B={tmp_path / 'B.npy'}"]).get("B", (1,))  # no pickle is ever loaded


# --- stories


@pytest.mark.parametrize("way", ["backward", "forward"])
def test_stories_are_the_logs_own(explorer: Explorer, way: Literal["backward", "forward"]) -> None:
    told = ask(explorer, "story", name="smooth", cells="8,16", way=way)
    expected = explorer.log.explain("smooth", "8,16", direction=way)
    assert told["title"] == expected.title
    assert [each["text"] for each in told["sentences"]] == [each.text for each in expected.sentences()]
    assert told["endings"] == expected.endings()
    assert told["html"] == expected.to_html()
    assert told["svg"].startswith("<svg")
    json.dumps(told, default=str)
    status, told = answered(explorer, "story", {"name": "smooth", "cells": "8,16", "way": "sideways"})
    assert (status, told) == (400, {"error": "'way' is backward or forward"})


# --- whatever is asked


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(ROUTES)), st.dictionaries(
    st.sampled_from(["name", "cells", "id", "of", "q", "src", "dst", "row", "where", "sort", "scale", "x", "y", "at",
                     "kinds", "who", "after", "expand", "column", "way", "kind", "from", "rows", "cell"]),
    st.one_of(st.text(max_size=12), st.sampled_from(["smooth", "clean.csv@v1", '["model.bin@v1"]', "0,0", "-1", "{}"])),
    max_size=6,
))  # fmt: skip
def test_no_question_is_more_than_an_error(explorer: Explorer, name: str, params: dict[str, str]) -> None:
    status, told = answered(explorer, name, params)
    assert status in (200, 400, 404, 501)
    if status != 200:
        assert isinstance(told, dict)
        assert told["error"]
    elif isinstance(told, dict):
        json.dumps(told, default=str).encode("ascii")


def test_names_that_would_do_harm_come_back_as_they_are(tmp_path: Path) -> None:
    with wh.open(hostile(tmp_path), create=False) as log:
        explorer = Explorer(log)
        for name in HOSTILE:
            assert ask(explorer, "vertex", id=name)["id"] == name
            assert ask(explorer, "array", name=name)["name"] == name
        client = TestClient(app(explorer, "secret", PORT), base_url=HOME)
        client.get("/?token=secret")
        reply = client.get("/api/search", params={"q": "<"})
        assert reply.headers["content-type"] == "application/json"
        assert {each["id"] for each in reply.json()["found"]} >= set(HOSTILE[:2])


def test_what_two_ask_for_at_once_is_made_once(explorer: Explorer) -> None:
    entered, go_on = threading.Event(), threading.Event()
    made: list[int] = []

    def make() -> int:
        entered.set()
        assert go_on.wait(60)
        made.append(1)
        return len(made)

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(explorer.once, "key", make)
        assert entered.wait(60)
        second = pool.submit(explorer.once, "key", make)
        go_on.set()
        assert (first.result(), second.result()) == (1, 1)
    with pytest.raises(BadType):  # an error is not kept
        explorer.once("wrong", _wrong)
    assert explorer.once("wrong", lambda: 7) == 7


def _wrong() -> int:
    raise BadType("no")


def test_a_table_that_changed_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("n\n" + "".join(f"{each}\n" for each in range(2500)))
    with wh.open(tmp_path / "a.whence") as log:
        with log.activity("export") as activity:
            activity.generated(file)
        explorer = Explorer(log)

        def numbers(**params: str) -> list[int]:
            status, told = answered(explorer, "table", {"name": "a.csv@v1", **params})
            assert status == 200, told
            assert isinstance(told, dict)
            return [row["cells"][0] for row in told["rows"]]

        assert numbers(**{"from": "950"}) == list(range(950, 1050))  # over the end of what is read at a time
        assert numbers(**{"from": "2450", "rows": "1000"}) == list(range(2450, 2500))
        assert numbers(sort="-n", rows="3") == [2499, 2498, 2497]
        file.write_text("n\n7\n8\n")
        assert numbers(sort="-n", rows="3") == [8, 7]


def test_the_chain_says_which_of_it_each_was_made_from(tmp_path: Path) -> None:
    with wh.open(tmp_path / "a.whence") as log:
        for name in "ABCD":
            log.array(name, (4,))
        for made, source in ("BA", "CB", "DB"):  # C and D were both made from B
            log.lineage(made, source, "identity")
        chain = ask(Explorer(log), "array", name="B")["chain"]
    found = {each["name"]: each["from"] for each in chain}
    assert found == {"A": [], "B": ["A"], "C": ["B"], "D": ["B"]}
    assert [each["name"] for each in chain][:2] == ["A", "B"]


@pytest.mark.parametrize("sort", ["few", "-few", "value", "-value", ""])
@pytest.mark.parametrize("where", ["", '{"few": "=3"}', '{"few": "=99"}'])
def test_pages_of_a_parquet_file_are_those_of_pandas(tmp_path: Path, sort: str, where: str) -> None:
    import pandas as pd

    rows, random = 2_600, np.random.default_rng(1)
    value = random.random(rows).round(2)
    value[::50] = np.nan
    frame = pd.DataFrame({"few": random.integers(0, 7, rows), "value": value, "text": [f"t{n}" for n in range(rows)]})
    frame["value"] = frame["value"].astype("Float64").mask(np.isnan(value))
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=300)
    if where:
        frame = frame[frame["few"] == int(re.findall(r"\d+", where)[0])]
    if sort:
        frame = frame.sort_values(sort.strip("-"), ascending=sort[0] != "-", kind="stable", na_position="last")
    with wh.open(tmp_path / "a.whence") as log:
        with log.activity("export") as activity:
            activity.generated(tmp_path / "t.parquet")
        for start in (0, 950, 2_550, 5_000):  # 950: on both sides of a block's end
            page = ask(Explorer(log), "table", name="t.parquet@v1", sort=sort, where=where, **{"from": str(start)})
            wanted = frame.iloc[start : start + 100]
            assert [row["number"] for row in page["rows"]] == wanted.index.tolist()
            assert [row["cells"][2] for row in page["rows"]] == wanted["text"].tolist()
            assert page["total"] == len(frame)
