"""Pipelines like those of notebooks: whence against lineage that was written by hand, in pandas."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
import tests.pipelines.more_pipelines
import tests.pipelines.pandas_pipelines
import tests.pipelines.spark_pipelines  # noqa: F401  # all three fill the list
from tests.pipelines.asking import asked
from tests.pipelines.pipeline import PIPELINES, Piped
from tests.pipelines.tables import write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What pandas API on Spark advises is for others.
pytestmark = pytest.mark.filterwarnings("ignore")
EVERY = bool(os.environ.get("WHENCE_ALL_PIPELINES"))  # `make test-pipelines`
CHOSEN = PIPELINES if EVERY else PIPELINES[::4]
ROWS = 3  # of an output


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return write(tmp_path_factory.mktemp("tables"))


def test_there_is_one_of_each_name() -> None:
    assert len({each.name for each in PIPELINES}) == len(PIPELINES)
    assert all(each.expected is not None for each in PIPELINES)


@pytest.mark.parametrize("piped", CHOSEN, ids=lambda each: each.name)
def test_a_pipeline_like_those_of_notebooks(piped: Piped, spark: SparkSession, paths: dict[str, str]) -> None:
    assert asked(piped, spark, paths, ROWS).faults == []
