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
    """How a question is asked: who looks rows up, and which rows of a group count for min, max, first and last.

    `tried`: of a group that a function was given, the rows that give the row again by themselves.
    """

    matcher: Matcher
    witness: str
    tried: bool = False


class Tracer(Protocol):
    """One way to answer questions about a subject. It is made for one question."""

    title: ClassVar[str]
    """Where its answers come from, as `explain` says it."""

    def __init__(self, subject: Subject, asking: Asking) -> None: ...

    def unavailable_reason(self, *, may_look: bool = True) -> str | None:
        """Why it cannot answer; None if it can.

        `may_look`: whether it may look into the data to find out. If not, it goes by what the plan says, and a reason
        may turn out not to hold.
        """

    def backward(self, rows: object, *, one: bool = False) -> Lineage:
        """The source rows that made the given output rows."""

    def forward(self, uses: Sequence[Source], row: object) -> Reached:
        """The output rows whose lineage holds the given rows of a source; `uses` are its uses, the widest first."""


def require_one(count: int, asked: tuple[Asked, ...], one: bool) -> int:
    """The number of output rows that are meant; raise if only one may be and there are more."""
    if one and count > len(asked):
        raise NoSuchRow(
            f"{count} rows of the output are {described(asked[0])}: give more columns to identify one; if they are"
            " equal, run with row_ids=True; or leave out one=True to ask about all of them"
        )
    return count


def absent(subject: Subject, where: str, asked: tuple[Asked, ...]) -> NoSuchRow:
    """The error for rows that are not there, with what may be the cause."""
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
