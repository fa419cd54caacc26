"""Values of arrays: files that the user points to, or previews that the log holds."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.errors import BadType, ShapeMismatch, StoreError

SAMPLE = 512  # cells on a side of what a histogram is made of
LARGEST_TEXT = 64 << 20  # bytes of a text file that is read


@dataclass(slots=True)
class Values:
    """Arrays by name, opened when they are first looked at and never copied as a whole."""

    files: dict[str, Path] = field(default_factory=dict)
    _open: dict[str, NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Iterable[str]) -> Values:
        """From `NAME=FILE`, or from directories with files that are called like arrays.

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
        """The values of a dataset, if there is a file for it; an error if the file holds something else."""
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
                warnings.simplefilter("ignore")  # an empty file says so
                return np.loadtxt(path, delimiter=",", ndmin=2)
        found: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read as an array: {error}") from error
    if found.dtype.kind not in "biuf":
        raise BadType(f"{path} holds {found.dtype}: only numbers can be drawn")
    return found


def sampled(array: NDArray[Any], most: int = SAMPLE) -> NDArray[np.float64]:
    """Cells of an array at regular distances: enough for a histogram, and soon read."""
    steps = tuple(slice(None, None, max(1, -(-side // most))) for side in array.shape)
    return np.asarray(array[steps], dtype=np.float64)
