"""kill -9 at random points of a write: what was acknowledged is there, and nothing is half there."""

from __future__ import annotations

import multiprocessing as mp
import os
import random
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import whence as wh

PROCESSES = mp.get_context("forkserver")
PROCESSES.set_forkserver_preload(["pytest", "whence", "whence.store.check", "whence.store.blobs.remote", "psycopg"])
ROUNDS = {"sqlite": 24, "postgresql": 8}
SIZE, SOURCE = 6, 10007


def write(place: tuple[str, str | None], first: int, lines: int | None, say: Any) -> None:
    """Write until killed, telling of each commit; with `lines`, kill oneself after so many lines of the store."""
    if lines is not None:
        sys.settrace(_deadly(lines))
    log = wh.open(place[0], blobs=place[1])
    say.send(None)
    for number in range(first, first + 1000):
        log.array(f"x{number}", shape=(SIZE, SIZE))
        say.send(("array", number))
        # Relations differ from number to number, so that each writes blobs of its own.
        log.register_operation(
            "f",
            ["source"],
            [f"x{number}"],
            capture=[[(i, j, (i * SIZE + j) * number % SOURCE) for i in range(SIZE) for j in range(SIZE)]],
            op_args={"number": number},
        )
        say.send(("operation", number))
        if number % 5 == 4:
            log.delete(f"x{number}")
            say.send(("delete", number))
        if number % 7 == 6:
            log.collect()


def _deadly(lines: int) -> Any:
    left = lines

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left
        if f"whence{os.sep}store" not in frame.f_code.co_filename:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    return trace


def a_round(place: tuple[str, str | None], first: int, lines: int | None, delay: float) -> list[tuple[str, int]]:
    """One writer, killed; what it acknowledged."""
    listen, say = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=write, args=(place, first, lines, say))
    process.start()
    say.close()
    acknowledged: list[tuple[str, int] | None] = []
    try:
        if lines is None:
            acknowledged.append(listen.recv())  # it has begun
            time.sleep(delay)
            process.kill()
        while True:
            acknowledged.append(listen.recv())
    except EOFError:
        pass
    process.join()
    listen.close()
    assert process.exitcode == -signal.SIGKILL
    return [each for each in acknowledged if each]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_kill_minus_nine(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    place: tuple[str, str | None] = (str(tmp_path / "log.whence"), None)
    if kind == "postgresql":
        place = (request.getfixturevalue("postgresql_url"), str(tmp_path / "blobs"))
    dice = random.Random(20240611)
    with wh.open(place[0], blobs=place[1]) as log:
        log.array("source", shape=(SOURCE,))
    acknowledged: list[tuple[str, int]] = []
    for k in range(ROUNDS[kind]):
        by_lines = dice.randrange(300, 6000) if k % 2 else None
        acknowledged += a_round(place, 1000 * k, by_lines, delay=dice.uniform(0, 0.15))
        with wh.open(place[0], blobs=place[1]) as log:
            report = log.check()
            assert report.ok, report
    assert acknowledged
    with wh.open(place[0], blobs=place[1]) as log:
        present = {dataset.name: dataset for dataset in log.datasets()}
        operations = {operation.args["number"]: operation for operation in log.operations() if operation.outputs}
        deleted = {number for event, number in acknowledged if event == "delete"}
        for event, number in acknowledged:
            if number in deleted:
                assert f"x{number}" not in present
            elif event == "array":
                # Its deletion may have been committed, and killed before it was acknowledged.
                assert f"x{number}" in present or number % 5 == 4
            elif f"x{number}" in present:
                assert number in operations
            else:
                assert number % 5 == 4
        for number in operations:  # acknowledged or not: what is there is there whole
            found = log.backward(f"x{number}", [(2, 3)], to="source").cells()
            assert found.tolist() == [[15 * number % SOURCE]]
        log.collect()
        # A round leaves at most the one temporary file that it was writing when it was killed.
        assert len(log.check().notes) <= ROUNDS[kind]
        assert all("temporary" in note.what for note in log.check().notes)
