"""`whence ancestors`: list everything that a file or dataset came from."""

from __future__ import annotations

from whence.cli._project import question

command = question(
    "ancestors",
    lambda log, names, revisions: log.ancestors(names, revisions=revisions),
    """List everything that files or datasets came from, oldest first, with the runs that made them.

NAME is a file (its latest version), one of its versions (model.bin@v2), a dataset or an activity (train.py#3). The
    end of a path is enough if it is unique. The last column says whether a file still has that content.

\b
  whence ancestors results/metrics.json
  whence ancestors metrics.json --json""",
    none="It is a source: nothing recorded made it.",
)
