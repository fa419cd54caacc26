"""Spark for the questions that only Spark can answer, started when the first of them is asked."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from whence.errors import MissingExtra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from whence.spark.catalyst.jvm import Jvm

NEEDED = (
    "this question needs Spark, because DuckDB cannot read the data or may give another answer than Spark, but"
    " pyspark is not installed: pip install 'whence[spark]'"
)


class SessionOnDemand:
    """A Spark session with the settings of a run: the one that is active, or one that is started here.

    The settings are known without it.
    """

    def __init__(self, settings: Mapping[str, str]) -> None:
        self.conf = Settings(settings)

    @cached_property
    def real(self) -> SparkSession:
        """The session itself, which exists from now on."""
        if importlib.util.find_spec("pyspark") is None:
            raise MissingExtra(NEEDED)
        from pyspark.sql import SparkSession

        from whence.spark.sessions.local import local_session

        session = (SparkSession.getActiveSession() or local_session()).newSession()
        for name, value in self.conf.known.items():
            session.conf.set(name, value)
        return session

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


class Settings:
    """The settings that change what a plan means, as the run had them."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self.known = dict(known)

    def get(self, name: str) -> str:
        """The value of a setting."""
        return self.known[name]


class JvmOnDemand:
    """Catalyst through such a session: the first use starts it."""

    def __init__(self, session: SessionOnDemand) -> None:
        self._session = session

    @cached_property
    def _real(self) -> Jvm:
        from whence.spark.catalyst.jvm import Jvm

        return Jvm(self._session.real)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)
