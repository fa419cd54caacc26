"""Disks that are read-only or full, locks, servers, paths that are no logs: a clear error, the log unchanged."""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence as wh
from whence.errors import BadType, Damaged, MissingExtra, StoreError, WhenceError

PROCESSES = mp.get_context("forkserver")
PROCESSES.set_forkserver_preload(["pytest", "whence", "whence.store.check", "whence.store.blobs.remote", "psycopg"])


def state(path: Path) -> tuple[list[str], dict[str, int]]:
    """The whole catalog as text, and all files among the blobs."""
    with sqlite3.connect(path / "catalog.sqlite") as connection:
        dump = list(connection.iterdump())
    connection.close()
    files = {str(file.relative_to(path)): file.stat().st_size for file in path.glob("blobs/**/*") if file.is_file()}
    return dump, files


def filled(path: Path) -> Path:
    with wh.open(path) as log:
        log.array("A", shape=(4,))
        log.array("B", shape=(4,))
        log.lineage("B", "A", lambda index: [3 - index[0]])
    return path


def noise(seed: int, rows: int) -> np.ndarray[Any, Any]:
    """Tuples without structure: their relation cannot be small."""
    dice = np.random.default_rng(seed)
    return np.stack([np.arange(rows), dice.permutation(rows)], axis=1)


# --- read-only


def questions_work(path: Path) -> None:
    with wh.open(path) as log:
        assert log.read_only
        assert log.backward("B", [(0,)], to="A").cells().tolist() == [[3]]
        assert log.query(["A", "B"], [(0,)]).cells().tolist() == [[3]]
        assert len(log.datasets()) == 2
        assert log.check().ok
        assert log.show("B").derived_from[0].tuples == 4
        assert "2 datasets" in repr(log)
        for call in (
            lambda: log.array("C", shape=(1,)),
            lambda: log.lineage("B", "A", "whole"),
            lambda: log.register_operation("f", ["A"], ["B"], capture=["whole"]),
            lambda: log.delete("B"),
        ):
            with pytest.raises(StoreError, match="read-only"):
                call()
        assert log.array("A", shape=(4,)).shape == (4,)  # which changes nothing


def test_a_read_only_log_answers(tmp_path: Path, read_only: Callable[[Path], Path]) -> None:
    path = filled(tmp_path / "log.whence")
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    questions_work(read_only(path))
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before


def test_a_read_only_view_of_a_log_that_others_write(tmp_path: Path, read_only: Callable[[Path], Path]) -> None:
    if os.geteuid() != 0:
        pytest.skip("a second, read-only view of a directory is a mount, which takes root")
    path = filled(tmp_path / "log.whence")
    view = read_only(path)
    with wh.open(view) as reader:
        assert len(reader.datasets()) == 2  # nobody writes
        with wh.open(path) as writer:
            writer.lineage("B", "A", "identity")
            assert len(reader.backward("B", [(0,)], to="A")) == 2  # somebody has begun to
            writer.array("C", shape=(4,))
            assert len(reader.datasets()) == 3
            with wh.open(view) as second:
                writer.lineage("C", "B", "identity")
                assert len(second.backward("C", [(0,)], to="A")) == 2
                assert len(reader.backward("C", [(0,)], to="A")) == 2
        assert len(reader.backward("C", [(0,)], to="A")) == 2  # and ended


def _write_and_die(path: str) -> None:
    log = wh.open(path)
    log.lineage("B", "A", "identity")
    os._exit(1)


@pytest.mark.parametrize("shared_memory", [True, False])
def test_a_crashed_log_on_a_read_only_disk(
    tmp_path: Path, read_only: Callable[[Path], Path], shared_memory: bool
) -> None:
    """What was committed may still be in the write-ahead log alone."""
    path = filled(tmp_path / "log.whence")
    process = PROCESSES.Process(target=_write_and_die, args=(str(path),))
    process.start()
    process.join()
    assert (path / "catalog.sqlite-wal").stat().st_size
    if not shared_memory:
        (path / "catalog.sqlite-shm").unlink()
    view = read_only(path)
    with wh.open(view) as log:
        assert log.backward("B", [(0,)], to="A").cells().tolist() == [[0], [3]]
        assert log.check().ok
        with pytest.raises(StoreError, match="read-only"):
            log.array("C", shape=(1,))


def test_no_log_can_be_made_on_a_read_only_disk(tmp_path: Path, read_only: Callable[[Path], Path]) -> None:
    directory = tmp_path / "directory"
    directory.mkdir()
    view = read_only(directory)
    with pytest.raises(StoreError, match=r"read-only|permission denied"):
        wh.open(view / "log.whence")
    with pytest.raises(StoreError, match="cannot open"):
        wh.open(view)
    assert list(directory.iterdir()) == []


# --- full


def test_a_full_disk(small_disk: Path) -> None:
    path = filled(small_disk / "log.whence")
    log = wh.open(path)
    log.array("big", shape=(900_000,))
    log.array("big2", shape=(900_000,))
    with log:
        before = state(path)
        for call in (
            lambda: log.lineage("big2", "big", noise(0, 900_000)),
            # The first blob still fits, the second does not: neither may stay.
            lambda: log.register_operation(
                "f", ["big", "big"], ["big2"], capture=[noise(1, 400_000), noise(2, 400_000)]
            ),
        ):
            with pytest.raises(StoreError, match="disk is full"):
                call()
            assert state(path) == before
        assert log.check().ok
        assert not log.check().notes
        assert log.backward("B", [(0,)], to="A").cells().tolist() == [[3]]


def test_a_disk_that_fills_up_with_the_catalog(small_disk: Path) -> None:
    path = filled(small_disk / "log.whence")
    with wh.open(path) as log:
        (small_disk / "ballast").write_bytes(b"x" * (shutil.disk_usage(small_disk).free - 500_000))
        acknowledged = 0

        def write_on() -> None:
            nonlocal acknowledged
            for number in range(1000):
                log.array(f"x{number}", shape=(number,))
                log.lineage(f"x{number}", "A", lambda index: [index[0] % 4])
                acknowledged = number

        with pytest.raises(StoreError, match="full"):
            write_on()
        assert acknowledged
        assert log.check().ok
        (small_disk / "ballast").unlink()
        log.array("after", shape=())
        names = {dataset.name for dataset in log.datasets()}
        assert {f"x{number}" for number in range(acknowledged + 1)} | {"after"} <= names
        for number in range(1, acknowledged + 1):
            assert log.backward(f"x{number}", [(number - 1,)], to="A").cells().tolist() == [[(number - 1) % 4]]
        assert log.check().ok


def fill_up(disk: Path) -> None:
    """Write until not a byte is left."""
    with (disk / "ballast").open("ab", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while file.write(b"x" * size) == size:
                    pass
    assert shutil.disk_usage(disk).free == 0


@pytest.mark.parametrize("opened", ["before", "after"])
def test_space_is_freed_on_a_disk_without_a_byte_left(small_disk: Path, opened: str) -> None:
    path = filled(small_disk / "log.whence")
    with wh.open(path) as log:
        log.array("big", shape=(100_000,))
        log.array("big2", shape=(100_000,))
        log.lineage("big2", "big", noise(0, 100_000))
        if opened == "before":
            fill_up(small_disk)
            with pytest.raises(StoreError, match="full"):
                log.lineage("big2", "big", noise(1, 100_000))
            log.delete("big2")
            assert log.collect().blobs == 1
    if opened == "after":
        fill_up(small_disk)
        with wh.open(path) as log:
            assert log.backward("B", [(0,)], to="A").cells().tolist() == [[3]]
            log.delete("big2")
        with wh.open(path) as log:
            assert log.collect().blobs == 1
    assert shutil.disk_usage(small_disk).free > 100_000
    with wh.open(path) as log:
        assert log.check().ok
        assert not log.check().notes
        assert log.backward("B", [(0,)], to="A").cells().tolist() == [[3]]
        assert {dataset.name for dataset in log.datasets()} == {"A", "B", "big"}
        log.array("after", shape=())


def test_the_commands_free_space_on_a_full_disk(small_disk: Path) -> None:
    path = filled(small_disk / "log.whence")
    with wh.open(path) as log:
        for name in ("big", "big2"):
            log.array(name, shape=(100_000,))
        log.lineage("big2", "big", noise(0, 100_000))
    fill_up(small_disk)
    for words in (["delete", "big2", "--yes"], ["gc"], ["check"]):
        done = subprocess.run(
            [str(Path(sys.executable).with_name("whence")), *words, "--log", str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert shutil.disk_usage(small_disk).free > 100_000


@pytest.mark.parametrize("reserve", [True, False])
def test_garbage_is_collected_on_a_full_disk(small_disk: Path, reserve: bool) -> None:
    """Even without the space set aside, as in a log that an older whence made."""
    path = filled(small_disk / "log.whence")
    with wh.open(path) as log:
        for name in ("big", "big2"):
            log.array(name, shape=(100_000,))
        log.lineage("big2", "big", noise(0, 100_000))
        log.delete("big2")
    if not reserve:
        (path / "catalog.sqlite-reserve").unlink()
    fill_up(small_disk)
    with wh.open(path) as log:
        assert log.collect().blobs == 1
        log.array("after", shape=())
    with wh.open(path) as log:
        assert log.check().ok
    (small_disk / "ballast").unlink()
    with wh.open(path) as log:
        assert log.check().ok
    assert (path / "catalog.sqlite-reserve").exists(), "there is room again"


def _write_with_a_limit(path: str, limit: int, say: Any) -> None:
    log = wh.open(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        log.lineage("big2", "big", noise(0, 200_000))
    except WhenceError as error:
        say.send((type(error).__name__, str(error)))
    log.array("small", shape=())
    say.send(len(log.datasets()))
    log.close()


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    path = filled(tmp_path / "log.whence")
    with wh.open(path) as log:
        log.array("big", shape=(200_000,))
        log.array("big2", shape=(200_000,))
    before = state(path)
    listen, say = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=_write_with_a_limit, args=(str(path), 300_000, say))
    process.start()
    kind, text = listen.recv()
    assert kind == "StoreError"
    assert "beyond the limit" in text
    assert listen.recv() == 5
    process.join()
    assert process.exitcode == 0
    listen.close()
    say.close()
    assert state(path)[1] == before[1]
    with wh.open(path) as log:
        assert log.check().ok
        assert not log.check().notes


# --- locked


def test_a_lock_held_too_long(tmp_path: Path) -> None:
    path = filled(tmp_path / "log.whence")
    holder = sqlite3.connect(path / "catalog.sqlite", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with wh.open(path, timeout=0.05) as log:
        with pytest.raises(StoreError, match="another process has locked it for too long"):
            log.lineage("B", "A", "whole")
        assert log.backward("B", [(0,)], to="A").cells().tolist() == [[3]]  # readers do not wait
        holder.execute("ROLLBACK")
        holder.close()
        assert log.check().notes  # the blob could not be removed without the lock either
        log.lineage("B", "A", "whole")
        assert not log.check().notes


def test_a_lock_held_too_long_on_a_server(postgresql_url: str, tmp_path: Path) -> None:
    with (
        wh.open(postgresql_url, blobs=tmp_path / "blobs") as holder,
        wh.open(postgresql_url, blobs=tmp_path / "blobs", timeout=0.05) as log,
        holder._store.database.hold(),
    ):
        with pytest.raises(StoreError, match="another process has locked it for too long"):
            log.array("A", shape=())
        assert log.datasets() == []


# --- servers


def test_a_server_that_restarts(postgresql: Any, postgresql_url: str, tmp_path: Path) -> None:
    with wh.open(postgresql_url, blobs=tmp_path / "blobs") as log:
        log.array("A", shape=(4,))
        log.array("B", shape=(4,))
        log.lineage("B", "A", "identity")
        questions: tuple[Callable[[], object], ...] = (
            lambda: log.backward("B", [(0,)], to="A"),
            log.datasets,
            lambda: log.lineage("B", "A", "whole"),
        )
        postgresql.stop()
        for question in questions:
            with pytest.raises(StoreError, match=r"cannot (read|write to) postgresql://"):
                question()
        postgresql.start()
        for question in questions:
            question()
            with wh.open(postgresql_url, blobs=tmp_path / "blobs") as other, other._store.database.read() as connection:
                ending = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                connection.exec_driver_sql(f"{ending} AND backend_type = 'client backend'")
            question()
        report = log.check()
        assert report.ok
        assert report.derivations == 3


def test_servers_that_are_not_there(tmp_path: Path, postgresql: Any) -> None:
    with pytest.raises(StoreError, match=r"cannot open postgresql://ada:.*@127\.0\.0\.1:1/x") as caught:
        wh.open("postgresql://ada:secret@127.0.0.1:1/x", blobs=tmp_path / "blobs")
    assert "secret" not in str(caught.value)
    with pytest.raises(StoreError, match='database "nothing" does not exist'):
        wh.open(postgresql.url.replace("/postgres", "/nothing"), blobs=tmp_path / "blobs")
    with pytest.raises(StoreError, match="say where the blobs are"):
        wh.open(postgresql.url)
    with pytest.raises(StoreError, match="a catalog cannot be in mysql"):
        wh.open("mysql://host/database", blobs=tmp_path / "blobs")
    with pytest.raises(StoreError, match="cannot be read"):
        wh.open("postgresql://host:port/database", blobs=tmp_path / "blobs")


# --- no logs


def test_paths_that_are_no_logs(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("hello")
    with pytest.raises(StoreError, match="is a file, but a log is a directory"):
        wh.open(file)
    with pytest.raises(StoreError, match="cannot open"):
        wh.open(file / "below")
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("...")
    with pytest.raises(StoreError, match=r"is not a log: it holds thesis.tex and no catalog.sqlite"):
        wh.open(other)
    assert [entry.name for entry in other.iterdir()] == ["thesis.tex"]
    with pytest.raises(StoreError, match="there is no log at"):
        wh.open(tmp_path / "nothing", create=False)
    assert not (tmp_path / "nothing").exists()
    with pytest.raises(BadType, match="path or URL"):
        wh.open(3)  # type: ignore[arg-type] # refused on purpose
    with pytest.raises((StoreError, MissingExtra), match="nowhere"):
        wh.open(tmp_path / "log.whence", blobs="nowhere://bucket")


def test_a_catalog_that_is_something_else(tmp_path: Path) -> None:
    path = filled(tmp_path / "log.whence")
    (path / "catalog.sqlite").write_bytes(b"this is not a database, but it is long enough to look like one" * 100)
    with pytest.raises(Damaged, match="restore it from a backup"):
        wh.open(path)
    (path / "catalog.sqlite").unlink()
    with sqlite3.connect(path / "catalog.sqlite") as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    with pytest.raises(StoreError, match="not a log: it has the tables recipes"):
        wh.open(path)


def test_a_lost_catalog_is_not_begun_anew(tmp_path: Path) -> None:
    path = filled(tmp_path / "log.whence")
    blobs = sorted((path / "blobs").rglob("*"))
    assert any(each.is_file() for each in blobs)
    (path / "catalog.sqlite").write_bytes(b"")
    with pytest.raises(Damaged, match=r"catalog.sqlite is empty, but .*blobs has files: restore the catalog"):
        wh.open(path)
    (path / "catalog.sqlite").unlink()
    with pytest.raises(Damaged, match=r"catalog.sqlite is missing, but .*blobs has files: restore the catalog"):
        wh.open(path)
    assert sorted((path / "blobs").rglob("*")) == blobs
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "catalog.sqlite").write_bytes(b"")  # by a process that was killed
    with wh.open(tmp_path / "begun") as log:
        assert log.check().ok


def test_a_damaged_catalog(tmp_path: Path) -> None:
    path = filled(tmp_path / "log.whence")
    with wh.open(path) as log:
        for number in range(200):
            log.array(f"dataset {number}", shape=(number,))
    data = bytearray((path / "catalog.sqlite").read_bytes())
    pages = len(data) // 4096
    assert pages > 20
    data[4096 * (pages - 3) : 4096 * (pages - 1)] = os.urandom(4096 * 2)
    (path / "catalog.sqlite").write_bytes(data)
    with wh.open(path) as log:
        report = log.check()
        assert not report.ok
        assert "from a backup" in str(report)


def test_references_that_lead_nowhere(tmp_path: Path) -> None:
    path = filled(tmp_path / "log.whence")
    with sqlite3.connect(path / "catalog.sqlite") as connection:  # which does not enforce them unless asked to
        connection.execute("DELETE FROM entities WHERE name = 'A'")
    connection.close()
    with wh.open(path) as log:
        report = log.check()
        assert not report.ok
        assert any("refers to a missing row of entities" in problem.what for problem in report)


def test_wh_open_is_the_same(tmp_path: Path) -> None:
    with wh.open(tmp_path / "log.whence") as log:
        assert isinstance(log, wh.Log)
