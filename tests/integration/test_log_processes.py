"""Many processes with one log: writers, readers, collectors, and children that a process forks."""

from __future__ import annotations

import multiprocessing as mp
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import whence as wh
from whence import Relation
from whence.errors import UnknownName
from whence.store.blobs.local import Found, LocalBlobs

# Children are forked from a process that has only imported what they need: quick to start, and no threads to inherit.
PROCESSES = mp.get_context("forkserver")
PROCESSES.set_forkserver_preload(["pytest", "whence", "whence.store.check", "whence.store.blobs.remote", "psycopg"])
SIZE = 5
PATIENCE = 240  # seconds after which a process is taken to hang


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str | None]:
    if request.param == "sqlite":
        return str(tmp_path / "log.whence"), None
    return request.getfixturevalue("postgresql_url"), str(tmp_path / "blobs")


Place = tuple[str, str | None]


def opened(place: Place) -> wh.Log:
    return wh.open(place[0], blobs=place[1])


def together(place: Place, *jobs: tuple[Callable[..., None], Any]) -> None:
    """Run each job in a process of its own, all at the same time; fail if one fails."""
    start = PROCESSES.Barrier(len(jobs))
    processes = [PROCESSES.Process(target=_begin, args=(start, work, place, number)) for work, number in jobs]
    for process in processes:
        process.start()
    for process in processes:
        process.join(PATIENCE)
        process.kill()  # one that hangs; the others have ended
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(processes)


def _begin(start: Any, work: Callable[..., None], place: Place, number: Any) -> None:
    start.wait(PATIENCE)
    work(place, number)


def record(log: wh.Log, name: str, shift: int) -> None:
    """One output with the lineage from two inputs, all in one operation."""
    log.array(name, shape=(SIZE,))
    log.register_operation(
        "roll", ["source", "source2"], [name], capture=[_roll(shift), _roll(shift + 1)], op_args={"shift": shift}
    )


def _roll(shift: int) -> Callable[[tuple[int, ...]], list[int]]:
    return lambda index: [(index[0] + shift) % SIZE]


def assert_recorded(log: wh.Log, name: str, shift: int) -> None:
    found = log.backward(name, [(1,)])
    assert {key: value.cells().tolist() for key, value in found.items()} == {
        "source": [[(1 + shift) % SIZE]],
        "source2": [[(2 + shift) % SIZE]],
    }


def prepare(place: Place) -> None:
    with opened(place) as log:
        log.array("source", shape=(SIZE,))
        log.array("source2", shape=(SIZE,))


# --- the jobs


def make(place: Place, number: int) -> None:
    with opened(place) as log:
        log.array("shared", shape=(3,))
        log.array(f"own{number}", shape=(number,))


def write(place: Place, number: int) -> None:
    with opened(place) as log:
        for i in range(8):
            record(log, f"w{number}-{i}", shift=number + i)


def read(place: Place, number: int) -> None:
    """Whatever is there must be there whole."""
    seen = 0
    deadline = time.monotonic() + PATIENCE / 2
    with opened(place) as log:
        while seen < number and time.monotonic() < deadline:
            operations = log.operations()
            assert len(operations) >= seen
            seen = len(operations)
            for operation in operations[-5:]:
                assert_recorded(log, operation.outputs[0], operation.args["shift"])
        assert log.check().ok
    assert seen == number


def churn(place: Place, number: int) -> None:
    """Write and delete the same few relations over and over, so that their blobs come and go."""
    with opened(place) as log:
        for i in range(10):
            record(log, f"c{number}", shift=i)
            assert_recorded(log, f"c{number}", shift=i)
            log.delete(f"c{number}")


def collect(place: Place, number: int) -> None:
    with opened(place) as log:
        for _ in range(number):
            log.collect()


def ask(place: Place, number: int) -> None:
    """A question about what others delete is answered, or says that it is gone; it is never damage."""
    with opened(place) as log:
        for _ in range(number):
            for name in ("c0", "c1"):
                try:
                    answers = log.backward(name, [(1,)])
                except UnknownName:
                    continue
                assert all(len(found) == 1 for found in answers.values())


# --- the tests


def test_two_processes_make_the_same_log(place: Place) -> None:
    together(place, *((make, number) for number in range(4)))
    with opened(place) as log:
        assert sorted(dataset.name for dataset in log.datasets()) == ["own0", "own1", "own2", "own3", "shared"]
        assert log.check().ok


def test_eight_writers_and_two_readers(place: Place) -> None:
    prepare(place)
    together(place, *((write, number) for number in range(8)), (read, 64), (read, 64))
    with opened(place) as log:
        assert len(log.operations()) == 64
        for number in range(8):
            for i in range(8):
                assert_recorded(log, f"w{number}-{i}", shift=number + i)
        report = log.check()
        assert report.ok, report
        assert not report.notes
        assert report.relations == SIZE  # there are only so many different rolls


def test_collecting_while_others_write_and_delete(place: Place) -> None:
    prepare(place)
    together(place, (churn, 0), (churn, 1), (collect, 60), (collect, 60), (ask, 60))
    with opened(place) as log:
        report = log.check()
        assert report.ok, report
        log.collect()
        assert log.check().relations == 0
        assert not list(Path(log._store.blobs.where).rglob("?" * 64))


def test_a_blob_collected_before_it_is_referred_to(place: Place) -> None:
    """The worst moment for a collection: the blob is written, and the catalog does not know of it yet."""
    prepare(place)
    with opened(place) as log, opened(place) as other:
        removed: list[int] = []

        class Unlucky(LocalBlobs):
            def put(self, name: str, data: bytes) -> bool:
                new = super().put(name, data)
                if not removed:
                    removed.append(other.collect().blobs)
                return new

        log._store.blobs = Unlucky(Path(log._store.blobs.where))
        record(log, "unlucky", shift=2)
        assert removed == [1]
        assert log.check().ok
        assert_recorded(other, "unlucky", shift=2)


def test_garbage_that_is_referred_to_again_while_it_is_collected(place: Place) -> None:
    """The collector has seen that nothing uses the blob; before it removes it, somebody does."""
    prepare(place)
    with opened(place) as log, opened(place) as other:
        record(log, "first", shift=2)
        log.delete("first")

        class Slow(LocalBlobs):
            def listing(self) -> Iterator[Found]:
                found = list(super().listing())
                if "second" not in {dataset.name for dataset in other.datasets()}:
                    record(other, "second", shift=2)
                return iter(found)

        log._store.blobs = Slow(Path(log._store.blobs.where))
        assert log.collect().blobs == 0
        assert log.check().ok
        assert_recorded(log, "second", shift=2)


def test_a_blob_collected_between_the_plan_and_the_answer(place: Place) -> None:
    """A question finds its way over two datasets; one of them is deleted before it gets there."""
    prepare(place)
    with opened(place) as log, opened(place) as other:
        record(other, "left", shift=0)
        record(other, "right", shift=1)
        other.array("out", shape=(SIZE,))
        for number, name in enumerate(("left", "right")):
            other.lineage("out", name, _roll(3 + number))
        deleted: list[int] = []

        class Late(LocalBlobs):
            def open(self, name: str, title: str) -> Relation:
                if not deleted:
                    other.delete("left", force=True)
                    deleted.append(other.collect().blobs)
                return super().open(name, title)

        log._store.reader._blobs = Late(Path(log._store.blobs.where))
        assert log.backward("out", [(0,)], to="source").cells().tolist() == [[0]]
        assert deleted == [2]  # the roll by 1 is still used by the other one


def forks(place: Place, _: object) -> None:
    """A log opened before a fork goes on working on both sides, even after one of them closed it."""
    log = opened(place)
    record(log, "before", shift=0)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            for i in range(10):
                record(log, f"child{i}", shift=i)
                assert_recorded(log, "before", shift=0)
            status = 0
        except BaseException as error:
            print(repr(error), file=sys.stderr)
        finally:
            os._exit(status)
    for i in range(5):
        record(log, f"parent{i}", shift=i)
    log.close()  # in SQLite, the last to close removes the write-ahead log
    assert os.waitpid(child, 0)[1] == 0
    with opened(place) as again:
        for i in range(10):
            assert_recorded(again, f"child{i}", shift=i)
        for i in range(5):
            assert_recorded(again, f"parent{i}", shift=i)
        assert again.check().ok


def test_a_log_survives_a_fork(place: Place) -> None:
    prepare(place)
    together(place, (forks, None))


def forks_with_threads(place: Place, _: object) -> None:
    """A fork while other threads are in the middle of using the log."""
    import threading

    log = opened(place)
    stop = threading.Event()

    def work(k: int) -> None:
        i = 0
        while not stop.is_set():
            record(log, f"t{k}-{i}", shift=i)
            i += 1

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    try:
        for i in range(10):
            child = os.fork()
            if child == 0:
                record(log, f"child{i}", shift=i)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    for i in range(10):
        assert_recorded(log, f"child{i}", shift=i)
    assert log.check().ok


def test_a_fork_amid_threads(place: Place) -> None:
    prepare(place)
    together(place, (forks_with_threads, None))


def imports_nothing(place: Place, _: object) -> None:
    """Record and ask, and see that no module was imported for it."""
    with opened(place) as log:
        known = set(sys.modules)
        record(log, "out", shift=1)
        size = 10_000  # large and without order, so that its numbers are packed
        log.array("wide", shape=(size,))
        log.lineage("wide", "wide", [(i, i * 7919 % size) for i in range(size)])
        assert_recorded(log, "out", shift=1)
        log.delete("out")
        log.collect()
        imported = set(sys.modules) - known
    late = sorted(name for name in imported if name.split(".")[0] in ("whence", "sqlalchemy", "pcodec"))
    assert not late, late


def test_an_open_log_has_all_it_needs(place: Place) -> None:
    """A child that is forked while a thread imports a module waits for ever for the end of that import."""
    prepare(place)
    together(place, (imports_nothing, None))
