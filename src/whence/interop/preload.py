"""The library that notes what programs open, whatever they are written in: whether it can be loaded, and into what.

It is loaded by the dynamic linker of Linux (LD_PRELOAD), so a program without one, or with more rights than its user,
is not seen.
"""

from __future__ import annotations

import os
import shutil
import stat
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

VARIABLE = "LD_PRELOAD"
COMPILED = (
    "what compiled code reads (pyarrow, sqlite3, DuckDB, programs other than Python) is not seen here: name "
    "such files with --in"
)


def library() -> Path | None:
    """Where the library is; None where it cannot be used."""
    if sys.platform != "linux":
        return None
    from whence import _core

    found = Path(str(_core.__file__)).with_name("_opens.so")
    # The linker takes spaces and colons for the ends of names.
    return found if found.exists() and not any(each in " :" for each in str(found)) else None


def environment(found: Path | None) -> dict[str, str]:
    """The variables that load the library, behind what is loaded already."""
    if found is None:
        return {}
    return {VARIABLE: " ".join(filter(None, (os.environ.get(VARIABLE), str(found))))}


def unseen(programs: Iterable[str]) -> list[str]:
    """Those of the programs that the library is not loaded into, by name."""
    found = {Path(each).name: None for each in programs if (path := shutil.which(each)) and not _is_loaded_into(path)}
    return sorted(found)


def _is_loaded_into(path: str) -> bool:
    """Whether the dynamic linker starts a program, and may load what a variable says; scripts are not asked about."""
    try:
        if os.stat(path).st_mode & (stat.S_ISUID | stat.S_ISGID):
            return False
        with open(path, "rb") as file:
            head = file.read(64)
            if len(head) < 64 or head[:5] != b"\x7fELF\x02":
                return head[:4] != b"\x7fELF"  # of 32 bits: the library has 64
            offset, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
            file.seek(offset)
            kinds = [struct.unpack_from("<I", file.read(size))[0] for _ in range(count)]
    except (OSError, struct.error):
        return True  # what cannot be read is not known to be unseen
    return 3 in kinds  # PT_INTERP: the linker's name
