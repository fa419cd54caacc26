"""The commands, run as a user runs them: arguments in; text, JSON, files and a status out."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner
from tests.commands import run, run_json

import whence as wh
from whence.cli._group import COMMANDS, whence


@pytest.fixture
def log_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log in the current directory: pixels (4 x 3) -> sums (4) -> total (no axes)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHENCE_LOG", raising=False)
    path = tmp_path / "project.whence"
    with wh.open(path) as log:
        log.array("pixels", shape=(4, 3))
        log.array("sums", shape=(4,))
        log.array("total", shape=())
        sums = np.array([(i, i, j) for i in range(4) for j in range(3)])
        log.register_operation("sum", ["pixels"], ["sums"], capture=[sums], op_args={"axis": 1})
        log.register_operation("sum", ["sums"], ["total"], capture=[np.arange(4).reshape(4, 1)])
    return path


@pytest.mark.parametrize("name", COMMANDS)
def test_every_help_has_an_example(name: str) -> None:
    assert f"  whence {name}" in run(name, "--help").output.partition("Options:")[0].partition("\n")[2]


def test_help_lists_every_command_with_a_sentence() -> None:
    result = run("--help")
    assert result.exit_code == 0
    context = click.Context(whence)
    for name in COMMANDS:
        command = whence.get_command(context, name)
        assert command is not None
        assert f"\n  {name} " in result.output
        assert command.get_short_help_str().endswith((".", "..."))


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help(name: str) -> None:
    result = run(name, "--help")
    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: whence {name}")


def test_unknown_command_suggests_the_nearest() -> None:
    result = run("backwards")
    assert result.exit_code == 2
    assert "there is no command 'backwards'; did you mean 'backward'?" in result.stderr


def test_unknown_command_far_from_all_points_to_help() -> None:
    result = run("xyzzy")
    assert result.exit_code == 2
    assert "whence --help" in result.stderr


def test_wrong_usage_is_status_2(log_path: Path) -> None:
    assert run("backward", "sums").exit_code == 2
    assert run("ls", "--nonsense").exit_code == 2


def test_no_log_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "stranger.whence").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.delenv("WHENCE_LOG", raising=False)
    result = run("ls")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "--log" in result.stderr
    assert "WHENCE_LOG" in result.stderr


def test_a_question_makes_no_log(tmp_path: Path) -> None:
    missing = tmp_path / "missing.whence"
    result = run("ls", "--log", missing)
    assert result.exit_code == 1
    assert str(missing) in result.stderr
    assert not missing.exists()


def test_the_log_is_found_above(log_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = log_path.parent / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert "pixels" in run("ls").output


def test_the_log_is_found_from_within(log_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(log_path)
    assert "pixels" in run("ls").output


def test_the_log_comes_from_the_environment(log_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = log_path.parent.parent
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("WHENCE_LOG", str(log_path))
    assert "pixels" in run("ls").output


def test_two_logs_are_one_too_many(log_path: Path) -> None:
    wh.open(log_path.with_name("other.whence")).close()
    result = run("ls")
    assert result.exit_code == 1
    assert "other.whence, project.whence" in result.stderr
    assert "--log" in result.stderr
    assert "pixels" in run("ls", "--log", log_path).output


def test_ls(log_path: Path) -> None:
    lines = run("ls").output.splitlines()
    assert lines[0].split("\t") == ["dataset", "kind", "shape", "created"]
    shapes = {line.split("\t")[0]: line.split("\t")[2] for line in lines[1:]}
    assert shapes == {"pixels": "4 x 3", "sums": "4", "total": "scalar"}


def test_ls_of_a_kind_that_the_log_lacks_says_which_it_has(log_path: Path) -> None:
    result = run("ls", "--kind", "activity")
    assert result.exit_code == 1
    assert "there is no dataset of kind 'activity': this log has array; --operations lists" in result.stderr


def test_ls_without_a_match_says_so(log_path: Path) -> None:
    for options in ([], ["--operations"]):
        result = run("ls", "nowhere.csv", *options, "--log", str(log_path))
        assert "matches; `whence ls`" in result.stderr, result.stderr
        assert "matches" not in result.stdout


def test_ls_json(log_path: Path) -> None:
    datasets = run_json("ls")["datasets"]
    assert {each["name"]: each["shape"] for each in datasets} == {"pixels": [4, 3], "sums": [4], "total": []}


def test_ls_operations(log_path: Path) -> None:
    assert "sums = sum(pixels, axis=1)" in run("ls", "--operations").output
    operations = run_json("ls", "--operations")["operations"]
    assert [(each["name"], each["inputs"], each["outputs"]) for each in operations] == [
        ("sum", ["pixels"], ["sums"]),
        ("sum", ["sums"], ["total"]),
    ]


def test_show(log_path: Path) -> None:
    output = run("show", "sums").output
    assert "sums <- pixels" in output
    assert "total <- sums" in output
    shown = run_json("show", "sums")
    assert shown["dataset"]["shape"] == [4]
    assert [each["input"] for each in shown["derived_from"]] == ["pixels"]
    assert [each["output"] for each in shown["led_to"]] == ["total"]
    assert shown["derived_from"][0]["tuples"] == 12


def test_backward(log_path: Path) -> None:
    assert run("backward", "sums", "1:3", "--to", "pixels").output == "dataset\tcells\npixels\t1:3,0:3\n"


def test_negative_indices_count_from_the_end(log_path: Path) -> None:
    assert run("backward", "sums", "-1", "--to", "pixels").output == "dataset\tcells\npixels\t3,0:3\n"
    assert run("forward", "pixels", "-2:,-1", "--to", "sums").output == "dataset\tcells\nsums\t2:4\n"
    assert run_json("backward", "sums", "-1")["cells"] == "-1"
    assert run("explain", "sums", "-1").exit_code == 0
    assert "No such option" in run("backward", "sums", "--nope").stderr


def test_contributions_above_a_level(log_path: Path) -> None:
    with wh.open(log_path) as log:
        log.array("score", shape=(1,))
        weights = wh.explain.from_weights([[0.9, 0.3, 0.0, 0.6]], (1,), (4,), levels=(0.1, 0.5), relative=False)
        log.lineage("score", "sums", weights)
    asked = {
        ("backward", "score", "0", "--to", "sums", "--above", "0.5"): ["sums\t0", "sums\t3"],
        ("forward", "sums", "1", "--to", "score", "--above", "0.5"): [],
        ("query", "score", "sums", "--cells", "0", "--above", "0.1"): ["sums\t0:2", "sums\t3"],
    }
    for words, cells in asked.items():
        assert run(*words).stdout.splitlines() == ["dataset\tcells", *cells]
    assert "levels 0.1, 0.5" in run("backward", "score", "0", "--above", "0.3").stderr


def test_backward_to_every_source(log_path: Path) -> None:
    answer = run_json("backward", "total", "")
    assert answer["direction"] == "backward"
    assert answer["dataset"] == "total"
    assert answer["answers"] == [
        {"dataset": "pixels", "shape": [4, 3], "count": 12, "boxes": [[[0, 3], [0, 2]]]},
    ]


def test_query_follows_a_path_either_way(log_path: Path) -> None:
    found = run_json("query", "total", "sums", "pixels", "--cells", "()")
    assert (found["path"], found["cells"]) == (["total", "sums", "pixels"], "()")
    assert [(each["dataset"], each["count"]) for each in found["answers"]] == [("pixels", 12)]
    assert run("query", "pixels", "sums", "--cells", "2,1").output.split() == ["dataset", "cells", "sums", "2"]
    refused = run("query", "pixels", "nothing", "--cells", "2,1")
    assert refused.exit_code == 1
    assert "nothing" in refused.stderr


def test_forward(log_path: Path) -> None:
    assert run("forward", "pixels", "2,1", "--to", "sums").output == "dataset\tcells\nsums\t2\n"
    assert run("forward", "pixels", ":,0", "--to", "total").output == "dataset\tcells\ntotal\t()\n"


def test_an_answer_can_be_asked_again(log_path: Path) -> None:
    text = run("backward", "sums", "3", "--to", "pixels").output.splitlines()[1].split("\t")[1]
    assert run("forward", "pixels", text, "--to", "sums").output.endswith("\nsums\t3\n")


def test_out_draws_a_picture(log_path: Path, tmp_path: Path) -> None:
    from PIL import Image

    picture = tmp_path / "pictures" / "pixels.png"
    assert run("backward", "sums", "1", "--to", "pixels", "--out", picture).exit_code == 0
    with Image.open(picture) as image:
        assert image.format == "PNG"
        assert min(image.size) > 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("backward", "sum", "0"), "'sums'"),
        (("backward", "sums", "9", "--to", "pixels"), "9"),
        (("backward", "sums", "0,0", "--to", "pixels"), "(4,)"),
        (("backward", "sums", "zero", "--to", "pixels"), "zero"),
        (("backward", "sums", "0", "--to", "pixel"), "'pixels'"),
        (("forward", "total", "", "--to", "pixels"), "total"),
        (("show", "pixls"), "'pixels'"),
        (("delete", "pixls", "--yes"), "'pixels'"),
    ],
)
def test_a_mistake_is_a_message_and_status_1(log_path: Path, arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_check_of_a_sound_log(log_path: Path) -> None:
    assert run("check").exit_code == 0
    assert run_json("check")["ok"] is True


def test_check_of_a_damaged_log(log_path: Path) -> None:
    blobs = [each for each in log_path.rglob("*") if each.is_file() and "catalog" not in each.name]
    largest = max(blobs, key=lambda each: each.stat().st_size)
    content = bytearray(largest.read_bytes())
    content[len(content) // 2] ^= 0x10
    largest.chmod(0o644)
    largest.write_bytes(content)
    result = run("check")
    assert result.exit_code == 1
    assert result.output.strip()
    document = run("check", "--json")
    assert document.exit_code == 1
    assert json.loads(document.stdout)["ok"] is False


def test_delete_asks_first(log_path: Path) -> None:
    refused = CliRunner().invoke(whence, ["delete", "total"], input="n\n")
    assert refused.exit_code == 1
    assert "total" in run("ls").output
    accepted = CliRunner().invoke(whence, ["delete", "total"], input="y\n")
    assert accepted.exit_code == 0
    assert "total" not in run("ls").output


def test_delete_keeps_what_others_came_from(log_path: Path) -> None:
    result = run("delete", "sums", "--yes")
    assert result.exit_code == 1
    assert "'total'" in result.stderr
    assert run("backward", "total", "", "--to", "pixels").exit_code == 0
    assert run("delete", "sums", "--yes", "--force").exit_code == 0
    assert "sums" not in run("ls").output


def test_delete_then_gc(log_path: Path) -> None:
    assert run("delete", "total", "--yes").exit_code == 0
    assert run_json("gc").keys() >= {"blobs", "bytes"}
    assert run("check").exit_code == 0
    assert run("backward", "sums", "0", "--to", "pixels").exit_code == 0


def test_a_real_process(log_path: Path) -> None:
    command = Path(sys.executable).with_name("whence")
    asked = subprocess.run(
        [command, "backward", "sums", "0", "--to", "pixels", "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(asked.stdout)["answers"][0]["count"] == 3
    mistaken = subprocess.run([command, "show", "nothing"], capture_output=True, text=True, check=False)
    assert mistaken.returncode == 1
    assert mistaken.stdout == ""
    assert mistaken.stderr.startswith("Error: ")
    assert subprocess.run([command, "lss"], capture_output=True, check=False).returncode == 2


def test_a_closed_pipe_is_no_error(log_path: Path) -> None:
    command = Path(sys.executable).with_name("whence")
    run = subprocess.run(f"'{command}' ls | head -1", shell=True, capture_output=True, text=True, check=True)
    assert run.stdout.startswith("dataset")
    assert run.stderr == ""


def test_errors_of_the_shell_speak_shell(log_path: Path) -> None:
    told = run("delete", "pixels", "--yes")
    assert told.exit_code == 1
    assert "or give --force to cut its lineage" in told.stderr
    assert "force=True" not in told.stderr
    told = run("backward", "sums")
    assert "say which cells of 'sums' to ask about: 3,4 or 0:10,5 or ... for all of them" in told.stderr
    told = run("ls", "--log", "postgresql://nobody@127.0.0.1:1/none")
    assert "with --blobs" in told.stderr
    told = run("segment", "--src", "total", "--dst", "pixels")
    assert "no path leads back from --dst to --src; the paths lead the other way: swap --src and --dst" in told.stderr


@pytest.mark.parametrize("wanted", [True, False])
def test_tables_on_a_terminal_have_colours_unless_none_are_wanted(log_path: Path, wanted: bool) -> None:
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    environment |= {"TERM": "xterm-256color"} | ({} if wanted else {"NO_COLOR": "1"})
    here, there = pty.openpty()
    command = [sys.executable, "-c", "from whence.cli import main; main()", "ls"]
    with subprocess.Popen(command, cwd=log_path.parent, env=environment, stdout=there, stderr=there):
        os.close(there)
        written = b""
        with contextlib.suppress(OSError):  # how Linux says that the other side is closed
            while data := os.read(here, 4096):
                written += data
    os.close(here)
    assert b"pixels" in written
    assert b"\x1b[1" in written  # the heading is bold, which is no colour
    assert not re.search(rb"\x1b\[[0-9;]*\b(3[0-8]|9[0-7])\b", written) or wanted


def test_the_shell_completes_commands_and_options() -> None:
    def completed(*words: str) -> list[str]:
        environment = os.environ | {
            "_WHENCE_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)
        }  # fmt: skip
        command = [sys.executable, "-c", "from whence.cli import main; main()"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=120)
        return [line.partition(",")[2] for line in done.stdout.splitlines()]

    assert completed("whence", "ba") == ["backward"]
    assert "--save" in completed("whence", "explain", "--s")
