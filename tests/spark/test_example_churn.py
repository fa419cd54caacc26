"""The churn example: its answers, in both directions, against what changes if a source cell or row is another.

Also as two programs that share a log, with git and `whence run` around them, and on a cluster that loses a worker.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import whence as wh
from whence.spark import local_session

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

Cells = set[tuple[int, int]]
ROOT = Path(__file__).parents[2]
MASTER = "local-cluster[2,1,1024]"
QUICK = {  # queries over a few rows: compiling them would take most of the time
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


def example() -> Any:
    spec = importlib.util.spec_from_file_location("churn", ROOT / "examples" / "churn" / "churn.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def churn() -> Any:
    return example()


def plainly(churn: Any, spark: SparkSession, folder: Path) -> tuple[pd.DataFrame, Any, pd.DataFrame]:
    """The scores by customer, the heat map and the report by town without whence, in pandas from the features on."""
    frame = churn.features(spark, folder).toPandas()
    X = frame[churn.FEATURES].to_numpy(np.float64)
    hand, model = churn.by_hand(X), churn.learned(churn.standard(X), X)
    scores = pd.DataFrame({"id": frame["id"], "hand": hand, "model": model})
    heat = churn.heat_map(hand) if len(hand) == churn.CUSTOMERS else None
    by_town = scores.assign(town=frame["town"]).groupby("town")[["hand", "model"]].mean()
    return scores.set_index("id", drop=False), heat, by_town


def changed(before: pd.DataFrame, after: pd.DataFrame) -> Cells:
    """The cells of a table that are others now; those of a row that is gone are."""
    there = after.reindex(before.index)
    return {(int(row), int(column)) for row, column in np.argwhere(before.to_numpy() != there.to_numpy())}


def cells(answer: wh.Answer, name: str) -> Cells:
    return {(int(row), int(column)) for row, column in answer[name].cells()} if name in answer.reached else set()


def by_hand(found: Cells, column: int) -> Cells:
    return {cell for cell in found if cell[1] == column}


def edited(folder: Path, table: str, edit: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[], None]:
    """Change a file; what undoes it."""
    path = folder / ("months.csv" if table == "months" else "customers.parquet")
    before = path.read_bytes()
    frame = edit(pd.read_csv(path) if table == "months" else pd.read_parquet(path))
    if table == "months":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)

    def undo() -> None:
        path.write_bytes(before)

    return undo


def another(column: str, row: int) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def edit(frame: pd.DataFrame) -> pd.DataFrame:
        frame.loc[row, column] = frame.loc[row, column] * 1.01
        return frame

    return edit


def test_answers_are_what_changes(spark: SparkSession, churn: Any, tmp_path: Path) -> None:
    churn.make(tmp_path)
    of_cells = [("months", 4), ("months", 6), ("months", 31), ("customers", 3)]  # each costs a run of the whole chain
    of_rows = [("months", 4), ("months", 7), ("customers", 3)]
    with wh.open(tmp_path / "churn.whence") as log:
        made = churn.run(tmp_path, spark, log)
        scores, heat, report = plainly(churn, spark, tmp_path)
        assert np.allclose(made["scores"], scores)
        assert np.allclose(made["heat"], heat)
        assert list(report.index) == list(made["report"])
        assert np.allclose(report, list(made["report"].values()))
        forward = {each: log.forward(each[0], [(each[1], 2)], lineage="value") for each in of_cells}
        removal = {(name, row): log.forward(name, f"{row},:") for name, row in of_rows}
        backward = {
            town: log.backward("report", {"town": town}, columns=["hand"], lineage="value") for town in report.index
        }
        assert all(answer.precise for answer in backward.values()), "a score by hand is followed cell by cell"
        pixel = log.backward("heat", "31,0", lineage="value")
        assert pixel.precise, pixel.reason
    assert cells(pixel, "months") == {(18 * 4 + month, 2) for month in (2, 3)}, "of the customer that the tile is of"
    for (name, row), answer in forward.items():
        undo = edited(tmp_path, name, another("minutes" if name == "months" else "age", row))
        others, other_heat, towns = plainly(churn, spark, tmp_path)
        undo()
        assert changed(scores, others) <= cells(answer, "scores"), (name, row)
        assert by_hand(changed(scores, others), 1) == by_hand(cells(answer, "scores"), 1), "it is of its own row alone"
        pixels = {(int(i), int(j)) for i, j in np.argwhere(heat != other_heat)}
        assert pixels == cells(answer, "heat"), (name, row)
        moved = {(row, column + 1) for row, column in changed(report, towns)}
        assert moved <= cells(answer, "report"), (name, row)
        assert by_hand(moved, 1) == by_hand(cells(answer, "report"), 1)
        for place, town in enumerate(report.index):
            assert ((place, 1) in moved) == ((row, 2) in cells(backward[town], name)), "both directions say the same"
    assert cells(forward["months", 4], "scores") == set(), "the first month of a customer is in no feature"
    for (name, row), answer in removal.items():
        undo = edited(tmp_path, name, lambda frame, row=row: frame.drop(index=row))  # type: ignore[misc]  # a lambda's default has no type
        others, _, towns = plainly(churn, spark, tmp_path)
        undo()
        assert changed(scores, others) <= cells(answer, "scores"), (name, row)
        assert {(row, column + 1) for row, column in changed(report, towns)} <= cells(answer, "report"), (name, row)
    assert cells(removal["months", 4], "scores") == set()
    assert (0, 0) not in cells(removal["customers", 3], "scores"), "the number of another customer stays"


def test_two_programs_with_git_and_whence_run(tmp_path: Path) -> None:
    """From a number of the report to the commit, in a third program that has neither Spark nor the first two."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    (tmp_path / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in QUICK.items()))
    done = subprocess.run(
        ["sh", str(ROOT / "examples" / "churn" / "churn.sh"), str(tmp_path / "churn")],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        env={
            **os.environ,
            "PATH": path,
            "GIT_AUTHOR_NAME": "Ann",
            "GIT_AUTHOR_EMAIL": "ann@example.org",
            "SPARK_CONF_DIR": str(tmp_path),
        },
    )
    assert done.returncode == 0, done.stderr[-3000:]
    folder = tmp_path / "churn"
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()
    with wh.open(folder / "churn.whence") as log:
        answer = log.backward("report", {"town": "Oslo"}, columns=["hand"], lineage="value")
        assert answer.precise, answer.reason
        assert {"X", "features", "months", "months.csv@v1"} <= {*answer.reached}
        assert {"np.load", "by_hand", "features"} <= {str(step.activity).partition("#")[0] for step in answer.steps}
        customers = pd.read_parquet(folder / "customers.parquet")
        ours = customers.index[customers["city"].str.strip().str.title() == "Oslo"]
        assert cells(answer, "months") == {(4 * each + month, 2) for each in ours for month in (2, 3)}
        assert cells(answer, "customers") == set(), "it is computed from the minutes alone"
        whole = log.backward("report", {"town": "Oslo"}, columns=["hand"])
        assert set(whole["customers"].along(0).tolist()) >= set(ours)
        assert commit in answer.commits
        assert any("Ann" in each for each in answer.people), answer.people
        assert log.backward("heat.png", "()")["months"], "the picture, too"
        assert log.check().ok
    assert commit[:7] in (folder / "story.html").read_text()
    report = (folder / "erasure.html").read_text()
    assert "report.csv" in report
    assert "recompute" in report


# --- a cluster


def answers(churn: Any, folder: Path, spark: SparkSession) -> dict[str, Any]:
    churn.make(folder)
    with wh.open(folder / "churn.whence") as log:
        made = churn.run(folder, spark, log)
        backward = log.backward("report", {"town": "Oslo"}, columns=["hand"])
        forward = log.forward("customers", {"id": 7})
        return {
            "report": {town: [round(each, 9) for each in both] for town, both in made["report"].items()},
            "backward": {name: backward[name].cells().tolist() for name in ("customers", "months", "X")},
            "forward": {name: forward[name].cells().tolist() for name in ("scores", "report", "heat")},
            "precise": [backward.precise, forward.precise],
            "check": log.check().ok,
        }


def executors() -> list[int]:
    """The executors of a cluster that this process started."""
    parents, found = {}, []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if b"CoarseGrainedExecutorBackend" in (path / "cmdline").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue

    def ours(number: int) -> bool:
        while number > 1 and number != os.getpid():
            number = parents.get(number, 0)
        return number == os.getpid()

    return sorted(filter(ours, found))


def main(folder: Path) -> None:
    settings = {"spark.driver.host": "127.0.0.1", "spark.executor.memory": "512m", "spark.log.level": "OFF",
                "spark.sql.shuffle.partitions": "2", **QUICK}  # fmt: skip
    spark = local_session(MASTER, **settings)
    spark.range(100).repartition(4).count()  # both workers are there
    before, killed = executors(), []

    def kill() -> None:
        tracker = spark.sparkContext.statusTracker()
        while not tracker.getActiveStageIds():
            time.sleep(0.01)
        killed.append(before[0])
        os.kill(before[0], signal.SIGKILL)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    found = answers(example(), folder, spark)
    thread.join(60)
    print(json.dumps({**found, "executors": len(before), "killed": len(killed)}))
    spark.stop()


def test_a_cluster_that_loses_a_worker(spark: SparkSession, churn: Any, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "here").mkdir()
    done = subprocess.run(
        [sys.executable, __file__, str(tmp_path / "there")],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        cwd=tmp_path,  # a cluster leaves a directory of its work behind
    )
    assert done.returncode == 0, done.stderr[-3000:]
    there = json.loads(done.stdout.splitlines()[-1])
    assert (there.pop("executors"), there.pop("killed")) == (2, 1)
    assert there == answers(churn, tmp_path / "here", spark)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
