"""Native objects are freed while a program runs, and a program that used whence ends without a word."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

import whence as wh
from whence import _core
from whence.arrays.tracing import _operations
from whence.testing import operations as ops

PROGRAMS = {
    "relations": """
relation = wh.compress([[0, 1], [1, 0]], 2, 2)
assert relation.compose(relation.inverse).backward([(0,)]).count == 1
wh.Relation.from_bytes(relation.to_bytes()).count()
""",
    "a cycle": """
class Holder: pass
holder = Holder()
holder.itself, holder.relation = holder, wh.Relation.identity(3)
""",
    "the tracked dtype": """
x = wh.tracked(np.arange(6.0).reshape(2, 3), name="A")
y = np.cumsum(x, axis=0) @ np.ones((3, 2))
assert len(y[0, 0].parents) == 3
relation = wh.relation_of(y, "A")
""",
    "a log that stays open": """
log = wh.open(place)
log.array("a", shape=3)
log.array("b", shape=3)
log.lineage("b", "a", np.array([[0, 0], [1, 2]]))
assert log.backward("b", [(1,)], to="a").count == 1
graph = log.graph
""",
    "tracked functions": """
log = wh.open(place)

@log.track
def total(x):
    return np.cumsum(x[::-1])

for length in range(3, 9):
    total(np.arange(float(length)))
assert total.last.reused
""",
    "a thread that never ends": """
import threading
log = wh.open(place)
log.array("a", shape=3)
log.array("b", shape=3)
log.lineage("b", "a", "identity")
asked, wait = threading.Event(), threading.Event()

def serve():
    relation = wh.Relation.identity(3)
    log.backward("b", [(1,)], to="a")
    asked.set()
    wait.wait()

threading.Thread(target=serve, daemon=True).start()
asked.wait()
""",
    "an array of objects in a circle": """
objects = np.empty(2, object)
objects[:] = [objects, wh.Relation.identity(3)]
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_ends_without_a_word(name: str, tmp_path: Path) -> None:
    program = f"import numpy as np\nimport whence as wh\nplace = {str(tmp_path / 'log')!r}\n{PROGRAMS[name]}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_table_is_freed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relations of all origins, asked, stored and recorded: nothing keeps one that the program let go of."""
    alive: weakref.WeakSet[_core.Table] = weakref.WeakSet()

    class Watched(_core.Table):
        def __init__(self, *args: object) -> None:
            super().__init__(*args)  # type: ignore[arg-type] # types are checked at run time
            alive.add(self)

    monkeypatch.setattr(_core, "Table", Watched)

    def work() -> int:
        raw = ops.sort((300,))
        relation = wh.compress(*raw)
        stored = wh.Relation.from_bytes(relation.to_bytes())
        assert stored.compose(relation.inverse).backward([(3,)]).count == 1
        with wh.open(tmp_path / "log") as log:
            log.array("a", shape=(300,))
            log.array("b", shape=(300,))
            log.lineage("b", "a", relation)
            assert log.backward("b", [(3,)], to="a") == stored.backward([(3,)])
            total = log.track(lambda x: np.cumsum(x[::-1]) * 2)
            total(np.arange(9.0))
            total(np.arange(12.0))
        tracked = wh.tracked(np.arange(6.0), name="exit")
        assert wh.relation_of(np.cumsum(tracked), "exit").count() == 21
        return len(alive)

    assert work() >= 3
    for looked_up in (_operations._operations, _operations._places, _operations._indices):  # of rules: small, and few
        looked_up.clear()
    gc.collect()
    assert len(alive) == 0
