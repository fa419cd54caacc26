"""Several `whence run` at the same time in one project: each is credited with what its own processes did."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import whence as wh
from whence.interop.preload import library
from whence.interop.run_registry import DIRECTORY, Registered

WHENCE = Path(sys.executable).with_name("whence")
# Writes its file between two meetings with all others, so that all are running while each one writes.
MEET = """
import os, sys, time
from pathlib import Path
def meet(name, count):
    Path(f".{name}-{sys.argv[1]}").touch()
    while len(list(Path().glob(f".{name}-*"))) < count:
        time.sleep(0.005)
"""
PROGRAM = f"""{MEET}
me, count = sys.argv[1], int(sys.argv[2])
data = Path("data.csv").read_text()
meet("begun", count)
with open(f"models/{{me}}.tmp", "w") as file:
    file.write(data + me)
os.replace(f"models/{{me}}.tmp", f"models/{{me}}.bin")
meet("written", count)
"""
PARENT = f"""{MEET}
import subprocess
me, count = sys.argv[1], int(sys.argv[2])
meet("begun", count)
code = "import sys; open('models/' + sys.argv[1] + '.bin', 'w').write(open('data.csv').read() + sys.argv[1])"
subprocess.run([sys.executable, "-c", code, me], check=True)
meet("written", count)
"""
SHELL = """
touch .begun-$1
while [ $(ls -d .begun-* | wc -l) -lt $2 ]; do sleep 0.01; done
echo $1 > models/$1.bin
touch .written-$1
while [ $(ls -d .written-* | wc -l) -lt $2 ]; do sleep 0.01; done
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHENCE_LOG", raising=False)
    (tmp_path / "models").mkdir()
    (tmp_path / "data.csv").write_text("1,2,3")
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "parent.py").write_text(PARENT)
    (tmp_path / "script.sh").write_text(SHELL)
    wh.open(tmp_path / "project.whence").close()
    return tmp_path


def start(
    name: str, *command: object, outputs: tuple[str, ...] = (), opens: bool = True
) -> subprocess.Popen[str]:  # fmt: skip
    named = [word for each in outputs for word in ("--out", each)] + ([] if opens else ["--no-opens"])
    arguments = ["run", "--json", f".{name}.json", *named, "--", *(str(each) for each in command)]
    return subprocess.Popen([str(WHENCE), *arguments], stderr=subprocess.PIPE, text=True)


def wait_for(pattern: str) -> None:
    for _ in range(3000):
        if any(Path(DIRECTORY).glob(pattern)):
            return
        time.sleep(0.01)
    raise AssertionError(f"{pattern} did not come to be")


def finish(started: dict[str, subprocess.Popen[str]]) -> dict[str, Any]:
    found = {}
    for name, process in started.items():
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
        found[name] = {**json.loads(Path(f".{name}.json").read_text()), "said": said}
    return found


def test_programs_and_their_subprocesses_are_credited_with_their_own_files(project: Path) -> None:
    names = ["one", "two", "three", "four"]
    programs = dict(zip(names, ["program.py", "program.py", "parent.py", "parent.py"], strict=True))
    done = finish({name: start(name, sys.executable, programs[name], name, 4) for name in names})
    for name, told in done.items():
        assert told["generated"] == {f"models/{name}.bin": f"models/{name}.bin@v1"}
        assert told["used"] == {"data.csv": "data.csv@v1", programs[name]: f"{programs[name]}@v1"}
        assert told["uncertain"] == told["unknown"] == []
        assert told["removed"] == {}
    with wh.open("project.whence") as log:
        assert len(log.graph.of_kind("activity")) == 4
        for name in names:
            assert "data.csv@v1" in log.graph.ancestors(f"models/{name}.bin@v1")
    assert not (project / DIRECTORY).exists()


def test_what_no_audit_sees_is_left_out_with_a_word_unless_it_is_named(project: Path) -> None:
    done = finish(
        {
            "one": start("one", sys.executable, "program.py", "one", 3),
            "two": start("two", "sh", "script.sh", "two", 3, opens=False),
            "three": start("three", "sh", "script.sh", "three", 3, outputs=("models/three.bin",), opens=False),
        }
    )
    assert list(done["one"]["generated"]) == ["models/one.bin"]
    assert done["two"]["generated"] == {}
    assert "models/two.bin" in done["two"]["uncertain"]
    assert "models/one.bin" not in done["two"]["uncertain"]
    assert "something else may have changed" in done["two"]["said"]
    assert list(done["three"]["generated"]) == ["models/three.bin"]
    with wh.open("project.whence") as log:
        made = [edge for edge in log.graph.edges if edge[1] == "wasGeneratedBy"]
        assert sorted(edge[0] for edge in made) == ["models/one.bin@v1", "models/three.bin@v1"]
        activity = log.graph[done["two"]["activity"]]
        assert "models/two.bin" in activity["perhaps_changed_by_others"]


@pytest.mark.skipif(library() is None, reason="the library is for Linux")
def test_what_other_programs_are_seen_to_open_is_theirs(project: Path) -> None:
    done = finish({name: start(name, "sh", "script.sh", name, 2) for name in ("one", "two")})
    for name, told in done.items():
        assert told["generated"] == {f"models/{name}.bin": f"models/{name}.bin@v1"}
        assert told["uncertain"] == []


def test_runs_one_after_the_other_are_credited_with_what_changed(project: Path) -> None:
    for name in ("one", "two"):
        done = finish({name: start(name, "sh", "script.sh", name, 1)})
        assert done[name]["generated"] == {f"models/{name}.bin": f"models/{name}.bin@v1"}


def test_a_short_run_during_a_long_one_leaves_it_what_it_changed_alone(project: Path) -> None:
    """The shell script writes one file before and one after the other run; only the time in between is uncertain."""
    script = (
        "echo a > before.txt; sleep 0.2; touch .ready; while [ ! -e .go ]; do sleep 0.01; done; "
        "sleep 0.2; echo b > after.txt"
    )
    long = start("long", "sh", "-c", script)
    wait_for("../.ready")
    short = finish({"short": start("short", sys.executable, "program.py", "short", 1)})["short"]
    Path(".go").touch()
    told = finish({"long": long})["long"]
    assert list(short["generated"]) == ["models/short.bin"]
    assert sorted(told["generated"]) == ["after.txt", "before.txt"]
    assert told["uncertain"] == []


def test_what_another_run_made_is_used_not_made(project: Path) -> None:
    wait = "import time, os\nwhile not os.path.exists('made.txt'): time.sleep(0.01)\n"
    reader = start(
        "reader", sys.executable, "-c", wait + "time.sleep(0.1); open('read.txt', 'w').write(open('made.txt').read())"
    )
    wait_for("*/notes")
    writer = start("writer", sys.executable, "-c", "open('made.txt', 'w').write('x')")
    done = finish({"writer": writer, "reader": reader})
    assert done["writer"]["generated"] == {"made.txt": "made.txt@v1"}
    assert done["reader"]["generated"] == {"read.txt": "read.txt@v1"}
    assert done["reader"]["used"] == {"made.txt": "made.txt@v1"}


def test_two_runs_that_write_one_file_do_not_get_each_others_content(project: Path) -> None:
    code = f"{MEET}\nmeet('begun', 2); open('shared.txt', 'a').write(sys.argv[1]); meet('written', 2)"
    done = finish({name: start(name, sys.executable, "-c", code, name) for name in ("one", "two")})
    for told in done.values():
        assert told["generated"] == {}
        assert told["uncertain"] == ["shared.txt"]


def test_a_run_inside_a_run_has_its_files_and_the_outer_one_the_rest(project: Path) -> None:
    inner = f"{WHENCE} run --json .inner.json -- sh -c 'echo 1 > inner.txt'"
    told = finish({"outer": start("outer", "sh", "-c", f"{inner}; echo 2 > outer.txt")})["outer"]
    assert list(json.loads(Path(".inner.json").read_text())["generated"]) == ["inner.txt"]
    assert list(told["generated"]) == ["outer.txt"]
    assert told["used"] == {}


def test_a_run_that_was_killed_is_no_rival_of_later_ones(project: Path) -> None:
    killed = start("killed", sys.executable, "-c", "import time; time.sleep(60)")
    wait_for("*/notes")
    with Registered(project) as registered:
        assert len(registered.others()) == 1
        child = int(
            subprocess.run(["ps", "-o", "pid=", "--ppid", str(killed.pid)], capture_output=True, check=True).stdout
        )
        killed.send_signal(signal.SIGKILL)
        os.kill(child, signal.SIGKILL)
        killed.communicate()
        assert [other.ended is None for other in registered.others()] == [False]
    done = finish({"next": start("next", "sh", "script.sh", "next", 1)})
    assert list(done["next"]["generated"]) == ["models/next.bin"]
    assert not (project / DIRECTORY).exists()


def test_a_run_that_leaves_takes_no_notes_from_one_that_still_needs_them(project: Path) -> None:
    """The commands of both have ended; one is recorded while the other has not looked at its rival's notes yet."""
    slow, quick = Registered(project), Registered(project)
    slow.end()
    quick.end()
    quick.generated.append("models/quick.bin")
    quick.leave()
    (other,) = slow.others()
    assert other.notes.wrote("models/quick.bin")
    slow.leave()
    assert not (project / DIRECTORY).exists()


def test_threads_are_all_seen(project: Path) -> None:
    code = (
        "import threading\n"
        "def work(n):\n    for i in range(20):\n        open(f'models/{n}-{i}', 'w').write('x')\n"
        "threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]\n"
        "[each.start() for each in threads]; [each.join() for each in threads]"
    )
    sleeper = start("sleeper", "sleep", "2")
    wait_for("*/started")
    told = finish({"threads": start("threads", sys.executable, "-c", code), "sleeper": sleeper})["threads"]
    assert len(told["generated"]) == 160
    assert told["uncertain"] == []


@pytest.mark.parametrize(
    ("mode", "used", "generated"),
    [
        ("r", True, False), ("r+", True, True), ("w", False, True), ("w+", False, True), ("a", True, True),
        ("a+", True, True),
    ],
)  # fmt: skip
def test_how_a_file_is_opened_says_whether_its_old_content_is_used(
    project: Path, mode: str, used: bool, generated: bool
) -> None:
    act = "file.read()" if mode == "r" else "file.write('4')"
    told = finish({"x": start("x", sys.executable, "-c", f"with open('data.csv', '{mode}') as file: {act}")})["x"]
    first = "v1" if used else None
    assert told["used"] == ({"data.csv": "data.csv@v1"} if used else {})
    assert told["generated"] == ({"data.csv": f"data.csv@{'v2' if first else 'v1'}"} if generated else {})
    assert told["unknown"] == []


@pytest.mark.parametrize("mode", ["r+", "a", "x"])
def test_a_file_that_is_opened_and_left_as_it_is_was_not_generated(project: Path, mode: str) -> None:
    code = f"try:\n    open('data.csv', '{mode}').close()\nexcept FileExistsError:\n    print('there')"
    told = finish({"x": start("x", sys.executable, "-c", code)})["x"]
    assert told["used"] == ({} if mode == "x" else {"data.csv": "data.csv@v1"})
    assert told["generated"] == {}


def test_what_one_process_read_and_another_of_the_run_rewrote_is_known(project: Path) -> None:
    code = (
        "import subprocess, sys\nopen('data.csv').read()\n"
        "subprocess.run([sys.executable, '-c', \"open('data.csv', 'w').write('new')\"])"
    )
    told = finish({"x": start("x", sys.executable, "-c", code)})["x"]
    assert told["used"] == {"data.csv": "data.csv@v1"}
    assert told["generated"] == {"data.csv": "data.csv@v2"}
    with wh.open("project.whence") as log:
        assert log.graph["data.csv@v1"]["size"] == len("1,2,3")


def test_a_program_that_rewrites_many_files_reads_its_notes_once(project: Path) -> None:
    """What it looked at before, another process may have read: only what is new of the notes is looked at again."""
    for number in range(50):
        (project / "models" / f"{number}").write_text("old")
    code = (
        "import subprocess, sys\n"
        "open('models/7').read()\n"
        'inner = \'for n in range(50): open(f"models/{n}", "w").write(f"new {n}")\'\n'
        "subprocess.run([sys.executable, '-c', inner], check=True)"
    )
    told = finish({"x": start("x", sys.executable, "-c", code)})["x"]
    assert told["used"] == {"models/7": "models/7@v1"}
    assert len(told["generated"]) == 50
    assert told["generated"]["models/7"] == "models/7@v2"
    assert told["generated"]["models/8"] == "models/8@v1"
