"""The command line: `whence COMMAND`, with one module for each command."""

from __future__ import annotations


def main() -> None:
    """Run the `whence` command of the shell."""
    import gc

    from whence.cli._group import whence  # here, so that `import whence.cli` is fast

    gc.set_threshold(200_000, 20, 100)  # a command creates many objects, almost no cycles, and ends soon
    whence(prog_name="whence")
