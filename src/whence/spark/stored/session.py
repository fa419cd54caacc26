"""A Spark session for questions that only Spark can answer. The first such question starts it."""

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
    """A Spark session with the settings of a run: the active one, or a new one. The session starts when it is first
    used.

    The settings can be read without starting it.
    """

    def __init__(self, settings: Mapping[str, str]) -> None:
        self.conf = Settings(settings)

    @cached_property
    def real(self) -> SparkSession:
        """The session itself. It is started if necessary."""
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
    """The settings of the run that change the meaning of a plan."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self.known = dict(known)

    def get(self, name: str) -> str:
        """The value of a setting."""
        return self.known[name]


class JvmOnDemand:
    """Access to Catalyst through such a session. The first use starts the session."""

    def __init__(self, session: SessionOnDemand) -> None:
        self._session = session

    @cached_property
    def _real(self) -> Jvm:
        from whence.spark.catalyst.jvm import Jvm

        return Jvm(self._session.real)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)
