"""The tables that the pipelines read: small, with NULLs, ties and rows that match nothing."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

CITIES = ["Oslo", "Bergen", None, "Oslo", " oslo", "Rome", "Rome", "Bergen", "Oslo", "Paris", None, "Rome"]
STATES = ["paid", "open", "paid", "void", "paid", "open", "PAID ", None]
TEXTS = ["Late again, I want a refund", "all fine", None, "broken on arrival", "ok", "great service", "", "ANGRY!"]
CLUBS = ["City", "Rovers", "United"]
ITEMS = ["pen", "ink", "pad", "cup"]


def _rows() -> dict[str, list[dict[str, Any]]]:
    people = [
        {
            "id": i,
            "name": f"{'-' if i % 4 == 0 else ''}Person {i} ",
            "city": CITIES[i % 12],
            "age": None if i % 7 == 3 else 10 + i * 5,
            "email": None if i % 5 == 4 else f"P{i}@{'Mail' if i % 2 else 'work'}.com",
        }
        for i in range(14)
    ]
    orders = [
        {
            "id": i,
            "person": (i * 5) % 16,
            "item": ITEMS[i % 4] if i % 9 else "lost",
            "quantity": i % 6,
            "amount": None if i % 11 == 5 else round(3.5 * (i % 8) + 1, 2),
            "day": date(2024, 1, 27) + timedelta(days=3 * i),
            "state": STATES[i % 8],
        }
        for i in range(24)
    ]
    items = [
        {"id": i, "item": name, "kind": "paper" if name == "pad" else "desk", "price": 2.0 + i}
        for i, name in enumerate([*ITEMS, "gem"])
    ]
    visits = [
        {"id": i, "person": i % 5, "minute": i * 9 + (60 if i % 6 == 0 else 0), "page": "buy" if i % 4 == 3 else "home"}
        for i in range(20)
    ]
    scores = [{"id": i, "team": "abc"[i % 3], "week": i // 3, "points": (i * 7) % 10} for i in range(15)]
    survey = [{"id": i, "person": i, "text": TEXTS[i % 8], "rating": str(i % 6) if i % 5 else "n/a"} for i in range(16)]
    turns = [
        {
            "id": i,
            "station": ["Park", "Quay"][i % 2],
            "gate": i // 2 % 2,
            "hour": i // 4,
            # The counter of a gate goes on for ever; now and then it is not read, or starts anew.
            "entries": None if i % 13 == 7 else (i * 37 if i != 18 else 3),
        }
        for i in range(24)
    ]
    players = [
        {"id": i, "name": f"P{i}", "club": CLUBS[i % 3], "position": "GDMF"[i % 4], "price": 4.0 + (i * 3) % 7}
        for i in range(9)
    ]
    games = [
        {"id": i, "player": (i * 4) % 10, "round": i // 6, "minutes": (i * 31) % 100 if i % 5 else 0, "goals": i % 3}
        for i in range(24)
    ]
    return {
        "people": people, "orders": orders, "items": items, "visits": visits, "scores": scores, "survey": survey,
        "turns": turns, "players": players, "games": games,
    }  # fmt: skip


TYPES = {
    "people": [("id", "int64"), ("name", "string"), ("city", "string"), ("age", "int64"), ("email", "string")],
    "orders": [
        ("id", "int64"),
        ("person", "int64"),
        ("item", "string"),
        ("quantity", "int64"),
        ("amount", "float64"),
        ("day", "date32"),
        ("state", "string"),
    ],
    "items": [("id", "int64"), ("item", "string"), ("kind", "string"), ("price", "float64")],
    "visits": [("id", "int64"), ("person", "int64"), ("minute", "int64"), ("page", "string")],
    "scores": [("id", "int64"), ("team", "string"), ("week", "int64"), ("points", "int64")],
    "survey": [("id", "int64"), ("person", "int64"), ("text", "string"), ("rating", "string")],
    "turns": [("id", "int64"), ("station", "string"), ("gate", "int64"), ("hour", "int64"), ("entries", "int64")],
    "players": [("id", "int64"), ("name", "string"), ("club", "string"), ("position", "string"), ("price", "float64")],
    "games": [("id", "int64"), ("player", "int64"), ("round", "int64"), ("minutes", "int64"), ("goals", "int64")],
}
ROWS = _rows()


class Tables:
    """The tables as pandas has them, None for NULL."""

    def __getattr__(self, name: str) -> pd.DataFrame:
        columns = [column for column, _ in TYPES[name]]
        rows = [[row[column] for column in columns] for row in ROWS[name]]
        return pd.DataFrame(rows, columns=columns, dtype=object)


def write(directory: Path) -> dict[str, str]:
    """The tables as files of Parquet."""
    paths = {}
    for name, columns in TYPES.items():
        schema = pa.schema([(column, getattr(pa, kind)()) for column, kind in columns])
        path = directory / f"{name}.parquet"
        pq.write_table(pa.Table.from_pylist(ROWS[name], schema=schema), path)
        paths[name] = str(path)
    return paths


def same(column: pd.Series, value: object) -> pd.Series:
    """Where a column is a value; None is one, too."""
    return column.map(lambda each: (each is None and value is None) or (each is not None and each == value))


def ids(rows: pd.DataFrame) -> set[int]:
    return set(rows["id"])
