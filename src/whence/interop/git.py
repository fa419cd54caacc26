"""Git as a source of provenance: commits are activities, authors agents, versions of files entities."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.errors import StoreError
from whence.graph import Graph
from whence.graph.model import ENTITY
from whence.store.recording.artifacts import artifact_name, project_of

if TYPE_CHECKING:
    from whence.store import Store

_FIELDS = "%x1e%H%x1f%P%x1f%an%x1f%ae%x1f%aI%x1f%cI%x1f%s%x1f"


def head_of(place: Path) -> dict[str, Any]:
    """The commit that a directory stands at, and whether files differ from it; nothing outside of a repository."""
    program = shutil.which("git")
    if program is None:
        return {}
    told = []
    for arguments in (("rev-parse", "HEAD"), ("status", "--porcelain", "--untracked-files=no")):
        done = subprocess.run([program, "-C", str(place), *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            return {}
        told.append(done.stdout.strip())
    return {"git_commit": told[0], "git_changed": bool(told[1])}


@dataclass(frozen=True, slots=True)
class _Change:
    """What a commit did to one file: `old` is what it was for each parent, `new` what it became; blobs, or nothing."""

    path: str
    old: tuple[tuple[str, str], ...]  # path, which differs if it was renamed, and blob
    new: str | None


@dataclass(frozen=True, slots=True)
class _Commit:
    hash: str
    parents: tuple[str, ...]
    author: str
    email: str
    authored: str
    committed: str
    subject: str
    changes: tuple[_Change, ...]

    @property
    def id(self) -> str:
        return f"commit-{self.hash[:12]}"


def history(repository: Path, store: Store) -> Graph:
    """The history of a repository as a graph: commits used the old versions of files and generated the new ones.

    Versions are numbered on from what the log knows. Content that it knows already (a run wrote it, and it was
    committed later) is used by its commit, not generated. A merge generates what differs from all that it merges.
    """
    root = Path(_git(repository, "rev-parse", "--show-toplevel").decode().strip())
    project = Path(os.path.realpath(project_of(store.where)))
    commits = list(_commits(repository))
    sizes = _contents(repository, {each.new for commit in commits for each in commit.changes if each.new})
    return _Versions(store, lambda path: artifact_name(root / path, project), sizes).graph(commits)


class _Versions:
    """Numbers the versions of files, in the order of commits."""

    def __init__(self, store: Store, called: Callable[[str], str], contents: Mapping[str, tuple[str, int]]) -> None:
        self.called, self.contents = called, contents
        self.vertices: dict[str, tuple[str, str, dict[str, Any]]] = {}
        self.edges: dict[tuple[str, str, str], None] = {}
        self.by_blob: dict[tuple[str, str], str] = {}  # artifact and blob: the version
        self.by_hash: dict[tuple[str, str], str] = {}  # artifact and content: the version that the log has
        self.last: dict[str, int] = {}
        self.known = set(store.graph.of_kind("activity"))
        graph = store.graph
        for number in np.flatnonzero(graph.kinds == ENTITY).tolist():
            own = graph.vertex_at(number)
            artifact, version, content = (own.get(name) for name in ("artifact", "version", "sha256"))
            if isinstance(artifact, str) and isinstance(version, int):
                self.last[artifact] = max(version, self.last.get(artifact, 0))
                self.by_hash[artifact, str(content)] = own.id

    def graph(self, commits: Sequence[_Commit]) -> Graph:
        """The graph of the commits that the log does not have."""
        for commit in commits:
            if commit.id in self.known:
                for change in commit.changes:
                    self._remember(change)
            else:
                self._take(commit)
        return Graph.build(self.vertices.values(), self.edges)

    def _remember(self, change: _Change) -> None:
        if change.new is not None:
            artifact = self.called(change.path)
            known = self.by_hash.get((artifact, self.contents[change.new][0]))
            if known is not None:
                self.by_blob[artifact, change.new] = known

    def _take(self, commit: _Commit) -> None:
        self.vertices[commit.id] = (
            commit.id, "activity",
            {"command": "git commit", "message": commit.subject, "git_commit": commit.hash, "email": commit.email,
             "started": commit.authored, "ended": max(commit.authored, commit.committed)},
        )  # fmt: skip
        self.vertices.setdefault(commit.author, (commit.author, "agent", {}))
        self._edge(commit.id, "wasAssociatedWith", commit.author)
        for parent in commit.parents:
            name = f"commit-{parent[:12]}"
            if name in self.vertices or name in self.known:
                self.vertices.setdefault(name, (name, "activity", {}))
                self._edge(commit.id, "wasInformedBy", name)
        for change in commit.changes:
            self._change(commit, change)

    def _change(self, commit: _Commit, change: _Change) -> None:
        artifact = self.called(change.path)
        found = (self.by_blob.get((self.called(path), blob)) for path, blob in change.old)
        before = [each for each in dict.fromkeys(found) if each is not None]
        for old in before:
            self.vertices.setdefault(old, (old, "entity", {}))
            self._edge(commit.id, "used", old)
        if change.new is None:
            for old in before:
                self._edge(old, "wasInvalidatedBy", commit.id)
            return
        content, size = self.contents[change.new]
        known = self.by_hash.get((artifact, content))
        if known is not None:
            self.by_blob[artifact, change.new] = known
            self.vertices.setdefault(known, (known, "entity", {}))
            self._edge(commit.id, "used", known)
            return
        version = self.last.get(artifact, 0) + 1
        self.last[artifact] = version
        name = f"{artifact}@v{version}"
        properties = {"kind": "file", "created": commit.committed, "artifact": artifact, "version": version,
                      "sha256": content, "size": size}  # fmt: skip
        self.vertices[name] = (name, "entity", properties)
        self.by_blob[artifact, change.new] = name
        self._edge(name, "wasGeneratedBy", commit.id)
        self._edge(name, "wasAttributedTo", commit.author)
        for old in before:
            self._edge(name, "wasDerivedFrom", old)

    def _edge(self, source: str, relation: str, target: str) -> None:
        self.edges.setdefault((source, relation, target))


def _commits(repository: Path) -> Iterator[_Commit]:
    """All commits of the present branch, parents first."""
    arguments = ("log", "--reverse", "--topo-order", "--raw", "-c", "-z", "-M", "--combined-all-paths", "--no-abbrev")
    for chunk in _git(repository, *arguments, f"--format={_FIELDS}").split(b"\x1e")[1:]:
        *fields, rest = chunk.decode("utf-8", "surrogateescape").split("\x1f")
        own, parents, author, email, authored, committed, subject = fields
        name = "".join(each for each in author.strip() if each.isprintable()) or email or "unknown"
        changes = tuple(_changes([each for each in rest.split("\0") if each.strip("\n")]))
        yield _Commit(own, tuple(parents.split()), name, email, _utc(authored), _utc(committed), subject, changes)


def _changes(parts: list[str]) -> Iterator[_Change]:
    """The changes out of `git log --raw -z`: `:modes old new status`, then one path, or two of a rename.

    Of a merge there is a colon, a mode, an old blob and a path for each parent.
    """
    place = 0
    while place < len(parts):
        told = parts[place].strip("\n")
        parents = len(told) - len(told.lstrip(":"))
        fields = told[parents:].split(" ")
        mode, blobs, status = fields[parents], fields[parents + 1 : -1], fields[-1]
        count = parents + 1 if parents > 1 or status[0] in "RC" else 1
        paths = parts[place + 1 : place + 1 + count]
        place += 1 + count
        if mode == "160000":  # a submodule, whose commits are no content
            continue
        before = paths[:-1] if count > 1 else paths
        old = tuple((path, blob) for path, blob in zip(before, blobs[:-1], strict=True) if blob.strip("0"))
        yield _Change(paths[-1], old, blobs[-1] if blobs[-1].strip("0") else None)


def _contents(repository: Path, blobs: Iterable[str]) -> dict[str, tuple[str, int]]:
    """The SHA-256 and the size of each blob."""
    wanted = sorted(blobs)
    found: dict[str, tuple[str, int]] = {}
    command = [_program(), "-C", str(repository), "cat-file", "--batch"]
    with tempfile.TemporaryFile() as asked:  # a file, not a pipe: neither side then waits for the other
        asked.write("".join(f"{each}\n" for each in wanted).encode())
        asked.seek(0)
        with subprocess.Popen(command, stdin=asked, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            for each in wanted:
                header = process.stdout.readline().split()
                if len(header) != 3:
                    raise StoreError(f"{repository} lacks the object {each}: fetch it, or run `git fsck`")
                left, digest = int(header[2]), hashlib.sha256()
                while left:
                    chunk = process.stdout.read(min(left, 1 << 20))
                    if not chunk:
                        raise StoreError(f"{repository}: git ended before it told all of {each}")
                    digest.update(chunk)
                    left -= len(chunk)
                process.stdout.read(1)
                found[each] = (digest.hexdigest(), int(header[2]))
    return found


def _git(repository: Path, *arguments: str) -> bytes:
    done = subprocess.run([_program(), "-C", str(repository), *arguments], capture_output=True, check=False)
    if done.returncode:
        raise StoreError(f"git cannot tell of {repository}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def _program() -> str:
    found = shutil.which("git")
    if found is None:
        raise StoreError("there is no git on PATH: install it")
    return found


def _utc(text: str) -> str:
    return dt.datetime.fromisoformat(text).astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
