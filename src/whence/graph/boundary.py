"""Boundaries: filters of a segment (who, when, where, what), or functions.

A boundary selects vertices or edges; `exclude` drops them. `~` selects the opposite, without unknown cases:
`~who("alice")` selects what others did, but not vertices without a known agent.
"""

from __future__ import annotations

import datetime as dt
import fnmatch
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whence.errors import BadType, UnknownName
from whence.graph.columns import bare, counts, is_said
from whence.graph.model import ACTIVITY, AGENT, CODES, ENTITY, GENERATED, KINDS, USED, Edge, Mask, Numbers, Vertex

if TYPE_CHECKING:
    from whence.graph._graph import Graph
    from whence.graph.segment import Segment

EdgeRows = NDArray[np.int64]
Choice = tuple[Mask, Mask]  # selected; known, that is, the boundary applies to them
_STARTS = ("prov:startTime", "startTime", "started", "time", "prov:time", "created", "prov:generatedAtTime")
_ENDS = ("prov:endTime", "endTime", "ended")
_PLACES = ("path", "filename", "prov:location", "location", "artifact", "name", "version")


class Boundary:
    """A filter that selects vertices or edges of a segment."""

    def vertices(self, segment: Segment, numbers: Numbers) -> Choice:
        """Return masks of the vertices that are selected, and of those for which that is known."""
        none = np.zeros(len(numbers), np.bool_)
        return none, none

    def edges(self, segment: Segment, rows: EdgeRows) -> Choice:
        """Return masks of the edges that are selected, and of those for which that is known."""
        none = np.zeros(len(rows), np.bool_)
        return none, none

    def __invert__(self) -> Boundary:
        return _Combined((self,), lambda choices: (choices[0][1] & ~choices[0][0], choices[0][1]))

    def __and__(self, other: Boundary) -> Boundary:
        return _Combined((self, other), lambda choices: (choices[0][0] & choices[1][0], choices[0][1] & choices[1][1]))

    def __or__(self, other: Boundary) -> Boundary:
        return _Combined((self, other), lambda choices: (choices[0][0] | choices[1][0], choices[0][1] | choices[1][1]))


class _Combined(Boundary):
    def __init__(self, parts: tuple[Boundary, ...], combine: Callable[[list[Choice]], Choice]) -> None:
        self._parts, self._combine = parts, combine

    def vertices(self, segment: Segment, numbers: Numbers) -> Choice:
        return self._combine([part.vertices(segment, numbers) for part in self._parts])

    def edges(self, segment: Segment, rows: EdgeRows) -> Choice:
        return self._combine([part.edges(segment, rows) for part in self._parts])


class who(Boundary):  # lower case, because it is used like a word: exclude=who("bob")
    """Select agents, their activities, and what these generated."""

    def __init__(self, *names: str) -> None:
        if not names or not all(isinstance(name, str) for name in names):
            raise BadType(f"who() takes the ids or names of agents, not {names!r}")
        self._names = names

    def vertices(self, segment: Segment, numbers: Numbers) -> Choice:
        graph = segment.graph
        agents = np.flatnonzero(graph.kinds == AGENT).astype(np.int32)
        chosen: set[int] = set()
        for name in self._names:
            own = {
                number
                for number, label in zip(agents.tolist(), graph.properties.column("name", agents), strict=True)
                if name in (graph.ids[number], label, graph.ids[number].rpartition(":")[2])
            }
            if not own:
                raise UnknownName.of("agent", name, graph.ids.of(agents.tolist()))
            chosen |= own
        table = graph.edge_table
        makers: dict[int, set[int]] = {}
        mask = np.zeros(len(graph), np.bool_)
        mask[numbers] = True
        made = np.flatnonzero((table.relation == GENERATED) & mask[table.source])
        for entity, activity in zip(table.source[made].tolist(), table.target[made].tolist(), strict=True):
            makers.setdefault(entity, set()).update(graph.agents_of.get(activity, ()))
        selected, known = np.zeros(len(numbers), np.bool_), np.zeros(len(numbers), np.bool_)
        for place, number in enumerate(numbers.tolist()):
            own = {number} if graph.kinds[number] == AGENT else set(graph.agents_of.get(number, ()))
            own |= makers.get(number, set())
            selected[place], known[place] = not own.isdisjoint(chosen), bool(own)
        return selected, known


class when(Boundary):
    """Select what happened in an interval of time, including its ends. The time of an entity is when it was made.

    Times are datetimes, dates, ISO 8601 strings or seconds since 1970; without a zone they are UTC. Vertices without a
    known time are neither inside nor outside: `exclude=when(...)` and `exclude=~when(...)` both keep them. The same is
    true of an activity without a known end, if the end matters.
    """

    def __init__(self, after: object = None, before: object = None) -> None:
        if after is None and before is None:
            raise BadType("when() takes after=, before= or both")
        self._after = None if after is None else _as_datetime(after)
        self._before = None if before is None else _as_datetime(before)

    def vertices(self, segment: Segment, numbers: Numbers) -> Choice:
        first, last = times_of(segment, numbers)
        selected, known = np.zeros(len(numbers), np.bool_), np.zeros(len(numbers), np.bool_)
        for place, (start, end) in enumerate(zip(first, last, strict=True)):
            if segment.graph.kinds[numbers[place]] == AGENT:
                continue
            times = [time for time in (start, end) if time is not None]
            outside = (self._after is not None and end is not None and end < self._after) or (
                self._before is not None and start is not None and start > self._before
            )
            within = (self._after is None or any(time >= self._after for time in times)) and (
                self._before is None or any(time <= self._before for time in times)
            )
            selected[place] = bool(times) and within and not outside
            known[place] = selected[place] or outside
        return selected, known


class where(Boundary):
    """Select vertices whose id, path, file name, location, artifact, name or version matches a pattern (`src/*.py`)."""

    def __init__(self, *patterns: str) -> None:
        if not patterns or not all(isinstance(pattern, str) for pattern in patterns):
            raise BadType(f"where() takes patterns such as 'data/*.csv', not {patterns!r}")
        self._patterns = patterns

    def vertices(self, segment: Segment, numbers: Numbers) -> Choice:
        graph = segment.graph
        columns = [graph.properties.column(name, numbers) for name in _PLACES]
        selected = np.zeros(len(numbers), np.bool_)
        for place, number in enumerate(numbers.tolist()):
            texts = [graph.ids[number], *(str(bare(column[place])) for column in columns if column[place] is not None)]
            selected[place] = any(fnmatch.fnmatchcase(text, each) for text in texts for each in self._patterns)
        return selected, graph.kinds[numbers] != AGENT


class what(Boundary):
    """Select vertices of a kind with these values of properties: `what("activity", command="plot")`."""

    def __init__(self, kind: str | None = None, **properties: Any) -> None:
        if kind is not None and kind not in KINDS:
            raise BadType(f"there are {', '.join(KINDS)}, and no {kind!r}")
        self._kind, self._properties = kind, properties

    def vertices(self, segment: Segment, numbers: Numbers) -> Choice:
        graph = segment.graph
        selected = np.ones(len(numbers), np.bool_)
        if self._kind is not None:
            selected &= graph.kinds[numbers] == KINDS.index(self._kind)
        for name, value in self._properties.items():
            column = graph.properties.column(name, numbers)
            selected &= np.fromiter((is_said(each, value) for each in column), np.bool_, len(numbers))
        return selected, np.ones(len(numbers), np.bool_)


class beyond(Boundary):
    """Select entities and activities more than this many activities away from all vertices of the query."""

    def __init__(self, activities: int) -> None:
        if not counts(activities):
            raise BadType(f"beyond() takes a number of activities, not {activities!r}")
        self._most = activities

    def vertices(self, segment: Segment, numbers: Numbers) -> Choice:
        graph = segment.graph
        table, near = graph.edge_table, np.zeros(len(graph), np.bool_)
        near[segment.query.named] = True
        rows = segment.rows[np.isin(table.relation[segment.rows], (USED, GENERATED))]
        source, target = table.source[rows], table.target[rows]
        for _ in range(self._most):
            for activities in (True, False):  # to neighbouring activities, then to their entities
                for here, there in ((source, target), (target, source)):
                    reached = there[near[here] & ((graph.kinds[there] == ACTIVITY) == activities)]
                    near[reached] = True
        speaks = np.isin(graph.kinds[numbers], (ENTITY, ACTIVITY))
        return ~near[numbers] & speaks, speaks


class on_edges(Boundary):
    """Select edges for which a function of an `Edge` returns true."""

    def __init__(self, function: Callable[[Edge], object]) -> None:
        self._function = function

    def edges(self, segment: Segment, rows: EdgeRows) -> Choice:
        selected = [bool(self._function(edge)) for edge in segment.graph.edge_objects_at(rows)]
        return np.array(selected, np.bool_), np.ones(len(rows), np.bool_)


class _Function(Boundary):
    def __init__(self, function: Callable[[Vertex], object]) -> None:
        self._function = function

    def vertices(self, segment: Segment, numbers: Numbers) -> Choice:
        selected = [bool(self._function(vertex)) for vertex in segment.graph.vertices_at(numbers)]
        return np.array(selected, np.bool_), np.ones(len(numbers), np.bool_)


class _Relation(Boundary):
    def __init__(self, name: str) -> None:
        if name not in CODES:
            error = UnknownName.of("relation of PROV", name, CODES)
            if "did you mean" in str(error):
                raise error
            raise UnknownName(
                f"there is no relation of PROV {name!r} ({', '.join(CODES)}); exclude=where({name!r}) leaves out"
                " files, datasets and activities of that name"
            )
        self._code = CODES[name]

    def edges(self, segment: Segment, rows: EdgeRows) -> Choice:
        return segment.graph.edge_table.relation[rows] == self._code, np.ones(len(rows), np.bool_)


def boundaries(exclude: object) -> list[Boundary]:
    """Convert the argument `exclude`: one or several names of relations, boundaries or functions."""
    if exclude is None:
        return []
    if isinstance(exclude, Boundary):
        return [exclude]
    if isinstance(exclude, str):
        return [_Relation(exclude)]
    if callable(exclude):
        return [_Function(exclude)]
    if isinstance(exclude, Iterable):
        return [each for part in exclude for each in boundaries(part)]
    raise BadType(
        "exclude takes relations of PROV ('used' ...), boundaries such as who('bob'), functions of a vertex, or a list "
        f"of these, not {exclude!r}"
    )


def times_of(segment: Segment, numbers: Numbers) -> tuple[list[dt.datetime | None], list[dt.datetime | None]]:
    """Return when each vertex began and ended, if known. An entity without a time has that of its generation."""
    graph = segment.graph
    table = graph.edge_table
    mask = np.zeros(len(graph), np.bool_)
    mask[numbers] = True
    made = np.flatnonzero((table.relation == GENERATED) & mask[table.source]).astype(np.int32)
    place = np.zeros(len(graph), np.int64)
    place[numbers] = np.arange(len(numbers))
    makers = table.target[made]
    # Times for entities without their own: the time of the generation, else the end or start of the activity.
    given: dict[int, list[dt.datetime]] = {}
    columns = (
        *(graph.edge_properties.column(name, made) for name in ("prov:time", "time")),
        _first_property(graph, makers, _ENDS), _first_property(graph, makers, _STARTS),
    )  # fmt: skip
    for at, *values in zip(place[table.source[made]].tolist(), *columns, strict=True):
        given.setdefault(at, []).extend([_as_datetime(value) for value in values if value is not None][:1])
    first: list[dt.datetime | None] = []
    last: list[dt.datetime | None] = []
    columns = tuple(_first_property(graph, numbers, names) for names in (_STARTS, _ENDS))
    for at, own in enumerate(zip(*columns, strict=True)):
        start, end = (None if value is None else _as_datetime(value) for value in own)
        if graph.kinds[numbers[at]] == ENTITY:
            times = [time for time in (start, end) if time is not None] or given.get(at, [])
            start, end = (min(times), max(times)) if times else (None, None)
        first.append(start)
        last.append(end)
    return first, last


def _first_property(graph: Graph, numbers: Numbers, names: tuple[str, ...]) -> list[Any]:
    """For each vertex, the first of these properties that it has, or None."""
    found: list[Any] = [None] * len(numbers)
    for name in reversed(names):
        for at, value in enumerate(graph.properties.column(name, numbers)):
            if value is not None:
                found[at] = value
    return found


def _as_datetime(value: object) -> dt.datetime:
    """Convert a time, given by a caller or a property, to a datetime.

    >>> _as_datetime("2026-01-02").isoformat(), _as_datetime(0).isoformat()
    ('2026-01-02T00:00:00+00:00', '1970-01-01T00:00:00+00:00')
    """
    value = bare(value)
    if isinstance(value, str):
        try:
            value = dt.datetime.fromisoformat(value)
        except ValueError:
            raise BadType(f"{value!r} is not a time: write it as 2026-01-31T12:00:00Z") from None
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            value = dt.datetime.fromtimestamp(value, dt.UTC)
        except (ValueError, OverflowError, OSError):
            raise BadType(f"{value!r} is not a time: seconds since 1970 are between the years 1 and 9999") from None
    elif isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)  # the zone is added below
    if not isinstance(value, dt.datetime):
        raise BadType(f"{value!r} is not a time: give a datetime, a date, an ISO 8601 string or seconds")
    return value if value.tzinfo else value.replace(tzinfo=dt.UTC)
