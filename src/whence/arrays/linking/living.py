"""An index of the arrays that a log knows: by memory while it is still referenced, and by content.

An array is looked up when it is passed to a tracked call, before the function runs: first by memory with the same
layout, then by memory that contains it, then by content. Its digest shows whether it was changed in place.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.arrays.linking.arrivals import Arrival, Change, How, Seen
from whence.arrays.linking.content import digest_of, is_distinctive, only_computed
from whence.arrays.linking.frames import array_behind
from whence.arrays.linking.layout import Layout, Shape, shown
from whence.arrays.overlap import overlaps_itself
from whence.arrays.rules._rows import affine, only_in, product
from whence.arrays.rules.views import viewed
from whence.relation import Relation

MOST_CONTENTS = 1 << 16
MOST_COLUMNS = 1000
MOST_CASTS = 64  # the most arrays of the same shape that are compared after a cast


class _Gone:
    """The owner of arrays that are known by content only."""


_never = weakref.ref(_Gone())  # a reference that is dead from the start


def root_of(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array that owns the memory."""
    while True:
        base = array.base
        if not isinstance(base, np.ndarray):
            base = getattr(base, "base", None)  # as_strided puts an object between an array and its base
        if not isinstance(base, np.ndarray):
            return array
        array = base


@dataclass(slots=True)
class _Owned:
    """The known arrays in one piece of memory."""

    exact: dict[Layout, Seen] = field(default_factory=dict)
    wide: list[Seen] = field(default_factory=list)  # those that are not known views of others; the latest last


class Living:
    """The index of known arrays. Callers lock it while they use it."""

    def __init__(self) -> None:
        self._owned: dict[int, tuple[weakref.ref[Any], _Owned]] = {}
        self._contents: dict[tuple[str, bytes], list[Seen]] = {}

    # --- asking

    def has_results(self, owners: Iterable[NDArray[Any]]) -> bool:
        """Whether one of these arrays owns memory of a result of a tracked call."""
        held = (self._owned.get(id(each)) for each in owners)
        return any(seen.result for each in held if each is not None for seen in each[1].wide)

    def array_of(self, name: str) -> NDArray[Any] | None:
        """Return the array that was recorded as a dataset, if it is still referenced and unchanged."""
        for _, owned in list(self._owned.values()):
            for seen in (*owned.exact.values(), *owned.wide):
                if seen.name == name and not seen.stale:
                    array = seen.array()
                    if array is not None and digest_of(array) == seen.digest:
                        return array
        return None

    def find(self, array: NDArray[Any]) -> Arrival:
        """Return what is known of an array."""
        layout, digest = Layout.of(array), digest_of(array)
        owned = self._of(array)
        if owned is not None and array.size:
            same = owned.exact.get(layout)
            if same is not None and not same.stale and same.digest == digest:
                return Arrival("same", digest, ((same, None),))
            holding = self._containing(layout, digest, owned)
            if holding is not None:
                return holding
            if any(_overlap(array, seen) for seen in owned.wide):
                return self._around(array, digest, owned)
        return self._by_content(array, digest)

    def _containing(self, layout: Layout, digest: bytes, owned: _Owned) -> Arrival | None:
        """Recognise an array as itself or as a part of the latest array that contains it; unchanged arrays come
        first.
        """
        changed: Arrival | None = None
        itself = owned.exact.get(layout)
        first = [itself] if itself is not None and itself in owned.wide else []
        for seen in (*first, *(each for each in reversed(owned.wide) if each is not itself)):
            relation = None if seen.layout == layout else shown(layout, seen.layout)
            if relation is not None or seen.layout == layout:
                how: How = "same" if relation is None else "view"
                found = Arrival(how, digest, ((seen, relation),), self._changes(seen))
                if not found.changes:
                    return found
                changed = changed or found
        return changed

    def shared(self, array: NDArray[Any]) -> Arrival | None:
        """Return what is known of an array if its memory is known; else None."""
        return self.find(array) if self._of(array) is not None else None

    def _around(self, array: NDArray[Any], digest: bytes, owned: _Owned) -> Arrival:
        """Handle an array whose parts are known: sources that are views of it, or results inside it."""
        layout = Layout.of(array)
        inside = [(seen, shown(seen.layout, layout)) for seen in owned.wide if _overlap(array, seen)]
        kept = [(seen, relation) for seen, relation in inside if relation is not None and not self._changes(seen)]
        parts = [(seen, relation) for seen, relation in kept if not seen.result]
        results = [
            (seen, relation.inverse)
            for seen, relation in kept
            if seen.result and not any(_overlap(own, part) for part, _ in parts if (own := seen.array()) is not None)
        ]
        why = (
            "only parts of it are known"
            if results
            else ""
            if parts
            else "it views the memory of a known array in another way"
        )
        return Arrival("new", digest, tuple(results), (), tuple(parts), why)

    def _changes(self, seen: Seen) -> tuple[Change, ...]:
        array = seen.array()
        if array is None:
            raise AssertionError(f"{seen.name!r} was identified by memory that no longer exists")
        digest = digest_of(array)
        if digest == seen.digest and not seen.stale:
            return ()
        return (Change(seen, digest, seen.stale or "it was changed in place between calls"),)

    def _by_content(self, array: NDArray[Any], digest: bytes) -> Arrival:
        if not array.flags.c_contiguous and overlaps_itself(array):
            return Arrival("new", digest)
        found = self._alike(array, digest)
        if found:
            if not is_distinctive(array):
                return Arrival("new", digest)
            if len(found) > 1:
                names = " and ".join(repr(each.name) for each, _ in found[:2])
                return Arrival("new", digest, why=f"it holds what {names} hold, so it may be a copy of any of them")
            return Arrival("copy", digest, (found[0],))
        cast = self._casts(array)
        if len(cast) == 1:
            return Arrival("copy", digest, ((cast[0], Relation.identity(array.shape)),))
        joined = self._joined(array) if not cast else ()
        return Arrival("joined", digest, joined) if joined else Arrival("new", digest)

    def holding(self, array: NDArray[Any]) -> list[tuple[Seen, Relation]]:
        """Return the arrays, and columns of tables, that have the same cells in the same order."""
        return self._alike(array, digest_of(array))

    def _alike(self, array: NDArray[Any], digest: bytes) -> list[tuple[Seen, Relation]]:
        """Return the arrays that have the same cells in the same order, or in the order of the transpose."""
        if not self._contents:
            return []
        direct = _living_first(self._contents.get((array.dtype.str, digest), []))
        if direct or array.ndim < 2:
            return [(each, each.held_as(array.shape)) for each in direct]
        turned = _living_first(self._contents.get((array.dtype.str, digest_of(array.T)), []))
        back = viewed(array.T.shape, np.transpose)
        return [(each, back.compose(each.held_as(array.T.shape))) for each in turned]

    def _casts(self, array: NDArray[Any]) -> list[Seen]:
        """Return arrays that are still referenced and have the same values in another dtype."""
        alike = [
            seen
            for seen in self._wide()
            if seen.layout.shape == array.shape
            and seen.layout.dtype != array.dtype.str
            and not seen.stale
            and np.dtype(seen.layout.dtype).kind in "biuf"
        ]
        if not alike or len(alike) > MOST_CASTS or not is_distinctive(array):
            return []
        found = []
        for seen in alike:
            own = seen.array()
            if own is not None:
                with np.errstate(all="ignore"):
                    equal = np.array_equal(own.astype(array.dtype), array, equal_nan=array.dtype.kind == "f")
                if equal and digest_of(own) == seen.digest:
                    found.append(seen)
        return found

    def with_column(
        self, column: NDArray[Any], rows: int, order: NDArray[Any] | None
    ) -> Iterator[tuple[Seen, int | None]]:
        """Yield arrays with so many rows that contain the column, and its index in them; `order` selects some of their
        rows.
        """
        for seen in self._wide():
            own = seen.array() if seen.layout.dtype == column.dtype.str and not seen.stale else None
            if own is None or own.ndim not in (1, 2) or len(own) != rows:
                continue
            held = [(None, own)] if own.ndim == 1 else [(n, own[:, n]) for n in range(min(own.shape[1], MOST_COLUMNS))]
            for place, each in held:
                taken = each if order is None else each[order]
                if np.array_equal(taken, column, equal_nan=column.dtype.kind == "f") and digest_of(own) == seen.digest:
                    yield seen, place

    def picked(self, array: NDArray[Any], new: Arrival, numbers: Mapping[str, Any]) -> Arrival:
        """Recognise a new array whose cells were all taken from one known array, or are all known numbers."""
        from whence.arrays.linking.picked import collected_from, picked_from

        if not only_computed(array):
            return new
        held = ((seen, own) for seen in self._wide() if not seen.stale and (own := seen.array()) is not None)
        found = [
            (seen, how) for seen, how in picked_from(array, held) if (own := seen.array()) is not None
            and digest_of(own) == seen.digest
        ]  # fmt: skip
        if len(found) > 1:
            names = " and ".join(repr(each.name) for each, _ in found[:2])
            return replace(new, why=f"its cells are in {names}, and may be from either")
        single = Layout.of(np.zeros(()))
        sources = found or [
            (Seen(name, single, b"", True, _never), how) for name, how in collected_from(array, numbers)
        ]
        return Arrival("picked", new.digest, tuple(sources)) if sources else new

    def _joined(self, array: NDArray[Any]) -> tuple[tuple[Seen, Relation], ...]:
        from whence.arrays.linking.joined import joined

        if array.ndim == 0 or not self._contents:
            return ()
        return joined(array, self._unambiguous, self._shapes(array.dtype.str))

    def _unambiguous(self, piece: NDArray[Any]) -> tuple[Seen, Relation] | None:
        found = self._alike(piece, digest_of(piece))
        return found[0] if len(found) == 1 and is_distinctive(piece) else None

    def _shapes(self, dtype: str) -> set[Shape]:
        own = {
            each.layout.shape if each.column is None else each.column.out_shape
            for (kind, _), held in self._contents.items()
            if kind == dtype
            for each in held
        }
        return own | {each[::-1] for each in own}

    def _wide(self) -> Iterator[Seen]:
        return (seen for _, owned in list(self._owned.values()) for seen in owned.wide)

    def _of(self, array: NDArray[Any]) -> _Owned | None:
        found = self._owned.get(id(root_of(array)))
        return found[1] if found is not None and found[0]() is not None else None

    # --- knowing more

    def keep(self, array: NDArray[Any], name: str, digest: bytes, *, result: bool, part: bool, copy: bool) -> Seen:
        """Add an array that was recorded as a dataset. `part`: as a view of another; `copy`: with the same content as
        another.
        """
        root = root_of(array)
        key = id(root)
        held = self._owned.get(key)
        if held is None or held[0]() is not root:
            held = self._owned[key] = (weakref.ref(root, lambda ref: self._forget(key, ref)), _Owned())
        layout, owned = Layout.of(array), held[1]
        seen = Seen(name, layout, digest, result, held[0])
        owned.exact[layout] = seen
        if not part:
            owned.wide = [each for each in owned.wide if each.layout != layout]
            owned.wide.append(seen)
        if not copy and not part and (array.flags.c_contiguous or not overlaps_itself(array)):
            self._hold(seen)
        return seen

    def keep_columns(self, table: Any, name: str) -> None:
        """Add the columns of a table that was recorded as a dataset, so that they are recognised by content."""
        if table.ndim != 2 or not len(table):
            return
        shape = (len(table), len(table.columns))
        for n in range(min(shape[1], MOST_COLUMNS)):
            column = array_behind(table.iloc[:, n])
            if column is not None:
                seen = Seen(name, Layout(0, shape, (0, 0), column.dtype.str), digest_of(column), False, _never)
                seen.column = product(column.shape, shape, [affine(0, 0, shape[0]), only_in(1, n)])
                self._hold(seen)

    def _hold(self, seen: Seen) -> None:
        key = (seen.layout.dtype, seen.digest)
        self._contents.setdefault(key, []).append(seen)
        if len(self._contents) > MOST_CONTENTS:
            for old in list(itertools.islice(self._contents, MOST_CONTENTS // 8)):
                del self._contents[old]

    def kept(self, seen: Seen) -> Seen | None:
        """Return the array that is stored for the same memory with the same layout."""
        held = self._owned.get(id(seen.owner()))
        return held[1].exact.get(seen.layout) if held is not None else None

    def wrote(self, array: NDArray[Any]) -> None:
        """Drop or mark the arrays that share memory with an array that a tracked call wrote to. The array itself is
        added next.
        """
        owned, layout = self._of(array), Layout.of(array)
        if owned is None:
            return
        for seen in list({id(each): each for each in (*owned.exact.values(), *owned.wide)}.values()):
            if _overlap(array, seen):
                if shown(seen.layout, layout) is not None:
                    owned.exact.pop(seen.layout, None)
                    owned.wide = [each for each in owned.wide if each is not seen]
                else:
                    seen.stale = "a tracked call wrote into a part of it"

    def changed(self, change: Change, name: str) -> None:
        """Make a changed array another dataset. Recorded parts of the old one are not parts of the new one."""
        seen = change.seen
        seen.name, seen.digest, seen.stale = name, change.digest, ""
        held = self._owned.get(id(seen.owner()))
        if held is not None:
            held[1].exact = {
                layout: each for layout, each in held[1].exact.items() if each is seen or each in held[1].wide
            }

    def rename(self, other: Mapping[str, str]) -> None:
        """Rename datasets whose names another program took first."""
        every = itertools.chain(
            (seen for _, owned in self._owned.values() for seen in owned.exact.values()),
            self._wide(),
            (seen for held in self._contents.values() for seen in held),
        )
        for seen in {id(each): each for each in every}.values():
            seen.name = other.get(seen.name, seen.name)

    def _forget(self, key: int, ref: Any) -> None:
        held = self._owned.get(key)
        if held is not None and held[0] is ref:
            del self._owned[key]


def _living_first(found: list[Seen]) -> list[Seen]:
    """Return those that are still referenced, or all if none is; each dataset once."""
    living = [each for each in found if each.owner() is not None]
    return list({each.name: each for each in living or found}.values())


def _overlap(array: NDArray[Any], seen: Seen) -> bool:
    low, high = seen.layout.bounds
    first, after = Layout.of(array).bounds
    if after <= low or high <= first:
        return False
    own = seen.array()
    try:
        # np.shares_memory accepts any integer, but its type hints allow only two.
        return own is not None and bool(np.shares_memory(array, own, max_work=1 << 16))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True
