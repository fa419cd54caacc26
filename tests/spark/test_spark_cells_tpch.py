"""TPC-H over tables of a few thousand rows: the cells of every output row are those that the interpreter finds.

Each query takes the interpreter seconds, so a few are tried. `python tests/spark/test_spark_cells_tpch.py` tries all.
Where tables of this size give no rows, other parameters do.
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
# Left join and groups of groups; distinct and NOT IN; scalar subquery and NOT EXISTS; IN over IN over a scalar one.
TRIED = ("q13", "q16", "q20", "q22")
PARAMETERS = {
    "q02": {"p_size = 15": "p_size < 15"},
    "q05": {"'ASIA'": "'AFRICA'"},
    "q07": {"'FRANCE'": "'KENYA'", "'GERMANY'": "'PERU'"},
    "q11": {"'GERMANY'": "'PERU'", "0.01": "0.02"},
    "q19": {f"p_brand = 'Brand#{number}' and ": "" for number in (12, 23, 34)},
    "q20": {"'CANADA'": "'PERU'", "'forest%'": "'%forest%'"},
    "q21": {"'SAUDI ARABIA'": "'PERU'"},
}
"""What is asked for instead of what TPC-H asks for."""

ROWS = {"q19": {"lineitem": "l_shipinstruct = 'DELIVER IN PERSON' and l_shipmode = 'AIR'", "part": "p_size <= 15"}}
"""Which rows of tables are read: the interpreter goes through all pairs of a join that has its keys beneath OR."""


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
    text = (QUERIES / f"{query}.sql").read_text()
    for old, new in PARAMETERS.get(query, {}).items():
        assert old in text
        text = text.replace(old, new)
    for name in TABLES:
        table = spark.read.parquet(str(folder / f"{name}.parquet"))
        table.where(ROWS.get(query, {}).get(name, "true")).createOrReplaceTempView(name)
    pipeline = Pipeline(spark.sql(text))
    plan, jvm = pipeline.plan, pipeline.analysis.jvm
    rows, numbers = tables(plan, jvm)
    for lineage in ("value", "value+selection"):
        expected = interpreted(plan, rows, lineage)
        found, reasons = rewritten(plan, jvm, numbers, lineage)
        assert not differences(expected, found), f"{query}, {lineage}"
        assert not reasons
    assert any(cells for _, lineages in expected for cells in lineages), "rows that came from something"
    return len(expected)


if __name__ == "__main__":
    import tempfile

    from whence.spark import local_session

    session = local_session("local[2]", **{"spark.sql.shuffle.partitions": "2", "spark.log.level": "ERROR"})
    with tempfile.TemporaryDirectory() as place:
        folder = made(Path(place))
        for number in sys.argv[1:] or ALL:
            print(f"{number}: the cells of {checked(session, folder, number)} rows agree", flush=True)
    session.stop()
