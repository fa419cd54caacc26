"""Formatting cells, activities and lists as text."""

from __future__ import annotations

from collections.abc import Sequence

from whence.selection import Selection
from whence.store.answers import ActivityInfo
from whence.words import one_line

SHOWN_BOXES = 4  # printed boxes, rows or names


def spans(selection: Selection, axis: int) -> list[tuple[int, int]]:
    """Return the indices of a selection on one axis as [first, stop) ranges; adjacent ranges are merged.

    >>> spans(Selection.parse("0:2,1; 2,0; 5,:", (6, 2)), 0)
    [(0, 3), (5, 6)]
    """
    found: list[tuple[int, int]] = []
    for first, last in sorted(map(tuple, selection.boxes[:, axis].tolist())):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], last + 1))
        else:
            found.append((first, last + 1))
    return found


def listed(texts: Sequence[str], most: int = SHOWN_BOXES, between: str = ", ") -> str:
    """Format the first items of a list, and how many more there are.

    >>> listed(["a", "b", "c", "d", "e", "f"])
    'a, b, c, d and 2 more'
    """
    more = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return between.join(texts[:most]) + more


def cells_of(name: str, selection: Selection) -> str:
    """Describe cells of a dataset.

    >>> cells_of("X", Selection.parse("3,0:4", (5, 4))), cells_of("data.csv@v1", Selection.all(()))
    ('X[3, 0:4]', 'data.csv@v1')
    """
    if not selection.shape:
        return name
    columns = selection.columns
    if columns:
        rows = spans(selection, 0)
        word = "row" if sum(stop - first for first, stop in rows) == 1 else "rows"
        which = f" ({listed(columns)})" if len(columns) < selection.shape[1] else ""
        return f"{name} {word} {listed([_span(*each) for each in rows])}{which}"
    boxes = [
        ", ".join(_span(first, last + 1) for first, last in box) for box in selection.boxes[: SHOWN_BOXES + 1].tolist()
    ]
    more = len(selection.boxes) - SHOWN_BOXES
    return f"{name}[{'; '.join(boxes[:SHOWN_BOXES])}{f'; and {more:,} more' if more > 0 else ''}]"


def _span(first: int, stop: int) -> str:
    return str(first) if stop == first + 1 else f"{first}:{stop}"


def activity_text(deed: ActivityInfo) -> str:
    """Describe an activity: the command, where it ran, who ran it, when, and at which commit.

    >>> activity_text(ActivityInfo("train#1", "train", "python train.py", by=("ada",), started="2026-01-02T03:04:05Z"))
    '`python train.py` (train#1, run by ada on 2026-01-02 03:04)'
    """
    about = [deed.label] if deed.command or deed.place else []
    if deed.place:
        about.append(deed.place)
    when = f" on {deed.started[:16].replace('T', ' ')}" if deed.started else ""
    if deed.by:
        about.append(f"run by {listed(deed.by)}{when}")
    elif when:
        about.append(f"run{when}")
    if deed.commit:
        about.append(f"at commit {deed.commit[:12]}")
    if deed.failed:
        about.append(f"which failed: {one_line(deed.failed)}")
    shown = one_line(deed.command or (deed.name if deed.place else deed.label))
    return f"`{shown}`" + (f" ({', '.join(about)})" if about else "")
