"""Relations of many parts: what is read, what is refused, and what a log does with them."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import whence as wh
from whence.errors import BadType, Damaged, FutureVersion, Redefined, StoreError
from whence.relation.parts import Directory, Entry, PartedRelation, _parted, index_of, parse, publish, tasks, write_part
from whence.relation.parts.index import Index
from whence.relation.parts.threads import in_threads
from whence.store.blobs.local import JOB
from whence.testing.oracle import RawRelation, as_cells

CELLS = 1000
ORDER = np.random.default_rng(7).permutation(CELLS)


def written(path: Path, parts: int = 10) -> PartedRelation:
    """A permutation in parts."""
    place = Directory(path)
    place.make()
    tuples = np.stack([np.arange(CELLS), ORDER], axis=1)
    made = [write_part(place, wh.compress(each, CELLS, CELLS)) for each in np.array_split(tuples, parts)]
    return publish(path, (CELLS,), (CELLS,), made)


def test_a_question_opens_only_the_parts_it_meets(tmp_path: Path) -> None:
    relation = written(tmp_path / "r")
    assert relation.touched([5]) == (0,)
    assert relation.touched([[99], [100], [950]]) == (0, 1, 9)
    assert len(relation.touched([5], forward=True)) >= 1
    for number in range(1, 10):  # the others may as well not be there
        os.remove(relation.place._file(relation.index.entries[number].name))  # type: ignore[attr-defined]  # parts in a directory
    assert relation.backward([5]).cells().tolist() == [[ORDER[5]]]
    assert relation.explain([5]).startswith("local: 1 of 10 parts (")
    with pytest.raises(Damaged, match=r"the part [0-9a-f]{12}\.\.\. is missing from .*write the relation again"):
        relation.backward([100])
    with pytest.raises(Damaged, match="is missing"):
        relation.verify()


def test_opening_reads_no_part(tmp_path: Path) -> None:
    written(tmp_path / "r")
    for file in (tmp_path / "r").glob("*.part"):
        file.unlink()
    opened = wh.Relation.load(tmp_path / "r")
    assert repr(opened) == f"PartedRelation((1000,) <- (1000,), 1,000 tuples in {len(opened):,} boxes, 10 parts)"
    assert opened.numbers == 2 * 2 * len(opened)


def test_every_altered_byte_of_an_index_is_noticed(tmp_path: Path) -> None:
    data = written(tmp_path / "r", 2).index.to_bytes()
    for position in range(len(data)):
        for flip in (0x01, 0x80):
            altered = bytearray(data)
            altered[position] ^= flip
            with pytest.raises((Damaged, FutureVersion)):
                parse(bytes(altered), "it")
    for length in range(len(data)):
        with pytest.raises(Damaged):
            parse(data[:length], "it")
    with pytest.raises(Damaged):
        parse(data + b"\0", "it")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"boxes": 0}, "no boxes"),
        ({"tuples": 1 << 70}, "more tuples than its bounds hold"),
        ({"bounds": ((0, 5), (0, CELLS))}, "outside its arrays"),
        ({"bounds": ((-1, 5), (0, 5))}, "outside its arrays"),
        ({"bounds": ((5, 4), (0, 5))}, "outside its arrays"),
    ],
)
def test_a_forged_index(changed: dict[str, object], said: str) -> None:
    good = Entry("ab" * 32, 10, 3, 3, ((0, 9), (0, 9)))
    assert parse(Index((CELLS,), (CELLS,), (good,)).to_bytes(), "it").entries == (good,)
    with pytest.raises(Damaged, match=said):
        parse(Index((CELLS,), (CELLS,), (replace(good, **changed),)).to_bytes(), "it")  # type: ignore[arg-type]  # values of wrong types on purpose
    with pytest.raises(Damaged, match="twice"):
        parse(Index((CELLS,), (CELLS,), (good, good)).to_bytes(), "it")


def test_parts_that_are_not_what_the_index_says(tmp_path: Path) -> None:
    relation = written(tmp_path / "r")
    first, second = relation.index.entries[:2]
    lying = [
        (replace(first, tuples=99), "does not hold the tuples"),
        (replace(first, bounds=((0, 98), first.bounds[1])), "does not hold the tuples"),
        (replace(first, boxes=first.boxes - 1), "differs from the index"),
        (replace(first, name=second.name), "differs from the index|does not hold the tuples"),
    ]
    for entry, said in lying:
        index = Index((CELLS,), (CELLS,), (entry,))
        with pytest.raises(Damaged, match=said):
            PartedRelation(index, relation.place, "it").verify()
    place = Directory(tmp_path / "r")
    again = write_part(place, wh.compress([[0, int(ORDER[0])], [1, 1]], CELLS, CELLS))
    assert again is not None
    shared = index_of((CELLS,), (CELLS,), (first, again))
    with pytest.raises(Damaged, match="parts 0 and 1 of it hold the same tuple"):
        PartedRelation(shared, place, "it").verify()
    relation.verify()


def test_a_damaged_part(tmp_path: Path) -> None:
    relation = written(tmp_path / "r")
    file = tmp_path / "r" / f"{relation.index.entries[3].name}.part"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(Damaged, match="truncated or altered"):
        relation.verify()
    with pytest.raises(Damaged, match="part 3 of"):
        wh.Relation.load(tmp_path / "r").backward([305])


def test_a_directory_without_an_index(tmp_path: Path) -> None:
    with pytest.raises(Damaged, match="its writer was stopped before the end"):
        wh.Relation.load(tmp_path)


def test_two_writers(tmp_path: Path) -> None:
    written(tmp_path / "r")
    with pytest.raises(Redefined, match="holds a relation already"):
        written(tmp_path / "r")
    with pytest.raises(Redefined, match="holds a relation already"):
        publish(tmp_path / "r", (1,), (1,), [])
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot make the directory"):
        Directory(tmp_path / "file").make()


def test_what_a_stopped_writer_left_is_removed_with_the_index(tmp_path: Path) -> None:
    place = Directory(tmp_path)
    write_part(place, wh.Relation.whole(5, 5))
    (tmp_path / ".writing-1-ab").write_bytes(b"half")
    entry = write_part(place, wh.Relation.identity(5))
    relation = publish(tmp_path, (5,), (5,), [entry, None])
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["index", f"{entry.name}.part"])  # type: ignore[union-attr]  # a part was written
    assert relation == wh.Relation.identity(5)


def test_many_threads_ask(tmp_path: Path) -> None:
    relation = written(tmp_path / "r", 60)
    wrong: list[int] = []

    def ask(start: int) -> None:
        wrong.extend(i for i in range(start, CELLS, 40) if relation.backward([i]).cells().tolist() != [[ORDER[i]]])

    threads = [threading.Thread(target=ask, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_parts_are_read_by_threads(tmp_path: Path, threads: int) -> None:
    relation = written(tmp_path / "r", 60)
    rows = np.arange(0, CELLS, 3)
    answers = relation.asked(wh.Selection.from_cells(rows[:, None], CELLS), True, threads=threads)
    cells = [wh.Selection.from_boxes(boxes, CELLS).cells()[:, 0].tolist() for boxes in answers]
    assert len(cells) == 60  # in the order of the parts
    assert [sorted(ORDER[part][part % 3 == 0]) for part in np.array_split(np.arange(CELLS), 60)] == cells


@pytest.mark.parametrize("gathered", [1, 100, 10**6])
@pytest.mark.parametrize("threads", [1, 3])
def test_boxes_of_many_parts_are_united_by_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int, gathered: int
) -> None:
    monkeypatch.setattr(_parted, "processors", lambda: threads)
    monkeypatch.setattr(_parted, "SHARED", 1)
    monkeypatch.setattr(_parted, "GATHERED", gathered)
    relation = written(tmp_path / "r", 60)
    for rows in (np.arange(0, CELLS, 3), np.arange(5)):
        assert relation.backward(rows[:, None]) == wh.Selection.from_cells(ORDER[rows][:, None], CELLS)
        assert relation.forward(rows[:, None]) == wh.Selection.from_cells(np.argsort(ORDER)[rows][:, None], CELLS)


def test_an_error_in_a_thread_ends_the_question(tmp_path: Path) -> None:
    relation = written(tmp_path / "r", 60)
    (tmp_path / "r" / f"{relation.index.entries[7].name}.part").unlink()
    with pytest.raises(Damaged, match="is missing from"):
        relation.backward(slice(None))
    begun: list[int] = []

    def work(number: int) -> int:
        begun.append(number)
        if number == 3:
            raise Damaged("part 3")
        return number

    found = in_threads(work, iter(range(10_000)), 2)
    with pytest.raises(Damaged, match="part 3"):
        list(found)
    assert len(begun) < 100
    before = threading.active_count()
    taken = in_threads(work, iter(range(10, 10_000)), 2)
    assert next(taken) == 10
    taken.close()
    assert threading.active_count() == before


def recorded(log: wh.Log, relation: wh.Relation) -> None:
    log.array("A", CELLS)
    log.array("B", CELLS)
    log.lineage("B", "A", relation)


def test_a_log_keeps_asks_checks_and_collects_it(tmp_path: Path) -> None:
    relation = written(tmp_path / "r")
    with wh.open(tmp_path / "log.whence") as log:
        recorded(log, relation)
        for file in (tmp_path / "r").iterdir():
            file.unlink()  # the log has its own
        assert log.backward("B", [5], to="A").cells().tolist() == [[ORDER[5]]]
        assert log.forward("A", [int(ORDER[5])], to="B").cells().tolist() == [[5]]
        report = log.check()
        assert report.ok, str(report)
        assert not report.notes
        assert log.collect().blobs == 0
        blobs = tmp_path / "log.whence" / "blobs"
        name = relation.index.entries[4].name
        (blobs / name[:2] / name).rename(tmp_path / "away")
        assert "is missing" in str(log.check())
        (tmp_path / "away").rename(blobs / name[:2] / name)
        assert log.check().ok
        log.delete("B")
        assert log.collect().blobs == 11
        assert log.check().ok
    with pytest.raises(BadType, match="save it, and pass"), wh.open(tmp_path / "log.whence") as log:
        recorded(log, relation.inverse)


def test_a_jobs_parts_are_no_garbage_while_it_works(tmp_path: Path) -> None:
    with wh.open(tmp_path / "log.whence") as log:
        blobs = log._store.blobs
        write_part(blobs, wh.Relation.identity(5))
        mark = f"{JOB}{int(time.time())}-ab"
        blobs.mark(mark)
        assert log.collect().blobs == 0
        assert log.check().ok
        os.utime(tmp_path / "log.whence" / "blobs" / mark, (0, 0))  # the driver was killed long ago
        gone = log.collect()
        assert (gone.blobs, gone.temporary) == (1, 1)
        assert not log.check().notes


@pytest.mark.parametrize("turned", [False, True])
def test_few_boxes_and_many_find_the_same_rows(turned: bool) -> None:
    """The first questions look at each row, later ones use an index: of rows in order, and of rows in none."""
    rng = np.random.default_rng(4)
    tuples = np.unique(np.stack([rng.integers(0, 400, 700), rng.integers(0, 9, 700), rng.permutation(700)], 1), axis=0)
    oracle = RawRelation.from_rows(tuples, (400, 9), (700,))
    relation = wh.Relation.from_bytes(wh.compress(tuples, (400, 9), 700).to_bytes())
    if turned:
        relation, oracle = relation.inverse, oracle.inverse
    for turn in range(30):
        some, outs = oracle.to_array()[rng.integers(0, len(tuples), 1 + turn % 3)], len(relation.out_shape)
        targets, sources = some[:, :outs], some[:, outs:]
        assert as_cells(relation.backward(targets).cells()) == oracle.backward(as_cells(targets))
        assert as_cells(relation.forward(sources).cells()) == oracle.forward(as_cells(sources))


def test_a_range_that_is_regular_in_another_layout_than_those_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Irregular ranges share a layout, but not with a range to which it does not fit."""
    monkeypatch.setattr(tasks, "PART", 1 << 13)
    place, side = Directory(tmp_path), 1 << 14
    rows = np.arange(side).reshape(2, -1)
    shuffled = np.random.default_rng(3).permutation(side)[: len(rows[0])]
    riffled = rows[1] // 2 + rows[1] % 2 * (side // 2 - 1)  # of two halves in turn: two boxes if the input is first
    done = [
        report
        for outs, ins in zip(rows, (shuffled, riffled), strict=True)
        for report in tasks.parts_of([(outs, ins)], (side,), (side,), place)
    ]
    assert [report.small is not None for report in done] == [False, True]
    assert done[1].tuples == len(rows[1])
