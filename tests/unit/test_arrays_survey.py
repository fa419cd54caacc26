"""NumPy's functions: values are NumPy's, no cell outside the lineage matters, by rule, by tracing and on the dtype."""

from __future__ import annotations

import warnings

import pytest

from whence.testing.numpy_beyond import EVERYTHING, EXCUSED, public, unaccounted
from whence.testing.numpy_calls import PAPERS
from whence.testing.survey import dtype_verdicts, survey


@pytest.mark.parametrize("seed", range(3))
def test_no_function_is_silently_wrong(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = list(survey(seed=seed))
    assert len(rows) == len(EVERYTHING)
    assert [each for each in rows if not each.fine] == []
    assert sum(each.lineage != "refused" for each in rows) >= 0.95 * len(rows)


def test_the_dtype_is_not_silently_wrong_either() -> None:
    verdicts = dtype_verdicts(list(EVERYTHING))
    assert {name: each for name, each in verdicts.items() if each not in ("exact", "safe", "refused")} == {}
    own = {name: each for name, each in verdicts.items() if not name.startswith("polynomial.")}  # which ask for float64
    assert sum(each != "refused" for each in own.values()) >= 0.95 * len(own)


def test_the_papers_functions_are_all_there() -> None:
    assert len(PAPERS) == 136


def test_every_public_function_is_surveyed_or_excused() -> None:
    assert unaccounted() == []
    excused = {name for names in EXCUSED.values() for name in names.split()}
    assert excused - {name for name, _ in public()} == set()
    assert len(public_with_arrays := set(EVERYTHING) - excused) > 400, len(public_with_arrays)
