"""The commands on the project graph, run as a user runs them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.commands import run, run_json

import whence as wh

TRAIN = """
import sys
from pathlib import Path
import helper
data = Path("data/raw.csv").read_text()
Path("model.bin").write_text(data + sys.argv[1])
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHENCE_LOG", raising=False)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "raw.csv").write_text("1,2,3")
    (tmp_path / "helper.py").write_text("x = 1")
    (tmp_path / "train.py").write_text(TRAIN)
    wh.open(tmp_path / "project.whence").close()
    return tmp_path


def test_a_python_program_tells_what_it_reads_and_writes(project: Path) -> None:
    for word, version in (("one", "v1"), ("two", "v2")):  # the second time helper comes from its cache
        result = run("run", "--json", "run.json", "--", sys.executable, "train.py", word)
        assert result.exit_code == 0, result.output
        told = json.loads((project / "run.json").read_text())
        assert sorted(told["used"]) == ["data/raw.csv", "helper.py", "train.py"]
        assert told["generated"] == {"model.bin": f"model.bin@{version}"}
        (project / "run.json").unlink()
    with wh.open("project.whence") as log:
        graph = log.graph
        activity = graph[told["activity"]]
        assert activity["exit_code"] == 0
        assert activity["command"].endswith("train.py two")
        assert activity["files_found_by"] == "audit"
        assert activity["started"] <= activity["ended"]
        assert graph.versions("data/raw.csv") == ["data/raw.csv@v1"]
        assert len(graph.of_kind("agent")) == 1


def test_a_file_that_is_read_and_rewritten_is_used_as_it_was(project: Path) -> None:
    code = "from pathlib import Path; p = Path('data/raw.csv'); p.write_text(p.read_text() + ',4')"
    assert run("run", "--json", "run.json", "--", sys.executable, "-c", code).exit_code == 0
    told = json.loads((project / "run.json").read_text())
    assert told["used"] == {"data/raw.csv": "data/raw.csv@v1"}
    assert told["generated"] == {"data/raw.csv": "data/raw.csv@v2"}
    with wh.open("project.whence") as log:
        assert log.graph["data/raw.csv@v2"]["size"] == len("1,2,3,4")
        assert log.graph["data/raw.csv@v1"]["size"] == len("1,2,3")
        assert log.graph.acyclic


def test_other_programs_are_known_by_what_changed(project: Path) -> None:
    copy = shutil.which("cp")
    assert copy is not None
    assert run("run", "--json", "run.json", "--", copy, "data/raw.csv", "copy.csv").exit_code == 0
    told = json.loads((project / "run.json").read_text())
    assert told["used"] == {"data/raw.csv": "data/raw.csv@v1"}
    assert told["generated"] == {"copy.csv": "copy.csv@v1"}


@pytest.mark.parametrize(
    "command", [("dd", "if=data/raw.csv", "of=copy.csv", "status=none"), ("sh", "-c", "sort data/raw.csv > copy.csv")]
)
def test_files_among_the_arguments_are_what_is_read(project: Path, command: tuple[str, ...]) -> None:
    assert run("run", "--json", "run.json", "--", *command).exit_code == 0
    told = json.loads((project / "run.json").read_text())
    assert (list(told["used"]), list(told["generated"])) == (["data/raw.csv"], ["copy.csv"])


def test_what_is_removed_is_invalidated(project: Path) -> None:
    assert run("run", "--out", "data/raw.csv", "--", sys.executable, "-c", "pass").exit_code == 0
    (project / "aside.txt").write_text("never recorded")
    told = run("run", "--json", "run.json", "--", "rm", "data/raw.csv", "aside.txt")
    assert told.exit_code == 0
    assert "removed aside.txt, data/raw.csv@v1" in told.stderr
    assert json.loads((project / "run.json").read_text())["removed"] == {
        "aside.txt": None, "data/raw.csv": "data/raw.csv@v1",
    }  # fmt: skip
    with wh.open("project.whence") as log:
        removal = log.graph.of_kind("activity")[-1]
        assert log.graph[removal]["removed"] == ["aside.txt", "data/raw.csv"]
        assert ("data/raw.csv@v1", "wasInvalidatedBy", removal) in log.graph.edges
        assert log.check().ok


def test_what_is_moved_is_used_by_its_old_name(project: Path) -> None:
    assert run("run", "--json", "run.json", "--", "mv", "data/raw.csv", "data/old.csv").exit_code == 0
    told = json.loads((project / "run.json").read_text())
    assert told["used"] == {"data/raw.csv": "data/raw.csv@v1"}
    assert told["generated"] == {"data/old.csv": "data/old.csv@v1"}
    assert told["removed"] == {"data/raw.csv": "data/raw.csv@v1"}
    with wh.open("project.whence") as log:
        assert log.graph["data/raw.csv@v1"]["sha256"] == log.graph["data/old.csv@v1"]["sha256"]


def test_a_version_that_was_changed_before_it_was_removed_is_not_said_to_be_what_was_removed(project: Path) -> None:
    assert run("run", "--out", "data/raw.csv", "--", sys.executable, "-c", "pass").exit_code == 0
    (project / "data/raw.csv").write_text("3,2,1")  # as long as before
    assert run("run", "--", "rm", "data/raw.csv").exit_code == 0
    with wh.open("project.whence") as log:
        assert "wasInvalidatedBy" not in {relation for _, relation, _ in log.graph.edges}


def test_files_that_come_and_go_meanwhile_are_no_trouble(project: Path) -> None:
    """Something else in the project writes and removes files all the time; the run is recorded all the same."""
    code = "import itertools, os\nfor i in itertools.count():\n    open('tmp', 'w').close(); os.remove('tmp')"
    other = subprocess.Popen([sys.executable, "-c", code], cwd=project)
    try:
        for _ in range(3):
            assert run("run", "--", sys.executable, "train.py", "one").exit_code == 0
    finally:
        other.kill()
        other.wait()
    with wh.open("project.whence") as log:
        assert log.graph.versions("model.bin") == ["model.bin@v1"]
        assert len([edge for edge in log.graph.edges if edge[:2] == ("model.bin@v1", "wasGeneratedBy")]) == 3


def test_files_can_be_named(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "in.txt"
    elsewhere.write_text("x")
    result = run("run", "--in", elsewhere, "--out", "train.py", "--agent", "ada", "--", sys.executable, "-c", "pass")
    assert result.exit_code == 0, result.output
    with wh.open("project.whence") as log:
        assert log.graph.of_kind("entity") == [f"{elsewhere.resolve()}@v1", "train.py@v1"]
        assert log.graph.blame("train.py") == {"ada": [log.graph.of_kind("activity")[0], "train.py@v1"]}


def test_an_output_that_was_not_written_is_an_error_and_the_run_is_recorded(project: Path) -> None:
    result = run("run", "--out", "none.bin", "--", sys.executable, "train.py", "one")
    assert result.exit_code == 1
    assert "train.py#1 was recorded, but did not write none.bin" in result.stderr
    with wh.open("project.whence") as log:
        assert log.graph.versions("model.bin") == ["model.bin@v1"]


def test_the_status_is_the_commands_and_failures_are_recorded(project: Path) -> None:
    assert run("run", "--", sys.executable, "-c", "raise SystemExit(3)").exit_code == 3
    with wh.open("project.whence") as log:
        [activity] = log.graph.of_kind("activity")
        assert log.graph[activity]["exit_code"] == 3
    result = run("run", "--", "no-such-program-anywhere")
    assert result.exit_code == 1
    assert "there is no program" in result.stderr
    assert run("run").exit_code == 2


def test_a_log_is_made_beside_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WHENCE_LOG", raising=False)
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run([*git, "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.txt").write_text("a")
    subprocess.run([*git, "-C", str(tmp_path), "add", "sub"], check=True)
    subprocess.run([*git, "-C", str(tmp_path), "commit", "-qm", "first"], check=True)
    monkeypatch.chdir(tmp_path / "sub")
    result = run("run", "--", sys.executable, "-c", "open('a.txt').read()")
    assert result.exit_code == 0
    assert "created the log" in result.stderr
    with wh.open(tmp_path / "project.whence") as log:
        [activity] = log.graph.of_kind("activity")
        assert len(log.graph[activity]["git_commit"]) == 40
        assert log.graph[activity]["git_changed"] is False
        assert log.graph.of_kind("entity") == ["sub/a.txt@v1"]


@pytest.fixture
def history(project: Path) -> Path:
    """Two people train twice each, the second time on changed data."""
    with wh.open("project.whence") as log:
        for number, name in enumerate(("ada", "bob", "ada")):
            with log.activity("train", command="train", agent=name) as a:
                a.used("data/raw.csv")
                Path("model.bin").write_text(str(number))
                a.generated("model.bin")
    return project


def test_segment_names_what_took_part(history: Path) -> None:
    told = run_json("segment", "--src", "data/raw.csv", "--dst", "model.bin@v3")
    rules = {each["id"]: each["rule"] for each in told["vertices"]}
    assert rules["data/raw.csv@v1"] == "source"
    assert rules["model.bin@v3"] == "destination"
    assert rules["ada"] == "agent"
    assert {"source": "model.bin@v3", "relation": "wasGeneratedBy", "target": "train#3"} in told["edges"]
    lines = run("segment", "--src", "data/raw.csv", "--dst", "model.bin").stdout.splitlines()
    assert lines[0] == "id\tkind\trule"
    assert "bob\tagent\tagent" in lines


def test_files_are_found_by_their_paths(history: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = run_json("segment", "--src", "data/raw.csv", "--dst", "model.bin")
    assert run_json("segment", "--src", "./data/raw.csv", "--dst", history / "model.bin") == expected
    monkeypatch.chdir(history / "data")
    assert run_json("segment", "--src", "raw.csv", "--dst", "../model.bin") == expected
    told = run_json("summarize", "--src", "./raw.csv", "--dst", "../model.bin@v2")
    assert told["segments"] == 1


def test_segment_leaves_out_what_has_a_property(history: Path) -> None:
    asked = ("segment", "--src", "data/raw.csv", "--dst", "model.bin@v3", "--exclude-relation", "wasDerivedFrom")
    assert "train#3" in {each["id"] for each in run_json(*asked)["vertices"]}
    for value in ("command=train", "version=3"):
        told = run_json(*asked, "--exclude-what", value)
        assert bool(told["vertices"]) == (value == "version=3"), "what the question names is never left out"
    assert run(*asked, "--exclude-what", "train").exit_code == 2


def test_segment_takes_boundaries_and_draws(history: Path) -> None:
    asked = ("segment", "--src", "data/raw.csv", "--dst", "model.bin", "--exclude-agent", "bob")
    told = run_json(*asked, "--exclude-relation", "wasDerivedFrom", "--expand", 1, "--out", "seg.svg")
    assert "train#2" not in {each["id"] for each in told["vertices"]}
    assert not [each for each in told["edges"] if each["relation"] == "wasDerivedFrom"]
    assert ET.parse(history / "seg.svg").getroot().tag.endswith("svg")
    empty = run("segment", "--src", "model.bin", "--dst", "data/raw.csv")
    assert empty.exit_code == 0
    assert "swap --src and --dst" in empty.stderr


def test_segment_says_what_is_wrong(history: Path) -> None:
    for arguments, words in (
        (("--src", "data/raw.cvs", "--dst", "model.bin"), "there is no vertex 'data/raw.cvs'"),
        (("--src", "data/raw.csv", "--dst", "model.bin", "--exclude-agent", "eve"), "there is no agent 'eve'"),
        (("--src", "data/raw.csv", "--dst", "model.bin", "--after", "soon"), "'soon' is not a time"),
        (("--src", "data/raw.csv", "--dst", "model.bin", "--out", "a.jpg"), "picture must end in"),
    ):
        result = run("segment", *arguments)
        assert result.exit_code == 1, result.output
        assert words in result.stderr


def test_summarize_says_how_it_is_usually_made(history: Path) -> None:
    told = run_json("summarize", "--src", "data/raw.csv", "--dst", "model.bin", "--out", "sum.png",
                    "--exclude-relation", "wasDerivedFrom", "--exclude-relation", "wasAttributedTo")  # fmt: skip
    assert told["segments"] == 3
    assert {each["label"] for each in told["vertices"]} == {"data/raw.csv", "model.bin", "train", "agent"}
    assert all(each["frequency"] == 1 for each in told["edges"])
    assert (history / "sum.png").read_bytes().startswith(b"\x89PNG")
    assert run("summarize", "--src", "data/raw.csv", "--dst", "model.bin", "--keep", "x").exit_code == 2


@pytest.mark.filterwarnings("default")
def test_warnings_are_said_without_the_code_that_gave_them(project: Path) -> None:
    with wh.open("project.whence") as log:
        for name in "ab":
            log.array(name, shape=(3,))
        log.register_operation("there", ["a"], ["b"])
        log.register_operation("back", ["b"], ["a"])
    result = run("segment", "--src", "a", "--dst", "b")
    assert result.exit_code == 0
    assert result.stderr.startswith("Warning: a cycle: 'a' -> ")
    assert "_boundaries.py" not in result.stderr
    result = run("summarize", "--src", "a", "--dst", "b")
    assert result.exit_code == 1
    assert "cannot be summarized: 'a' -> " in result.stderr
