"""The protocol of tracers: a tracer says whether it can answer, and answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from whence.errors import NoSuchRow
from whence.rows.questions.rows import Asked, described
from whence.spark.running.find import changed_since

if TYPE_CHECKING:
    from whence.rows import Source
    from whence.spark.lineage import Lineage
    from whence.spark.reached import Reached
    from whence.spark.running.subject import Subject
    from whence.spark.tracing.matching import Matcher


@dataclass(frozen=True, slots=True)
class Asking:
    """The options of a question: which matcher finds rows, and which rows of a group count for min, max, first and
    last.

    With `tried`, functions of groups are called with fewer rows, to find rows that give the output row by themselves.
    """

    matcher: Matcher
    witness: str
    tried: bool = False


class Tracer(Protocol):
    """One way to answer questions about a subject. A tracer is created for each question."""

    title: ClassVar[str]
    """The description of its data that `explain` prints."""

    def __init__(self, subject: Subject, asking: Asking) -> None: ...

    def unavailable_reason(self, *, may_look: bool = True) -> str | None:
        """Return why it cannot answer, or None if it can.

        With `may_look=False` it does not read the data but only the plan, so that a reason may turn out to be wrong.
        """

    def backward(self, rows: object, *, one: bool = False) -> Lineage:
        """Return the source rows that made the given output rows."""

    def forward(self, uses: Sequence[Source], row: object) -> Reached:
        """Return the output rows whose lineage has the given rows of a source. `uses` are its uses, the widest
        first.
        """


def require_one(count: int, asked: tuple[Asked, ...], one: bool) -> int:
    """Return the number of output rows in the question. Raise if `one` is set and there are more."""
    if one and count > len(asked):
        raise NoSuchRow(
            f"{count} rows of the output are {described(asked[0])}: give more columns to identify one; if they are"
            " equal, run with row_ids=True; or leave out one=True to ask about all of them"
        )
    return count


def absent(subject: Subject, where: str, asked: tuple[Asked, ...]) -> NoSuchRow:
    """Return the error for rows that were not found, with its possible cause."""
    message = f"no row of {where} is {described(asked[0])}"
    if len(asked) > 1:
        message += f" or one of the {len(asked) - 1} others"
    reasons = subject.analysis.nondeterminism.possible_reasons
    if reasons and subject.annotated is None:
        message += f"; another run may have had it, because {reasons[0]}"
    elif reasons:
        message += f"; ask about the rows that run() returned, because {reasons[0]}"
    if subject.run is None and subject.analysis.settings.save != "never":
        message += changed_since(subject.analysis)
    return NoSuchRow(message)
