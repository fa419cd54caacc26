"""Chains that something happened to: answers say what is known and what is not, and nothing is guessed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import whence as wh
from whence.errors import BadType, Damaged, FutureVersion, OutOfRange, SourceChanged, UnknownName
from whence.testing.stored import written_over

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

AMOUNTS = [10.5, 3.25, 7.0, 100.0, 12.0, 8.0, 1.0]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[wh.Log]:
    with wh.open(tmp_path / "project.whence") as made:
        yield made


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    path = tmp_path / "orders.parquet"
    pd.DataFrame({"customer": [0, 2, 2, 5, 1, 4, 9], "amount": AMOUNTS}).to_parquet(path)
    return path


def large(spark: SparkSession, orders: Path, least: float = 5.0) -> DataFrame:
    return spark.read.parquet(str(orders)).where(f"amount > {least}")


def doubled(log: wh.Log, values: Any, name: str = "doubled") -> Any:
    return log.track(lambda x: x * 2, name=f"{name} call", names={"return": name})(values)


def rows(selection: Any) -> list[int]:
    return sorted({int(row) for row, _ in selection.cells()})


# --- data that changed


@pytest.mark.parametrize("later", [False, True])
def test_a_source_that_changed_after_the_hand_over(spark: SparkSession, orders: Path, log: wh.Log, later: bool) -> None:
    doubled(log, log.pipeline(large(spark, orders), name="large").to_numpy(["amount"], name="X"))
    before = log.backward("doubled", "1,0")
    assert rows(before["orders"]) == [2]
    pd.DataFrame({"customer": [7], "amount": [50.0]}).to_parquet(orders)
    with wh.open(log.where) if later else _same(log) as asked:
        with pytest.raises(SourceChanged, match="orders.*changed"):
            asked.backward("doubled", "1,0")
        assert asked.backward("doubled", "1,0", to="large").cells().tolist() == [[1, 1]], "up to there it is known"
        with pytest.raises(SourceChanged, match="orders.*changed"):
            asked.forward("orders", "0,0:2")


def test_an_array_that_changed_after_the_hand_over(spark: SparkSession, orders: Path, log: wh.Log) -> None:
    values = log.pipeline(large(spark, orders), name="large").to_numpy(["amount"], name="X")
    values += 1
    doubled(log, values)
    found = log.backward("doubled", "1,0")
    assert "orders" not in found.reached or not found.precise
    assert any("changed" in each for each in found.notes), found.notes


def test_a_frame_that_changed_after_the_hand_over(spark: SparkSession, orders: Path, log: wh.Log) -> None:
    pipeline = log.pipeline(large(spark, orders), name="large")
    frame = pipeline.to_pandas("frame")
    frame = frame.sort_values("amount", ignore_index=True)
    log.to_spark(frame, spark, name="sorted")
    found = log.backward("sorted", "0,0:2")
    assert rows(found["orders"]) == [2], "the least amount"
    assert not found.precise, "the rows are recognised by their content"
    log.to_spark(pipeline.to_pandas("frame"), spark, name="plain")
    assert rows(log.backward("plain", "1,0:2")["orders"]) == [2]


# --- the same and not the same


def test_an_unordered_frame_that_is_handed_over_twice(spark: SparkSession, orders: Path, log: wh.Log) -> None:
    with log.capture():
        for seed in (1, 2):
            mixed = large(spark, orders).repartition(3, "amount" if seed == 1 else "customer")
            frame: Any = mixed.drop("customer").toPandas()
            values = frame[["amount"]].to_numpy()
            doubled(log, values, f"doubled{seed}")
            found = [rows(log.backward(f"doubled{seed}", [(at, 0)])["orders"]) for at in range(len(values))]
            assert [AMOUNTS[each] for (each,) in found] == values[:, 0].tolist()


def test_two_datasets_with_equal_content(spark: SparkSession, orders: Path, log: wh.Log) -> None:
    other = orders.with_name("others.parquet")
    other.write_bytes(orders.read_bytes())
    one = log.pipeline(large(spark, orders), name="one").to_numpy(["amount"], name="X")
    two = log.pipeline(large(spark, other), name="two").to_numpy(["amount"], name="Y")
    assert one.tolist() == two.tolist()
    doubled(log, one, "first")
    doubled(log, two, "second")
    first, second = log.backward("first", "1,0"), log.backward("second", "1,0")
    assert (rows(first["orders"]), "others" in first.reached) == ([2], False)
    assert (rows(second["others"]), "orders" in second.reached) == ([2], False)
    doubled(log, one.copy(), "third")
    third = log.backward("third", "1,0")
    assert not {"orders", "others"} & set(third.reached), "it may be a copy of any of them"
    frames = [log.pipeline(large(spark, path), name=f"f{at}").to_pandas() for at, path in enumerate((orders, other))]
    for at, name in enumerate(("orders", "others")):
        log.to_spark(frames[at], spark, name=f"back{at}")
        reached = log.backward(f"back{at}", "1,0:2")
        assert set(reached.reached) & {"orders", "others"} == {name}


# --- what is not there


@pytest.mark.parametrize("later", [False, True])
def test_a_source_file_that_is_gone(spark: SparkSession, orders: Path, log: wh.Log, later: bool) -> None:
    doubled(log, log.pipeline(large(spark, orders), name="large").to_numpy(["amount"], name="X"))
    orders.unlink()
    with wh.open(log.where) if later else _same(log) as asked:
        with pytest.raises(SourceChanged, match="gone|changed|no longer"):
            asked.backward("doubled", "1,0")
        assert asked.backward("doubled", "1,0", to="large").count == 1


def test_a_log_that_lacks_a_step_in_the_middle(spark: SparkSession, orders: Path, log: wh.Log) -> None:
    values = doubled(log, log.pipeline(large(spark, orders), name="large").to_numpy(["amount"], name="X"))
    again = log.to_spark(values, spark, name="again", columns=["amount"])
    log.pipeline(again.where("amount > 20"), name="report").run()
    assert rows(log.backward("report", "0,0")["orders"]) == [0]
    log.delete("doubled", force=True)
    back, forth = log.backward("report", "0,0"), log.forward("orders", "0,0:2")
    assert "orders" not in back.reached
    assert "report" not in forth.reached
    for each in (back, forth):
        assert not each.precise
        assert "'doubled'" in str(each.reason)


def test_columns_that_do_not_exist(spark: SparkSession, orders: Path, log: wh.Log) -> None:
    pipeline = log.pipeline(large(spark, orders), name="large")
    doubled(log, pipeline.to_numpy(["amount"], name="X"))
    with wh.open(log.where) as later:
        for ask in (
            lambda: later.backward("large", None, columns=["price"]),
            lambda: later.forward("orders", {"price": 3}),
            lambda: later.forward("orders", {"amount": 7.0}, columns=["price"]),
            lambda: pipeline.backward({"amount": 7.0}, columns=["price"]),
            lambda: pipeline.forward("orders", {"amount": 7.0}, columns=["price"]),
            lambda: pipeline.to_numpy(["price"]),
        ):
            with pytest.raises(UnknownName, match="'price'.*(amount|customer)"):
                ask()
        with pytest.raises(OutOfRange, match="axis 1 has the indices 0 to 1"):
            later.backward("large", "0,2")


def test_a_frame_that_spark_cannot_type(spark: SparkSession, log: wh.Log) -> None:
    with pytest.raises(BadType, match="column 'k'.*astype"):
        log.to_spark(pd.DataFrame({"k": [None, None], "v": [1, 2]}), spark)
    assert log.to_spark(pd.DataFrame({"k": [None, None]}).astype({"k": "string"}), spark, name="a").dtypes == [
        ("k", "string")
    ]
    empty = log.to_spark(np.empty((0, 2)), spark, name="b")
    assert empty.dtypes == [("c0", "double"), ("c1", "double")]
    assert log.pipeline(empty, name="none").to_numpy(name="N").shape == (0, 2)


# --- a chain that meets itself


def test_a_chain_that_goes_on_under_the_names_of_its_beginning(spark: SparkSession, orders: Path, log: wh.Log) -> None:
    """What is handed back under a name that is there already is another version, and does not come from itself."""
    values = doubled(log, log.pipeline(large(spark, orders), name="large").to_numpy(["amount"], name="X"))
    again = log.to_spark(values, spark, name="orders", columns=["amount"])
    doubled(log, log.pipeline(again.where("amount > 15"), name="large").to_numpy(["amount"], name="X"))
    found = log.backward("doubled", "0,0")
    assert {name: rows(cells) for name, cells in found.reached.items() if cells.shape} == {
        "doubled@v2": [0], "X@v2": [0], "large@v2": [0], "orders@v2": [0],
        "doubled@v1": [0], "X@v1": [0], "large@v1": [0], "orders@v1": [0],
    }  # fmt: skip
    assert found.precise, found.reason
    assert rows(log.forward("orders@v1", "3,0:2")["doubled@v2"]) == [1]
    assert log.check().ok


def test_two_pipelines_of_one_name_whose_outputs_are_equal(spark: SparkSession, orders: Path, log: wh.Log) -> None:
    """They are two versions: equal rows of another plan have another lineage."""
    for least, wanted in (("customer < 2", [0, 4]), ("customer between 4 and 5", [3, 5])):
        counted = spark.read.parquet(str(orders)).where(least).groupBy().count()
        log.pipeline(counted, name="count").to_numpy(name="N")
        assert rows(log.backward("N", "0,0")["orders"]) == wanted
    assert rows(log.backward("count@v1", "0,0")["orders"]) == [0, 4]


def test_a_run_that_is_materialized_stays_so(spark: SparkSession, orders: Path, log: wh.Log) -> None:
    """Handing it over again, or running it again, adds nothing that would have to be asked."""
    pipeline = log.pipeline(large(spark, orders), name="large")
    pipeline.materialize()
    pipeline.to_numpy(["amount"], name="X")
    log.pipeline(large(spark, orders), name="large").to_pandas("frame")
    assert [each.kind for each in log.show("large").derived_from] == ["rows"]


def test_a_run_that_is_made_again_is_asked_once(spark: SparkSession, orders: Path, log: wh.Log) -> None:
    for _ in range(2):
        log.pipeline(large(spark, orders), name="large").run()
    (edge,) = [each for each in log.show("large").derived_from if each.input == "orders"]
    assert edge.kind == "run"
    assert len(log.backward("large", "1,0:2").steps) == 2, "the table, and the file that holds it"


# --- stored plans


def _hostile(document: dict[str, Any]) -> dict[str, Any]:
    nodes = [{**document["plan"]["nodes"][0], "node": "__import__('os').mkdir('hacked')"}]
    return {**document, "plan": {**document["plan"], "nodes": [*nodes, *document["plan"]["nodes"][1:]]}}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda document: {**document, "version": 2}, FutureVersion, "newer whence"),
        (lambda document: {**document, "plan": {**document["plan"], "nodes": []}}, Damaged, "earlier node"),
        (_hostile, Damaged, "__import__"),
    ],
    ids=["newer", "damaged", "hostile"],
)
def test_a_stored_plan_that_is_newer_damaged_or_hostile(
    spark: SparkSession, orders: Path, log: wh.Log, change: Any, error: Any, message: str
) -> None:
    doubled(log, log.pipeline(large(spark, orders), name="large").to_numpy(["amount"], name="X"))
    written_over(log, change)
    with wh.open(log.where) as later:
        with pytest.raises(error, match=message):
            later.backward("doubled", "1,0")
        with pytest.raises(error, match=message):
            later.forward("orders", "1,0")
        assert later.backward("doubled", "1,0", to="large").count == 1, "up to there nothing is read"
    assert not Path("hacked").exists()


# --- a session that is stopped

STOPPED = """
import sys
import numpy as np
import whence as wh
from whence.errors import BadType, SparkFailed
from whence.spark import local_session
spark = local_session("local[1]", **{"spark.ui.enabled": "false", "spark.log.level": "ERROR"})
with wh.open(sys.argv[1]) as log:
    pipeline = log.pipeline(spark.read.parquet(sys.argv[2]).where("amount > 5"), name="large")
    other = log.pipeline(spark.read.parquet(sys.argv[2]).where("amount > 7"), name="never run")
    values = pipeline.to_numpy(["amount"], name="X")
    log.track(lambda x: x * 2, names={"return": "doubled"})(values)
    spark.stop()
    found = log.backward("doubled", "1,0", lineage="value")
    assert found["orders"].cells().tolist() == [[2, 1]], found
    assert found.precise, found.reason
    assert log.forward("orders", {"amount": 7.0})["doubled"].cells().tolist() == [[1, 0]]
    for ask in (other.run, pipeline.run, pipeline.materialize, lambda: pipeline.to_numpy(["amount"])):
        try:
            ask()
        except SparkFailed as error:
            assert "was stopped: start one" in str(error), error
        else:
            raise AssertionError(ask)
    try:
        log.to_spark(values, spark)
    except BadType as error:
        assert "was stopped" in str(error), error
    else:
        raise AssertionError("to_spark")
    assert log.check().ok
"""


def test_a_session_that_is_stopped_half_way(orders: Path, tmp_path: Path) -> None:
    """What was run is known; what was not says what it takes."""
    given = [sys.executable, "-c", STOPPED, str(tmp_path / "a.whence"), str(orders)]
    done = subprocess.run(given, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


class _same:
    """A log that stays open."""

    def __init__(self, log: wh.Log) -> None:
        self._log = log

    def __enter__(self) -> wh.Log:
        return self._log

    def __exit__(self, *_: object) -> None:
        pass
