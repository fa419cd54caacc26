"""Writing a story or report in the format of the file's suffix."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from whence.errors import BadType, StoreError

STYLE = (
    "body{font-family:Helvetica,Arial,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#212529}"
    "table{border-collapse:collapse}td,th{text-align:left;vertical-align:top;padding:.3em .8em .3em 0;"
    "border-bottom:1px solid #dee2e6}code{background:#f1f3f5}.doubt{color:#a61e1e}"
)


def save(path: str | PathLike[str], forms: Mapping[str, Callable[[], str]]) -> None:
    """Write the file in the format of its suffix."""
    place = Path(path)
    form = forms.get(place.suffix.lower())
    if form is None:
        raise BadType(f"{place.name}: the suffix chooses the format; it must be one of {', '.join(forms)}")
    text = form()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{place} cannot be written: {error.strerror or error}") from error


def page(title: str, body: str) -> str:
    """Return an HTML document without scripts or external files. The title must be escaped."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style></head>\n<body>{body}</body></html>\n"
    )


def as_json(document: Mapping[str, Any]) -> str:
    """Return a document as formatted JSON."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
