"""Which Parquet files DuckDB reads as Spark does, and which are left to Spark."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from whence.errors import BadType, SourceChanged
from whence.rows import FALSE, TRUE, Attr, Call, Compare, Expr, In, IsNull, Literal, Not, Or, Param, Udf
from whence.rows.duck import Files, count, select, translated
from whence.rows.duck.footers import _old_statistics
from whence.rows.duck.types import arrow_type

Write = Callable[..., Files]
MODERN = {"org.apache.spark.version": "4.0.0"}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes columns, given as (type in Spark, Arrow array), into a file."""

    def write(name: str = "t.parquet", said: dict[str, str] | None = None, **columns: tuple[str, Any]) -> Files:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        table = pa.table({key: array for key, (_, array) in columns.items()}).replace_schema_metadata(said)
        pq.write_table(table, path, row_group_size=2)
        attrs = (Attr(place, key, dtype) for place, (key, (dtype, _)) in enumerate(columns.items()))
        return Files((str(path),), tuple(attrs))

    return write


def longs(*values: int | None) -> tuple[str, Any]:
    return "long", pa.array(values, pa.int64())


def values(found: pa.Table | None, place: int = 0) -> list[Any]:
    assert found is not None
    listed: list[Any] = found.column(place).to_pylist()
    return listed


def equal(attr: Attr, value: object) -> Expr:
    return Compare("=", attr, Literal(value, attr.dtype))


class TestText:
    @pytest.mark.parametrize("text", ["it's", "''; --", '"', "é😀", "a\0b", "\0", "", "\\", "\n", "%_", "$1 ? :p"])
    def test_any_text_is_a_value(self, write: Write, text: str) -> None:
        files = write(s=("string", pa.array(["x", text, None, text + "x"])))
        (s,) = files.columns
        assert values(select(files, equal(s, text))) == [text]
        assert values(select(files, In(s, (Literal(text, "string"), Literal("y", "string"))))) == [text]
        assert text in values(select(files, Call("StartsWith", (s, Literal(text, "string")), "boolean")))

    def test_text_within_numbers(self, write: Write) -> None:
        files = write(s=("string", pa.array(["{0}'{", "x"])))
        (s,) = files.columns
        long = Call("Length", (Call("Concat", (s, Literal("{0}'{", "string")), "string"),), "integer")
        twice = Call("UnaryMinus", (Call("Add", (long, long), "integer"),), "integer")
        assert values(select(files, Compare("=", twice, Literal(-20, "integer")))) == ["{0}'{"]

    def test_very_many_values(self, write: Write) -> None:
        files = write(s=("string", pa.array([str(number) for number in range(300)])))
        (s,) = files.columns
        chosen = [str(number) for number in range(0, 3000, 2)]
        assert count(files, In(s, tuple(Literal(each, "string") for each in chosen))) == 150
        assert count(files, Or(tuple(Compare("<=>", s, Literal(each, "string")) for each in chosen))) == 150

    def test_half_of_a_character_is_no_text(self, write: Write) -> None:
        files = write(s=("string", pa.array(["x"])))
        assert select(files, equal(files.columns[0], "\ud800")) is None

    @pytest.mark.parametrize("name", ["a b", 'a"b', "select", "é", "a.b", "_row", "c0", "r", "g.k0", "filename"])
    def test_any_name_is_a_column(self, write: Write, name: str) -> None:
        files = write(**{name: longs(1, 2, 3)})
        found = select(files, equal(files.columns[0], 2), identity=True)
        assert values(found) == [2]
        assert values(found, 1) == [1]
        assert found is not None
        assert found.column_names == [name, "_row"]

    @pytest.mark.parametrize("name", ["a b", "[ab]*?.parquet", "it's", '"q"', "é", "x=1/t.parquet", "%20", "a;b"])
    def test_any_path_is_a_file(self, write: Write, name: str) -> None:
        other = write("a.parquet", k=longs(7))
        files = write(name, k=longs(1, 2))
        assert values(select(files, TRUE)) == [1, 2]
        both = Files((*files.paths, *other.paths), files.columns)
        assert values(select(both, TRUE, identity=True), 1) == [0, 1, 1 << 40]

    def test_text_that_is_not_utf8(self, write: Write) -> None:
        raw = pa.array([b"a", b"\xff\xfe"], pa.binary())
        files = write(s=("string", pa.Array.from_buffers(pa.string(), 2, raw.buffers())), k=longs(1, 2))
        s, k = files.columns
        assert select(files, equal(s, "a")) is None
        assert values(select(files, equal(k, 2), columns=(k,))) == [2]

    def test_a_pattern_with_an_escape(self, write: Write) -> None:
        files = write(s=("string", pa.array(["a%", "ab"])))
        (s,) = files.columns
        for pattern, expected in (("a%", ["a%", "ab"]), ("a\\%", None)):
            like = Call("Like", (s, Literal(pattern, "string")), "boolean", "escapeChar=\\")
            found = select(files, like)
            assert (found if expected is None else values(found)) == expected


class TestNumbers:
    def test_nan_is_the_largest_though_the_footer_does_not_tell(self, write: Write) -> None:
        nan = float("nan")
        files = write(x=("double", pa.array([1.0, nan, 2.0, -0.0, nan, None])), k=longs(*range(6)))
        x, k = files.columns

        def rows(op: str, value: float) -> list[int]:
            return values(select(files, Compare(op, x, Literal(value, "double")), columns=(k,)))

        assert rows(">", 5.0) == [1, 4]
        assert rows("=", nan) == rows("<=>", nan) == rows(">=", nan) == [1, 4]
        assert rows("=", 0.0) == [3]
        negative = Compare(">=", Call("UnaryMinus", (x,), "double"), Literal(nan, "double"))
        assert select(files, negative) is None  # DuckDB would take it for x <= NaN
        table = pa.table({"y": [nan, 0.0, 7.0, 8.0]})
        y = Attr(9, "y", "double")
        assert sorted(values(select(files, Compare("=", x, y), table, (y,), columns=(k,)))) == [1, 3, 4]

    def test_a_value_that_its_type_cannot_hold(self, write: Write) -> None:
        files = write(k=longs(1))
        (k,) = files.columns
        assert select(files, equal(k, 1 << 63)) is None
        assert select(files, Compare("=", k, Literal(1, "integer"))) is None  # of another type: who casts, and how?
        assert select(files, equal(k, True)) is None
        assert select(files, equal(k, "1")) is None

    def test_an_overflow_is_left_to_spark(self, write: Write) -> None:
        files = write(k=longs(1, 2), m=longs((1 << 63) - 1, 1))
        k, m = files.columns
        added = Call("Add", (k, m), "long", "evalContext=NumericEvalContext(ANSI,true)")
        assert select(files, Compare("<", added, Literal(0, "long"))) is None
        deep: Expr = k
        for _ in range(40):
            deep = Call("Add", (deep, k), "long")
        assert select(files, Compare("=", deep, Literal(41, "long"))) is None  # it would be a very long query
        twice = Compare("=", Call("Add", (k, k), "long"), Literal(4, "long"))
        assert values(select(files, twice)) == [2]


class TestTypes:
    @pytest.mark.parametrize(
        ("dtype", "array"),
        [
            ("long", pa.array([1], pa.int32())),
            ("integer", pa.array([1], pa.int64())),
            ("long", pa.array([1], pa.uint32())),
            ("decimal(20,0)", pa.array([1], pa.uint64())),
            ("decimal(10,2)", pa.array([1], pa.decimal128(15, 2))),
            ("string", pa.array([b"a"], pa.binary())),
            ("binary", pa.array(["a"])),
            ("timestamp_ntz", pa.array([1], pa.timestamp("ns"))),
            ("timestamp_ntz", pa.array([1], pa.timestamp("ms"))),
            ("timestamp_ntz", pa.array([1], pa.timestamp("us", "UTC"))),
            ("timestamp", pa.array([1], pa.timestamp("us"))),
            ("string collate UTF8_LCASE", pa.array(["a"])),
            ("interval day", pa.array([1], pa.int64())),
            ("variant", pa.array([b"a"], pa.binary())),
        ],
    )
    def test_a_type_that_is_not_the_one_of_the_file(self, write: Write, dtype: str, array: Any) -> None:
        files = write(x=(dtype, array), k=longs(1))
        x, k = files.columns
        assert select(files, TRUE) is None
        assert select(files, IsNull(x), columns=(k,)) is None
        assert values(select(files, TRUE, columns=(k,))) == [1]

    @pytest.mark.parametrize(
        ("said", "known"),
        [
            (MODERN, True),
            ({"org.apache.spark.version": "3.1.0"}, True),
            ({"org.apache.spark.version": "3.0.3"}, False),
            ({**MODERN, "org.apache.spark.legacyINT96": ""}, False),
            (None, False),
        ],
    )
    def test_instants_in_the_old_form(self, tmp_path: Path, said: dict[str, str] | None, known: bool) -> None:
        paths = tuple(str(tmp_path / name) for name in ("old.parquet", "new.parquet"))
        days = [datetime(1, 1, 1, tzinfo=UTC), datetime(2024, 3, 31, 1, 30, 0, 1, tzinfo=UTC)]
        table = pa.table({"t": pa.array(days, pa.timestamp("us", "UTC"))}).replace_schema_metadata(said)
        pq.write_table(table, paths[0], use_deprecated_int96_timestamps=True)
        pq.write_table(table.replace_schema_metadata(MODERN), paths[1])
        t = Attr(1, "t", "timestamp")
        for chosen in (paths[:1], paths, paths[::-1]):
            found = select(Files(chosen, (t,)), equal(t, days[1]), identity=True)
            assert (found is not None) is known
            if known:
                assert values(found) == [days[1]] * len(chosen)
                assert values(found, 1) == [place << 40 | 1 for place in range(len(chosen))]
        assert select(Files(paths[:1], (Attr(1, "t", "timestamp_ntz"),)), TRUE) is None

    @pytest.mark.parametrize(
        ("said", "day", "known"),
        [
            (None, date(1582, 10, 15), True),
            (None, date(1582, 10, 14), False),
            (MODERN, date(1, 1, 1), True),
            ({"org.apache.spark.version": "2.4.8"}, date(2024, 1, 1), False),
            ({**MODERN, "org.apache.spark.legacyDateTime": ""}, date(2024, 1, 1), False),
            (None, None, True),
        ],
    )
    def test_days_that_writers_count_differently(
        self, write: Write, said: dict[str, str] | None, day: date | None, known: bool
    ) -> None:
        files = write(said=said, d=("date", pa.array([date(2024, 1, 1), None, day], pa.date32())))
        assert (select(files, TRUE) is not None) is known

    def test_instants(self, write: Write) -> None:
        old, new = datetime(1899, 1, 1, tzinfo=UTC), datetime(2024, 3, 31, 1, 30, tzinfo=UTC)
        kind = pa.timestamp("us", "Europe/Berlin")
        assert select(write(t=("timestamp", pa.array([old], kind))), TRUE) is None
        files = write(t=("timestamp", pa.array([new, None], kind)))
        (t,) = files.columns
        assert values(select(files, equal(t, new))) == [new]
        assert select(files, equal(t, new.replace(tzinfo=None))) is None  # whose local time?

    def test_nested_columns_come_back_as_they_are(self, write: Write) -> None:
        struct = (
            '{"type":"struct","fields":[{"name":"a b","type":"integer","nullable":true,"metadata":{}},'
            '{"name":"l","type":{"type":"array","elementType":"string","containsNull":true},'
            '"nullable":true,"metadata":{}}]}'
        )
        mapped = '{"type":"map","keyType":"string","valueType":"date","valueContainsNull":true}'
        inner = pa.struct([("a b", pa.int32()), ("l", pa.list_(pa.string()))])
        rows: list[Any] = [{"a b": 1, "l": ["x", None]}, None, {"a b": None, "l": []}]
        dates = [[("k", date(2024, 1, 1))], [], None]
        files = write(
            k=longs(1, 2, 3),
            s=(struct, pa.array(rows, inner)),
            m=(mapped, pa.array(dates, pa.map_(pa.string(), pa.date32()))),
        )
        k, s, _ = files.columns
        found = select(files, Compare(">=", k, Literal(2, "long")))
        assert values(found, 1) == rows[1:]
        assert values(found, 2) == dates[1:]
        assert found is not None
        assert found.schema.types == [arrow_type(attr.dtype) for attr in files.columns]
        assert select(files, IsNull(s)) is None
        other = struct.replace('"a b"', '"A b"')
        assert select(Files(files.paths, (Attr(5, "s", other),)), TRUE) is None

    def test_old_statistics(self) -> None:
        assert _old_statistics("parquet-mr version 1.8.2 (build abc)")
        assert not _old_statistics("parquet-mr version 1.17.0 (build abc)")


class TestFiles:
    def test_columns_that_the_directory_says(self, write: Write) -> None:
        files = write("k=5/t.parquet", k=longs(1), v=longs(2))
        v = files.columns[1]
        assert select(files, TRUE) is None
        assert values(select(files, TRUE, columns=(v,))) == [2]
        assert select(Files(files.paths, (v, Attr(9, "p", "long"))), TRUE) is None

    def test_files_of_different_kinds(self, write: Write) -> None:
        one = write("1.parquet", k=longs(1), v=longs(2))
        swapped = write("2.parquet", v=longs(3), k=longs(4))
        assert values(select(Files(one.paths + swapped.paths, one.columns), TRUE), 1) == [2, 3]
        for name, columns in (
            ("3.parquet", {"k": longs(4)}),
            ("4.parquet", {"k": longs(4), "v": ("integer", pa.array([3], pa.int32()))}),
        ):
            other = write(name, **columns)
            assert select(Files(one.paths + other.paths, one.columns), TRUE) is None

    def test_names_that_differ_in_case(self, write: Write) -> None:
        files = write(k=longs(1), K=longs(2))
        assert select(files, TRUE, columns=files.columns[:1]) is None
        files = write("other.parquet", K=longs(2))
        assert select(Files(files.paths, (Attr(1, "k", "long"),)), TRUE) is None

    def test_a_column_called_as_duckdb_counts(self, write: Write) -> None:
        files = write(file_row_number=longs(7, 8))
        assert select(files, TRUE, identity=True) is None
        assert values(select(files, TRUE)) == [7, 8]

    def test_a_file_twice(self, write: Write) -> None:
        files = write(k=longs(1))
        assert select(Files(files.paths * 2, files.columns), TRUE) is None

    def test_a_file_that_changes(self, write: Write) -> None:
        files = write(k=longs(1))
        assert values(select(files, TRUE)) == [1]
        assert values(select(write(k=longs(2, 3)), TRUE)) == [2, 3]
        write(k=("string", pa.array(["x"])))
        assert select(files, TRUE) is None

    def test_a_file_that_is_gone_or_damaged(self, write: Write) -> None:
        files = write(k=longs(1, 2, 3))
        path = Path(files.paths[0])
        path.write_bytes(path.read_bytes()[:-9])
        assert select(files, TRUE) is None
        path.unlink()
        with pytest.raises(SourceChanged, match="t.parquet no longer exists"):
            select(files, TRUE)

    def test_a_file_that_is_elsewhere(self) -> None:
        for path in ("s3://bucket/t.parquet", "t.parquet", "https://host/t.parquet", "/a\0b", "/a\udcff"):
            assert select(Files((path,), (Attr(1, "k", "long"),)), TRUE) is None

    def test_no_rows(self, write: Write) -> None:
        files = write(k=longs(), s=("string", pa.array([], pa.string())))
        assert count(files, TRUE) == 0
        found = select(files, TRUE, identity=True)
        assert found is not None
        assert found.schema.types == [pa.int64(), pa.string(), pa.int64()]


class TestBadQuestions:
    def test_columns(self, write: Write) -> None:
        files = write(k=longs(1))
        (k,), other = files.columns, Attr(9, "other", "long")
        table = pa.table({"t": [1]})
        with pytest.raises(BadType, match="unknown columns: other#9"):
            select(files, IsNull(other))
        with pytest.raises(BadType, match="no column other#9"):
            select(files, TRUE, columns=(other,))
        with pytest.raises(BadType, match="no columns were requested"):
            select(files, TRUE, columns=())
        with pytest.raises(BadType, match="share columns: k#0"):
            select(files, TRUE, table, (k,))
        with pytest.raises(BadType, match="1 columns, and 2 are named"):
            select(files, TRUE, table, (other, Attr(10, "more", "long")))
        with pytest.raises(BadType, match="without the table"):
            select(files, TRUE, None, (other,))
        with pytest.raises(BadType, match="no files"):
            Files((), (k,))
        with pytest.raises(BadType, match="occurs twice"):
            Files(files.paths, (k, k))

    def test_a_table_of_another_type(self, write: Write) -> None:
        files = write(k=longs(1), s=("string", pa.array(["x"])))
        k, s = files.columns
        t, u = Attr(8, "t", "long"), Attr(9, "u", "string")
        assert select(files, Compare("=", k, t), pa.table({"t": pa.array([1], pa.int32())}), (t,)) is None
        for kind in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
            table = pa.table({"u": pa.array(["x", None]).cast(kind)})
            assert values(select(files, Compare("=", s, u), table, (u,))) == [1]

    def test_what_is_outside(self) -> None:
        k, s = Attr(1, "k", "long"), Attr(2, "s", "string")
        names = {k: "k", s: "s"}
        text = Literal("x", "string")
        for outside in (
            Compare("=", k, Param("p", "long")),
            Compare("=", k, Attr(7, "gone", "long")),
            Udf("PythonUDF", (k,), "boolean"),
            Call("RLike", (s, text), "boolean"),
            Compare("=", Call("InitCap", (s,), "string"), text),
            IsNull(Call("Cast", (s,), "date")),
            Compare("=", Call("Substring", (s, Literal(0, "integer"), Literal(1, "integer")), "string"), text),
            Compare("=", Call("Substring", (s, Literal(-1, "integer"), Literal(1, "integer")), "string"), text),
            In(k, ()),
            Call("Like", (s, s), "boolean", "escapeChar=\\"),
            k,
        ):
            assert translated(outside, names) is None, str(outside)
            assert translated(Not(outside), names) is None
        assert translated(FALSE, {}) == "FALSE"


def test_many_threads(write: Write) -> None:
    files = write(k=longs(*range(100)))
    (k,), t = files.columns, Attr(9, "t", "long")

    def ask(number: int) -> list[Any]:
        table = pa.table({"t": pa.array([number, number + 1], pa.int64())})
        return sorted(values(select(files, Compare("=", k, t), table, (t,))))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(90))) == [[number, number + 1] for number in range(90)]


FORKED = """
import os, sys
from whence.rows import TRUE, Attr
from whence.rows.duck import Files, count
assert not {"duckdb", "pyarrow", "pyspark"} & set(sys.modules)
files = Files((sys.argv[1],), (Attr(1, "k", "long"),))
assert count(files, TRUE) == 3
child = os.fork()
if not child:
    os._exit(count(files, TRUE))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
"""


def test_a_forked_process_asks_too_and_nothing_is_loaded_before_it_is_needed(write: Write) -> None:
    files = write(k=longs(1, 2, 3))
    command = [sys.executable, "-W", "ignore", "-c", FORKED, files.paths[0]]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
