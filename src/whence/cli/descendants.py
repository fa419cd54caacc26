"""`whence descendants`: list everything that came from a file or dataset."""

from __future__ import annotations

from whence.cli._project import question

command = question(
    "descendants",
    lambda log, names, revisions: log.descendants(names, revisions=revisions),
    """List everything that came from a file or dataset, and so is affected if it is wrong; oldest first.

NAME is a file (all its versions), one of its versions (data.csv@v1), a dataset or an activity. To correct the
    results, run the listed activities again, in that order. The last column says whether a file still has that content.

\b
  whence descendants data/raw.csv
  whence descendants raw.csv@v1""",
    none="Nothing recorded came from it.",
)
