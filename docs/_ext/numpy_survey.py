"""Writes docs/reference/numpy.md from the survey of NumPy's functions: `python docs/_ext/numpy_survey.py`.

The page is kept in the repository; a test compares the functions on it with those of the survey.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from whence.testing.numpy_beyond import EXCUSED
from whence.testing.survey import Surveyed, complete

PAGE = Path(__file__).parents[1] / "reference" / "numpy.md"

HEAD = """# NumPy functions

`docs/_ext/numpy_survey.py` writes this page. It calls every function with small random arrays, compares the values with
NumPy's, and changes every input cell a little: if a result changes, the cell must be in its lineage.

- **exact**: the lineage has exactly the cells that matter in this call.
- **safe**: the lineage has these cells and more: `max` comes from all cells it compared, a rounded number from the
  number, an entry of an inverse from the whole matrix.
- **refused**: an error names the function.
- **rule**: a rule computes the lineage from shapes and arguments (and values, if it depends on them).

A test passes an array to every parameter of these functions, of array methods and of ufuncs: either its cells are in
the lineage, or an error names the parameter.

The column *dtype* says the same for arrays of `wh.tracked`. The dtype does not support complex numbers, which Fourier
transforms return, and `numpy.polynomial` does not accept it; `log.track` traces both.

"""


def page(rows: list[Surveyed]) -> str:
    """The whole page."""
    counts = {
        what: sum(getattr(each, column) in kinds for each in rows)
        for what, column, kinds in (
            ("traced", "lineage", ("exact", "safe")),
            ("wrong", "lineage", ("wrong",)),
            ("dtype", "dtype", ("exact", "safe")),
            ("dtype wrong", "dtype", ("wrong", "crash")),
        )
    }
    parts = [
        HEAD,
        f"With NumPy {np.__version__}: {len(rows)} functions, {counts['traced']} traced, {counts['wrong']} wrong; "
        f"on the dtype {counts['dtype']} tracked, {counts['dtype wrong']} wrong or crashed.\n",
    ]
    for title, papers in (("The 136 functions of the DSLog papers", True), ("Others", False)):
        parts.append(f"\n## {title}\n\n| function | by | lineage | dtype |\n|---|---|---|---|\n")
        parts += [
            f"| `{each.name}` | {each.by} | {each.lineage} | {each.dtype} |\n" for each in rows if each.papers == papers
        ]
    parts.append("\n## Left out\n\n| functions | why |\n|---|---|\n")
    for why, names in EXCUSED.items():
        parts.append(f"| {', '.join(f'`{name}`' for name in names.split())} | {why} |\n")
    return "".join(parts)


def main() -> None:
    """Write the page."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        PAGE.write_text(page(complete()), encoding="utf-8")


if __name__ == "__main__":
    main()
