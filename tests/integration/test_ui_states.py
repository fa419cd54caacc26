"""The explorer's page in every state: reached by address, by the keyboard, and by going back; saved, loading, wrong."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import whence as wh
from whence.testing.looked_at import project

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

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    place = project(tmp_path_factory.mktemp("project"))
    with wh.open(place, create=False) as log:
        yield Explorer(log, Values.of([str(place.parent / "values")]))


@pytest.fixture(scope="module")
def url(explorer: Explorer) -> Iterator[str]:
    with serving(explorer) as found:
        yield found


@pytest.fixture
def opened(browser: Browser, url: str) -> Iterator[Visit]:
    made = Visit(browser, url)
    yield made
    made.close()


def test_how_a_graph_is_moved_is_in_the_address_and_goes_with_the_picture(opened: Visit) -> None:
    page = opened.go()
    page.get_by_role("button", name="Zoom in").click()
    page.mouse.move(500, 250)
    page.mouse.down()
    page.mouse.move(450, 280, steps=3)
    page.mouse.up()
    moved = page.locator(".nodes").get_attribute("style")
    assert "k=" in page.url
    page.reload()
    opened.settle()
    assert _near(page.locator(".nodes").get_attribute("style"), moved)
    page.locator('.node[data-ids="clean.csv@v1"]').click()
    opened.settle()
    assert "k=" in page.url  # the same picture
    page.get_by_role("button", name="arrays 3").click()
    opened.settle()
    assert "k=" not in page.url  # another one
    page.go_back()
    opened.settle()
    assert _near(page.locator(".nodes").get_attribute("style"), moved)
    page.get_by_role("button", name="Fit").click()
    assert "k=" not in page.url


def test_back_and_forward_and_reload_give_each_state_again(opened: Visit) -> None:
    page = opened.go()
    told = [_told(page)]
    steps: list[Any] = [
        lambda: page.locator('.node[data-ids="model.bin@v1"]').click(),
        lambda: page.locator(".side button.main").click(),
        lambda: page.get_by_role("link", name="Arrays", exact=True).click(),
        lambda: page.get_by_role("link", name="smooth").click(),
        lambda: _brushed(page, "8:12,16:21"),
        lambda: page.get_by_role("button", name="Earlier in the chain").click(),
        lambda: page.get_by_text("Tell the story").click(),
        lambda: page.get_by_role("link", name="Tables", exact=True).click(),
        lambda: page.get_by_role("link", name="clean.csv@v1").click(),
        lambda: page.get_by_role("button", name="value").click(),
        lambda: page.locator("tbody tr").nth(3).locator("th button").click(),
    ]
    for step in steps:
        step()
        opened.settle()
        told.append(_told(page))
    assert len({url for url, _ in told}) == len(told)
    for expected in reversed(told[:-1]):
        page.go_back()
        opened.settle()
        assert _told(page) == expected
    for expected in told[1:]:
        page.go_forward()
        opened.settle()
        assert _told(page) == expected
        page.reload()
        opened.settle()
        assert _told(page) == expected


def test_all_is_reached_by_the_keyboard(opened: Visit) -> None:
    page = opened.go()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    seen: list[str] = []
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.innerText")
        )
        if seen[-1].startswith("train.py, 3 runs"):
            break
    assert any(each.startswith("files") for each in seen)
    page.keyboard.press("o")
    opened.settle()
    assert "of=train.py" in page.url
    opened.go(view="array", name="peaks")
    page.locator("input[name=cells]").focus()
    page.keyboard.type("0,3")
    page.keyboard.press("Enter")
    opened.settle()
    page.get_by_role("button", name="Earlier in the chain").focus()
    page.keyboard.press("Enter")
    opened.settle()
    expect(page.locator(".chain [aria-current] b")).to_have_text("smooth")
    assert page.locator(".answer h2").inner_text() == "peaks[0,3]"
    opened.go(view="table", name="clean.csv@v1")
    page.locator("tbody th button").nth(2).focus()
    page.keyboard.press("Enter")
    opened.settle()
    assert "row=2" in page.url


@pytest.mark.parametrize(
    "state",
    [
        {"dst": '["report.md@v1"]', "without": "x"}, {"dst": "["}, {"k": "abc", "x": "nan"}, {"k": "-1"},
        {"view": "array", "name": "smooth", "at": "9,x", "k": "0"}, {"view": "array", "name": "smooth", "cells": "%"},
        {"view": "table", "name": "clean.csv@v1", "where": "{"},
        {"view": "table", "name": "clean.csv@v1", "where": "3"},
        {"view": "table", "name": "clean.csv@v1", "from": "9999"}, {"view": "pipeline", "name": "x", "step": "y"},
        {"view": "story", "name": "smooth"}, {"view": "nothing"}, {"of": "nothing"}, {"id": "nothing"},
    ],
)  # fmt: skip
def test_an_address_that_was_written_wrongly_is_a_page(opened: Visit, state: dict[str, str]) -> None:
    page = opened.go(**state)
    assert page.locator(".head").is_visible()
    assert len(page.locator("#main").inner_text()) > 40  # an error in words, or what is left without it


def test_filters_by_time_leave_what_began_then(browser: Browser, tmp_path: Path) -> None:
    graph = {
        "prefix": {"e": "urn:e:"},
        "entity": {"e:raw": {}, "e:model": {}},
        "activity": {
            "e:fetch": {"prov:startTime": "2026-01-05T10:00:00Z", "prov:endTime": "2026-01-05T11:00:00Z"},
            "e:train": {"prov:startTime": "2026-03-05T10:00:00Z", "prov:endTime": "2026-03-05T11:00:00Z"},
        },
        "wasGeneratedBy": {
            "_:1": {"prov:entity": "e:raw", "prov:activity": "e:fetch"},
            "_:2": {"prov:entity": "e:model", "prov:activity": "e:train"},
        },
        "used": {"_:3": {"prov:activity": "e:train", "prov:entity": "e:raw"}},
    }
    (tmp_path / "prov.json").write_text(json.dumps(graph), encoding="utf-8")
    with wh.open(tmp_path / "a.whence") as log:
        log.import_(tmp_path / "prov.json")
        explorer = Explorer(log)
        with serving(explorer) as url:
            opened = Visit(browser, url)
            page = opened.go()
            page.get_by_label("from", exact=True).fill("2026-02-01")
            opened.settle()
            status, told = answered(explorer, "overview", {"after": "2026-02-01"})
            assert status == 200
            assert isinstance(told, dict)
            shown = page.locator(".node").evaluate_all("nodes => nodes.map(each => each.dataset.ids)")
            assert shown == [node["ids"][0] for node in told["picture"]["nodes"]]
            assert any("train" in each for each in shown)
            assert not any("fetch" in each for each in shown)
            opened.close()


def test_graphs_are_saved_with_all_that_is_drawn(opened: Visit) -> None:
    page = opened.go()
    with page.expect_download() as saved:
        page.get_by_role("button", name="SVG").click()
    document = ET.fromstring(Path(saved.value.path()).read_text(encoding="utf-8"))
    words = [each.text or "" for each in document.iter(f"{SVG}text")]
    assert {
        "data (files, tables, arrays)",
        "activities (programs, functions)",
        "failed",
        "input",
        "output",
        "time runs from left to right",
    } <= set(words)
    labels = page.locator(".node").evaluate_all("nodes => nodes.map(each => each.getAttribute('aria-label'))")
    assert {label.split(",")[0] for label in labels} <= set(words)
    dashed = [each for each in document.iter(f"{SVG}rect") if each.get("stroke-dasharray")]
    assert len(dashed) == 2  # the run that failed, and the legend
    heads = [each for each in document.iter(f"{SVG}path") if (each.get("d") or "").endswith("z")]
    lines = [each for each in document.iter(f"{SVG}path") if " C" in (each.get("d") or "")]
    assert len(heads) == len(lines) > 5
    with page.expect_download() as saved:
        page.get_by_role("button", name="PNG").click()
    data = Path(saved.value.path()).read_bytes()
    assert int.from_bytes(data[16:20], "big") == 2 * round(float(document.get("width") or 0))


def test_stories_and_answers_are_saved_as_they_are(opened: Visit, explorer: Explorer) -> None:
    page = opened.go(view="story", name="peaks", cells="0,3")
    story = explorer.log.explain("peaks", "0,3")
    found = {}
    for button in ("SVG", "JSON"):
        with page.expect_download() as saved:
            page.get_by_role("button", name=button).click()
        found[button] = Path(saved.value.path()).read_text(encoding="utf-8")
    assert found["SVG"] == story.to_svg()
    told = json.loads(found["JSON"])
    expected = json.loads(json.dumps(story.as_dict(), default=str))
    for step in (*told["steps"], *expected["steps"]):
        del step["seconds"]
    assert told == expected
    page = opened.go(view="array", name="peaks", cells="0,3")
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV").click()
    rows = Path(saved.value.path()).read_text(encoding="utf-8").splitlines()
    assert rows[0] == "way,dataset,cells,boxes,rounded outwards to"
    count = explorer.log.backward("peaks", "0,3", to="thermal").count
    assert any(row.startswith(f'came from,"thermal",{count},') for row in rows)


def test_thin_arrays_are_seen_and_brushed(browser: Browser, tmp_path: Path) -> None:
    with wh.open(tmp_path / "a.whence") as log:
        log.array("line", np.arange(100_000.0), preview=True)
        log.array("tall", np.zeros((100_000, 3)), preview=True)
        log.array("none", np.zeros((0, 5)), preview=True)
        with serving(Explorer(log)) as url:
            for name, text in (("line", r"\d+:\d+"), ("tall", r"\d+:\d+,1")):
                opened = Visit(browser, url)
                page = opened.go(view="array", name=name)
                canvas = page.locator(".heat canvas")
                across, down = (float(canvas.get_attribute(f"data-{each}") or "") for each in ("k", "ky"))
                left, top = (float(canvas.get_attribute(f"data-{each}") or "") for each in "xy")
                box = canvas.bounding_box()
                assert box is not None
                assert (down if name == "line" else across) > 10  # pixels of what is thin
                middle = (0.5, 50_000) if name == "line" else (50_000, 1.5)
                x, y = box["x"] + (middle[1] - left) * across, box["y"] + (middle[0] - top) * down
                page.mouse.move(x, y)
                page.mouse.down()
                page.mouse.move(*((x + 50, y) if name == "line" else (x, y + 50)), steps=3)
                page.mouse.up()
                opened.settle()
                told = page.locator(".answer h2").inner_text()
                assert re.fullmatch(rf"{name}\[{text}\]", told), told
                opened.close()
            opened = Visit(browser, url)
            page = opened.go(view="array", name="none")
            expect(page.locator(".nothing")).to_have_text("none has no cells.")
            page.mouse.move(300, 400)
            page.mouse.down()
            page.mouse.move(400, 450, steps=3)
            page.mouse.up()
            assert "cells=" not in page.url
            opened.close()


def test_the_plane_that_holds_the_lineage_is_drawn(browser: Browser, tmp_path: Path) -> None:
    cube = np.zeros((4, 5, 6))
    with wh.open(tmp_path / "a.whence") as log:
        log.array("cube", cube)
        picked = log.track(lambda cube: cube[3] * 2, name="picked")
        picked(cube)
        with serving(Explorer(log)) as url:
            opened = Visit(browser, url)
            page = opened.go(view="array", name="picked", cells="1,2", look="cube")
            expect(page.locator(".filters output")).to_have_text("3")
            page.locator(".filters input[type=range]").fill("1")
            opened.settle()
            assert "at=1" in page.url
            expect(page.locator(".filters output")).to_have_text("1")
            opened.close()


def test_a_superset_says_why(browser: Browser, tmp_path: Path) -> None:
    with wh.open(tmp_path / "a.whence") as log:
        log.array("B", (3, 2))
        log.array("A", (3, 2))
        with log.activity("mix") as run:
            run.used("B").generated("A", derived_from=["B"])
        told = log.backward("A", "0,0")
        assert not told.precise
        assert told.reason is not None
        with serving(Explorer(log)) as url:
            opened = Visit(browser, url)
            page = opened.go(view="array", name="A", cells="0,0")
            expect(page.locator(".note.more")).to_contain_text("The answer is a superset, because")
            expect(page.locator(".note.more")).to_contain_text(told.reason)
            opened.shot("superset-wide-light")
            opened.close()


def test_waiting_is_drawn_until_the_answer_comes(opened: Visit) -> None:
    held: list[Any] = []
    released = False
    opened.page.route("**/api/array?*", lambda route: route.continue_() if released else held.append(route))
    opened.page.goto(f"{opened.url}&view=array&name=smooth")
    expect(opened.page.locator(".wait")).to_have_text("Asking the log ...")
    opened.shot("waiting-wide-light")
    released = True  # the route may be told only after the page is drawn
    for each in held:
        each.continue_()
    expect(opened.page.locator(".chain [aria-current] b")).to_have_text("smooth")


def test_what_is_recorded_meanwhile_is_there_after_a_reload(browser: Browser, tmp_path: Path) -> None:
    place = tmp_path / "a.whence"
    with wh.open(place) as writer, wh.open(place, create=False) as log, serving(Explorer(log)) as url:
        opened = Visit(browser, url)
        page = opened.go()
        expect(page.locator("h1")).to_have_text("Nothing is recorded yet")
        writer.array("late", np.ones((3, 3)), preview=True)
        page.reload()
        opened.settle()
        expect(page.get_by_role("button", name="arrays 1")).to_be_visible()
        writer.array("later", (2, 2))
        page.get_by_role("link", name="Arrays", exact=True).click()
        opened.settle()
        assert page.locator("tbody th a").all_inner_texts() == ["later", "late"]
        opened.close()


def test_a_picture_that_is_too_wide_has_a_map(browser: Browser, tmp_path: Path) -> None:
    with wh.open(tmp_path / "a.whence") as log:
        for number in range(16):
            log.array(f"array {number:02}", (2,))
            if number:
                log.lineage(f"array {number:02}", f"array {number - 1:02}", "identity")
        with serving(Explorer(log)) as url:
            opened = Visit(browser, url)
            page = opened.go()
            stage, the_map = page.locator(".graph").bounding_box(), page.locator(".map").bounding_box()
            assert stage is not None
            assert the_map is not None
            inside = (
                "e => { const [a, b] = [e, document.querySelector('.graph')].map((each) =>"
                " each.getBoundingClientRect()); return a.left >= b.left && a.right <= b.right; }"
            )
            first, last = (page.locator(f'.node[data-ids="array {number}"]') for number in ("00", "15"))
            assert (first.evaluate(inside), last.evaluate(inside)) == (False, True)  # the latest is shown
            page.mouse.click(the_map["x"] + 3, the_map["y"] + the_map["height"] / 2)
            opened.settle()
            assert (first.evaluate(inside), last.evaluate(inside)) == (True, False)
            page.get_by_role("button", name="Fit").click()
            opened.settle()
            assert (first.evaluate(inside), last.evaluate(inside)) == (True, True)
            assert page.locator(".map").count() == 0
            opened.close()


def test_a_chain_that_branches_has_arrows_only_where_data_went(browser: Browser, tmp_path: Path) -> None:
    with wh.open(tmp_path / "a.whence") as log:
        for name in "ABCD":
            log.array(name, (4,))
        for made, source in ("BA", "CB", "DB"):
            log.lineage(made, source, "identity")
        with serving(Explorer(log)) as url:
            opened = Visit(browser, url)
            page = opened.go(view="array", name="B", cells="0")
            assert page.locator(".chain li").count() == 4
            assert page.locator(".chain li.next").count() == 2  # A to B, and B to the first of C and D
            assert page.locator(".chain .origin").all_inner_texts() == ["a source", "from A", "from B", "from B"]
            opened.close()


def test_names_of_any_length_stay_on_the_page(browser: Browser, tmp_path: Path) -> None:
    name = "n" * 200
    with wh.open(tmp_path / "a.whence") as log:
        log.array(name, (3, 3))
        log.array("b", (3, 3))
        log.lineage("b", name, "identity")
        with serving(Explorer(log)) as url:
            for state in (
                {"view": "array", "name": name, "cells": "0,0"},
                {"id": name},
                {"view": "array"},
                {"dst": json.dumps([name])},
            ):
                for size in ("wide", "narrow"):
                    opened = Visit(browser, url, size)
                    page = opened.go(**state)
                    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (state, size)
                    opened.close()


def _told(page: Page) -> tuple[str, str]:
    """Where one is, and what the page says there, but for how long answers took."""
    text = page.locator("#main").inner_text()
    return page.url, re.sub(r"[0-9.]+ ms", "ms", text)


def _near(one: str | None, other: str | None) -> bool:
    first, second = ([float(each) for each in re.findall(r"-?[0-9.]+", text or "")] for text in (one, other))
    return bool(np.allclose(first, second, atol=0.5))


def _brushed(page: Page, cells: str) -> None:
    page.locator("input[name=cells]").fill(cells)
    page.keyboard.press("Enter")
