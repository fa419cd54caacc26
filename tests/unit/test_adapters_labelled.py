"""xarray in tracked functions: lineage against perturbation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import whence as wh
from whence.arrays.recording.calls import captured
from whence.testing.influence import influences

TEMPERATURE = xr.DataArray(
    np.random.default_rng(0).random((6, 4)),
    dims=("day", "place"),
    coords={"day": np.arange(6), "place": list("abcd"), "height": ("place", [1.0, 2.0, 3.0, 4.0])},
    name="temperature",
)

STEPS: dict[str, Callable[[Any], Any]] = {
    "anomaly": lambda t: t - t.mean("day"),
    "rolling": lambda t: t.rolling(day=3).mean().isel(day=slice(2, None)),
    "picked": lambda t: t.sel(place=["d", "a"]) * 2,
    "transposed": lambda t: t.transpose("place", "day").cumsum("day"),
    "sum": lambda t: t.sum(),
    "std": lambda t: t.std("day"),
    "values": lambda t: t.values[1:] - t.values[:-1],
    "data": lambda t: np.diff(t.data, axis=0),
    "shifted": lambda t: (t.shift(day=1) + t).isel(day=slice(1, None)),
    "coarse": lambda t: t.coarsen(day=2).mean(),
    "grouped": lambda t: t.groupby(t.day % 2).mean(),
    "joined": lambda t: xr.concat([t.isel(day=[0]), np.sqrt(t)], dim="day"),
    "aligned": lambda t: t + t.isel(day=slice(0, 3)),
    "products": lambda t: xr.dot(t, t, dim="place"),
    "weighted": lambda t: t.weighted(t.height).mean("place"),
    "filled": lambda t: t.fillna(0).diff("day"),
    "a data set": lambda t: xr.Dataset({"a": t + 1, "b": t.mean("day")}),
}


def on_array(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def called(x: Any) -> Any:
        found = function(TEMPERATURE.copy(data=x))
        return [each.values for each in found.values()] if isinstance(found, xr.Dataset) else np.asarray(found)

    return called


@pytest.mark.parametrize("name", STEPS)
def test_steps(name: str) -> None:
    function = STEPS[name]
    found = captured(function, (TEMPERATURE,), {}, ("t",), "f", selection=False)
    seen = influences(on_array(function), [TEMPERATURE.values])
    for output in range(len(found.outputs)):
        said = {
            tuple(each) for edge in found.edges if edge.output == output for each in edge.relation.to_array().tolist()
        }
        assert said == seen[output, 0]
    xr.testing.assert_equal(*(xr.DataArray(each) if isinstance(each, np.ndarray) else each
                              for each in (found.result, function(TEMPERATURE))))  # fmt: skip


def test_results_are_linked(tmp_path: Path) -> None:
    log = wh.open(tmp_path / "log")
    anomaly = log.track(STEPS["anomaly"], name="anomaly")
    warm = log.track(lambda a: a.max("place"), name="warm")
    result = warm(anomaly(TEMPERATURE))
    assert isinstance(result, xr.DataArray)
    assert type(result.data) is np.ndarray
    assert len(log.backward("warm", [(2,)], to="t")) == 24


def test_coordinates_that_are_read_are_inputs(tmp_path: Path) -> None:
    log = wh.open(tmp_path / "log")
    lapse = log.track(lambda t: t / t.height, name="lapse")
    lapse(TEMPERATURE)
    assert lapse.last.inputs == ("t", "t.height")
    found = log.backward("lapse", [(1, 1)])
    assert len(found["t"]) == 1
    assert len(found["t.height"]) == 4
    assert any("'t.height'" in note for note in found.notes)


def test_data_sets_are_their_variables(tmp_path: Path) -> None:
    log = wh.open(tmp_path / "log")
    total = log.track(lambda d: d.a + d.b.mean(), name="total")
    total(xr.Dataset({"a": TEMPERATURE, "b": TEMPERATURE.isel(day=0, drop=True) * 2}))
    found = log.backward("total", [(1, 1)])
    assert {name: len(found[name]) for name in total.last.inputs} == dict(zip(total.last.inputs, (1, 4), strict=True))
