"""Pipelines in pandas API on Spark: cohorts, sessions, fuzzy joins, months, more than fifty operators."""

from __future__ import annotations

from typing import Any

import pandas as pd
from tests.pipelines.frame_pipelines import typed
from tests.pipelines.pipeline import Lineage, pipeline
from tests.pipelines.tables import Tables, ids


@pipeline("the largest orders of each person, by item", "pandas")
def largest(ps: Any, t: Any) -> Any:
    most = t.orders.groupby("person")["quantity"].max().to_frame("most").reset_index()
    both = t.orders.merge(most, on="person")
    both = both[both["quantity"] == both["most"]]
    return both.groupby("item")["quantity"].sum().to_frame("pieces").reset_index().sort_values("pieces")


@largest.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    """The orders that are summed, and all that are the largest of the same people."""
    orders = t.orders
    largest = orders[orders["quantity"] == orders.groupby("person")["quantity"].transform("max")]
    mine = largest[largest["item"] == row["item"]]
    return {"orders": ids(largest[largest["person"].isin(list(mine["person"]))])}


@pipeline("sessions by groups of visits", "pandas")
def sessions(ps: Any, t: Any) -> Any:
    def numbered(rows: pd.DataFrame) -> Any:
        rows = rows.sort_values("minute")
        return rows.assign(session=(rows["minute"].diff() > 50).cumsum())[["person", "session", "minute"]]

    frame = t.visits[["person", "minute"]]
    found = frame.groupby("person").apply(typed(numbered, ps, person=int, session=int, minute=int))
    found = found.groupby(["person", "session"])["minute"].count().to_frame("pages").reset_index()
    return found[found["pages"] > 1].sort_values(["person", "session"])


@sessions.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"visits": ids(t.visits[t.visits["person"] == row["person"]])}


@pipeline("cities that are spelt alike", "pandas")
def alike(ps: Any, t: Any) -> Any:
    frame = t.people[["id", "city"]].dropna()
    frame["key"] = frame["city"].str.strip().str.lower()
    count = frame.groupby("key").size().to_frame("n").reset_index()
    both = frame.merge(count, on="key")
    return both[both["n"] > 1][["id", "key", "n"]].sort_values("id")


@alike.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    people = t.people[t.people["city"].notnull()]
    return {"people": ids(people[people["city"].map(lambda city: city.strip().lower()) == row["key"]])}


@pipeline("pieces clipped and items coded", "pandas")
def coded(ps: Any, t: Any) -> Any:
    codes = {"pen": 1, "ink": 2, "pad": 3}
    frame = t.orders[t.orders["item"].isin(list(codes)) & t.orders["quantity"].between(1, 5)][
        ["id", "item", "quantity"]
    ]
    frame["pieces"] = frame["quantity"].clip(2, 4)
    frame["code"] = frame["item"].map(codes)
    return frame.groupby("code").agg({"pieces": "sum", "id": "count"}).rename(columns={"id": "n"}).reset_index()


@coded.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    item = {1: "pen", 2: "ink", 3: "pad"}[row["code"]]
    return {"orders": ids(t.orders[(t.orders["item"] == item) & t.orders["quantity"].isin([1, 2, 3, 4, 5])])}


@pipeline("items by how often they were ordered", "pandas")
def often(ps: Any, t: Any) -> Any:
    found = t.orders["item"].value_counts().to_frame("n").reset_index()
    found.columns = ["item", "n"]
    return found.merge(t.items[["item", "price"]], on="item", how="left")


@often.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {
        "orders": ids(t.orders[t.orders["item"] == row["item"]]),
        "items": ids(t.items[t.items["item"] == row["item"]]),
    }


@pipeline("minutes above the player's mean", "pandas")
def minutes(ps: Any, t: Any) -> Any:
    def centred(rows: pd.DataFrame) -> Any:
        return rows.assign(above=rows["minutes"] - rows["minutes"].mean())[["id", "player", "above"]]

    frame = t.games[["id", "player", "minutes"]]
    found = frame.groupby("player").apply(typed(centred, ps, id=int, player=int, above=float))
    both = found[found["above"] > 0].merge(
        t.players[["id", "name"]], left_on="player", right_on="id", suffixes=("", "_p")
    )
    return both[["id", "name", "above"]].sort_values("above")


@minutes.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    player = t.players[t.players["name"] == row["name"]]
    return {"games": ids(t.games[t.games["player"].isin(list(player["id"]))]), "players": ids(player)}


@pipeline("the cheapest and the dearest of a club", "pandas")
def extremes(ps: Any, t: Any) -> Any:
    found = t.players.query("price > 4").groupby("club").agg({"price": ["min", "max"]})
    found.columns = ["low", "high"]
    found["spread"] = found["high"] - found["low"]
    return found.reset_index().sort_values("spread")


@extremes.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    """A smallest and a largest price come from the players who have them."""
    players = t.players[(t.players["price"] > 4) & (t.players["club"] == row["club"])]
    return {"players": ids(players[players["price"].isin([players["price"].min(), players["price"].max()])])}


@pipeline("scores over fifty steps of cleaning", "pandas")
def cleaning(ps: Any, t: Any) -> Any:
    frame = t.scores[["id", "team", "week", "points"]]
    for number in range(12):
        frame = frame.assign(points=frame["points"] + number % 2)
        frame = frame[frame["points"] > number // 4]
        frame = frame.rename(columns={"points": "score"}).rename(columns={"score": "points"})
    total = frame.groupby("team")["points"].sum().to_frame("total").reset_index()
    both = frame.merge(total, on="team")
    both["share"] = both["points"] / both["total"]
    return both[["id", "share"]].sort_values("id")


@cleaning.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    """All scores survive: twelve steps add more than they ask for, but for the first of them."""
    points, kept = t.scores["points"], t.scores["points"] > -1
    for number in range(12):
        points = points + number % 2
        kept &= points > number // 4
    scores = t.scores[kept]
    team = scores.set_index("id")["team"][row["id"]]
    return {"scores": ids(scores[scores["team"] == team])}


@pipeline("the three longest games", "pandas", "an order ends with numbers that Spark gives to rows")
def longest(ps: Any, t: Any) -> Any:
    top = t.games[["id", "player", "minutes"]].sort_values(["minutes", "id"], ascending=[False, True]).head(3)
    both = top.merge(t.players[["id", "name"]], left_on="player", right_on="id", suffixes=("", "_p"), how="left")
    both["hours"] = both["minutes"] / 60
    return both[["id", "name", "hours"]]


@longest.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    player = t.games.set_index("id")["player"][row["id"]]
    return {"games": {row["id"]}, "players": ids(t.players[t.players["id"] == player])}


@pipeline("orders of people and of strangers", "pandas", "a batch has an index that Spark numbers anew")
def strangers(ps: Any, t: Any) -> Any:
    both = t.orders.merge(t.people[["id", "city"]], left_on="person", right_on="id", how="left", suffixes=("", "_p"))
    both["city"] = both["city"].fillna("unknown").str.strip()
    found = both.groupby("city").agg({"quantity": "sum", "id": "count"}).reset_index()
    return found.sort_values(["quantity", "city"])


@strangers.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    both = t.orders.merge(t.people[["id", "city"]], left_on="person", right_on="id", how="left", suffixes=("", "_p"))
    city = both["city"].map(lambda each: each.strip() if isinstance(each, str) else "unknown")
    both = both[city == row["city"]]
    return {"orders": ids(both), "people": set(both["id_p"].dropna().astype(int))}


@pipeline("turnstiles, by groups of readings", "pandas")
def readings(ps: Any, t: Any) -> Any:
    def used(rows: pd.DataFrame) -> Any:
        rows = rows.dropna().sort_values("hour")
        return rows.assign(used=rows["entries"].diff()).dropna()[["station", "gate", "used"]]

    frame = t.turns[["station", "gate", "hour", "entries"]]
    found = frame.groupby(["station", "gate"]).apply(typed(used, ps, station=str, gate=int, used=float))
    found = found[found["used"] > 0]
    return found.groupby(["station", "gate"])["used"].sum().reset_index().sort_values(["station", "gate"])


@readings.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"turns": ids(t.turns[(t.turns["station"] == row["station"]) & (t.turns["gate"] == row["gate"])])}


@pipeline("amounts by month", "pandas")
def months(ps: Any, t: Any) -> Any:
    frame = t.orders[["id", "day", "amount"]].dropna()
    frame["month"] = ps.to_datetime(frame["day"]).dt.month
    return frame.groupby("month")["amount"].mean().reset_index().sort_values("month")


@months.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    orders = t.orders[t.orders["amount"].notnull()]
    return {"orders": ids(orders[orders["day"].map(lambda day: day.month) == row["month"]])}
