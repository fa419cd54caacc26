"""The methods of a log that list its contents: datasets, operations, derivations and reuse rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whence.store.derivations import asking
from whence.store.records import Dataset, Description, Operation

if TYPE_CHECKING:
    from whence.arrays.explain import Contributions
    from whence.arrays.reuse import ReuseRule
    from whence.store import Store
    from whence.store.check import Report


class Contents:
    """The methods of a log that list and verify its contents."""

    _store: Store

    def datasets(self) -> list[Dataset]:
        """Return all datasets, oldest first. The list prints as a table."""
        from whence.store.answers import Listed
        from whence.store.catalog import statements

        with self._store.database.read() as connection:
            found = statements.datasets(connection)
        return Listed(found, Dataset.COLUMNS, Dataset.cells, "no datasets")

    def operations(self) -> list[Operation]:
        """Return all operations, oldest first. The list prints as a table."""
        from whence.store.answers import Listed
        from whence.store.catalog import statements

        with self._store.database.read() as connection:
            found = statements.operations(connection)
        return Listed(found, Operation.COLUMNS, Operation.cells, "no operations")

    def show(self, name: str) -> Description:
        """Describe one dataset: its shape, its derivations in both directions with their sizes, and its operations."""
        from whence.store.catalog import statements

        name = asking.latest(self._store, name)
        with self._store.database.read() as connection:
            return Description(
                statements.dataset(connection, name),
                tuple(statements.derivations(connection, output=name)),
                tuple(statements.derivations(connection, input=name)),
                tuple(statements.operations(connection, name)),
            )

    def contributions(self, output: str, input: str) -> Contributions:
        """Return the weighted contributions that were recorded between two datasets."""
        from whence.arrays.explain import Contributions

        inp = asking.latest(self._store, input)
        found = [each for each in self.show(output).derived_from if each.input == inp]
        return Contributions.of_kinds((each.kind, self._store.reader.boxes(each.hash)) for each in found)

    def views(self) -> list[ReuseRule]:
        """Return the reuse rules that the log learned from tracked calls, with hits and misses."""
        from whence.store.catalog import reuse

        with self._store.database.read() as connection:
            return reuse.load(connection)

    def check(self) -> Report:
        """Verify all references, checksums and rows. The report says what is wrong and what to do."""
        from whence.store.check import check

        return check(self._store.where, self._store.database, self._store.blobs)
