"""Running a command and recording what it read and wrote."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.errors import BadType, StoreError
from whence.interop.git import head_of
from whence.store.catalog.clock import now
from whence.store.recording.artifacts import Content, Gone, artifact_name, content_of, project_of

if TYPE_CHECKING:
    from whence.log import Log
    from whence.store.recording.activity import Activity

_SKIPPED = {"__pycache__", "node_modules", "site-packages"}
Stamp = tuple[int, int, int]  # size, time of the last change, inode


@dataclass(frozen=True, slots=True)
class Run:
    """What was recorded of a command."""

    activity: str
    command: str
    exit_code: int
    used: Mapping[str, str]  # file: its version in the graph
    generated: Mapping[str, str]
    removed: Mapping[str, str | None]  # file: its last version, if it was recorded
    unknown: tuple[str, ...]  # files that were read and changed, so that what was read is not known

    def as_dict(self) -> dict[str, Any]:
        """The same, ready for JSON."""
        return asdict(self)


@dataclass
class _Notes:
    """What the Python programs among the processes noted."""

    python: set[str] = field(default_factory=set)  # the ids of these processes
    read: dict[str, None] = field(default_factory=dict)
    written: dict[str, None] = field(default_factory=dict)
    was: dict[str, str] = field(default_factory=dict)  # the hash of what was read before it was changed

    @classmethod
    def of(cls, path: Path) -> _Notes:
        found = cls()
        for line in path.read_bytes().split(b"\0\n") if path.exists() else ():
            parts = os.fsdecode(line).split("\0")
            match parts:
                case ["python", _, process]:
                    found.python.add(process)
                case ["read", name, _]:
                    found.read.setdefault(name)
                case ["write", name, _]:
                    found.written.setdefault(name)
                case ["was", name, content]:
                    found.was.setdefault(name, content)
        return found


@dataclass(frozen=True)
class _Seen:
    """The files of the project before and after a command, and what is known of it in between."""

    project: Path
    notes: _Notes
    named: Sequence[str]  # files among its arguments, if it does not tell itself what it reads
    before: Mapping[str, Stamp]
    after: Mapping[str, Stamp]

    @property
    def changed(self) -> list[str]:
        return [path for path, stamp in self.after.items() if self.before.get(path) != stamp]

    @property
    def gone(self) -> dict[str, Stamp]:
        return {path: stamp for path, stamp in self.before.items() if path not in self.after}

    def used(self, activity: Activity) -> list[str]:
        """Note what was read; the files of which it is not known what they held then are returned."""
        changed = set(self.changed)
        read = [path for path in self.notes.read if path in self.before]
        read += [path for path in self.named if path in self.before and path in self.after and path not in changed]
        moved = self._moved()
        unknown = []
        for path in dict.fromkeys([*read, *moved]):
            name = artifact_name(path, self.project)
            if path in moved:
                activity.used_content(Content(name, path, moved[path].hash, moved[path].size))
            elif path in self.notes.was:
                activity.used_content(Content(name, path, self.notes.was[path], self.before[path][0]))
            elif self.after.get(path) == self.before[path]:
                activity.used(Path(path))
            else:
                unknown.append(name)
        if unknown:
            activity.note(read_but_changed=unknown)
        return unknown

    def _moved(self) -> dict[str, Content]:
        """The contents of files that are gone under their name: the same inode, unchanged, has another one now."""
        came = {self.after[path]: path for path in self.changed}
        found = {path: _content(came[stamp], self.project) for path, stamp in self.gone.items() if stamp in came}
        return {path: content for path, content in found.items() if content is not None}

    def generated(self, activity: Activity) -> None:
        """Note what was written."""
        told = [path for path in self.notes.written if path in self.after]
        found = {path: _content(path, self.project) for path in dict.fromkeys([*told, *self.changed])}
        for content in found.values():
            if content is not None:
                activity.generated_content(content)
        hidden = [artifact_name(path, self.project) for path, content in found.items() if content is None]
        if hidden:
            activity.note(unreadable=hidden)

    def removed(self, activity: Activity) -> list[str]:
        """Note what is not there any more, and return the names."""
        found = [Gone(artifact_name(path, self.project), *stamp[:2]) for path, stamp in self.gone.items()]
        for each in found:
            activity.removed_file(each)
        if found:
            activity.note(removed=[each.artifact for each in found])
        return [each.artifact for each in found]


def run(
    log: Log, command: Sequence[str], *, inputs: Sequence[str] = (), outputs: Sequence[str] = (),
    agent: str | None = None,
) -> Run:  # fmt: skip
    """Run a command as it is, and record it as an activity with what it used and generated.

    Files are those of the project, the directory that the log lies in. Python programs tell which files they open;
    what others write is found by what changed, and what they read are the files among their arguments (`--data=a.csv`
    and `sh -c "sort a.csv"` included). `inputs` and `outputs` name files in addition, wherever they are.
    """
    if not command:
        raise BadType("there is no command to run: whence run -- python train.py")
    program = shutil.which(command[0])
    if program is None:
        raise StoreError(f"there is no program {command[0]!r}: check its name, and PATH")
    project = Path(os.path.realpath(project_of(log.where)))
    activity = log.activity(_name(command), command=shlex.join(command), agent=agent)
    activity.used(*map(Path, inputs))
    before = dict(_files(project))
    activity.note(arguments=list(command[1:]), directory=artifact_name(Path.cwd(), project), **head_of(Path.cwd()))
    with tempfile.TemporaryDirectory(prefix="whence-run-") as place:
        notes_file = Path(place, "notes")
        exit_code, process = _call([program, *command[1:]], notes_file, project)
        notes = _Notes.of(notes_file)
    ended, tells = now(), str(process) in notes.python
    named = [] if tells else [os.path.realpath(each) for each in _words(command[1:])]
    seen = _Seen(project, notes, named, before, dict(_files(project)))
    unknown = seen.used(activity)
    seen.generated(activity)
    lacking = [each for each in outputs if not os.path.isfile(each)]
    activity.generated(*(Path(each) for each in outputs if each not in lacking))
    removed = seen.removed(activity)
    activity.note(exit_code=exit_code, files_found_by="audit" if tells else "changes")
    activity.record(missing=True, ended=ended)
    assert activity.id is not None
    if lacking and not exit_code:
        raise StoreError(f"{activity.id} is recorded, but {', '.join(lacking)} was to be written and is not there")
    return Run(
        activity.id, shlex.join(command), exit_code, activity.inputs, activity.outputs,
        {each: activity.removed.get(each) for each in removed}, tuple(unknown),
    )  # fmt: skip


def _words(arguments: Sequence[str]) -> Iterator[str]:
    """What may be the name of a file among arguments: themselves, values of options, and words of a script.

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
            except ValueError:  # no script for a shell
                continue


def _content(path: str, project: Path) -> Content | None:
    """What a file holds; None if it is gone again, or not for us to read."""
    try:
        return content_of(path, project)
    except StoreError:
        return None


def _name(command: Sequence[str]) -> str:
    """What a run is called: the script, if an interpreter runs one, else the program.

    >>> _name(["python3", "-u", "src/train.py", "--fast"]), _name(["/usr/bin/sort", "a.txt"])
    ('train.py', 'sort')
    >>> _name(["python3", "-m", "pytest", "-q"]), _name(["python3", "-c", "print(1.5)"])
    ('pytest', 'python3')
    """
    program = Path(command[0]).name
    if program.startswith(("python", "bash", "sh", "Rscript", "perl", "ruby", "node", "julia")):
        for place, each in enumerate(command[1:], 1):
            if each in ("-c", "-e"):  # what follows is code
                break
            if each == "-m":
                return " ".join(command[place + 1 : place + 2]) or program
            if not each.startswith("-"):
                return Path(each).name if Path(each).suffix else program
    return program


def _call(command: Sequence[str], notes: Path, project: Path) -> tuple[int, int]:
    """Run it: its status and the id that its process had."""
    hook = str(Path(__file__).parent / "_audit")
    inherited = os.environ.get("PYTHONPATH")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([hook, inherited] if inherited else [hook]),
        "WHENCE_RUN_NOTES": str(notes),
        "WHENCE_RUN_PROJECT": str(project),
    }
    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as error:
        raise StoreError(f"{command[0]} cannot be run: {error.strerror or error}") from error
    while True:
        try:
            code = process.wait()
        except KeyboardInterrupt:
            continue  # the command got it as well, and decides what to do
        return (code if code >= 0 else 128 - code), process.pid


def _files(place: Path) -> Iterator[tuple[str, Stamp]]:
    """The files of a project, with what changes when they do; hidden ones, logs and installed packages are none."""
    try:
        entries = sorted(os.scandir(place), key=lambda entry: entry.name)
    except OSError:  # a directory that may not be listed holds nothing that can be recorded
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name.endswith(".whence") or entry.name in _SKIPPED:
            continue
        if entry.is_dir(follow_symlinks=False):
            if not os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
                yield from _files(Path(entry.path))
        elif entry.is_file(follow_symlinks=False):
            try:
                found = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # gone since the directory was listed
                continue
            yield entry.path, (found.st_size, found.st_mtime_ns, found.st_ino)
