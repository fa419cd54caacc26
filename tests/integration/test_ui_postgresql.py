"""The explorer on a log whose catalog is PostgreSQL shows what it shows of the same log in a directory."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import whence as wh
from whence.testing.looked_at import fill, project

pytest.importorskip("starlette")
pytest.importorskip("playwright")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.browsing import Visit, chromium

from whence.ui.explorer import Explorer
from whence.ui.routes import answered
from whence.ui.serving import serving

QUESTIONS: tuple[tuple[str, dict[str, str]], ...] = (
    ("overview", {}),
    ("overview", {"who": "bob", "kinds": "file,activity"}),
    ("part", {"of": "model.bin@v1"}),
    ("search", {"q": "train"}),
    ("vertex", {"id": "model.bin@v2"}),
    ("segment", {"src": '["raw/readings.csv@v3"]', "dst": '["report.md@v1"]', "expand": "1"}),
    ("datasets", {"kind": "table"}),
    ("array", {"name": "smooth"}),
    ("lineage", {"name": "peaks", "cells": "0,3"}),
    ("table", {"name": "clean.csv@v1", "sort": "-value"}),
)
VARYING = {"created", "when", "ms", "backward_ms", "forward_ms", "size", "title", "seconds", "notes"}


def _asked(log: wh.Log) -> list[Any]:
    explorer = Explorer(log)
    found = []
    for question, params in QUESTIONS:
        status, answer = answered(explorer, question, params)
        assert status == 200, (question, answer)
        found.append((question, _steady(answer)))
    return found


def _steady(answer: Any) -> Any:
    """An answer without times and sizes."""
    if isinstance(answer, dict):
        return {key: _steady(value) for key, value in answer.items() if key not in VARYING}
    return [_steady(each) for each in answer] if isinstance(answer, list | tuple) else answer


def test_the_page_on_postgresql(postgresql_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = tmp_path / "directory", tmp_path / "server"
    one.mkdir()
    other.mkdir()
    with wh.open(project(one)) as log:
        expected = _asked(log)
    monkeypatch.chdir(other)  # names of files in a log on a server are relative to where one works
    with wh.open(postgresql_url, blobs=str(tmp_path / "blobs")) as log:
        fill(log, other)
        for (question, answer), (_, wanted) in zip(_asked(log), expected, strict=True):
            assert answer == wanted, question
        with chromium() as browser, serving(Explorer(log)) as url:
            visit = Visit(browser, url)
            page = visit.go()
            assert page.locator(".node").count() == len(expected[0][1]["picture"]["nodes"])
            page = visit.go(view="array", name="peaks", cells="0,3")
            assert page.get_by_text("came from").first.is_visible()
            with log.activity("later.py") as run:  # another program writes while the page is open
                run.generated(tmp_path / "server" / "report.md")
            page = visit.go()
            assert page.locator(".node[aria-label^='later.py']").count() == 1
            visit.close()
