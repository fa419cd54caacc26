"""Everyday Python functions: how many whence translates, compared with PySpark's own transpiler, and how fast."""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that `python bench/NAME.py` finds `bench`
from bench._common import Claim, Progress, check_size, claim, main, quiet

from whence.rows import Inside
from whence.rows.functions import translate
from whence.rows.functions.checking import disagreement
from whence.testing.everyday import EVERYDAY

ALLOWED = 2  # functions that may stay opaque
SECONDS = 1.0


def run(size: str = "small", progress: Progress = quiet) -> list[Claim]:
    """The list of everyday functions: which stay opaque, and the time that looking into one takes at most."""
    peers = None if check_size(size) == "tiny" else transpiled(progress)
    opaque, slowest, right, reasons = 0, 0.0, True, {}
    for each in EVERYDAY:
        progress(each.name)
        start = time.perf_counter()
        found = translate(each.function, each.arguments, each.returns)
        slowest = max(slowest, time.perf_counter() - start)
        if isinstance(found, Inside):
            right &= not disagreement(each.function, found.parameters, found.value, found.domain, each.returns, "arrow")
        else:
            opaque += 1
        reasons[each.name] = "looked into" if isinstance(found, Inside) else str(found)
    others = len(EVERYDAY) - 6 if peers is None else len(EVERYDAY) - len(peers)
    return [
        claim(
            f"everyday functions that stay opaque, of {len(EVERYDAY)}",
            opaque,
            {"PySpark's transpiler": others},
            unit="functions",
            at_most=ALLOWED,
            true=right,
            reasons=reasons,
            transpiled=peers,
        ),
        claim("looking into a function, at most", slowest, {"allowed": SECONDS}, unit="s", at_most=SECONDS),
    ]


def transpiled(progress: Progress) -> list[str]:
    """Return the functions that this version of PySpark's own transpiler converts to expressions."""
    from pyspark.sql import functions as F

    from whence.spark import local_session

    progress("PySpark's transpiler")
    spark = local_session("local[1]", **{"spark.log.level": "ERROR"})
    spark.conf.set("spark.sql.experimental.optimizer.transpilePyUDFs", "true")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns about functions that it cannot convert
            return [each.name for each in EVERYDAY if _lowered(F.udf(each.function, each.returns, useArrow=False))]
    finally:
        spark.conf.unset("spark.sql.experimental.optimizer.transpilePyUDFs")
        spark.stop()


def _lowered(udf: Any) -> bool:
    made = getattr(udf, "_unwrapped", udf)
    return bool(made.transpiled)


def plot(claims: list[Claim], directory: Path) -> list[Path]:
    """Draw how many functions stay opaque."""
    import matplotlib.pyplot as plt

    counts = {"whence": claims[0]["ours"], **claims[0]["baselines"]}
    figure, axes = plt.subplots(figsize=(4, 3))
    axes.bar(list(counts), list(counts.values()))
    axes.set_ylabel("functions that stay opaque")
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / "functions.png"
    figure.savefig(target, bbox_inches="tight")
    plt.close(figure)
    return [target]


if __name__ == "__main__":
    main(run, plot)
