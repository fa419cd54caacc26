"""pandas inside tracked functions: values are those of the plain function, and lineage is exact or said not to be."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import whence as wh

X = np.array([[1.0, np.nan], [3.0, 4.0], [5.0, 6.0]])
FRAME = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0], "t": list("uvw")})


def _set_column(x: Any) -> Any:
    table = pd.DataFrame({"a": [1.0, 2.0]})
    table["m"] = x[0, 1]
    return table.isna().to_numpy().astype(float)


def _set_cell(x: Any) -> Any:
    table = pd.DataFrame({"a": [1.0, 2.0]})
    table.loc[0, "a"] = x[0, 1]
    table.at[1, "a"] = x[1, 0]
    return table["a"].dropna().to_numpy()


def _by_row(x: Any) -> Any:
    return pd.DataFrame({"k": [0, 1, 2]}).apply(lambda row: x[int(row["k"])].sum(), axis=1).to_numpy()


INSIDE: dict[str, Callable[[Any], Any]] = {
    "missing": lambda x: pd.Series([x[0, 0], x[0, 1], x[1, 0]]).dropna().to_numpy(),
    "filled": lambda x: pd.Series([x[0, 0], x[0, 1]]).fillna(0.0).sum(),
    "filled with": lambda x: pd.Series([1.0, np.nan]).fillna(x[1, 0]).to_numpy(),
    "a column": _set_column,
    "a cell": _set_cell,
    "a generator": lambda x: pd.Series(row.max() for row in x).dropna().to_numpy(),
    "described": lambda x: pd.DataFrame({"m": [row.mean() for row in x]}).describe().to_numpy(),
    "joined": lambda x: pd.concat([pd.Series([x[0, 0]]), pd.Series([x[1, 1]])]).to_numpy(),
    "of an array": lambda x: pd.DataFrame(x).rolling(2).mean().to_numpy(),
    "by row": _by_row,
    "a table": lambda x: pd.DataFrame(x * 2, columns=["a", "b"]),
    "a series": lambda x: pd.Series({"mean": x.mean(), "max": x[1].max()}),
    "objects": lambda x: np.array([x[0, 0], "text"], dtype=object),
}


@pytest.fixture
def log(tmp_path: Path) -> Iterator[wh.Log]:
    with wh.open(tmp_path / "log.whence") as opened, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield opened


@pytest.mark.parametrize("name", INSIDE)
def test_values_are_those_of_the_plain_function(log: wh.Log, name: str) -> None:
    function = INSIDE[name]
    expected, tracked = function(X), log.track(function, name="f")
    for _ in range(2):  # the second call may be reused
        result = tracked(X)
        assert type(result) is type(expected)
        if isinstance(expected, pd.DataFrame):
            pd.testing.assert_frame_equal(result, expected)
        elif isinstance(expected, pd.Series):
            pd.testing.assert_series_equal(result, expected)
        else:
            np.testing.assert_array_equal(result, expected)
            assert np.asarray(result).dtype == np.asarray(expected).dtype
    if name != "objects":  # of which there is no lineage
        answer = log.backward("f", "..." if np.ndim(expected) else "()")
        assert answer["x"].count == X.size
        assert not answer.precise


def test_tables_that_are_returned_are_linked(log: wh.Log) -> None:
    widen = log.track(lambda df: df.assign(c=df.a + df.b), name="widen")
    double = log.track(lambda df: df["c"].to_numpy() * 2, name="double")
    assert double(widen(FRAME)).tolist() == [10.0, 14.0, 18.0]
    assert double.last.inputs == widen.last.outputs
    answer = log.backward("double", "0")
    assert answer["df"].count == FRAME.size
    assert not answer.precise


def test_a_table_beside_an_array_is_recorded_too(log: wh.Log) -> None:
    both = log.track(lambda x, df: (df.describe(), x[0] * 2), name="both")
    both(X, FRAME)
    assert both.last.outputs == ("both.0", "both.1")
    assert log.backward("both.1", "1", to="x").cells().tolist() == [[0, 1]]
    answer = log.backward("both.0", "0, 0")
    assert answer["df"].count == FRAME.size
    assert any("is a table" in reason for reason in answer.notes)


def test_probing_sees_into_tables_of_numbers(log: wh.Log) -> None:
    log.track(lambda x: pd.DataFrame(x).cumsum(), name="sums", unknown="probe")(X[1:])
    assert log.backward("sums", "1, 0", to="x").cells().tolist() == [[0, 0], [1, 0]]
    log.track(lambda x: pd.DataFrame({"a": x[:, 0], "t": "u"}), name="texts", unknown="probe")(X)
    assert "only tables of numbers are probed" in str(log.backward("texts", "1, 0"))


def test_pandas_elsewhere_is_as_it_was() -> None:
    assert pd.Series(each for each in (1.0, 2.0)).tolist() == [1.0, 2.0]
    assert pd.DataFrame({"a": [1, 2]}).fillna(0)["a"].sum() == 3
