"""Compress in a separate process and report its peak memory, so that earlier work does not count.

`python bench/_memory.py array RAW OUT OUT_SHAPE IN_SHAPE` reads the tuples of a .npy file and compresses them; `python
bench/_memory.py product OUT SIDE` streams the tuples of a matrix product, two rows at a time.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import whence as wh
from whence.testing import operations


def peak(reset: bool = False) -> int:
    """Return the peak memory of this process in bytes; since the last reset, if the system supports it."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        status = Path("/proc/self/status").read_text()
    except OSError:  # not Linux: use the peak since the start
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def warm() -> None:
    """Compress one tiny relation, so that lazily loaded modules do not count."""
    wh.compress(np.array([[0, 0], [1, 2]]), (2,), (3,)).to_bytes()


def shape_of(text: str) -> tuple[int, ...]:
    return tuple(int(side) for side in text.split(",") if side)


def array(raw: str, out: str, out_shape: str, in_shape: str) -> dict[str, Any]:
    """Compress tuples that are in memory already."""
    warm()
    tuples = np.load(raw)
    before = peak(reset=True)
    start = time.perf_counter()
    wh.compress(tuples, shape_of(out_shape), shape_of(in_shape)).save(Path(out))
    return {"extra": peak() - before, "input": tuples.nbytes, "seconds": time.perf_counter() - start}


def product(out: str, side: str) -> dict[str, Any]:
    """Compress a stream that is never completely in memory: the left operand of a product of two square matrices."""
    warm()
    shape = (int(side), int(side))
    start = time.perf_counter()
    relation = wh.compress(operations.matmul_left_chunks(shape, int(side), 2), shape, shape)
    relation.save(Path(out))
    return {"peak": peak(), "tuples": relation.count(), "seconds": time.perf_counter() - start}


def measured(*arguments: str) -> dict[str, Any]:
    """Run one of the functions above in a separate process, and return its result."""
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"measuring memory failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    works: dict[str, Callable[..., dict[str, Any]]] = {"array": array, "product": product}
    print(json.dumps(works[sys.argv[1]](*sys.argv[2:])))
