"""Generated data has the shape and the kind of noise that it promises, and its lineage is that of real operations."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the benchmarks are no part of the package
from bench import _relational, _workflows, _workloads
from bench._relational import GENRE, RUNTIME, YEAR
from bench.baselines.columns import Ints

from whence.testing import generators
from whence.testing.operations import Raw


def test_the_same_seed_gives_the_same_data() -> None:
    assert np.array_equal(generators.titles(500, seed=3).genre, generators.titles(500, seed=3).genre)
    assert not np.array_equal(generators.titles(500, seed=3).genre, generators.titles(500, seed=4).genre)
    assert np.array_equal(generators.lime_mask((40, 50)), generators.lime_mask((40, 50)))
    assert np.array_equal(generators.saliency((20, 30)), generators.saliency((20, 30)))


def test_titles_are_sorted_where_imdb_is_and_skewed_where_it_is_not() -> None:
    table = generators.titles(20_000)
    assert (np.diff(table.tconst) > 0).all()
    years = table.start_year[~np.isnan(table.start_year)]
    assert (np.diff(years) >= 0).all()
    assert 0.02 < table.is_adult.mean() < 0.04
    assert set(np.unique(table.is_adult)) == {0, 1}
    counts = np.bincount(table.genre, minlength=generators.GENRES)
    assert len(counts) == generators.GENRES
    assert counts[0] > 5 * counts[-1] > 0
    for column in (table.start_year, table.runtime):
        assert 0.05 < np.isnan(column).mean() < 0.2


@pytest.mark.parametrize("rows", [0, 1, 2, 7])
def test_small_tables_have_exactly_their_rows(rows: int) -> None:
    table = generators.titles(rows)
    assert [len(column) for column in (table.tconst, table.is_adult, table.start_year, table.genre)] == [rows] * 4
    assert len(generators.episodes(table)) <= rows


@pytest.mark.parametrize("shape", [(40, 60), (97, 31)])
def test_images_have_their_shape_and_their_share(shape: tuple[int, int]) -> None:
    assert generators.segments(shape, 20).shape == shape
    assert 0.1 < generators.lime_mask(shape, share=0.15).mean() < 0.35  # whole segments, so a little more
    assert abs(generators.drise_mask(shape, share=0.1).mean() - 0.1) < 0.01


def test_a_digit_is_ink_on_an_empty_background() -> None:
    image = generators.digit(140)
    assert image.min() == 0
    assert image.max() <= 1
    border = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
    assert not border.any()
    assert 0.15 < (image > 0).mean() < 0.3


def test_enlarging_keeps_corners_and_straight_lines() -> None:
    small = np.add.outer(np.arange(3.0), 10 * np.arange(4.0))
    large = generators.enlarge(small, (9, 13))
    assert np.allclose(large, np.add.outer(np.linspace(0, 2, 9), np.linspace(0, 30, 13)))


def values(table: generators.Titles, columns: int) -> pd.DataFrame:
    """A frame with a value of its own in each cell but for those that operations look at."""
    frame = pd.DataFrame({name: np.arange(len(table)) * columns + at for at, name in enumerate(range(columns))})
    frame = frame.astype(float)
    frame[0] = table.tconst.astype(float)
    return frame


def copied(raw: Raw, before: Ints, after: Ints) -> bool:
    """Whether each tuple says that an output cell holds the value of the input cell."""
    tuples = raw.tuples
    return bool(np.array_equal(after[tuples[:, 0], tuples[:, 1]], before[tuples[:, 2], tuples[:, 3]]))


def test_the_relational_workflow_is_what_pandas_does() -> None:
    left = generators.titles(300)
    right = generators.episodes(left)
    join, drop, add, encode, constant = _relational.workflow(left, right)

    basics = values(left, 9)
    basics[YEAR], basics[RUNTIME] = left.start_year, left.runtime
    episode = pd.DataFrame({0: right.tconst.astype(float), "parent": 1.0, "season": right.season, "episode": 2.0})
    joined = basics.merge(episode, on=0)
    assert joined.shape == join.out_shape
    assert copied(join, basics.fillna(-1).to_numpy(), joined.fillna(-1).to_numpy())
    assert len(join.tuples) == 9 * len(joined)

    clean = joined.dropna(subset=[YEAR, RUNTIME, "season"])
    assert 0 < len(clean) < len(joined)
    assert clean.shape == drop.out_shape
    assert copied(drop, joined.fillna(-1).to_numpy(), clean.to_numpy())
    assert len(drop.tuples) == clean.size

    into_sum = add.tuples[add.tuples[:, 1] == 12]
    assert {tuple(row) for row in into_sum[:, 2:].tolist()} == {
        (row, column) for row in range(len(clean)) for column in (YEAR, RUNTIME)
    }
    assert (into_sum[:, 0] == into_sum[:, 2]).all()

    flags = encode.tuples[encode.tuples[:, 1] >= 12]
    assert set(flags[:, 3].tolist()) == {GENRE}
    assert encode.out_shape == (len(clean), 12 + generators.GENRES)
    assert constant.out_shape == encode.out_shape


def test_a_join_takes_its_key_from_both_tables() -> None:
    left = generators.titles(200)
    right = generators.episodes(left)
    one, two = _relational.matches(left, right)
    assert np.array_equal(left.tconst[one], right.tconst[two])
    tuples = _relational.whole(_relational.join_episodes(two))
    assert np.array_equal(tuples[tuples[:, 1] == 0][:, 2], two)
    assert sorted(set(map(tuple, tuples[:, [1, 3]].tolist()))) == [(0, 0), (9, 1), (10, 2), (11, 3)]


def test_a_group_comes_from_its_own_rows() -> None:
    keys = np.array([1, 0, 1, 1, 0])
    chunks, out_shape, in_shape = _relational.group_by(keys, column=7, groups=2, columns=9)
    tuples = _relational.whole(chunks)
    assert (out_shape, in_shape) == ((2, 1), (5, 9))
    assert tuples.tolist() == [[0, 0, 1, 7], [0, 0, 4, 7], [1, 0, 0, 7], [1, 0, 2, 7], [1, 0, 3, 7]]


@pytest.mark.parametrize("workload", _workloads.workloads("tiny"), ids=lambda workload: workload.name)
def test_every_workload_gives_sorted_distinct_tuples_inside_its_shapes(workload: _workloads.Workload) -> None:
    relations = workload.relations()
    assert relations
    for relation in relations:
        tuples = np.concatenate(list(relation.chunks()))
        sides = np.array(relation.out_shape + relation.in_shape)
        assert tuples.shape[1] == len(sides)
        assert ((tuples >= 0) & (tuples < sides)).all()
        assert np.array_equal(np.unique(tuples, axis=0), tuples)
        assert np.array_equal(np.concatenate(list(relation.chunks())), tuples)  # made anew, and the same


def test_a_resize_reads_the_pixels_around_the_target() -> None:
    tall = np.random.default_rng(0).random((9, 14, 2))
    raw = _workflows.resized(tall.shape, 5, 6)
    assert np.array_equal(np.unique(raw.tuples[:, :3], axis=0), np.argwhere(np.ones((5, 6, 2))))
    # the sources of a target are at most two rows and columns around its own place in the source, same channel
    centre = (raw.tuples[:, :2] + 0.5) * np.array([9 / 5, 14 / 6]) - 0.5
    assert (np.abs(raw.tuples[:, 3:5] - centre) < 1).all()
    assert np.array_equal(raw.tuples[:, 2], raw.tuples[:, 5])


@pytest.mark.parametrize("length", [5, 10])
def test_random_chains_fit_together_and_have_something_to_ask(length: int) -> None:
    for seed in range(10):
        chain = _workflows.random_chain(length, 600, 20_000, seed)
        assert len(chain.steps) == length
        for before, after in zip(chain.steps, chain.steps[1:], strict=False):
            assert before.out_shape == after.in_shape
        assert all(len(step.tuples) <= 20_000 for step in chain.steps)
        again = _workflows.random_chain(length, 600, 20_000, seed)
        assert again.name == chain.name
        assert all(np.array_equal(a.tuples, b.tuples) for a, b in zip(again.steps, chain.steps, strict=True))


def test_the_fixed_workflows_fit_together() -> None:
    for workflow in (
        _workflows.image((36, 48), 20),
        _workflows.relational(200),
        _workflows.resnet(3, 7),
        _workflows.regular(20, 15),
    ):
        for before, after in zip(workflow.steps, workflow.steps[1:], strict=False):
            assert before.out_shape == after.in_shape
    assert len(_workflows.regular(20, 15).steps) == 10


def test_a_convolution_mixes_all_channels() -> None:
    raw = _workflows.resnet(3, 7).steps[0]
    centre = raw.tuples[(raw.tuples[:, :3] == (1, 3, 3)).all(axis=1)][:, 3:]
    assert len(centre) == 3 * 9
    assert set(centre[:, 0].tolist()) == {0, 1, 2}
