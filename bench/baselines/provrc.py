"""Plain ProvRC, as section IV and V of the DSLog paper describe it, and nothing beyond.

A row holds an interval for each output axis; for each input axis an interval, or the interval of its difference from
one output axis. Here a difference is input - output. Rows are merged only with their neighbours in the sorted table.
Two things that the paper leaves open are decided in favour of the baseline. A bound that adds nothing (high = low, a
second form of the same input) is not stored. A question splits rows in which two input axes follow the same output
axis, so that its answers are exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Pair = tuple[Ints, Ints]  # the low and high bounds of rows, (rows, axes) each

ABSOLUTE = -1


@dataclass(frozen=True)
class Table:
    """The rows of a compressed relation: `follows` is the output axis that an input axis is relative to, or -1."""

    out_low: Ints
    out_high: Ints
    in_low: Ints
    in_high: Ints
    follows: Ints

    def __len__(self) -> int:
        return len(self.out_low)


@dataclass(frozen=True)
class Rows:
    """Rows during step 2, with each input axis in out_axes + 1 forms.

    Form 0 is the input index, form j + 1 its difference from the index on output axis j. `alive` has one bit for each
    input axis and form, which is set if all tuples of the row agree in that form.
    """

    out_low: Ints
    out_high: Ints
    forms_low: Ints
    forms_high: Ints
    alive: Ints


def compress(chunks: Iterable[Ints], out_axes: int) -> Table:
    """The compressed table of sorted, distinct tuples, output axes first; chunks are joined at their borders."""
    parts = [merge_outputs(in_every_form(*merge_inputs(chunk, chunk, out_axes), out_axes)) for chunk in chunks]
    if not parts:
        raise ValueError("there are no chunks to compress")
    if len(parts) == 1:
        return choose(parts[0])
    return choose(merge_outputs(Rows(*(np.concatenate(column) for column in zip(*map(fields, parts), strict=True)))))


def fields(rows: Rows) -> tuple[Ints, ...]:
    """The columns of rows, in order."""
    return rows.out_low, rows.out_high, rows.forms_low, rows.forms_high, rows.alive


def run_starts(joins: NDArray[np.bool_]) -> Ints:
    """The first row of each run, given for each row but the first whether it joins the one before."""
    return np.flatnonzero(np.concatenate([[True], ~joins])).astype(np.int64)


def merge_inputs(low: Ints, high: Ints, out_axes: int) -> Pair:
    """Step 1: merge neighbours that differ only in adjacent intervals of one input axis."""
    for axis in range(low.shape[1] - 1, out_axes - 1, -1):
        if len(low) < 2:
            break
        joins = low[1:, axis] == high[:-1, axis] + 1
        for other in range(low.shape[1]):
            if other != axis:
                joins &= (low[1:, other] == low[:-1, other]) & (high[1:, other] == high[:-1, other])
        starts = run_starts(joins)
        ends = np.append(starts[1:], len(low)) - 1
        low, after = low[starts], high[starts]
        after[:, axis] = high[ends, axis]
        high = after
    return low, high


def in_every_form(low: Ints, high: Ints, out_axes: int) -> Rows:
    """Return rows with every form of each input axis."""
    out_low = low[:, :out_axes]
    shift = np.concatenate([np.zeros((len(low), 1), dtype=np.int64), out_low], axis=1)
    forms_low = low[:, out_axes:, None] - shift[:, None, :]
    forms_high = high[:, out_axes:, None] - shift[:, None, :]
    alive = np.full(len(low), (1 << forms_low[:1].size) - 1, dtype=np.int64)
    return Rows(out_low, high[:, :out_axes], forms_low, forms_high, alive)


def merge_outputs(rows: Rows) -> Rows:
    """Step 2: merge neighbours along an output axis if they agree in some form of each input axis."""
    in_axes, forms = rows.forms_low.shape[1:]
    out_axes = forms - 1
    for axis in range(out_axes - 1, -1, -1):
        out_low, out_high, forms_low, forms_high, alive = fields(rows)
        if len(out_low) < 2:
            break
        near = out_low[1:, axis] == out_high[:-1, axis] + 1
        for other in range(out_axes):
            if other != axis:
                near &= (out_low[1:, other] == out_low[:-1, other]) & (out_high[1:, other] == out_high[:-1, other])
        common = alive[1:] & alive[:-1]
        for place in range(in_axes * forms):
            one, form = divmod(place, forms)
            same = forms_low[1:, one, form] == forms_low[:-1, one, form]
            same &= forms_high[1:, one, form] == forms_high[:-1, one, form]
            common &= ~np.where(same, 0, np.int64(1) << place)
        starts, left = greedy_runs(near, common, in_axes, forms)
        single = np.diff(np.append(starts, len(out_low))) == 1
        left[single] = alive[starts[single]]
        ends = np.append(starts[1:], len(out_low)) - 1
        after = out_high[starts]
        after[:, axis] = out_high[ends, axis]
        rows = Rows(out_low[starts], after, forms_low[starts], forms_high[starts], left)
    return rows


def choose(rows: Rows) -> Table:
    """Choose one form for each input axis: the first in which the tuples of the row agree."""
    in_axes, forms = rows.forms_low.shape[1:]
    chosen = np.zeros((len(rows.alive), in_axes), dtype=np.int64)
    for one in range(in_axes):
        for form in range(forms - 1, -1, -1):
            chosen[(rows.alive >> (one * forms + form)) & 1 == 1, one] = form
    pick = chosen[:, :, None]
    in_low, in_high = (np.take_along_axis(bound, pick, 2)[:, :, 0] for bound in (rows.forms_low, rows.forms_high))
    return Table(rows.out_low, rows.out_high, in_low, in_high, chosen - 1)


def has_forms(common: Ints, in_axes: int, forms: int) -> NDArray[np.bool_]:
    """Whether each input axis has a form left."""
    full = (1 << forms) - 1
    possible = np.ones(len(common), dtype=bool)
    for one in range(in_axes):
        possible &= (common >> (one * forms)) & full != 0
    return possible


def greedy_runs(near: NDArray[np.bool_], common: Ints, in_axes: int, forms: int) -> Pair:
    """Return the starts of the longest runs, from the left, that share a form of each input, and those forms."""
    starts = run_starts(near & has_forms(common, in_axes, forms))
    stops = np.append(starts[1:], len(near) + 1)
    shared = np.full(len(starts), -1, dtype=np.int64)
    many = np.flatnonzero(stops - starts > 1)
    if len(many):
        # pairs starts .. stops-2 are inside a run; the pair at stops-1 leads to the next one and must not count
        inside = np.append(common, -1)
        inside[(stops - 1)[stops <= len(common)]] = -1
        shared[many] = np.bitwise_and.reduceat(inside, starts)[many]
    broken = ~has_forms(shared, in_axes, forms)
    if not broken.any():
        return starts, shared
    full = (1 << forms) - 1
    extra_starts: list[int] = []
    extra_shared: list[int] = []
    for number in np.flatnonzero(broken).tolist():
        begin, left = int(starts[number]), -1
        for at, code in enumerate(common[starts[number] : stops[number] - 1].tolist(), int(starts[number])):
            after = left & code
            if all(after >> (one * forms) & full for one in range(in_axes)):
                left = after
            else:  # this row opens the next run
                extra_starts.append(begin)
                extra_shared.append(left)
                begin, left = at + 1, -1
        extra_starts.append(begin)
        extra_shared.append(left)
    every = np.concatenate([starts[~broken], np.array(extra_starts, dtype=np.int64)])
    left_over = np.concatenate([shared[~broken], np.array(extra_shared, dtype=np.int64)])
    order = np.argsort(every)
    return every[order], left_over[order]


def expand(table: Table) -> Ints:
    """Return the tuples, sorted, for tests."""
    tuples = []
    for row in range(len(table)):
        cells = np.indices(tuple(table.out_high[row] - table.out_low[row] + 1)).reshape(table.out_low.shape[1], -1).T
        for cell in cells + table.out_low[row]:
            base = np.where(table.follows[row] == ABSOLUTE, 0, cell[np.maximum(table.follows[row], 0)])
            sides = tuple(table.in_high[row] - table.in_low[row] + 1)
            inputs = np.indices(sides).reshape(len(sides), -1).T + table.in_low[row] + base
            tuples.append(np.concatenate([np.tile(cell, (len(inputs), 1)), inputs], axis=1))
    width = table.out_low.shape[1] + table.in_low.shape[1]
    return np.unique(np.concatenate(tuples), axis=0) if tuples else np.empty((0, width), dtype=np.int64)


def write(table: Table, path: Path, compression: str = "snappy") -> int:
    """The table as a Parquet file, as in Table II of the paper: absent values are null; its size."""
    columns: dict[str, pa.Array] = {}
    for axis in range(table.out_low.shape[1]):
        put(columns, f"b{axis}", table.out_low[:, axis], table.out_high[:, axis], None)
    for axis in range(table.in_low.shape[1]):
        for form in range(ABSOLUTE, table.out_low.shape[1]):
            name = f"a{axis}" if form == ABSOLUTE else f"a{axis}b{form}"
            put(columns, name, table.in_low[:, axis], table.in_high[:, axis], table.follows[:, axis] != form)
    pq.write_table(pa.table(columns), path, compression=compression)
    return path.stat().st_size


def put(columns: dict[str, pa.Array], name: str, low: Ints, high: Ints, absent: NDArray[np.bool_] | None) -> None:
    """Two columns: the low bound, and the high one where it differs."""
    columns[f"{name}_low"] = pa.array(low, mask=absent)
    columns[f"{name}_high"] = pa.array(high, mask=(high == low) if absent is None else absent | (high == low))


def read(path: Path, out_axes: int, in_axes: int) -> Table:
    """The table of a Parquet file."""
    stored = pq.read_table(path)

    def get(name: str) -> tuple[Ints, Ints, NDArray[np.bool_]]:
        low, high = (stored.column(f"{name}_{end}").combine_chunks() for end in ("low", "high"))
        bottom = low.fill_null(0).to_numpy()
        top = np.where(high.is_valid().to_numpy(zero_copy_only=False), high.fill_null(0).to_numpy(), bottom)
        return bottom, top, low.is_valid().to_numpy(zero_copy_only=False)

    count = stored.num_rows
    out_low, out_high = np.empty((2, count, out_axes), dtype=np.int64)
    in_low, in_high = np.zeros((2, count, in_axes), dtype=np.int64)
    follows = np.full((count, in_axes), ABSOLUTE, dtype=np.int64)
    for axis in range(out_axes):
        out_low[:, axis], out_high[:, axis], _ = get(f"b{axis}")
    for axis in range(in_axes):
        for form in range(ABSOLUTE, out_axes):
            low, high, there = get(f"a{axis}" if form == ABSOLUTE else f"a{axis}b{form}")
            in_low[there, axis], in_high[there, axis], follows[there, axis] = low[there], high[there], form
    return Table(out_low, out_high, in_low, in_high, follows)
