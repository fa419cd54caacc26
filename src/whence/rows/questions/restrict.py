"""Restrict sources to the rows that a question needs, before the plan runs."""

from __future__ import annotations

from collections.abc import Mapping

from whence.errors import BadType
from whence.rows.expressions import TRUE, Expr
from whence.rows.filtering import filtered
from whence.rows.operators import Operator, Source
from whence.rows.tree import Tree, transform, walk


def restrict(plan: Operator, predicates: Mapping[int, Expr]) -> Operator:
    """Return the plan with a filter over each source whose occurrence has a predicate.

    >>> from whence.rows import Attr, IsNull, Source
    >>> a = Attr(1, "a", "long")
    >>> print(restrict(Source("t", 0, (a,)), {0: IsNull(a)}))
    Filter a#1 is null
      Source t (memory): a#1
    """

    def change(part: Tree) -> Tree:
        if isinstance(part, Source) and not part.is_domain_copy and predicates.get(part.occurrence, TRUE) != TRUE:
            return filtered(part, predicates[part.occurrence])
        return part

    changed = transform(plan, change)
    if not isinstance(changed, Operator):
        raise BadType(f"a plan is an operator, not {type(plan).__name__}")
    return changed


def sources(plan: Operator) -> tuple[Source, ...]:
    """Return every use of a source, by occurrence, without domain copies."""
    found = {part.occurrence: part for part in walk(plan) if isinstance(part, Source) and not part.is_domain_copy}
    return tuple(found[number] for number in sorted(found))
