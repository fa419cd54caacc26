"""Git as a source of provenance: commits are activities, authors agents, versions of files entities."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import re
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

# Fields end with NUL, because neither commits nor paths can contain it.
_FIELDS = ("%H", "%P", "%an", "%ae", "%aI", "%cI", "%s")
# The user's configuration must not change the output.
_CONFIG = ("i18n.logOutputEncoding=UTF-8", "log.showSignature=false", "diff.relative=false", "color.ui=false")
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_LONGEST_AUTHOR = 200
_VERSION = re.compile(r"@v[0-9]+\Z")


def head_of(place: Path) -> dict[str, Any]:
    """Return the current commit of a directory, and whether files differ from it; empty outside of a repository."""
    program = shutil.which("git")
    if program is None:
        return {}
    answers = []
    for arguments in (("rev-parse", "HEAD"), ("status", "--porcelain", "--untracked-files=no")):
        done = subprocess.run([program, "-C", str(place), *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            return {}
        answers.append(done.stdout.strip())
    return {"git_commit": answers[0], "git_changed": bool(answers[1])}


@dataclass(frozen=True, slots=True)
class _Change:
    """The change of one file by a commit: `old` has its path and blob in each parent, `new` its new blob or None."""

    path: str
    old: tuple[tuple[str, str], ...]  # (path, blob); the path differs after a rename
    new: str | None


@dataclass(frozen=True, slots=True)
class _Commit:
    hash: str
    parents: tuple[str, ...]
    author: str
    email: str
    authored: str | None
    committed: str | None
    subject: str
    changes: tuple[_Change, ...]

    @property
    def id(self) -> str:
        return f"commit-{self.hash[:12]}"


@dataclass(frozen=True, slots=True)
class _Known:
    """A version of a file in the log, when it was first seen, and whether a recorded activity made it."""

    id: str
    created: Any
    is_made: bool

    def was_before(self, commit: _Commit) -> bool:
        """Whether it existed before the commit. Commits have times in seconds; in the same second, a version that an
        activity made counts as before."""
        try:
            created = dt.datetime.fromisoformat(str(self.created)).replace(microsecond=0)
            committed = dt.datetime.fromisoformat(str(commit.committed))
            return created < committed or (created == committed and self.is_made)
        except (TypeError, ValueError):  # one of the times is unknown
            return self.is_made


def history(repository: Path, store: Store) -> Graph:
    """Return the history of a repository as a graph: commits used the old versions of files and generated the new ones.

    Version numbers continue those in the log. If the log has a content from before the commit (a run read or wrote it,
    and it was committed later), the commit neither used nor generated it; the commit wasInfluencedBy it. If a content
    was committed first, and a run saw it later, the commit generated it. A merge generates the files that differ from
    all its parents.
    """
    root = Path(os.fsdecode(_git(repository, "rev-parse", "--show-toplevel").removesuffix(b"\n")))
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
        self.by_blob: dict[tuple[str, str], str] = {}  # version by (artifact, blob)
        self.by_hash: dict[tuple[str, str], list[_Known]] = {}  # versions in the log by (artifact, content)
        self.matched: dict[tuple[str, str, str], _Known] = {}  # version by (artifact, content, commit)
        self.last: dict[str, int] = {}
        graph = store.graph
        self.known = set(graph.of_kind("activity"))
        self.others = {*self.known, *graph.of_kind("entity")}
        made = {source for source, relation, _ in graph.edges if relation == "wasGeneratedBy"}
        for number in np.flatnonzero(graph.kinds == ENTITY).tolist():
            own = graph.vertex_at(number)
            artifact, version, content = (own.get(name) for name in ("artifact", "version", "sha256"))
            if isinstance(artifact, str) and isinstance(version, int):
                self.last[artifact] = max(version, self.last.get(artifact, 0))
                known = _Known(own.id, own.get("created"), own.id in made)
                self.by_hash.setdefault((artifact, str(content)), []).append(known)

    def graph(self, commits: Sequence[_Commit]) -> Graph:
        """Return the graph of the commits that are not in the log."""
        self._match(commits)
        for commit in commits:
            if commit.id in self.known:
                for change in commit.changes:
                    self._remember(commit, change)
            else:
                self._take(commit)
        return Graph.build(self.vertices.values(), self.edges)

    def _match(self, commits: Sequence[_Commit]) -> None:
        """Find the commit of each version in the log: the last that wrote its content before it was seen.

        For a version that was seen before all these commits, it is the first that wrote its content.
        """
        writers: dict[tuple[str, str], list[_Commit]] = {}
        for commit in commits:
            for change in commit.changes:
                if change.new is not None:
                    writers.setdefault((self.called(change.path), self.contents[change.new][0]), []).append(commit)
        for key, versions in self.by_hash.items():
            left = list(writers.get(key, ()))
            for known in versions:  # oldest first
                earlier = [each for each in left if not known.was_before(each)]
                chosen = earlier[-1] if earlier else (left[0] if left else None)
                if chosen is not None:
                    self.matched[(*key, chosen.hash)] = known
                    left = left[left.index(chosen) + 1 :]

    def _remember(self, commit: _Commit, change: _Change) -> None:
        if change.new is not None:
            artifact = self.called(change.path)
            known = self.matched.get((artifact, self.contents[change.new][0], commit.hash))
            if known is not None:
                self.by_blob[artifact, change.new] = known.id

    def _take(self, commit: _Commit) -> None:
        properties = {"command": "git commit", "message": commit.subject, "git_commit": commit.hash,
                      "email": commit.email}  # fmt: skip
        if commit.authored is not None:
            properties["started"] = commit.authored
        if commit.committed is not None:
            properties["ended"] = max(commit.authored or "", commit.committed)
        self.vertices[commit.id] = (commit.id, "activity", properties)
        author = self._author(commit)
        self.vertices.setdefault(author, (author, "agent", {}))
        self._edge(commit.id, "wasAssociatedWith", author)
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
        if change.new is None:
            for old in before:
                self._edge(old, "wasInvalidatedBy", commit.id)
            return
        content, size = self.contents[change.new]
        known = self.matched.get((artifact, content, commit.hash))
        if known is not None:
            self.by_blob[artifact, change.new] = known.id
            self.vertices.setdefault(known.id, (known.id, "entity", {}))
            if known.was_before(commit):  # other files of the commit did not come from it
                self._edge(commit.id, "wasInfluencedBy", known.id)
            else:
                self._generated(commit, known.id, before)
            return
        version = self.last.get(artifact, 0) + 1
        self.last[artifact] = version
        name = f"{artifact}@v{version}"
        properties = {"kind": "file", "artifact": artifact, "version": version, "sha256": content, "size": size}
        if commit.committed is not None:
            properties["created"] = commit.committed
        self.vertices[name] = (name, "entity", properties)
        self.by_blob[artifact, change.new] = name
        self._generated(commit, name, before)

    def _generated(self, commit: _Commit, name: str, before: Sequence[str]) -> None:
        self._edge(name, "wasGeneratedBy", commit.id)
        self._edge(name, "wasAttributedTo", self._author(commit))
        for old in before:
            self._edge(commit.id, "used", old)
            self._edge(name, "wasDerivedFrom", old)

    def _author(self, commit: _Commit) -> str:
        """Return the id of the author in the graph, which must differ from ids of commits and files."""
        name = commit.author
        taken = name in self.others or name.startswith("commit-") or _VERSION.search(name)
        return f"agent:{name}" if taken else name

    def _edge(self, source: str, relation: str, target: str) -> None:
        self.edges.setdefault((source, relation, target))


def _commits(repository: Path) -> Iterator[_Commit]:
    """Yield all commits of the current branch, parents first."""
    options = ("--reverse", "--topo-order", "--raw", "-c", "-z", "-M", "--combined-all-paths", "--no-abbrev",
               "--no-notes", "--no-ext-diff")  # fmt: skip
    output = _git(repository, "log", *options, f"--format={''.join(f'{each}%x00' for each in _FIELDS)}")
    parts = _Parts(repository, output.split(b"\0"))
    while parts.more():
        own, parents, author, email, authored, committed, subject = (parts.text() for _ in _FIELDS)
        if not _HASH.match(own) or not all(_HASH.match(each) for each in parents.split()):
            raise parts.unexpected(own)
        name = "".join(each for each in author if each.isprintable()).strip() or email or "unknown"
        changes = tuple(_changes_of_log(parts))
        yield _Commit(
            own, tuple(parents.split()), name[:_LONGEST_AUTHOR].strip(), email, _utc(authored), _utc(committed),
            subject, changes,
        )  # fmt: skip


class _Parts:
    """The output of git as a sequence of parts. The number of parts of a record is known before it is read."""

    def __init__(self, repository: Path, parts: Sequence[bytes]) -> None:
        self.repository, self.parts, self.place = repository, parts, 0

    def more(self) -> bool:
        """Whether there is another part; skip empty parts and newlines between commits."""
        while self.place < len(self.parts) and not self.parts[self.place].strip(b"\n"):
            self.place += 1
        return self.place < len(self.parts)

    def is_change(self) -> bool:
        return self.more() and self.parts[self.place].lstrip(b"\n").startswith(b":")

    def next(self) -> bytes:
        if self.place == len(self.parts):
            raise StoreError(f"{self.repository}: git ended in the middle of a commit")
        self.place += 1
        return self.parts[self.place - 1]

    def text(self) -> str:
        """Return the next part as text, of any encoding."""
        return self.next().decode("utf-8", "replace")

    def path(self) -> str:
        return os.fsdecode(self.next())

    def unexpected(self, found: str) -> StoreError:
        return StoreError(
            f"{self.repository}: git wrote {found[:60]!r}, which is not a commit: is its version 2.22 or newer?"
        )


def _changes_of_log(parts: _Parts) -> Iterator[_Change]:
    """Parse the changes of `git log --raw -z`: `:modes old new status`, then one path, or two for a rename.

    A merge has a colon, a mode, an old blob and a path for each parent.
    """
    while parts.is_change():
        line = parts.text().strip("\n")
        parents = len(line) - len(line.lstrip(":"))
        fields = line[parents:].split(" ")
        if len(fields) != 2 * parents + 3 or not fields[-1]:
            raise parts.unexpected(line)
        mode, blobs, status = fields[parents], fields[parents + 1 : -1], fields[-1]
        count = parents + 1 if parents > 1 or status[0] in "RC" else 1
        paths = [parts.path() for _ in range(count)]
        if mode == "160000":  # a submodule has commits instead of blobs
            continue
        before = paths[:-1] if count > 1 else paths
        old = tuple((path, blob) for path, blob in zip(before, blobs[:-1], strict=True) if blob.strip("0"))
        yield _Change(paths[-1], old, blobs[-1] if blobs[-1].strip("0") else None)


def _contents(repository: Path, blobs: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Return the SHA-256 and the size of each blob."""
    wanted = sorted(blobs)
    found: dict[str, tuple[str, int]] = {}
    command = [_program(), "-C", str(repository), "cat-file", "--batch"]
    with tempfile.TemporaryFile() as asked:  # a file, because with two pipes both sides could block
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
                        raise StoreError(f"{repository}: git ended before it had written all of {each}")
                    digest.update(chunk)
                    left -= len(chunk)
                process.stdout.read(1)
                found[each] = (digest.hexdigest(), int(header[2]))
    return found


def _git(repository: Path, *arguments: str) -> bytes:
    config = [word for each in _CONFIG for word in ("-c", each)]
    done = subprocess.run([_program(), "-C", str(repository), *config, *arguments], capture_output=True, check=False)
    if done.returncode:
        raise StoreError(f"git cannot read {repository}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def _program() -> str:
    found = shutil.which("git")
    if found is None:
        raise StoreError("there is no git on PATH: install it")
    return found


def _utc(text: str) -> str | None:
    """Return a time in the format of the catalog; None for an invalid time, which some programs write into commits."""
    try:
        return dt.datetime.fromisoformat(text).astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    except (ValueError, OverflowError):
        return None
