"""Runs tests against a native core built with AddressSanitizer and UBSan: `make asan`.

    python tests/sanitized.py DIRECTORY [pytest arguments]

The extension modules of DIRECTORY take the place of the installed ones before anything else is imported.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest


def load(name: str, directory: Path) -> None:
    """Import a compiled module of the package from a directory of its own."""
    path = next(directory.glob(f"{name}.*.so"))
    spec = importlib.util.spec_from_file_location(f"whence.{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[f"whence.{name}"] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    for each in ("_core", "_tracked"):
        load(each, Path(sys.argv[1]))
    sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[2:]]))
