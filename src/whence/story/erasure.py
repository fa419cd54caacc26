"""The erasure report: everything that some cells reached, and what to do about it.

The report changes nothing. If a step is known only as a whole, the report says so, and lists too much, never too
little.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any

from whence.selection import Selection
from whence.store.answers import Answer, Circumstances, as_html, selection_dict
from whence.store.derivations import asking
from whence.story._saving import as_json, page, save
from whence.story._words import activity_text, cells_of, listed, spans
from whence.words import counted, table

if TYPE_CHECKING:
    from whence.store import Store
    from whence.store.records import Dataset

_FITS = re.compile(r"\b(re)?(train|fit)", re.IGNORECASE)
_COMMAND = re.compile(r"`([^`<]*)`")  # in text that is escaped
COLUMNS = ("what", "kind", "how much", "do", "exact")


@dataclass(frozen=True, slots=True)
class Item:
    """A dataset or file that the cells reached: what to `do` about it, and why that may be unnecessary."""

    name: str
    kind: str  # array, table, file
    cells: Selection
    do: str
    reason: str | None = None  # None: it was certainly reached

    @property
    def much(self) -> str:
        """How many rows or cells of it."""
        if not self.cells.shape:
            return "all of it"
        if self.kind == "table":
            return counted(sum(stop - first for first, stop in spans(self.cells, 0)), "row")
        return counted(self.cells.count, "cell")

    def row(self) -> tuple[str, ...]:
        """Return its row in a table."""
        return cells_of(self.name, self.cells), self.kind, self.much, self.do, "yes" if self.reason is None else "no"

    def as_dict(self) -> dict[str, Any]:
        """Return this as a dictionary for JSON."""
        about = {"kind": self.kind, "do": self.do, "exact": self.reason is None, "reason": self.reason}
        return selection_dict(self.name, self.cells) | about


@dataclass(frozen=True, slots=True, repr=False)
class Erasure:
    """Everything that some cells reached, and what to do about it; `log.erasure` makes one."""

    dataset: str
    asked: Selection
    items: tuple[Item, ...]
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    around: Circumstances = field(default_factory=Circumstances)

    @property
    def title(self) -> str:
        """The cells to erase."""
        return f"To erase {cells_of(self.dataset, self.asked)}"

    @property
    def precise(self) -> bool:
        """Whether every item was certainly reached."""
        return not self.reasons

    def _said(self) -> list[str]:
        people = [f"People to ask: {listed(self.around.people, 20)}"] if self.around.people else []
        return [*people, *(f"not exact: {each}" for each in self.reasons), *(
            f"note: {each}" for each in self.notes if each not in self.reasons
        )]  # fmt: skip

    def __str__(self) -> str:
        rows = [each.row() for each in self.items]
        return "\n".join([self.title, table(COLUMNS, rows), *self._said()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        shown = as_html(COLUMNS, [each.row() for each in self.items], len(self.items), "nothing")
        shown = _COMMAND.sub(r"<code>\1</code>", shown)
        return f"<h3>{escape(self.title)}</h3>\n{shown}\n" + "".join(f"<p>{escape(each)}</p>" for each in self._said())

    def to_html(self) -> str:
        """Return the report as an HTML document without scripts or external files."""
        return page(escape(self.title), self._repr_html_())

    def as_dict(self) -> dict[str, Any]:
        """Return this as a dictionary for JSON."""
        return {
            "erase": selection_dict(self.dataset, self.asked),
            "precise": self.precise,
            "reasons": list(self.reasons),
            "notes": list(self.notes),
            "items": [each.as_dict() for each in self.items],
            "activities": [asdict(each) for each in self.around.deeds.values()],
            "people": list(self.around.people),
        }

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file; the suffix chooses the format: .html, .json or .txt."""
        save(path, {".html": self.to_html, ".json": lambda: as_json(self.as_dict()), ".txt": lambda: f"{self}\n"})


def erasure(store: Store, name: str, cells: object, columns: Sequence[str] | None = None) -> Erasure:
    """Report what cells reached, and the datasets they were read from."""
    answer = asking.ask(store, "forward", name, cells, "value+selection", columns)
    start, asked = answer.asked
    before = asking.ask(store, "backward", name, asked, "value+selection", None)
    holders = list(dict.fromkeys(step.dataset for step in before.steps if step.previous == start))
    reached = {name: each for name, each in answer.reached.items() if name != start}
    known = _datasets(store, [start, *holders, *reached])
    doubts = _doubts(answer)
    own = Item(start, known[start].kind, asked, _erase(known[start]))
    items = [own]
    for each in holders:
        item = _holder(each, before, known[each], start)
        items += [item] if item is not None else []
    around, held = answer.circumstances, before.circumstances
    for each, found in reached.items():
        do = "; ".join(_dos(each, found, known[each], around))
        items.append(Item(each, known[each].kind, found, do, doubts.get(each)))
    people = tuple(dict.fromkeys((*around.people, *held.people)))
    return Erasure(
        start, asked, tuple(items), answer.reasons, answer.notes,
        Circumstances(around.deeds, around.makers, around.files, people, around.commits),
    )  # fmt: skip


def _datasets(store: Store, names: Iterable[str]) -> dict[str, Dataset]:
    from whence.store.catalog import statements

    own = dict(zip(names, store.reader.called(names), strict=True)) if names else {}
    with store.database.read() as connection:
        return {name: statements.dataset(connection, each) for name, each in own.items()}


def _doubts(answer: Answer) -> dict[str, str]:
    """Return, by dataset, why it may not have been reached: a step to it, or to its inputs, is not exact."""
    found: dict[str, str] = {}
    grew = True
    while grew:
        grew = False
        for step in answer.steps:
            why = step.reason or found.get(step.previous)
            if why is not None and step.dataset not in found:
                found[step.dataset] = why
                grew = True
    return found


def _erase(dataset: Dataset) -> str:
    if dataset.kind == "table":
        return "delete these rows"
    return "delete the file" if not dataset.shape and dataset.properties.get("artifact") else "delete these cells"


def _holder(name: str, before: Answer, dataset: Dataset, start: str) -> Item | None:
    """Return the item for a file or dataset that the cells came from directly."""
    cells = before.reached[name]
    if not cells.shape:
        return Item(name, dataset.kind, cells, f"delete from it what {start} has of them, and write it again")
    rows = "rows" if dataset.kind == "table" else "cells"
    return Item(
        name, dataset.kind, cells, f"it came from these {rows}: erase them, too, if they are about the same person"
    )


def _dos(name: str, cells: Selection, dataset: Dataset, around: Circumstances) -> Iterator[str]:
    """Yield what to do about one dataset or file."""
    deeds = [around.deeds[label] for label in around.makers.get(_own(name, around.makers), ())]
    made = sorted((deed for deed in deeds if not deed.is_commit), key=lambda deed: deed.command is None)
    again = f" by {activity_text(made[0])}" if made else ""
    fits = any(_FITS.search(f"{deed.name} {deed.command or ''}") for deed in made)
    is_file = not dataset.shape and bool(dataset.properties.get("artifact"))
    if is_file:
        yield f"delete the file, or make it again{' (retrain)' if fits else ''}{again}"
    elif fits and cells.count == _size(cells):
        yield f"retrain{again}"
    elif dataset.kind == "table":
        yield f"recompute these rows{again}"
    else:
        yield f"recompute these cells{again}"
    if dataset.properties.get("blobs"):
        yield f"the log holds its rows: `whence delete {name}`, then `whence gc`"
    for deed in deeds:
        if deed.is_commit and deed.commit is not None:
            yield f"it is in commit {deed.commit[:12]}: remove it from the history"


def _own(name: str, makers: Mapping[str, object]) -> str:
    return name if name in makers else name.removesuffix("@v1")


def _size(cells: Selection) -> int:
    return Selection.all(cells.shape).count
