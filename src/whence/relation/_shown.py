"""A relation as HTML without external files: its sizes, and a picture of the lineage of one output cell."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whence.relation._relation import Relation


def html_of(relation: Relation) -> str:
    """Return a table of its sizes and, for the cell in the middle of the output, the input cells that it came from."""
    facts = {
        "output": str(relation.out_shape), "input": str(relation.in_shape), "tuples": f"{relation.count():,}",
        "boxes": f"{len(relation):,}",
    }  # fmt: skip
    head = "".join(f"<th>{escape(name)}</th>" for name in facts)
    row = "".join(f"<td>{escape(value)}</td>" for value in facts.values())
    table = f"<table><tr>{head}</tr><tr>{row}</tr></table>"
    if not math.prod(relation.out_shape):
        return table
    cell = tuple(side // 2 for side in relation.out_shape)
    found = relation.backward([cell])
    index = ", ".join(map(str, cell)) or "()"
    return f"{table}<p>The cell [{index}] of the output came from:</p>{found._repr_html_()}"
