"""The requests of the page and the widget, each with the function that answers it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from whence.errors import MissingExtra, NoLineage, UnknownName, WhenceError
from whence.ui import arrays, pipelines, project, stories, tables
from whence.ui.explorer import Explorer, Params

Answer = dict[str, Any] | bytes

ROUTES: Final[dict[str, Callable[[Explorer, Params], Answer]]] = {
    "summary": project.summary,
    "overview": project.overview,
    "part": project.part,
    "search": project.search,
    "vertex": project.vertex,
    "segment": project.segment,
    "datasets": project.datasets,
    "array": arrays.array,
    "tile": arrays.tile,
    "value": arrays.value,
    "lineage": arrays.lineage,
    "table": tables.table,
    "rows": tables.rows,
    "pipelines": pipelines.pipelines,
    "pipeline": pipelines.pipeline,
    "story": stories.story,
}


def answered(explorer: Explorer, name: str, params: Params) -> tuple[int, Answer]:
    """Return the HTTP status and the answer; errors of whence are returned as answers, too."""
    if name not in ROUTES:
        return 404, {"error": f"there is no question {name!r}"}
    try:
        return 200, ROUTES[name](explorer, params)
    except (UnknownName, NoLineage) as error:
        return 404, {"error": str(error.args[0]) if error.args else str(error)}
    except MissingExtra as error:
        return 501, {"error": str(error)}
    except WhenceError as error:
        return 400, {"error": str(error.args[0]) if error.args else str(error)}
