"""The page that is committed is the page that its sources make."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UI, MODULE = ROOT / "ui", ROOT / "src" / "whence" / "ui" / "static" / "explorer.js"


def test_a_rebuild_gives_the_bytes_that_are_committed(tmp_path: Path) -> None:
    if shutil.which("node") is None or not (UI / "node_modules" / "esbuild").is_dir():
        pytest.skip("who has run `make ui` can check its result: it takes npm, which nothing else here needs")
    made = tmp_path / "explorer.js"
    subprocess.run(["node", "build.mjs", str(made)], cwd=UI, check=True, timeout=300)
    assert made.read_bytes() == MODULE.read_bytes(), "the sources in ui/ have changed: run `make ui`"
