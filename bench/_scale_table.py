"""The claims of `bench/scale.py` as the table that docs/explanation/scale.md includes.

`python bench/scale.py --json FILE`, then `python bench/_scale_table.py FILE docs/explanation/scale-measured.md`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

BESIDE = {
    "bytes_per_tuple": "{:.2f} bytes a tuple",
    "parts_read": "{:,} parts read",
    "boxes": "{:,} boxes",
    "bytes_per_pair": "{:.2f} bytes a pair",
    "share_of_query": "{:.1f} times the query",
    "microseconds_of_a_question": "{:,.0f} microseconds a question",
}
"""What is said beside a claim, where it has it."""


def table(claims: list[dict[str, Any]]) -> str:
    """One line for each claim.

    >>> print(table([{"name": "x", "ours": 2.0, "unit": "s", "baselines": {"y": 9.0}, "ratio": 4.5, "boxes": 3}]))
    | measured | whence | beside | ratio | |
    |---|---|---|---|---|
    | x | 2 s | y 9 s | 4.5 | 3 boxes |
    """
    lines = ["| measured | whence | beside | ratio | |", "|---|---|---|---|---|"]
    for each in claims:
        unit = each["unit"]
        others = ", ".join(
            f"{name} {value:.4g} {unit}" for name, value in each["baselines"].items() if value is not None
        )
        more = ", ".join(text.format(each[key]) for key, text in BESIDE.items() if key in each)
        lines.append(f"| {each['name']} | {each['ours']:.4g} {unit} | {others} | {each['ratio']:.3g} | {more} |")
    return "\n".join(lines)


if __name__ == "__main__":
    claims = json.loads(Path(sys.argv[1]).read_text())["claims"]
    Path(sys.argv[2]).write_text(table(claims) + "\n")
