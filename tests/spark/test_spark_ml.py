"""Fitted transformers and models of `pyspark.ml`: a row's value is the row's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import whence
from whence.spark.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = [(1, "a", 1.0, 2.0), (2, "b", 2.0, 1.0), (3, "a", 3.0, 5.0), (4, "c", 4.5, 2.5)]


def test_a_prediction_comes_from_its_row(spark: SparkSession) -> None:
    from pyspark.ml import Pipeline as Stages
    from pyspark.ml.feature import OneHotEncoder, StandardScaler, StringIndexer, VectorAssembler
    from pyspark.ml.regression import DecisionTreeRegressor, LinearRegression

    spark.createDataFrame(ROWS, "i int, c string, x double, y double").createOrReplaceTempView("seen")
    seen = spark.table("seen")
    stages: list[Any] = [
        StringIndexer(inputCol="c", outputCol="place"),
        OneHotEncoder(inputCols=["place"], outputCols=["hot"]),
        VectorAssembler(inputCols=["x", "hot"], outputCol="both"),
        StandardScaler(inputCol="both", outputCol="features"),
        LinearRegression(labelCol="y", predictionCol="line"),
        DecisionTreeRegressor(labelCol="y", predictionCol="tree", maxDepth=1),
    ]
    p = Pipeline(Stages(stages=stages).fit(seen).transform(seen).select("i", "line", "tree"))
    found = p.backward({"i": 3})
    assert (found.precise, found.reason) == (True, None)
    assert [row["i"] for row in found["seen"].collect()] == [3]
    assert [row["i"] for row in p.forward("seen", {"i": 2}).collect()] == [2]
    assert str(p.columns()["line"]) == "from seen.c, seen.x; through nothing"
    text = p.explain()
    assert "not reproducible" not in text
    for model in ("StringIndexer", "OneHotEncoder", "StandardScaler", "Prediction", "DecisionTreeRegression"):
        assert f"holds the state that a {model}Model learned from the rows it was fitted on" in text


def test_vectors_in_the_output_of_a_run(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.ml.feature import VectorAssembler

    spark.createDataFrame(ROWS, "i int, c string, x double, y double").coalesce(1).write.parquet(str(tmp_path / "seen"))
    seen = spark.read.parquet(str(tmp_path / "seen"))
    both = VectorAssembler(inputCols=["x", "y"], outputCol="both").transform(seen).select("i", "both")
    p = whence.open(tmp_path / "log").pipeline(both)
    for _ in range(2):
        found = p.backward({"i": 3})
        assert (found.precise, found.reason) == (True, None)
        assert [row["i"] for row in found["seen"].collect()] == [3]
        assert [row["i"] for row in p.forward("seen", {"i": 2}).collect()] == [2]
        p.run()
