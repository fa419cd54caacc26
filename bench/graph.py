"""Segments and summaries of provenance graphs: time, memory and compaction (Fig. 5 of the paper)."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that `python bench/NAME.py` finds `bench`
from bench._common import Claim, Progress, check_size, claim, main, quiet
from bench._graph_engines import OURS, ancestors, ask, cpu_seconds, question
from bench._graph_log import opening
from bench._graph_project import overlapping, project
from bench._memory import peak

import whence as wh
from whence.graph import Segment
from whence.testing.graphs import pd, sd
from whence.testing.graphs.psum import Edge, psum

KEEP = {"activity": ["command"]}
ALL = (OURS, "SimProvAlg", "CflrB")
Points = list[dict[str, Any]]


@dataclass(frozen=True)
class Scale:
    """The sizes of graphs and segments, for one size of the benchmark."""

    compared: tuple[int, ...]  # vertices of Pd graphs on which all engines are compared
    alone: tuple[int, ...]  # ... and only our own
    whole: int  # complete segments are timed on this one
    varied: int  # Fig. 5(b) and (c)
    stopped: int  # Fig. 5(d)
    others: int  # ancestor queries of other libraries
    seeds: int  # Sd sets for each parameter
    many: int  # segments to be summarized in seconds
    project: int  # vertices of a project that commands import, query and summarize


SCALES = {
    "tiny": Scale((100, 400), (1_000, 10_000), 10_000, 300, 400, 1_000, 1, 20, 1_000),
    "small": Scale((100, 1_000, 10_000), (100_000, 1_000_000), 1_000_000, 5_000, 10_000, 100_000, 2, 300, 100_000),
    "full": Scale(
        (50, 100, 1_000, 10_000, 20_000), (50_000, 100_000, 1_000_000, 10_000_000), 1_000_000, 10_000, 50_000,
        1_000_000, 5, 1_000, 100_000,
    ),
}  # fmt: skip
WHOLE_S = 1.0
OPEN_S = 1.5  # "about a second"
MANY_S = 30.0


def run(size: str = "small", progress: Progress | None = None) -> list[Claim]:
    """Segments and summaries of provenance graphs: time, memory and compaction (Fig. 5 of the paper)."""
    say = progress or quiet
    scale = SCALES[check_size(size)]
    claims = [*sizes(scale, say)]
    claims.append(varied("b", "input skew s_e", "s_e", (1.1, 1.3, 1.5, 1.7, 1.9, 2.1), scale.varied, say))
    claims.append(varied("c", "inputs of an activity", "lambda_i", (1.0, 2.0, 3.0, 4.0, 5.0), scale.varied, say))
    claims.append(stopping(scale.stopped, say))
    claims.append(scale_of_others(scale.others, say))
    for letter, title, name, values, given in SUMMARIES:
        fixed = given if size != "tiny" else {"n": 8.0, "segments": 5.0, **given}
        claims.append(
            compaction(letter, title, name, values if size != "tiny" else values[:2], fixed, scale.seeds, say)
        )
    claims.append(many(scale.many, say))
    say(f"project: import, segment and summary of {scale.project:,} vertices")
    arrays = pd(scale.project, seed=1)
    return [*claims, *project(arrays), overlapping(arrays)]


# --- segments


def sizes(scale: Scale, say: Progress) -> list[Claim]:
    """Fig. 5(a): from the last two entities to the first two, for graphs of growing size."""
    claims, points = [], []
    for count in scale.compared:
        say(f"segments: Pd of {count:,} vertices, all engines")
        arrays = pd(count)
        told = ask(arrays.graph(), *question(arrays), ALL)
        points.append({"x": count, **told.times})
        last = told
    claims.append(
        claim(
            f"similar paths, Pd of {scale.compared[-1]:,} vertices",
            last.times[OURS] or 0.0,
            _others(last.times),
            unit="s",
            against=["CflrB"],
            at_least=100 if scale.compared[-1] >= 10_000 else 5,
            true=last.agree,
            paper="CflrB out of memory at 50k vertices, SimProvAlg at 100k; SimProvTst about 10x faster than CflrB",
            figure="a",
            points=points,
            x="vertices",
        )
    )
    per_edge = []
    for count in scale.alone:
        say(f"segments: Pd of {count:,} vertices")
        arrays = pd(count)
        peak(reset=True)
        graph = arrays.graph()
        told = ask(graph, *question(arrays), (OURS,))
        points.append({"x": count, **told.times})
        per_edge.append(cpu_seconds(graph, *question(arrays)) / len(graph.edge_table) * 1e9)
        if count == scale.whole:
            claims.append(whole(arrays, graph))
            say(f"opening: a log of {count:,} vertices")
            claims.append(opening(arrays, OPEN_S))
        held = peak()
        entities = len(arrays.entities)
        if count == scale.alone[-1]:
            claims.append(
                claim(
                    f"memory for Pd of {count:,} vertices, generator included",
                    held / 1e9,
                    {"a bit for each pair of entities": entities**2 / 8e9},
                    unit="GB",
                    at_most=8.0,
                    paper="4 GB of Java heap; SimProvAlg out of memory at 100k vertices",
                )
            )
        del graph, arrays
    claims.append(
        claim(
            f"processor time for an edge at {scale.alone[-1]:,} vertices against {scale.alone[0]:,}",
            per_edge[-1],
            {f"{scale.alone[0]:,} vertices": per_edge[0]},
            unit="ns",
            at_least=1 / 6,
            note="linear but for what a graph that outgrows the caches costs",
        )
    )
    return claims


def whole(arrays: Any, graph: wh.Graph) -> Claim:
    """Time a complete segment, including siblings, agents and edges."""
    sources, destinations = question(arrays)
    src, dst = graph.ids.of(sources.tolist()), graph.ids.of(destinations.tolist())
    best = min(_timed(lambda: graph.segment(src, dst)) for _ in range(3))
    start = time.perf_counter()
    arrays.graph()
    built = time.perf_counter() - start
    return claim(
        f"a whole segment of Pd of {len(graph):,} vertices", best, {"building the graph": built}, unit="s",
        at_most=WHOLE_S,
        paper="out of memory for CflrB and SimProvAlg; more than 12 h for Cypher at 100 vertices",
    )  # fmt: skip


def varied(letter: str, title: str, name: str, values: Sequence[float], count: int, say: Progress) -> Claim:
    """Fig. 5(b) and (c): vary one parameter of the generator, with all engines."""
    points: Points = []
    asked = []
    for value in values:
        say(f"segments: {title} {value:g}")
        arrays = pd(count, **{name: value})  # type: ignore[arg-type] # types are checked at run time
        told = ask(arrays.graph(), *question(arrays), ALL)
        points.append({"x": value, **told.times})
        asked.append(told)
    worst = min(asked, key=lambda told: told.ratio)
    return claim(
        f"similar paths, {title} from {values[0]:g} to {values[-1]:g} on Pd of {count:,}, where another comes closest",
        worst.times[OURS] or 0.0, _others(worst.times), unit="s", at_least=10 if count >= 5_000 else 1,
        true=all(told.agree for told in asked), figure=letter, points=points, x=title,
    )  # fmt: skip


def stopping(count: int, say: Progress) -> Claim:
    """Fig. 5(d): the nearer the sources, the sooner the search may end."""
    arrays = pd(count)
    graph = arrays.graph()
    points: Points = []
    asked = []
    for percent in (0, 20, 40, 60, 80):
        say(f"segments: sources at {percent}%")
        told = ask(graph, *question(arrays, percent), (OURS, "SimProvAlg"))
        points.append({"x": percent, **told.times})
        asked.append(told)
    far, near = asked[0], asked[-1]
    return claim(
        f"early stopping on Pd of {count:,}: sources at 80% against sources at the start", near.times[OURS] or 0.0,
        {"sources at the start": far.times[OURS]}, unit="s", at_least=1.0, true=all(told.agree for told in asked),
        paper="shorter with a shorter gap between sources and destinations", figure="d", points=points,
        x="sources at % of the entities",
    )  # fmt: skip


def scale_of_others(count: int, say: Progress) -> Claim:
    """Time plain ancestor queries, for comparison."""
    say(f"ancestors: Pd of {count:,} vertices, with networkx and rustworkx")
    times, agree = ancestors(pd(count).graph())
    ours = times.pop("whence")
    return claim(f"all ancestors of one entity, Pd of {count:,}", ours, times, unit="s", at_least=1.0, true=agree)


# --- summaries

SUMMARIES: tuple[tuple[str, str, str, tuple[float, ...], dict[str, float]], ...] = (
    ("e", "transition concentration", "alpha", (0.01, 0.1, 0.25, 0.5, 1.0), {}),
    ("f", "activity types", "k", (3, 5, 10, 15, 20, 25), {}),
    ("g", "activities of a segment", "n", (5, 10, 20, 30, 40, 50), {}),
    ("h", "segments", "segments", (5, 10, 20, 30, 40), {"alpha": 0.25}),
)  # fmt: skip


def compaction(
    letter: str, title: str, name: str, values: Sequence[float], fixed: dict[str, float], seeds: int, say: Progress
) -> Claim:
    """Fig. 5(e) to (h): vertices of the summary over vertices of the segments, against pSum."""
    points: Points = []
    for value in values:
        say(f"summaries: {title} {value:g}")
        ours, theirs, took = [], [], []
        for seed in range(seeds):
            parts = sd(**parameters({**fixed, name: value}), seed=seed)
            start = time.perf_counter()
            summary = wh.summarize(parts, keep=KEEP)
            took.append(time.perf_counter() - start)
            ours.append(summary.compaction)
            theirs.append(psum(*plain(parts)) / summary.size)
        points.append(
            {"x": value, "PgSum": statistics.mean(ours), "pSum": statistics.mean(theirs), "seconds": max(took)}
        )
    worst = min(points, key=lambda point: point["pSum"] / point["PgSum"])
    return claim(
        f"compaction, {title} from {values[0]:g} to {values[-1]:g}, where pSum comes closest", worst["PgSum"],
        {"pSum": worst["pSum"]}, unit="of the vertices", at_least=1.0, paper="about half of pSum's", figure=letter,
        points=points, x=title,
    )  # fmt: skip


def parameters(values: dict[str, float]) -> dict[str, Any]:
    """Return parameters of Sd; all but alpha are integers."""
    return {name: value if name == "alpha" else int(value) for name, value in values.items()}


def plain(parts: Sequence[Segment]) -> tuple[list[object], list[Edge]]:
    """Return segments combined into one graph, as pSum takes them: labels and edges."""
    labels: list[object] = []
    edges: list[Edge] = []
    for part in parts:
        table, graph = part.graph.edge_table, part.graph
        place = {number: len(labels) + at for at, number in enumerate(part.numbers.tolist())}
        commands = graph.properties.column("command", part.numbers)
        labels += list(zip(graph.kinds[part.numbers].tolist(), commands, strict=True))
        ends = (each[part.rows].tolist() for each in (table.source, table.relation, table.target))
        edges += [(place[a], relation, place[b]) for a, relation, b in zip(*ends, strict=True)]
    return labels, edges


def many(count: int, say: Progress) -> Claim:
    """Summarize many segments at once."""
    say(f"summaries: {count:,} segments")
    parts = sd(segments=count, alpha=0.25)
    ours = _timed(lambda: wh.summarize(parts, keep=KEEP))
    tenth = parts[: max(2, count // 20)]
    theirs = _timed(lambda: psum(*plain(tenth)))
    return claim(
        f"time to summarize {count:,} segments", ours, {f"pSum, {len(tenth)} of them": theirs}, unit="s", at_most=MANY_S
    )


# --- shared


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _others(times: dict[str, float | None]) -> dict[str, float | None]:
    return {name: value for name, value in times.items() if name != OURS}


def plot(claims: list[Claim], directory: Path) -> list[Path]:
    """Draw Figure 5: all eight parts, on one sheet and separately."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    parts = sorted((row for row in claims if "figure" in row), key=lambda row: str(row["figure"]))
    directory.mkdir(parents=True, exist_ok=True)
    drawn = []
    sheet, every = plt.subplots(2, 4, figsize=(18, 8), layout="constrained")
    for axes, row in zip(every.ravel(), parts, strict=False):
        _draw(axes, row)
        figure, own = plt.subplots(figsize=(5, 4), layout="constrained")
        _draw(own, row)
        drawn.append(directory / f"graph-5{row['figure']}.png")
        figure.savefig(drawn[-1], dpi=120)
        plt.close(figure)
    sheet.savefig(directory / "graph.png", dpi=120)
    plt.close(sheet)
    return [directory / "graph.png", *drawn]


def _draw(axes: Any, row: Claim) -> None:
    names = [name for name in (OURS, "SimProvAlg", "CflrB", "PgSum", "pSum") if name in row["points"][0]]
    for name in names:
        line = [(point["x"], point[name]) for point in row["points"] if point.get(name) is not None]
        ours = {"color": "black", "zorder": 3} if name in (OURS, "PgSum") else {}
        if line:
            axes.plot(*zip(*line, strict=True), marker="o", label=name, **ours)
    summaries = row["figure"] in "efgh"
    axes.set(xlabel=row["x"], ylabel="compaction ratio" if summaries else "s", title=f"({row['figure']})")
    if row["figure"] in "ae":
        axes.set_xscale("log")
    if not summaries:
        axes.set_yscale("log")
    else:
        axes.set_ylim(0, 1)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


if __name__ == "__main__":
    main(run, plot)
