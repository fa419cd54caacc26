"""What a run saves, and answers from it: the same as by carrying ids, without running the pipeline again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import whence as wh
from whence.errors import BadType, Damaged, NoSuchRow, NotTraceable, SourceChanged
from whence.rows.saving import OUTPUT
from whence.spark.pipeline import Pipeline
from whence.spark.running import artifacts, materialize, outputs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

REVENUE = """select region, sum(price) as revenue, count(*) as n
from orders join customers on orders.customer = customers.id where price > 5 group by region"""


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Path:
    """Orders and customers as Parquet: nulls, duplicates, a customer without orders, an order without customer."""
    orders = [(n, n % 7, float(n % 11) * 2) for n in range(60)] + [
        (60, None, 9.0),
        (61, 99, 9.0),
        (3, 3, 6.0),
        (3, 3, 6.0),
    ]
    customers = [(n, f"region {n % 3}", f"name {n}") for n in range(7)] + [
        (7, "region 9", "nobody"),
        (None, "region 0", "x"),
    ]
    spark.createDataFrame(orders, "id int, customer int, price double").coalesce(1).write.parquet(
        str(tmp_path / "orders.parquet")
    )
    spark.createDataFrame(customers, "id int, region string, name string").coalesce(1).write.parquet(
        str(tmp_path / "customers.parquet")
    )
    return tmp_path


@pytest.fixture
def log(tmp_path: Path) -> Iterator[wh.Log]:
    with wh.open(tmp_path / "project.whence") as opened:
        yield opened


def revenue(spark: SparkSession, shop: Path) -> DataFrame:
    for name in ("orders", "customers"):
        spark.read.parquet(str(shop / f"{name}.parquet")).createOrReplaceTempView(name)
    return spark.sql(REVENUE)


def found(answer: Any) -> dict[str, list[str]]:
    return {name: sorted(map(repr, answer.arrow(name).to_pylist())) for name in answer}


def test_answers_from_what_was_saved_are_those_of_eager_mode(spark: SparkSession, shop: Path, log: wh.Log) -> None:
    df = revenue(spark, shop)
    pipeline, eager = log.pipeline(df, name="revenue", save="always"), log.pipeline(df, mode="eager")
    rows = pipeline.run().collect()
    eager.run()
    assert sorted(rows) == sorted(df.collect())
    for row in rows:
        answer = pipeline.backward(row)
        assert answer.how == "saved"
        assert answer.precise
        expected = found(eager.backward(row))
        assert found(answer) == expected
        assert found(pipeline.backward(row, engine="spark")) == expected
        assert found(pipeline.backward({"region": row.region})) == expected, "some of the columns are enough"
    together = pipeline.backward(rows)
    assert found(together) == found(eager.backward(rows))
    identified = together.identified("customers").collect()
    assert sorted(each["_row"] for each in identified) == list(range(7))
    assert identified[0]["_file"].endswith(".parquet")
    for order in ({"id": 3}, {"id": 60}, {"id": 61}, {"id": 12}):
        reached = sorted(map(repr, eager.forward("orders", order).collect()))
        assert sorted(map(repr, pipeline.forward("orders", order).collect())) == reached
        assert sorted(map(repr, pipeline.forward("orders", order, engine="spark").collect())) == reached
    assert (pipeline.backward(rows[0], one=True).rows, together.rows) == (1, 3)
    with pytest.raises(match="3 rows of the output are {revenue"):
        log.pipeline(df.selectExpr("revenue > 0 as positive", "0.5 as revenue")).backward({"revenue": 0.5}, one=True)
    with pytest.raises(NoSuchRow, match="region 9"):
        pipeline.backward({"region": "region 9"})
    with pytest.raises(BadType, match="engine is one of"):
        pipeline.backward(rows[0], engine="pandas")


def test_only_what_is_needed_is_saved_and_said(spark: SparkSession, shop: Path, log: wh.Log) -> None:
    pipeline = log.pipeline(revenue(spark, shop), name="revenue", save="always")
    before = pipeline.explain()
    assert "saved as 1: region, customer" in before or "saved as 1: region, id" in before
    assert "a run saves 1 intermediate result" in before
    assert ":region" in before
    pipeline.run()
    assert pipeline.artifacts is not None
    (saved,) = [result for place, result in pipeline.artifacts.results.items() if place != OUTPUT]
    assert {attr.name for attr in saved.columns} <= {"region", "customer", "id"}
    assert len(saved.paths) == 1
    assert Path(saved.paths[0]).is_relative_to(Path(log.where))
    (run,) = log.runs()
    assert (run.pipeline, set(run.sources)) == ("revenue", set(pipeline.sources))
    assert log.runs("revenue") == [run]
    assert log.runs("another") == []


@pytest.mark.parametrize("save", ["auto", "always"])
def test_a_part_of_a_union_that_the_row_did_not_come_from(
    spark: SparkSession, shop: Path, log: wh.Log, save: str
) -> None:
    revenue(spark, shop)
    df = spark.sql(
        "select region, 0 as level, avg(price) as p from orders join customers on customer = customers.id "
        "group by region union all "
        "select null, 1, avg(price) from orders join customers on customer = customers.id"
    )
    pipeline, eager = log.pipeline(df, name="levels", save=save), log.pipeline(df, mode="eager")
    rows = pipeline.run().collect()
    eager.run()
    for row in rows:
        for engine in ("auto", "spark"):
            answer = pipeline.backward(row, engine=engine)
            assert (answer.how, answer.precise) == ("saved", True)
            assert found(answer) == found(eager.backward(row))
            for name in answer:
                assert answer.identities(name) == eager.backward(row).identities(name)
    assert len(found(pipeline.backward(rows[0]))["orders"]) < len(found(pipeline.backward(rows[-1]))["orders"])


def test_a_place_with_a_name_of_any_kind(
    spark: SparkSession, shop: Path, log: wh.Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / "50% of é #1"
    odd.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(odd))
    pipeline = log.pipeline(revenue(spark, shop), name="revenue", save="always")
    row = pipeline.run().collect()[0]
    assert pipeline.artifacts is not None
    assert not pipeline.artifacts.failures
    assert pipeline.backward(row).how == "saved"


def test_a_later_program_asks_without_running(spark: SparkSession, shop: Path, log: wh.Log) -> None:
    first = log.pipeline(revenue(spark, shop), name="revenue", save="always")
    row = first.run().collect()[0]
    expected = found(first.backward(row))
    again = log.pipeline(revenue(spark, shop))
    answer = again.backward(row)
    assert answer.how == "saved"
    assert found(answer) == expected
    other = log.pipeline(revenue(spark, shop).where("n > 1"))
    assert other.backward(row).how == "replayed"
    assert log.check().ok
    assert log.collect().blobs == 0, "saved results are in use"
    graph = log.graph
    assert any(name.startswith("revenue#") for name in graph.vertices)
    assert {"orders.parquet@v1", "customers.parquet@v1", "orders", "customers", "revenue"} <= set(graph.ids)
    assert log.show("revenue").dataset.shape[0] == 3
    made = log.show("revenue").dataset.properties["column_lineage"]
    assert made["fields"]["revenue"]["inputFields"][0]["name"] == "orders.parquet"


def test_a_saved_result_that_is_damaged_or_gone(spark: SparkSession, shop: Path, log: wh.Log) -> None:
    first = log.pipeline(revenue(spark, shop), name="revenue", save="always")
    row = first.run().collect()[0]
    assert first.artifacts is not None
    (path,) = next(result.paths for place, result in first.artifacts.results.items() if place != OUTPUT)
    whole = Path(path).read_bytes()
    Path(path).write_bytes(whole[:-9] + b"123456789")
    with pytest.raises(Damaged, match="save='never'"):
        log.pipeline(revenue(spark, shop)).backward(row)
    assert not log.check().ok
    Path(path).unlink()
    with pytest.raises(Damaged, match="missing"):
        log.pipeline(revenue(spark, shop)).backward(row)
    assert found(log.pipeline(revenue(spark, shop), save="never").backward(row))
    log.pipeline(revenue(spark, shop), name="revenue", save="always").run()
    assert log.check().ok
    assert log.pipeline(revenue(spark, shop)).backward(row).how == "saved"


def test_a_source_that_changed_is_not_answered_for(spark: SparkSession, shop: Path, log: wh.Log) -> None:
    pipeline = log.pipeline(revenue(spark, shop), name="revenue")
    row = pipeline.run().collect()[0]
    spark.createDataFrame([(1, 1, 50.0)], "id int, customer int, price double").write.mode("append").parquet(
        str(shop / "orders.parquet")
    )
    with pytest.raises(SourceChanged, match="orders"):
        pipeline.backward(row)
    with pytest.raises(SourceChanged, match="orders"):
        pipeline.forward("customers", {"id": 1})
    with pytest.raises(NoSuchRow, match="the source orders has changed"):
        log.pipeline(revenue(spark, shop)).backward(row.asDict() | {"n": 10_000})
    anew = log.pipeline(revenue(spark, shop), name="revenue")
    changed = next(each for each in anew.run().collect() if each.region == row.region)
    assert found(anew.backward(changed))["customers"]


def test_what_cannot_be_saved_never_fails_the_pipeline(
    spark: SparkSession, shop: Path, log: wh.Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    df = revenue(spark, shop)
    expected = sorted(df.collect())
    monkeypatch.setattr(artifacts, "LARGEST", 0)
    pipeline = log.pipeline(df, name="revenue", save="always")
    assert sorted(pipeline.run().collect()) == expected
    assert "could not be saved: it is more than 0 MiB" in pipeline.explain()
    answer = pipeline.backward(expected[0])
    assert answer.how == "replayed"
    assert answer.precise
    monkeypatch.undo()
    eager = log.pipeline(df, mode="eager")
    eager.run()
    assert found(answer) == found(eager.backward(expected[0]))
    monkeypatch.setattr(outputs, "MOST_BYTES", -1)  # the output is too large to be saved, and stays with Spark
    large = log.pipeline(df, name="large", save="always")
    assert sorted(large.run().collect()) == expected
    assert large.backward(expected[0]).how == "saved"
    assert found(large.backward(expected[0])) == found(answer)
    reached = sorted(large.forward("customers", {"id": 2}).collect())
    assert reached == sorted(eager.forward("customers", {"id": 2}).collect())


def test_nor_does_anything_else_that_a_run_adds(
    spark: SparkSession, shop: Path, log: wh.Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise AssertionError("a mistake of whence's own")

    monkeypatch.setattr(materialize, "_compute_output", broken)
    df = revenue(spark, shop)
    p = log.pipeline(df)
    assert sorted(p.run().collect()) == sorted(df.collect())
    assert "a mistake of whence's own" in p.explain()
    assert p.backward({"region": "region 1"}).precise


def test_a_log_that_cannot_be_written_to(spark: SparkSession, shop: Path, tmp_path: Path) -> None:
    log = wh.open(tmp_path / "closed.whence")
    pipeline = log.pipeline(revenue(spark, shop), name="revenue", save="always")
    log.close()
    rows = pipeline.run().collect()
    assert rows
    assert "the run could not be recorded in the log" in pipeline.explain()
    assert pipeline.backward(rows[0]).how == "saved", "for as long as this program runs"


def test_without_saving(spark: SparkSession, shop: Path, log: wh.Log) -> None:
    pipeline = log.pipeline(revenue(spark, shop), save="never")
    rows = pipeline.run().collect()
    assert pipeline.backward(rows[0]).how == "replayed"
    assert not any(name.startswith("pipeline#") for name in log.graph.ids)


def test_predicates_that_duckdb_may_read_differently_go_to_spark(spark: SparkSession, shop: Path) -> None:
    orders = spark.read.parquet(str(shop / "orders.parquet"))
    pipeline = Pipeline(orders.selectExpr("concat(cast(price as string), '!') as label").distinct())
    row = pipeline.run().collect()[0]
    assert found(pipeline.backward(row)) == found(Pipeline(pipeline.analysis.df, save="never").backward(row))
    with pytest.raises(NotTraceable, match="engine='auto'"):
        found(pipeline.backward(row, engine="duckdb"))


def test_results_within_results(spark: SparkSession, shop: Path) -> None:
    """A grouping over a join over a grouping over a join: what is saved below is asked with what is saved above."""
    revenue(spark, shop)
    df = spark.sql(
        """select name, max(total) as best from
        (select customer, sum(o.price) as total from orders o join customers c on o.customer = c.id
         where region <> 'region 1' group by customer, o.id) t
        join customers k on t.customer = k.id group by name"""
    )
    pipeline, eager = Pipeline(df, witness="group"), Pipeline(df, mode="eager", witness="group")
    rows = pipeline.run().collect()
    eager.run()
    assert rows
    for row in rows:
        answer = pipeline.backward(row)
        assert answer.how == "saved"
        assert found(answer) == found(eager.backward(row))
    for customer in (0, 1, 2):
        expected = sorted(map(repr, eager.forward("customers", {"id": customer}).collect()))
        assert sorted(map(repr, pipeline.forward("customers", {"id": customer}).collect())) == expected


def test_temporary_files_go_with_the_pipeline(spark: SparkSession, shop: Path) -> None:
    pipeline = Pipeline(revenue(spark, shop))
    pipeline.run()
    assert pipeline.artifacts is not None
    folder = pipeline.artifacts.held[0].folder  # type: ignore[attr-defined] # of results in files
    assert os.path.isdir(folder)
    del pipeline
    assert not os.path.isdir(folder)


def test_the_last_rows_of_an_order(spark: SparkSession, shop: Path) -> None:
    """Over rows that may be equal, a limit is exact where the order tells its last row from the next one."""
    revenue(spark, shop)
    text = (
        "select price, region from orders join customers on orders.customer = customers.id order by price desc, region"
    )
    eager = Pipeline(spark.sql(f"{text} limit 10"), mode="eager")
    eager.run()
    seen = set()
    for count in (3, 10, 1000):
        pipeline = Pipeline(spark.sql(f"{text} limit {count}"))
        rows = pipeline.run().collect()
        assert rows == pipeline.analysis.df.collect()
        answer = pipeline.backward(rows[0])
        assert found(answer) == found(eager.backward(rows[0])), "the first rows are the same whatever the limit"
        seen.add(answer.how)
        tied = spark.sql(f"{text} limit {count + 1}").collect()[-2:]
        clear = len(rows) < count or tied[0] != tied[1]
        assert answer.how == ("saved" if clear else "replayed")
    assert seen == {"saved", "replayed"}
