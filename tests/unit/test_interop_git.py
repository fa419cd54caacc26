"""The history of a repository in a log: commits, authors, versions of files, and how runs meet them."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

import whence as wh


class Repository:
    def __init__(self, place: Path) -> None:
        self.place = place
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, author: str = "Ada") -> None:
        who = ("-c", f"user.name={author}", "-c", f"user.email={author.lower()}@example.org")
        subprocess.run(["git", *who, "-C", str(self.place), *arguments], check=True, capture_output=True)

    def commit(self, message: str, author: str = "Ada", **files: str | None) -> None:
        for name, text in files.items():
            path = self.place / f"{name}.txt"
            if text is None:
                path.unlink()
            else:
                path.write_text(text)
        self.git("add", "--all", "*.txt")
        self.git("commit", "-qm", message, author=author)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.chdir(tmp_path)
    found = Repository(tmp_path)
    found.commit("first", a="one", b="two")
    found.commit("second", author="Bob", a="one more")
    return found


@pytest.fixture
def log(repository: Repository) -> wh.Log:
    return wh.open(repository.place / "project.whence")


def test_commits_authors_and_versions(log: wh.Log) -> None:
    imported = log.import_("git")
    assert (imported.entities, imported.activities, imported.agents) == (3, 2, 2)
    graph = log.graph
    assert graph.versions("a.txt") == ["a.txt@v1", "a.txt@v2"]
    assert ("a.txt@v2", "wasDerivedFrom", "a.txt@v1") in graph.edges
    assert graph.blame("a.txt@v2").keys() == {"Ada", "Bob"}
    second = next(name for name in graph.of_kind("activity") if graph[name]["message"] == "second")
    assert graph[second]["command"] == "git commit"
    assert len([edge for edge in graph.edges if edge[1] == "wasInformedBy"]) == 1
    assert (second, "used", "a.txt@v1") in graph.edges
    assert log.check().ok


def test_importing_again_adds_what_is_new(repository: Repository, log: wh.Log) -> None:
    log.import_("git")
    assert log.import_("git").relations == 0
    repository.commit("third", a="three", b=None)
    imported = log.import_("git")
    assert (imported.entities, imported.activities) == (1, 1)
    graph = log.graph
    assert graph.versions("a.txt")[-1] == "a.txt@v3"
    assert ("a.txt@v3", "wasDerivedFrom", "a.txt@v2") in graph.edges
    assert [edge[0] for edge in graph.edges if edge[1] == "wasInvalidatedBy"] == ["b.txt@v1"]


def test_renames_lead_to_the_old_name(repository: Repository, log: wh.Log) -> None:
    repository.git("mv", "b.txt", "c.txt")
    repository.git("commit", "-qm", "renamed")
    log.import_("git")
    assert ("c.txt@v1", "wasDerivedFrom", "b.txt@v1") in log.graph.edges


def test_branches_and_merges(repository: Repository, log: wh.Log) -> None:
    repository.git("checkout", "-qb", "side")
    repository.commit("on the side", author="Bob", c="side")
    repository.git("checkout", "-q", "main")
    repository.commit("on main", a="main")
    repository.git("merge", "-q", "--no-ff", "-m", "merged", "side")
    log.import_("git")
    graph = log.graph
    merged = next(name for name in graph.of_kind("activity") if graph[name]["message"] == "merged")
    assert len([edge for edge in graph.edges if edge[:2] == (merged, "wasInformedBy")]) == 2
    assert graph.versions("c.txt") == ["c.txt@v1"]


def test_a_merge_generates_what_it_changes_itself(repository: Repository, log: wh.Log) -> None:
    lines = [f"{number}\n" for number in range(20)]
    repository.commit("long", long="".join(lines), gone="short")
    repository.git("checkout", "-qb", "side")
    repository.commit("its top", author="Bob", long="".join(["top\n", *lines[1:]]))
    repository.git("checkout", "-q", "main")
    repository.git("mv", "long.txt", "longer.txt")
    repository.commit("its end", longer="".join([*lines[:-1], "end\n"]))
    repository.git("merge", "-q", "--no-commit", "side")
    repository.commit("merged", b="changed by the merge", gone=None)
    log.import_("git")
    graph = log.graph
    merged = next(name for name in graph.of_kind("activity") if graph[name]["message"] == "merged")
    made = {edge[0] for edge in graph.edges if edge[1:] == ("wasGeneratedBy", merged)}
    assert made == {"longer.txt@v2", "b.txt@v2"}
    derived = {edge[2] for edge in graph.edges if edge[:2] == ("longer.txt@v2", "wasDerivedFrom")}
    assert derived == {"longer.txt@v1", "long.txt@v2"}
    assert ("gone.txt@v1", "wasInvalidatedBy", merged) in graph.edges
    assert set(graph.blame("longer.txt@v2")) == {"Ada", "Bob"}
    assert log.import_("git").entities == 0


def test_runs_use_the_versions_that_git_knows(repository: Repository, log: wh.Log) -> None:
    log.import_("git")
    with log.activity("read") as a:
        a.used("a.txt")
        Path("out.txt").write_text("made")
        a.generated("out.txt")
    assert a.inputs == {"a.txt": "a.txt@v2"}
    repository.commit("keep it")
    assert log.import_("git").entities == 0
    keep = next(name for name in log.graph.of_kind("activity") if log.graph[name].get("message") == "keep it")
    assert (keep, "wasInfluencedBy", "out.txt@v1") in log.graph.edges
    assert (keep, "used", "out.txt@v1") not in log.graph.edges
    assert "a.txt@v1" in log.graph.ancestors("out.txt")


def test_another_repository_is_named_by_its_path(
    repository: Repository, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    with wh.open(elsewhere / "project.whence") as log:
        log.import_(f"git:{repository.place}")
        assert log.graph.versions(f"{repository.place.resolve()}/b.txt") != []


def messages(log: wh.Log) -> dict[str, str]:
    graph = log.graph
    return {graph[name]["message"]: name for name in graph.of_kind("activity") if "message" in graph[name].properties}


@pytest.mark.parametrize("separators", ["\x1f\x1e", "\x1e\x1f", "\x1e", "\x1f", "\n:100644 "])
def test_a_message_cannot_forge_a_commit(repository: Repository, log: wh.Log, separators: str) -> None:
    end = separators[0]
    fields = ["f" * 40, "", "Alice", "a@x", "2020-01-01T00:00:00+00:00", "2020-01-01T00:00:00+00:00", "forged", ""]
    repository.commit(f"innocent{separators}{end.join(fields)}", author="Eve", a="three")
    log.import_("git")
    graph = log.graph
    assert sorted(graph.of_kind("agent")) == ["Ada", "Bob", "Eve"]
    assert len(graph.of_kind("activity")) == 3
    assert ("a.txt@v3", "wasAttributedTo", "Eve") in graph.edges
    [own] = [name for message, name in messages(log).items() if message.startswith("innocent")]
    assert ("a.txt@v3", "wasGeneratedBy", own) in graph.edges


ODD = [
    "new\nline",
    "tab\there",
    'quo"te',
    "back\\slash",
    " space ",
    "a\x1eb\x1fc",
    ":100644 100644 x y M",
    "a\udcff",
    "a" * 40,
]


def test_odd_names_of_files(repository: Repository, log: wh.Log) -> None:
    for number, name in enumerate(ODD):
        (repository.place / name).write_text(f"{number}")
    repository.git("add", "--all")
    repository.git("reset", "-q", "project.whence")
    repository.git("commit", "-qm", "odd")
    (repository.place / ODD[0]).rename(repository.place / "re\nnamed")
    repository.git("add", "--all", "re\nnamed", ODD[0])
    repository.git("commit", "-qm", "moved")
    log.import_("git")
    graph, commits = log.graph, messages(log)
    made = [edge[0] for edge in graph.edges if edge[1:] == ("wasGeneratedBy", commits["odd"])]
    assert sorted(graph[name]["sha256"] for name in made) == sorted(
        hashlib.sha256(str(number).encode()).hexdigest() for number in range(len(ODD))
    )
    [moved] = [edge[0] for edge in graph.edges if edge[1:] == ("wasGeneratedBy", commits["moved"])]
    assert [edge[2] for edge in graph.edges if edge[:2] == (moved, "wasDerivedFrom")] == ["new\\nline@v1"]
    with log.activity("read") as a:  # a run calls them the same
        for name in ODD[1:]:
            a.used(repository.place / name)
    assert sorted(a.inputs.values()) == sorted(set(made) - {"new\\nline@v1"})


@pytest.mark.parametrize("author", ["Ada <Love> Lace", "a.txt@v1", "commit-123", "x" * 2000, "\x1b[31mred", "É\u202e"])
def test_odd_names_of_authors(repository: Repository, log: wh.Log, author: str) -> None:
    repository.commit("odd", author=author, a="odd")
    log.import_("git")
    graph = log.graph
    assert graph.versions("a.txt") == ["a.txt@v1", "a.txt@v2", "a.txt@v3"]
    assert len(graph.of_kind("agent")) == 3
    assert log.import_("git").relations == 0


def test_bytes_that_are_no_text_and_times_that_no_calendar_has(repository: Repository, log: wh.Log) -> None:
    place = str(repository.place)
    tree = subprocess.run(["git", "-C", place, "write-tree"], capture_output=True, check=True).stdout.strip()
    commit = (
        b"tree "
        + tree
        + b"\nauthor \xff\xfe <> 99999999999999999999 +0000\ncommitter Eve <e> 5 +9999\n\n\xff subject\n"
    )
    made = subprocess.run(["git", "-C", place, "hash-object", "-t", "commit", "--literally", "-w", "--stdin"],
                          input=commit, capture_output=True, check=True).stdout.strip().decode()  # fmt: skip
    repository.git("checkout", "-q", made)
    log.import_("git")
    [own] = log.graph.of_kind("activity")
    assert log.graph[own]["message"] == "\ufffd subject"
    assert log.import_("git").relations == 0


def test_a_commit_before_a_run_is_not_said_to_use_what_the_run_read(repository: Repository, log: wh.Log) -> None:
    with log.activity("read") as a:
        a.used("a.txt")
        Path("out.txt").write_text("made")
        a.generated("out.txt")
    assert a.inputs == {"a.txt": "a.txt@v1"}
    repository.commit("keep it")
    log.import_("git")
    graph, commits = log.graph, messages(log)
    assert {edge for edge in graph.edges if edge[1] == "used"} == {
        (a.id, "used", "a.txt@v1"),
        (commits["second"], "used", "a.txt@v2"),
    }
    assert ("a.txt@v1", "wasGeneratedBy", commits["second"]) in graph.edges
    assert ("a.txt@v1", "wasDerivedFrom", "a.txt@v2") in graph.edges  # numbers follow the order of being seen
    assert graph.acyclic
    with log.activity("again") as again:
        again.used("a.txt")
    assert again.inputs == {"a.txt": "a.txt@v1"}
    assert log.import_("git").relations == 0


def test_content_that_comes_back_makes_no_cycle(repository: Repository, log: wh.Log) -> None:
    with log.activity("read") as a:
        a.used("a.txt")
    repository.commit("third", a="three")
    repository.commit("back", a="one more")
    log.import_("git")
    assert log.graph.acyclic
    assert len(log.graph.versions("a.txt")) == 4
    assert log.import_("git").relations == 0


def test_a_commit_of_results_invents_no_use(repository: Repository, log: wh.Log) -> None:
    """notes.txt was written by hand and committed together with what a run had made, over again, and with a removal."""
    for number in (1, 2):
        with log.activity("make") as a:
            a.used("a.txt")
            Path("out.txt").write_text(f"made {number}")
            a.generated("out.txt")
        repository.commit(f"results {number}", notes=f"by hand {number}", b=None if number == 2 else "two")
    log.import_("git")
    graph, commits = log.graph, messages(log)
    assert {edge for edge in graph.edges if edge[1] == "used" and edge[0] in commits.values()} == {
        (commits["second"], "used", "a.txt@v2"), (commits["results 2"], "used", "notes.txt@v1"),
    }  # fmt: skip
    assert graph.ancestors("notes.txt@v2") == [commits["results 1"], "notes.txt@v1", commits["results 2"]]
    made = [commits["first"], "a.txt@v2", commits["second"], "a.txt@v1", "make#2"]
    assert graph.ancestors("out.txt@v2") == made
    assert ("b.txt@v1", "wasInvalidatedBy", commits["results 2"]) in graph.edges
