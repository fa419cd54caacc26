"""More pipelines: long chains, functions with many branches, functions of groups, subqueries."""

from __future__ import annotations

from typing import Any

import pandas as pd
from tests.pipelines.pipeline import Lineage, pipeline
from tests.pipelines.tables import Tables, ids, same


def zone(minute: Any) -> Any:
    if minute is None:
        return "none"
    if minute < 10:
        return "a"
    elif minute < 20:
        return "b"
    elif minute < 30:
        return "c"
    elif minute < 40:
        return "d"
    elif minute < 50:
        return "e"
    elif minute < 60:
        return "f"
    elif minute < 75:
        return "g"
    elif minute < 90:
        return "h"
    elif minute < 105:
        return "i"
    elif minute < 120:
        return "j"
    elif minute < 140:
        return "k"
    elif minute < 160:
        return "l"
    return "m"


zone.__annotations__.clear()


@pipeline("a function of fourteen branches", "spark")
def zones(spark: Any, F: Any, t: Any) -> Any:
    return t.visits.groupBy(F.udf(zone, "string")("minute").alias("zone")).agg(F.count("*").alias("n"))


@zones.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"visits": ids(t.visits[t.visits["minute"].map(zone) == row["zone"]])}


@pipeline("fifty steps", "spark")
def steps(spark: Any, F: Any, t: Any) -> Any:
    rows = t.scores
    for number in range(40):
        rows = rows.withColumn("points", F.col("points") + number % 3)
    for number in range(10):
        rows = rows.where(F.col("points") > number)
    return rows.select("id", "points")


@steps.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"scores": {row["id"]}}


@pipeline("people who bought and visited", "sql")
def both(spark: Any, F: Any, t: Any) -> Any:
    return spark.sql(
        "select id, name from people where id in (select person from visits where page = 'buy') "
        "and id in (select person from orders where quantity > 3)"
    )


@both.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    bought = t.visits[(t.visits["page"] == "buy") & (t.visits["person"] == row["id"])]
    orders = t.orders[(t.orders["quantity"] > 3) & (t.orders["person"] == row["id"])]
    return {"people": {row["id"]}, "visits": ids(bought), "orders": ids(orders)}


@pipeline("the largest order of all", "sql")
def largest(spark: Any, F: Any, t: Any) -> Any:
    return spark.sql("select id, quantity from orders where quantity = (select max(quantity) from orders)")


@largest.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    """The order, and those that have the largest quantity."""
    return {"orders": ids(t.orders[t.orders["quantity"] == t.orders["quantity"].max()])}


@pipeline("points above the team's mean, by group", "spark")
def centred(spark: Any, F: Any, t: Any) -> Any:
    def minus(rows: pd.DataFrame) -> pd.DataFrame:
        return rows.assign(points=rows["points"] - rows["points"].min())[["id", "team", "points"]]

    return t.scores.groupBy("team").applyInPandas(minus, "id long, team string, points long")


@centred.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"scores": ids(t.scores[t.scores["team"] == row["team"]])}


@pipeline("every team in every week", "sql")
def grid(spark: Any, F: Any, t: Any) -> Any:
    return spark.sql(
        "select g.team, g.week, s.points from (select * from (select distinct team from scores) "
        "cross join (select distinct week from scores where week < 2)) g "
        "left join scores s on s.team = g.team and s.week = g.week"
    )


@grid.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    scores = t.scores
    return {"scores": ids(scores[(scores["team"] == row["team"]) | (scores["week"] == row["week"])])}


@pipeline("change since the week before", "spark")
def change(spark: Any, F: Any, t: Any) -> Any:
    from pyspark.sql import Window

    before = F.lag("points").over(Window.partitionBy("team").orderBy("week"))
    return t.scores.select("team", "week", (F.col("points") - before).alias("change"))


@change.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    mine = t.scores[(t.scores["team"] == row["team"]) & t.scores["week"].isin([row["week"], row["week"] - 1])]
    return {"scores": ids(mine)}


@pipeline("orders exploded into units", "spark")
def units(spark: Any, F: Any, t: Any) -> Any:
    some = t.orders.where("quantity between 1 and 2")
    units = some.select("id", F.explode(F.sequence(F.lit(1), F.col("quantity").cast("int"))).alias("unit"))
    return units.groupBy("unit").agg(F.sum("id").alias("total"))


@units.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    quantity = t.orders["quantity"]
    return {"orders": ids(t.orders[quantity.isin([1, 2]) & (quantity >= row["unit"])])}


@pipeline("a limit after an order", "spark")
def dearest(spark: Any, F: Any, t: Any) -> Any:
    return t.items.orderBy(F.desc("price"), "id", "item", "kind").limit(3)


@dearest.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"items": {row["id"]}}


@pipeline("two lists, what is in both", "sql")
def shared(spark: Any, F: Any, t: Any) -> Any:
    return spark.sql(
        "select person from orders where quantity > (select avg(quantity) from orders) "
        "intersect select person from visits"
    )


@shared.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    """The mean is of all orders."""
    return {"orders": ids(t.orders), "visits": ids(t.visits[t.visits["person"] == row["person"]])}


@pipeline("a function with a closure over a table of rates", "spark")
def rates(spark: Any, F: Any, t: Any) -> Any:
    known = {"pen": 2, "ink": 3}

    def rated(item, quantity):  # type: ignore[no-untyped-def]  # as users write it
        rate = known.get(item)
        if rate is None:
            return None
        return rate * quantity

    cost = t.orders.select("id", "item", F.udf(rated, "long")("item", "quantity").alias("cost")).where("cost >= 6")
    return cost.join(t.items.select("item", "kind"), "item").orderBy("cost")


@rates.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"orders": {row["id"]}, "items": ids(t.items[t.items["item"] == row["item"]])}


@pipeline("cities with their oldest and their number", "pandas")
def oldest(ps: Any, t: Any) -> Any:
    people = t.people[t.people["city"].notnull()]
    return people.groupby("city").agg({"age": "sum"}).reset_index()


@oldest.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"people": ids(t.people[same(t.people["city"], row["city"])])}


@pipeline("visits with what was bought", "pandas")
def bought(ps: Any, t: Any) -> Any:
    visits = t.visits[t.visits["page"] == "buy"][["id", "person"]]
    joined = visits.merge(t.people[["id", "city"]], left_on="person", right_on="id", suffixes=("", "_person"))
    return joined[["id", "city"]]


@bought.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    person = t.visits.loc[t.visits["id"] == row["id"], "person"].iloc[0]
    return {"visits": {row["id"]}, "people": {person}}


@pipeline("labels of rows, then counted", "pandas")
def labelled(ps: Any, t: Any) -> Any:
    def label(row: Any) -> str:
        return "dear" if row["price"] > 3.5 else "cheap"

    labels = t.items[["price"]].apply(label, axis=1).to_frame("label")
    return labels.groupby("label").size().to_frame("n").reset_index()


@labelled.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    labels = t.items["price"].map(lambda price: "dear" if price > 3.5 else "cheap")
    return {"items": ids(t.items[labels == row["label"]])}
