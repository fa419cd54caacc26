"""Notebooks: outputs of cells are widgets where anywidget is, and pictures and tables always."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import whence as wh
from whence.testing.looked_at import project

pytest.importorskip("anywidget")
pytest.importorskip("nbclient")
VIEW = "application/vnd.jupyter.widget-view+json"

CELLS = {
    "setup": "import whence as wh\nlog = wh.open(PLACE, create=False)",
    "log": "log",
    "segment": "log.graph.segment(dst='report.md@v1')",
    "summary": "wh.summarize([log.graph.segment(dst='report.md@v1')])",
    "selection": "log.backward('peaks', '0,3', to='thermal')",
    "answer": "log.backward('peaks', '0,3')",
    "relation": "wh.compress([[0, 0], [1, 1]], (2,), (2,))",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("project"))


def executed(place: Path, **environment: str) -> dict[str, dict[str, Any]]:
    """The outputs of the cells, by name."""
    import nbformat
    from nbclient import NotebookClient

    made: Any = nbformat.v4  # its functions have no types
    cells = [made.new_code_cell(code.replace("PLACE", repr(str(place)))) for code in CELLS.values()]
    notebook = made.new_notebook(cells=cells)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Jupyter's own
        NotebookClient(notebook, timeout=300, kernel_name="python3").execute(env={**os.environ, **environment})
    return {
        name: dict(cell["outputs"][-1]["data"]) if cell["outputs"] else {}
        for name, cell in zip(CELLS, notebook["cells"], strict=True)
    }


def test_outputs_are_widgets_with_pictures_and_tables_besides(place: Path) -> None:
    found = executed(place)
    for name in ("log", "segment", "summary", "selection", "answer", "relation"):
        assert VIEW in found[name], name
    for name in CELLS:
        if name != "setup":
            assert found[name]["text/plain"], name
            assert found[name].get("text/html") or found[name].get("image/svg+xml"), name
    assert found["segment"]["image/svg+xml"].startswith("<svg")
    assert "<table>" in found["answer"]["text/html"]
    assert "data:image/png" in found["relation"]["text/html"]


def test_without_widgets_pictures_and_tables_need_nothing(place: Path) -> None:
    found = executed(place, WHENCE_WIDGETS="off")
    for name, data in found.items():
        assert VIEW not in data
        shown = str(data.get("text/html", "")) + str(data.get("image/svg+xml", ""))
        assert name == "setup" or shown
        assert "<script" not in shown
        if name in ("log", "segment", "summary", "answer"):  # a picture and a table
            assert "<table>" in data["text/html"], name
            assert "<svg" in data["text/html"] or "data:image/png" in data["text/html"], name
        assert 'src="http' not in shown


def test_who_has_no_anywidget_gets_the_same(place: Path) -> None:
    code = (
        "import sys; sys.modules['anywidget'] = None\n"
        "import whence as wh, whence.shown as shown\n"
        "shown.is_notebook = lambda: True\n"
        f"log = wh.open({str(place)!r}, create=False)\n"
        "print(sorted(log._repr_mimebundle_()), sorted(log.graph._repr_mimebundle_()))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "['text/html', 'text/plain'] ['image/svg+xml', 'text/html', 'text/plain']\n"


def test_the_kernel_answers_what_the_widget_asks(place: Path) -> None:
    from whence.ui.widget import Live, widget

    with wh.open(place, create=False) as log:
        live = widget(log)
        assert isinstance(live, Live)
        sent: list[tuple[dict[str, Any], Any]] = []
        live.send = lambda content, buffers=None: sent.append((content, buffers))
        live._asked(None, {"id": 7, "name": "lineage", "params": {"name": "peaks", "cells": "0,3"}}, None)
        live._asked(None, {"id": 8, "name": "nothing", "params": {}}, None)
        live._asked(None, "no question", None)
        expected = log.backward("peaks", "0,3", to="thermal").count
    assert [content["id"] for content, _ in sent] == [7, 8]
    assert sent[0][0]["answer"]["backward"][-1]["count"] == expected
    assert sent[1][0]["status"] == 404


def test_a_relation_answers_for_its_cells() -> None:
    from whence.ui.widget import Live, widget

    relation = wh.compress([[0, 0, 1], [1, 0, 0], [1, 2, 1]], (2,), (3, 2))
    live = widget(relation)
    assert isinstance(live, Live)
    assert live.still["place"] == {"name": "output"}
    status, told = live._answers("array", {"name": "output"})
    assert status == 200
    assert isinstance(told, dict)
    assert [(each["name"], each["shape"]) for each in told["chain"]] == [("input", [3, 2]), ("output", [2])]
    for name, cells in (("output", "1"), ("input", "0,1")):
        _, told = live._answers("lineage", {"name": name, "cells": cells})
        assert isinstance(told, dict)
        (found,) = told["backward"] + told["forward"]
        expected = relation.backward("1") if name == "output" else relation.forward("0,1")
        assert (found["boxes"], found["count"]) == (expected.boxes.tolist(), expected.count)
    assert live._answers("lineage", {"name": "output", "cells": "9"})[0] == 400
    assert live._answers("lineage", {"name": "nothing", "cells": "0"})[0] == 400
    assert live._answers("summary", {})[0] == 404


@pytest.fixture
def url(place: Path) -> Iterator[str]:
    from whence.ui.explorer import Explorer
    from whence.ui.serving import serving

    with wh.open(place, create=False) as log, serving(Explorer(log)) as found:
        yield found


def test_the_module_draws_in_a_shadow_root(url: str, place: Path) -> None:
    """As anywidget calls it, with a model that answers as a kernel would."""
    pytest.importorskip("playwright")
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from playwright.sync_api import expect
    from tests.browsing import Visit, chromium

    from whence.ui.widget import widget

    with wh.open(place, create=False) as log:
        made = widget(log.backward("peaks", "0,3"))
        assert made is not None
        still = made.still
    mount = """async (still) => {
      const module = (await import("/explorer.js")).default;
      const heard = [];
      const model = {
        get: () => still,
        on: (_, callback) => heard.push(callback),
        send: async (asked) => {
          const reply = await fetch(`/api/${asked.name}?${new URLSearchParams(asked.params)}`);
          heard.forEach(async (each) => each({ id: asked.id, status: reply.status, answer: await reply.json() }));
        },
      };
      const el = document.createElement("div");
      document.body.prepend(el);
      module.render({ model, el });
      window.widget = el;
    }"""
    with chromium() as browser:
        opened = Visit(browser, url)
        page = opened.go()
        page.evaluate(mount, still)
        opened.settle()
        told = page.evaluate("window.widget.shadowRoot.querySelector('.stills').innerText")
        assert "thermal" in told
        assert "smooth" in told
        page.evaluate(mount, {})
        opened.settle()
        opened.shot("widget")
        assert page.evaluate("window.widget.shadowRoot.querySelectorAll('.node').length") > 5
        page.evaluate(mount, {"kind": "array", "place": {"name": "smooth", "cells": "3,3"}})
        opened.settle()
        answer = page.locator(".whence-widget .answer h2").first
        expect(answer).to_have_text("smooth[3,3]")
        opened.close()
