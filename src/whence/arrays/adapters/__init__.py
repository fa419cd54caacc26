"""Adapters for other packages, one module each, loaded once the program has imported the package.

An adapter has a function `install`, which is called when the program has imported new modules. It adds rules for
functions (`foreign.follow`), or replaces functions by versions that work on traced arrays (`foreign.compose`).
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
"""The adapter module of each package."""

_imported = 0


def load() -> None:
    """Install adapters for packages that the program has imported since the last call. It is fast if there are none."""
    global _imported
    if len(sys.modules) == _imported:
        return
    for package, adapter in ADAPTERS.items():
        if package in sys.modules:
            import_module(f"{__name__}.{adapter}").install()
    _imported = len(sys.modules)
