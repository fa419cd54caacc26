"""Blobs: named by their content, written so that a crash leaves all of one or nothing."""

from __future__ import annotations

import os
import pickle
import time
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import whence as wh
from whence.errors import Damaged, MissingExtra, StoreError
from whence.relation.parts import PartedRelation, hash_of, index_of, write_part
from whence.store.blobs import local as module
from whence.store.blobs.local import LocalBlobs
from whence.store.blobs.remote import RemoteBlobs
from whence.store.derivations.cache import RelationCache

DATA = wh.Relation.identity((3, 4)).to_bytes()
NAME = hash_of(DATA)


@pytest.fixture(params=["local", "memory"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return LocalBlobs(tmp_path / "blobs") if request.param == "local" else RemoteBlobs(f"memory://{tmp_path.name}")


def test_what_is_put_can_be_opened(blobs: Any) -> None:
    assert not blobs.has(NAME, len(DATA))
    assert list(blobs.listing()) == []
    assert blobs.put(NAME, DATA)
    assert not blobs.put(NAME, DATA)
    assert blobs.has(NAME, len(DATA))
    assert not blobs.has(NAME, len(DATA) + 1)
    assert blobs.open(NAME, "it") == wh.Relation.identity((3, 4))
    [file] = blobs.listing()
    assert (file.name, file.hash, file.size) == (f"{NAME[:2]}/{NAME}", NAME, len(DATA))
    assert not file.temporary
    assert not file.abandoned
    blobs.verify(NAME)
    blobs.remove(NAME)
    blobs.remove(NAME)
    assert list(blobs.listing()) == []


def test_a_large_blob_is_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAPPED", len(DATA))
    blobs = LocalBlobs(tmp_path)
    blobs.put(NAME, DATA)
    relation = blobs.open(NAME, "it")
    assert NAME in Path("/proc/self/maps").read_text()
    blobs.remove(NAME)  # what is open stays readable
    assert relation == wh.Relation.identity((3, 4))
    small = wh.Relation.identity(()).to_bytes()
    blobs.put(hash_of(small), small)
    assert blobs.open(hash_of(small), "it") == wh.Relation.identity(())
    assert hash_of(small) not in Path("/proc/self/maps").read_text()


def test_a_missing_blob(blobs: Any) -> None:
    with pytest.raises(Damaged, match=r"it: its blob .* is missing from .*record the same lineage again"):
        blobs.open(NAME, "it")
    with pytest.raises(Damaged, match=r"the blob .* is missing"):
        blobs.verify(NAME)


def test_a_wrong_blob_is_found_and_replaced(blobs: Any) -> None:
    blobs.put(NAME, b"something else")
    with pytest.raises(Damaged, match="truncated or altered"):
        blobs.verify(NAME)
    with pytest.raises(Damaged, match="it"):
        blobs.open(NAME, "it")
    assert blobs.put(NAME, DATA)
    blobs.verify(NAME)


def test_one_log_claims_the_blobs(blobs: Any) -> None:
    blobs.claim("a" * 32)
    blobs.claim("a" * 32)
    with pytest.raises(StoreError, match=r"belong to another log \(aaaaaaaaaaaa\.\.\.\)"):
        blobs.claim("b" * 32)
    [file] = blobs.listing()
    assert (file.name, file.hash, file.temporary) == (module.OWNER, None, False)


def test_a_blob_is_durable_before_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes reach the disk, then the name, then the directory; the calls go through to the real thing."""
    happened: list[str] = []
    fsync, replace = os.fsync, os.replace

    def spy_fsync(descriptor: int) -> None:
        happened.append(f"sync {'directory' if os.path.isdir(f'/proc/self/fd/{descriptor}') else 'file'}")
        fsync(descriptor)

    def spy_replace(source: Any, target: Any) -> None:
        assert Path(source).parent == Path(target).parent
        assert Path(source).read_bytes() == DATA
        happened.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", spy_fsync)
    monkeypatch.setattr(os, "replace", spy_replace)
    LocalBlobs(tmp_path).put(NAME, DATA)
    assert happened == ["sync directory", "sync directory", "sync file", "rename", "sync directory"]
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == [NAME]


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(source: Any, target: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        LocalBlobs(tmp_path).put(NAME, DATA)
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []


def test_a_directory_that_vanishes_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace = os.replace
    failures = 1

    def collected_meanwhile(source: Any, target: Any) -> None:
        nonlocal failures
        if failures:
            failures -= 1
            os.unlink(source)
        replace(source, target)

    monkeypatch.setattr(os, "replace", collected_meanwhile)
    assert LocalBlobs(tmp_path).put(NAME, DATA)
    assert failures == 0
    LocalBlobs(tmp_path).verify(NAME)


def test_old_temporary_files_are_abandoned(tmp_path: Path) -> None:
    file = tmp_path / "ab" / f"{module.TEMPORARY}1-2"
    file.parent.mkdir()
    file.write_bytes(b"part of")
    [found] = LocalBlobs(tmp_path).listing()
    assert found.temporary
    assert not found.abandoned
    os.utime(file, (time.time() - 2 * module.GRACE,) * 2)
    [found] = LocalBlobs(tmp_path).listing()
    assert found.abandoned


def test_collecting_removes_what_was_abandoned(tmp_path: Path) -> None:
    with wh.open(tmp_path / "log") as log:
        file = tmp_path / "log" / "blobs" / "ab" / f"{module.TEMPORARY}1-2"
        file.parent.mkdir(parents=True)
        file.write_bytes(b"part of")
        assert log.collect().temporary == 0
        os.utime(file, (time.time() - 2 * module.GRACE,) * 2)
        assert len(log.check().notes) == 1
        collected = log.collect()
        assert (collected.temporary, collected.bytes) == (1, 7)
        assert str(collected) == "removed 0 blobs and 1 temporary file, 7 B"
        assert not log.check().notes


def test_protocols_that_fsspec_lacks() -> None:
    with pytest.raises((StoreError, MissingExtra), match="nowhere"):
        RemoteBlobs("nowhere://bucket").put(NAME, DATA)


def test_passwords_are_not_shown() -> None:
    assert RemoteBlobs("sftp://ada:secret@host/path").where == "sftp://host/path"


def test_the_cache_keeps_what_was_used_last() -> None:
    cache, relation = RelationCache(limit=100), wh.Relation.identity((3,))
    cache.put("a", relation, 40)
    cache.put("b", relation, 40)
    assert cache.get("a") is relation
    cache.put("c", relation, 40)
    assert cache.get("b") is None
    assert cache.get("a") is cache.get("c") is relation
    cache.put("huge", relation, 101)
    assert cache.get("huge") is None
    assert cache.get("a") is relation
    cache.put("a", relation, 40)
    cache.put("d", relation, 100)
    assert [cache.get(name) is None for name in "acd"] == [True, True, False]


class Forgetful(MemoryFileSystem):  # type: ignore[misc]  # fsspec publishes no types
    """A file system that fails in its own way, and remembers its directories as object stores' clients do."""

    protocol = "forgetful"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    broken = False
    remembered: ClassVar[dict[str, Any]] = {}

    def info(self, path: str, **options: Any) -> Any:
        if self.broken:
            raise LookupError("the bucket answered 503")
        if path not in self.remembered:
            self.remembered[path] = super().info(path, **options)
        return self.remembered[path]

    def invalidate_cache(self, path: str | None = None) -> None:
        self.remembered.clear()


def test_a_file_system_with_ideas_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec.register_implementation("forgetful", Forgetful, clobber=True)
    blobs = RemoteBlobs("forgetful://bucket")
    blobs.put(NAME, DATA)
    assert blobs.has(NAME, len(DATA))
    Forgetful.store.clear()  # as another process would
    assert not blobs.has(NAME, len(DATA))
    assert blobs.put(NAME, DATA)
    monkeypatch.setattr(Forgetful, "broken", True)
    with pytest.raises(StoreError, match="cannot read forgetful://bucket: the bucket answered 503"):
        blobs.has(NAME, len(DATA))


def test_the_parts_of_a_relation_are_blobs(blobs: Any) -> None:
    halves = [wh.compress([[i, (i * i) % 7] for i in part], 40, 7) for part in (range(20), range(20, 40))]
    entries = [write_part(pickle.loads(pickle.dumps(blobs)), each) for each in halves]  # as another process would
    index = index_of((40,), (7,), [each for each in entries if each is not None])
    data = index.to_bytes()
    blobs.put(hash_of(data), data)
    opened = blobs.open(hash_of(data), "it")
    assert isinstance(opened, PartedRelation)
    opened.verify()
    assert opened.backward([25]).cells().tolist() == [[625 % 7]]
    blobs.remove(index.entries[1].name)
    with pytest.raises(Damaged, match=r"part 1 of it: its blob .* is missing"):
        blobs.open(hash_of(data), "it").backward([25])


def test_a_job_at_work_leaves_a_mark(blobs: Any) -> None:
    blobs.mark(f"{module.JOB}1700000000-1")
    [file] = blobs.listing()
    assert file.temporary
    assert file.since == 1_700_000_000
    blobs.remove(file.name)
    assert list(blobs.listing()) == []
