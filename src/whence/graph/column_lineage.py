"""Column lineage in the form of OpenLineage: a facet of a pipeline's output dataset."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from whence.errors import BadType

NAMESPACE = "whence"  # for jobs and datasets without a namespace
Column = tuple[str, str]  # source, column


class Lineage(Protocol):
    """The lineage of one column, as `Pipeline.columns()` returns it."""

    @property
    def direct(self) -> Collection[Column]:
        """The columns that its values are computed from."""

    @property
    def through(self) -> Collection[Column]:
        """The columns that only select rows."""


def column_lineage(
    columns: Mapping[str, Lineage],
    datasets: Mapping[str, str | tuple[str, str]] | None = None,
    namespace: str = NAMESPACE,
) -> dict[str, Any]:
    """Return the `columnLineage` facet of a pipeline's output, from `p.columns()`. A log has it as property
    `column_lineage`.

    `datasets` has the names of the sources outside the pipeline: a name in the namespace, or a pair (namespace, name).
    Columns that select the rows of the whole output are listed once, for the dataset.

    >>> from whence.rows.columns import ColumnLineage
    >>> found = column_lineage({"total": ColumnLineage(frozenset({("o", "price")}), frozenset({("o", "day")}))})
    >>> found["fields"]["total"]["inputFields"]
    [{'namespace': 'whence', 'name': 'o', 'field': 'price', 'transformations': [{'type': 'DIRECT'}]}]
    >>> found["dataset"]
    [{'namespace': 'whence', 'name': 'o', 'field': 'day', 'transformations': [{'type': 'INDIRECT'}]}]
    """
    known = datasets or {}

    def input_fields(direct: Collection[Column], through: Collection[Column]) -> list[dict[str, Any]]:
        found = []
        for source, field in sorted({*direct, *through}):
            kinds = [kind for kind, own in (("DIRECT", direct), ("INDIRECT", through)) if (source, field) in own]
            called = _dataset_name(known.get(source, source), namespace)
            found.append({**called, "field": field, "transformations": [{"type": each} for each in kinds]})
        return found

    everywhere = set.intersection(*(set(each.through) for each in columns.values())) if columns else set()
    fields = {
        name: {"inputFields": input_fields(each.direct, set(each.through) - everywhere)}
        for name, each in columns.items()
    }
    whole = input_fields((), everywhere)
    return {"fields": fields, "dataset": whole} if whole else {"fields": fields}


def _dataset_name(dataset: object, namespace: str) -> dict[str, str]:
    match dataset:
        case str(name):
            return {"namespace": namespace, "name": name}
        case (str(own), str(name)):
            return {"namespace": own, "name": name}
    raise BadType(f"name a dataset by a string, or by a pair (namespace, name), not by {dataset!r}")


def is_column_lineage(held: object) -> bool:
    """Whether a property called `column_lineage` is such a facet, and not something else with that name.

    >>> is_column_lineage(column_lineage({})), is_column_lineage({"fields": ["a", "b"]}), is_column_lineage(3)
    (True, False, False)
    """
    if not isinstance(held, Mapping) or not isinstance(held.get("fields"), Mapping):
        return False
    fields, whole = held["fields"].values(), held.get("dataset", [])
    lists = [each.get("inputFields") if isinstance(each, Mapping) else None for each in fields]
    return all(isinstance(each, list) and all(map(_is_input, each)) for each in (*lists, whole))


def _is_input(held: object) -> bool:
    if not isinstance(held, Mapping) or not all(
        isinstance(held.get(key), str) for key in ("namespace", "name", "field")
    ):
        return False
    transformations = held.get("transformations", [])
    return isinstance(transformations, list) and all(
        isinstance(each, Mapping) and isinstance(each.get("type"), str) for each in transformations
    )
