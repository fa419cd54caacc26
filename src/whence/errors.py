"""The errors that whence raises. Each is a WhenceError, and also the matching built-in error."""

from __future__ import annotations

from collections.abc import Iterable


class WhenceError(Exception):
    """The root of all errors that whence raises on purpose."""

    def __str__(self) -> str:  # KeyError would print the repr of its message
        return str(self.args[0]) if self.args else ""


class OutOfRange(WhenceError, IndexError):
    """An index is outside of the array."""


class BadCells(WhenceError, ValueError):
    """Cells, slices, masks or tuples have the wrong number of axes, or are not integers."""


class BadType(WhenceError, TypeError):
    """An argument has the wrong type."""


class ShapeMismatch(WhenceError, ValueError):
    """Two shapes that should agree do not."""


class UnknownName(WhenceError, KeyError):
    """There is no dataset, operation or command of that name."""

    @classmethod
    def of(cls, kind: str, name: str, known: Iterable[str]) -> UnknownName:
        """Return the error for an unknown name, with the most similar known names.

        >>> str(UnknownName.of("dataset", "pixls", ["pixels", "labels"]))
        "there is no dataset 'pixls'; did you mean 'pixels'?"
        """
        import difflib  # only needed for errors

        names = list(known)
        near = difflib.get_close_matches(name, names, n=3)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else "; `whence ls` lists what there is"
        if not near and kind.split()[0] in ("column", "source"):  # names of a pipeline, not of the log
            hint = f"; there are {', '.join(names[:20])}{', ...' if len(names) > 20 else ''}"
        return cls(f"there is no {kind} {name!r}{hint}")


class Ambiguous(WhenceError, LookupError):
    """A name is ambiguous."""

    @classmethod
    def of(cls, name: str, known: Iterable[str]) -> Ambiguous:
        """Return the error that lists what a name may mean.

        >>> str(Ambiguous.of("metrics.json", ["a/metrics.json", "b/metrics.json"]))
        "'metrics.json' may be a/metrics.json or b/metrics.json: say which"
        """
        names = list(known)
        shown = ", ".join(names[:11]) + f" or {len(names) - 11} others" if len(names) > 12 else " or ".join(names)
        return cls(f"{name!r} may be {shown}: say which")


class Redefined(WhenceError, ValueError):
    """A name is already taken by something else."""


class InUse(WhenceError, ValueError):
    """A dataset cannot be deleted, because others depend on it."""


class BadGraph(WhenceError, ValueError):
    """Records do not form a provenance graph: a cycle, a missing vertex, an edge between the wrong kinds."""


class NoRule(WhenceError, NotImplementedError):
    """There is no rule for the lineage of a function, or for these arguments."""


class NoLineage(WhenceError, LookupError):
    """No lineage connects the datasets of a question."""


class NotTraceable(WhenceError, NotImplementedError):
    """A pipeline cannot be traced: it is streaming, or has an operator without a rule."""


class NoSuchRow(WhenceError, LookupError):
    """No row matches the question, or several do where one is needed."""


class BadScript(WhenceError, ValueError):
    """The script of a pipeline is not valid: wrong SQL, or no function `build(spark)`."""


class SparkFailed(WhenceError, RuntimeError):
    """Spark did not start, or failed while it worked."""


class SourceChanged(WhenceError, OSError):
    """A source is gone, or has changed since the pipeline ran."""


class TooLarge(WhenceError, MemoryError):
    """The expanded answer would not fit into memory."""


class Damaged(WhenceError, OSError):
    """Stored data is truncated, altered or missing."""


class FutureVersion(WhenceError, OSError):
    """Stored data was written by a newer whence."""


class StoreError(WhenceError, OSError):
    """The store cannot be read or written: read-only, full, locked or not a log."""


class Closed(WhenceError, RuntimeError):
    """The log is closed."""


class MissingExtra(WhenceError, ImportError):
    """An optional dependency is not installed."""

    @classmethod
    def of(cls, what: str, extra: str) -> MissingExtra:
        """Return the error for a missing optional package.

        >>> str(MissingExtra.of("duckdb", "bench"))
        "this needs duckdb, which is not installed: pip install 'whence[bench]'"
        """
        return cls(f"this needs {what}, which is not installed: pip install 'whence[{extra}]'")
