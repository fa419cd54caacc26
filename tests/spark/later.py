"""A later program that asks the runs of a log, where pyspark cannot be imported: run by test_spark_stored.py."""

from __future__ import annotations

import json
import sys
from typing import Any

# A question that needs Spark here, or the pipeline's own code, says so with one of these.
EXPECTED = ("MissingExtra", "NotTraceable")


def told(rows: Any) -> list[str]:
    """Rows as text, in an order."""
    return sorted(map(str, rows.to_pylist()))


def answers(run: Any, number: int) -> dict[str, Any]:
    """Everything that a row leads to, and where the first row of each source leads to."""
    lineage = run.backward(numbers=[number])
    found: dict[str, Any] = {"precise": lineage.precise, "backward": {}, "forward": {}}
    for name in lineage:
        which, rows = lineage.identities(name), lineage.arrow(name)
        found["backward"][name] = [told(which), told(rows)]
        if which.num_rows and which.num_columns == 2:
            by_number = told(run.forward(name, numbers=which.column("_row")[:1].to_pylist()).arrow())
            by_value = told(run.forward(name, rows.slice(0, 1).to_pylist()[0]).arrow())
            found["forward"][name] = [by_number, by_value]
    return found


def main(where: str, most: int) -> None:
    sys.modules["pyspark"] = sys.modules["py4j"] = None  # type: ignore[assignment]  # as if they were not installed
    import whence as wh
    from whence.errors import WhenceError

    found: dict[str, Any] = {}
    with wh.open(where) as log:
        for run in log.runs():
            of = found[str(run.id)] = {"columns": list(run.columns), "rows": run.rows, "answers": {}}
            for number in range(min(run.rows or 0, most)):
                try:
                    of["answers"][number] = answers(run, number)
                except WhenceError as error:
                    if type(error).__name__ not in EXPECTED:
                        raise
                    of["answers"][number] = str(error)
    assert not [name for name in sys.modules if name.startswith("pyspark.")]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
