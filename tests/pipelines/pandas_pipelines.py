"""Pipelines in pandas API on Spark, each with its lineage as pandas tells it."""

from __future__ import annotations

from typing import Any

from tests.pipelines.pipeline import Lineage, pipeline
from tests.pipelines.tables import Tables, ids, same

from whence.testing import everyday


@pipeline("names cleaned with apply", "pandas")
def cleaned(ps: Any, t: Any) -> Any:
    def clean(name: Any) -> str:
        return str(name.strip().lower().replace("-", ""))

    frame = t.people[["id", "name"]]
    frame["name"] = frame["name"].apply(clean)
    return frame


@cleaned.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"people": {row["id"]}}


@pipeline("cities mapped, then counted", "pandas")
def mapped(ps: Any, t: Any) -> Any:
    def place(city: Any) -> str:
        return "unknown" if city is None else city.strip().upper()

    frame = t.people[["id", "city"]]
    frame["place"] = frame["city"].map(place)
    return frame.groupby("place")["id"].max().reset_index()


@mapped.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    place = t.people["city"].map(lambda city: "unknown" if city is None else city.strip().upper())
    return {"people": ids(t.people[(place == row["place"]) & (t.people["id"] == row["id"])])}


@pipeline("a row function with axis=1", "pandas")
def by_row(ps: Any, t: Any) -> Any:
    def label(row: Any) -> str:
        return f"{int(row['id'])}:{row['item']}"

    return t.items[["id", "item"]].apply(label, axis=1).to_frame("label")


@by_row.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"items": {int(row["label"].split(":")[0])}}


@pipeline("paid orders of a kind", "pandas")
def paid(ps: Any, t: Any) -> Any:
    orders = t.orders[t.orders["state"] == "paid"]
    both = orders.merge(t.items, on="item", suffixes=("", "_item"))
    return both.groupby("kind")["quantity"].sum().reset_index()


@paid.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    items = t.items[t.items["kind"] == row["kind"]]
    orders = t.orders[(t.orders["state"] == "paid") & t.orders["item"].isin(list(items["item"]))]
    return {"orders": ids(orders), "items": ids(items[items["item"].isin(list(orders["item"]))])}


@pipeline("missing ages filled", "pandas")
def filled(ps: Any, t: Any) -> Any:
    frame = t.people[["id", "age"]]
    frame["age"] = frame["age"].fillna(0)
    return frame[frame["age"] < 40]


@filled.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"people": {row["id"]}}


@pipeline("domains of mails, by a filter", "pandas")
def domains(ps: Any, t: Any) -> Any:
    frame = t.people[["id", "email"]].dropna()
    frame["domain"] = frame["email"].str.split("@").str.get(1).str.lower()
    return frame[frame["domain"] == "mail.com"][["id", "domain"]]


@domains.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"people": {row["id"]}}


@pipeline("states counted", "pandas")
def counted(ps: Any, t: Any) -> Any:
    return t.orders.groupby("state").agg({"quantity": "sum", "amount": "count"}).reset_index()


@counted.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    return {"orders": ids(t.orders[same(t.orders["state"], row["state"])])}


@pipeline("stacked frames", "pandas")
def stacked(ps: Any, t: Any) -> Any:
    one = t.people[["id"]].assign(what="person")
    two = t.items[["id"]].assign(what="item")
    return ps.concat([one, two])


@stacked.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    person = row["what"] == "person"
    return {"people": {row["id"]} if person else set(), "items": set() if person else {row["id"]}}


@pipeline("ratings parsed with apply", "pandas")
def parsed(ps: Any, t: Any) -> Any:
    def stars(rating: Any) -> float:
        try:
            return float(rating)
        except (TypeError, ValueError):
            return -1.0

    frame = t.survey[["id", "rating"]]
    frame["stars"] = frame["rating"].apply(stars)
    return frame.groupby("stars")["id"].count().reset_index()


@parsed.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    stars = t.survey["rating"].map(everyday.to_number).map(lambda found: -1.0 if found is None else found)
    stars = stars.fillna(-1.0)
    return {"survey": ids(t.survey[stars == row["stars"]])}


@pipeline("dropped duplicates", "pandas", "rows are numbered as Spark meets them")
def unique(ps: Any, t: Any) -> Any:
    return t.orders[["item"]].drop_duplicates()


@unique.lineage
def _(t: Tables, row: dict[str, Any]) -> Lineage:
    """Rows are kept or dropped as they are: the row that is kept is the first, and no other had a part in it."""
    return {"orders": {t.orders[t.orders["item"] == row["item"]]["id"].min()}}
