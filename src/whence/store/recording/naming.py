"""Names of the inputs and outputs of calls: chosen by users, or after parameters and functions; and their versions.

A chosen name is like the name of a file: another array with the same name is another version, `B@v2`. The first version
is the dataset `B` itself. In questions, `B` is the latest version and `B@v1` the first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import sqlalchemy as sa

from whence.errors import BadType, Redefined
from whence.store.catalog import schema as t
from whence.store.catalog import statements
from whence.store.values import name_of

if TYPE_CHECKING:
    from whence.store import Store

Shape = tuple[int, ...]
VERSION = re.compile(r"(.+)@v([1-9][0-9]*)\Z")


def family_of(name: str) -> tuple[str, int]:
    """Split a name into the name without the version, and the version.

    >>> family_of("B@v2"), family_of("B")
    (('B', 2), ('B', 1))
    """
    match = VERSION.match(name)
    return (match[1], int(match[2])) if match else (name, 1)


def free(name: str, taken: set[str]) -> str:
    """Return a free name: for a version the next free version, else the name with the first free number.

    >>> free("X", {"X", "X#2"}), free("B@v2", {"B", "B@v2"})
    ('X#3', 'B@v3')
    """
    if name not in taken:
        return name
    own, version = family_of(name)
    n = max(2, version)
    sign = "@v" if VERSION.match(name) else "#"
    while f"{own}{sign}{n}" in taken:
        n += 1
    return f"{own}{sign}{n}"


class Names:
    """The names in use, and the shapes, digests and versions of datasets with chosen names."""

    def __init__(self, store: Store) -> None:
        self._database = store.database
        self._taken: set[str] | None = None
        self._numbers: dict[str, int] = {}  # where to start the search for a free number
        self._shapes: dict[str, Shape] = {}  # of datasets with chosen names
        self._filled: set[str] = set()  # datasets that a call used or generated
        self._digests: dict[str, str] = {}
        self._families: dict[str, dict[int, str]] = {}  # chosen names and their versions
        self._looked_up: set[str] = set()  # chosen names whose versions were read from the catalog

    def forget(self, name: str) -> None:
        """Forget a name, because a dataset of that name was defined or deleted."""
        own = family_of(name)[0]
        self._looked_up.discard(own)
        for each in self._families.pop(own, {}).values():
            del self._shapes[each]
            self._filled.discard(each)
            self._digests.pop(each, None)
        self._taken = None

    def fresh(self, label: str, variable: str | None = None) -> str:
        """Return a free name: the label; if that is taken, the variable of the array; with a number if needed."""
        taken = self._all()
        label = variable if variable is not None and label in taken else label
        name = label
        if name in taken:
            number = self._numbers.get(label, 2)
            while f"{label}#{number}" in taken:
                number += 1
            self._numbers[label] = number + 1
            name = f"{label}#{number}"
        taken.add(name)
        return name

    def next_version(self, name: str) -> str:
        """Return a name for the next version of a dataset."""
        own = family_of(name)[0]
        found = free(f"{own}@v{max(2, self._numbers.get(own + '@v', 2))}", self._all())
        self._numbers[own + "@v"] = family_of(found)[1] + 1
        self._all().add(found)
        return found

    def made(self, chosen: str, shape: Shape) -> tuple[str, bool]:
        """Return the dataset for a result with that name, and whether it exists, defined by log.array."""
        chosen = self._checked(chosen)
        latest = self._latest(chosen)
        if latest is None:
            self._all().add(chosen)
            return self._fill(chosen, shape, None), False
        if not self._is_filled(latest):
            self._require(latest, shape)
            return self._fill(latest, shape, None), True
        return self._fill(self.next_version(chosen), shape, None), False

    def found(self, chosen: str, shape: Shape, digest: str) -> tuple[str, bool]:
        """Return the dataset for an input with that name, and whether it exists: the latest version if it is equal."""
        chosen = self._checked(chosen)
        latest = self._latest(chosen)
        if latest is None:
            self._all().add(chosen)
            return self._fill(chosen, shape, digest), False
        if not self._is_filled(latest):
            self._require(latest, shape)
            return self._fill(latest, shape, digest), True
        if digest and self._digest(latest) == digest and self._shape(latest) == shape:
            return latest, True
        return self._fill(self.next_version(chosen), shape, digest), False

    def before(self, name: str) -> tuple[str, Shape] | None:
        """Return the version before a version with its shape, or None."""
        own, version = family_of(name)
        earlier = [each for each in self._families.get(own, ()) if each < version]
        found = self._families[own][max(earlier)] if earlier else None
        return None if found is None else (found, self._shapes[found])

    def renamed(self, other: dict[str, str]) -> None:
        """Rename datasets whose names another program took first."""
        for old, new in other.items():
            self._all().update((old, new))
            if old in self._shapes:
                own, version = family_of(old)
                self._families[own].pop(version, None)
                self._fill(new, self._shapes.pop(old), self._digests.pop(old, None))

    def _checked(self, chosen: str) -> str:
        chosen = name_of(chosen)
        if VERSION.match(chosen):
            raise BadType(f"{chosen!r} names a version, which the log numbers itself: choose a name without @v")
        return chosen

    def _fill(self, name: str, shape: Shape, digest: str | None) -> str:
        self._know(name, shape, digest)
        self._filled.add(name)
        return name

    def _know(self, name: str, shape: Shape, digest: str | None) -> None:
        self._shapes[name] = shape
        own, version = family_of(name)
        self._families.setdefault(own, {})[version] = name
        if digest:
            self._digests[name] = digest

    def _require(self, name: str, shape: Shape) -> None:
        if self._shape(name) != shape:
            raise Redefined(
                f"{name!r} is already an array of shape {self._shape(name)}, not {shape}: choose another name"
            )

    def _all(self) -> set[str]:
        if self._taken is None:
            with self._database.read() as connection:
                self._taken = set(statements.names(connection))
        return self._taken

    def _latest(self, chosen: str) -> str | None:
        """Return the latest version; later ones of other programs are noticed when the call is written."""
        if chosen not in self._looked_up:
            self._look_up(chosen)
        versions = self._families.get(chosen)
        return versions[max(versions)] if versions else None

    def _look_up(self, chosen: str) -> None:
        of = t.entities.c
        like = chosen.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        mine = (of.name == chosen) | (of.name.like(f"{like}@v%", escape="\\") & of.kind.in_(("array", "table")))
        with self._database.read() as connection:
            rows = connection.execute(sa.select(of.name, of.shape, of.properties).where(mine)).all()
        for name, shape, properties in rows:
            if family_of(name)[0] == chosen:
                self._all().add(name)
                self._know(name, tuple(shape), properties.get("digest"))
        self._looked_up.add(chosen)

    def _shape(self, name: str) -> Shape:
        return self._shapes[name]

    def _digest(self, name: str) -> str | None:
        return self._digests.get(name)

    def _is_filled(self, name: str) -> bool:
        if name in self._filled:
            return True
        derived = t.was_derived_from.c
        columns = (t.was_generated_by.c.entity, t.used.c.entity, derived.generated, derived.used)
        entity = sa.select(t.entities.c.id).where(t.entities.c.name == name).scalar_subquery()
        with self._database.read() as connection:
            filled = any(connection.execute(sa.select(c).where(c == entity).limit(1)).first() for c in columns)
        if filled:
            self._filled.add(name)
        return filled
