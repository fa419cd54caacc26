"""DuckDB over Parquet files: which rows, which identity, and when it is left to Spark."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from whence.rows import FALSE, TRUE, Attr, Compare, Expr, In, IsNull, Literal, Not, Or, conjunction
from whence.rows.duck import Files, count, select

K, S, V = Attr(1, "k", "long"), Attr(2, "s", "string"), Attr(3, "v", "decimal(15,2)")
T, U = Attr(11, "t", "long"), Attr(12, "u", "string")


def is_(attr: Attr, value: object, op: str = "=") -> Expr:
    return Compare(op, attr, Literal(value, attr.dtype))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Two files of 100 rows, in row groups of 10: k counts from 0 to 199, s repeats, v has NULLs."""
    for place in range(2):
        ks = range(100 * place, 100 * place + 100)
        columns = {
            "k": pa.array(ks, pa.int64()),
            "s": pa.array([None if k % 7 == 0 else f"s{k % 5}" for k in ks], pa.string()),
            "v": pa.array([None if k % 11 == 0 else Decimal(k) / 4 for k in ks], pa.decimal128(15, 2)),
        }
        pq.write_table(pa.table(columns), tmp_path / f"{place}.parquet", row_group_size=10)
    return Files((str(tmp_path / "1.parquet"), str(tmp_path / "0.parquet")), (K, S, V))


def keys(found: pa.Table | None) -> list[int]:
    assert found is not None
    values: list[int] = found.column("k").to_pylist()
    return values


class TestRows:
    def test_rows_come_in_the_order_of_the_files(self, files: Files) -> None:
        assert keys(select(files, TRUE)) == [*range(100, 200), *range(100)]
        assert keys(select(files, FALSE)) == []

    def test_a_predicate(self, files: Files) -> None:
        found = select(files, conjunction(is_(S, "s3"), is_(V, Decimal("20"), "<")))
        assert keys(found) == [k for k in range(80) if k % 5 == 3 and k % 7 and k % 11]
        assert found is not None
        assert found.schema.types == [pa.int64(), pa.string(), pa.decimal128(15, 2)]

    def test_null_is_a_value_only_where_it_is_asked_for(self, files: Files) -> None:
        nulls = [k for k in [*range(100, 200), *range(100)] if k % 7 == 0]
        assert keys(select(files, is_(S, None, "<=>"))) == nulls
        assert keys(select(files, is_(S, None))) == []
        assert keys(select(files, Not(Or((is_(S, "s1"), Not(is_(S, "s1"))))))) == []
        assert count(files, Not(IsNull(S))) == 200 - len(nulls)

    def test_identity(self, files: Files) -> None:
        found = select(files, In(K, (Literal(3, "long"), Literal(123, "long"))), identity=True, columns=(K,))
        assert found is not None
        assert found.column_names == ["k", "_row"]
        assert found.column("_row").type == pa.int64()
        assert dict(zip(*(found.column(name).to_pylist() for name in ("k", "_row")), strict=True)) == {
            123: 23,
            3: 1 << 40 | 3,
        }
        only = select(files, is_(K, 7), identity=True, columns=())
        assert only is not None
        assert only.to_pydict() == {"_row": [1 << 40 | 7]}


class TestWithATable:
    @pytest.mark.parametrize("many", [0, 1, 2, 150])
    @pytest.mark.parametrize("op", ["=", "<=>"])
    def test_keys(self, files: Files, many: int, op: str) -> None:
        table = pa.table({"t": pa.array([*range(many), *range(many)], pa.int64())})
        assert sorted(keys(select(files, Compare(op, K, T), table, (T,)))) == list(range(many))

    def test_null_in_the_table(self, files: Files) -> None:
        table = pa.table({"u": pa.array(["s1", None, "x"])})
        expected = [k for k in range(200) if k % 7 == 0 or k % 5 == 1]
        assert sorted(keys(select(files, Compare("<=>", S, U), table, (U,)))) == expected
        assert sorted(keys(select(files, Compare("=", U, S), table, (U,)))) == [k for k in expected if k % 7]

    def test_null_is_not_what_the_table_has(self, files: Files) -> None:
        table = pa.table({"u": pa.array(["s1", "s2"])})
        found = select(files, Not(Compare("<=>", S, U)), table, (U,))
        assert sorted(keys(found)) == list(
            range(200)
        )  # each differs from one of the two, those that are NULL from both
        found = select(files, Not(Compare("=", S, U)), table, (U,))
        assert sorted(keys(found)) == [k for k in range(200) if k % 7]

    def test_conditions_on_either_side(self, files: Files) -> None:
        table = pa.table({"t": pa.array([5, 6, 150, None], pa.int64()), "u": ["s0", "s1", "s0", "s0"]})
        where = conjunction(Compare("=", S, U), Compare("<", K, T), is_(U, "s0"), is_(K, 100, ">="))
        assert sorted(keys(select(files, where, table, (T, U)))) == [k for k in range(100, 150) if k % 5 == 0 and k % 7]

    def test_no_column_of_the_table_is_used(self, files: Files) -> None:
        table = pa.table({"t": pa.array([1, 1], pa.int64())})
        assert keys(select(files, is_(K, 5), table, (T,))) == [5]
        assert keys(select(files, is_(K, 5), table.slice(0, 0), (T,))) == []
        assert count(files, TRUE, table, (T,)) == 200

    def test_a_table_in_files(self, files: Files, tmp_path: Path) -> None:
        saved = tmp_path / "saved.parquet"
        pq.write_table(pa.table({"u": ["s2", "s4", "s2"], "t": pa.array([10, 20, None], pa.int64())}), saved)
        where = conjunction(Compare("=", S, U), Compare("<=", K, T))
        found = select(files, where, Files((str(saved),), (T, U)), (T, U))
        assert sorted(keys(found)) == [k for k in range(21) if k % 7 and (k % 5 == 4 or (k % 5 == 2 and k <= 10))]
