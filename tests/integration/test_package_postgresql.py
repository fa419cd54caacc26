"""The page about PostgreSQL, followed on a server of the tests' own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "postgresql.md"
WHENCE = Path(sys.executable).with_name("whence")


def block(kind: str, containing: str) -> str:
    found = re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    [wanted] = [code for code in found if containing in code]
    return str(wanted)


def test_the_page_works(postgresql_url: str, tmp_path: Path) -> None:
    places = {"postgresql://ada@db.example.org/lineage": postgresql_url, "/mnt/shared/lineage-blobs": str(tmp_path)}
    program, exports = block("python", "wh.open"), block("console", "export").splitlines()[0]
    for on_the_page, here in places.items():
        assert on_the_page in program
        assert on_the_page in exports
        program = program.replace(on_the_page, here)
        exports = exports.replace(on_the_page, here)
    subprocess.run([sys.executable, "-c", program], check=True)
    settings = dict(item.split("=", 1) for item in exports.removeprefix("$ export ").split())
    listed = subprocess.run(
        [WHENCE, "ls", "--json"], env={**os.environ, **settings}, capture_output=True, text=True, check=True
    )
    assert [(each["name"], each["shape"]) for each in json.loads(listed.stdout)["datasets"]] == [("A", [3, 2])]
