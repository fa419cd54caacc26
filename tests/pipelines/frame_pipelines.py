"""Pipelines in pandas API on Spark: leagues, prices, encodings, rankings, tables of two ways."""

from __future__ import annotations

from typing import Any

import pandas as pd
from tests.pipelines.pipeline import Lineage, pipeline
from tests.pipelines.tables import Tables, ids, same


def typed(function: Any, ps: Any, **columns: type) -> Any:
    """A function of a group that says what it returns: pandas API on Spark then leaves it to Spark."""
    function.__annotations__["return"] = ps.DataFrame[zip(columns, columns.values(), strict=True)]
    return function


@pipeline("scorers of a league", "pandas")
def scorers(ps: Any, t: Any) -> Any:
    games = t.games[t.games["minutes"] > 0]
    both = games.merge(t.players, left_on="player", right_on="id", suffixes=("", "_player"))
    both["points"] = both["goals"] * 4 + 1
    total = both.groupby(["club", "name"])["points"].sum().reset_index()
    return total.sort_values(["points", "name"], ascending=[False, True])


@scorers.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    player = t.players[t.players["name"] == row["name"]]
    games = t.games[(t.games["minutes"] > 0) & t.games["player"].isin(list(player["id"]))]
    return {"games": ids(games), "players": ids(player)}


@pipeline("prices as shares of a position", "pandas")
def shares(ps: Any, t: Any) -> Any:
    def share(rows: pd.DataFrame) -> Any:
        return rows.assign(share=rows["price"] / rows["price"].sum())[["id", "position", "share"]]

    frame = t.players[["id", "position", "price"]]
    return frame.groupby("position").apply(typed(share, ps, id=int, position=str, share=float))


@shares.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"players": ids(t.players[t.players["position"] == row["position"]])}


@pipeline("ages imputed within a city", "pandas")
def within(ps: Any, t: Any) -> Any:
    def fill(rows: pd.DataFrame) -> Any:
        return rows.assign(age=rows["age"].fillna(rows["age"].mean()))

    frame = t.people[t.people["city"].notnull()][["id", "city", "age"]].astype({"age": float})
    filled = frame.groupby("city").apply(typed(fill, ps, id=int, city=str, age=float))
    return filled.groupby("city")["age"].mean().reset_index()


@within.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"people": ids(t.people[same(t.people["city"], row["city"])])}


@pipeline("the dearest of a kind, then the kinds", "pandas")
def dearest(ps: Any, t: Any) -> Any:
    def top(rows: pd.DataFrame) -> Any:
        return rows.nlargest(1, "price")[["kind", "item", "price"]]

    found = t.items[["kind", "item", "price"]].groupby("kind").apply(typed(top, ps, kind=str, item=str, price=float))
    found["price"] = found["price"] * 1.25
    return found.sort_values("price")


@dearest.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"items": ids(t.items[t.items["kind"] == row["kind"]])}


@pipeline("a table of two ways", "pandas")
def two_ways(ps: Any, t: Any) -> Any:
    games = t.games[t.games["minutes"] >= 30]
    both = games.merge(t.players[["id", "club", "position"]], left_on="player", right_on="id", suffixes=("", "_player"))
    table = both.pivot_table(values="goals", index=["club"], columns="position", aggfunc="sum", fill_value=0)
    return table.reset_index()


@two_ways.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    """All positions are columns, so all games of a club are in its row."""
    players = t.players[t.players["club"] == row["club"]]
    games = t.games[(t.games["minutes"] >= 30) & t.games["player"].isin(list(players["id"]))]
    return {"games": ids(games), "players": ids(players[players["id"].isin(list(games["player"]))])}


@pipeline("states as columns of zeros and ones", "pandas")
def dummies(ps: Any, t: Any) -> Any:
    frame = t.orders[["id", "state"]].dropna()
    frame["state"] = frame["state"].str.strip().str.lower()
    return ps.get_dummies(frame, columns=["state"])


@dummies.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"orders": {row["id"]}}


@pipeline("prices and pieces, one below the other", "pandas")
def melted(ps: Any, t: Any) -> Any:
    frame = t.orders[t.orders["quantity"] > 3][["id", "quantity", "amount"]]
    frame["quantity"] = frame["quantity"].astype(float)
    return frame.melt(id_vars=["id"], value_vars=["quantity", "amount"]).sort_values(["id", "variable"])


@melted.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"orders": {row["id"]}}


@pipeline("orders ranked by amount", "pandas")
def ranked(ps: Any, t: Any) -> Any:
    frame = t.orders[["id", "amount"]].dropna().set_index("id")
    frame["place"] = frame["amount"].rank(method="dense", ascending=False)
    return frame[frame["place"] <= 2].reset_index()


@ranked.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    """The order and those of the same amount or more: they are counted to rank it."""
    orders = t.orders[t.orders["amount"].notnull()]
    return {"orders": ids(orders[orders["amount"] >= row["amount"]])}


@pipeline("letters of a survey", "pandas")
def letters(ps: Any, t: Any) -> Any:
    frame = t.survey[["id", "text", "rating"]].dropna(subset=["text"])
    frame = frame[frame["rating"] != "n/a"]
    frame["long"] = frame["text"].str.len() > 10
    frame["rating"] = frame["rating"].astype(int)
    found = frame.groupby("long").agg({"rating": ["mean", "count"]})
    found.columns = ["mean", "n"]
    return found.reset_index().sort_values("n")


@letters.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    survey = t.survey[t.survey["text"].notnull() & (t.survey["rating"] != "n/a")]
    return {"survey": ids(survey[survey["text"].map(lambda text: len(text) > 10) == row["long"]])}


@pipeline("words of a survey, counted", "pandas")
def words(ps: Any, t: Any) -> Any:
    frame = t.survey[["id", "text"]].dropna()
    frame["word"] = frame["text"].str.lower().str.split(" ")
    found = frame.explode("word").groupby("word").size().to_frame("n").reset_index()
    return found[found["n"] > 1].sort_values(["n", "word"], ascending=[False, True])


@words.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    survey = t.survey[t.survey["text"].notnull()]
    return {"survey": ids(survey[survey["text"].map(lambda text: row["word"] in text.lower().split(" "))])}


@pipeline("pages of a person by hour", "pandas")
def by_hour(ps: Any, t: Any) -> Any:
    frame = t.visits.assign(hour=t.visits["minute"] // 60)
    found = frame.groupby(["person", "hour"])["page"].nunique().to_frame("pages").reset_index()
    return found.sort_values(["person", "hour"])


@by_hour.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    visits = t.visits[t.visits["person"] == row["person"]]
    return {"visits": ids(visits[visits["minute"].map(lambda minute: minute // 60) == row["hour"]])}
