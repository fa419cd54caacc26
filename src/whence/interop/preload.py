"""The preloaded library that notes which files programs open: whether it can be loaded, and into which programs.

The dynamic linker of Linux loads it (LD_PRELOAD), so statically linked programs, and programs with more rights than
their user, are not observed.
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
    """Return the path of the library; None if it cannot be used."""
    if sys.platform != "linux":
        return None
    from whence import _core

    found = Path(str(_core.__file__)).with_name("_opens.so")
    # The linker splits LD_PRELOAD at spaces and colons.
    return found if found.exists() and not any(each in " :" for each in str(found)) else None


def environment(found: Path | None) -> dict[str, str]:
    """Return the variables that load the library, after libraries that are preloaded already."""
    if found is None:
        return {}
    return {VARIABLE: " ".join(filter(None, (os.environ.get(VARIABLE), str(found))))}


def unseen(programs: Iterable[str]) -> list[str]:
    """Return the names of the programs that the library is not loaded into."""
    found = {Path(each).name: None for each in programs if (path := shutil.which(each)) and not _is_loaded_into(path)}
    return sorted(found)


def _is_loaded_into(path: str) -> bool:
    """Whether a program is linked dynamically and LD_PRELOAD applies to it; True for scripts."""
    try:
        if os.stat(path).st_mode & (stat.S_ISUID | stat.S_ISGID):
            return False
        with open(path, "rb") as file:
            head = file.read(64)
            if len(head) < 64 or head[:5] != b"\x7fELF\x02":
                return head[:4] != b"\x7fELF"  # 32-bit programs cannot load the 64-bit library
            offset, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
            file.seek(offset)
            kinds = [struct.unpack_from("<I", file.read(size))[0] for _ in range(count)]
    except (OSError, struct.error):
        return True  # assume that it is observed if it cannot be read
    return 3 in kinds  # PT_INTERP: the dynamic linker
