"""The story of some cells: where they came from, or went, step by step, in sentences and a picture."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from io import StringIO
from os import PathLike
from typing import TYPE_CHECKING, Any

from whence.selection import Selection
from whence.store.answers import Answer, Circumstances, Step, boxes, selection_dict
from whence.store.derivations import asking
from whence.story._saving import as_json, page, save
from whence.story._words import activity_text, cells_of, listed

if TYPE_CHECKING:
    from whence.store import Store
    from whence.store.derivations.adjacency import Direction, Lineage

MOST = 40  # printed sentences about steps


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and why it may not be exact."""

    text: str
    doubt: str | None = None

    def __str__(self) -> str:
        return self.text if self.doubt is None else f"{self.text} Not exact: {self.doubt}."


@dataclass(frozen=True, slots=True, repr=False)
class Story:
    """Where cells came from, or went, in sentences. `log.explain` makes one.

    It prints as text and shows as HTML in a notebook; `save` writes it to a file.
    """

    dataset: str
    asked: Selection
    direction: Direction
    answer: Answer
    around: Circumstances = field(default_factory=Circumstances)

    @property
    def title(self) -> str:
        """The question."""
        did = "came from" if self.direction == "backward" else "went"
        return f"Where {cells_of(self.dataset, self.asked)} {did}"

    def sentences(self) -> list[Sentence]:
        """Return the story, one sentence for each activity."""
        groups = list(_grouped(self.answer.steps))
        sentences = [self._done(steps) for steps in groups[:MOST]]
        if len(groups) > MOST:
            left = groups[MOST:]
            doubtful = sum(any(step.reason for step in steps) for steps in left)
            exact = f", {doubtful:,} of them not exact" if doubtful else ""
            sentences.append(
                Sentence(
                    f"... and {len(left):,} more{exact}: `story.answer.steps` and `whence explain --json` have all"
                    " of them."
                )
            )
        if not groups:
            sentences.append(Sentence(self.answer.how + "." if self.answer.how else self._nowhere()))
        sentences += [Sentence(text) for text in self._committed()]
        return sentences

    def _cells(self, name: str, cells: Selection | None = None) -> str:
        """Describe cells of a dataset: all that were reached, or those of one step."""
        known = self.answer.reached.get(name)
        if known is None:
            return name
        # Only the selection in `reached` has the column names of a table.
        return cells_of(name, known if cells is None or cells == known else known & cells)

    def _done(self, steps: Sequence[Step]) -> Sentence:
        first = steps[0]
        there = listed([self._cells(step.dataset, step.cells) for step in steps])
        did = "came from" if self.direction == "backward" else "went into"
        deed = self.around.deeds.get(first.activity or "")
        by = f" by {activity_text(deed)}" if deed is not None else f" by `{first.activity}`" if first.activity else ""
        doubt = "; ".join(dict.fromkeys(step.reason for step in steps if step.reason)) or None
        return Sentence(f"{self._cells(first.previous)} {did} {there}{by}.", doubt)

    def _nowhere(self) -> str:
        if not self.asked:
            return "The question names no cells."
        if self.direction == "backward":
            return f"Where {self._cells(self.dataset)} came from was not recorded."
        return f"No recorded step used {self._cells(self.dataset)}."

    def _committed(self) -> Iterator[str]:
        for name, labels in self.around.makers.items():
            for deed in (self.around.deeds[label] for label in labels):
                if deed.is_commit and deed.commit is not None:
                    message = f' ("{deed.message}")' if deed.message else ""
                    by = f" by {listed(deed.by)}" if deed.by else ""
                    yield f"{name} was committed{by} as {deed.commit[:12]}{message}."

    def endings(self) -> list[str]:
        """Return sentences about the sources, the people, whether the answer is exact, and the notes."""
        ends = [cells_of(name, cells) for name, cells in self.answer.items() if cells]
        word = "Sources" if self.direction == "backward" else "Results"
        lines = [f"{word}: {listed(ends, 20)}."] if ends else []
        if self.around.people:
            lines.append(f"People: {listed(self.around.people, 20)}.")
        if self.around.commits:
            lines.append(f"Commits: {listed([each[:12] for each in self.around.commits], 20)}.")
        lines.append("Every step is exact." if self.answer.precise else f"Not exact: {self.answer.reason}.")
        return lines + [f"Note: {note}." for note in self.answer.notes if note not in self.answer.reasons]

    def __str__(self) -> str:
        lines = [f"{place}. {each}" for place, each in enumerate(self.sentences(), 1)]
        return "\n".join([self.title, *lines, *self.endings()])

    __repr__ = __str__

    def to_svg(self) -> str:
        """Return the picture of the steps as SVG."""
        from whence.story._picture import drawn

        return drawn(self.dataset, self.answer.reached, self.answer.steps)

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{_html(each)}</li>" for each in self.sentences())
        ends = "".join(f"<p>{_code(each)}</p>" for each in self.endings())
        picture = f'<div class="picture" style="overflow-x:auto">{self.to_svg()}</div>'
        return f"<h3>{escape(self.title)}</h3>\n<ol>{items}</ol>\n{picture}\n{ends}"

    def to_html(self) -> str:
        """Return the story as an HTML document without scripts or external files."""
        return page(escape(self.title), self._repr_html_())

    def as_dict(self) -> dict[str, Any]:
        """Return this as a dictionary for JSON."""
        return {
            "question": self.title,
            "direction": self.direction,
            "asked": selection_dict(self.dataset, self.asked),
            "sentences": [str(each) for each in self.sentences()],
            **self.answer.as_dict(),
            "activities": [deed.as_dict() for deed in self.around.deeds.values()],
            "people": list(self.around.people),
            "commits": list(self.around.commits),
        }

    def to_csv(self) -> str:
        """Return the steps as CSV, one line for each, from one dataset to the next."""
        text = StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["step", "from", "to", "count", "cells", "activity", "exact", "reason"])
        for place, step in enumerate(self.answer.steps, 1):
            cells = boxes(step.cells) if step.cells is not None and step.cells.shape else "whole"
            exact = "no" if step.reason else "yes"
            row = [place, step.previous, step.dataset, step.count, cells, step.activity or "", exact, step.reason or ""]
            writer.writerow(row)
        return text.getvalue()

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file: .html, .svg (the picture), .csv (the steps), .json or .txt."""
        save(
            path,
            {
                ".html": self.to_html,
                ".svg": self.to_svg,
                ".csv": self.to_csv,
                ".json": lambda: as_json(self.as_dict()),
                ".txt": lambda: f"{self}\n",
            },
        )


def story_of(
    store: Store, direction: Direction, name: str, cells: object, columns: Sequence[str] | None, lineage: Lineage
) -> Story:
    """Return the story of some cells of a log."""
    answer = asking.ask(store, direction, name, cells, lineage, columns)
    start, asked = answer.asked
    return Story(start, asked, direction, answer, answer.circumstances)


def _grouped(steps: Iterable[Step]) -> Iterator[list[Step]]:
    """Group the steps from one dataset by one activity."""
    groups: dict[tuple[str, str | None], list[Step]] = {}
    for step in steps:
        groups.setdefault((step.previous, step.activity), []).append(step)
    yield from groups.values()


def _html(sentence: Sentence) -> str:
    doubt = "" if sentence.doubt is None else f' <span class="doubt">Not exact: {escape(sentence.doubt)}.</span>'
    return _code(sentence.text) + doubt


def _code(text: str) -> str:
    """Convert a string to HTML, with backticks as code."""
    parts = escape(text).split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return "".join(f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts))
