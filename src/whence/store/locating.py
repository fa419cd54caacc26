"""Finding the log to use if none is named: the nearest one."""

from __future__ import annotations

from pathlib import Path

from whence.errors import StoreError


def locate(log: str | None, start: Path | None = None) -> str | None:
    """Return the given log, else the nearest *.whence directory here or in a parent directory, else None.

    The search ends at a directory with a .git: directories above it belong to other projects.
    """
    if log:
        return log
    here = (start or Path.cwd()).absolute()
    for place in (here, *here.parents):
        if place.suffix == ".whence" and place.is_dir():
            return str(place)
        found = sorted(each for each in place.glob("*.whence") if each.is_dir())
        if len(found) > 1:
            names = ", ".join(each.name for each in found)
            raise StoreError(f"{place} holds several logs ({names}): name one with --log")
        if found:
            return str(found[0])
        if (place / ".git").exists():
            break
    return None


def place_for_new(start: Path | None = None) -> str:
    """Return the path of a new log: in the nearest directory with a .git, here or above, else here."""
    here = (start or Path.cwd()).absolute()
    root = next((place for place in (here, *here.parents) if (place / ".git").exists()), here)
    return str(root / "project.whence")
