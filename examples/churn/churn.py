"""Who will leave? Files, Spark, NumPy, scikit-learn and a report, and one question from a number in it to the files.

    python examples/churn/churn.py [FOLDER]             all of it, and a question in both directions
    python examples/churn/churn.py FOLDER prepare       a first program: from the files to features
    python examples/churn/churn.py FOLDER score         a second one: from the features to the report and a heat map

Customers are a Parquet file, their months a CSV file. Spark cleans, joins and computes features with windows; they are
handed over to NumPy; a model of scikit-learn and one written by hand score every customer; the scores become a heat map
and go back to Spark for a report. Nothing here is written for lineage but the calls of `log`. `churn.sh` has git and
`whence run` around the two programs, which share one log.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import whence as wh
from whence.spark import local_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CUSTOMERS, MONTHS = 24, 4
TILES, SIDE = (4, 6), 8  # of the heat map: a tile for each customer, so many pixels wide
FEATURES = ["age", "recent", "trend"]


def make(folder: Path, seed: int = 5) -> None:
    """The files: customers.parquet, with one row each, and months.csv, with one row for each customer and month."""
    import pandas as pd

    random = np.random.default_rng(seed)
    ids = np.arange(CUSTOMERS)
    cities = random.choice(["Oslo", " oslo", "Bergen", "TROMSØ"], CUSTOMERS)
    customers = {"id": ids, "city": cities, "age": random.uniform(18, 80, CUSTOMERS).round(2)}
    pd.DataFrame(customers).to_parquet(folder / "customers.parquet")
    months = [(each, month, round(float(random.gamma(2, 20)), 2)) for each in ids for month in range(MONTHS)]
    pd.DataFrame(months, columns=["customer", "month", "minutes"]).to_csv(folder / "months.csv", index=False)


def features(spark: SparkSession, folder: Path) -> DataFrame:
    """A row for each customer: the age, the minutes of the last two months, and how they changed."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    clean = F.udf(lambda city: None if city is None else city.strip().title(), "string")
    customers = spark.read.parquet(str(folder / "customers.parquet")).withColumn("town", clean("city"))
    months = spark.read.csv(str(folder / "months.csv"), header=True, schema="customer long, month int, minutes double")
    order = Window.partitionBy("customer").orderBy("month")
    recent = months.withColumn("recent", F.avg("minutes").over(order.rowsBetween(-1, 0)))
    recent = recent.withColumn("trend", F.col("minutes") - F.lag("minutes").over(order)).where(f"month = {MONTHS - 1}")
    joined = customers.join(recent, customers["id"] == recent["customer"])
    return joined.select("id", "town", "age", "recent", "trend").orderBy("id")


def standard(X: Any) -> Any:
    """Each column with mean 0 and deviation 1."""
    return (X - X.mean(axis=0)) / X.std(axis=0)


def by_hand(X: Any) -> Any:
    """A score of each row alone: few minutes, and fewer than before."""
    return 1 / (1 + np.exp(0.05 * X[:, 1] + 0.08 * X[:, 2] - 2))


def learned(Z: Any, X: Any) -> Any:
    """What a model of scikit-learn, fitted on all rows, says of each."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit(Z, X[:, 2] < 0)
    return model.predict_proba(Z)[:, 1]


def heat_map(hand: Any) -> Any:
    """The scores as an image: a tile for each customer."""
    return np.repeat(np.repeat(hand.reshape(TILES), SIDE, axis=0), SIDE, axis=1)


def report(scored: DataFrame, customers: DataFrame) -> DataFrame:
    """The mean score of each town, by both models."""
    from pyspark.sql import functions as F

    joined = scored.join(customers, scored["id"] == customers["id"])
    return joined.groupBy("town").agg(F.avg("hand").alias("hand"), F.avg("model").alias("model")).orderBy("town")


def prepare(folder: Path, spark: SparkSession, log: wh.Log) -> None:
    """From the files to the features, which are saved. Their lineage is stored, so that nobody needs Spark for it."""
    cleaned = log.pipeline(features(spark, folder), name="features")
    cleaned.materialize()
    with log.capture():
        np.save(folder / "X.npy", cleaned.to_numpy(FEATURES, name="X"))
        np.save(folder / "who.npy", cleaned.to_numpy(["id"], name="who"))


def score(folder: Path, spark: SparkSession, log: wh.Log) -> dict[str, Any]:
    """From the features to scores, a heat map of them, and the report."""
    with log.capture():
        X, who = np.load(folder / "X.npy"), np.load(folder / "who.npy")
    Z = log.track(standard)(X)
    hand = log.track(by_hand)(X)
    model = log.track(learned)(Z, X)
    table = log.track(lambda who, hand, model: np.column_stack([who[:, 0], hand, model]), name="scores")(
        who, hand, model
    )
    heat = log.track(heat_map, names={"return": "heat"})(hand)
    with log.activity("draw") as activity:
        draw(heat, folder / "heat.png")
        activity.used("heat").generated(folder / "heat.png", derived_from=["heat"])
    scored = log.to_spark(table, spark, name="scored", columns=["id", "hand", "model"])
    towns = features(spark, folder).select("id", "town")
    final = log.pipeline(report(scored, towns), name="report")
    final.materialize()
    with log.capture():
        frame = final.to_pandas("shown")
        frame.to_csv(folder / "report.csv", index=False)
    rows = {town: (hand, model) for town, hand, model in frame.itertuples(index=False)}
    return {"X": X, "scores": table, "heat": heat, "report": rows}


def draw(heat: Any, path: Path) -> None:
    """An image in grey."""
    from PIL import Image

    Image.fromarray((heat * 255).astype(np.uint8)).save(path)


def run(folder: Path, spark: SparkSession, log: wh.Log) -> dict[str, Any]:
    """The whole chain; what it made."""
    prepare(folder, spark, log)
    return score(folder, spark, log)


def session() -> SparkSession:
    """A small one."""
    return local_session(
        "local[2]", **{"spark.sql.shuffle.partitions": "2", "spark.log.level": "ERROR", "spark.ui.enabled": "false"}
    )


def main(folder: Path) -> wh.Answer:
    """Make the files, run the chain, and ask about one number of the report, in both directions."""
    make(folder)
    spark = session()
    with wh.open(folder / "churn.whence") as log:
        made = run(folder, spark, log)
        print("report:", {town: tuple(round(each, 3) for each in both) for town, both in made["report"].items()})
        answer = log.backward("report", {"town": "Oslo"}, columns=["hand"])
        print(f"\nthe score of Oslo by hand, {made['report']['Oslo'][0]:.3f}, comes from")
        print(answer)
        print(answer["customers"].pandas().head(3))
        print("\na pixel of the heat map comes from")
        print(log.backward("heat", "0,0", lineage="value"))
        reached = log.forward("customers", {"id": 7})
        print("\ncustomer 7 reached")
        print(reached)
        log.explain("report", {"town": "Oslo"}, columns=["hand"]).save(folder / "story.html")
        print(f"\nthe story: {folder / 'story.html'}")
    spark.stop()
    return answer


def one_of_two(folder: Path, what: str) -> None:
    """One of the two programs."""
    if what == "prepare":
        make(folder)
    spark = session()
    with wh.open(folder / "churn.whence") as log:
        (prepare if what == "prepare" else score)(folder, spark, log)
    spark.stop()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        one_of_two(Path(sys.argv[1]), sys.argv[2])
    elif len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as place:
            main(Path(place))
