"""Names in whence and in PROV: any string is an id in whence; in PROV an id is a prefix and a local name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import quote, unquote

LOG = "urn:whence:log#"  # names without a prefix
OURS = "urn:whence:"  # prefixes without a known meaning go here; names in these are written escaped
DEFAULT = "default_ns"  # the prefix of a default namespace; not `default`, which in PROV-JSON stands for no prefix
STANDARD = {
    "prov": "http://www.w3.org/ns/prov#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "xsi": "http://www.w3.org/2001/XMLSchema-instance",
}
_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*\Z")
_LOCAL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*\Z")
_MADE_UP = re.compile(r"ns[0-9]+\Z")
_ESCAPED = re.compile(r"_x([0-9A-F]+)_")
_ESCAPE = re.compile(r"[^A-Za-z0-9_-]|_(?=x)|\A[^A-Za-z_]")


def split(name: str, prefixes: Mapping[str, str]) -> tuple[str, str, str]:
    """The prefix of a name, its namespace, and what follows.

    >>> split("data.csv", {}), split("ex:raw", {"ex": "http://example.org/"})
    (('log', 'urn:whence:log#', 'data.csv'), ('ex', 'http://example.org/', 'raw'))
    """
    prefix, colon, local = name.partition(":")
    if colon and local and prefix != "log" and _PREFIX.match(prefix):
        return prefix, prefixes.get(prefix) or STANDARD.get(prefix) or f"{OURS}prefix:{prefix}#", local
    return "log", LOG, name


class Read:
    """Names as they were before they were written, by the namespaces that a document declares.

    >>> read = Read({"ex": "http://example.org/"})
    >>> read.id("urn:whence:log#data%2Ecsv"), read.property("urn:whence:log#learning_x20_rate")
    ('data.csv', 'learning rate')
    >>> read.id("http://example.org/a/b")
    'ex:a/b'
    """

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        # The longest first. What a reader of RDF made up (ns1 ...) only counts where nothing else fits.
        spaces = sorted(
            {**STANDARD, **prefixes}.items(), key=lambda pair: (bool(_MADE_UP.match(pair[0])), -len(pair[1]))
        )
        self.used: set[str] = set()
        self._spaces = [(uri, prefix) for prefix, uri in spaces]

    def id(self, uri: str) -> str:
        """The id that was written so."""
        return self._name(uri, unquote)

    def property(self, uri: str) -> str:
        """The name of a property that was written so."""
        return self._name(uri, lambda local: _ESCAPED.sub(lambda match: chr(int(match[1], 16)), local))

    def _name(self, uri: str, unescaped: Callable[[str], str]) -> str:
        if uri.startswith(LOG):
            return unescaped(uri[len(LOG) :])
        if uri.startswith(f"{OURS}prefix:"):
            prefix, _, local = uri[len(OURS) + 7 :].partition("#")
            return f"{prefix}:{unescaped(local)}"
        for space, prefix in self._spaces:
            if uri.startswith(space):
                self.used.add(prefix)
                return f"{prefix}:{uri[len(space) :]}"
        return uri


def foreign(prefixes: Mapping[str, str]) -> dict[str, str]:
    """The prefixes that neither PROV nor whence gives their meaning."""
    return {
        prefix: uri for prefix, uri in sorted(prefixes.items()) if prefix not in STANDARD and not uri.startswith(OURS)
    }


def local_id(local: str, uri: str) -> str:
    """A local name for an id: percent-encoded, as all formats allow.

    >>> local_id("data/raw.csv@v1", LOG)
    'data%2Fraw%2Ecsv%40v1'
    """
    if not uri.startswith(OURS):
        return local
    return local if _LOCAL.match(local) else quote(local, safe="").replace(".", "%2E").replace("~", "%7E")


def local_property(local: str, uri: str) -> str:
    """A local name for a property, which XML makes an element of, so that it takes letters and digits only.

    >>> local_property("learning rate", LOG)
    'learning_x20_rate'
    """
    return _ESCAPE.sub(lambda match: f"_x{ord(match[0]):X}_", local) if uri.startswith(OURS) else local
