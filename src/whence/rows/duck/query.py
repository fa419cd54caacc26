"""Rows that DuckDB computes from files, for the part of a pipeline for which it gives the same results as Spark."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from whence.errors import BadType
from whence.rows.duck.files import Files
from whence.rows.duck.narrow import narrowed
from whence.rows.duck.query_sql import NotTranslatable, QueryBuilder, column_name
from whence.rows.expressions import Attr, Expr
from whence.rows.filtering import grows
from whence.rows.operators import Operator
from whence.rows.pushdown.pins import substituted


@dataclass(frozen=True, slots=True)
class DuckQuery:
    """The rows of an operator in some of its columns, computed on demand.

    `files` has the files of each source below, by occurrence. `columns` are the attributes of the `shown` columns
    outside. Equal rows are returned once, or with `every`, as often as they occur. If row numbers of sources are among
    the columns, hardly any rows are equal, and duplicates are not removed.

    >>> from whence.rows import Source
    >>> a, b = Attr(1, "a", "long"), Attr(2, "b", "long")
    >>> rows = Source("t", 0, (a, b))
    >>> DuckQuery(rows, {0: Files(("/t.parquet",), (a, b))}, (a,)).sql()[:33]
    '(SELECT DISTINCT v.x1 AS c0 FROM '
    """

    operator: Operator
    files: Mapping[int, Files]
    shown: tuple[Attr, ...]
    columns: tuple[Attr, ...] = ()
    every: bool = False
    _built: list[tuple[str, QueryBuilder] | None] = field(default_factory=list, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.columns:
            object.__setattr__(self, "columns", self.shown)

    def called(self, columns: tuple[Attr, ...]) -> DuckQuery:
        """Return the same rows with other attributes."""
        return replace(self, columns=columns)

    def require(self, columns: Iterable[Attr]) -> None:
        """Raise if a column is not among the columns."""
        for attr in columns:
            if attr not in self.columns:
                raise BadType(f"the rows have no column {attr}: they have {', '.join(map(str, self.columns))}")

    def names(self, alias: str) -> dict[Attr, str]:
        """The SQL expression of each column."""
        return {attr: f"{alias}.c{place}" for place, attr in enumerate(self.columns)}

    def readable(self, columns: Iterable[Attr], identity: bool = False) -> bool:
        """Whether DuckDB gives the same rows as Spark. Computed rows have no row numbers."""
        query = self._query()
        if identity or query is None:
            return False
        return all(self.files[at].readable(read, at in query[1].numbered) for at, read in query[1].read.items())

    def sql(self) -> str:
        """The query, in parentheses."""
        made = self._query()
        if made is None:
            raise BadType(f"DuckDB cannot compute {type(self.operator).__name__} as Spark does")
        shown = ", ".join(f"v.{column_name(attr)} AS c{place}" for place, attr in enumerate(self.shown))
        return f"(SELECT {'' if self.every or made[1].numbered else 'DISTINCT '}{shown} FROM ({made[0]}) AS v)"

    def narrowed(self, where: Expr) -> DuckQuery:
        """Return a query over fewer source rows. It may omit rows that do not satisfy the predicate."""
        shown: dict[Attr, Expr] = dict(zip(self.columns, self.shown, strict=True))
        operator = narrowed(self.operator, substituted(where, shown))
        if operator is self.operator:
            return self
        made = replace(self, operator=operator)
        return self if made._query() is None else made

    def size(self) -> int:
        """The total size of the files in bytes."""
        paths = {path for each in self.files.values() for path in each.paths}
        return sum(os.stat(path).st_size for path in paths)

    def _query(self) -> tuple[str, QueryBuilder] | None:
        """The query and what it reads; None if the operator is not known to mean the same in DuckDB. It is cached."""
        if not self._built:
            query = QueryBuilder(self.files)
            try:
                if grows(self.operator):
                    raise NotTranslatable("expressions that grow with every step")
                self._built.append((query.of(self.operator, frozenset(self.shown)), query))
            except NotTranslatable:
                self._built.append(None)
        return self._built[0]
