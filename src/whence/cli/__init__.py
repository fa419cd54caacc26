"""The command line: `whence COMMAND`, one module a command."""

from __future__ import annotations


def main() -> None:
    """Run the `whence` command of the shell."""
    import gc

    from whence.cli._group import whence  # here, so that `import whence.cli` costs nothing

    gc.set_threshold(200_000, 20, 100)  # a command makes many objects, ends soon, and has hardly a cycle to collect
    whence(prog_name="whence")
