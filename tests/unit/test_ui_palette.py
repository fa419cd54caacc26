"""The page's colours, as people with each kind of colour blindness see them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

STYLE = Path(__file__).parents[2] / "ui" / "src" / "style.css"
Colour = NDArray[Any]

# Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency" (2009), at
# severity 1.0; the matrices apply to linear RGB.
VISIONS = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
# sRGB to XYZ, divided by the white point D65.
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
XYZ /= np.array([[0.95047], [1.0], [1.08883]])

# Colours that stand side by side in one view, where only they tell things apart at a glance. What is chosen, failed or
# a superset has a sign of its own besides: a second outline, dashes, words.
IN_ARRAYS = ("from", "to", "ink", "lost")
LEAST = 10.0  # CIE76; 2.3 is the least that is noticed at all
PAIRS = (("used", "made"), ("data", "act"), ("act", "bad"), ("from-soft", "to-soft"))


def _themes() -> dict[str, dict[str, str]]:
    blocks = re.findall(r":where\(:root, \.whence-widget\) \{(.*?)\}", STYLE.read_text(), re.S)
    light, dark = (dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", each)) for each in blocks)
    return {"light": light, "dark": light | dark}


def _rgb(colour: str) -> Colour:
    return np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255


def _seen(rgb: Colour, vision: Colour) -> Colour:
    """The colour in CIELAB, as that eye sees it."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    relative = XYZ @ np.clip(vision @ linear, 0, 1)
    f = np.where(relative > 216 / 24389, np.cbrt(relative), (24389 / 27 * relative + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def _apart(one: Colour, other: Colour) -> float:
    """The least distance (CIE76) over all visions."""
    return min(float(np.linalg.norm(_seen(one, each) - _seen(other, each))) for each in VISIONS.values())


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_that_mean_different_things_look_different_to_everyone(theme: str) -> None:
    palette = {name: _rgb(colour) for name, colour in _themes()[theme].items()}
    near = {
        (one, other): round(_apart(palette[one], palette[other]), 1)
        for one, other in (*PAIRS, *((a, b) for at, a in enumerate(IN_ARRAYS) for b in IN_ARRAYS[:at]))
        if _apart(palette[one], palette[other]) < LEAST
    }
    assert not near


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["from", "to", "lost"])
def test_lineage_stands_out_from_every_grey_of_the_values(theme: str, name: str) -> None:
    palette = {key: _rgb(colour) for key, colour in _themes()[theme].items()}
    greys = [palette["low"] + (palette["high"] - palette["low"]) * share for share in np.linspace(0, 1, 9)]
    assert min(_apart(palette[name], grey) for grey in greys) > 20


def test_the_simulation_itself() -> None:
    red, green = _rgb("#d01010"), _rgb("#108010")
    seen = {name: float(np.linalg.norm(_seen(red, each) - _seen(green, each))) for name, each in VISIONS.items()}
    assert seen["usual"] > 2 * max(seen["protanopia"], seen["deuteranopia"]), "red and green are hard to tell apart"
    assert seen["tritanopia"] > 60
