"""The array view: shape, a picture of the values in tiles, a histogram, and the lineage of cells."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.arrays.preview import histogram
from whence.errors import WhenceError
from whence.selection import Selection
from whence.store.answers import boxes as spelled
from whence.ui import answers, previews
from whence.ui.explorer import BadRequest, Explorer, Params, number, text
from whence.ui.values import sampled

TILE = 256  # pixels on a side


def array(explorer: Explorer, params: Params) -> dict[str, Any]:
    """Describe an array: shape, chain, who made it, and the range of its values if these are available."""
    described = explorer.log.show(text(params, "name"))
    dataset = described.dataset
    me, chain = answers.chain(explorer.log, text(params, "name"))
    made = [each for each in described.operations if dataset.name in each.outputs]
    values, unread = None, None
    try:
        values = _values(explorer, dataset.name, dataset.shape)
    except WhenceError as error:  # its lineage can still be shown
        unread = str(error)
    return {
        "name": me, "kind": dataset.kind, "shape": list(dataset.shape), "created": dataset.created,
        "by": dataset.by, "note": dataset.properties.get("note"),
        "made": [{"id": each.label, "name": each.name, "inputs": list(each.inputs)} for each in made],
        "derived": [
            {"input": each.input, "tuples": each.tuples, "boxes": each.boxes, "size": each.size}
            for each in described.derived_from
        ],
        "chain": _members(explorer, chain),
        "values": values, "unread": unread,
    }  # fmt: skip


def _members(explorer: Explorer, chain: list[str]) -> list[dict[str, Any]]:
    """Describe the datasets of a chain: shape, whether values are available, and which of them each was made from."""
    shown = [explorer.log.show(name) for name in chain]
    named = {each.dataset.name: name for each, name in zip(shown, chain, strict=True)}
    return [
        {
            "name": name, "kind": each.dataset.kind, "shape": list(each.dataset.shape),
            "values": each.dataset.name in explorer.values.files or each.dataset.name in previews.names(explorer),
            "from": sorted({named[own.input] for own in each.derived_from if own.input in named}, key=chain.index),
        }
        for name, each in zip(chain, shown, strict=True)
    ]  # fmt: skip


def _values(explorer: Explorer, name: str, shape: tuple[int, ...]) -> dict[str, Any] | None:
    found = explorer.values.get(name, shape)
    if found is None:
        saved = previews.preview(explorer, name, shape)
        return None if saved is None else previews.described(saved)

    def make() -> dict[str, Any]:
        sample = sampled(found)
        finite = sample[np.isfinite(sample)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
        return {
            "low": low, "high": high, "counts": list(histogram(finite, low, high)),
            "not_finite": int(sample.size - finite.size), "sampled": int(sample.size), "of": int(found.size),
            "dtype": str(found.dtype), "preview": None,
        }  # fmt: skip

    return explorer.once(("values", name, str(explorer.values.files[name])), make)


def plane(shape: tuple[int, ...], at: str) -> tuple[tuple[int, ...], tuple[int, int]]:
    """Return the indices of the leading axes, and the lengths of the last two, which are drawn; one axis is one row."""
    if len(shape) < 2:
        return (), (1, shape[0] if shape else 1)
    lead = shape[:-2]
    given = [each for each in at.split(",") if each]
    try:
        fixed = tuple(int(each) for each in given) + (0,) * (len(lead) - len(given))
    except ValueError:
        raise BadRequest(f"'at' is a list of indices of the first axes, not {at!r}") from None
    if len(fixed) != len(lead) or not all(0 <= each < side for each, side in zip(fixed, lead, strict=True)):
        raise BadRequest(f"'at' gives one index for each of the first axes {lead}, not {at!r}")
    return fixed, (shape[-2], shape[-1])


def tile(explorer: Explorer, params: Params) -> bytes:
    """Return a tile of the picture: one byte for each pixel, 0 if it is not finite, 1 to 255 from low to high.

    `scale` is the number of cells of a pixel on each axis; `down` is that of the row axis, if it differs. For values in
    a file, a pixel shows its first cell, because means would need to read the whole array. For a preview, it shows the
    greatest value, or what `show` chooses.
    """
    name = text(params, "name")
    dataset = explorer.log.show(name).dataset
    drawn = _values(explorer, dataset.name, dataset.shape)
    if drawn is None:
        raise BadRequest(f"the values of {name!r} are not known: `whence ui --values {name}=FILE.npy`")
    scale = number(params, "scale", 1, 1, 2**40)
    down = number(params, "down", scale, 1, 2**40)
    x, y = number(params, "x", 0), number(params, "y", 0)
    fixed, (rows, columns) = plane(dataset.shape, params.get("at", ""))
    top, left = y * TILE * down, x * TILE * scale
    values = explorer.values.get(dataset.name, dataset.shape)
    saved = previews.preview(explorer, dataset.name, dataset.shape) if values is None else None
    if saved is not None:
        square = previews.square(saved, fixed, (top, left), TILE, (down, scale), previews.shown(params))
    else:
        assert values is not None
        flat = values[fixed] if fixed else values
        flat = np.reshape(flat, (rows, columns)) if flat.ndim < 2 else flat
        cut = flat[top : top + TILE * down : down, left : left + TILE * scale : scale]
        square = np.asarray(cut, dtype=np.float64)
    return _header(square.shape) + quantized(square, drawn["low"], drawn["high"]).tobytes()


def _header(shape: tuple[int, ...]) -> bytes:
    return np.array(shape, dtype="<u4").tobytes()


def quantized(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.uint8]:
    """Convert numbers to bytes: 0 is not finite, 1 is low, 255 is high; values outside of this range are clipped.

    >>> quantized(np.array([[0.0, 5.0, 10.0, np.nan, 99.0]]), 0.0, 10.0).tolist()
    [[1, 128, 255, 0, 255]]
    """
    half = (high / 2 - low / 2) or 0.5  # halved, because the difference of two finite numbers may overflow
    with np.errstate(all="ignore"):
        share = np.clip((values / 2 - low / 2) / half, 0, 1)
    return np.where(np.isfinite(values), 1 + np.nan_to_num(share) * 254, 0).astype(np.uint8)


def value(explorer: Explorer, params: Params) -> dict[str, Any]:
    """Return the value of one cell, or of its tile in a preview."""
    dataset = explorer.log.show(text(params, "name")).dataset
    values = explorer.values.get(dataset.name, dataset.shape)
    cell = Selection.of(text(params, "cell"), dataset.shape)
    if cell.count != 1:
        raise BadRequest("'cell' is one cell, such as 3,1")
    if values is None:
        saved = previews.preview(explorer, dataset.name, dataset.shape)
        return {"value": None} if saved is None else previews.hovered(saved, tuple(cell.cells()[0].tolist()))
    found = values[tuple(cell.cells()[0].tolist())].item()
    return {"value": str(found) if isinstance(found, float) and not math.isfinite(found) else found}


def lineage(explorer: Explorer, params: Params) -> dict[str, Any]:
    """Find where some cells came from and went, in every dataset of the chain."""
    name = text(params, "name")
    cells = answers.selected(explorer.log, name, text(params, "cells"))
    asked: dict[str, Any] = {"name": answers.chain(explorer.log, name)[0], **described_cells(cells)}
    ways: dict[str, Any] = {"asked": asked}
    notes: dict[str, None] = {}
    reasons: list[str] = []
    for direction in ("backward", "forward"):
        found = answers.reached(explorer.log, direction, name, cells)
        ways[direction] = [{"name": each, **described_cells(own)} for each, own in found.cells.items()]
        ways[f"{direction}_steps"] = [each.as_dict() for each in found.answer.steps]
        notes |= dict.fromkeys(each for each in found.answer.notes if each not in found.answer.reasons)
        reasons += [found.answer.reason] if found.answer.reason else []
        asked[f"{direction}_ms"] = round(found.seconds * 1000, 2)
        if direction == "backward":
            ways |= {"people": list(found.answer.people), "commits": list(found.answer.commits)}
    asked |= {"precise": not reasons, "reason": "; ".join(reasons) or None}
    return ways | {"notes": list(notes)}


def described_cells(selection: Selection) -> dict[str, Any]:
    """Return cells for the page: their count, a text, and boxes that are few enough to draw."""
    if not selection.shape:  # a file is one cell
        return {"shape": [], "count": selection.count, "boxes": [[]] if selection else [], "step": [], "text": "whole"}
    found, step = answers.boxes(selection)
    return {
        "shape": list(selection.shape), "count": selection.count, "boxes": found, "step": step,
        "text": spelled(selection),
    }  # fmt: skip
