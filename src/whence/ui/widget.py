"""The explorer's views as notebook widgets, by anywidget: interactive logs and pictures."""

from __future__ import annotations

from functools import partial
from importlib.resources import files
from typing import Any

import anywidget
import traitlets

from whence.graph.picture.drawable import MOST_SHOWN, Drawable
from whence.graph.picture.scene import scene_of
from whence.log import Log
from whence.relation import Relation
from whence.selection import Selection
from whence.store.answers import Answer
from whence.store.answers import boxes as spelled
from whence.store.catalog import runs
from whence.ui.answers import boxes
from whence.ui.explorer import Explorer
from whence.ui.picturing import picture
from whence.ui.routes import answered
from whence.ui.shown_things import Answers, of_lineage, of_relation

MODULE = files("whence.ui").joinpath("static", "explorer.js").read_text(encoding="ascii")


class Still(anywidget.AnyWidget):
    """A picture that can be moved and zoomed; it sends no requests."""

    _esm = MODULE
    still = traitlets.Dict().tag(sync=True)


class Live(anywidget.AnyWidget):
    """A view that sends requests to the kernel. `still` is what it shows first."""

    _esm = MODULE
    still = traitlets.Dict().tag(sync=True)

    def __init__(self, answers: Answers, still: dict[str, Any] | None = None) -> None:
        super().__init__(still=still or {})
        self._answers = answers
        self.on_msg(self._asked)

    def _asked(self, _: Any, content: Any, buffers: Any) -> None:
        if not isinstance(content, dict) or not isinstance(content.get("params"), dict):
            return
        params = {str(key): str(value) for key, value in content["params"].items()}
        status, found = self._answers(str(content.get("name")), params)
        reply = {"id": content.get("id"), "status": status}
        if isinstance(found, bytes):
            self.send(reply, [found])
        else:
            self.send({**reply, "answer": found})


def widget(thing: Any) -> anywidget.AnyWidget | None:
    """Return a widget for an object of whence; None if it needs none."""
    if isinstance(thing, Log):
        return Live(_of_log(thing))
    if isinstance(thing, Relation):
        return Live(of_relation(thing), {"kind": "array", "title": repr(thing), "place": {"name": "output"}})
    if isinstance(thing, Drawable):
        if not 0 < len(thing) <= MOST_SHOWN:
            return None
        return Still(still={"kind": "picture", "title": repr(thing), "picture": picture(scene_of(thing))})
    if isinstance(thing, Selection):
        return Still(still={"kind": "cells", "title": repr(thing), "cells": [_cells("", thing)]}) if thing else None
    if isinstance(thing, Answer):
        cells = [_cells(name, each) for name, each in thing.reached.items() if each.shape]
        title = "exactly these cells" if thing.precise else f"at most these cells, because {thing.reason}"
        return Still(still={"kind": "cells", "title": title, "cells": cells}) if cells else None
    return _of_spark(thing) if type(thing).__module__.startswith("whence.spark.") else None


def _of_log(log: Log) -> Answers:
    return partial(answered, Explorer(log))


def _of_spark(thing: Any) -> anywidget.AnyWidget | None:
    """Return a widget for a pipeline or rows of an answer; for these, Spark is already imported."""
    from whence.spark.lineage import Lineage
    from whence.spark.picture import scene_of_operators
    from whence.spark.pipeline import Pipeline

    if isinstance(thing, Lineage):
        return Live(of_lineage(thing), {"kind": "rows", "title": repr(thing), "sources": list(thing)})
    if not isinstance(thing, Pipeline):
        return None
    store = thing.analysis.store
    if store is not None and thing.name and any(each.pipeline == thing.name for each in runs.listed(store)):
        return Live(
            _of_log(Log(store, watch=False)), {"kind": "pipeline", "title": repr(thing), "place": {"name": thing.name}}
        )
    scene = scene_of_operators(thing.plan)
    return None if scene is None else Still(still={"kind": "picture", "title": repr(thing), "picture": picture(scene)})


def _cells(name: str, selection: Selection) -> dict[str, Any]:
    found, _ = boxes(selection)
    return {
        "name": name, "shape": list(selection.shape), "count": selection.count, "boxes": found,
        "text": spelled(selection),
    }  # fmt: skip
