"""Running a command, and recording the files that it read and wrote."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.errors import BadType, StoreError
from whence.graph.programs import program
from whence.interop import preload
from whence.interop._audit.sitecustomize import PAUSED
from whence.interop.git import head_of
from whence.interop.run_files import Scan, Seen
from whence.interop.run_notes import Notes
from whence.interop.run_registry import Registered
from whence.store.catalog.clock import now
from whence.store.recording.artifacts import artifact_name, project_of

if TYPE_CHECKING:
    from whence.log import Log


@dataclass(frozen=True, slots=True)
class Run:
    """The record of a command."""

    activity: str
    command: str
    exit_code: int
    used: Mapping[str, str]  # file: its version in the graph
    generated: Mapping[str, str]
    removed: Mapping[str, str | None]  # file: its last version, if it was recorded
    unknown: tuple[str, ...]  # files that were read and changed, so that the content that was read is unknown
    uncertain: tuple[str, ...]  # files that something else may have changed; not recorded as generated
    unseen: tuple[str, ...]  # sentences about files that could not be observed

    def as_dict(self) -> dict[str, Any]:
        """Return this as a dictionary for JSON."""
        return asdict(self)


def run(
    log: Log, command: Sequence[str], *, inputs: Sequence[str] = (), outputs: Sequence[str] = (),
    agent: str | None = None, opens: bool = True,
) -> Run:  # fmt: skip
    """Run a command unchanged, and record it as an activity with its inputs and outputs.

    Only files of the project, the directory that contains the log, are recorded. An audit hook notes which files Python
    programs open; on Linux, unless `opens=False`, a small library that is loaded into each program notes which files
    any program and its libraries open. For a program that neither observes, changed files count as outputs, and files
    among its arguments (also `--data=a.csv`) as inputs; `unseen` says so. A file that something else may have
    changed, a concurrent run or a program that no one observes, is not recorded as generated, and is listed in
    `uncertain`. `inputs` and `outputs` add files, also outside of the project.
    """
    if not command:
        raise BadType("there is no command to run: whence run -- python train.py")
    found = shutil.which(command[0])
    if found is None:
        raise StoreError(f"there is no program {command[0]!r}: check its name, and PATH")
    project = Path(os.path.realpath(project_of(log.where)))
    activity = log.activity(program(command)[0], command=shlex.join(command), agent=agent)
    activity.used(*map(Path, inputs))
    with Registered(project) as registered, _unwatched():
        before = Scan.of(project)
        activity.note(**_script(command, project))
        activity.note(arguments=list(command[1:]), directory=artifact_name(Path.cwd(), project), **head_of(Path.cwd()))
        before.settle()
        loaded = preload.library() if opens else None
        exit_code, process = _run_command([found, *command[1:]], registered, loaded)
        registered.end()
        ended, notes = now(), Notes.of(registered.notes)
        found_by = _found_by(str(process), notes)
        named = [] if found_by != "changes" else [os.path.realpath(each) for each in _words(command[1:])]
        after = Scan.of(project)
        registered.below = before.registries | after.registries
        unseen = _unseen(loaded is not None, [found, *notes.programs])
        is_complete = str(process) in notes.native and not unseen
        seen = Seen(registered, notes, named, before.files, after.files, registered.others(), is_complete)
        unknown = seen.used(activity)
        seen.generated(activity)
        lacking = [each for each in outputs if not os.path.isfile(each)]
        activity.generated(*(Path(each) for each in outputs if each not in lacking))
        removed = seen.removed(activity)
        uncertain = seen.left_out(activity, outputs)
        activity.note(exit_code=exit_code, files_found_by=found_by, **({"not_seen": unseen} if unseen else {}))
        activity.record(missing=True, ended=ended)
    assert activity.id is not None
    if lacking and not exit_code:
        raise StoreError(f"{activity.id} was recorded, but did not write {', '.join(lacking)}")
    return Run(
        activity.id, shlex.join(command), exit_code, activity.inputs, activity.outputs,
        {each: activity.removed.get(each) for each in removed}, tuple(unknown), tuple(uncertain),
        tuple(unseen),
    )  # fmt: skip


def _script(command: Sequence[str], project: Path) -> dict[str, str]:
    """Return the script that an interpreter runs as a property, if there is one."""
    place = program(command)[1] - 1
    is_file = place > 0 and command[place - 1] != "-m" and os.path.isfile(command[place])
    return {"script": artifact_name(command[place], project)} if is_file else {}


def _found_by(process: str, notes: Notes) -> str:
    """Return how the files that the command itself read were found."""
    if process in notes.python:
        return "audit"
    return "opens" if process in notes.native else "changes"


def _unseen(is_loaded: bool, programs: Sequence[str]) -> list[str]:
    """Return sentences about files that could not be observed."""
    if not is_loaded:
        return [preload.COMPILED]
    names = preload.unseen(programs)
    if not names:
        return []
    why = "it is" if len(names) == 1 else "they are"
    return [
        f"what {', '.join(names)} read is not known, because {why} linked statically or run with other rights: name"
        " such files with --in"
    ]


@contextmanager
def _unwatched() -> Iterator[None]:
    """Keep files that this process opens out of the notes of an outer run."""
    if PAUSED in os.environ:
        yield
        return
    os.environ[PAUSED] = "1"
    try:
        yield
    finally:
        del os.environ[PAUSED]


def _words(arguments: Sequence[str]) -> Iterator[str]:
    """Yield possible file names among arguments: the arguments, values of options, and words of a shell script.

    >>> list(_words(["if=a.csv", "-c", "sort b.csv"]))
    ['if=a.csv', 'a.csv', '-c', 'sort b.csv', 'sort', 'b.csv']
    """
    for each in arguments:
        yield each
        option, equals, value = each.partition("=")
        if equals and not any(letter.isspace() for letter in option):
            yield value
        elif any(letter.isspace() for letter in each):
            try:
                yield from shlex.split(each)
            except ValueError:  # not a shell script
                continue


def _run_command(command: Sequence[str], run: Registered, loaded: Path | None) -> tuple[int, int]:
    """Run the command; return its exit status and process id."""
    hook = str(Path(__file__).parent / "_audit")
    inherited = os.environ.get("PYTHONPATH")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([hook, inherited] if inherited else [hook]),
        "WHENCE_RUN_NOTES": str(run.notes),
        "WHENCE_RUN_PROJECT": str(run.project),
        **run.environment,
        **preload.environment(loaded),
    }
    del environment[PAUSED]
    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as error:
        raise StoreError(f"{command[0]} cannot be run: {error.strerror or error}") from error
    while True:
        try:
            code = process.wait()
        except KeyboardInterrupt:
            continue  # the command got the signal, too, and handles it
        return (code if code >= 0 else 128 - code), process.pid
