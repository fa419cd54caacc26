"""Display in notebooks: as a widget if possible, and always as text and HTML.

Packages provide widgets by an entry point `whence.widgets`: a function that takes an object and returns a widget or
None. The one of whence is `whence.ui.widget`, which needs the package anywidget.
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
"""Environment variable: `off` disables widgets."""


def bundle(thing: Any) -> dict[str, Any] | tuple[dict[str, Any], dict[str, Any]]:
    """Return the value for `_repr_mimebundle_`: text and HTML, and a widget if a notebook can show one.

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
    """Whether this process is a notebook kernel that widgets can talk to, and widgets are not disabled."""
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
        except ImportError:  # anywidget is not installed: show text and HTML
            continue
    return tuple(found)
