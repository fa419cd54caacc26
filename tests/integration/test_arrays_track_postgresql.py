"""Tracked calls with the catalog in PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import whence as wh


def test_calls_and_views_in_postgresql(postgresql_url: str, tmp_path: Path) -> None:
    with wh.open(postgresql_url, blobs=str(tmp_path)) as log:

        @log.track
        def smooth(a: Any) -> Any:
            return (a[1:] + a[:-1]) / 2

        x = np.arange(9.0)
        for _ in range(4):
            x = smooth(x)
        for _ in range(3):
            smooth(np.ones(9))
        assert log.backward("smooth#4", [(0,)], to="a").cells().ravel().tolist() == [0, 1, 2, 3, 4]
        assert len(log.operations()) == 7
        (view,) = [each for each in log.views() if each.level == "dim" and each.hits]
        assert view.hits == 3
        log.lineage("smooth", "a", wh.explain.from_weights(np.eye(8, 9), (8,), (9,), levels=(0.5,)))
        assert log.contributions("smooth", "a").levels == (0.5,)
        assert log.check().ok
