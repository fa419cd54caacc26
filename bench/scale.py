"""Relations that a cluster makes: time with one and two executors, bytes, and questions to what it made."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that `python bench/NAME.py` finds `bench`
from bench._common import Claim, Progress, check_size, claim, dots, main, quiet, seconds, workspace
from bench._scale_run import ASKED

import whence as wh
from whence.relation.parts import PartedRelation
from whence.words import counted

COUNTS = {"tiny": 1_000_000, "small": 4_000_000, "full": 1_000_000_000}
TUPLES_OF = ("product", "sort", "group-by", "join")
TPCH = "tpch-"
"""A kind with this prefix materializes TPC-H queries at the scale factor that follows."""

KINDS = {
    "tiny": ("sort",),
    "small": (*TUPLES_OF, "tpch-0.01"),
    "full": (*TUPLES_OF, "tpch-1", "tpch-10"),
}
SOME = ("q01", "q03", "q10")
ALL = tuple(f"q{number:02d}" for number in range(1, 23))

TUPLES = "WHENCE_BENCH_TUPLES"
"""This environment variable overrides the number of tuples of the size, such as 1e8."""

CHOSEN = "WHENCE_BENCH_KINDS"
"""This environment variable chooses what is measured, such as sort,tpch-1: each takes many minutes at full size."""

ONLY = "WHENCE_BENCH_EXECUTORS"
"""This environment variable chooses the numbers of executors, 1,2 if it is not set: 2 leaves out the speed-up."""

CLOCKS = time.perf_counter, time.process_time
SLOWEST = 0.1  # of the speed of writing Parquet, if there is no run with one executor to compare with
SHARE = 1.7 / 2  # of the processor time of one executor, if two are 1.7 times as fast on separate processors


def run(size: str = "small", progress: Progress | None = None) -> list[Claim]:
    """Relations that a cluster makes: time with one and two executors, bytes, and questions to what it made."""
    say = progress or quiet
    check_size(size)
    claims: list[Claim] = []
    count = int(float(os.environ.get(TUPLES, COUNTS[size])))
    for kind in kinds(size):
        with workspace() as directory:
            if kind.startswith(TPCH):
                say(f"scale: materializing TPC-H at {kind.removeprefix(TPCH)}")
                claims += materialized(kind, directory)
                continue
            said = {}
            for executors in clusters():
                say(f"scale: {kind}, {count:,} tuples, {counted(executors, 'executor')} of 1 GiB")
                said[executors] = measured(kind, count, executors, directory)
            claims += compressed(kind, said, directory)
            if kind != "product":
                say(f"scale: questions to {kind}")
                claims += asked(kind, said, directory)
    return claims


def kinds(size: str) -> tuple[str, ...]:
    """Return what is measured: all of the size, or what the environment variable names."""
    chosen = tuple(filter(None, os.environ.get(CHOSEN, "").split(",")))
    for kind in chosen:
        if kind not in TUPLES_OF and not re.fullmatch(rf"{TPCH}\d+(\.\d+)?", kind):
            raise ValueError(f"{CHOSEN}: there is no kind {kind!r}; choose of {', '.join(KINDS['full'])}")
    return chosen or KINDS[size]


def clusters() -> tuple[int, ...]:
    """Return the numbers of executors to measure. Questions are to the relation of the last, so 2 is one of them."""
    chosen = os.environ.get(ONLY, "1,2")
    if chosen not in ("1,2", "2"):
        raise ValueError(f"{ONLY} is 1,2 or 2, not {chosen!r}")
    return tuple(map(int, chosen.split(",")))


def measured(kind: str, count: int, executors: int, directory: Path) -> dict[str, Any]:
    """Return the results of one run on a cluster."""
    script = Path(__file__).with_name("_scale_run.py")
    return said_by([sys.executable, str(script), kind, str(count), str(executors), str(directory)], directory)


def said_by(command: list[str], directory: Path) -> dict[str, Any]:
    """Run a program, and return the JSON in the last line that it prints."""
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=directory,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
    )  # fmt: skip
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if not line.startswith("\tat ")]  # not the stacks of Java
        raise RuntimeError("\n".join(["the cluster failed:", *said[-60:]]))
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def compressed(kind: str, said: dict[int, dict[str, Any]], directory: Path) -> list[Claim]:
    """Return claims on time, processor time, memory and bytes.

    Wall-clock times depend on the load of this machine. Processor time is that of all processes, JVM and Python: if two
    executors use no more of it than one, they take half the time on separate processors.
    """
    one, two = said.get(1), said[2]
    first = one or two  # it wrote the Parquet files
    took = {executors: each["looking"] + each["folding"] for executors, each in said.items()}
    used = {executors: each["looking_processor"] + each["folding_processor"] for executors, each in said.items()}
    more = {"tuples": two["tuples"], "parts": two["parts"], "boxes": two["boxes"]}
    own, raw = (_bytes(directory / name) for name in (f"{kind}-2", f"{kind}.parquet"))
    same = first["tuples"] == two["tuples"]
    per = 1e9 / two["rows"]  # seconds for a billion tuples
    title = f"{kind} of {two['rows']:,} tuples"
    times, works = {"Parquet by Spark": first["parquet"] * per}, {"Parquet by Spark": first["parquet_processor"] * per}
    against, faster, cheaper = ["Parquet by Spark"], SLOWEST, SLOWEST
    if one is not None:
        times, works = {"one executor": took[1] * per, **times}, {"one executor": used[1] * per, **works}
        against, faster, cheaper = ["one executor"], 1.7, SHARE
    return [
        claim(f"{title}: two executors, time for 1e9", took[2] * per, times, unit="s",
              against=against, at_least=faster, true=same,
              tuples_per_second={str(n): each["rows"] / took[n] for n, each in said.items()},
              **more),
        claim(f"{title}: two executors, processor time for 1e9", used[2] * per, works, unit="s",
              against=against, at_least=cheaper, true=same, looking=two["looking_processor"] * per,
              folding=two["folding_processor"] * per),
        claim(f"{title}: memory of one process", max(each["peak"] for each in said.values()) / 2**20,
              {"1 GiB for the JVM, and as much for Python": 2048.0}, unit="MiB", true=same),
        claim(f"{title}: bytes", own / 1e6, {"Parquet": raw / 1e6}, unit="MB", true=same,
              bytes_per_tuple=own / two["tuples"]),
    ]  # fmt: skip


def asked(kind: str, said: dict[int, dict[str, Any]], directory: Path) -> list[Claim]:
    """Time questions in a process without Spark, compared with DuckDB on the tuples and a Spark join over them."""
    import duckdb

    path = directory / f"{kind}-2"
    relation = wh.Relation.load(path)
    files = str(directory / f"{kind}.parquet" / "*.parquet")
    claims = []
    for many in ASKED:
        side = relation.out_shape[0]
        cells = np.unique(np.random.default_rng(many).integers(0, side, min(many, side)))[:, None]
        asking = duckdb.connect()
        asking.register("asked", {"b": cells[:, 0]})
        query = f"select count(distinct a) from read_parquet('{files}') join asked using (b)"
        theirs = asking.execute(query).fetchone()
        found = wh.Relation.load(path).backward(cells)
        right = theirs is not None and found.count == theirs[0]
        asks: list[Callable[[], Any]] = [
            partial(_ask, path, cells), lambda asking=asking, query=query: asking.execute(query).fetchall()  # type: ignore[misc]  # a lambda's default has no type
        ]  # fmt: skip
        (ours, duck), (used, duck_used) = ([seconds(ask, clock=clock) for ask in asks] for clock in CLOCKS)
        read = len(relation.touched(cells)) if isinstance(relation, PartedRelation) else 1
        title = f"{kind} of {said[2]['rows']:,} tuples: {counted(many, 'cell')} backward"
        spark = said[2][f"join {many}"], said[2][f"join {many} processor"]
        claims += [
            claim(title, ours, {"DuckDB": duck, "Spark join": spark[0]}, unit="s", against=["Spark join"], at_least=10,
                  true=right, parts_read=read, parts=said[2]["parts"]),
            claim(f"{title}, processor time", used, {"DuckDB": duck_used, "Spark join": spark[1]}, unit="s",
                  against=["Spark join"], at_least=10, true=right),
        ]  # fmt: skip
    return claims


def _ask(path: Path, cells: np.ndarray) -> wh.Selection:
    return wh.Relation.load(path).backward(cells)


def _bytes(path: Path) -> int:
    return (
        sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) if path.is_dir() else path.stat().st_size
    )


def materialized(kind: str, directory: Path) -> list[Claim]:
    """Measure TPC-H queries whose lineage tasks store: bytes for each row, compared with the query's own time and eager
    mode. All queries are measured at scale factor 1, a few at others.
    """
    scale = float(kind.removeprefix(TPCH))
    queries = ALL if scale == 1 else SOME
    script = Path(__file__).with_name("_scale_tpch.py")
    found = said_by([sys.executable, str(script), str(scale), ",".join(queries), str(directory)], directory)
    return [_stored(f"TPC-H {name} at {scale:g}", each) for name, each in found.items()]


def _stored(name: str, each: dict[str, Any]) -> Claim:
    return claim(
        f"{name}: materialized", each["materialize"], {"eager run": each["eager"], "query": each["query"]}, unit="s",
        against=["eager run"], at_least=0.1, true=each["right"], rows=each["rows"], pairs=each["pairs"],
        bytes_per_row=each["bytes"] / max(1, each["rows"]), bytes_per_pair=each["bytes"] / max(1, each["pairs"]),
        share_of_query=each["materialize"] / each["query"], microseconds_of_a_question=1e6 * each["asked"],
    )  # fmt: skip


def plot(claims: list[Claim], directory: Path) -> list[Path]:
    """Draw the times of questions."""
    times = [each for each in claims if each["unit"] == "s"]
    return [dots(times, directory / "scale.png", "Relations that a cluster makes", "seconds")]


if __name__ == "__main__":
    main(run, plot)
