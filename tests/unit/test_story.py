"""Stories and erasure reports: what they say, that they need nothing else, and that nothing in a name is markup."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import whence as wh
from whence.cli._group import whence
from whence.errors import BadCells, BadType, StoreError
from whence.selection import Selection
from whence.store.answers import ActivityInfo, Answer, Step
from whence.story import Story
from whence.story._words import activity_text, cells_of

NASTY = "<script>alert('x')</script> & \"q\""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[wh.Log]:
    monkeypatch.chdir(tmp_path)
    with wh.open(tmp_path / "project.whence") as opened:
        yield opened


def program(log: wh.Log) -> None:
    """raw.csv -> raw (3, 2) -> fit (2,) -> predict (3,) -> scores.npy -> report.html."""
    Path("raw.csv").write_text("1,2\n3,4\n5,6\n")
    with log.activity("train", command="python train.py", agent="ada"):
        raw = np.loadtxt("raw.csv", delimiter=",")
        fit = log.track(lambda data: data.mean(axis=0), name="fit")
        predict = log.track(lambda data, weights: data @ weights, name="predict")
        np.save("scores.npy", predict(raw, fit(raw)))
    with log.activity("report", command="python report.py", agent="bob") as activity:
        Path("report.html").write_text("<p>x")
        activity.used("scores.npy").generated("report.html")


def shape_of(text: str) -> str:
    """A story without when and by whom, which differ."""
    return re.sub(r" \((?:[^()]*, )?run by [^()]*\)", "", text)


def test_a_story_says_what_was_done(log: wh.Log) -> None:
    program(log)
    story = log.explain("predict", "1")
    assert shape_of(str(story)).splitlines()[:5] == [
        "Where predict[1] came from",
        "1. predict[1] came from raw[1, 0:2], fit[0:2] by `predict`.",  # of each step its own cells
        "2. fit[0:2] came from raw[0:3, 0:2] by `fit`.",
        "3. raw[0:3, 0:2] came from raw.csv@v1 by `np.loadtxt`.",
        "Sources: raw[0:3, 0:2], raw.csv@v1.",
    ]
    assert str(story).endswith("Every step is exact.")
    assert re.search(r"by `predict` \(predict#3, .*test_story\.py:\d+, run by ", str(story))  # where it was called
    assert story.answer == log.backward("predict", "1")


def test_a_story_says_what_is_not_exact_and_who_did_it(log: wh.Log) -> None:
    program(log)
    story = log.explain("report.html")
    assert "by `python report.py` (report#6, run by bob on 2" in str(story)
    doubt = "'scores.npy@v1' from 'predict' by np.save#4: it is known only as a whole"
    assert f"Not exact: {doubt}." in str(story.sentences()[1])
    assert str(story).splitlines()[-1] == f"Not exact: {doubt}."
    assert {"ada", "bob"} <= set(story.as_dict()["people"])


def test_a_story_goes_forward(log: wh.Log) -> None:
    program(log)
    lines = shape_of(str(log.explain("raw", "1,:", direction="forward"))).splitlines()
    assert lines[0] == "Where raw[1, 0:2] went"
    assert "raw[1, 0:2] went into predict[1] by `predict`." in lines[2]
    assert lines[5] == "5. scores.npy@v1 went into report.html@v1 by `python report.py`."


def test_stories_are_saved_and_need_nothing_else(log: wh.Log) -> None:
    program(log)
    story = log.explain("predict", "1")
    for ending in ("html", "svg", "csv", "json", "txt"):
        story.save(f"out/story.{ending}")
    assert Path("out/story.txt").read_text() == f"{story}\n"
    assert json.loads(Path("out/story.json").read_text())["steps"][0]["count"] == 2
    table = Path("out/story.csv").read_text().splitlines()
    assert table[0] == "step,from,to,count,cells,activity,exact,reason"
    assert len(table) == 1 + len(story.answer.steps)
    assert table[1].startswith("1,predict,")
    page, picture = Path("out/story.html").read_text(), Path("out/story.svg").read_text()
    tree = ET.fromstring(picture)
    assert len(tree.findall(".//{http://www.w3.org/2000/svg}image")) == 3
    for text in (page, picture):
        assert "<script" not in text
        assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert story._repr_html_() in page
    with pytest.raises(BadType, match=r"story\.pdf: the suffix chooses the format; it must be one of \.html, \.svg"):
        story.save("story.pdf")
    with pytest.raises(StoreError, match="cannot be written"):
        story.save("raw.csv/story.txt")


def test_nothing_in_a_name_is_markup(log: wh.Log) -> None:
    log.array(NASTY, shape=(2,))
    log.array("end", shape=(2,))
    log.array("source", shape=(2,))
    log.register_operation(f"op {NASTY}", [NASTY], ["end"], capture=["identity"])
    with log.activity(f"act {NASTY}", command=f"sh -c {NASTY}\x00\n`", agent="eve </p>") as activity:
        activity.used("source").generated(NASTY)
    for text in (
        log.explain("end", "0").to_html(),
        log.explain("source", "0", direction="forward")._repr_html_(),
        log.erasure("source", "0").to_html(),
        log.backward("end", "0")._repr_html_(),
    ):
        assert "<script" not in text
        assert "eve </p>" not in text
        assert "\x00" not in text
    ET.fromstring(log.explain("end", "0").to_svg())


def test_a_story_without_steps(log: wh.Log) -> None:
    log.array("A", shape=(2,))
    assert "Where A[1] came from was not recorded." in str(log.explain("A", "1"))
    assert "No recorded step used A[1]." in str(log.explain("A", "1", direction="forward"))
    assert "The question names no cells." in str(log.explain("A", "0:0"))
    ET.fromstring(log.explain("A", "1").to_svg())
    assert "is a source: nothing recorded made it" in str(_file(log))
    with pytest.raises(BadCells, match="say which cells of 'A' are meant"):
        log.explain("A")


def _file(log: wh.Log) -> object:
    Path("data.csv").write_text("1")
    log.array("B", shape=())
    with log.activity("read") as activity:
        activity.used("data.csv").generated("B")
    return log.explain("data.csv")


def test_a_long_story_says_how_much_it_leaves_out() -> None:
    """The last of 70 steps is not exact."""
    steps = [
        Step(f"a{place + 1}", f"a{place}", "backward", None, 1, "boxes", 0.0, "by chance" if place == 69 else None)
        for place in range(70)
    ]
    story = Story("a0", Selection.all(()), "backward", Answer({}, steps=steps))
    assert len(story.sentences()) == 41
    left = "... and 30 more, 1 of them not exact: `story.answer.steps` and `whence explain --json` have all of them."
    assert left in str(story)
    assert ">10 more steps: story.answer.steps has all of them</text>" in story.to_svg()
    ET.fromstring(story.to_svg())
    short = Story("a0", Selection.all(()), "backward", Answer({}, steps=steps[:40]))
    assert "more" not in str(short)
    assert "more step" not in short.to_svg()


def test_words() -> None:
    many = wh.Selection.of([(i, i) for i in range(9)], (9, 9))
    assert cells_of("X", many) == "X[0, 0; 1, 1; 2, 2; 3, 3; and 5 more]"
    assert activity_text(ActivityInfo("f#1", "f")) == "`f#1`"
    assert activity_text(ActivityInfo("f#1", "f", place="a.py:3", failed="no\nspace")) == (
        "`f` (f#1, a.py:3, which failed: no\\nspace)"
    )


# --- erasure


def test_an_erasure_report_has_all_that_was_reached(log: wh.Log) -> None:
    program(log)
    report = log.erasure("raw", "1,:")
    assert [each.name for each in report.items] == [
        "raw", "raw.csv@v1", "fit", "predict", "scores.npy@v1", "report.html@v1",
    ]  # fmt: skip
    assert {each.name for each in report.items} - {"raw", "raw.csv@v1"} == {*log.forward("raw", "1,:").reached} - {
        "raw"
    }
    does = {each.name: shape_of(each.do) for each in report.items}
    assert does["raw"] == "delete these cells"
    assert does["raw.csv@v1"] == "delete from it what raw has of them, and write it again"
    assert does["fit"] == "retrain by `fit`"
    assert does["predict"] == "recompute these cells by `predict`"
    assert does["scores.npy@v1"] == "delete the file, or make it again (retrain) by `python train.py`"
    assert does["report.html@v1"] == "delete the file, or make it again by `python report.py`"
    assert report.precise
    assert [each.much for each in report.items[:3]] == ["2 cells", "all of it", "2 cells"]


def test_an_erasure_report_says_what_is_not_sure(log: wh.Log) -> None:
    for name, shape in (("A", (3,)), ("B", (3,)), ("C", (3,)), ("D", (3,))):
        log.array(name, shape=shape)
    with log.activity("mix") as activity:
        activity.used("A").generated("B", derived_from=["A"])
    log.lineage("C", "B", "identity")
    log.lineage("D", "A", "identity")
    report = log.erasure("A", "0")
    exact = {each.name: each.reason is None for each in report.items}
    assert exact == {"A": True, "B": False, "C": False, "D": True}  # C came from what may be too much
    assert not report.precise
    report.save("report.json")
    found = json.loads(Path("report.json").read_text())
    assert [each["dataset"] for each in found["items"]] == [each.name for each in report.items]
    assert found["items"][0]["boxes"] == [[[0, 0]]]
    report.save("report.html")
    assert "To erase A[0]" in Path("report.html").read_text()
    with pytest.raises(BadType, match=r"report\.svg"):
        report.save("report.svg")


# --- the shell


def run(*arguments: str) -> str:
    result = CliRunner().invoke(whence, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_shell_explains_and_reports(log: wh.Log) -> None:
    program(log)
    told = log.explain("predict", "1")
    assert run("explain", "predict", "1", "--save", "story.svg") == f"{told}\n"
    assert Path("story.svg").read_text() == told.to_svg()
    assert json.loads(run("explain", "raw", "0,0", "--forward", "--json"))["direction"] == "forward"
    run("forward", "raw", "1,:", "--report", "erasure.html", "--steps")
    assert Path("erasure.html").read_text() == log.erasure("raw", "1,:").to_html()
    answer = json.loads(run("backward", "report.html", "--json"))
    assert not answer["precise"]
    assert "known only as a whole" in answer["reason"]
    assert [step["how"] for step in answer["steps"]][:2] == ["activity", "whole"]


def test_the_shell_asks_about_values_alone(log: wh.Log) -> None:
    """The cells that a mask was made of decide, and go in nowhere."""
    some = log.track(lambda a, mask: a[mask > 0.5], name="some", lineage="value+selection")
    some(np.arange(3.0), np.array([0.1, 0.9, 0.8]))
    for lineage, wanted in (("value", {"a"}), ("value+selection", {"a", "mask"})):
        answer = json.loads(run("backward", "some", "0", "--lineage", lineage, "--json"))
        assert {each["dataset"] for each in answer["answers"] if each["count"]} == wanted
        told = json.loads(run("explain", "some", "0", "--lineage", lineage, "--json"))
        assert any("mask[" in each for each in told["sentences"]) == ("mask" in wanted)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("backward", "raw"), "say which cells of 'raw' to ask about"),
        (("backward", "raw", "--row", "city=Oslo"), "only tables have rows; 'raw' is an array"),
        (("backward", "raw", "--row", "city"), "--row is given as COLUMN=VALUE"),
        (("explain", "raw", "0,0", "--row", "city=Oslo"), "either CELLS (0,0) or --row"),
        (("backward", "raw", "0,0", "--columns", "city"), "only tables have columns"),
        (("forward", "raw", "0,0", "--report", "x.pdf"), "x.pdf: the suffix chooses the format"),
        (("forward", "raw", "0,0", "--to", "fit", "--report", "x.html"), "leave out --to"),
    ],
)
def test_the_shell_says_what_is_wrong(log: wh.Log, arguments: tuple[str, ...], message: str) -> None:
    program(log)
    result = CliRunner().invoke(whence, list(arguments))
    assert result.exit_code != 0
    assert message in result.stderr
