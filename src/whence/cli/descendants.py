"""`whence descendants`: all that came from something."""

from __future__ import annotations

from whence.cli._project import question

command = question(
    "descendants",
    lambda log, names, revisions: log.descendants(names, revisions=revisions),
    """List what is affected if a file or dataset is wrong: all that came from it, oldest first.

NAME is a file (all its versions), one of its versions (data.csv@v1), a dataset or an activity. The activities in the
list are what to run again, in that order; the last column says whether a file is still as it was made then.

\b
  whence descendants data/raw.csv
  whence descendants raw.csv@v1""",
    none="Nothing recorded came from it.",
)
