"""Tables and pipelines in the explorer: what a row came from, asked without Spark."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whence as wh

pytest.importorskip("starlette")
pytest.importorskip("anywidget")
pytest.importorskip("playwright")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from tests.browsing import Visit, chromium

from whence.ui.explorer import Explorer
from whence.ui.routes import answered
from whence.ui.serving import serving
from whence.ui.widget import widget

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Lineages = dict[int, dict[str, list[tuple[Any, ...]]]]
TYPES = {"city": pa.string(), "day": pa.int32()}  # other columns are integers of 64 bits
COLUMNS = {"orders": ("id", "city", "day"), "lines": ("order_id", "quantity", "cents")}


SHOWN: dict[str, Any] = {}  # widgets of what the fixture makes


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Lineages]:
    """A log with a run of a report, and the lineage of each of its rows, found by plain Python."""
    place = tmp_path_factory.mktemp("shop")
    orders = [(i, ("Oslo", "Riga", "Graz")[i % 3], i % 5) for i in range(30)]
    lines = [(i % 30, 1 + i % 4, 100 + 7 * i) for i in range(70)]
    data: dict[str, Any] = {"orders": orders, "lines": lines}
    for name, columns in COLUMNS.items():
        (place / name).mkdir()
        rows_of = [dict(zip(columns, row, strict=True)) for row in data[name]]
        whole = pa.Table.from_pylist(
            rows_of, pa.schema([(column, TYPES.get(column, pa.int64())) for column in columns])
        )
        pq.write_table(whole, place / name / "part.parquet")
        spark.read.parquet(f"{place}/{name}").createOrReplaceTempView(f"ui_{name}")
    df = spark.sql(
        "SELECT city, sum(quantity * cents) AS total FROM ui_orders JOIN ui_lines ON order_id = id "
        "WHERE day < 4 GROUP BY city"
    )
    with wh.open(place / "shop.whence") as log:
        pipeline = log.pipeline(df, "report")
        SHOWN["plan"] = widget(pipeline)
        pipeline.run()
        SHOWN["run"] = widget(pipeline)
        SHOWN["picture"] = pipeline._repr_mimebundle_()
        _, SHOWN["answer"] = SHOWN["run"]._answers("pipeline", {"name": "report"})
        rows = log.runs()[-1].output_rows(range(3)).to_pylist()
        SHOWN["lineage"] = widget(pipeline.backward(rows[2]))
    found: Lineages = {}
    for number, row in enumerate(rows):
        own = {id: each for each in orders for id, city, day in [each] if city == row["city"] and day < 4}
        joined = sorted(line for line in lines if line[0] in own)
        found[number] = {"orders": sorted({own[line[0]] for line in joined}), "lines": joined}
    return place / "shop.whence", found


@pytest.fixture(scope="module")
def explorer(made: tuple[Path, Lineages]) -> Iterator[Explorer]:
    with wh.open(made[0], create=False) as log:
        yield Explorer(log)


def test_the_rows_that_a_row_came_from_are_those_that_made_it(explorer: Explorer, made: tuple[Path, Lineages]) -> None:
    for number, expected in made[1].items():
        status, told = answered(explorer, "rows", {"name": "report", "row": str(number)})
        assert status == 200, told
        assert isinstance(told, dict)
        assert told["precise"]
        found = {each["name"]: sorted(tuple(row["cells"]) for row in each["rows"]) for each in told["sources"]
                 if each["columns"]}  # fmt: skip
        assert found == {f"ui_{name}": rows for name, rows in expected.items()}


def test_a_cell_marks_the_columns_that_carry_its_value(explorer: Explorer) -> None:
    _, told = answered(explorer, "rows", {"name": "report", "row": "0", "column": "total"})
    assert isinstance(told, dict)
    marked = {each["name"]: each["marked"] for each in told["sources"] if each["columns"]}
    assert set(marked["ui_lines"]) >= {"quantity", "cents"}
    carried = {each["name"]: each["carried"] for each in told["sources"] if each["columns"]}
    assert carried == {"ui_orders": [], "ui_lines": ["quantity", "cents"]}  # keys and conditions carry nothing
    _, told = answered(explorer, "rows", {"name": "report", "row": "0", "column": "nothing"})
    assert isinstance(told, dict)
    assert told["error"] == "there is no column 'nothing'; there are city, total"


def test_pipelines_and_their_answers_are_widgets(made: tuple[Path, Lineages]) -> None:
    assert [node["label"] for node in SHOWN["plan"].still["picture"]["nodes"]][-1] == "output"  # before it ran
    assert SHOWN["run"].still["place"] == {"name": "report"}
    assert SHOWN["answer"]["rows"] == 3
    assert "Aggregate" in SHOWN["picture"]["image/svg+xml"]
    assert "Aggregate" in SHOWN["picture"]["text/html"]
    live = SHOWN["lineage"]
    assert live.still["sources"] == ["ui_orders", "ui_lines"]
    status, told = live._answers("page", {"source": "ui_lines"})
    assert status == 200
    assert sorted(map(tuple, told["rows"])) == made[1][2]["lines"]
    assert live._answers("page", {"source": "ui_lines", "from": "1"})[1]["rows"] == told["rows"][1:]
    assert live._answers("page", {"source": "nothing"})[0] == 400


def test_rows_of_a_stored_run_are_a_widget_in_a_notebook(made: tuple[Path, Lineages]) -> None:
    """Without Spark in the kernel: DuckDB finds them."""
    pytest.importorskip("nbclient")
    import nbformat
    from nbclient import NotebookClient

    new: Any = nbformat.v4  # its functions have no types
    code = f"import whence as wh\nwh.open({str(made[0])!r}, create=False).runs()[-1].backward(numbers=[0])"
    notebook = new.new_notebook(cells=[new.new_code_cell(code)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Jupyter's own
        NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    data = notebook["cells"][0]["outputs"][-1]["data"]
    assert "application/vnd.jupyter.widget-view+json" in data
    assert f"<b>ui_orders</b>: {len(made[1][0]['orders'])} rows" in data["text/html"]


def test_rows_are_counted_at_each_operator(explorer: Explorer, made: tuple[Path, Lineages]) -> None:
    status, told = answered(explorer, "pipeline", {"name": "report", "row": "0", "counts": "1"})
    assert status == 200, told
    assert isinstance(told, dict)
    found = {each["title"].split(" ")[0]: each for each in told["operators"]}
    kept = [i for i in range(30) if i % 5 < 4]
    joined = [i for i in range(70) if i % 30 in kept]
    assert (found["Aggregate"]["out"], found["the"]["out"]) == (3, 3)
    assert found["Join"]["out"] == len(joined)
    sources = {each["source"]: each for each in told["operators"] if each["source"]}
    assert {name: each["out"] for name, each in sources.items()} == {"ui_orders": 30, "ui_lines": 70}
    assert {name: each["reached"] for name, each in sources.items()} == {
        f"ui_{name}": len(rows) for name, rows in made[1][0].items()
    }
    assert len(kept) in [each["out"] for each in told["operators"] if each["title"].startswith("Filter")]
    assert [each["into"] for each in told["operators"] if each["title"].startswith("Join")] in ([[24, 70]], [[70, 24]])
    assert not any(each["uncounted"] for each in told["operators"])
    for line in told["picture"]["lines"]:
        if line["relation"] == "used":
            assert line["label"] == f"{told['operators'][line['target']]['out']:,}"
    columns = {each["name"]: {(own["source"], own["column"]) for own in each["from"]} for each in told["columns"]}
    assert columns["city"] == {("ui_orders", "city")}
    assert columns["total"] == {("ui_lines", "quantity"), ("ui_lines", "cents")}
    assert columns[""] == {("ui_orders", "day"), ("ui_orders", "id"), ("ui_lines", "order_id"), ("ui_orders", "city")}


def test_rows_of_files_that_changed_are_not_counted(made: tuple[Path, Lineages]) -> None:
    (file,) = (made[0].parent / "lines").glob("*.parquet")
    before = file.stat()
    os.utime(file, (1, 1))
    try:
        with wh.open(made[0], create=False) as log:
            _, told = answered(Explorer(log), "pipeline", {"name": "report", "counts": "1"})
    finally:
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert isinstance(told, dict)
    found = {each["title"].split(" ")[0]: each for each in told["operators"] if not each["source"]}
    assert found["Join"]["out"] is None
    assert "has changed" in found["Join"]["uncounted"]
    assert found["Aggregate"]["out"] == 3  # the run saved it
    assert [each["out"] for each in told["operators"] if each["source"] == "ui_orders"] == [30]


def test_a_row_is_clicked_and_followed_through_the_pipeline(explorer: Explorer, made: tuple[Path, Lineages]) -> None:
    with chromium() as browser, serving(explorer) as url:
        opened = Visit(browser, url)
        page = opened.go(view="table", name="report")
        page.locator("tbody tr").nth(1).locator("th button").click()
        opened.settle()
        opened.shot("row-wide-light")
        shown = page.get_by_label("Rows of ui_orders").locator("tbody tr")
        cells = shown.evaluate_all("all => all.map(tr => [...tr.cells].slice(1).map(cell => cell.innerText))")
        expected = [[str(cell) for cell in row] for row in made[1][1]["orders"]]
        assert sorted(cells) == sorted(expected)
        page.get_by_role("link", name="Tell the story").click()
        opened.settle()
        assert page.locator("h1").inner_text() == "Where report row 1 came from"
        page.go_back()
        opened.settle()
        page.get_by_text("Through the pipeline").click()
        opened.settle()
        labels = page.locator(".node").evaluate_all("all => all.map(each => each.getAttribute('aria-label'))")
        assert any(label.startswith("Aggregate") for label in labels)
        assert "output, 3 rows, entity" in labels
        page.locator(".node", has=page.locator("xpath=self::*[starts-with(@aria-label, 'Filter')]")).first.click()
        opened.settle()
        opened.shot("pipeline-wide-light")
        assert "day < 4" in page.locator(".side .card").first.inner_text()
        expect(page.locator(".side .card").first.locator(".facts")).to_contain_text("24")
        expect(page.locator(".under p")).to_contain_text("Numbers beside lines are rows.")
        page.get_by_role("button", name="total", exact=True).click()
        expect(page).to_have_url(re.compile("column=total"))
        opened.shot("pipeline-column-wide-light")
        page.get_by_role("button", name="Play").click()
        page.wait_for_url("**step=0**")
        opened.close()
        views = {"row": {"view": "table", "name": "report", "row": "1"},
                 "pipeline": {"view": "pipeline", "name": "report", "row": "1", "step": "0"}}  # fmt: skip
        for size, scheme in (("narrow", "light"), ("narrow", "dark"), ("wide", "dark")):
            for name, state in views.items():
                opened = Visit(browser, url, size, scheme)
                page = opened.go(**state)
                opened.shot(f"{name}-{size}-{scheme}")
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} at {size}"
                assert [each["id"] for each in Axe().run(page).response["violations"]] == [], f"{name} at {size}"
                opened.close()
