"""Call Python functions of groups with fewer rows, to find witnesses.

A function is called a second time with labels on its rows. A result row with a label names the input row that it may
have come from. If the function gives the same result row when it is called with that input row alone, the input row is
a witness.

Everything here runs on the workers, where whence need not be installed: one function is sent with everything it uses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MOST = 1000  # up to this many result rows of a group are tried, each with a call of the function
Chosen = list[list[int]]  # for each input, the positions of some rows
Search = Callable[[Callable[[list[Any]], Any], list[Any]], tuple[Any, list[Chosen | None]]]


def search() -> Search:
    """Return a function that calls a user's function with frames, and returns its result and the witnesses of each
    result row.

    Witnesses are the positions of input rows that give the result row by themselves. None means that there are none,
    and all rows count.
    """
    first, most = 1 << 40, MOST  # labels that a user's function would not create

    def same(one: Any, other: Any) -> bool:
        import pandas as pd

        try:
            if pd.isna(one) or pd.isna(other):
                return bool(pd.isna(one) and pd.isna(other))
            return bool(one == other)
        except (TypeError, ValueError):  # such as arrays
            return False

    def rows_of(frame: Any) -> list[tuple[Any, ...]]:
        return list(frame.itertuples(index=False, name=None))

    def equal(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
        return len(one) == len(other) and all(map(same, one, other))

    def attempt(run: Callable[[list[Any]], Any], parts: list[Any]) -> Any:
        try:
            return run(parts)
        except Exception:  # the user's code may fail with unusual input
            return None

    def places(label: Any, sizes: list[int]) -> Chosen:
        found: Chosen = [[] for _ in sizes]
        for each in label if isinstance(label, tuple) else (label,):
            number, place = divmod(int(each), first) if type(each).__name__.startswith("int") else (0, 0)
            if 1 <= number <= len(sizes) and place < sizes[number - 1]:
                found[number - 1].append(place)
        return found

    def searched(run: Callable[[list[Any]], Any], parts: list[Any]) -> tuple[Any, list[Chosen | None]]:
        import pandas as pd

        result = run([part.copy() for part in parts])
        wanted = rows_of(result)
        nothing: list[Chosen | None] = [None] * len(wanted)
        sizes = [len(part) for part in parts]
        if not wanted or len(wanted) > most or sum(sizes) < 2:
            return result, nothing
        labelled = []
        for number, part in enumerate(parts, 1):
            labels = pd.Index([number * first + place for place in range(len(part))], dtype="int64")
            labelled.append(part.set_axis(labels, axis=0))
        again = attempt(run, labelled)
        if again is None or len(again) != len(wanted) or not all(map(equal, rows_of(again), wanted)):
            return result, nothing
        tried: dict[str, list[tuple[Any, ...]]] = {}
        found: list[Chosen | None] = []
        for row, label in zip(wanted, again.index, strict=True):
            chosen = places(label, sizes)
            key = repr(chosen)
            if any(chosen) and key not in tried:
                alone = [part.iloc[at].reset_index(drop=True) for part, at in zip(parts, chosen, strict=True)]
                given = attempt(run, alone)
                tried[key] = [] if given is None else rows_of(given)
            found.append(chosen if any(equal(each, row) for each in tried.get(key, ())) else None)
        return result, found

    return searched


def singly() -> Callable[[Callable[[list[Any]], Any], Any], list[int] | None]:
    """Return a function that calls a user's function with each row of an Arrow table, and returns where each result row
    is from.

    Arrow tables have no row labels, so all rows are tried one by one. If the results together equal the result of the
    whole table, in order, each result row comes from one input row; otherwise the answer is None.
    """
    most = MOST

    def found(run: Callable[[list[Any]], Any], table: Any) -> list[int] | None:
        import pyarrow as pa

        if not 1 < table.num_rows <= most:
            return None
        try:
            whole = run([table])
            alone = [run([table.slice(place, 1)]) for place in range(table.num_rows)]
            same = bool(pa.concat_tables(alone).combine_chunks().equals(whole.combine_chunks()))
        except Exception:  # the user's code may fail with unusual input
            return None
        return [place for place, each in enumerate(alone) for _ in range(each.num_rows)] if same else None

    return found
