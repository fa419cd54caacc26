"""The log: the object that users work with."""

from whence.log._log import Log, open

__all__ = ["Log", "open"]
