"""Commands on a large project: import a document, ask for a segment, and summaries of overlapping segments."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from bench._common import Claim, claim

from whence.graph import Graph, summarize
from whence.graph.model import CODES, KINDS, RELATIONS
from whence.testing.graphs.generators import Arrays

IMPORT_S, IMPORT_MB, SEGMENT_S, SUMMARY_S = 5.0, 300.0, 1.0, 10.0
_OVERLAPPING = 50
_TOLD = """
import json, resource, subprocess, sys
done = subprocess.run(json.loads(sys.argv[1]), stdout=subprocess.PIPE, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss, done.stdout.count(b"\\n")]))
"""


def project(arrays: Arrays) -> list[Claim]:
    """Import and segment, each in a process of its own; processor time, because other programs use the machine as
    well.
    """
    count = len(arrays.kinds)
    with tempfile.TemporaryDirectory(prefix="whence-bench-") as place:
        document, log = Path(place, "project.json"), Path(place, "project.whence")
        document.write_text(json.dumps(prov_json(arrays)))
        library = "import sys; from prov.model import ProvDocument; ProvDocument.deserialize(sys.argv[1])"
        read = _told([sys.executable, "-c", library, str(document)])
        imported = _told([*_whence(), "import", str(document), "--log", str(log)])
        ends = (arrays.entities[1], arrays.entities[len(arrays.entities) * 4 // 5])  # three quarters of the graph
        first, last = (f"ex:v{int(each)}" for each in ends)
        command = [*_whence(), "segment", "--src", first, "--dst", last, "--log", str(log)]
        asked = min((_told(command) for _ in range(3)), key=lambda told: told[0])
        empty = _told([*_whence(), "ls", "--log", str(log), "--last", "1"])
    return [
        claim(
            f"whence import of a PROV-JSON document of {count:,} vertices", imported[0],
            {"reading it with the prov library": read[0]}, unit="s of processor time", at_most=IMPORT_S,
        ),
        claim(
            f"memory of whence import of {count:,} vertices", imported[1] / 1e3,
            {"reading it with the prov library": read[1] / 1e3}, unit="MB", at_most=IMPORT_MB,
        ),
        claim(
            f"whence segment, {asked[2] - 1:,} of {count:,} vertices listed", asked[0],
            {"whence ls of the same log, one line printed": empty[0]}, unit="s of processor time", at_most=SEGMENT_S,
        ),
    ]  # fmt: skip


def overlapping(arrays: Arrays) -> Claim:
    """Summarize segments that share most of their vertices, as the versions of one file do."""
    properties = {
        "artifact": [f"file-{place % 40}" if kind == 0 else None for place, kind in enumerate(arrays.kinds.tolist())],
        "command": [f"run-{place % 7}" if kind == 1 else None for place, kind in enumerate(arrays.kinds.tolist())],
    }
    graph = Graph.from_arrays(arrays.kinds, arrays.edges, properties=properties)
    entities = arrays.entities
    ends = np.random.default_rng(0).choice(entities[len(entities) // 2 :], _OVERLAPPING, replace=False)
    start = time.process_time()
    segments = [graph.segment(str(entities[1]), str(end)) for end in ends.tolist()]
    middle = time.process_time()
    summary = summarize(segments, keep={"entity": ["artifact"], "activity": ["command"]})
    ended = time.process_time()
    largest = max(map(len, segments))
    return claim(
        f"a summary of {_OVERLAPPING} overlapping segments of up to {largest:,} vertices", ended - middle,
        {"finding the segments": middle - start}, unit="s of processor time", at_most=SUMMARY_S,
        true=len(summary) <= summary.size,
    )  # fmt: skip


def prov_json(arrays: Arrays) -> dict[str, Any]:
    """Return a graph as a PROV-JSON document, with a few properties."""
    found: dict[str, Any] = {"prefix": {"ex": "http://example.org/"}}
    for place, kind in enumerate(arrays.kinds.tolist()):
        properties = ({"ex:size": place, "ex:sha256": f"{place:064x}"}, {"ex:command": f"run {place % 50}"}, {})[kind]
        found.setdefault(KINDS[kind], {})[f"ex:v{place}"] = properties
    for name, (source, target) in arrays.edges.items():
        keys = RELATIONS[CODES[name]]
        found[name] = {
            f"_:{name}{place}": {keys.source_key: f"ex:v{one}", keys.target_key: f"ex:v{other}"}
            for place, (one, other) in enumerate(zip(source.tolist(), target.tolist(), strict=True))
        }
    return found


def _whence() -> list[str]:
    return [sys.executable, "-c", "from whence.cli import main; main()"]


def _told(command: Sequence[str]) -> tuple[float, float, int]:
    """Run a command, and return its processor seconds, its peak memory in kB, and the number of lines it printed."""
    told = subprocess.run(
        [sys.executable, "-c", _TOLD, json.dumps(list(command))], capture_output=True, text=True, check=True
    ).stdout
    seconds, memory, lines = json.loads(told)
    return float(seconds), float(memory), int(lines)
