"""The command line: `whence COMMAND`, one module a command."""

from __future__ import annotations


def main() -> None:
    """Run the `whence` command of the shell."""
    from whence.cli._group import whence  # here, so that `import whence.cli` costs nothing

    whence(prog_name="whence")
