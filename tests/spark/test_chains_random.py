"""Random chains of Spark, NumPy and Spark: answers are those of the oracles of all steps, one after the other.

A chain costs seconds: `WHENCE_CHAINS=300` tries as many, others each day; without it none is tried.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import whence as wh
from whence.testing.chains import Chain, Jury, Recorded, asked_at_random
from whence.testing.chains.chain import Unjudged
from whence.testing.strategies.programs import chains

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MANY = "WHENCE_CHAINS" in os.environ
EXAMPLES = int(os.environ.get("WHENCE_CHAINS", "2"))
SEED = int(os.environ["WHENCE_SEED"])
QUESTIONS = 5


@pytest.mark.skipif(not MANY, reason="WHENCE_CHAINS says how many chains to try")
@seed(SEED)
@settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(chains(), st.randoms(use_true_random=False))
def test_random_chains(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, chain: Chain, random: Any
) -> None:
    print(f"repeat this with WHENCE_CHAINS={EXAMPLES} WHENCE_SEED={SEED}")  # pytest shows it if the test fails
    checked(spark, chain, random, tmp_path_factory.mktemp("chain"))


def checked(spark: SparkSession, chain: Chain, random: Any, folder: Path) -> tuple[int, int]:
    """Ask about a chain; how many answers were precise, and how many said that they are not."""
    with wh.open(folder / "chain.whence") as log:
        try:
            recorded = Recorded.of(chain, spark, log, folder)
        except Unjudged:
            return 0, 0
        if not chain.later:
            return asked(recorded, log, random)
    with wh.open(folder / "chain.whence") as log:
        return asked(recorded, log, random)


def asked(recorded: Recorded, log: wh.Log, random: Any) -> tuple[int, int]:
    jury = Jury(recorded, log)
    for _ in range(QUESTIONS):
        question = asked_at_random(recorded, random)
        if question is not None:
            faults = jury.faults(*question)
            assert not faults, "\n".join(faults)
    return jury.precise, jury.superset
