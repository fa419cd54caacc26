"""Writes docs/reference/measured.md from docs/_data/bench.json: `python docs/_ext/measured.py` (`make docs` calls it).

`whence bench --size small --json docs/_data/bench.json` measures anew. A test compares the page with what this module
writes, so that no number on it is anybody's but the benchmark's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "_data" / "bench.json"
PAGE = Path(__file__).parents[1] / "reference" / "measured.md"
HEAD = """# What was measured

<!-- written by docs/_ext/measured.py from docs/_data/bench.json -->

Less is better in every claim; *ratio* is the best baseline divided by ours. [Run the
benchmarks](../howto/benchmarks.md) says what is compared, and how to measure on your own
machine: `whence bench --json claims.json`.
"""


def page(document: Mapping[str, Any]) -> str:
    """The whole page: a table for each benchmark."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for claim in document["claims"]:
        groups.setdefault((claim["benchmark"], claim["size"]), []).append(claim)
    held = sum(bool(claim["holds"]) for claim in document["claims"])
    parts = [HEAD, f"{held} of {len(document['claims'])} claims held in the runs below.\n"]
    for (name, size), claims in groups.items():
        table = _programs(claims) if name == "programs" else [*_CLAIMS, *(_row(claim) for claim in claims)]
        caution = ["At this size the numbers only show the form.\n"] if size == "tiny" else []
        parts += [f"## {name}, size `{size}`\n", *caution, "\n".join(table) + "\n"]
    return "\n".join(parts)


_CLAIMS = ("| claim | ours | best other | ratio | goal | holds |", "|---|---:|---|---:|---|---|")


def _programs(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """A table of everyday programs: times without whence, of the first and of later calls."""
    lines = [
        "Processor time in milliseconds, and bytes of lineage in the log. The claim is about the first call.\n",
        "| program | cells | bare NumPy | first call | later calls | stored | goal | holds |",
        "|---|---:|---:|---:|---:|---:|---|---|",
    ]
    for claim in claims:
        name, _, cells = claim["name"].rpartition(", ")
        times = (1000 * each for each in (claim["baselines"]["bare NumPy"], claim["ours"], claim["again"]))
        columns = [
            name, cells.removesuffix(" cells"), *map(_rounded, times), f"{claim['stored']:,}", claim["goal"],
            "yes" if claim["holds"] else "**no**",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(columns)} |")
    return lines


def _row(claim: Mapping[str, Any]) -> str:
    known = {name: value for name, value in claim["baselines"].items() if value is not None}
    name, best = min(known.items(), key=lambda each: each[1])
    unit = claim.get("unit", "")
    cells = [
        claim["name"], f"{_rounded(claim['ours'])} {unit}", f"{name}: {_rounded(best)} {unit}",
        _rounded(claim["ratio"]), str(claim.get("goal", "")), "yes" if claim["holds"] else "**no**",
    ]  # fmt: skip
    return "| " + " | ".join(cell.strip().replace("|", "\\|") for cell in cells) + " |"


def _rounded(value: float) -> str:
    """Three digits that matter.

    >>> _rounded(0.0123456), _rounded(1234.5), _rounded(2.0)
    ('0.0123', '1,230', '2')
    """
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100 or rounded == int(rounded) else f"{rounded:g}"


def main() -> None:
    made = page(json.loads(DATA.read_text(encoding="utf-8")))
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != made:
        PAGE.write_text(made, encoding="utf-8")
        print(f"{PAGE.name}: brought up to date with what was measured")


if __name__ == "__main__":
    main()
