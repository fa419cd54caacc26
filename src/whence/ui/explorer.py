"""The state of the explorer: a log, the files with values of its arrays, and a cache of answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from whence.errors import BadType, WhenceError
from whence.graph import Graph
from whence.log import Log
from whence.ui.values import Values

Params = Mapping[str, str]
Made = TypeVar("Made")
MOST_KEPT = 200  # cached answers


class BadRequest(WhenceError, ValueError):
    """A request to the explorer with invalid parameters."""


@dataclass(slots=True)
class Explorer:
    """A log that is shown. The explorer never writes to it."""

    log: Log
    values: Values = field(default_factory=Values)
    _made: dict[Any, Any] = field(default_factory=dict)
    _graph: Graph | None = None
    _making: dict[Any, threading.Lock] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _reading: threading.Lock = field(default_factory=threading.Lock)

    def graph(self) -> Graph:
        """Return the project graph; if it has changed, clear the cache."""
        with self._reading:  # concurrent requests read it once
            found = self.log.graph
        with self._lock:
            if found is not self._graph:
                self._graph = found
                self._made.clear()
        return found

    def once(self, key: object, make: Callable[[], Made]) -> Made:
        """Return the result of `make`, cached until the graph changes; concurrent requests wait for it."""
        self.graph()
        with self._lock:
            if key in self._made:
                found: Made = self._made[key]
                return found
            turn = self._making.setdefault(key, threading.Lock())
        with turn:
            with self._lock:
                if key in self._made:
                    made_meanwhile: Made = self._made[key]
                    return made_meanwhile
            try:
                made = make()
                with self._lock:
                    if len(self._made) > MOST_KEPT:
                        self._made.clear()
                    self._made[key] = made
            finally:
                with self._lock:
                    self._making.pop(key, None)
        return made


def text(params: Params, name: str) -> str:
    """Return a required parameter."""
    found = params.get(name, "")
    if not found:
        raise BadRequest(f"the question lacks {name!r}")
    return found


def number(params: Params, name: str, otherwise: int, least: int = 0, most: int = 2**62) -> int:
    """Return an integer parameter."""
    given = params.get(name, "")
    if not given:
        return otherwise
    try:
        found = int(given)
    except ValueError:
        raise BadRequest(f"{name!r} is a whole number, not {given!r}") from None
    if not least <= found <= most:
        raise BadRequest(f"{name!r} is between {least:,} and {most:,}, not {found:,}")
    return found


def listed(params: Params, name: str) -> list[str]:
    """Return a list of names, which is passed as JSON because names may contain any character."""
    import json

    given = params.get(name, "")
    if not given:
        return []
    try:
        found = json.loads(given)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise BadType(f"{name!r} is a list of names in JSON, not {given[:80]!r}")
    return found
