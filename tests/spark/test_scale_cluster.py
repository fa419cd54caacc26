"""Relations made by two workers: one of them is killed, the driver is killed, and nothing half is ever visible."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import whence as wh
from whence.errors import NoLineage, SparkFailed
from whence.relation.parts import Directory, publish
from whence.spark import local_session
from whence.spark.scale import compressing, frames, recording
from whence.spark.scale import rows as tasks
from whence.spark.tables.held import held_table
from whence.store.blobs.local import JOB, LocalBlobs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MASTER = "local-cluster[2,1,1024]"
SIDE = 6000
ROWS = np.arange(SIDE)
KEPT = ROWS[ROWS % 5 > 0]
RAW = (np.stack([ROWS, (ROWS * ROWS * 7919 + 17 * ROWS) % SIDE], axis=1), SIDE, SIDE)


class Fatal(Directory):
    """A place where the first part that is written kills the executor that writes it, half-way."""

    def put(self, name: str, data: bytes) -> bool:
        if is_first(self.path / "killed"):
            end_executor(self.path / f".writing-{os.getpid()}-ab", data)
        return super().put(name, data)


class FatalBlobs(LocalBlobs):
    """Blobs where the first file of rows that is written, and the first part, kill the executor, half-way."""

    def __reduce__(self) -> tuple[Any, ...]:
        return FatalBlobs, (self._root,)

    def put(self, name: str, data: bytes) -> bool:
        kind = "rows" if data.startswith((b"PAR1", b"ARROW")) else "parts"
        if is_first(self._root.parent / f"killed-by-{kind}"):
            end_executor(self._root / f".writing-{os.getpid()}-ab", data)
        return super().put(name, data)


class SlowBlobs(LocalBlobs):
    """Blobs where whoever writes the second one waits for ever: a job that writes here never ends by itself."""

    def __reduce__(self) -> tuple[Any, ...]:
        return SlowBlobs, (self._root,)

    def put(self, name: str, data: bytes) -> bool:
        if not is_first(self._root.parent / "begun"):
            time.sleep(600)
        return super().put(name, data)


def is_first(mark: Path) -> bool:
    """Whether nobody was here before."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def end_executor(file: Path, data: bytes) -> None:
    """Leave half a file, and kill the executor that this process works for, and so this process."""
    file.write_bytes(data[: len(data) // 2])
    daemon = os.getppid()
    executor = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(executor, signal.SIGKILL)
    time.sleep(600)
    raise AssertionError("this process ends with its executor")


def in_pieces(spark: SparkSession, pieces: int = 4) -> DataFrame:
    """A pipeline whose rows come from anywhere, by so many tasks."""
    rows = spark.range(0, SIDE, 1, pieces).selectExpr("id", f"(id * id * 7919 + 17 * id) % {SIDE} k")
    return rows.where("id % 5 > 0").repartition(pieces, "k")


def blobs_appear(log: Path) -> None:
    while not any(path.is_file() for path in (log / "blobs").glob("??/*")):
        time.sleep(0.005)


def frame(spark: SparkSession) -> DataFrame:
    """The same tuples, that nobody but executors ever holds."""
    return spark.range(SIDE).selectExpr("id b", f"(id * id * 7919 + 17 * id) % {SIDE} a")


def on_cluster(folder: Path) -> None:
    spark = local_session(
        MASTER,
        **{"spark.driver.host": "127.0.0.1", "spark.executor.memory": "512m", "spark.log.level": "OFF",
           "spark.sql.shuffle.partitions": "2"},
    )  # fmt: skip
    (folder / "parts").mkdir()
    pairs = frames.numbered(frame(spark), (SIDE,), (SIDE,))
    made = compressing.on_spark(pairs, (SIDE,), (SIDE,), Fatal(folder / "parts"), partitions=4)
    assert isinstance(made, list)
    publish(folder / "parts", (SIDE,), (SIDE,), made)
    with pytest.MonkeyPatch.context() as patch, wh.open(folder / "log.whence") as log:
        patch.setattr(recording, "LOCAL", 0)
        log.array("A", SIDE)
        log.array("B", SIDE)
        log.lineage("B", "A", frame(spark))
        patch.setattr(log._store, "blobs", FatalBlobs(folder / "log.whence" / "blobs"))
        patch.setattr(tasks, "PART", 500)
        log.pipeline(in_pieces(spark), name="dealt").materialize(engine="spark")
    spark.stop()


def killed_materializing(folder: Path) -> None:
    spark = local_session("local[2]", **{"spark.driver.host": "127.0.0.1", "spark.log.level": "OFF"})

    def kill() -> None:
        blobs_appear(folder / "log.whence")
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.MonkeyPatch.context() as patch, wh.open(folder / "log.whence") as log:
        patch.setattr(log._store, "blobs", SlowBlobs(folder / "log.whence" / "blobs"))
        threading.Thread(target=kill, daemon=True).start()
        log.pipeline(in_pieces(spark, 6), name="dealt").materialize(engine="spark")


def stopped(folder: Path) -> None:
    """The session ends while tasks write, twice; what the errors say is printed."""
    print(stopped_while(folder / "lineage", lambda log, spark: log.lineage("B", "A", frame(spark))))
    print(stopped_while(
        folder / "materialize",
        lambda log, spark: log.pipeline(in_pieces(spark, 6), name="dealt").materialize(engine="spark"),
    ))  # fmt: skip


def stopped_while(folder: Path, work: Callable[[wh.Log, SparkSession], object]) -> str:
    spark = local_session("local[2]", **{"spark.driver.host": "127.0.0.1", "spark.log.level": "OFF"})
    path = folder / "log.whence"
    folder.mkdir()

    def stop() -> None:
        blobs_appear(path)
        spark.stop()

    with pytest.MonkeyPatch.context() as patch, wh.open(path) as log:
        log.array("A", SIDE)
        log.array("B", SIDE)
        patch.setattr(recording, "LOCAL", 0)
        patch.setattr(recording, "on_spark", in_twelve)
        patch.setattr(log._store, "blobs", SlowBlobs(path / "blobs"))
        stopping = threading.Thread(target=stop, daemon=True)
        stopping.start()
        with pytest.raises(SparkFailed) as caught:
            work(log, spark)
        stopping.join()  # the next session must not meet this one
    return str(caught.value)


def in_twelve(given: frames.Numbered, out_shape: Any, in_shape: Any, place: Any, **more: Any) -> Any:
    return compressing.on_spark(given, out_shape, in_shape, place, 12, **more)


def killed_driver(folder: Path) -> None:
    spark = local_session("local[2]", **{"spark.driver.host": "127.0.0.1", "spark.log.level": "OFF"})

    def kill() -> None:
        blobs_appear(folder / "log.whence")
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.MonkeyPatch.context() as patch, wh.open(folder / "log.whence") as log:
        patch.setattr(recording, "LOCAL", 0)
        patch.setattr(recording, "on_spark", in_twelve)
        log.array("A", SIDE)
        log.array("B", SIDE)
        threading.Thread(target=kill, daemon=True).start()
        log.lineage("B", "A", frame(spark))


def run(what: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, __file__, what, str(folder)],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        cwd=folder,  # a cluster leaves a directory of its work behind
    )


def test_a_worker_is_killed_and_the_log_is_read_without_spark(tmp_path: Path) -> None:
    done = run("cluster", tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    whole = wh.compress(*RAW)
    found = wh.Relation.load(tmp_path / "parts")
    found.verify()
    assert found == whole
    names = {path.name for path in (tmp_path / "parts").iterdir()}
    assert "killed" in names
    assert not [name for name in names if name.startswith(".writing-")]
    assert len(names) == len(found.index.entries) + 2  # type: ignore[attr-defined]  # it has parts
    with wh.open(tmp_path / "log.whence") as log:
        assert log.check().ok
        cells = np.array([[5], [17], [5999]])
        assert log.backward("B", cells, to="A") == whole.backward(cells)
        assert log.forward("A", cells, to="B") == whole.forward(cells)
        assert {path.name for path in tmp_path.glob("log.whence/killed-*")} == {"killed-by-rows", "killed-by-parts"}
        dealt = held_table(log._store, "dealt").arrow(np.arange(len(KEPT)))
        assert sorted(dealt.column("id").to_pylist()) == KEPT.tolist()
        for row in (0, 17, len(KEPT) - 1):
            (rows,) = log.backward("dealt", f"{row},0:2").values()
            assert rows.along(0).tolist() == [dealt.column("id")[row].as_py()]
        leftover_is_collected(log, tmp_path / "log.whence" / "blobs")
        assert log.backward("B", cells, to="A") == whole.backward(cells)
        assert log.backward("dealt", "17,0:2")


def leftover_is_collected(log: wh.Log, blobs: Path) -> None:
    """What a job left is no problem, and is gone when it is too old to be still at work."""
    assert log.check().ok
    for path in [*blobs.glob(f"{JOB}*"), *blobs.glob("**/.writing-*")]:
        os.utime(path, (0, 0))
    log.collect()
    assert not log.check().notes


def test_the_driver_is_killed_while_it_materializes(tmp_path: Path) -> None:
    done = run("materializing", tmp_path)
    assert done.returncode == -signal.SIGKILL, done.stderr[-3000:]
    with wh.open(tmp_path / "log.whence") as log:
        report = log.check()
        assert report.ok, str(report)
        assert not log.runs()
        assert not log.datasets()
        blobs = tmp_path / "log.whence" / "blobs"
        before = [path for path in blobs.glob("??/*") if path.is_file()]
        assert before
        log.collect()  # the job may still be at work
        assert all(path.exists() for path in before)
        leftover_is_collected(log, blobs)
        assert not [path for path in blobs.glob("**/*") if path.is_file() and path.name != "LOG"]


def test_the_session_stops_half_way(tmp_path: Path) -> None:
    done = run("stopped", tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    lineage, materialize = done.stdout.splitlines()
    again = "the Spark session was stopped; nothing was stored, run it again"
    assert lineage == f"the lineage of 'B' from 'A': compressing: {again}"
    assert materialize == f"materializing: {again}"
    for turn in ("lineage", "materialize"):
        with wh.open(tmp_path / turn / "log.whence") as log:
            assert log.check().ok
            assert not log.runs()
            with pytest.raises(NoLineage):
                log.backward("B", [(5,)], to="A")
            leftover_is_collected(log, tmp_path / turn / "log.whence" / "blobs")
            assert not list((tmp_path / turn / "log.whence" / "blobs").glob("??/*"))


def test_the_driver_is_killed(tmp_path: Path) -> None:
    done = run("driver", tmp_path)
    assert done.returncode == -signal.SIGKILL, done.stderr[-3000:]
    with wh.open(tmp_path / "log.whence") as log:
        report = log.check()
        assert report.ok, str(report)
        with pytest.raises(NoLineage):
            log.backward("B", [(5,)], to="A")
        blobs = tmp_path / "log.whence" / "blobs"
        (mark,) = blobs.glob(f"{JOB}*")
        before = [path for path in blobs.glob("??/*") if path.is_file()]
        assert before
        log.collect()  # the job may still be at work: what it wrote stays
        assert all(path.exists() for path in before)
        for path in [mark, *blobs.glob("??/.writing-*")]:
            os.utime(path, (0, 0))
        log.collect()
        assert not [path for path in blobs.glob("**/*") if path.is_file() and path.name != "LOG"]
        assert not log.check().notes


if __name__ == "__main__":
    scenes = {
        "cluster": on_cluster, "driver": killed_driver, "materializing": killed_materializing, "stopped": stopped,
    }  # fmt: skip
    scenes[sys.argv[1]](Path(sys.argv[2]))
