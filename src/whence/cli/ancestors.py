"""`whence ancestors`: all that something came from."""

from __future__ import annotations

from whence.cli._project import question

command = question(
    "ancestors",
    lambda log, names, revisions: log.ancestors(names, revisions=revisions),
    """List all that files or datasets came from, oldest first: what they were made from, and what was run.

NAME is a file (the version that it was when it was last seen), one of its versions (model.bin@v2), a dataset or an
activity (train.py#3). The end of a path is enough if only one file's path ends that way. The last column says
whether a file is still as it was then.

\b
  whence ancestors results/metrics.json
  whence ancestors metrics.json --json""",
    none="It is a source: nothing recorded made it.",
)
