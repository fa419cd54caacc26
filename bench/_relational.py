"""Cell lineage of operations on IMDB-like tables: group by, inner join, and what follows a join in a notebook."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from whence.testing.generators import EPISODE_COLUMNS, GENRES, TITLE_COLUMNS, Episodes, Titles
from whence.testing.operations import Raw, negative

Ints = NDArray[np.int64]
Shape = tuple[int, ...]

JOINED = len(TITLE_COLUMNS) + len(EPISODE_COLUMNS) - 1  # the key is stored once
YEAR, RUNTIME, GENRE = (TITLE_COLUMNS.index(name) for name in ("startYear", "runtimeMinutes", "genres"))
ROWS = 1 << 16  # rows of an output table that are generated at a time


def by_row(sources: Ints, pairs: list[tuple[int, int]]) -> Iterator[Ints]:
    """Yield chunks of tuples: output row r comes from input row sources[r], for each (output, input) pair of
    columns.
    """
    outs, ins = np.array(pairs, dtype=np.int64).T
    for start in range(0, len(sources), ROWS):
        taken = sources[start : start + ROWS]
        chunk = np.empty((len(taken), len(pairs), 4), dtype=np.int64)
        chunk[:, :, 0] = np.arange(start, start + len(taken))[:, None]
        chunk[:, :, 1] = outs
        chunk[:, :, 2] = taken[:, None]
        chunk[:, :, 3] = ins
        yield chunk.reshape(-1, 4)


def whole(chunks: Iterator[Ints]) -> Ints:
    """Return all chunks as one array."""
    found = list(chunks)
    return np.concatenate(found) if found else np.empty((0, 4), dtype=np.int64)


def matches(left: Titles, right: Episodes) -> tuple[Ints, Ints]:
    """Return the rows of both tables that match in an inner join on tconst; keys are sorted and distinct."""
    at = np.searchsorted(left.tconst, right.tconst)
    found = left.tconst[np.minimum(at, len(left) - 1)] == right.tconst
    return at[found], np.flatnonzero(found)


def join_titles(rows: Ints) -> Iterator[Ints]:
    """Yield the lineage of the join's output from title.basics: its columns come first."""
    return by_row(rows, [(column, column) for column in range(len(TITLE_COLUMNS))])


def join_episodes(rows: Ints) -> Iterator[Ints]:
    """Yield the lineage of the join's output from title.episode: the key is the same cell, the other columns come
    last.
    """
    own = [(len(TITLE_COLUMNS) + column - 1, column) for column in range(1, len(EPISODE_COLUMNS))]
    return by_row(rows, [(0, 0), *own])


def group_by(keys: Ints, column: int, groups: int, columns: int) -> tuple[Iterator[Ints], Shape, Shape]:
    """Return the lineage of one column aggregated by a key: group g comes from that column in every row whose key is
    g.
    """

    def chunks() -> Iterator[Ints]:
        order = np.argsort(keys, kind="stable")
        for start in range(0, len(keys), 1 << 20):
            rows = order[start : start + (1 << 20)]
            chunk = np.zeros((len(rows), 4), dtype=np.int64)
            chunk[:, 0], chunk[:, 2], chunk[:, 3] = keys[rows], rows, column
            yield chunk

    return chunks(), (groups, 1), (len(keys), columns)


def workflow(left: Titles, right: Episodes) -> list[Raw]:
    """Return the relational pipeline of the paper's Table VIII, starting from title.basics.

    It is an inner join; then rows with a missing value are dropped, two columns are added, genres are one-hot encoded,
    and a constant is added.
    """
    one, two = matches(left, right)
    joined: Shape = (len(one), JOINED)
    missing = np.isnan(left.start_year[one]) | np.isnan(left.runtime[one]) | np.isnan(right.season[two])
    kept = np.flatnonzero(~missing)
    clean: Shape = (len(kept), JOINED)
    every = np.arange(len(kept))
    same = [(column, column) for column in range(JOINED)]
    added = (len(kept), JOINED + 1)
    others = [column for column in range(JOINED + 1) if column != GENRE]
    places = [(place, column) for place, column in enumerate(others)]
    flags = [(len(others) + genre, GENRE) for genre in range(GENRES)]
    encoded = (len(kept), len(others) + GENRES)
    return [
        Raw(whole(join_titles(one)), joined, (len(left), len(TITLE_COLUMNS))),
        Raw(whole(by_row(kept, same)), clean, joined),
        Raw(whole(by_row(every, [*same, (JOINED, YEAR), (JOINED, RUNTIME)])), added, clean),
        Raw(whole(by_row(every, places + flags)), encoded, added),
        negative(encoded),
    ]
