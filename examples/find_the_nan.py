"""A report shows NaN: which readings are to blame, and what else did they spoil?

Eight weeks of hourly readings from eight sensors become daily means, weekly means, and one number for each sensor.
The log is told how each array was made; nothing in the computation changes.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import whence as wh

SENSORS, DAYS, HOURS = 8, 56, 24


def main(directory: Path) -> wh.Selection:
    """Compute, record, and ask."""
    readings = np.random.default_rng(5).normal(20, 3, (SENSORS, DAYS * HOURS))
    readings[3, 500:503] = np.nan  # a loose cable, one evening

    daily = readings.reshape(SENSORS, DAYS, HOURS).mean(axis=2)
    weekly = daily.reshape(SENSORS, DAYS // 7, 7).mean(axis=2)
    report = weekly.max(axis=1)

    with wh.open(directory / "sensors.whence") as log:
        for name, array in {"readings": readings, "daily": daily, "weekly": weekly, "report": report}.items():
            log.array(name, shape=array.shape)
        log.lineage("daily", "readings", lambda cell: [(cell[0], cell[1] * HOURS + hour) for hour in range(HOURS)])
        log.lineage("weekly", "daily", lambda cell: [(cell[0], cell[1] * 7 + day) for day in range(7)])
        log.lineage("report", "weekly", lambda cell: [(cell[0], week) for week in range(DAYS // 7)])

        spoiled = np.isnan(report)
        print(f"the report is {np.round(report, 1)}")
        suspects = log.backward("report", spoiled, to="readings")
        guilty = suspects & wh.Selection.from_mask(np.isnan(readings))
        print(f"it came from {len(suspects)} readings, of which {len(guilty)} are NaN: {guilty}")
        days = log.forward("readings", guilty, to="daily")
        print(f"they also spoiled {len(days)} daily mean: {days}")
    return guilty


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        main(Path(place))
