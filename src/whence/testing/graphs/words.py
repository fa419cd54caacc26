"""The words of summaries: check whether a summary has the paths of its segments, and no others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whence.testing.graphs.psum import Edge

Word = tuple[object, ...]


def words(labels: Sequence[object], edges: Iterable[Edge]) -> set[Word]:
    """Return the labels along all paths of an acyclic graph, from any vertex to any other. For small graphs."""
    onward: dict[int, list[tuple[int, int]]] = {}
    for source, label, target in edges:
        onward.setdefault(source, []).append((label, target))
    found: set[Word] = set()
    stack: list[tuple[Word, int]] = [((label,), vertex) for vertex, label in enumerate(labels)]
    while stack:
        word, vertex = stack.pop()
        found.add(word)
        stack += [((*word, label, labels[target]), target) for label, target in onward.get(vertex, ())]
    return found


def new_word(
    labels: Sequence[object], edges: Iterable[Edge], known_labels: Sequence[object], known_edges: Iterable[Edge]
) -> Word | None:
    """Return a word of the first graph that the second does not have, or None.

    This is inclusion of automata, by sets of vertices.
    """
    onward: dict[int, list[tuple[int, int]]] = {}
    for source, label, target in edges:
        onward.setdefault(source, []).append((label, target))
    known: dict[int, list[tuple[int, int]]] = {}
    for source, label, target in known_edges:
        known.setdefault(source, []).append((label, target))
    places: dict[object, set[int]] = {}
    for vertex, name in enumerate(known_labels):
        places.setdefault(name, set()).add(vertex)
    stack = [((name,), vertex, frozenset(places.get(name, ()))) for vertex, name in enumerate(labels)]
    seen: set[tuple[int, frozenset[int]]] = set()
    while stack:
        word, vertex, states = stack.pop()
        if not states:
            return word
        if (vertex, states) in seen:
            continue
        seen.add((vertex, states))
        for label, target in onward.get(vertex, ()):
            following = frozenset(
                other
                for state in states
                for edge, other in known.get(state, ())
                if edge == label and known_labels[other] == labels[target]
            )
            # A word is a tuple of any length.
            stack.append(((*word, label, labels[target]), target, following))  # type: ignore[arg-type]
    return None
