"""Relations that a cluster makes: time with one and two executors, bytes, and questions to what it made."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # `python bench/NAME.py` finds `bench` like this
from bench._common import Claim, Progress, check_size, claim, dots, main, quiet, seconds, workspace

import whence as wh
from whence.relation.parts import PartedRelation

COUNTS = {"tiny": 20_000, "small": 2_000_000, "full": 1_000_000_000}
KINDS = {"tiny": ("sort",), "small": ("product", "sort", "group-by"), "full": ("product", "sort", "group-by")}
ASKED = (1, 1_000, 1_000_000)


def run(size: str = "small", progress: Progress | None = None) -> list[Claim]:
    """Relations that a cluster makes: time with one and two executors, bytes, and questions to what it made."""
    say = progress or quiet
    check_size(size)
    claims: list[Claim] = []
    with workspace() as directory:
        for kind in KINDS[size]:
            said = {}
            for executors in (1, 2):
                say(f"scale: {kind}, {COUNTS[size]:,} tuples, {executors} executors of 1 GiB")
                said[executors] = measured(kind, COUNTS[size], executors, directory)
            claims += compressed(kind, said, directory)
            if kind != "product":
                say(f"scale: questions to {kind}")
                claims += asked(kind, said, directory)
    return claims


def measured(kind: str, count: int, executors: int, directory: Path) -> dict[str, Any]:
    """What one run on a cluster says."""
    script = Path(__file__).with_name("_scale_run.py")
    done = subprocess.run(
        [sys.executable, str(script), kind, str(count), str(executors), str(directory)],
        capture_output=True, text=True, check=False, cwd=directory, env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"the cluster failed: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def compressed(kind: str, said: dict[int, dict[str, Any]], directory: Path) -> list[Claim]:
    """How long it took, and how many bytes it is."""
    two = said[2]
    more = {
        "tuples": two["tuples"],
        "parts": two["parts"],
        "boxes": two["boxes"],
        "parquet_seconds": said[1]["parquet"],
    }
    own, raw = (_bytes(directory / name) for name in (f"{kind}-2", f"{kind}.parquet"))
    same = said[1]["tuples"] == two["tuples"]
    return [
        claim(f"{kind}: two executors over one", two["seconds"], {"one executor": said[1]["seconds"]}, unit="s",
              at_least=1.7, true=same, **more),
        claim(f"{kind}: bytes", own / 1e6, {"Parquet": raw / 1e6}, unit="MB", true=same, **more),
    ]  # fmt: skip


def asked(kind: str, said: dict[int, dict[str, Any]], directory: Path) -> list[Claim]:
    """Questions in a process without Spark, beside DuckDB on the tuples and a Spark join over them."""
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
        ours = seconds(lambda cells=cells: wh.Relation.load(path).backward(cells))  # type: ignore[misc]  # a lambda's default has no type
        duck = seconds(lambda asking=asking, query=query: asking.execute(query).fetchall())  # type: ignore[misc]  # a lambda's default has no type
        others = {"DuckDB": duck, "Spark join": said[2]["join"] if many == 1 else None}
        read = len(relation.touched(cells)) if isinstance(relation, PartedRelation) else 1
        name = f"{kind}: {many:,} cells backward"
        if many == 1:
            claims.append(
                claim(name, ours, others, unit="s", against=["Spark join"], at_least=10, true=right, parts_read=read)
            )
        else:
            claims.append(claim(name, ours, others, unit="s", true=right, parts_read=read))
    return claims


def _bytes(path: Path) -> int:
    return (
        sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) if path.is_dir() else path.stat().st_size
    )


def plot(claims: list[Claim], directory: Path) -> list[Path]:
    """Times of questions."""
    times = [each for each in claims if each["unit"] == "s"]
    return [dots(times, directory / "scale.png", "Relations that a cluster makes", "seconds")]


if __name__ == "__main__":
    main(run, plot)
