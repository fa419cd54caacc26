"""Record lineage from a Spark frame in a log: tasks write the parts to the log's blobs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from whence.relation import Relation, compress
from whence.relation.layout import Shape
from whence.relation.parts import PartedRelation, index_of
from whence.spark.progress import watched
from whence.spark.scale.compressing import LOCAL, fetched, on_spark
from whence.spark.scale.failures import explained
from whence.spark.scale.frames import classic, numbered, without_pandas
from whence.store.blobs.local import JOB
from whence.store.recording.capture import naming
from whence.words import counted

if TYPE_CHECKING:
    from contextlib import ExitStack

    from whence.store import Store


def relation_of_frame(
    held: ExitStack, store: Store, frame: Any, output: str, out_shape: Shape, input: str, in_shape: Shape
) -> Relation:
    """Make the relation of a frame of index tuples. `held` protects its parts in the blobs from garbage collection."""
    frame = without_pandas(frame)
    with naming(output, input):
        if not classic(frame):
            return compress(fetched(frame), out_shape, in_shape)
        session = frame.sparkSession
        with explained("compressing"), watched(session, "looking at the tuples"):
            given = numbered(frame, out_shape, in_shape)
        if given.rows <= LOCAL:
            with explained("compressing"):
                return compress(fetched(frame), out_shape, in_shape)
        beat = held.enter_context(marked(store.blobs))
        with watched(session, f"compressing {counted(given.rows, 'tuple')}", beat) as count:
            made = on_spark(given, out_shape, in_shape, store.blobs, count=count)
        if isinstance(made, Relation):
            return made
        return PartedRelation(index_of(out_shape, in_shape, made), store.blobs, f"the lineage of {output!r}")


@contextmanager
def marked(blobs: Any) -> Iterator[Callable[[], None]]:
    """Protect what tasks write to a log's blobs from garbage collection in this block. The yielded function renews the
    protection.
    """
    name = f"{JOB}{int(time.time())}-{os.getpid()}"
    blobs.mark(name)
    try:
        yield lambda: blobs.mark(name)
    finally:
        blobs.remove(name)
