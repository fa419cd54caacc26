"""Rows that DuckDB computes from files: the part of a pipeline for which it gives the same results as Spark."""

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
    """The rows that an operator gives in some of its columns, computed when they are asked for.

    `files` are those of each source below, by its occurrence. `columns` are what the `shown` ones are called outside.
    Equal rows come once, or with `every` as often as they are there. Where the numbers of source rows are among the
    columns, hardly two rows are equal, and those that are may come twice.

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
        """The same rows under other attributes."""
        return replace(self, columns=columns)

    def require(self, columns: Iterable[Attr]) -> None:
        """Raise for a column that it does not have."""
        for attr in columns:
            if attr not in self.columns:
                raise BadType(f"the rows have no column {attr}: they have {', '.join(map(str, self.columns))}")

    def names(self, alias: str) -> dict[Attr, str]:
        """How each column is written in a query."""
        return {attr: f"{alias}.c{place}" for place, attr in enumerate(self.columns)}

    def readable(self, columns: Iterable[Attr], identity: bool = False) -> bool:
        """Whether DuckDB gives the rows that Spark gives. Rows that are computed have no identity."""
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
        """The query, which need not give rows for which a predicate over its columns does not hold."""
        shown: dict[Attr, Expr] = dict(zip(self.columns, self.shown, strict=True))
        operator = narrowed(self.operator, substituted(where, shown))
        if operator is self.operator:
            return self
        made = replace(self, operator=operator)
        return self if made._query() is None else made

    def size(self) -> int:
        """Bytes of the files."""
        paths = {path for each in self.files.values() for path in each.paths}
        return sum(os.stat(path).st_size for path in paths)

    def _query(self) -> tuple[str, QueryBuilder] | None:
        """The query and what it reads; None if the operator is not proven to mean the same. It is made once."""
        if not self._built:
            query = QueryBuilder(self.files)
            try:
                if grows(self.operator):
                    raise NotTranslatable("expressions that grow with every step")
                self._built.append((query.of(self.operator, frozenset(self.shown)), query))
            except NotTranslatable:
                self._built.append(None)
        return self._built[0]
