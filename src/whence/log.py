"""The log as users hold it: each method is a few lines over the parts of the store that do the work."""

from __future__ import annotations

import html
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal, overload

from whence.errors import BadType, Closed, InUse, NoLineage, Redefined, WhenceError
from whence.store.catalog.clock import now
from whence.store.derivations import asking
from whence.store.derivations.adjacency import Direction, Lineage
from whence.store.derivations.route import route
from whence.store.recording.capture import paired, relation_from
from whence.store.records import Dataset, Derivation, Description, Operation
from whence.store.values import name_of, names_of, plain, shape_of
from whence.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import TracebackType

    import sqlalchemy as sa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from whence.arrays.explain import Contributions
    from whence.arrays.recording.tables import Tables
    from whence.arrays.recording.track import Capture
    from whence.arrays.reuse import ReuseRule
    from whence.graph import Graph
    from whence.graph.compare import Difference
    from whence.relation import Relation
    from whence.selection import Selection
    from whence.spark.pipeline import Pipeline
    from whence.spark.stored import Runs
    from whence.store import Store
    from whence.store._store import Tables as StoreTables
    from whence.store.answers import Answer
    from whence.store.check import Report
    from whence.store.prov.importing import Imported
    from whence.store.recording.activity import Activity
    from whence.store.recording.files import Files
    from whence.store.records import Collected
    from whence.story import Erasure, Story

Shape = tuple[int, ...]

SHOWN_DATASETS = 20  # datasets in a notebook
RUN = "WHENCE_RUN_NOTES"  # in the environment of programs that `whence run` runs

# What imports SQLAlchemy is imported on use: `import whence` would otherwise take twice as long.


class Log:
    """Datasets, the operations between them, and where each cell came from. `whence.open` makes one.

    A log may be used by many threads and many processes at once; a forked child may go on using it.

    >>> import tempfile, whence as wh
    >>> directory = tempfile.TemporaryDirectory()
    >>> with wh.open(directory.name) as log:
    ...     _ = log.array("A", shape=(3, 2)), log.array("B", shape=(3,))
    ...     _ = log.lineage("B", "A", lambda index: [(index[0], 0), (index[0], 1)])
    ...     log.backward("B", [(1,)], to="A").cells().tolist()
    [[1, 0], [1, 1]]
    >>> directory.cleanup()
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        store.connect_tables = lambda: _tables(store)
        self._files: Files | None = None
        if (
            RUN in os.environ and not store.database.read_only
        ):  # a program below `whence run`, which has no block of its own
            self._files = store.tracker.watched()

    @property
    def where(self) -> str:
        """The directory of the log, or its URL without the password."""
        return self._store.where

    # --- recording

    def array(self, name: str, shape: int | Sequence[int] | NDArray[Any]) -> Dataset:
        """Define an array by its shape, or by the array itself. Another shape for the same name raises Redefined."""
        from whence.store.catalog import statements

        name, shape = (
            name_of(name),
            shape_of(shape if isinstance(shape, tuple | list) else getattr(shape, "shape", shape)),
        )
        self._store.forget_name(name)
        with self._store.database.read() as connection:
            known = statements.datasets(connection, name)
        if not known:
            with self._store.database.write() as connection:
                known = statements.datasets(connection, name)  # another process may have been first
                if not known:
                    return statements.add_dataset(connection, name, "array", shape, {})
        (latest,) = self._store.reader.called([name])
        if latest != name:
            with self._store.database.read() as connection:
                known = statements.datasets(connection, latest)
        if known[0].shape != shape:
            raise Redefined(
                f"{name!r} is already an {known[0].kind} of shape {known[0].shape}, not {shape}: "
                f"choose another name, or log.delete({name!r}) first"
            )
        return known[0]

    def lineage(self, output: str, input: str, capture: object) -> Derivation:
        """Record that `output` was derived from `input`, cell by cell as the capture says.

        The capture is a callable that takes the index of an output cell and returns the indices of its input
        cells; or the index tuples themselves, output first: an integer array (n, l + m), an Arrow table, a pandas
        or Spark frame, the path of a Parquet file, an iterator of chunks of any of these; or a Relation; or
        "identity" or "whole"; or Contributions with weights (whence.explain), which `contributions` gives back.
        A second lineage between the same two stands beside the first: questions get the union.
        """
        from whence.store.catalog import statements
        from whence.store.recording.writer import commit, prepare

        self._store.database.require_writable()
        out, inp = self._store.reader.called((name_of(output), name_of(input)))
        shapes = self._store.reader.shapes((out, inp))
        kinds = capture.kinds() if hasattr(capture, "kinds") else [("boxes", capture)]

        def record(connection: sa.Connection) -> Derivation:
            statements.require_shapes(connection, shapes)
            return statements.add_edges(connection, [item.edge for item in items], None)[0]

        with ExitStack() as held:
            items = [
                prepare(out, inp, self._captured(held, each, out, shapes[out], inp, shapes[inp]), kind)
                for kind, each in kinds
            ]
            return commit(self._store, items, record)

    def _captured(
        self, held: ExitStack, capture: object, output: str, out_shape: Shape, input: str, in_shape: Shape
    ) -> Relation:
        """The relation of a capture; while `held` lasts, what a cluster wrote of it is no garbage."""
        if type(capture).__module__.partition(".")[0] != "pyspark":
            return relation_from(capture, output, out_shape, input, in_shape)
        from whence.spark.scale.recording import relation_of_frame

        return relation_of_frame(held, self._store, capture, output, out_shape, input, in_shape)

    def register_operation(
        self,
        operation: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        capture: Sequence[object] | Mapping[tuple[str, str], object] | None = None,
        op_args: Mapping[str, Any] | None = None,
        reuse: bool = False,
    ) -> Operation:
        """Record an operation, what it used and generated, and the lineage of each output from each input.

        `capture` has one capture (see `lineage`) for each pair, all inputs of the first output first; or maps
        (output, input) to one. None stands for a pair without lineage. All of it is recorded, or nothing.
        """
        from whence.store.catalog import statements
        from whence.store.recording.writer import commit, prepare

        self._store.database.require_writable()
        started = now()
        operation = name_of(operation, "operation")
        inputs, outputs = names_of(inputs, "inputs"), names_of(outputs, "outputs")
        if op_args is not None and not isinstance(op_args, Mapping):
            raise BadType(f"op_args maps names to values, such as {{'axis': 1}}, not {op_args!r}")
        args = plain(op_args or {}, "op_args")
        if reuse and capture is None:
            raise NoLineage(
                f"nothing is known of {operation!r} that could be reused: give its capture; "
                "reuse=True then marks the operation as one that later calls may take it from"
            )
        pairs = paired(capture, inputs, outputs)
        inputs, outputs = self._store.reader.called(inputs), self._store.reader.called(outputs)
        shapes = self._store.reader.shapes((*inputs, *outputs))

        def record(connection: sa.Connection) -> Operation:
            statements.require_shapes(connection, shapes)
            added = statements.add_operation(connection, operation, inputs, outputs, args, started, reuse)
            statements.add_edges(connection, [item.edge for item in items], added)
            return added

        with ExitStack() as held:
            items = [
                prepare(out, inp, self._captured(held, each, out, shapes[out], inp, shapes[inp]))
                for (out, inp), each in pairs
            ]
            return commit(self._store, items, record)

    def track(
        self,
        function: Callable[..., Any] | None = None,
        *,
        name: str | None = None,
        names: Mapping[str, str] | None = None,
        lineage: Literal["value", "value+selection"] = "value",
        reuse: bool | Literal["verify"] = True,
        extremes: Literal["all", "winner"] = "all",
        unknown: Literal["whole", "elementwise", "probe", "error"] = "whole",
    ) -> Any:
        """Record the calls of a function of arrays, with the lineage of what it returns; also a decorator.

        `name` is the operation's name; `names` maps parameters, and "return", to datasets; `reuse=False` traces every
        call, and "verify" compares what is known with what is traced; `extremes="winner"` derives a maximum from the
        cell that attained it, "all" from every cell it compared.

        `unknown` says what to record of a function that nothing can look into (compiled code, SciPy): "whole", every
        result from every cell, which the answer says; "elementwise", each from its own place; "probe", what changes
        when inputs are changed; or "error", to refuse the call.
        """
        from whence.arrays.recording.track import track

        return track(
            self._store.tracker, function, name=name, names=names, lineage=lineage, reuse=reuse, extremes=extremes,
            unknown=unknown,
        )  # fmt: skip

    def capture(
        self,
        name: str = "capture",
        lineage: Literal["value", "value+selection"] = "value",
        extremes: Literal["all", "winner"] = "all",
    ) -> Capture:
        """A block of code whose arrays are traced: `read` inputs, compute, `write` results."""
        from whence.arrays.recording.track import Capture

        return Capture(self._store.tracker, name, lineage, extremes)

    @property
    def tables(self) -> Tables:
        """Filter, group, join and widen tables (arrays or pandas frames), with the lineage of every cell recorded."""
        from whence.arrays.recording.tables import Tables

        return Tables(self._store.tracker)

    def activity(
        self, name: str, *, command: str | None = None, agent: str | None = None, **properties: Any
    ) -> Activity:
        """Record something that is done, with the files and datasets that it uses and generates.

        Files are known by their content: each content is a version of the artifact, and each version is derived from
        the one before. `command` is what summaries and `match` compare, `agent` who does it: otherwise you.

        >>> import tempfile, pathlib, whence as wh
        >>> directory = tempfile.TemporaryDirectory()
        >>> data, model = (pathlib.Path(directory.name, name) for name in ("data.csv", "model.bin"))
        >>> _ = data.write_text("1,2")
        >>> with wh.open(pathlib.Path(directory.name, "project.whence")) as log:
        ...     with log.activity("train", command="python train.py", rate=0.1) as a:
        ...         _ = a.used(data)
        ...         _ = model.write_text("weights"), a.generated(model)
        ...     log.graph.ancestors("model.bin"), log.graph.versions("data.csv")
        (['data.csv@v1', 'train#1'], ['data.csv@v1'])
        >>> directory.cleanup()
        """
        return self._store.activity(name, command=command, agent=agent, **properties)

    def views(self) -> list[ReuseRule]:
        """The reuse rules that tracked calls have taught the log, with hits and misses."""
        from whence.store.catalog import reuse

        with self._store.database.read() as connection:
            return reuse.load(connection)

    def pipeline(
        self,
        df: object,
        name: str | None = None,
        *,
        mode: str = "lazy",
        sources: Mapping[str, object] | None = None,
        save: str = "auto",
        witness: str = "rows",
    ) -> Pipeline:
        """Read a PySpark DataFrame as a pipeline that can be asked which source rows made an output row.

        `mode="eager"` computes the lineage of every row when it runs; `sources` names DataFrames that were read;
        `witness="group"` takes the whole group for min, max, first, last and any.
        """
        from whence.spark.pipeline import Pipeline

        return Pipeline(df, name, mode, sources, save, witness, self._store)

    def runs(self, pipeline: str | None = None) -> Runs:
        """The runs of Spark pipelines that the log recorded, oldest first: all, or those of one pipeline.

        It is a list that prints as a table. Each run can be asked as its pipeline can, by a program that has not made
        the pipeline: `log.runs()[-1].backward({"city": "Oslo"}).pandas("orders")`. Spark is not needed where DuckDB
        gives the same answer.

        >>> import tempfile, whence as wh
        >>> with tempfile.TemporaryDirectory() as directory, wh.open(f"{directory}/a.whence") as log:
        ...     log.runs()
        no runs
        """
        from whence.spark.stored import Runs

        return Runs.of(self._store, None if pipeline is None else name_of(pipeline, "pipeline"))

    def to_spark(
        self, value: Any, spark: SparkSession | None = None, name: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> DataFrame:  # fmt: skip
        """A pandas frame or an array of numbers as a Spark DataFrame whose rows are known: lineage goes on through it.

        `name` is what the table is called, and the source of pipelines that read it; `columns` names those of an
        array. Without `spark` it is the active session. The rows are kept in the log, as a Parquet file.
        """
        from whence.spark.tables.back import to_spark

        return to_spark(self._store, value, spark, name, columns)

    def import_(self, source: str | os.PathLike[str]) -> Imported:
        """Add provenance that others recorded: a PROV document, OpenLineage events, or "git" for a repository.

        Everything in the source is added, or nothing if there is an error. What the log has already is not added again.
        """
        from whence.interop.ingest import ingest

        return ingest(self._store, os.fspath(source))

    def export(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write the project graph to a file: a PROV document, OpenLineage events, or a picture, by the file's ending.

        `format` is one of json, provn, xml, rdf, trig and openlineage, for files with another ending.
        """
        from whence.interop.export import export

        export(self._store, path, format=format)

    def delete(self, name: str, *, force: bool = False) -> None:
        """Remove a dataset and its derivations; `collect` then frees the space.

        Of several versions it is the latest, unless the name says which. If others were derived from it, it takes
        `force=True`: they stay, and their lineage ends where it was.
        """
        from whence.store.catalog import statements

        (name,) = self._store.reader.called([name_of(name)])
        self._store.forget_name(name)

        def remove() -> None:
            with self._store.database.write("delete from", removing=True) as connection:
                statements.dataset(connection, name)
                heirs = sorted({edge.output for edge in statements.derivations(connection, input=name)} - {name})
                if heirs and not force:
                    shown = ", ".join(map(repr, heirs[:5])) + (f" and {len(heirs) - 5} more" if len(heirs) > 5 else "")
                    raise InUse(
                        f"{shown} was derived from {name!r}: delete that first, or give force=True to cut its lineage"
                    )
                statements.delete_dataset(connection, name)

        self._store.database.freeing(remove)

    def collect(self) -> Collected:
        """Remove the blobs that nothing refers to any more; safe while others write."""
        from whence.store.recording.writer import collect

        return self._store.database.freeing(lambda: collect(self._store))

    # --- asking

    def query(
        self, path: Sequence[str], cells: object, *, above: float | None = None, lineage: Lineage = "value+selection"
    ) -> Selection:
        """Follow the cells of the first dataset along the path; the answer is cells of the last.

        Each step goes backward or forward, whichever way there is lineage; if both, it is the union. With `above`, only
        contributions of at least that weight are followed; a path is as strong as its weakest step. With
        lineage="value", cells that decided and went into nothing are left out, where they were recorded.
        """
        names = tuple(asking.meant(self._store, name) for name in names_of(path, "a path"))
        if not names:
            raise BadType("a path needs at least one name, such as ['B', 'A']")
        return self._store.reader.ask(names[0], cells, lambda graph: route(graph, names, above, lineage))

    @overload
    def backward(
        self,
        name: str,
        cells: object = None,
        *,
        to: str,
        above: float | None = None,
        lineage: Lineage = ...,
        columns: Sequence[str] | None = None,
    ) -> Selection: ...
    @overload
    def backward(
        self,
        name: str,
        cells: object,
        to: str,
        *,
        above: float | None = None,
        lineage: Lineage = ...,
        columns: Sequence[str] | None = None,
    ) -> Selection: ...
    @overload
    def backward(
        self,
        name: str,
        cells: object = None,
        to: None = None,
        *,
        above: float | None = None,
        lineage: Lineage = ...,
        columns: Sequence[str] | None = None,
    ) -> Answer: ...
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
        """Where the cells came from: the cells of `to`, over all paths; or an Answer, by every source reached.

        Of a table, the cells may be rows by their values, `{"city": "Oslo"}`, and of these the `columns`. A Spark
        frame asks about many at once: rows by values if its columns are called as the table's, else indices. Beyond the
        cells the way goes on through activities to the files that they used, which are reached as a whole. The answer
        knows its `steps`, whether it is `precise` and for which `reason` not, and the people and commits around it. Its
        `notes` say where the recorded lineage ends, and where it is only likely. A
        name stands for its latest version, `to` for the latest that is reached.

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
    def forward(
        self,
        name: str,
        cells: object = None,
        *,
        to: str,
        above: float | None = None,
        lineage: Lineage = ...,
        columns: Sequence[str] | None = None,
    ) -> Selection: ...
    @overload
    def forward(
        self,
        name: str,
        cells: object,
        to: str,
        *,
        above: float | None = None,
        lineage: Lineage = ...,
        columns: Sequence[str] | None = None,
    ) -> Selection: ...
    @overload
    def forward(
        self,
        name: str,
        cells: object = None,
        to: None = None,
        *,
        above: float | None = None,
        lineage: Lineage = ...,
        columns: Sequence[str] | None = None,
    ) -> Answer: ...
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
        """Where the cells went: the cells of `to`, over all paths; or an Answer, by every final result reached.

        See `backward`: the way goes on through activities to what they generated.
        """
        given, columns = self._given(name, cells, columns)
        return asking.walk(self._store, "forward", name, given, to, above, lineage, columns)

    def _given(
        self, name: str, cells: object, columns: Sequence[str] | None
    ) -> tuple[object, Sequence[str] | None]:  # fmt: skip
        """The cells of a question and its columns; those in a Spark frame are looked up."""
        if type(cells).__module__.partition(".")[0] != "pyspark":
            return cells, columns
        from whence.spark.tables.frames import asked_cells

        return asked_cells(self._store, asking.latest(self._store, name), cells, columns), None

    def explain(
        self, name: str, cells: object = None, *, direction: Direction = "backward",
        columns: Sequence[str] | None = None, lineage: Lineage = "value+selection",
    ) -> Story:  # fmt: skip
        """The story of some cells: where they came from (or went), what was done, by whom, at which commit.

        It prints as text, shows itself in a notebook, and `save("story.html")` writes it: .html, .svg, .json or .txt.
        """
        from whence.story import tell

        return tell(self._store, direction, name, cells, columns, lineage)

    def erasure(self, name: str, cells: object = None, *, columns: Sequence[str] | None = None) -> Erasure:
        """What has to be done to erase some cells or rows: all that they reached, and what to do about each.

        The report prints as a table, shows itself in a notebook, and `save` writes it: .html, .json or .txt.
        """
        from whence.story import erasure

        return erasure(self._store, name, cells, columns)

    def contributions(self, output: str, input: str) -> Contributions:
        """The contributions with weights that were recorded between the two; ask them `above` a level."""
        from whence.arrays.explain import Contributions

        inp = asking.latest(self._store, input)
        found = [each for each in self.show(output).derived_from if each.input == inp]
        return Contributions.of_kinds((each.kind, self._store.reader.boxes(each.hash)) for each in found)

    def first(
        self, name: str, predicate: Callable[[Any], Any], values: Mapping[str, Any] | None = None,
        lineage: Lineage = "value",
    ) -> Answer:  # fmt: skip
        """The earliest cells along the lineage for which a condition holds: where did this NaN start?

        `predicate` takes an array and returns a mask, such as `np.isnan`. The values of datasets are those of arrays
        that this program still holds, or those in `values`, by name. Where they are not known, the way goes on, and the
        notes of the answer say so.

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

    # --- asking about files, and what was done with them

    def ancestors(self, names: str | Iterable[str], *, revisions: bool = False) -> list[str]:
        """All that these came from, oldest first: files, activities, datasets. The list prints as a table.

        A file's name stands for its version when it was last seen; `model.bin@v2` is one version. The end of a path is
        enough if only one file's path ends that way. A version that was replaced without being read is not an
        ancestor, unless `revisions` is set.
        """
        from whence.store.prov import asking as projects

        return projects.ancestors(self._store, names, revisions=revisions)

    def descendants(self, names: str | Iterable[str], *, revisions: bool = False) -> list[str]:
        """All that came from these, oldest first: what is affected if they are wrong. The list prints as a table.

        A file's name stands for all its versions.
        """
        from whence.store.prov import asking as projects

        return projects.descendants(self._store, names, revisions=revisions)

    def blame(self, names: str | Iterable[str], *, revisions: bool = False) -> dict[str, list[str]]:
        """Who is responsible for these, each with the ancestors that they are responsible for."""
        from whence.store.prov import asking as projects

        return projects.blame(self._store, names, revisions=revisions)

    def versions(self, name: str) -> list[str]:
        """The versions of a file, oldest first. The list prints as a table."""
        from whence.store.prov import asking as projects

        return projects.versions(self._store, name_of(name))

    def diff(self, one: str, other: str) -> Difference:
        """What differs between two activities, or two files: parameters, inputs, code, outputs, and their origins.

        >>> import tempfile, pathlib, whence as wh
        >>> directory = tempfile.TemporaryDirectory()
        >>> model = pathlib.Path(directory.name, "model.bin")
        >>> with wh.open(pathlib.Path(directory.name, "project.whence")) as log:
        ...     for rate in ("0.1", "0.2"):
        ...         with log.activity("train", command=f"python train.py --rate {rate}") as a:
        ...             _ = model.write_text(f"weights at {rate}" * 10), a.generated(model)
        ...     print(log.diff("train#1", "train#2"))
        train#1 -> train#2
          what       name       first      second  note
          parameter  --rate     0.1    ->  0.2
          output     model.bin  v1     ->  v2      140 B both
        >>> directory.cleanup()
        """
        from whence.store.prov import asking as projects

        return projects.diff(self._store, name_of(one), name_of(other))

    # --- looking

    @property
    def graph(self) -> Graph:
        """The project graph: datasets, operations and who ran them, as W3C PROV. It is read again after changes."""
        return self._store.graph

    def datasets(self) -> list[Dataset]:
        """All datasets, oldest first. The list prints as a table."""
        from whence.store.answers import Listed
        from whence.store.catalog import statements

        with self._store.database.read() as connection:
            found = statements.datasets(connection)
        return Listed(found, Dataset.COLUMNS, Dataset.cells, "no datasets")

    def operations(self) -> list[Operation]:
        """All operations, oldest first. The list prints as a table."""
        from whence.store.answers import Listed
        from whence.store.catalog import statements

        with self._store.database.read() as connection:
            found = statements.operations(connection)
        return Listed(found, Operation.COLUMNS, Operation.cells, "no operations")

    def show(self, name: str) -> Description:
        """All that is known of one dataset: shape, derivations in both directions with their sizes, operations."""
        from whence.store.catalog import statements

        name = asking.latest(self._store, name)
        with self._store.database.read() as connection:
            return Description(
                statements.dataset(connection, name),
                tuple(statements.derivations(connection, output=name)),
                tuple(statements.derivations(connection, input=name)),
                tuple(statements.operations(connection, name)),
            )

    def check(self) -> Report:
        """Verify all references, checksums and rows. The report says what is wrong and what to do. Changes nothing."""
        from whence.store.check import check

        return check(self.where, self._store.database, self._store.blobs)

    @property
    def read_only(self) -> bool:
        """Whether the log cannot be written here. Questions still work."""
        return self._store.database.read_only

    def close(self) -> None:
        """Close the catalog. Using the log afterwards raises Closed; closing it again does nothing."""
        if self._files is not None:
            self._files.stop()
            self._files = None
        self._store.database.close()

    def __enter__(self) -> Log:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Log({self.where!r}: {self._summary()})"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> object:
        from whence.shown import bundle

        return bundle(self)

    def _repr_html_(self) -> str:
        title = f"<b>{html.escape(self.where)}</b>: {html.escape(self._summary())}"
        try:
            datasets = self.datasets()
        except WhenceError:
            return title
        cells = [
            (each.name, each.kind, str(each.shape), each.created or "unknown") for each in datasets[-SHOWN_DATASETS:]
        ]
        rows = "".join(f"<tr>{''.join(f'<td>{html.escape(text)}</td>' for text in row)}</tr>" for row in cells)
        head = "<tr><th>dataset</th><th>kind</th><th>shape</th><th>created</th></tr>"
        return f"{title}<table>{head}{rows}</table>"

    def _summary(self) -> str:
        from whence.store.catalog import statements

        try:
            with self._store.database.read() as connection:
                datasets, operations, derivations = statements.counts(connection)
        except WhenceError as error:  # a log that cannot be read must still print
            return "closed" if isinstance(error, Closed) else str(error)
        things = ((datasets, "dataset"), (operations, "operation"), (derivations, "derivation"))
        return ", ".join(counted(number, thing) for number, thing in things)


def _tables(store: Store) -> StoreTables:
    """The tables of the log. This needs Spark only if a question does."""
    from whence.spark.tables.asking import AskedTables

    return AskedTables(store)


def open(
    path_or_url: str | os.PathLike[str],
    *,
    blobs: str | os.PathLike[str] | None = None,
    create: bool = True,
    timeout: float = 30.0,
    cache: int = 256 * 1024 * 1024,
) -> Log:
    """Open a log; create it if it does not exist.

    A path is a directory with a SQLite catalog and the blobs; a log on a disk that cannot be written opens for
    questions. A URL such as postgresql://user@host/database is a catalog that a team shares; `blobs` then says
    where the blobs are: a path, or a URL that fsspec knows. `create=False` refuses to make a log. `timeout`: how many
    seconds to wait for other writers. `cache`: how many bytes of relations to keep open.

    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as directory, open(os.path.join(directory, "a.whence")) as log:
    ...     log.array("A", shape=(3, 2)).shape
    (3, 2)
    """
    from whence.store import open_store

    if "pyspark" in sys.modules:  # checkpoints that are made from now on can be followed
        from whence.spark.sources.checkpoints import remember_checkpoints

        remember_checkpoints()
    return Log(open_store(path_or_url, blobs=blobs, create=create, timeout=timeout, cache=cache))
