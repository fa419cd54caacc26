"""Answers: lists and dicts that print as tables."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Literal, TypeVar

from whence.errors import UnknownName
from whence.selection import Selection
from whence.words import counted, table

SHOWN_ROWS = 60  # printed rows; the answer has all of them
BOXES = 4  # printed boxes of one selection
SHOWN_REASONS = 5
SHOWN_PICTURES = 6  # in a notebook

Row = Sequence[object]
Each = TypeVar("Each")


class Listed(list[Each]):
    """A list that prints as a table.

    >>> Listed(["a", "b"], ("name", "length"), lambda each: (each, len(each)))
    name  length
    a     1
    b     1
    """

    def __init__(self, found: Iterable[Each], columns: Sequence[str], row: Callable[[Each], Row], empty: str = "none"):
        super().__init__(found)
        self._columns, self._row, self._empty = columns, row, empty

    def __repr__(self) -> str:
        return _table_text(self._columns, [self._row(each) for each in self[:SHOWN_ROWS]], len(self), self._empty)

    def _repr_html_(self) -> str:
        return as_html(self._columns, [self._row(each) for each in self[:SHOWN_ROWS]], len(self), self._empty)

    def rows(self) -> list[dict[str, object]]:
        """Return the table as a list with a dict for each row."""
        return [dict(zip(self._columns, self._row(each), strict=True)) for each in self]


@dataclass(frozen=True, slots=True)
class ActivityInfo:
    """An activity: the command, where it ran, who ran it, when, and at which commit."""

    label: str
    name: str
    command: str | None = None
    place: str | None = None  # script and line
    by: tuple[str, ...] = ()
    started: str | None = None
    commit: str | None = None
    message: str | None = None  # of a commit
    failed: str | None = None

    @property
    def is_commit(self) -> bool:
        """Whether it is itself a commit, and not a command that ran at one."""
        return self.name == "git commit" and self.commit is not None

    def as_dict(self) -> dict[str, Any]:
        """Return this as a dictionary for JSON, without unknown fields."""
        return {key: value for key, value in asdict(self).items() if value}


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The context of an answer: `deeds` (activities) by label, `makers` of each dataset, files, people, commits."""

    deeds: Mapping[str, ActivityInfo] = field(default_factory=dict)
    makers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # labels of activities by dataset
    files: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an answer, from one dataset to the next.

    `count` cells of `dataset` were reached from `previous`; `activity` made one from the other. `how` says how the
    step was answered: "boxes" (a stored relation), "selection" (cells that only selected values), "run" (a run of a
    pipeline), "whole", or "activity" (no cells are known). `reason` says why it may be a superset; None if it is exact.

    >>> print(Step("X", "scores", "backward", "predict#4", 20, "boxes", 1.2e-05))
    scores -> X by predict#4: 20 cells (boxes)
    """

    dataset: str
    previous: str
    direction: Literal["backward", "forward"]
    activity: str | None
    count: int
    how: str
    seconds: float
    reason: str | None = None
    cells: Selection | None = field(default=None, repr=False, compare=False)  # the cells of `dataset` that were reached

    COLUMNS: ClassVar = ("from", "to", "by", "count", "how", "ms")

    def row(self) -> Row:
        """Return its row in a table."""
        ms = f"{1000 * self.seconds:.2f}"
        return self.previous, self.dataset, self.activity or "", f"{self.count:,}", self.how, ms

    def __str__(self) -> str:
        by = f" by {self.activity}" if self.activity else ""
        return f"{self.previous} -> {self.dataset}{by}: {counted(self.count, 'cell')} ({self.how})"

    def as_dict(self) -> dict[str, Any]:
        """Return this as a dictionary for JSON."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "cells"}


class Steps(tuple[Step, ...]):
    """A tuple of steps that prints as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        return _table_text(Step.COLUMNS, [each.row() for each in self[:SHOWN_ROWS]], len(self), "no steps")

    def _repr_html_(self) -> str:
        return as_html(Step.COLUMNS, [each.row() for each in self[:SHOWN_ROWS]], len(self), "no steps")


class Answer(dict[str, Selection]):
    """Cells by dataset, for every source (or final result); `answer[name]` also works for the datasets between.

    A name without a version means the latest version that was reached. `steps` lists the steps. `precise` says whether
    the cells are exact; if not, `reason` names the step that may have too many, and why. `notes` say where the recorded
    lineage ends, and where it relies on equal content. Files have no cells; they are in the answer as a whole.

    >>> x = Selection.parse("0", (3,))
    >>> Answer({"x": x}, notes=["'x' starts at a.py:3: how it was made was not recorded"])
    dataset  count  cells
    x        1      0
    note: 'x' starts at a.py:3: how it was made was not recorded
    """

    def __init__(
        self,
        found: Mapping[str, Selection],
        how: str = "",
        notes: Iterable[str] = (),
        steps: Iterable[Step] = (),
        reached: Mapping[str, Selection] | None = None,
        reasons: Iterable[str] = (),
        circumstances: Callable[[], Circumstances] | None = None,
        asked: tuple[str, Selection] | None = None,
    ) -> None:
        super().__init__(found)
        self.how = how
        self.notes = tuple(notes)
        self.steps = Steps(steps)
        self.reached = dict(found if reached is None else reached)
        self.reasons = tuple(dict.fromkeys([*reasons, *(each.reason for each in self.steps if each.reason)]))
        self.asked = asked or ("", Selection.all(()))  # the dataset, and its cells
        self._ask = circumstances
        self._circumstances: Circumstances | None = None

    def __missing__(self, name: str) -> Selection:
        if name in self.reached:
            return self.reached[name]
        versions = {
            int(number): each
            for each in self.reached
            if (number := each.removeprefix(f"{name}@v")) != each and number.isdecimal()
        }
        if versions:
            return self.reached[versions[max(versions)]]
        reached = ", ".join(map(repr, list(self.reached)[:SHOWN_ROWS])) or "nothing"
        raise UnknownName(f"no cell of {name!r} was reached, only of {reached}; `answer.get({name!r})` is None")

    def get(self, name: str, default: Any = None, /) -> Any:
        """Return `answer[name]`, or the default if no cell of that dataset was reached."""
        try:
            return self[name]
        except UnknownName:
            return default

    @property
    def precise(self) -> bool:
        """Whether the cells are exact."""
        return not self.reasons

    @property
    def reason(self) -> str | None:
        """Which step may have too many cells, or too few, and why; None if they are exact."""
        if not self.reasons:
            return None
        more = f"; and {len(self.reasons) - SHOWN_REASONS:,} more" if len(self.reasons) > SHOWN_REASONS else ""
        return "; ".join(self.reasons[:SHOWN_REASONS]) + more

    @property
    def activities(self) -> tuple[str, ...]:
        """The activities of the steps, in order."""
        return tuple(dict.fromkeys(each.activity for each in self.steps if each.activity))

    @property
    def circumstances(self) -> Circumstances:
        """Who ran the activities, by which commands and at which commits; read from the log at first use."""
        if self._circumstances is None:
            self._circumstances = Circumstances() if self._ask is None else self._ask()
        return self._circumstances

    @property
    def files(self) -> tuple[str, ...]:
        """The versions of files that were reached."""
        return self.circumstances.files

    @property
    def people(self) -> tuple[str, ...]:
        """The people who are responsible for the steps."""
        return self.circumstances.people

    @property
    def commits(self) -> tuple[str, ...]:
        """The commits that wrote a file of the answer, or at which a command ran."""
        return self.circumstances.commits

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the log, which cannot be pickled."""
        return {**self.__dict__, "_circumstances": self.circumstances, "_ask": None}

    def as_dict(self) -> dict[str, Any]:
        """Return this as a dictionary for JSON: each box is a [first, last] pair for each axis, both ends included."""
        return {
            "precise": self.precise, "reason": self.reason, "how": self.how, "notes": list(self.notes),
            "answers": [selection_dict(name, each) for name, each in self.items()],
            "steps": [each.as_dict() for each in self.steps],
        }  # fmt: skip

    def _rows(self) -> list[Row]:
        return [(name, f"{each.count:,}", boxes(each)) for name, each in list(self.items())[:SHOWN_ROWS]]

    def _said(self) -> list[str]:
        doubts = [] if self.reason is None else [f"not exact: {self.reason}"]
        return doubts + [f"note: {each}" for each in self.notes if each not in self.reasons]

    def __repr__(self) -> str:
        parts = [self.how] if self.how else []
        if self or not parts:
            parts.append(_table_text(("dataset", "count", "cells"), self._rows(), len(self), "no cells"))
        return "\n".join([*parts, *self._said()])

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> object:
        from whence.shown import bundle

        return bundle(self)

    def _repr_html_(self) -> str:
        how = f"<p>{html.escape(self.how)}</p>" if self.how else ""
        said = "".join(f"<p>{html.escape(each)}</p>" for each in self._said())
        listed = as_html(("dataset", "count", "cells"), self._rows(), len(self), "no cells")
        return how + listed + self._pictures() + said

    def _pictures(self) -> str:
        """Draw the cells of the first datasets."""
        from whence.selection._picture import small_html  # imported here because it loads Pillow

        drawn = [(name, cells) for name, cells in self.items() if cells and 1 <= len(cells.shape) <= 3]
        return "".join(small_html(cells.boxes, cells.shape, name) for name, cells in drawn[:SHOWN_PICTURES])


def selection_dict(name: str, selection: Selection) -> dict[str, Any]:
    """Return the cells of a dataset as a dict for JSON; for a table, with the names of its columns."""
    made: dict[str, Any] = {"dataset": name, "shape": list(selection.shape), "count": selection.count}
    columns = selection.columns
    return made | ({"columns": columns} if columns else {}) | {"boxes": selection.boxes.tolist()}


class Blamed(dict[str, list[str]]):
    """Agents with the datasets that they are responsible for; prints as a table."""

    def __repr__(self) -> str:
        return _table_text(
            ("agent", "responsible for"), [(who, ", ".join(what)) for who, what in self.items()], len(self), "nobody"
        )

    def _repr_html_(self) -> str:
        rows = [(who, ", ".join(what)) for who, what in self.items()]
        return as_html(("agent", "responsible for"), rows, len(self), "nobody")


def boxes(selection: Selection) -> str:
    """Format the first boxes of a selection, in the notation that questions accept.

    >>> boxes(Selection.of("0:2,1", (3, 2)))
    '0:2,1'
    """
    if not selection.shape:
        return "whole" if selection.count else "none"
    columns = selection.columns
    if columns and len(columns) < selection.shape[1]:
        named = f"  ({', '.join(columns[:BOXES])}{', ...' if len(columns) > BOXES else ''})"
    else:
        named = ""
    spans = [[(first, last + 1) for first, last in box] for box in selection.boxes[:BOXES].tolist()]
    texts = [",".join(str(a) if b == a + 1 else f"{a}:{b}" for a, b in box) for box in spans]
    more = len(selection.boxes) - len(texts)
    return "; ".join(texts) + (f"; and {more:,} more" if more else "") + named or "none"


def _table_text(columns: Sequence[str], rows: Sequence[Row], count: int, empty: str) -> str:
    if not count:
        return empty
    return table(columns, rows) + (f"\n... and {count - len(rows):,} more" if count > len(rows) else "")


def as_html(columns: Sequence[str], rows: Sequence[Row], count: int, empty: str) -> str:
    """Format a table as HTML for a notebook."""
    if not count:
        return f"<p>{html.escape(empty)}</p>"

    def line(cells: Row, tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{html.escape(str(cell))}</{tag}>' for cell in cells)}</tr>"

    more = f"<p>... and {count - len(rows):,} more</p>" if count > len(rows) else ""
    return f"<table>{line(columns, 'th')}{''.join(line(row, 'td') for row in rows)}</table>{more}"


def size_of(properties: Mapping[str, Any]) -> int | None:
    """Return the property `size`, if it is an integer."""
    size = properties.get("size")
    return size if isinstance(size, int) and not isinstance(size, bool) else None
