"""A report shows NaN: where did it start, and what else did it spoil?

Eight weeks of hourly readings from eight sensors become daily means, weekly means, and one number for each sensor. The
functions are ordinary NumPy; `log.track` is all that is added.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import whence as wh

SENSORS, DAYS, HOURS = 8, 56, 24


def daily(readings: Any) -> Any:
    """The mean of each day."""
    return readings.reshape(SENSORS, DAYS, HOURS).mean(axis=2)


def weekly(days: Any) -> Any:
    """The mean of each week."""
    return days.reshape(SENSORS, DAYS // 7, 7).mean(axis=2)


def report(weeks: Any) -> Any:
    """The highest week of each sensor."""
    return weeks.max(axis=1)


def main(directory: Path) -> wh.Selection:
    """Compute, record, and ask."""
    readings = np.random.default_rng(5).normal(20, 3, (SENSORS, DAYS * HOURS))
    readings[3, 500:503] = np.nan  # a loose cable, one evening

    with wh.open(directory / "sensors.whence") as log:
        days = log.track(daily)(readings)
        weeks = log.track(weekly)(days)
        highest = log.track(report)(weeks)

        print(f"the report is {np.round(highest, 1)}")
        suspects = log.backward("report", np.isnan(highest), to="readings")
        guilty = log.first("report", np.isnan)["readings"]
        print(f"it came from {len(suspects)} readings, of which {len(guilty)} are NaN: {guilty}")
        spoiled = log.forward("readings", guilty, to="daily")
        print(f"they also spoiled {len(spoiled)} daily mean: {spoiled}")
    return guilty


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        main(Path(place))
