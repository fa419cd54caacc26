"""Relations made by two workers: one of them is killed, the driver is killed, and nothing half is ever visible."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import whence as wh
from whence.errors import NoLineage
from whence.relation.parts import Directory, publish
from whence.spark import local_session
from whence.spark.scale import compressing, frames, recording
from whence.store.blobs.local import JOB

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MASTER = "local-cluster[2,1,1024]"
SIDE = 6000
ROWS = np.arange(SIDE)
RAW = (np.stack([ROWS, (ROWS * ROWS * 7919 + 17 * ROWS) % SIDE], axis=1), SIDE, SIDE)


class Fatal(Directory):
    """A place where the first part that is written kills the executor that writes it, half-way."""

    def put(self, name: str, data: bytes) -> bool:
        try:
            os.close(os.open(self.path / "killed", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return super().put(name, data)
        (self.path / f".writing-{os.getpid()}-ab").write_bytes(data[: len(data) // 2])
        daemon = os.getppid()
        executor = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(executor, signal.SIGKILL)
        time.sleep(600)
        raise AssertionError("this process ends with its executor")


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
    spark.stop()


def killed_driver(folder: Path) -> None:
    spark = local_session("local[2]", **{"spark.driver.host": "127.0.0.1", "spark.log.level": "OFF"})

    def in_twelve(given: frames.Numbered, out_shape: Any, in_shape: Any, place: Any) -> Any:
        return compressing.on_spark(given, out_shape, in_shape, place, 12)

    def kill() -> None:
        while not any(path.is_file() for path in (folder / "log.whence" / "blobs").glob("??/*")):
            time.sleep(0.005)
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
        assert not log.check().notes
        cells = np.array([[5], [17], [5999]])
        assert log.backward("B", cells, to="A") == whole.backward(cells)
        assert log.forward("A", cells, to="B") == whole.forward(cells)


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
    {"cluster": on_cluster, "driver": killed_driver}[sys.argv[1]](Path(sys.argv[2]))
