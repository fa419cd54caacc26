"""Shell completion of the names in a log.

It runs at each press of the Tab key: it reads the catalog's names directly, without opening the log, and offers
nothing if that is not possible, because an error message would disturb the line that is being typed.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from whence.errors import StoreError
from whence.graph.finding import split_version
from whence.store.locating import locate

MOST = 200  # names that are offered
CATALOG = "catalog.sqlite"
# No LIKE: a name may contain % and _, and LIKE ignores case.
_ENTITIES = "SELECT name FROM entities WHERE substr(name, 1, length(:typed)) = :typed ORDER BY name LIMIT :most"
_ACTIVITIES = """
SELECT coalesce(identifier, name || '#' || id) AS called FROM activities
WHERE substr(called, 1, length(:typed)) = :typed ORDER BY id DESC LIMIT :most"""


def dataset_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of datasets and files that begin so; the version of a file may be left out."""
    found = _asked(ctx, _ENTITIES, incomplete)
    return sorted({each for name in found for each in (name, split_version(name)[0]) if each.startswith(incomplete)})


def vertex_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of datasets, files and activities that begin so."""
    return dataset_names(ctx, param, incomplete) + _asked(ctx, _ACTIVITIES, incomplete)


def _asked(ctx: click.Context, query: str, typed: str) -> list[str]:
    try:
        place = locate(ctx.params.get("log"))
        if place is None or not Path(place, CATALOG).is_file():  # no log, or a catalog on a server, which may be slow
            return []
        uri = f"{Path(place, CATALOG).absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=0.2)) as catalog:
            given: dict[str, Any] = {"typed": typed, "most": MOST}
            found = [name for (name,) in catalog.execute(query, given)]
    except (StoreError, sqlite3.Error, OSError):  # several logs, a damaged or locked catalog: nothing to offer
        return []
    # The shell reads one name a line; a name with other characters than printable ones has to be typed.
    return [name for name in found if isinstance(name, str) and name.isprintable()]
