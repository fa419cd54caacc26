"""Row lineage of pipelines: operators, expressions, and their rules, without Spark."""

from whence.rows import expressions, operators
from whence.rows.expressions import *  # noqa: F403  # the family's own __all__
from whence.rows.operators import *  # noqa: F403 # the package's names are the operators'
from whence.rows.tree import Tree, transform, walk

__all__ = ["Tree", "transform", "walk"]
__all__ += expressions.__all__
__all__ += operators.__all__
