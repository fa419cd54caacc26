"""The explorer in a browser: each view and interaction shows what the log answers, and nothing leaves the machine."""

from __future__ import annotations

import json
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import whence as wh
from whence.log import Log
from whence.testing.looked_at import HOSTILE, UNPRINTED, hostile, project

pytest.importorskip("starlette")
pytest.importorskip("playwright")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from playwright.sync_api import expect
from tests.browsing import Visit, chromium

from whence.ui.explorer import Explorer
from whence.ui.routes import answered
from whence.ui.serving import serving
from whence.ui.values import Values

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Open = Callable[..., Visit]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def log(place: Path) -> Iterator[Log]:
    with wh.open(place, create=False) as found:
        yield found


@pytest.fixture(scope="module")
def explorer(log: Log, place: Path) -> Explorer:
    return Explorer(log, Values.of([str(place.parent / "values")]))


@pytest.fixture(scope="module")
def url(explorer: Explorer) -> Iterator[str]:
    with serving(explorer) as found:
        yield found


@pytest.fixture
def visit(browser: Browser, url: str) -> Iterator[Open]:
    opened: list[Visit] = []

    def made(size: str = "wide", scheme: str = "light", at: str = url) -> Visit:
        opened.append(Visit(browser, at, size, scheme))
        return opened[-1]

    yield made
    for each in opened:
        each.close()


VIEWS: dict[str, dict[str, str]] = {
    "project": {},
    "vertex": {"id": "model.bin@v2"},
    "segment": {"src": '["raw/readings.csv@v3"]', "dst": '["report.md@v1"]'},
    "part": {"of": "train.py#5"},
    "array": {"view": "array", "name": "smooth", "cells": "8:14,16:24"},
    "arrays": {"view": "array"},
    "table": {"view": "table", "name": "clean.csv@v1"},
    "tables": {"view": "table"},
    "story": {"view": "story", "name": "peaks", "cells": "0,3"},
    "pipelines": {"view": "pipeline"},
    "failure": {"view": "array", "name": "no such array"},
}


@pytest.mark.parametrize("view", VIEWS)
def test_views_are_accessible_in_both_themes_and_widths(visit: Open, view: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    for size, scheme in (("wide", "light"), ("narrow", "dark"), ("wide", "dark"), ("narrow", "light")):
        opened = visit(size, scheme)
        page = opened.go(**VIEWS[view])
        opened.shot(f"{view}-{size}-{scheme}")
        # No page is wider than the screen: only tables and strips scroll by themselves.
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{view} at {size}"
        if (size == "wide") == (scheme == "light"):
            found = Axe().run(page).response["violations"]
            told = [(each["id"], each["nodes"][0]["html"][:160]) for each in found]
            assert told == [], f"{view} in {size} {scheme}"


def test_the_overview_counts_what_the_graph_has(visit: Open, log: Log) -> None:
    page = visit().go()
    labels = [each.get_attribute("aria-label") or "" for each in page.query_selector_all(".node")]
    assert any(label.startswith("train.py, 3 runs") for label in labels), labels
    assert any(label.startswith("train.py, 1 run · failed") for label in labels), labels
    ids = page.evaluate("[...document.querySelectorAll('.node')].map(each => each.dataset.ids)")
    assert set(ids) <= set(log.graph.vertices)
    assert page.locator(".legend").inner_text().count("failed") == 1


def test_a_node_is_chosen_by_mouse_and_by_keyboard(visit: Open, log: Log) -> None:
    opened = visit()
    page = opened.go()
    page.locator('.node[data-ids="clean.csv@v1"]').click()
    opened.settle()
    assert page.locator(".side h2").inner_text() == "clean.csv@v1"
    assert "id=clean.csv%40v1" in page.url
    page.locator('.node[data-ids="train.py#5"]').focus()
    page.keyboard.press("Enter")
    opened.settle()
    listed = page.locator(".side .list a").all_inner_texts()
    assert listed == ["train.py#5", "train.py#6", "train.py#7"]
    page.locator(".side button.main").click()
    opened.settle()
    assert "of=train.py" in page.url
    labels = page.locator(".node").evaluate_all("nodes => nodes.map(each => each.getAttribute('aria-label'))")
    assert "train.py --rate 0.03, #6 · bob, activity" in labels
    page.go_back()
    opened.settle()
    assert "of=" not in page.url


def test_versions_are_a_strip(visit: Open, log: Log) -> None:
    opened = visit()
    page = opened.go(id="model.bin@v2")
    strip = page.locator(".strip a")
    assert strip.evaluate_all("all => all.map(each => each.querySelector('b').innerText)") == ["v1", "v2", "v3"]
    assert page.locator(".strip a[aria-current]").inner_text().startswith("v2")
    strip.nth(2).click()
    opened.settle()
    assert page.locator(".side h2").inner_text() == log.versions("model.bin")[-1]


def test_search_finds_and_opens(visit: Open) -> None:
    opened = visit()
    page = opened.go()
    page.keyboard.press("/")
    page.keyboard.type("rate 0.1")
    expect(page.locator("[role=option] b")).to_have_text(["train.py#7"])  # the letters before the last found more
    page.keyboard.press("Enter")
    opened.settle()
    assert page.locator(".side h2").inner_text() == "train.py#7"


def test_enter_opens_what_is_typed_though_older_results_are_shown(visit: Open) -> None:
    opened = visit()
    page = opened.go()
    page.keyboard.press("/")
    page.keyboard.type("train.py")
    expect(page.locator("[role=option] b").first).to_have_text("train.py#5")
    held: list[Any] = []
    page.route("**/api/search?*", lambda route: held.append(route))  # answers wait until they are let go
    page.keyboard.type("#6")
    page.keyboard.press("Enter")
    expect(page.locator("[role=option] b").first).to_have_text("train.py#5")  # still those of what was typed before
    assert "id=" not in page.url
    while not any("%236" in each.request.url for each in held):  # the browser has yet to send the last letter
        page.wait_for_timeout(20)
    for each in held:
        each.continue_()
    expect(page.locator(".side h2")).to_have_text("train.py#6")


def test_filters_leave_what_they_say(visit: Open, explorer: Explorer) -> None:
    opened = visit()
    page = opened.go()
    page.get_by_role("button", name="arrays 3").click()
    opened.settle()
    assert "kinds=array" in page.url
    assert sorted(_ids(page)) == ["peaks", "smooth", "thermal"]
    page.get_by_role("button", name="Clear").click()
    page.locator(".filters select").select_option("ada")
    opened.settle()
    status, told = answered(explorer, "overview", {"who": "ada"})
    assert status == 200
    assert isinstance(told, dict)
    assert _ids(page) == [node["ids"][0] for node in told["picture"]["nodes"]]
    assert not any(each.startswith("train") for each in _ids(page))


def test_two_things_give_the_segment_between_them(visit: Open, log: Log) -> None:
    opened = visit()
    page = opened.go(id="raw/readings.csv@v3")
    page.get_by_role("button", name="From here").click()
    page.locator('.node[data-ids="report.md@v1"]').click()
    opened.settle()
    page.get_by_role("button", name="To here").click()
    opened.settle()
    segment = log.graph.segment(["raw/readings.csv@v3"], ["report.md@v1"])
    assert page.locator(".between em").inner_text() == f"{len(segment)} vertices"
    drawn = page.locator(".node").evaluate_all("nodes => nodes.map(each => each.dataset.ids)")
    assert set(drawn) == {each for each in segment.vertices if log.graph[each].kind != "agent"}
    page.locator(".between input[type=range]").fill("1")
    opened.settle()
    wider = log.graph.segment(["raw/readings.csv@v3"], ["report.md@v1"], expand=1)
    assert page.locator(".between em").inner_text() == f"{len(wider)} vertices"
    assert len(wider) > len(segment)
    page.get_by_label("all inputs").check()
    opened.settle()
    assert "inputs=1" in page.url


def test_brushed_cells_show_their_lineage_in_every_array(visit: Open, log: Log) -> None:
    opened = visit()
    page = opened.go(view="array", name="smooth")
    canvas = page.locator(".heat canvas")
    box = canvas.bounding_box()
    assert box is not None
    scale, left, top = (float(canvas.get_attribute(f"data-{name}") or "") for name in "kxy")

    def point(row: int, column: int) -> tuple[float, float]:
        return box["x"] + (column + 0.5 - left) * scale, box["y"] + (row + 0.5 - top) * scale

    page.mouse.move(*point(8, 16))
    page.mouse.down()
    page.mouse.move(*point(11, 20), steps=4)
    page.mouse.up()
    opened.settle()
    assert "cells=8%3A12%2C16%3A21" in page.url
    assert page.locator(".answer h2").inner_text() == "smooth[8:12,16:21]"
    back = log.backward("smooth", "8:12,16:21", to="thermal")
    forth = log.forward("smooth", "8:12,16:21", to="peaks")
    tallies = dict(zip(page.locator(".chain b").all_inner_texts(), page.locator(".chain small").all_inner_texts(),
                       strict=True))  # fmt: skip
    assert tallies == {
        "thermal": f"{back.count} source cells",
        "smooth": "20 cells asked",
        "peaks": f"{forth.count} cells reached",
    }
    page.locator(".chain a").first.click()
    opened.settle()
    assert "look=thermal" in page.url
    # The cells that were asked about are marked on the canvas in the colour of "came from", and no others.
    for cells, is_marked in (([(8, 16), (12, 21)], True), ([(20, 40), (7, 16), (13, 21)], False)):
        for cell in cells:
            red, _, blue = _pixel(page, *cell)
            assert back.mask()[cell] == is_marked
            assert (red - blue > 60) == is_marked, cell


def test_cells_can_be_written_and_wrong_ones_are_an_error(visit: Open) -> None:
    opened = visit()
    page = opened.go(view="array", name="peaks")
    page.locator("input[name=cells]").fill("0,3")
    page.keyboard.press("Enter")
    opened.settle()
    assert page.locator(".answer h2").inner_text() == "peaks[0,3]"
    page.locator("input[name=cells]").fill("9,9")
    page.keyboard.press("Enter")
    opened.settle()
    assert "outside the shape (2, 47)" in page.locator(".note.bad").inner_text()


def test_values_are_drawn_in_grey_and_what_is_not_finite_is_marked(visit: Open, explorer: Explorer) -> None:
    page = visit().go(view="array", name="thermal")
    values = explorer.values.get("thermal", (48, 64))
    assert values is not None
    low, high, lost = (_pixel(page, *cell) for cell in ((1, 1), (12, 20), (40, 5)))
    assert values[1, 1] < values[12, 20]
    assert sum(low) > sum(high) + 100  # on a light page, more is darker
    assert max(low) - min(low) < 25  # grey
    assert min(lost[:2]) - lost[2] > 100  # gold: red and green without blue, which neither grey nor lineage is


def test_hovering_tells_the_value_of_a_cell(visit: Open, explorer: Explorer) -> None:
    page = visit().go(view="array", name="thermal")
    canvas = page.locator(".heat canvas")
    box = canvas.bounding_box()
    assert box is not None
    scale, left, top = (float(canvas.get_attribute(f"data-{name}") or "") for name in "kxy")
    page.mouse.move(box["x"] + (20.5 - left) * scale, box["y"] + (12.5 - top) * scale)
    page.locator(".tip span", has_text=re.compile("[0-9]")).wait_for()
    values = explorer.values.get("thermal", (48, 64))
    assert values is not None
    assert page.locator(".tip b").inner_text() == "thermal[12,20]"
    assert float(page.locator(".tip span").inner_text()) == pytest.approx(float(values[12, 20]), rel=1e-3)


def test_a_table_is_sorted_filtered_and_paged_by_the_server(visit: Open, explorer: Explorer) -> None:
    opened = visit()
    page = opened.go(view="table", name="clean.csv@v1")
    page.get_by_role("button", name="value").click()
    page.get_by_role("button", name="value").click()
    opened.settle()
    page.get_by_label("Filter station").fill("=2")
    opened.settle()
    status, told = answered(
        explorer, "table", {"name": "clean.csv@v1", "sort": "-value", "where": json.dumps({"station": "=2"})}
    )
    assert status == 200
    assert isinstance(told, dict)
    shown = page.locator("tbody tr").evaluate_all("all => all.map(tr => [...tr.cells].map(cell => cell.innerText))")
    assert [row[1:] for row in shown] == [[str(cell) for cell in row["cells"]] for row in told["rows"]]
    assert 0 < len(shown) < 40
    page.get_by_label("Filter station").fill("nobody")
    opened.settle()
    assert page.locator(".empty").is_visible()


def test_names_that_would_do_harm_are_text(browser: Browser, tmp_path: Path) -> None:
    with wh.open(hostile(tmp_path), create=False) as log, serving(Explorer(log)) as url:
        for state in (
            {}, {"id": HOSTILE[1]}, {"view": "array"}, {"view": "array", "name": HOSTILE[2], "cells": "0,0"},
            {"of": HOSTILE[0]}, {"id": "shown#6"}, {"dst": json.dumps([HOSTILE[4]])},
        ):  # fmt: skip
            opened = Visit(browser, url)
            page = opened.go(**state)
            assert page.title().endswith("whence")
            assert page.title() != "taken"
            assert page.locator("img, script:not([type=module]), [onerror], a[href^='javascript']").count() == 0
            text = page.locator("body").inner_text()
            assert "\x1b" not in text
            assert "\u202e" not in text
            opened.close()
        opened = Visit(browser, url)
        page = opened.go(id="shown#6")
        assert "\u2039001B\u203a[31mred" in page.locator(".side").inner_text()
        assert UNPRINTED.count("\x1b") == 2
        opened.close()


def test_an_empty_log_teaches(browser: Browser, tmp_path: Path) -> None:
    with wh.open(tmp_path / "empty.whence") as log, serving(Explorer(log)) as url:
        for size, scheme in (("wide", "light"), ("narrow", "dark")):
            opened = Visit(browser, url, size, scheme)
            page = opened.go()
            opened.shot(f"start-{size}-{scheme}")
            assert "Nothing is recorded yet" in page.locator("h1").inner_text()
            assert page.locator("pre").count() == 3
            opened.close()


def test_a_story_is_told_and_can_be_saved(visit: Open, log: Log) -> None:
    opened = visit()
    page = opened.go(view="array", name="peaks", cells="0,3")
    page.get_by_text("Tell the story").click()
    opened.settle()
    expected = log.explain("peaks", "0,3")
    assert page.locator("h1").inner_text() == expected.title
    told = [each.text.replace("`", "") for each in expected.sentences()]  # what they enclose is shown as code
    expect(page.locator(".sentences li")).to_have_text(told)
    expect(page.locator(".sentences code").first).to_have_text("peaks")
    assert page.locator(".way img").evaluate("image => image.naturalWidth") > 100
    with page.expect_download() as saved:
        page.get_by_role("button", name="HTML").click()
    assert Path(saved.value.path()).read_text(encoding="utf-8") == expected.to_html()
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV").click()
    assert Path(saved.value.path()).read_text(encoding="utf-8") == expected.to_csv()
    with page.expect_download() as saved:
        page.get_by_role("button", name="PNG").click()
    data = Path(saved.value.path()).read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    shown = page.locator(".way img").evaluate("image => image.naturalWidth")
    assert int.from_bytes(data[16:20], "big") == 2 * shown  # sharp on dense screens
    assert len(zlib.decompress(_chunks(data)).strip(b"\0\xff")) > 1000  # and not empty


def _chunks(png: bytes) -> bytes:
    """The pixels of a PNG file, packed."""
    found, at = b"", 8
    while at < len(png):
        length = int.from_bytes(png[at : at + 4], "big")
        found += png[at + 8 : at + 8 + length] if png[at + 4 : at + 8] == b"IDAT" else b""
        at += 12 + length
    return found


def test_a_preview_is_drawn_and_said(browser: Browser, tmp_path: Path) -> None:
    array = np.zeros((600, 900))
    array[100, 200] = 9.0
    with wh.open(tmp_path / "a.whence") as log:
        log.array("A", array, preview=True)
        with serving(Explorer(log)) as url:
            opened = Visit(browser, url)
            page = opened.go(view="array", name="A")
            expect(page.locator(".badge")).to_have_text("preview, in tiles of 8 \u00d7 8 cells")
            expect(page.locator(".histogram figcaption")).to_contain_text("of all 540,000 cells")
            assert sum(_pixel(page, 100, 200)) < sum(_pixel(page, 300, 200)) - 100
            opened.shot("preview-wide-light")
            canvas = page.locator(".heat canvas")
            box = canvas.bounding_box()
            assert box is not None
            scale, left, top = (float(canvas.get_attribute(f"data-{name}") or "") for name in "kxy")
            page.mouse.move(box["x"] + (200.5 - left) * scale, box["y"] + (100.5 - top) * scale)
            expect(page.locator(".tip span")).to_have_text("0 to 9, mean 0.1406, of 64 cells")
            page.get_by_label("Shown of each tile").select_option("min")
            opened.settle()
            assert "show=min" in page.url
            assert abs(sum(_pixel(page, 100, 200)) - sum(_pixel(page, 300, 200))) < 10
            opened.close()


def test_every_state_is_in_the_address(visit: Open) -> None:
    first = visit()
    page = first.go(view="array", name="smooth", cells="3,3", look="peaks")
    page.get_by_role("button", name="Zoom in").click()
    first.settle()
    told = page.locator(".side").inner_text()
    second = visit()
    second.go()
    again = second.page
    again.goto(page.url)
    second.settle()
    assert again.locator(".side").inner_text().split("\n")[1] == told.split("\n")[1]
    assert again.locator(".heat canvas").get_attribute("data-k") == page.locator(".heat canvas").get_attribute("data-k")


def _pixel(page: Page, row: int, column: int) -> tuple[int, int, int]:
    """The colour in the middle of a cell."""
    canvas = page.locator(".heat canvas")
    scale, left, top = (float(canvas.get_attribute(f"data-{name}") or "") for name in "kxy")
    at = [(column + 0.5 - left) * scale, (row + 0.5 - top) * scale]
    red, green, blue = page.evaluate(
        "([x, y]) => [...document.querySelector('.heat canvas').getContext('2d')"
        ".getImageData(x * devicePixelRatio, y * devicePixelRatio, 1, 1).data].slice(0, 3)",
        at,
    )
    return red, green, blue


def _ids(page: Page) -> list[str]:
    found: list[str] = page.locator(".node").evaluate_all("nodes => nodes.map(each => each.dataset.ids)")
    return found
