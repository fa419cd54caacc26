"""The demo and the examples, run as a user runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import whence as wh
from whence.cli import _hotspot
from whence.cli import demo as demo_command
from whence.cli._hotspot import Floats, Ints
from whence.errors import MissingExtra

ROOT = Path(__file__).parents[2]
WHENCE = Path(sys.executable).with_name("whence")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    out = tmp_path_factory.mktemp("demo") / "out"
    run = subprocess.run([WHENCE, "demo", "--out", out, "--json"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return out, json.loads(run.stdout)


def test_every_answer_agrees_with_brute_force(demo: tuple[Path, dict[str, Any]]) -> None:
    _, result = demo
    assert len(result["answers"]) == 3
    assert all(answer["agrees"] for answer in result["answers"])
    assert all(answer["count"] > 0 for answer in result["answers"])


def test_rows_of_a_spark_pipeline_are_traced_both_ways(demo: tuple[Path, dict[str, Any]]) -> None:
    _, result = demo
    rows = result["rows"]
    assert rows["precise"] is True
    assert [answer["table"] for answer in rows["answers"]] == ["customers", "orders", "lines", "the report"]
    assert all(answer["agrees"] and 0 < answer["count"] < answer["of"] for answer in rows["answers"])
    assert all(Path(path).is_file() for path in (rows["script"], *rows["sources"].values()))


def test_without_spark_its_part_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)  # as if it were not installed
    found: dict[str, Any] = {}
    assert demo_command._rows(tmp_path, as_json=True, found=found, required=False)
    assert found == {"rows": None}
    with pytest.raises(MissingExtra, match=r"pip install 'whence\[spark\]'"):
        demo_command._rows(tmp_path, as_json=True, found=found, required=True)


def test_the_log_is_far_smaller_than_the_tuples(demo: tuple[Path, dict[str, Any]]) -> None:
    _, result = demo
    steps = {step["operation"]: step for step in result["steps"]}
    assert list(steps) == ["rotate", "flip", "smooth", "threshold", "group", "aggregate"]
    for regular in ("rotate", "flip", "aggregate"):
        assert steps[regular]["stored_bytes"] < 1000
        assert steps[regular]["tuples"] == 480 * 640
    assert all(step["stored_bytes"] < step["csv_bytes"] for step in steps.values())


def test_the_picture_marks_the_pixels(demo: tuple[Path, dict[str, Any]]) -> None:
    _, result = demo
    picture = Path(result["picture"])
    with Image.open(picture) as image:
        assert image.width > 640
        colours = {
            tuple(colour) for colour in np.unique(np.asarray(image.convert("RGB")).reshape(-1, 3), axis=0).tolist()
        }
    assert any(red < 60 and green > 180 and blue > 200 for red, green, blue in colours)
    assert picture.stat().st_size < 100_000


def test_the_log_stays_and_can_be_asked(demo: tuple[Path, dict[str, Any]]) -> None:
    out, result = demo
    asked = [WHENCE, "backward", "spots", "0,:", "--to", "thermal", "--log", result["log"], "--json"]
    answer = json.loads(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)["answers"][0]
    assert answer["boxes"] == result["answers"][0]["boxes"]
    with wh.open(out / "hotspot.whence") as log:
        assert log.check().ok


def test_it_can_be_run_again(demo: tuple[Path, dict[str, Any]]) -> None:
    out, _ = demo
    run = subprocess.run([WHENCE, "demo", "--only", "arrays", "--out", out], capture_output=True, text=True, check=True)
    assert run.stdout.count("says the same") == 3
    assert str(out / "hotspot.png") in run.stdout


def test_each_step_says_the_truth_about_itself() -> None:
    """Perturb one input cell at a time: the output cells that change are those that the tuples name."""
    image = _hotspot.thermal(16, 24)
    upright = np.fliplr(np.rot90(image))
    smooth, lineage = _hotspot.mean_filter(upright)
    overview, blocks = _hotspot.block_mean(smooth)
    rotated = np.rot90(image)
    steps: list[tuple[Floats, Callable[[Floats], Floats], Ints]] = [
        (image, np.rot90, _hotspot.rotate_lineage(rotated.shape)),
        (rotated, np.fliplr, _hotspot.flip_lineage(upright.shape)),
        (upright, lambda array: _hotspot.mean_filter(array)[0], lineage),
        (smooth, lambda array: _hotspot.block_mean(array)[0], blocks),
    ]
    for source, function, tuples in steps:
        before = function(source)
        for cell in ((0, 0), (3, 5), (source.shape[0] - 1, source.shape[1] - 1)):
            changed = source.copy()
            changed[cell] += 1.0
            moved = {tuple(index) for index in np.argwhere(~np.isclose(function(changed), before)).tolist()}
            assert moved == _hotspot.follow(tuples, {cell}, 2, forward=True)
    assert overview.shape == (3, 2)


def test_spots_are_what_touches() -> None:
    hot = np.array([(0, 0), (1, 1), (5, 5), (5, 6), (9, 0)])
    labels = _hotspot.connected(hot)
    assert labels.tolist() == [0, 0, 1, 1, 2]
    assert _hotspot.summarise(hot, labels).tolist() == [[0.5, 0.5, 2], [5, 5.5, 2], [9, 0, 1]]
    assert _hotspot.follow(_hotspot.group_lineage(labels), {(1, 0)}, 2, forward=False) == {(2, 0), (3, 0)}


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples_run(example: Path) -> None:
    run = subprocess.run([sys.executable, "-W", "error", example], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout


def test_find_the_nan_finds_it(tmp_path: Path) -> None:
    import importlib.util

    spec = importlib.util.spec_from_file_location("find_the_nan", ROOT / "examples" / "find_the_nan.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.main(tmp_path).cells().tolist() == [[3, 500], [3, 501], [3, 502]]
