"""The formats and engines that whence is compared with are right themselves: a wrong baseline proves nothing."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the benchmarks are no part of the package
from bench.baselines import columns, provrc, provrc_query, systems, turbo
from bench.baselines.columns import Ints

from whence.testing import operations
from whence.testing.operations import Raw
from whence.testing.oracle import backward_rows, flat, forward_rows

# how long an example takes depends on who else uses the machine
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

RAWS: dict[str, Callable[[], Raw]] = {
    "element-wise": lambda: operations.negative((4, 30)),
    "aggregate": lambda: operations.sum_over((6, 7), axis=1),
    "tile": lambda: operations.tile((3, 5), (2, 2)),
    "diagonal": lambda: operations.diag_extract((9, 9)),
    "flip": lambda: operations.flip((5, 6)),
    "convolution": lambda: operations.convolve_nd((6, 7), (3, 3)),
    "sort": lambda: operations.sort((200,)),
    "matrix product": lambda: operations.matmul_left((4, 5), 6),
    "filter": lambda: operations.filter_rows((60, 2)),
}


@unhurried
@given(st.lists(st.integers(-(2**62), 2**62), max_size=200))
def test_entropy_coded_columns_come_back(values: list[int]) -> None:
    column = np.array(values, dtype=np.int64)
    assert np.array_equal(turbo.decode_column(turbo.Reader(turbo.encode_column(column))), column)


@unhurried
@given(st.lists(st.tuples(st.integers(-3, 40), st.integers(1, 60)), min_size=1, max_size=60))
def test_columns_of_runs_come_back(runs: list[tuple[int, int]]) -> None:
    column = np.repeat([value for value, _ in runs], [length for _, length in runs]).astype(np.int64)
    assert np.array_equal(turbo.decode_column(turbo.Reader(turbo.encode_column(column))), column)


@pytest.mark.parametrize("name", RAWS)
def test_entropy_coded_files_come_back(name: str, tmp_path: Path) -> None:
    raw = RAWS[name]()
    turbo.write(np.array_split(raw.tuples, 3), tmp_path / "file", raw.tuples.shape[1])
    assert np.array_equal(turbo.read(tmp_path / "file"), raw.tuples)


def test_entropy_coding_reaches_the_entropy_of_random_gaps() -> None:
    gaps = np.random.default_rng(0).geometric(0.5, 100_000)
    assert 8 * len(turbo.encode_column(np.cumsum(gaps))) < 2.02 * len(gaps)  # 2 bits each is all there is


@pytest.mark.parametrize("name", RAWS)
@pytest.mark.parametrize("pieces", [1, 4])
def test_provrc_is_lossless(name: str, pieces: int, tmp_path: Path) -> None:
    raw = RAWS[name]()
    table = provrc.compress(np.array_split(raw.tuples, pieces), len(raw.out_shape))
    provrc.write(table, tmp_path / "file", "gzip")
    stored = provrc.read(tmp_path / "file", len(raw.out_shape), len(raw.in_shape))
    assert np.array_equal(provrc.expand(stored), raw.tuples)


@unhurried
@given(st.data())
def test_provrc_is_lossless_on_any_relation(data: st.DataObject) -> None:
    out_axes, in_axes = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2))
    sides = data.draw(st.lists(st.integers(1, 4), min_size=out_axes + in_axes, max_size=out_axes + in_axes))
    every = np.indices(sides).reshape(len(sides), -1).T.astype(np.int64)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(every), max_size=len(every))))
    mask[0] = True
    tuples = every[mask]
    assert np.array_equal(provrc.expand(provrc.compress([tuples], out_axes)), tuples)


def test_provrc_has_the_rows_that_the_paper_shows() -> None:
    table = provrc.compress([operations.sum_over((3, 2), axis=1).tuples], 1)  # Tables I and II, from 0 instead of 1
    assert table.out_low.tolist() == [[0]]
    assert table.out_high.tolist() == [[2]]
    assert table.follows.tolist() == [[0, provrc.ABSOLUTE]]
    assert table.in_low.tolist() == [[0, 0]]
    assert table.in_high.tolist() == [[0, 1]]


def test_text_size_is_that_of_the_file(tmp_path: Path) -> None:
    raw = operations.sort((1234,))
    header = columns.names(1, 1)
    options = pyarrow.csv.WriteOptions(include_header=False)
    pyarrow.csv.write_csv(columns.table(raw.tuples, header), tmp_path / "file.csv", options)
    assert columns.text_size(np.array_split(raw.tuples, 5)) == (tmp_path / "file.csv").stat().st_size


def test_array_size_is_that_of_the_file(tmp_path: Path) -> None:
    raw = operations.sort((1234,))
    assert columns.write_array(raw.tuples, tmp_path / "file.npy") == columns.array_size([raw.tuples])


def test_parquet_holds_the_tuples_in_groups_that_do_not_depend_on_the_chunks(tmp_path: Path) -> None:
    raw = operations.negative((10, 100))
    header = columns.names(2, 2)
    sizes = {columns.write_parquet(np.array_split(raw.tuples, pieces), tmp_path / "file", header) for pieces in (1, 7)}
    assert len(sizes) == 1
    table = pyarrow.parquet.read_table(tmp_path / "file")
    assert np.array_equal(np.stack([table[name].to_numpy() for name in header], axis=1), raw.tuples)


@unhurried
@given(st.lists(st.tuples(*[st.integers(0, 6)] * 4), min_size=1, max_size=12))
def test_merged_boxes_hold_the_same_cells(corners: list[tuple[int, int, int, int]]) -> None:
    bounds = np.array(corners, dtype=np.int64).reshape(-1, 2, 2)
    low, high = bounds.min(axis=1), bounds.max(axis=1)
    mask = np.zeros((7, 7), dtype=bool)
    for (top, left), (bottom, right) in zip(low, high, strict=True):
        mask[top : bottom + 1, left : right + 1] = True
    merged = provrc_query.merge(low, high)
    assert np.array_equal(provrc_query.cells(merged, (7, 7)), np.flatnonzero(mask))


CHAINS: dict[str, list[Raw]] = {
    "turned and sorted": [
        operations.negative((8, 10)),
        operations.rot90((8, 10)),
        operations.sort((10, 8)),
        operations.reshape((10, 8), (20, 4)),
        operations.sum_over((20, 4), axis=1),
    ],
    "diagonals": [operations.diag_construct((12,)), operations.diag_extract((12, 12), 2), operations.flip((10,))],
    "to a number": [operations.convolve_nd((6, 7), (3, 3)), operations.cumsum((6, 7), 1), operations.sum_over((6, 7))],
}


def brute_force(steps: list[Raw], cells: Ints, direction: str) -> Ints:
    for raw in steps if direction == systems.FORWARD else reversed(steps):
        answer = forward_rows if direction == systems.FORWARD else backward_rows
        cells = answer(raw.tuples, raw.out_shape, raw.in_shape, cells)
    return cells


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("kind", systems.BASELINES, ids=lambda kind: kind.name)
def test_every_baseline_answers_as_brute_force_does(kind: type[systems.System], chain: str, tmp_path: Path) -> None:
    steps = CHAINS[chain]
    system = kind(tmp_path)
    system.store(steps)
    rng = np.random.default_rng(3)
    with systems.opened(system):
        for direction in (systems.FORWARD, systems.BACKWARD):
            forward = direction == systems.FORWARD
            start, end = steps[0].in_shape, steps[-1].out_shape
            shape, goal = (start, end) if forward else (end, start)
            for _ in range(4):
                first = [int(rng.integers(0, side)) for side in shape]
                box = tuple((low, int(rng.integers(low, side))) for low, side in zip(first, shape, strict=True))
                sides = [high - low + 1 for low, high in box]
                cells = np.indices(sides).reshape(len(shape), math.prod(sides)).T + first
                expected = flat(brute_force(steps, cells.astype(np.int64), direction), goal)
                answer = system.ask(box or ((0, 0),), direction, limit=60)
                assert np.array_equal(system.cells(answer, direction), expected)


def test_a_question_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    system = systems.Arrays(tmp_path)
    system.store([operations.negative((5,))])
    with systems.opened(system), pytest.raises(TimeoutError):
        system.ask(((0, 1),), systems.FORWARD, limit=-1)
