"""The demo and the examples, run as a user runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import whence as wh
from whence.cli import _hotspot
from whence.cli import demo as demo_command
from whence.cli._hotspot import Floats
from whence.errors import MissingExtra, Redefined

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


def test_a_nan_is_traced_to_one_cell_of_a_file(demo: tuple[Path, dict[str, Any]]) -> None:
    _, result = demo
    nan = result["nan"]
    assert nan["agrees"] is True
    assert nan["cells"] == [[200, 4]]
    assert Path(nan["file"]).read_text().splitlines()[200].split(",")[4] == "nan"
    assert nan["texts"] == ["nan"]


def test_rows_of_a_spark_pipeline_are_traced_both_ways(demo: tuple[Path, dict[str, Any]]) -> None:
    _, result = demo
    rows = result["rows"]
    assert rows["precise"] is True
    assert [answer["table"] for answer in rows["answers"]] == [
        "customers",
        "orders",
        "lines",
        "the report",
        "cells of lines",
    ]
    assert all(answer["agrees"] and 0 < answer["count"] < answer["of"] for answer in rows["answers"])
    assert all(Path(path).is_file() for path in (rows["script"], *rows["sources"].values()))


def test_a_number_of_the_report_is_traced_to_cells_of_a_csv_and_to_the_commit(
    demo: tuple[Path, dict[str, Any]],
) -> None:
    _, result = demo
    rows = result["rows"]
    assert Path(rows["sources"]["lines"]).suffix == ".csv"
    with wh.open(rows["log"]) as log:
        spoiled = log.backward("euros", "0,0", lineage="value")
        assert spoiled.precise, spoiled.reason
        assert spoiled["lines"].columns == ["quantity", "cents"]
        assert rows["commit"] in spoiled.commits
        assert "shop/lines.csv@v1" in spoiled.files
    story = Path(rows["story"]).read_text()
    assert story.count("<svg") >= 1
    assert rows["commit"][:7] in story
    assert "lines.csv" in story


def test_rows_of_its_log_are_asked_about_without_spark(
    demo: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql import SparkSession

    def refused(_: object) -> None:
        raise AssertionError("the explorer would start Spark")

    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", refused)
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    _, result = demo
    with wh.open(result["log"], create=False) as log:
        for cells in ("0,:", "7,3"):
            assert {"customers", "orders", "lines"} <= set(log.backward("report", cells).reached)
        assert log.forward("lines", "0,:").precise
        assert log.backward("euros", "0,0").precise


def test_without_spark_its_part_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)  # as if it were not installed
    found: dict[str, Any] = {}
    assert demo_command._demo_of_rows(tmp_path, as_json=True, found=found, required=False)
    assert found == {"rows": None}
    with pytest.raises(MissingExtra, match=r"pip install 'whence\[spark\]'"):
        demo_command._demo_of_rows(tmp_path, as_json=True, found=found, required=True)


def test_the_log_is_far_smaller_than_the_tuples(demo: tuple[Path, dict[str, Any]]) -> None:
    _, result = demo
    steps = {step["function"]: step for step in result["steps"]}
    assert list(steps) == ["smooth", "spots", "overview"]
    assert steps["smooth"]["tuples"] == (3 * 480 - 2) * (3 * 640 - 2)  # windows, cut off at the border
    assert steps["overview"]["tuples"] == 480 * 640
    assert all(step["stored_bytes"] < 1000 for step in steps.values())
    assert all(step["stored_bytes"] * 100 < step["int64_bytes"] for step in steps.values())


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
    with wh.open(out / "demo.whence") as log:
        assert log.check().ok


def test_it_can_be_run_again(demo: tuple[Path, dict[str, Any]]) -> None:
    out, _ = demo
    run = subprocess.run([WHENCE, "demo", "--only", "arrays", "--out", out], capture_output=True, text=True, check=True)
    assert run.stdout.count("says the same") == 4
    assert str(out / "hotspot.png") in run.stdout


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[wh.Log, Floats, dict[str, Floats]]]:
    """The demo's program on a small image with two spots, one of them at the border."""
    image = np.random.default_rng(3).uniform(0.1, 0.3, (16, 24))
    image[0:3, 4:7] = image[9:13, 15:19] = 0.9
    with wh.open(tmp_path_factory.mktemp("small") / "small.whence") as log:
        yield log, image, demo_command.compute(log, image)


@pytest.mark.parametrize("end", ["spots", "overview"])
def test_every_pixel_goes_where_a_change_of_it_shows(small: tuple[wh.Log, Floats, dict[str, Floats]], end: str) -> None:
    """Change one pixel at a time, too little to change which pixels are hot, and run the plain functions again."""
    log, image, arrays = small
    function = getattr(_hotspot, end)
    brute = _hotspot.Brute(image)
    assert len(arrays["spots"]) == 2
    for pixel in np.ndindex(image.shape):
        changed = image.copy()
        changed[pixel] += 1e-6
        moved = function(_hotspot.smooth(changed)) != arrays[end]
        found = log.forward("thermal", [pixel], to=end)
        assert {tuple(cell) for cell in found.cells().tolist()} == brute.forward(pixel, end)
        if end == "overview":
            assert np.array_equal(moved, found.mask())
        else:  # a maximum comes from all that it compared, and changes with one of them
            assert np.array_equal(moved[:, :2], found.mask()[:, :2])
            assert not (moved & ~found.mask()).any()


def test_every_spot_comes_from_what_brute_force_says(small: tuple[wh.Log, Floats, dict[str, Floats]]) -> None:
    log, image, arrays = small
    brute = _hotspot.Brute(image)
    for spot in range(len(arrays["spots"])):
        found = log.backward("spots", f"{spot},:", to="thermal")
        assert {tuple(cell) for cell in found.cells().tolist()} == brute.backward(spot) != set()


def test_a_stranger_in_the_log_is_left_alone(tmp_path: Path) -> None:
    with wh.open(tmp_path / demo_command.LOG_NAME) as log:
        log.array("mine", shape=3)
        with pytest.raises(Redefined, match="'mine', which the demo did not write: choose another --out"):
            demo_command.forget(log)
        assert [dataset.name for dataset in log.datasets()] == ["mine"]


def test_spots_are_what_touches() -> None:
    hot = np.array([(0, 0), (1, 1), (5, 5), (5, 6), (9, 0)])
    assert _hotspot.connected(hot).tolist() == [0, 0, 1, 1, 2]
    image = np.zeros((10, 10))
    image[tuple(hot.T)] = 0.8
    assert np.allclose(_hotspot.spots(image), [[0.5, 0.5, 0.8], [5, 5.5, 0.8], [9, 0, 0.8]])


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
