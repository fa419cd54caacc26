"""Pipelines in PySpark and SQL: turnstiles, imputing, surveys, a fantasy league of more than fifty operators."""

from __future__ import annotations

from typing import Any

import pandas as pd
from tests.pipelines.pipeline import Lineage, pipeline
from tests.pipelines.tables import Tables, ids, same


@pipeline("turnstiles, what an hour added", "sql")
def turnstiles(spark: Any, F: Any, t: Any) -> Any:
    return spark.sql(
        "select station, hour, sum(used) used from (select station, hour, entries - lag(entries) over "
        "(partition by station, gate order by hour) used from turns where entries is not null) "
        "where used between 0 and 500 group by station, hour order by used desc, station, hour"
    )


@turnstiles.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    """Each reading of the hour whose difference counts, and the reading before it at the same gate."""
    turns = t.turns[t.turns["entries"].notnull()].sort_values("hour")
    found: set[int] = set()
    for _, gate in turns[turns["station"] == row["station"]].groupby("gate"):
        before = gate["entries"].shift()
        used = gate["entries"].astype(float) - before.astype(float)
        here = (gate["hour"] == row["hour"]) & used.between(0, 500)
        found |= ids(gate[here]) | set(gate["id"].shift()[here].astype(int))
    return {"turns": found}


@pipeline("ages imputed with the mean of the city", "sql")
def imputed(spark: Any, F: Any, t: Any) -> Any:
    return spark.sql(
        "select id, upper(city) city, coalesce(age, (select avg(age) from people q where q.city = p.city)) age "
        "from people p order by id"
    )


@imputed.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    """The person, and everyone of the city: the mean is computed for each, needed or not."""
    city = t.people.set_index("id")["city"][row["id"]]
    mean = t.people[t.people["city"].map(lambda each: city is not None and each == city)]
    return {"people": {row["id"]} | ids(mean)}


@pipeline("a survey of buyers who never clicked", "sql")
def surveyed(spark: Any, F: Any, t: Any) -> Any:
    return spark.sql(
        "select p.city, count(*) n, sum(length(s.text)) letters from survey s join people p on s.person = p.id "
        "where exists (select 1 from orders o where o.person = p.id and o.quantity >= 2) "
        "and s.person not in (select person from visits where page = 'buy') "
        "group by p.city having count(*) > 0 order by n desc, p.city"
    )


@surveyed.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    orders = t.orders[t.orders["quantity"] >= 2]
    clicked = t.visits[t.visits["page"] == "buy"]["person"]
    people = t.people[same(t.people["city"], row["city"])]
    people = people[people["id"].isin(list(orders["person"])) & ~people["id"].isin(list(clicked))]
    people = people[people["id"].isin(list(t.survey["person"]))]
    who = list(people["id"])
    return {
        "survey": ids(t.survey[t.survey["person"].isin(who)]),
        "people": ids(people),
        "orders": ids(orders[orders["person"].isin(who)]),
        "visits": set(),
    }


@pipeline("a fantasy league of more than fifty operators", "spark")
def league(spark: Any, F: Any, t: Any) -> Any:
    from pyspark.sql import Window

    games = t.games.withColumnRenamed("id", "game").where("minutes > 0")
    for number in range(20):
        games = games.withColumn(f"bonus{number}", F.when(F.col("minutes") > 5 * number, 1).otherwise(0))
        games = games.withColumn("goals", F.col("goals") + F.col(f"bonus{number}") * 0)
    for number in range(20):
        games = games.drop(f"bonus{number}")
    points = games.join(t.players, games.player == t.players.id)
    points = points.withColumn(
        "points", F.when(F.col("position") == "F", F.col("goals") * 4).otherwise(F.col("goals") * 6)
    )
    total = points.groupBy("club", "name").agg(F.sum("points").alias("points"))
    best = Window.partitionBy("club").orderBy(F.desc("points"), "name")
    return total.withColumn("place", F.row_number().over(best)).where("place <= 2").orderBy("club", "place")


@league.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    """The games of the player, and of those who stand before him in his club."""
    games = t.games[t.games["minutes"] > 0].merge(t.players, left_on="player", right_on="id", suffixes=("", "_p"))
    games = games[games["club"] == row["club"]]
    each = games["position"].map(lambda position: 4 if position == "F" else 6)
    total = (games["goals"] * each).groupby(games["name"]).sum()
    mine = (-total[row["name"]], row["name"])
    ahead = [name for name in total.index if (-total[name], name) <= mine]
    games = games[games["name"].isin(ahead)]
    return {"games": ids(games), "players": set(games["id_p"])}


@pipeline("orders beside the visits of a person", "spark")
def beside(spark: Any, F: Any, t: Any) -> Any:
    def both(orders: pd.DataFrame, visits: pd.DataFrame) -> pd.DataFrame:
        both = pd.concat([orders["person"], visits["person"]])
        return pd.DataFrame({"person": both[:1], "n": [len(both)]}).iloc[: len(orders)]

    small = t.orders.where("quantity < 4").withColumnRenamed("quantity", "pieces")
    pairs = small.groupBy("person").cogroup(t.visits.groupBy("person"))
    return pairs.applyInPandas(both, "person long, n long").orderBy("n")


@beside.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    orders = t.orders[(t.orders["quantity"] < 4) & (t.orders["person"] == row["person"])]
    return {"orders": ids(orders), "visits": ids(t.visits[t.visits["person"] == row["person"]])}
