"""Values of arrays from files that the user names."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.errors import BadType, ShapeMismatch, StoreError

SAMPLE = 512  # most cells on each axis for a histogram
LARGEST_TEXT = 64 << 20  # most bytes of a text file


@dataclass(slots=True)
class Values:
    """Arrays by name, opened at first use; .npy files are memory-mapped."""

    files: dict[str, Path] = field(default_factory=dict)
    _open: dict[str, NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Iterable[str]) -> Values:
        """Collect files from `NAME=FILE`, or from directories with files named after arrays.

        >>> Values.of(["X=data/x.npy"]).files
        {'X': PosixPath('data/x.npy')}
        """
        files: dict[str, Path] = {}
        for each in given:
            name, equals, path = each.partition("=")
            if equals and name:
                files[name] = Path(path)
            elif Path(each).is_dir():
                found = [path for path in sorted(Path(each).iterdir()) if path.suffix in (".npy", ".csv")]
                files |= {path.stem: path for path in found}
            else:
                raise BadType(f"{each!r} is not a directory: give NAME=FILE (X=x.npy), or a directory of .npy files")
        return cls(files)

    def get(self, name: str, shape: tuple[int, ...]) -> NDArray[Any] | None:
        """Return the values of a dataset, or None without a file; raise ShapeMismatch if the file has another shape."""
        path = self.files.get(name)
        if path is None:
            return None
        if name not in self._open:
            self._open[name] = _read(path)
        found = self._open[name]
        if found.shape != shape:
            raise ShapeMismatch(f"{path} holds an array of shape {found.shape}, and {name!r} has {shape}")
        return found


def _read(path: Path) -> NDArray[Any]:
    try:
        if path.suffix == ".csv":
            if path.stat().st_size > LARGEST_TEXT:
                raise BadType(f"{path} is too large to be read as text: save the array with np.save")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # NumPy warns about an empty file
                return np.loadtxt(path, delimiter=",", ndmin=2)
        found: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read as an array: {error}") from error
    if found.dtype.kind not in "biuf":
        raise BadType(f"{path} holds {found.dtype}: only numbers can be drawn")
    return found


def sampled(array: NDArray[Any], most: int = SAMPLE) -> NDArray[np.float64]:
    """Return cells of an array at regular steps, for a histogram."""
    steps = tuple(slice(None, None, max(1, -(-side // most))) for side in array.shape)
    return np.asarray(array[steps], dtype=np.float64)
