"""Writing a story or report in the format of the file's suffix."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from whence.errors import BadType, StoreError

STYLE = (  # the colours and sizes of the explorer
    ":root{color-scheme:light dark}"
    ":root{--ink:#1b1f24;--faint:#5b6470;--line:#d5d8dd;--card:#fff;--sunk:#eeece7;--bad:#a8201a}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e8eaed;--faint:#a3abb6;--line:#3a4049;--card:#1d2126;--sunk:#262b32;"
    "--bad:#ff8f87}}"
    "body{font:15px/1.6 system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;max-width:64rem;"
    "margin:2.2rem auto;padding:0 1.25rem;color:var(--ink);background:var(--card)}"
    "h3{font-size:1.75rem;line-height:1.2;letter-spacing:-.015em;margin:0 0 1rem}ol{max-width:80ch;padding-left:1.4rem}"
    "table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.35em .9em .35em 0;"
    "border-bottom:1px solid var(--line)}th{color:var(--faint);font-weight:600;font-size:.8125rem}"
    "code{font:.87em ui-monospace,Menlo,Consolas,monospace;background:var(--sunk);border-radius:4px;padding:.05em .3em}"
    ".picture{background:#fff;border:1px solid var(--line);border-radius:10px;padding:.8rem;margin:1.2rem 0}"
    ".doubt{color:var(--bad)}@media(max-width:40rem){table{display:block;overflow-x:auto}}"
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
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head>\n<body>{body}</body></html>\n"
    )


def as_json(document: Mapping[str, Any]) -> str:
    """Return a document as formatted JSON."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
