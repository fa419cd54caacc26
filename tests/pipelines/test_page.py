"""The page that `whence bench pipelines` writes."""

from __future__ import annotations

from bench._pipeline_page import PAGE, page
from tests.pipelines.all_pipelines import PIPELINES
from tests.pipelines.asking import STAGES, Report


def test_the_page_says_where_an_answer_is_a_superset_and_why() -> None:
    found = page(
        [
            Report("one", "sql", 3, ("join", "selection"), inference=0.5, plain=1.0, run=1.5, question=0.25),
            Report("two", "spark", 4, ("join",), reasons={"before a run": "a | b"}, saved=True),
            Report("three", "pandas", 5, faults=["wrong"]),
            Report("four", "pandas", 5, reasons=dict.fromkeys(STAGES, "chance")),
        ]
    )
    assert "| one | sql | 3 | yes | 0.50 s | 0.50 s | 0.25 s |" in found
    assert "| two | spark | 4 | a superset (before a run): a / b |" in found
    assert "| three | pandas | 5 | **wrong** |" in found
    assert "| four | pandas | 5 | a superset: chance |" in found
    assert "| join | 22 | 2 |" in found
    assert "| nothing saved by a run | 65 | 3 |" in found


def test_the_page_in_the_documentation_has_all_pipelines_and_none_is_wrong() -> None:
    written = PAGE.read_text()
    assert [each.name for each in PIPELINES if f"| {each.name} | {each.kind} |" not in written] == []
    assert "**wrong**" not in written
