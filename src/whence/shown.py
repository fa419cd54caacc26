"""How things show themselves in a notebook: as a widget where one can be made, and always as text and as HTML.

Widgets come from above: a package names a function in the entry points `whence.widgets`, which takes a thing and gives
a widget, or None. whence's own is `whence.ui.widget`, and needs the package anywidget.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Final

GROUP: Final = "whence.widgets"
SWITCH: Final = "WHENCE_WIDGETS"
"""In the environment: `off` shows pictures and tables only."""


def bundle(thing: Any) -> dict[str, Any] | tuple[dict[str, Any], dict[str, Any]]:
    """What `_repr_mimebundle_` returns: text and HTML, and a widget besides if this is a notebook that can show one.

    >>> class Thing:
    ...     def __repr__(self): return "a thing"
    ...     def _repr_html_(self): return "<b>a thing</b>"
    >>> bundle(Thing())
    {'text/plain': 'a thing', 'text/html': '<b>a thing</b>'}
    """
    still = {"text/plain": repr(thing)}
    for kind, name in (("text/html", "_repr_html_"), ("image/svg+xml", "_repr_svg_")):
        found = getattr(thing, name, None)
        text = None if found is None else found()
        if text:
            still[kind] = text
    for make in _makers() if is_notebook() else ():
        widget = make(thing)
        if widget is not None:
            made = widget._repr_mimebundle_()
            data, about = made if isinstance(made, tuple) else (made or {}, {})
            return {**data, **still}, about
    return still


def is_notebook() -> bool:
    """Whether a kernel runs this, to which a page can talk."""
    if os.environ.get(SWITCH, "").lower() in ("off", "0", "no") or "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return getattr(shell, "kernel", None) is not None


@cache
def _makers() -> tuple[Callable[[Any], Any], ...]:
    found = []
    for each in entry_points(group=GROUP):
        try:
            found.append(each.load())
        except ImportError:  # anywidget is not installed: pictures and tables do
            continue
    return tuple(found)
