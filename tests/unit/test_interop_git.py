"""The history of a repository in a log: commits, authors, versions of files, and how runs meet them."""

from __future__ import annotations

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
    assert (keep, "used", "out.txt@v1") in log.graph.edges
    assert "a.txt@v1" in log.graph.ancestors("out.txt")


def test_another_repository_is_named_by_its_path(
    repository: Repository, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    with wh.open(elsewhere / "project.whence") as log:
        log.import_(f"git:{repository.place}")
        assert log.graph.versions(f"{repository.place.resolve()}/b.txt") != []
