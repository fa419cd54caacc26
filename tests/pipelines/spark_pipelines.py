"""Pipelines in PySpark and SQL, each with its lineage as pandas tells it: written from what the words mean."""

from __future__ import annotations

from typing import Any

import pandas as pd
from tests.pipelines.pipeline import PIPELINES, Lineage, pipeline
from tests.pipelines.tables import Tables, ids, same

from whence.testing import everyday


@pipeline("adults by city", "spark")
def adults(spark: Any, F: Any, t: Any) -> Any:
    return t.people.where("age >= 18").groupBy("city").agg(F.count("*").alias("n"), F.avg("age").alias("mean"))


@adults.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    people = t.people
    old = people["age"].map(lambda age: age is not None and age >= 18)
    return {"people": ids(people[old & same(people["city"], row["city"])])}


@pipeline("age bands of a function", "spark")
def bands(spark: Any, F: Any, t: Any) -> Any:
    band = F.udf(everyday.age_band, "string")
    return (
        t.people.withColumn("band", band("age")).groupBy("band").agg(F.max("id").alias("last"), F.count("*").alias("n"))
    )


@bands.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    people = t.people
    return {"people": ids(people[same(people["age"].map(everyday.age_band), row["band"])])}


@pipeline("a filter on a function", "spark")
def complaints(spark: Any, F: Any, t: Any) -> Any:
    complains = F.udf(everyday.complains, "boolean")
    return t.survey.where(complains("text")).select("person", F.upper("text").alias("text"))


@complaints.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    survey = t.survey
    return {"survey": ids(survey[survey["text"].map(everyday.complains) & (survey["person"] == row["person"])])}


@pipeline("ratings parsed by a function", "spark")
def ratings(spark: Any, F: Any, t: Any) -> Any:
    number = F.udf(everyday.to_number, "double")
    stars = t.survey.withColumn("stars", number("rating")).where("stars is not null")
    return stars.join(t.people.select(F.col("id").alias("person")), "person").groupBy("stars").count()


@ratings.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    survey = t.survey[t.survey["person"].isin(list(t.people["id"]))]
    survey = survey[same(survey["rating"].map(everyday.to_number), row["stars"])]
    return {"survey": ids(survey), "people": set(survey["person"])}


@pipeline("a join on keys that a function makes", "spark")
def keyed(spark: Any, F: Any, t: Any) -> Any:
    clean = F.udf(everyday.clean_name, "string")
    one = t.people.select(clean("city").alias("key"), F.col("id").alias("one"))
    other = t.people.select(clean("city").alias("key"), F.col("id").alias("other"))
    return one.join(other, "key").where("one < other")


@keyed.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"people": {row["one"], row["other"]}}


@pipeline("orders of known people", "spark")
def known(spark: Any, F: Any, t: Any) -> Any:
    joined = t.orders.join(t.people, t.orders.person == t.people.id).where("quantity > 1")
    return joined.select(t.orders.id.alias("order"), "name", (F.col("amount") * F.col("quantity")).alias("total"))


@known.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    person = int(t.orders.loc[t.orders["id"] == row["order"], "person"].iloc[0])
    return {"orders": {row["order"]}, "people": {person}}


@pipeline("revenue of kinds", "sql")
def revenue(spark: Any, F: Any, t: Any) -> Any:
    return spark.sql(
        "select kind, sum(quantity) n from orders o join items i on o.item = i.item "
        "where lower(trim(state)) = 'paid' group by kind"
    )


@revenue.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    items = t.items[t.items["kind"] == row["kind"]]
    paid = t.orders["state"].map(lambda state: state is not None and state.strip(" ").lower() == "paid")
    orders = t.orders[paid & t.orders["item"].isin(list(items["item"]))]
    return {"orders": ids(orders), "items": ids(items[items["item"].isin(list(orders["item"]))])}


@pipeline("people without a void order", "sql")
def without(spark: Any, F: Any, t: Any) -> Any:
    return spark.sql(
        "select id, name from people p "
        "where not exists (select 1 from orders o where o.person = p.id and o.state = 'void')"
    )


@without.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"people": {row["id"]}, "orders": set()}


@pipeline("orders above their item's mean", "sql")
def above(spark: Any, F: Any, t: Any) -> Any:
    return spark.sql(
        "select id, item, quantity from orders o "
        "where quantity > (select avg(quantity) from orders p where p.item = o.item)"
    )


@above.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"orders": ids(t.orders[t.orders["item"] == row["item"]])}


@pipeline("the last order of each person", "spark")
def last(spark: Any, F: Any, t: Any) -> Any:
    from pyspark.sql import Window

    newest = F.row_number().over(Window.partitionBy("person").orderBy(F.desc("day")))
    return t.orders.withColumn("n", newest).where("n = 1").select("person", "id", "day")


@last.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    mine = t.orders[t.orders["person"] == row["person"]]
    return {"orders": ids(mine[mine["day"] >= row["day"]])}


@pipeline("sessions of visits", "spark")
def sessions(spark: Any, F: Any, t: Any) -> Any:
    from pyspark.sql import Window

    order = Window.partitionBy("person").orderBy("minute")
    gap = t.visits.withColumn("new", (F.col("minute") - F.lag("minute").over(order) > 50).cast("int"))
    numbered = gap.withColumn("session", F.sum(F.coalesce("new", F.lit(0))).over(order))
    return numbered.groupBy("person", "session").agg(F.count("*").alias("pages"))


@sessions.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    """The rows of the session, and all before them: these were counted to number it."""
    mine = t.visits[t.visits["person"] == row["person"]].sort_values("minute")
    gaps = mine["minute"].astype(int).diff().gt(50)
    number = gaps.cumsum()
    last_ = mine[number == row["session"]]["minute"].max()
    return {"visits": ids(mine[mine["minute"] <= last_])}


@pipeline("seasons by a function", "spark")
def seasons(spark: Any, F: Any, t: Any) -> Any:
    season = F.udf(everyday.season, "string")
    known = t.orders.join(t.items.select("item", "price"), "item")
    return known.groupBy(season("day").alias("season")).agg(F.sum("quantity").alias("n"))


@seasons.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    """An item that is lost is in no list of prices."""
    orders = t.orders[
        (t.orders["day"].map(everyday.season) == row["season"]) & t.orders["item"].isin(list(t.items["item"]))
    ]
    return {"orders": ids(orders), "items": ids(t.items[t.items["item"].isin(list(orders["item"]))])}


@pipeline("a registered function in SQL", "sql")
def registered(spark: Any, F: Any, t: Any) -> Any:
    spark.udf.register("mail_domain", everyday.email_domain, "string")
    return spark.sql(
        "select mail_domain(email) d, count(*) n from people where mail_domain(email) is not null group by 1 order by n"
    )


@registered.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"people": ids(t.people[same(t.people["email"].map(everyday.email_domain), row["d"])])}


@pipeline("a cohort table", "spark")
def cohorts(spark: Any, F: Any, t: Any) -> Any:
    first = t.orders.groupBy("person").agg(F.min("day").alias("start"))
    months = t.orders.join(first, "person").withColumn("month", F.month("start"))
    return months.groupBy("month").pivot("item", ["pen", "ink"]).count()


@cohorts.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    """The orders that are counted, and the first orders of their people, which say where they are counted.

    An order of another item is in no minimal set of orders that gives the row (PredTrace, Definition 3.1), unless the
    month has no pen and no ink: then each order of it gives the row of NULLs by itself.
    """
    orders = t.orders
    start = orders.groupby("person")["day"].transform("min")
    month = orders[start.map(lambda day: day.month) == row["month"]]
    listed = month[month["item"].isin(["pen", "ink"])]
    mine = listed if len(listed) else month
    first = orders[(orders["day"] == start) & orders["person"].isin(list(mine["person"]))]
    return {"orders": ids(mine) | ids(first)}


@pipeline("items that nobody ordered", "spark")
def unsold(spark: Any, F: Any, t: Any) -> Any:
    return t.items.join(t.orders, "item", "left_anti").select("item", "price")


@unsold.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"items": ids(t.items[t.items["item"] == row["item"]]), "orders": set()}


@pipeline("distinct states, cleaned", "spark")
def states(spark: Any, F: Any, t: Any) -> Any:
    return t.orders.select(F.lower(F.trim("state")).alias("state")).distinct()


@states.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    clean = t.orders["state"].map(lambda state: None if state is None else state.strip(" ").lower())
    return {"orders": ids(t.orders[same(clean, row["state"])])}


@pipeline("two sources in one list", "sql")
def stacked(spark: Any, F: Any, t: Any) -> Any:
    return spark.sql(
        "select person who, 'visit' what from visits where page = 'buy' union all select person, 'order' from orders"
    )


@stacked.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    if row["what"] == "visit":
        bought = t.visits[(t.visits["page"] == "buy") & (t.visits["person"] == row["who"])]
        return {"visits": ids(bought), "orders": set()}
    return {"visits": set(), "orders": ids(t.orders[t.orders["person"] == row["who"]])}


@pipeline("the best week of each team", "spark")
def best(spark: Any, F: Any, t: Any) -> Any:
    top = t.scores.groupBy("team").agg(F.max("points").alias("points"))
    return t.scores.join(top, ["team", "points"]).select("team", "week", "points")


@best.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    scores = t.scores
    return {"scores": ids(scores[(scores["team"] == row["team"]) & (scores["points"] == row["points"])])}


@pipeline("a function of each group", "spark")
def standard(spark: Any, F: Any, t: Any) -> Any:
    def spread(rows: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"team": [rows["team"].iloc[0]], "spread": [rows["points"].max() - rows["points"].min()]})

    return t.scores.groupBy("team").applyInPandas(spread, "team string, spread long")


@standard.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"scores": ids(t.scores[t.scores["team"] == row["team"]])}


@pipeline("discounts of a function of three columns", "spark")
def discounts(spark: Any, F: Any, t: Any) -> Any:
    paid = F.udf(everyday.discounted, "double")
    price = paid("amount", "quantity", F.col("state") == "paid")
    return t.orders.select("id", price.alias("price")).where("price > 20")


@discounts.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"orders": {row["id"]}}


__all__ = ["PIPELINES"]
