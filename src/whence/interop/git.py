"""Git as a source of provenance: commits are activities, authors agents, versions of files entities."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any


def head_of(place: Path) -> dict[str, Any]:
    """The commit that a directory stands at, and whether files differ from it; nothing outside of a repository."""
    program = shutil.which("git")
    if program is None:
        return {}
    told = []
    for arguments in (("rev-parse", "HEAD"), ("status", "--porcelain", "--untracked-files=no")):
        done = subprocess.run([program, "-C", str(place), *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            return {}
        told.append(done.stdout.strip())
    return {"git_commit": told[0], "git_changed": bool(told[1])}
