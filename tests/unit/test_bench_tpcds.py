"""The changed constants of TPC-DS' queries, and the page of what was found."""

from __future__ import annotations

import pytest
from bench._tpcds_page import page
from bench._tpcds_parameters import PARAMETERS, with_parameters


def test_a_constant_is_replaced_wherever_it_stands() -> None:
    assert with_parameters(96, "where a = 'ese' or b = 'ese'") == "where a = 'ought' or b = 'ought'"
    assert with_parameters(1, "select 1") == "select 1"
    assert 1 not in PARAMETERS


def test_another_text_of_a_query_is_refused() -> None:
    with pytest.raises(ValueError, match="query 96 has no \"'ese'\""):
        with_parameters(96, "select 1")


def test_the_page_says_what_is_wrong_and_what_is_a_superset() -> None:
    known = {"rows": 3, "read": 0.1, "infer": 0.2, "precise": True, "reason": "", "trouble": []}
    found = page(
        [
            known | {"query": "q02", "trouble": ["item: 2 rows are missing"]},
            known | {"query": "q01", "precise": False, "reason": "ties | more"},
            known | {"query": "q03"},
        ],
        0.01,
    )
    assert "| q01 | 3 | 0.10 s | 0.200 s | by replay | a superset: ties / more |\n| q02 " in found
    assert "| by predicates | **wrong**: item: 2 rows are missing |" in found
    assert "Checked: 3 of 99; right: 2; marked as a superset: 1. Inference takes at most 0.20 s." in found
