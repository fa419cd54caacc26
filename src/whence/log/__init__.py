"""The log: what users hold."""

from whence.log._log import Log, open

__all__ = ["Log", "open"]
