"""Read the rows of text files again without Spark, but only if there is a single way to read them.

CSV readers differ in how they read quotes within quotes, blanks around numbers, words for NaN, and rows that are too
short. A file without any of these reads the same everywhere. A file with any of them is refused, with the reason; so is
a file whose number of rows is not the one that the run counted.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.rows.duck.types import arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.rows import Attr

MOST = 256 << 20  # the most bytes that are read for a question
NUMBERS = frozenset({"byte", "short", "integer", "long", "float", "double"})
KNOWN = NUMBERS | {"string", "boolean", "date"}
BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
PACKED = (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate", ".xz")
HARMLESS = frozenset({"header", "sep", "delimiter", "inferschema", "samplingratio", "enforceschema", "path", "paths"})
OFF = {"wholetext": "false", "multiline": "false"}
TRUE, FALSE = ["true", "True", "TRUE"], ["false", "False", "FALSE"]

# Patterns that CSV readers treat differently; `S` is replaced with the separator.
DOUBTS = (
    (rb"\r", "a carriage return"),
    (rb"\\", "a backslash"),
    (rb'""', "a quote beside another"),
    (rb'[^S\n]"[^S\n]', "a quote within a value"),
)
OF_NUMBERS = (
    (rb'(?:^|[S\n"])[ \t]|[ \t](?:$|[S\n"])', "a blank beside a separator"),
    (rb'(?i)(?:^|[S\n"])[-+]?(?:nan|inf|0x)', "a number in words, or to another base"),
)


class Refused(Exception):
    """Why files are not read here. The caller catches it."""


def read_again(
    format: str, paths: Sequence[str], columns: Sequence[Attr], options: Mapping[str, str], rows: int
) -> pa.Table:
    """Return the rows of all files, in order, with columns `c0`, `c1` ...; or raise Refused."""
    import pyarrow as pa

    reader = READERS.get(format)
    if reader is None:
        raise Refused(f"only Spark can read files of the format {format}")
    strange = sorted(
        key for key, value in options.items() if key.lower() not in HARMLESS and value.lower() != OFF.get(key.lower())
    )
    if strange:
        raise Refused(f"they were read with the option {strange[0]!r}")
    other = [attr for attr in columns if attr.dtype not in KNOWN]
    if other:
        raise Refused(f"column {other[0].name!r} has the type {other[0].dtype}")
    if sum(Path(path).stat().st_size for path in paths) > MOST or any(path.endswith(PACKED) for path in paths):
        raise Refused("they are compressed, or large")
    given = {key.lower(): value for key, value in options.items()}
    try:
        parts = [reader(Path(path).read_bytes(), columns, given) for path in paths]
    except (pa.ArrowInvalid, UnicodeDecodeError, ValueError) as error:
        raise Refused(str(error).split("\n")[0]) from error
    made = pa.concat_tables(parts)
    if made.num_rows != rows:
        raise Refused(f"they have {made.num_rows:,} rows when read without Spark, but had {rows:,} in the run")
    return made


def _csv(data: bytes, columns: Sequence[Attr], options: Mapping[str, str]) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    sep = options.get("sep", options.get("delimiter", ","))
    if len(sep) != 1 or not sep.isascii() or sep in '"\n\\':
        raise Refused(f"the separator is {sep!r}")
    _require_plain(data, sep, any(attr.dtype != "string" for attr in columns))
    names = [f"c{at}" for at in range(len(columns))]
    if not data.strip():
        return _typed({name: [] for name in names}, columns)
    header = options.get("header", "false").lower() == "true"
    body = data.split(b"\n", 1)[1] if header and b"\n" in data else b"" if header else data
    if not body.strip():
        return _typed({name: [] for name in names}, columns)
    return csv.read_csv(
        io.BytesIO(body),
        read_options=csv.ReadOptions(column_names=names, use_threads=False),
        parse_options=csv.ParseOptions(delimiter=sep, double_quote=False, newlines_in_values=False),
        convert_options=csv.ConvertOptions(
            check_utf8=True,
            column_types={name: arrow_type(attr.dtype) for name, attr in zip(names, columns, strict=True)},
            null_values=[""],
            true_values=TRUE,
            false_values=FALSE,
            strings_can_be_null=True,
            timestamp_parsers=[],
        ),
    ).cast(pa.schema([(name, arrow_type(attr.dtype)) for name, attr in zip(names, columns, strict=True)]))


def _require_plain(data: bytes, sep: str, numbers: bool) -> None:
    """Raise if the file has something that can be read in several ways."""
    if data.startswith(b"\xef\xbb\xbf"):
        raise Refused("a file begins with a byte order mark")
    between = re.escape(sep.encode())
    for pattern, what in DOUBTS + (OF_NUMBERS if numbers else ()):
        if re.search(pattern.replace(b"S", between), data):
            raise Refused(f"a file holds {what}")
    if b'"' in data and any(line.count(b'"') % 2 for line in data.split(b"\n")):
        raise Refused("a value goes over several lines")


def _text(data: bytes, columns: Sequence[Attr], options: Mapping[str, str]) -> pa.Table:
    if b"\r" in data or len(columns) != 1 or columns[0].dtype != "string":
        raise Refused("a file holds a carriage return, or has more columns than its text")
    lines = data.decode().split("\n")
    return _typed({"c0": lines[:-1] if lines[-1] == "" else lines}, columns)


def _json(data: bytes, columns: Sequence[Attr], options: Mapping[str, str]) -> pa.Table:
    """Read one object per line. Values must have exactly the types of the columns."""
    if b"\r" in data:
        raise Refused("a file holds a carriage return")
    held: list[list[Any]] = [[] for _ in columns]
    for line in data.decode().split("\n"):
        if not line.strip():
            continue
        row = json.loads(line, object_pairs_hook=_once, parse_constant=_no_constant)
        if not isinstance(row, dict):
            raise Refused("a line is not an object")
        for values, attr in zip(held, columns, strict=True):
            values.append(_fitting(row.get(attr.name), attr))
    return _typed({f"c{at}": values for at, values in enumerate(held)}, columns)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key.lower() for key, _ in pairs}) < len(pairs):
        raise Refused("an object has a name twice")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise Refused(f"a file holds {name}")


def _fitting(value: Any, attr: Attr) -> Any:
    if value is None:
        return None
    kind = type(value)
    if attr.dtype in BITS:
        fits = kind is int and -(1 << BITS[attr.dtype] - 1) <= value < 1 << BITS[attr.dtype] - 1
    elif attr.dtype in ("float", "double"):
        fits = kind is float or (kind is int and abs(value) < 1 << 24)
    else:
        fits = kind is {"string": str, "boolean": bool}.get(attr.dtype)
    if not fits:
        raise Refused(f"a value of {attr.name!r} is not written as {attr.dtype}")
    return value


def _typed(held: Mapping[str, list[Any]], columns: Sequence[Attr]) -> pa.Table:
    import pyarrow as pa

    kinds = [arrow_type(attr.dtype) for attr in columns]
    return pa.table({name: pa.array(held[name], kind) for name, kind in zip(held, kinds, strict=True)})


READERS: dict[str, Callable[[bytes, Sequence[Attr], Mapping[str, str]], pa.Table]] = {
    "csv": _csv,
    "text": _text,
    "json": _json,
}
