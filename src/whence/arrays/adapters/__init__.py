"""Adapters for other packages, one module each, loaded once the program has imported the package.

An adapter has a function `install`, which is called whenever the program has imported something new. It adds rules for
functions (`foreign.follow`), or replaces functions by ones that work on traced arrays (`foreign.compose`).
"""

from __future__ import annotations

import sys
from importlib import import_module

ADAPTERS = {
    "pandas": "tables",
    "scipy.ndimage": "ndimage",
    "scipy.signal": "signal",
    "sklearn": "learn",
    "xarray": "labelled",
}
"""The adapter of each package, by its module in this one."""

_imported = 0


def load() -> None:
    """Bring adapters up to date with what the program has imported by now; a few nanoseconds if that is nothing."""
    global _imported
    if len(sys.modules) == _imported:
        return
    for package, adapter in ADAPTERS.items():
        if package in sys.modules:
            import_module(f"{__name__}.{adapter}").install()
    _imported = len(sys.modules)
