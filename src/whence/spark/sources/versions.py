"""Versions of sources: their files with sizes and modification times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whence.errors import SourceChanged
from whence.spark.sources.files import state
from whence.spark.sources.kind import Version
from whence.spark.sources.registry import kind_of

if TYPE_CHECKING:
    from whence.rows import Source
    from whence.spark.catalyst.jvm import Jvm


def version(source: Source, jvm: Jvm) -> Version:
    """The files of a source as they are now. Empty for data in memory or in another system."""
    return kind_of(source.origin).version(source, jvm) if source.paths else frozenset()


def version_read(source: Source, jvm: Jvm) -> Version:
    """The files of a source when the DataFrame was made: these are what Spark reads, or has in a cache.

    Files that Spark did not list then, such as those that a pattern excludes, are taken as they are now.
    """
    try:
        now = version(source, jvm)
    except SourceChanged:  # a question reports this later
        now = frozenset()
    seen = {file for file, _, _ in now}
    # An unchanged file that `version` does not list is not a change.
    read = kind_of(source.origin).version_read(source.origin)
    listed = {each for each in read if each[0] in seen or state(each[0], jvm) != each[1:]}
    names = {file for file, _, _ in listed}
    return frozenset(listed) | frozenset(each for each in now if each[0] not in names)


def require_unchanged(source: Source, before: Version, jvm: Jvm) -> None:
    """Raise if a source has changed."""
    changed = version(source, jvm) ^ before
    if changed:
        files = sorted({file for file, _, _ in changed})
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        raise SourceChanged(
            f"source {source.name!r} has changed since the DataFrame was made: {files[0]}{more}. Read it and run the"
            " pipeline again, or restore the source"
        )
