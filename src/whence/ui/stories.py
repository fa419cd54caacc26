"""A story: the log's own explanation of some cells or of a row, in sentences, each with what it speaks of."""

from __future__ import annotations

import json
from typing import Any

from whence.errors import NotTraceable
from whence.ui import answers
from whence.ui.explorer import Explorer, Params, text


def story(explorer: Explorer, params: Params) -> dict[str, Any]:
    """The sentences of a story, and the steps they speak of, where the log tells stories."""
    name = text(params, "name")
    question: object = json.loads(params["row"]) if params.get("row") else text(params, "cells")
    try:
        found = answers.story(explorer.log, name, question)
    except NotTraceable as error:
        return {"available": False, "reason": str(error), "sentences": [], "steps": []}
    sentences = getattr(found, "sentences", None)
    told = [str(each) for each in sentences] if sentences is not None else str(found).splitlines()
    return {
        "available": True, "sentences": told, "steps": [_step(each) for each in getattr(found, "steps", ())],
        "precise": getattr(found, "precise", True), "reason": getattr(found, "reason", None),
    }  # fmt: skip


def _step(step: Any) -> dict[str, Any]:
    names = ("dataset", "activity", "count", "how", "seconds")
    return {name: _plain(getattr(step, name, None)) for name in names}


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)
