"""Functions of whole columns, looked into: each is compared with pandas, by itself and in a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from whence.rows import Inside
from whence.rows.functions import Untranslated, translate_columns

RATES = {"eur": 1.0, "nok": 0.09}
NAMES = {"a": "Anna", "b": "Bo"}
NOTHING: Any = None


def taxed(x: pd.Series, y: pd.Series) -> pd.Series:
    rate = 1.25
    total = x.fillna(0) * rate + y
    return total


def banded(x: pd.Series) -> pd.Series:
    return pd.Series(np.where(x < 10, "low", np.where(x < 100, "middle", "high")))


def flagged(x: pd.Series) -> pd.Series:
    mask = (x > 3) & ~x.isna() | (x == -1)
    return pd.Series(np.where(mask, 1, 0))


def cleaned(s: pd.Series) -> pd.Series:
    return s.str.strip().str.lower().str.replace("-", "_", regex=False).fillna("none")


def limited(x: pd.Series) -> pd.Series:
    import numpy as np

    return pd.Series(np.where(x.between(0, 5), x, -x.abs())).clip(-100, upper=4.5)


LOOKED_INTO: list[tuple[Any, list[str], str]] = [
    (taxed, ["double", "double"], "double"),
    (banded, ["double"], "string"),
    (flagged, ["double"], "long"),
    (flagged, ["double"], "double"),
    (cleaned, ["string"], "string"),
    (limited, ["double"], "double"),
    (lambda s: s.map(RATES), ["string"], "double"),
    (lambda s: s.map(NAMES), ["string"], "string"),
    (lambda s: s.isin(["a", "b"]), ["string"], "boolean"),
    (lambda s: s != "a", ["string"], "boolean"),
    (lambda s: s.str.startswith("ab", na=False) | s.str.contains("x", regex=False, na=False), ["string"], "boolean"),
    (lambda s: s.where(s.notna(), "?") + "!", ["string"], "string"),
    (lambda s: s.str.len() / 2, ["string"], "double"),
    (lambda x: x.mask(x < 0, 0.0), ["double"], "double"),
    (lambda x: pd.Series(np.where(pd.isna(x), NOTHING, "there")), ["double"], "string"),
]

REFUSED: list[tuple[Any, list[str], str, str]] = [
    (lambda x: x - x.mean(), ["double"], "double", "mean"),
    (lambda x: x.cumsum(), ["double"], "double", "cumsum"),
    (lambda x, y: x / y, ["double", "double"], "double", "may be zero"),
    (lambda x: x + 1, ["long"], "long", "changes its type in pandas"),
    (lambda s: s < "b", ["string"], "boolean", "the order of strings"),
    (lambda s: s.str.startswith("a"), ["string"], "boolean", "na=False"),
    (lambda s: s.str.replace("a+", "b", regex=True), ["string"], "string", "regular expression"),
    (lambda s: s.map({"a": 1}), ["string"], "double", "all strings or all floats"),
    (lambda s: pd.Series(np.where(s == "a", "x\0", "y")), ["string"], "string", "drops"),
    (lambda x: 3.0, ["double"], "double", "not a column"),
    (lambda x: pd.Series(sorted(x)), ["double"], "double", "sorted"),
]


@pytest.mark.parametrize(("function", "arguments", "returns"), LOOKED_INTO)
def test_it_is_looked_into(function: Any, arguments: list[str], returns: str) -> None:
    found = translate_columns(function, arguments, returns)
    assert isinstance(found, Inside), str(found)


@pytest.mark.parametrize(("function", "arguments", "returns", "why"), REFUSED)
def test_it_stays_opaque(function: Any, arguments: list[str], returns: str, why: str) -> None:
    found = translate_columns(function, arguments, returns)
    assert isinstance(found, Untranslated)
    assert why in str(found)


def test_a_wrong_translation_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each translation is compared with pandas: here text is cut where it should be made small."""
    from whence.rows.functions import texts

    monkeypatch.setitem(texts.METHODS, "lower", texts.METHODS["strip"])
    found = translate_columns(lambda s: s.str.lower(), ["string"], "string")
    assert "its translation gives another result" in str(found)
