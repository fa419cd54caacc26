"""A project of four steps, run as people run it, and the questions people ask, with answers written by hand.

data/raw.csv --prepare.py--> work/train.csv, work/test.csv
work/train.csv --train.py--> work/model.json
work/model.json, work/test.csv --evaluate.py--> results/metrics.json
results/metrics.json --plot.py--> results/figure.svg
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import whence as wh
from whence.errors import Ambiguous, UnknownName

PREPARE = """
from pathlib import Path
rows = Path("data/raw.csv").read_text().splitlines()
Path("work").mkdir(exist_ok=True)
Path("work/train.csv").write_text("\\n".join(rows[:4]))
Path("work/test.csv").write_text("\\n".join(rows[4:]))
"""
TRAIN = """
import argparse, json
from pathlib import Path
parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float)
rate = parser.parse_args().rate
numbers = [float(each) for each in Path("work/train.csv").read_text().split()]
Path("work/model.json").write_text(json.dumps({"weight": sum(numbers) * rate}))
"""
EVALUATE = """
import json
from pathlib import Path
weight = json.loads(Path("work/model.json").read_text())["weight"]
numbers = [float(each) for each in Path("work/test.csv").read_text().split()]
Path("results").mkdir(exist_ok=True)
Path("results/metrics.json").write_text(json.dumps([each * weight for each in numbers]))
"""
PLOT = """
import json
from pathlib import Path
heights = json.loads(Path("results/metrics.json").read_text())
bars = "".join(f'<rect x="{i}" height="{each}"/>' for i, each in enumerate(heights))
Path("results/figure.svg").write_text(f"<svg>{bars}</svg>")
"""
STEPS = {"prepare.py": PREPARE, "train.py": TRAIN, "evaluate.py": EVALUATE, "plot.py": PLOT}
FIRST = ["prepare.py#1", "train.py#2", "evaluate.py#3", "plot.py#4"]


def whence(*arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    code = "from whence.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == status, done.stderr
    return done


def rows(*arguments: str) -> list[list[str]]:
    return [line.split("\t") for line in whence(*arguments).stdout.splitlines()[1:]]


def names(*arguments: str) -> list[str]:
    return [row[0] for row in rows(*arguments)]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run twice: with the rate 0.1, then, after a row of the data was changed, with 0.25."""
    place = tmp_path_factory.mktemp("project")
    (place / "data").mkdir()
    for name, code in STEPS.items():
        (place / name).write_text(code)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.delenv("WHENCE_LOG", raising=False)
        for data, rate in (("1\n2\n3\n4\n5\n6\n", "0.1"), ("1000\n2\n3\n4\n5\n6\n7\n8\n9\n", "0.25")):
            (place / "data" / "raw.csv").write_text(data)
            for name in STEPS:
                whence("run", "--", sys.executable, name, *(["--rate", rate] if name == "train.py" else []))
    return place


@pytest.fixture(autouse=True)
def here(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    monkeypatch.delenv("WHENCE_LOG", raising=False)


SECOND = [
    "data/raw.csv@v2", "evaluate.py@v1", "plot.py@v1", "prepare.py@v1", "results/metrics.json@v2", "train.py@v1",
    "work/model.json@v2", "work/test.csv@v2", "work/train.csv@v2", "evaluate.py#7", "plot.py#8", "prepare.py#5",
    "train.py#6",
]  # fmt: skip


def test_what_did_the_figure_come_from() -> None:
    for figure in ("results/figure.svg", "figure.svg", "figure.svg@v2"):
        assert sorted(names("ancestors", figure)) == sorted(SECOND)
    with wh.open("project.whence") as log:
        assert sorted(log.ancestors("figure.svg")) == sorted(SECOND)
        assert sorted(log.ancestors("figure.svg@v1"))[:2] == ["data/raw.csv@v1", "evaluate.py#3"]


def test_how_was_the_figure_made() -> None:
    done = whence("segment", "--dst", "figure.svg")
    found = {line.split("\t")[0]: line.split("\t")[2] for line in done.stdout.splitlines()[1:]}
    agents = {name for name, rule in found.items() if rule == "agent"}
    assert found.keys() - agents == {*SECOND, "results/figure.svg@v2"}
    assert {name for name, rule in found.items() if rule == "source"} == {
        "data/raw.csv@v2",
        *(f"{each}@v1" for each in STEPS),
    }
    assert "results/figure.svg@v2, the latest of figure.svg (of 2 versions)" in done.stderr
    assert "left out" not in done.stderr


def test_the_definition_leaves_inputs_out_and_says_so() -> None:
    ends = ("--src", "data/raw.csv@v2", "--dst", "figure.svg@v2")
    done = whence("segment", *ends)
    found = {line.split("\t")[0] for line in done.stdout.splitlines()[1:]}
    assert not found & {"evaluate.py@v1", "plot.py@v1"}  # train.py is three activities back, as raw.csv is
    assert "2 inputs of these activities are on no path from --src and left out" in done.stderr
    assert "(plot.py@v1, evaluate.py@v1)" in done.stderr or "(evaluate.py@v1, plot.py@v1)" in done.stderr
    assert "--inputs adds them" in done.stderr
    with_inputs = {row[0]: row[2] for row in rows("segment", *ends, "--inputs")}
    assert {name for name, rule in with_inputs.items() if rule == "input"} == {"evaluate.py@v1", "plot.py@v1"}
    assert with_inputs.keys() >= {*SECOND}


def test_what_is_affected_if_the_data_is_wrong() -> None:
    everything = names("descendants", "raw.csv")
    assert len(everything) == 2 * (4 + 5)  # four runs, five files, twice
    second = {row[0]: row[5] for row in rows("descendants", "raw.csv@v1")}
    assert [name for name in second if "#" in name] == FIRST
    assert {second[name] for name in second if "#" not in name} == {"no"}  # all of it was made anew since
    assert {row[5] for row in rows("descendants", "raw.csv@v2") if "#" not in row[0]} == {"yes"}
    assert names("descendants", "figure.svg") == []


def test_what_differs_between_two_runs() -> None:
    told = whence("diff", "train.py#2", "train.py#6").stdout
    lines = [" ".join(line.split()) for line in told.splitlines()]
    assert lines[:6] == [
        "train.py#2 -> train.py#6",
        "what name first second note",
        "parameter --rate 0.1 -> 0.25",
        "input work/train.csv v1 -> v2 7 B -> 10 B, 3 B larger",
        "output work/model.json v1 -> v2 15 B -> 18 B, 3 B larger",
        "the same in both: train.py@v1",
    ]
    assert "how the inputs came to differ: prepare.py#1 -> prepare.py#5" in lines
    assert "input data/raw.csv v1 -> v2 12 B -> 21 B, 9 B larger" in lines


def test_why_do_the_metrics_differ() -> None:
    told = json.loads(whence("diff", "metrics.json@v1", "metrics.json@v2", "--json").stdout)
    assert [each["kind"] for each in told["changes"]] == ["content"]
    [evaluate] = told["because"]
    assert (evaluate["one"], evaluate["other"]) == ("evaluate.py#3", "evaluate.py#7")
    changes: list[dict[str, Any]] = [each for part in evaluate["because"] for each in part["changes"]]
    assert ("--rate", "0.1", "0.25") in {(each["name"], each["before"], each["after"]) for each in changes}
    with wh.open("project.whence") as log:
        assert log.diff("evaluate.py#3", "evaluate.py#3").changes == ()
        assert "nothing that was recorded differs" in str(log.diff("evaluate.py#3", "evaluate.py#3"))


def test_who_did_it_and_which_versions_are_there() -> None:
    with wh.open("project.whence") as log:
        [agent] = log.blame("figure.svg")
        assert {row[1] for row in rows("blame", "figure.svg")} == {*SECOND, "results/figure.svg@v2"} - {
            "data/raw.csv@v2", *(f"{each}@v1" for each in STEPS),
        }  # fmt: skip
        assert {row[0] for row in rows("blame", "figure.svg")} == {agent}
        assert log.versions("model.json") == ["work/model.json@v1", "work/model.json@v2"]
    assert [(row[0], row[2], row[5]) for row in rows("versions", "metrics.json")] == [
        ("results/metrics.json@v1", "10 B", "no"), ("results/metrics.json@v2", "43 B", "yes"),
    ]  # fmt: skip


def test_backward_of_a_file_goes_to_the_first_files() -> None:
    done = whence("backward", "metrics.json")
    sources = ["data/raw.csv@v2", "evaluate.py@v1", "prepare.py@v1", "train.py@v1"]
    assert sorted(line.split("\t")[0] for line in done.stdout.splitlines()[1:]) == sources
    assert done.stderr.startswith("results/metrics.json@v2 was generated by evaluate.py#7 (")
    with wh.open("project.whence") as log:
        found = log.backward("metrics.json")
        assert sorted(found) == sources
        assert found.precise
        assert found["work/model.json@v2"].count == 1  # on the way
        assert found.activities[0] == "evaluate.py#7"
        assert found.steps[0].how == "activity"
        assert found.steps[0].previous == "results/metrics.json@v2"
        assert set(found.files) == {*log.graph.ancestors("metrics.json@v2"), "results/metrics.json@v2"} - {
            *log.graph.of_kind("activity")
        }
        assert log.backward("raw.csv") == {}
        assert log.backward("raw.csv").how == "data/raw.csv@v2 is a source: nothing recorded made it"
        assert list(log.forward("model.json@v1")) == ["results/figure.svg@v1"]
        assert log.forward("model.json@v1")["results/metrics.json@v1"].count == 1
        assert log.backward("metrics.json", to="raw.csv").count == 1
        assert log.show("metrics.json").dataset.name == "results/metrics.json@v2"


def test_the_sweep_is_one_in_the_summary() -> None:
    told = rows("summarize", "--dst", "model.json")
    assert ["train.py (activity)", "used", "work/train.csv", "100%"] in told
    assert ["work/model.json", "wasGeneratedBy", "train.py (activity)", "100%"] in told
    assert len({tuple(row) for row in told}) == len(told)


def test_lists_can_be_narrowed() -> None:
    assert names("ls", "*.json") == [
        "work/model.json@v1", "results/metrics.json@v1", "work/model.json@v2", "results/metrics.json@v2",
    ]  # fmt: skip
    assert names("ls", "model", "--kind", "file") == ["work/model.json@v1", "work/model.json@v2"]
    assert names("ls", "--kind", "array") == []
    assert names("ls", "--since", "2000-01-01", "--last", "1") == ["results/figure.svg@v2"]
    [run] = rows("ls", "--operations", "train.py", "--last", "1")
    assert (run[0], run[3]) == ("train.py#6", "ok")
    assert run[1].endswith("train.py --rate 0.25")
    assert names("ls", "--operations", "test.csv@v1") == ["prepare.py#1", "evaluate.py#3"]
    assert "--kind selects datasets" in whence("ls", "--operations", "--kind", "file", status=2).stderr
    assert whence("run", "--", sys.executable, "-c", "raise SystemExit(3)", status=3).returncode == 3
    [failed] = rows("ls", "--failed")
    assert failed[3] == "exit status 3"


def test_names_that_mean_several_things_are_refused() -> None:
    Path("other").mkdir(exist_ok=True)
    Path("other/metrics.json").write_text("[]")
    try:
        whence("run", "--in", "other/metrics.json", "--", sys.executable, "-c", "pass")
        told = whence("ancestors", "metrics.json", status=1).stderr
        assert "'metrics.json' may be other/metrics.json or results/metrics.json: say which" in told
        with wh.open("project.whence") as log:
            for ask in (log.backward, log.show, log.ancestors, log.graph.ancestors, log.versions):
                with pytest.raises(Ambiguous, match="other/metrics.json or results/metrics.json"):
                    ask("metrics.json")
            with pytest.raises(UnknownName, match=r"there is no .* 'nothing.json'"):
                log.ancestors("nothing.json")
    finally:
        with wh.open("project.whence") as log:
            log.delete("other/metrics.json@v1", force=True)
    assert names("ancestors", "metrics.json")


def test_a_run_can_be_shown() -> None:
    told = json.loads(whence("show", "train.py#6", "--json").stdout)
    assert sorted(told["used"]) == ["train.py@v1", "work/train.csv@v2"]
    assert told["generated"] == ["work/model.json@v2"]
    assert (told["properties"]["exit_code"], told["properties"]["script"]) == (0, "train.py")
    assert "  generated: work/model.json@v2\n" in whence("show", "train.py#6").stdout
    assert whence("show", "model.json").stdout.startswith("work/model.json@v2: file")
    assert "there is no dataset 'train.py#99'" in whence("show", "train.py#99", status=1).stderr
