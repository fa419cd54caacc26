"""One Spark session for each process of the test run, and the TPC-H tables."""

from __future__ import annotations

import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from whence.spark import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = local_session(
        "local[2]",
        **{
            "spark.sql.shuffle.partitions": "2",
            "spark.default.parallelism": "2",
            "spark.driver.memory": "2g",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            "spark.driver.host": "127.0.0.1",
            "spark.log.level": "ERROR",
            # The tests run hundreds of queries over a few rows each: compiling them would take most of the time.
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.sql.adaptive.enabled": "false",
            # For the same reason Java's own compiler stops at its first level: a fifth less processor time.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        },
    )
    yield session
    session.stop()


@pytest.fixture(scope="session")
def tpch_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables at scale factor 0.01, as Parquet files."""
    directory = tmp_path_factory.mktemp("tpch")
    made = Path(sysconfig.get_path("scripts")) / "tpchgen-cli"
    subprocess.run(
        [made, "parquet", "-s", "0.01", "--output-dir", directory], check=True, capture_output=True, timeout=300
    )
    return directory


@pytest.fixture
def tpch(spark: SparkSession, tpch_files: Path) -> Path:
    """The same tables, also as views: anew for each test, since others call theirs alike."""
    for table in TABLES:
        spark.read.parquet(str(tpch_files / f"{table}.parquet")).createOrReplaceTempView(table)
    return tpch_files
