"""A story: the log's own explanation of some cells, in sentences, with a picture."""

from __future__ import annotations

from typing import Any

from whence.errors import NotTraceable
from whence.ui import answers
from whence.ui.explorer import BadRequest, Explorer, Params, text


def story(explorer: Explorer, params: Params) -> dict[str, Any]:
    """The sentences of a story, how it ends, and the whole of it as a document and as a picture to be saved."""
    name, cells = text(params, "name"), text(params, "cells")
    direction = params.get("way", "backward")
    if direction not in ("backward", "forward"):
        raise BadRequest("'way' is backward or forward")
    try:
        found = answers.story(explorer.log, name, cells, direction)
    except NotTraceable as error:
        return {"available": False, "reason": str(error)}
    return {
        "available": True, "title": found.title, "sentences": [_said(each) for each in found.sentences()],
        "endings": [str(each) for each in found.endings()], "html": found.to_html(), "svg": found.to_svg(),
        "document": found.as_dict(),
    }  # fmt: skip


def _said(sentence: Any) -> dict[str, Any]:
    return {"text": getattr(sentence, "text", str(sentence)), "doubt": getattr(sentence, "doubt", None)}
