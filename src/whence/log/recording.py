"""The methods of a log that record: arrays, operations, tracked functions, activities, imported provenance."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from whence.errors import BadType, InUse, NoLineage, Redefined
from whence.store.catalog.clock import now
from whence.store.recording.capture import paired, relation_from
from whence.store.records import Dataset, Derivation, Operation
from whence.store.values import name_of, names_of, plain, shape_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import sqlalchemy as sa
    from numpy.typing import NDArray

    from whence.arrays.recording.tables import Tables
    from whence.arrays.recording.track import Capture
    from whence.relation import Relation
    from whence.store import Store
    from whence.store.prov.importing import Imported
    from whence.store.recording.activity import Activity
    from whence.store.records import Collected

Shape = tuple[int, ...]

# Modules that import SQLAlchemy are imported on use: `import whence` would otherwise take twice as long.


class Recording:
    """The methods of a log that record, delete and collect."""

    _store: Store

    def array(
        self,
        name: str,
        shape: int | Sequence[int] | NDArray[Any],
        *,
        preview: bool | int | NDArray[Any] | None = None,
    ) -> Dataset:
        """Define an array by its shape, or by the array itself. Another shape for the same name raises Redefined.

        Tracked calls that get the array itself, or a view of it, record it under this name.

        `preview=True` saves a small preview of the values: the least, the greatest and the mean value of each of at
        most 16,384 tiles; a smaller array is saved completely. `preview` may also be the number of tiles, or an array
        with the values if `shape` is a shape. The explorer draws previews, and `first` takes values from them. A
        preview replaces an earlier one.

        >>> import tempfile, numpy as np, whence as wh
        >>> with tempfile.TemporaryDirectory() as directory, wh.open(f"{directory}/a.whence") as log:
        ...     _ = log.array("A", np.array([1.0, np.nan, 3.0]), preview=True)
        ...     print(log.first("A", np.isnan))
        dataset  count  cells
        A        1      1
        """
        array, name = shape, name_of(name)
        shape = shape_of(shape if isinstance(shape, tuple | list) else getattr(shape, "shape", shape))
        wanted = None
        if preview is not None:
            from whence.store.recording.previews import given_preview, save_preview

            wanted = given_preview(name, shape, array, preview)
        dataset, is_new = self._defined(name, shape)
        if is_new and isinstance(array, np.ndarray):
            self._store.tracker.defined(array, dataset.name)
        if wanted is not None:
            save_preview(self._store, dataset.name, wanted)
        return dataset

    def _defined(self, name: str, shape: Shape) -> tuple[Dataset, bool]:
        """Return the array of this name and whether it is new; record it if there is none."""
        from whence.store.catalog import statements

        self._store.forget_name(name)
        with self._store.database.read() as connection:
            known = statements.datasets(connection, name)
        if not known:
            with self._store.database.write() as connection:
                known = statements.datasets(connection, name)  # another process may have been first
                if not known:
                    return statements.add_dataset(connection, name, "array", shape, {}), True
        (latest,) = self._store.reader.called([name])
        if latest != name:
            with self._store.database.read() as connection:
                known = statements.datasets(connection, latest)
        if known[0].shape != shape:
            raise Redefined(
                f"{name!r} is already an {known[0].kind} of shape {known[0].shape}, not {shape}: "
                f"choose another name, or log.delete({name!r}) first"
            )
        return known[0], False

    def lineage(self, output: str, input: str, capture: object) -> Derivation:
        """Record that `output` was derived from `input`, cell by cell as the capture says.

        The capture is one of: a callable that takes the index of an output cell and returns the indices of its input
        cells; index tuples, output first, as an integer array (n, l + m), an Arrow table, a pandas or Spark frame, the
        path of a Parquet file, or an iterator of chunks of any of these; a Relation; "identity" or "whole"; or weighted
        Contributions (whence.explain), which `contributions` returns. A second lineage between the same two datasets
        does not replace the first: answers are the union.
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
        """Return the relation of a capture; `held` protects blobs that a cluster wrote from garbage collection."""
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

        `capture` is a list with one capture (see `lineage`) for each pair, all inputs of the first output first, or a
        dictionary from (output, input) to captures. None means a pair without lineage. If one capture is wrong, nothing
        is recorded.
        """
        from whence.store.catalog import statements
        from whence.store.recording.writer import commit, prepare

        self._store.database.require_writable()
        started = now()
        operation = name_of(operation, "operation")
        inputs, outputs = names_of(inputs, "inputs"), names_of(outputs, "outputs")
        if op_args is not None and not isinstance(op_args, Mapping):
            raise BadType(f"op_args must map names to values, such as {{'axis': 1}}, not {op_args!r}")
        args = plain(op_args or {}, "op_args")
        if reuse and capture is None:
            raise NoLineage(
                f"reuse=True needs the lineage of {operation!r}: give its capture;  "
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
        """Record the calls of a function of arrays, and the lineage of its results; also a decorator.

        `name` is the operation's name; `names` maps parameters, and "return", to datasets; `reuse=False` traces every
        call, and "verify" compares reused lineage with traced lineage; `extremes="winner"` derives a maximum from the
        cell that attained it, "all" from every cell it compared. `unknown` chooses what to record for a function that
        cannot be followed, such as compiled code: "whole", every result from every cell (the answer says so);
        "elementwise", each result from the cell at the same index; "probe", the cells that change a result; or "error",
        which raises NoRule.
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
        """Return a block of code whose arrays are traced: `read` inputs, compute, `write` results."""
        from whence.arrays.recording.track import Capture

        return Capture(self._store.tracker, name, lineage, extremes)

    @property
    def tables(self) -> Tables:
        """Filter, group, join and extend tables (arrays or pandas frames), and record the lineage of every cell."""
        from whence.arrays.recording.tables import Tables

        return Tables(self._store.tracker)

    def activity(
        self, name: str, *, command: str | None = None, agent: str | None = None, **properties: Any
    ) -> Activity:
        """Record an activity, with the files and datasets that it uses and generates.

        Each content of a file is a version. `command` is what summaries and `match` compare; `agent` is who does it (by
        default, you).

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

    def import_(self, source: str | os.PathLike[str]) -> Imported:
        """Import provenance: a PROV document, OpenLineage events, or "git" for the history of a repository.

        After an error, nothing is imported. Records that the log already has are skipped.
        """
        from whence.interop.ingest import ingest

        return ingest(self._store, os.fspath(source))

    def delete(self, name: str, *, force: bool = False) -> None:
        """Remove a dataset and its derivations; `collect` then frees the space.

        A name without a version means the latest. If other datasets were derived from it, give `force=True`: they stay,
        but lose their lineage.
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
        """Remove the blobs that nothing refers to. This is safe while other processes write."""
        from whence.store.recording.writer import collect

        return self._store.database.freeing(lambda: collect(self._store))
