"""The explorer: time to the first picture and to each answer, on a log with many vertices, cells and rows."""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that `python bench/NAME.py` finds `bench`
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from bench._common import Claim, Progress, check_size, claim, main, quiet, seconds, workspace
from bench._graph_log import fill

import whence as wh
from whence.testing.graphs import pd
from whence.ui.explorer import Explorer
from whence.ui.project import warm
from whence.ui.routes import answered
from whence.ui.values import Values

VERTICES = {"tiny": 3_000, "small": 100_000, "full": 100_000}
SIDE = {"tiny": 1_000, "small": 4_000, "full": 10_000}  # of a square array
ROWS = {"tiny": 60_000, "small": 1_000_000, "full": 6_000_000}
FIRST, SERVER, SCREEN = 1.0, 0.1, 0.2  # seconds


def run(size: str = "small", progress: Progress = quiet) -> list[Claim]:
    """The server's answers, each beside the simplest program that gives the same; then the page, in a browser."""
    size = check_size(size)
    with workspace() as folder:
        progress(f"a log of {VERTICES[size]:,} vertices")
        claims = list(_project(folder, VERTICES[size]))
        progress(f"an array of {SIDE[size] ** 2:,} cells and a table of {ROWS[size]:,} rows")
        claims += _data(folder, SIDE[size], ROWS[size])
        if shutil.which("chromium"):
            progress("the page, in a browser")
            claims += _page(folder)
    return claims


def _processor(work: Callable[[], Any], repeat: int = 3) -> float:
    """Return the least processor time of a call, of all threads: other programs use the machine as well."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return max(min(times), 1e-6)


def _ask(explorer: Explorer, question: str, **params: str) -> Any:
    status, found = answered(explorer, question, params)
    if status != 200:
        raise RuntimeError(f"{question}: {found!r}")
    return found


def _project(folder: Path, vertices: int) -> Iterator[Claim]:
    place = folder / "project.whence"
    wh.open(place).close()
    count, _ = fill(place / "catalog.sqlite", pd(vertices))
    with wh.open(place, create=False) as log:
        explorer = Explorer(log)
        start = time.process_time()
        shown = _ask(explorer, "overview")
        first = time.process_time() - start
        graph, unit = log.graph, "s of processor time"
        whole = _processor(lambda: json.dumps([graph.vertices, graph.edges]), repeat=1)
        told = sum(node["count"] for node in shown["picture"]["nodes"]) == int((graph.kinds != 2).sum())
        yield claim(
            f"first picture of {count:,} vertices, on the server", first,
            {"every vertex and edge as JSON, nothing drawn": whole}, unit=unit, at_most=FIRST, true=told,
        )  # fmt: skip
        warm(explorer)  # as `whence ui` does while the browser opens
        names = graph.vertices
        entity = next(each for each in names if graph[each].kind == "entity" and graph.ancestors(each))
        latest = graph.of_kind("entity")[-1]
        scan = _processor(lambda: [each for each in names if "part-77" in each])
        walk = _processor(lambda: graph.ancestors(latest))
        ends = {"src": json.dumps([entity]), "dst": json.dumps([latest])}
        for name, work, other, taken in (
            ("search", lambda: _ask(explorer, "search", q="part-77"), "a comprehension over the names", scan),
            (
                "a vertex and its neighbours",
                lambda: _ask(explorer, "vertex", id=entity),
                "all ancestors of a file",
                walk,
            ),
            ("a segment", lambda: _ask(explorer, "segment", **ends), "all ancestors of a file", walk),
        ):
            title = f"{name}, of {count:,} vertices"
            yield claim(title, _processor(work), {other: taken}, unit=unit, at_most=SERVER)


@contextmanager
def _made(folder: Path, side: int, rows: int) -> Iterator[Explorer]:
    place = folder / "data.whence"
    if not place.exists():
        values = np.lib.format.open_memmap(folder / "A.npy", mode="w+", dtype=np.float64, shape=(side, side))
        for start in range(0, side, 500):
            values[start : start + 500] = np.random.default_rng(start).random((min(500, side - start), side))
        values.flush()
        random = np.random.default_rng(1)
        columns = {
            "id": np.arange(rows),
            "city": random.integers(0, 500, rows),
            "cents": random.integers(1, 10**6, rows),
        }
        pq.write_table(pa.table(columns), folder / "orders.parquet")
        with wh.open(place) as log:
            log.array("A", shape=(side, side))
            for before, after in ("AB", "BC", "CD"):
                log.array(after, shape=(side, side))
                log.lineage(after, before, "identity")
            with log.activity("export") as activity:
                activity.generated(folder / "orders.parquet")
    with wh.open(place, create=False) as log:
        yield Explorer(log, Values.of([f"A={folder / 'A.npy'}"]))


def _data(folder: Path, side: int, rows: int) -> Iterator[Claim]:
    with _made(folder, side, rows) as explorer:
        array = np.load(folder / "A.npy", mmap_mode="r")
        scale = str(max(1, 2 ** int(np.ceil(np.log2(side / 256)))))
        _ask(explorer, "array", name="A")
        unit = "s of processor time"
        mean = _processor(lambda: np.asarray(array).mean(), repeat=1)
        work: dict[str, tuple[Callable[[], Any], str, float]] = {
            "the whole array as one tile": (lambda: _ask(explorer, "tile", name="A", scale=scale), "its mean", mean),
            "a tile of its own cells": (lambda: _ask(explorer, "tile", name="A", x="1", y="1"), "its mean", mean),
            "a brushed box, through three steps": (
                lambda: _ask(explorer, "lineage", name="B", cells="10:200,30:400"), "its mean", mean,
            ),
        }  # fmt: skip
        for name, (ask, other, taken) in work.items():
            yield claim(f"{name}, {side * side:,} cells", _processor(ask), {other: taken}, unit=unit, at_most=SERVER)
        path = folder / "orders.parquet"
        name = "orders.parquet@v1"
        every = _processor(lambda: pq.read_table(path).sort_by("cents").slice(0, 100), repeat=1)
        chosen = _processor(lambda: pq.read_table(path, filters=pc.field("city") == 7).slice(0, 100), repeat=1)
        for title, params, other, taken in (
            ("a page", {}, "read and sorted by Arrow", every),
            ("a sorted page", {"sort": "-cents"}, "read and sorted by Arrow", every),
            ("a filtered page", {"where": '{"city": "=7"}'}, "filtered by Arrow", chosen),
        ):

            def first(given: dict[str, str] = params) -> Any:
                """Ask a new explorer, because an explorer keeps what it has read."""
                return _ask(Explorer(explorer.log, explorer.values), "table", name=name, **given)

            took = _processor(first)
            yield claim(f"{title} of {rows:,} rows", took, {other: taken}, unit=unit, at_most=SERVER)
        yield _turned(explorer, name, rows, every)


def _turned(explorer: Explorer, name: str, rows: int, sorted_by_arrow: float) -> Claim:
    """Time the page after a sorted one, whose rows are in order already and have to be fetched."""
    times = []
    for _ in range(3):
        new = Explorer(explorer.log, explorer.values)
        _ask(new, "table", name=name, sort="-cents")
        start = time.process_time()
        _ask(new, "table", name=name, sort="-cents", **{"from": "100"})
        times.append(time.process_time() - start)
    took = min(times)
    other = {"read and sorted by Arrow": sorted_by_arrow}
    return claim(f"the next sorted page of {rows:,} rows", took, other, unit="s of processor time", at_most=SERVER)


def _page(folder: Path) -> Iterator[Claim]:
    from playwright.sync_api import sync_playwright

    from whence.ui.serving import serving

    with sync_playwright() as playwright, wh.open(folder / "project.whence", create=False) as log:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        explorer = Explorer(log)
        with serving(explorer) as url:
            threading.Thread(target=warm, args=(explorer,), daemon=True).start()  # as `whence ui` does
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto("about:blank")
            blank = seconds(lambda: page.goto("about:blank"))
            start = time.perf_counter()
            page.goto(url)
            page.wait_for_selector(".node")
            first = time.perf_counter() - start
            yield claim(
                f"first picture of {len(log.graph):,} vertices, on the screen", first, {"an empty page": blank},
                unit="s", at_most=FIRST,
            )  # fmt: skip

            def choose() -> None:
                page.locator(".node").first.click()
                page.wait_for_selector(".side h2")

            choose()
            yield claim(
                "a vertex is chosen, on the screen", seconds(choose), {"an empty page": blank}, unit="s", at_most=SCREEN
            )
        browser.close()


def plot(claims: list[Claim], directory: Path) -> list[Path]:
    """Draw each time next to its goal."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 0.4 * len(claims) + 1))
    axes.barh([each["name"] for each in claims], [each["ours"] for each in claims])
    axes.axvline(SERVER, color="black", lw=0.8)
    axes.set_xscale("log")
    axes.set_xlabel("seconds; the line is 100 ms")
    target = directory / "ui.png"
    figure.savefig(target, dpi=120, bbox_inches="tight")
    plt.close(figure)
    return [target]


if __name__ == "__main__":
    main(run, plot)
