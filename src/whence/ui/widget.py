"""The explorer's views in notebooks, by anywidget: a log that can be asked, and pictures that can be moved."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import anywidget
import traitlets

from whence.graph.picture.drawable import MOST_SHOWN, Drawable
from whence.graph.picture.scene import scene_of
from whence.log import Log
from whence.selection import Selection
from whence.store.answers import Answer
from whence.store.answers import boxes as spelled
from whence.ui.answers import boxes
from whence.ui.explorer import Explorer
from whence.ui.picturing import picture
from whence.ui.routes import answered

MODULE = files("whence.ui").joinpath("static", "explorer.js").read_text(encoding="ascii")


class Still(anywidget.AnyWidget):
    """A picture that can be moved and zoomed; it asks nothing."""

    _esm = MODULE
    still = traitlets.Dict().tag(sync=True)


class Live(anywidget.AnyWidget):
    """A log to be looked at: the page asks, and the kernel answers."""

    _esm = MODULE
    still = traitlets.Dict().tag(sync=True)

    def __init__(self, explorer: Explorer) -> None:
        super().__init__()
        self._explorer = explorer
        self.on_msg(self._asked)

    def _asked(self, _: Any, content: Any, buffers: Any) -> None:
        if not isinstance(content, dict) or not isinstance(content.get("params"), dict):
            return
        params = {str(key): str(value) for key, value in content["params"].items()}
        status, found = answered(self._explorer, str(content.get("name")), params)
        reply = {"id": content.get("id"), "status": status}
        if isinstance(found, bytes):
            self.send(reply, [found])
        else:
            self.send({**reply, "answer": found})


def widget(thing: Any) -> anywidget.AnyWidget | None:
    """A widget for a thing of whence's; None if it shows itself as well without one."""
    if isinstance(thing, Log):
        return Live(Explorer(thing))
    if isinstance(thing, Drawable):
        if not 0 < len(thing) <= MOST_SHOWN:
            return None
        return Still(still={"kind": "picture", "title": repr(thing), "picture": picture(scene_of(thing))})
    if isinstance(thing, Selection):
        return Still(still={"kind": "cells", "title": repr(thing), "cells": [_cells("", thing)]}) if thing else None
    if isinstance(thing, Answer):
        cells = [_cells(name, each) for name, each in thing.reached.items() if each.shape]
        title = "exact" if thing.precise else f"not exact: {thing.reason}"
        return Still(still={"kind": "cells", "title": title, "cells": cells}) if cells else None
    return None


def _cells(name: str, selection: Selection) -> dict[str, Any]:
    found, _ = boxes(selection)
    return {
        "name": name, "shape": list(selection.shape), "count": selection.count, "boxes": found,
        "text": spelled(selection),
    }  # fmt: skip
