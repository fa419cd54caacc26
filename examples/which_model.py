"""Two people train models on data that change. What was the one in use made from, and how are models usually made?

The steps are recorded with `log.activity`; `whence run -- python train.py` does the same from outside.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import whence as wh
from whence.graph import Summary, who

ASIDE = ["wasDerivedFrom", "wasAttributedTo"]


def wash(log: wh.Log, place: Path, rows: str) -> None:
    """New data arrive and are washed."""
    raw, clean = place / "raw.csv", place / "clean.csv"
    raw.write_text(rows)
    with log.activity("wash", command="wash.py", agent="carol") as activity:
        activity.used(raw)
        clean.write_text(rows.replace("?", "0"))
        activity.generated(clean)


def train(log: wh.Log, place: Path, agent: str, rate: float) -> None:
    """A model is trained on what is there."""
    clean, model, notes = (place / name for name in ("clean.csv", "model.bin", "train.log"))
    with log.activity("train", command="train.py", agent=agent, rate=rate) as activity:
        activity.used(clean)
        total = sum(float(each) for each in clean.read_text().split(","))
        model.write_text(str(rate * total))
        notes.write_text(f"loss {1 / (1 + total):.3f}")
        activity.generated(model, notes)


def main(directory: Path) -> Summary:
    """Make the history of a project, then ask."""
    with wh.open(directory / "project.whence") as log:
        wash(log, directory, "1,2,?")
        train(log, directory, "ada", rate=0.1)
        train(log, directory, "bob", rate=0.5)
        wash(log, directory, "1,2,3")
        train(log, directory, "ada", rate=0.1)
        graph = log.graph
    segment = graph.segment("raw.csv", "model.bin@v3", exclude=ASIDE)
    print(
        f"the model in use was made by {', '.join(segment.by_rule['agent'])} in {', '.join(segment.by_rule['direct'])}"
    )
    others = graph.segment("raw.csv@v1", "model.bin", exclude=[*ASIDE, who("bob")])
    made = [name for name in others.by_rule["destination"] if any(edge[0] == name for edge in others.edges)]
    print(f"of the first data, bob left out, came {', '.join(made)}")
    parts = [graph.segment("raw.csv", version, exclude=ASIDE) for version in graph.versions("model.bin")]
    summary = wh.summarize(parts, keep={"entity": ["artifact"], "activity": ["command"]})
    print(f"{len(parts)} models, usually made like this:")
    for edge in summary.edges:
        print(f"  {edge.source.label} {edge.relation} {edge.target.label}: {edge.frequency:.0%}")
    summary.draw(directory / "usually.svg")
    return summary


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        main(Path(place))
