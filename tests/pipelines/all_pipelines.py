"""All pipelines: importing a module of them fills the list."""

from __future__ import annotations

import tests.pipelines.frame_pipelines
import tests.pipelines.long_pipelines
import tests.pipelines.more_pipelines
import tests.pipelines.pandas_pipelines
import tests.pipelines.spark_pipelines
import tests.pipelines.table_pipelines  # noqa: F401  # imported for what they add
from tests.pipelines.pipeline import PIPELINES

__all__ = ["PIPELINES"]
