"""The story view: `log.explain` of some cells, in sentences, with a picture."""

from __future__ import annotations

from typing import Any

from whence.ui import answers
from whence.ui.explorer import BadRequest, Explorer, Params, text


def story(explorer: Explorer, params: Params) -> dict[str, Any]:
    """Return the sentences of a story, and the story as HTML, SVG, CSV and JSON to save."""
    name, cells = text(params, "name"), text(params, "cells")
    direction = params.get("way", "backward")
    if direction not in ("backward", "forward"):
        raise BadRequest("'way' is backward or forward")
    found = answers.story(explorer.log, name, cells, direction)  # type: ignore[arg-type] # checked above
    return {
        "title": found.title, "sentences": [{"text": each.text, "doubt": each.doubt} for each in found.sentences()],
        "endings": found.endings(), "html": found.to_html(), "svg": found.to_svg(),
        "csv": found.to_csv(), "document": found.as_dict(),
    }  # fmt: skip
