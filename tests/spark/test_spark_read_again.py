"""Rows of CSV, JSON and text files are fetched by a later program, without Spark, and are those that Spark read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import whence as wh
from whence.errors import NoLineage, SourceChanged
from whence.rows import Attr
from whence.spark.tables.read_again import Refused, read_again

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "k string, n int, x double, b boolean, d date"
COLUMNS = tuple(
    Attr(at, name, dtype)
    for at, (name, dtype) in enumerate(
        [("k", "string"), ("n", "integer"), ("x", "double"), ("b", "boolean"), ("d", "date")]
    )
)
PLAIN = "a,1,0.5,true,2024-02-29\nb,-2,1e-3,FALSE,1969-12-31\n"
# What a file holds, and whether it is read here. Whatever is read is compared with what Spark reads.
FILES = {
    "plain": (PLAIN, True),
    "nulls": (",,,,\nx,,2,,\n", True),
    "no newline at the end": (PLAIN.rstrip("\n"), True),
    "blank lines": (PLAIN + "\n\n" + PLAIN, True),
    "quoted": ('"a,b",1,2.5,true,2024-01-01\n"\'",7,1,false,\n', True),
    "other words": ("æøå — 日本,3,12345678901234567890,True,2000-01-01\n", True),
    "doubled quotes": ('"a ""b""",1,1,true,\n', False),
    "an empty string": ('"",1,1,true,\n', False),
    "a backslash": ('"a\\"b",1,1,true,\n', False),
    "a quote inside": ('a"b,1,1,true,\n', False),
    "blanks": ("a, 1,2 ,true,\n", False),
    "not a number": ("a,1,nan,true,\n", False),
    "to another base": ("a,0x10,1,true,\n", False),
    "a short row": (PLAIN + "c,1\n", False),
    "a long row": (PLAIN + "c,1,1,true,,more\n", False),
    "too large": ("a,4294967296,1,true,\n", False),
    "another date": ("a,1,1,true,01.02.2024\n", False),
    "over lines": ('"a\nb",1,1,true,\n', False),
    "carriage returns": (PLAIN.replace("\n", "\r\n"), False),
}


def test_what_is_read_here_is_what_spark_reads(spark: SparkSession, tmp_path: Path) -> None:
    for number, (name, (text, expected)) in enumerate(FILES.items()):
        path = tmp_path / f"{number}.csv"
        path.write_text(text, newline="")
        if not expected:
            with pytest.raises(Refused):
                read_again("csv", [str(path)], COLUMNS, {}, text.count("\n"))
            continue
        truth = [tuple(row) for row in spark.read.schema(SCHEMA).csv(str(path)).collect()]
        found = read_again("csv", [str(path)], COLUMNS, {}, len(truth))
        assert list(zip(*(column.to_pylist() for column in found.columns), strict=True)) == truth, name
        with pytest.raises(Refused, match="rows when read without Spark"):
            read_again("csv", [str(path)], COLUMNS, {}, len(truth) + 1)
    with pytest.raises(Refused, match="nullValue"):
        read_again("csv", [str(path)], COLUMNS, {"nullValue": "-"}, 2)


LATER = """
import sys, whence as wh
sys.modules["pyspark"] = None
with wh.open(sys.argv[1]) as log:
    for name in ("lines", "objects", "words"):
        found = log.backward(f"of {name}", [(1, 0)])[name]
        print(found.rows.tolist(), found.pandas().to_dict("records"))
    print(log.forward("lines", {"n": 3})["of lines"].cells().tolist())
"""


def test_rows_of_text_files_in_a_later_program(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "lines.csv").write_text("k;n\na;1\nb;2\nc;3\n")
    (tmp_path / "objects.json").write_text('{"k": "a", "n": 1}\n{"n": 2}\n{"k": "ü", "n": 3}\n')
    (tmp_path / "words.txt").write_text("one\n\nthree\n")
    reading: dict[str, Any] = {
        "lines": spark.read.csv(str(tmp_path / "lines.csv"), header=True, sep=";", inferSchema=True),
        "objects": spark.read.json(str(tmp_path / "objects.json")),
        "words": spark.read.text(str(tmp_path / "words.txt")),
    }
    place = tmp_path / "log.whence"
    with wh.open(place) as log:
        for name, df in reading.items():
            kept = df.where("n > 1") if name != "words" else df.where("value <> 'one'")
            log.pipeline(kept, name=f"of {name}").materialize()
    asked = [sys.executable, "-c", LATER, str(place)]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=300)
    assert answer.stdout.splitlines() == [
        "[2] [{'k': 'c', 'n': 3}]", "[2] [{'k': 'ü', 'n': 3}]", "[2] [{'value': 'three'}]", "[[1, 0], [1, 1]]",
    ], answer.stderr  # fmt: skip
    with wh.open(place) as log:
        found = log.backward("of lines", [(1, 0)])["lines"]
        (tmp_path / "lines.csv").write_text('k;n\n"a ""b""";1\nb;2\nc;3\n')
        with pytest.raises(SourceChanged, match="changed since the run"):
            found.pandas()
        (tmp_path / "odd.csv").write_text('a "b",1\nc,2\n')
        log.pipeline(spark.read.csv(str(tmp_path / "odd.csv")), name="of odd").materialize()
        with pytest.raises(NoLineage, match="a quote within a value"):
            log.backward("of odd", [(1, 0)])["odd"].pandas()
