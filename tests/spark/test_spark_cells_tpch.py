"""TPC-H over tables of a few thousand rows: the cells of every output row are those that the interpreter finds.

Each query takes the interpreter seconds, so three are tried. `python tests/spark/test_spark_cells_tpch.py` tries all.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from whence.spark.pipeline import Pipeline
from whence.testing.table_cells.spark import differences, interpreted, rewritten, tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = Path(__file__).with_name("queries")
TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
ALL = tuple(path.stem for path in sorted(QUERIES.glob("q*.sql")))
TRIED = ("q13", "q16", "q22")  # left join and groups of groups; distinct and NOT IN; scalar subquery and NOT EXISTS


@pytest.fixture(scope="module")
def small_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("tpch"))


def made(folder: Path) -> Path:
    """The tables at scale factor 0.001."""
    generator = Path(sysconfig.get_path("scripts")) / "tpchgen-cli"
    command = [str(generator), "parquet", "-s", "0.001", "--output-dir", str(folder)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return folder


@pytest.mark.parametrize("query", TRIED)
def test_all_cells_of_a_query(spark: SparkSession, small_tables: Path, query: str) -> None:
    assert checked(spark, small_tables, query) > 0


def checked(spark: SparkSession, folder: Path, query: str) -> int:
    """How many rows the query gives; raise where a cell has other source cells than the interpreter says."""
    for name in TABLES:
        spark.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
    pipeline = Pipeline(spark.sql((QUERIES / f"{query}.sql").read_text()))
    plan, jvm = pipeline.plan, pipeline.analysis.jvm
    rows, numbers = tables(plan, jvm)
    for lineage in ("value", "value+selection"):
        expected = interpreted(plan, rows, lineage)
        found, reasons = rewritten(plan, jvm, numbers, lineage)
        assert not differences(expected, found), f"{query}, {lineage}"
        assert not reasons
    return len(expected)


if __name__ == "__main__":
    import tempfile

    from whence.spark import local_session

    session = local_session("local[2]", **{"spark.sql.shuffle.partitions": "2", "spark.log.level": "ERROR"})
    with tempfile.TemporaryDirectory() as place:
        for number in sys.argv[1:] or ALL:
            print(f"{number}: the cells of {checked(session, made(Path(place)), number)} rows agree", flush=True)
    session.stop()
