"""Make TPC-DS data with DuckDB's extension, loaded by path: the tables as Parquet files, the queries as SQL files.

A wheel of the extension supports only one version of DuckDB. So this script runs by itself in any Python that has a
matching pair, `pip install duckdb==1.5.5 duckdb-extension-tpcds==1.5.5`, and imports nothing of whence. The data and
the queries are changed so that every query has an output (`_tpcds_parameters.py`):

    python bench/_tpcds_data.py DIRECTORY SCALE
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that `python bench/NAME.py` finds `bench`
from bench._tpcds_parameters import CHANGES, with_parameters


def make(directory: Path, scale: float) -> None:
    """Write TABLE.parquet for each of the 24 tables, and q01.sql to q99.sql."""
    import duckdb
    import duckdb_extension_tpcds  # type: ignore[import-not-found,unused-ignore]  # optional

    wheel = Path(duckdb_extension_tpcds.__file__).parent
    found = wheel / "extensions" / f"v{duckdb.__version__}" / "tpcds.duckdb_extension"
    if not found.exists():
        raise SystemExit(f"no TPC-DS extension for DuckDB {duckdb.__version__} in {wheel}: install matching versions")
    connection = duckdb.connect()
    connection.execute("load '" + str(found).replace("'", "''") + "'")
    connection.execute(f"call dsdgen(sf={float(scale)})")
    for change in CHANGES:
        connection.execute(change)
    directory.mkdir(parents=True, exist_ok=True)
    for (table,) in connection.execute("select table_name from information_schema.tables").fetchall():
        target = str(directory / f"{table}.parquet").replace("'", "''")
        connection.execute(f"copy {table} to '{target}' (format parquet)")
    for number, text in connection.execute("select query_nr, query from tpcds_queries()").fetchall():
        text = with_parameters(number, text)
        if not connection.execute(text).fetchone():
            raise SystemExit(f"query {number} has no output: give it other parameters in _tpcds_parameters.py")
        (directory / f"q{number:02}.sql").write_text(text)


if __name__ == "__main__":
    make(Path(sys.argv[1]), float(sys.argv[2]))
