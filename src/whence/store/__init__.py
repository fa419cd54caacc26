"""The store of a log: a catalog of datasets and operations, and the relations that lead from one to another."""

from whence.store._store import Store
from whence.store.opening import open_store
from whence.store.records import Collected, Dataset, Derivation, Description, Operation

__all__ = ["Collected", "Dataset", "Derivation", "Description", "Operation", "Store", "open_store"]
