"""Questions about cells: where they came from and where they went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from whence.errors import BadType
from whence.store.derivations import asking
from whence.store.derivations.adjacency import Direction, Lineage
from whence.store.derivations.route import route
from whence.store.values import names_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whence.selection import Selection
    from whence.store import Store
    from whence.store.answers import Answer
    from whence.story import Erasure, Story


class Options(TypedDict, total=False):
    """Options that narrow a question. `Log.backward` describes each."""

    above: float | None
    lineage: Lineage
    columns: Sequence[str] | None


class Questions:
    """The methods of a log that follow cells."""

    _store: Store

    def query(
        self, path: Sequence[str], cells: object, *, above: float | None = None, lineage: Lineage = "value+selection"
    ) -> Selection:
        """Follow the cells of the first dataset along the path; the answer is cells of the last.

        Each step goes backward or forward, depending on which dataset was made from the other; if both, it is the
        union. With `above`, only contributions of at least that weight are followed; the weight of a path is the
        smallest weight along it. With lineage="value", cells that only influenced the selection (masks, sort keys) are
        left out.
        """
        names = tuple(asking.meant(self._store, name) for name in names_of(path, "a path"))
        if not names:
            raise BadType("a path needs at least one name, such as ['B', 'A']")
        return self._store.reader.ask(names[0], cells, lambda graph: route(graph, names, above, lineage))

    @overload
    def backward(self, name: str, cells: object = None, *, to: str, **options: Unpack[Options]) -> Selection: ...
    @overload
    def backward(self, name: str, cells: object, to: str, **options: Unpack[Options]) -> Selection: ...
    @overload
    def backward(self, name: str, cells: object = None, to: None = None, **options: Unpack[Options]) -> Answer: ...
    def backward(
        self,
        name: str,
        cells: object = None,
        to: str | None = None,
        *,
        above: float | None = None,
        lineage: Lineage = "value+selection",
        columns: Sequence[str] | None = None,
    ) -> Selection | Answer:
        """Find where cells came from: the cells of `to`, over all paths; without `to`, an Answer with the cells of
        every source.

        For a table, give rows by their values, `{"city": "Oslo"}`; `columns` limits the question to some columns. A
        Spark frame asks about many cells at once: rows by values if its columns have names of the table, else indices.
        From the last cells, the answer goes on through activities to the files that they used, as a whole. The answer
        has its `steps`, whether it is `precise` (if not, `reason` says why), and the people and commits involved. Its
        `notes` say where the recorded lineage ends, and where it is only likely. A name means its latest version; `to`
        means the latest version that is reached.

        >>> import tempfile, whence as wh
        >>> with tempfile.TemporaryDirectory() as directory, wh.open(f"{directory}/a.whence") as log:
        ...     _ = log.array("A", shape=(3, 2)), log.array("B", shape=(3,)), log.array("C", shape=())
        ...     _ = log.lineage("B", "A", lambda index: [(index[0], 0), (index[0], 1)])
        ...     _ = log.lineage("C", "B", "whole")
        ...     answer = log.backward("C")
        >>> answer.precise, [str(step) for step in answer.steps]
        (True, ['C -> B: 3 cells (boxes)', 'B -> A: 6 cells (boxes)'])
        """
        given, columns = self._given(name, cells, columns)
        return asking.walk(self._store, "backward", name, given, to, above, lineage, columns)

    @overload
    def forward(self, name: str, cells: object = None, *, to: str, **options: Unpack[Options]) -> Selection: ...
    @overload
    def forward(self, name: str, cells: object, to: str, **options: Unpack[Options]) -> Selection: ...
    @overload
    def forward(self, name: str, cells: object = None, to: None = None, **options: Unpack[Options]) -> Answer: ...
    def forward(
        self,
        name: str,
        cells: object = None,
        to: str | None = None,
        *,
        above: float | None = None,
        lineage: Lineage = "value+selection",
        columns: Sequence[str] | None = None,
    ) -> Selection | Answer:
        """Find where cells went: the cells of `to`, over all paths; without `to`, an Answer with the cells of every
        final result.

        The parameters are those of `backward`. From the last cells, the answer goes on through activities to the files
        that they generated.
        """
        given, columns = self._given(name, cells, columns)
        return asking.walk(self._store, "forward", name, given, to, above, lineage, columns)

    def _given(
        self, name: str, cells: object, columns: Sequence[str] | None
    ) -> tuple[object, Sequence[str] | None]:  # fmt: skip
        """Return the cells and columns of a question; look up cells that are given as a Spark frame."""
        if type(cells).__module__.partition(".")[0] != "pyspark":
            return cells, columns
        from whence.spark.tables.frames import asked_cells

        return asked_cells(self._store, asking.latest(self._store, name), cells, columns), None

    def explain(
        self, name: str, cells: object = None, *, direction: Direction = "backward",
        columns: Sequence[str] | None = None, lineage: Lineage = "value+selection",
    ) -> Story:  # fmt: skip
        """Explain in sentences where cells came from (or went): what was done, by whom, and at which commit.

        The story prints as text and shows as HTML in a notebook; `save("story.html")` writes .html, .svg, .csv, .json
        or .txt.
        """
        from whence.story import story_of

        return story_of(self._store, direction, name, cells, columns, lineage)

    def erasure(self, name: str, cells: object = None, *, columns: Sequence[str] | None = None) -> Erasure:
        """Report what to do to erase cells or rows: everything that they reached, and what to do about it.

        The report prints as a table and shows as HTML in a notebook; `save` writes .html, .json or .txt.
        """
        from whence.story import erasure

        return erasure(self._store, name, cells, columns)

    def first(
        self, name: str, predicate: Callable[[Any], Any], values: Mapping[str, Any] | None = None,
        lineage: Lineage = "value",
    ) -> Answer:  # fmt: skip
        """Find the earliest cells along the lineage for which a condition holds: where did this NaN start?

        `predicate` takes an array and returns a mask, such as `np.isnan`. The values of datasets are those in `values`,
        by name, those of arrays that this program still holds, or those in previews that hold every cell. If the values
        of a dataset are not known, the search continues, and the notes of the answer say so.

        >>> import tempfile, numpy as np, whence as wh
        >>> with tempfile.TemporaryDirectory() as directory, wh.open(f"{directory}/a.whence") as log:
        ...     ratio = log.track(lambda a, b: a / b, name="ratio")
        ...     share = log.track(lambda x: x / x.sum(), name="share")
        ...     a, b = np.array([1.0, 0.0, 3.0]), np.array([2.0, 0.0, 1.0])
        ...     with np.errstate(all="ignore"):
        ...         quotients = ratio(a, b)
        ...         shares = share(quotients)
        ...     print(log.first("share", np.isnan))
        dataset  count  cells
        ratio    1      1
        """
        return asking.first(self._store, name, predicate, values or {}, lineage)
