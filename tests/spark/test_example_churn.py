"""The churn example: its answers, in both directions, against what changes if a source cell or row is another."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import whence as wh

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def churn() -> Any:
    spec = importlib.util.spec_from_file_location("churn", ROOT / "examples" / "churn" / "churn.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def plainly(churn: Any, spark: SparkSession, folder: Path) -> tuple[Any, Any]:
    """The scores and the report without whence, in pandas from the features on."""
    frame = churn.features(spark, folder).toPandas()
    X = frame[churn.FEATURES].to_numpy(np.float64)
    scores = np.column_stack([frame["id"], churn.by_hand(X), churn.learned(churn.standard(X), X)])
    table = pd.DataFrame(scores[:, 1:], columns=["hand", "model"]).assign(town=frame["town"])
    return scores, table.groupby("town").mean().reset_index()[["town", "hand", "model"]].to_numpy()


def changed(before: Any, after: Any) -> set[tuple[int, int]]:
    return {(int(row), int(column)) for row, column in np.argwhere(before != after)}


def cells(answer: wh.Answer, name: str) -> set[tuple[int, int]]:
    return {(int(row), int(column)) for row, column in answer[name].cells()} if name in answer.reached else set()


def edited(folder: Path, column: str, row: int, change: Callable[[float], float]) -> Callable[[], None]:
    """Change a cell of a file; what undoes it."""
    months = column == "minutes"
    path = folder / ("months.csv" if months else "customers.parquet")
    before = path.read_bytes()
    frame = pd.read_csv(path) if months else pd.read_parquet(path)
    frame.loc[row, column] = change(frame.loc[row, column])
    if months:
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)

    def undo() -> None:
        path.write_bytes(before)

    return undo


def test_answers_are_what_changes(spark: SparkSession, churn: Any, tmp_path: Path) -> None:
    churn.make(tmp_path)
    with wh.open(tmp_path / "churn.whence") as log:
        made = churn.run(tmp_path, spark, log)
        scores, report = plainly(churn, spark, tmp_path)
        assert np.allclose(made["scores"], scores)
        assert [town for town, _, _ in report.tolist()] == list(made["report"])
        assert np.allclose(np.array(report[:, 1:], float), list(made["report"].values()))
        forward: dict[tuple[str, int], wh.Answer] = {}
        for table, row in (("months", 7), ("months", 4), ("customers", 3)):
            forward[table, row] = log.forward(table, [(row, 2)], lineage="value")
        towns = [town for town, _, _ in report.tolist()]
        backward = log.backward("report", {"town": towns[0]}, columns=["hand"], lineage="value")
        assert backward.precise, backward.reason
    for (name, row), answer in forward.items():
        column = "minutes" if name == "months" else "age"
        undo = edited(tmp_path, column, row, lambda value: value * 1.01)
        other, others = plainly(churn, spark, tmp_path)
        undo()
        assert changed(scores, other) <= cells(answer, "scores"), (name, row)
        assert {cell for cell in changed(scores, other) if cell[1] == 1} == {
            cell for cell in cells(answer, "scores") if cell[1] == 1
        }, "the score by hand is of its own row alone"
        assert changed(report, others) <= cells(answer, "report"), (name, row)
        if (0, 1) in changed(report, others):
            place = (row, 2)
            assert place in cells(backward, name)
    assert cells(forward["months", 4], "scores") == set(), "the first month of a customer is in no feature"
