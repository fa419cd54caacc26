"""Convert names between whence and PROV: in whence, any string is an id; in PROV, an id is a prefix and a local
name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import quote, unquote

LOG = "urn:whence:log#"  # the namespace of names without a prefix
OURS = "urn:whence:"  # the namespace of unknown prefixes; names in it are escaped
DEFAULT = "default_ns"  # the prefix of a default namespace; in PROV-JSON, `default` means no prefix
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
    """Split a name into its prefix, its namespace, and its local name.

    >>> split("data.csv", {}), split("ex:raw", {"ex": "http://example.org/"})
    (('log', 'urn:whence:log#', 'data.csv'), ('ex', 'http://example.org/', 'raw'))
    """
    prefix, colon, local = name.partition(":")
    if colon and local and prefix != "log" and _PREFIX.match(prefix):
        return prefix, prefixes.get(prefix) or STANDARD.get(prefix) or f"{OURS}prefix:{prefix}#", local
    return "log", LOG, name


class Read:
    """Recovers names that were written to a document, with the namespaces that it declares.

    >>> read = Read({"ex": "http://example.org/"})
    >>> read.id("urn:whence:log#data%2Ecsv"), read.property("urn:whence:log#learning_x20_rate")
    ('data.csv', 'learning rate')
    >>> read.id("http://example.org/a/b")
    'ex:a/b'
    """

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        # The longest first. Prefixes that an RDF reader invented (ns1 ...) are used only if no other fits.
        spaces = sorted(
            {**STANDARD, **prefixes}.items(), key=lambda pair: (bool(_MADE_UP.match(pair[0])), -len(pair[1]))
        )
        self.used: set[str] = set()
        self._spaces = [(uri, prefix) for prefix, uri in spaces]

    def id(self, uri: str) -> str:
        """The id with this URI."""
        return self._name(uri, unquote)

    def property(self, uri: str) -> str:
        """The name of the property with this URI."""
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
    """The prefixes that are defined by neither PROV nor whence."""
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
    """A local name for a property. XML makes it the name of an element, so it has only letters, digits, `_` and `-`.

    >>> local_property("learning rate", LOG)
    'learning_x20_rate'
    """
    return _ESCAPE.sub(lambda match: f"_x{ord(match[0]):X}_", local) if uri.startswith(OURS) else local
