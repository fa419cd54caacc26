"""The page of NumPy's functions lists what the survey covers."""

from __future__ import annotations

import re
from pathlib import Path

from whence.testing.numpy_beyond import EVERYTHING

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "numpy.md"


def test_every_surveyed_function_is_on_the_page() -> None:
    rows = re.findall(r"^\| `(.+?)` \| \w+ \| (\w+) \| ([\w-]+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name, _, _ in rows] == list(EVERYTHING)
    assert {verdict for row in rows for verdict in row[1:]} <= {"exact", "safe", "refused"}
