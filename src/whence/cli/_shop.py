"""The shop of `whence demo`: three tables, a report in SQL, and its lineage computed with pandas."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

CITIES = ("Bergen", "Cork", "Ghent", "Graz", "Lyon", "Oslo", "Porto", "Riga", "Turin", "Vilnius")
STATES = ("paid", "paid", "paid", "open", "returned")
KEYS = {
    "customers": ["id"],
    "orders": ["id"],
    "lines": ["order_id", "number"],
}  # the columns that identify a row of each

REPORT = """-- What each city paid in each month.
select city, month(day) as month, count(distinct orders.id) as orders, sum(quantity * cents) as cents
from customers
  join orders on orders.customer_id = customers.id
  join lines on lines.order_id = orders.id
where status = 'paid' and quantity > 0
group by city, month(day)
"""


def tables(customers: int = 300, orders: int = 3_000, seed: int = 17) -> dict[str, dict[str, Any]]:
    """Generate the columns of each table; the same seed gives the same values."""
    random = np.random.default_rng(seed)
    per_order = random.integers(1, 6, orders)
    order_id = 1_000 + np.arange(orders)
    number = np.concatenate([np.arange(1, count + 1) for count in per_order])
    year = np.datetime64("2025-01-01") + random.integers(0, 365, orders)
    return {
        "customers": {
            "id": np.arange(1, customers + 1),
            "name": [f"customer {n}" for n in range(1, customers + 1)],
            "city": random.choice(CITIES, customers),
        },
        "orders": {
            "id": order_id,
            "customer_id": random.integers(1, customers + 1, orders),
            "day": year,
            "status": random.choice(STATES, orders),
        },
        "lines": {
            "order_id": np.repeat(order_id, per_order),
            "number": number,
            "product": random.integers(1, 80, len(number)),
            "quantity": random.integers(0, 5, len(number)),
            "cents": random.integers(99, 20_000, len(number)),
        },
    }


def write(made: Mapping[str, Mapping[str, Any]], directory: Path) -> dict[str, Path]:
    """Write the lines as a CSV file, other tables as Parquet. An equal file is kept, because it may have lineage."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    directory.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name, columns in made.items():
        is_text = name == "lines"
        paths[name] = directory / f"{name}.{'csv' if is_text else 'parquet'}"
        held = io.BytesIO()
        (csv.write_csv if is_text else parquet.write_table)(pa.table(dict(columns)), held)
        if not paths[name].exists() or paths[name].read_bytes() != held.getvalue():
            paths[name].write_bytes(held.getvalue())
    return paths


def joined(made: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Join every line that the report counts with its order and customer, and add the month of its report row."""
    import pandas as pd

    customers, orders, lines = (pd.DataFrame(made[name]) for name in KEYS)
    both = lines.merge(orders, left_on="order_id", right_on="id").merge(
        customers, left_on="customer_id", right_on="id", suffixes=("", "_customer")
    )
    found = both[(both["status"] == "paid") & (both["quantity"] > 0)].copy()
    found["month"] = found["day"].dt.month
    return found


def contributed(every: pd.DataFrame, row: Mapping[str, Any]) -> dict[str, set[tuple[int, ...]]]:
    """Return the keys of the rows of each table that made a row of the report."""
    ours = every[(every["city"] == row["city"]) & (every["month"] == row["month"])]
    columns = {"customers": ["customer_id"], "orders": ["order_id"], "lines": ["order_id", "number"]}
    return {name: set(ours[each].itertuples(index=False, name=None)) for name, each in columns.items()}


def summed(every: pd.DataFrame, lines: Mapping[str, Any], row: Mapping[str, Any]) -> set[tuple[int, int]]:
    """Return the cells of the lines that were multiplied and summed to the amount of a row of the report."""
    ours = contributed(every, row)["lines"]
    pairs = zip(lines["order_id"].tolist(), lines["number"].tolist(), strict=True)
    places = [list(lines).index(name) for name in ("quantity", "cents")]
    return {(line, place) for line, pair in enumerate(pairs) if pair in ours for place in places}


def reached(every: pd.DataFrame, customer: int) -> set[tuple[Any, ...]]:
    """Return city and month of the report's rows that a customer contributed to."""
    ours = every[every["customer_id"] == customer]
    return set(ours[["city", "month"]].itertuples(index=False, name=None))
