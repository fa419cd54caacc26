"""The log: a catalog of datasets and operations, and the relations that lead from one to another."""

from whence.store.log import Log
from whence.store.opening import open
from whence.store.records import Collected, Dataset, Derivation, Description, Operation

__all__ = ["Collected", "Dataset", "Derivation", "Description", "Log", "Operation", "open"]
