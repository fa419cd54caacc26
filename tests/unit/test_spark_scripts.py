"""Files of pipelines, as far as they can be read without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from whence.errors import BadType, SourceChanged
from whence.spark.sessions.failures import sentence
from whence.spark.sessions.scripts import read_source, statements


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("select 1", ["select 1"]),
        ("select 1;", ["select 1"]),
        ("a;;b", ["a", "b"]),
        ("a -- one; two\n;b", ["a -- one; two", "b"]),
        ("a /* ;\n; */ ; b", ["a /* ;\n; */", "b"]),
        ("select ';', \"a;\", `c;d`; e", ["select ';', \"a;\", `c;d`", "e"]),
        (r"select 'it\'s;'; e", [r"select 'it\'s;'", "e"]),
        ("select 'it''s;'; e", ["select 'it''s;'", "e"]),
        ("-- nothing; at all\n/* ; */ ;\n", []),
    ],
)
def test_statements_end_where_they_end(text: str, found: list[str]) -> None:
    assert [each.strip() for each in statements(text)] == found


def test_statements_stay_on_their_lines() -> None:
    text = "create view v as\n  select 1;\n\nselect\n  oops;"
    last = list(statements(text))[-1]
    assert last.splitlines()[4] == text.splitlines()[4].rstrip(";")


def test_what_spark_says_is_cut_to_a_sentence() -> None:
    said = "\n[PARSE_SYNTAX_ERROR] Syntax error at or near 't': extra input 't'. SQLSTATE: 42601 (line 1, pos 13)\n"
    assert sentence(said) == "Syntax error at or near 't': extra input 't'."
    worker = "An exception was thrown.\nTraceback (most recent call last):\n  File x\nValueError: not this one\n"
    assert sentence(worker) == "ValueError: not this one"


def test_a_name_says_how_it_is_read(tmp_path: Path) -> None:
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    for name in ("a.csv", "b.orc", "_SUCCESS"):
        (mixed / name).touch()
    with pytest.raises(BadType, match=r"mixed: the format is not known"):
        read_source(None, str(mixed))  # type: ignore[arg-type]  # no session is needed to see that
    with pytest.raises(SourceChanged, match="there is no file or directory"):
        read_source(None, str(tmp_path / "gone.csv"))  # type: ignore[arg-type] # refused on purpose
