"""The session that large work starts if none runs: on SPARK_MASTER, or as spark-defaults.conf says, or here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from whence.spark.scale.running import defaults_file

ASK = """
from whence.spark.scale.running import session
spark = session()
print(spark.sparkContext.master, spark.conf.get("spark.shown.here", "no"))
assert session() is spark or session().sparkContext is spark.sparkContext
spark.stop()
"""


def said(folder: Path, **environment: str) -> str:
    """The master of the session that a new process gets, and whether it read the settings of the test."""
    plain = {key: value for key, value in os.environ.items() if key not in ("SPARK_MASTER", "SPARK_CONF_DIR")}
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        capture_output=True, text=True, check=False, cwd=folder,
        env={**plain, "SPARK_LOCAL_IP": "127.0.0.1", **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()[-1]


def test_a_new_session_is_where_the_environment_says(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "spark.master local[3]\nspark.shown.here yes\nspark.ui.enabled false\n"
    )
    conf = str(tmp_path)
    assert said(tmp_path, SPARK_CONF_DIR=conf) == "local[3] yes"
    assert said(tmp_path, SPARK_CONF_DIR=conf, SPARK_MASTER="local[1]") == "local[1] yes"


def test_where_the_settings_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    assert defaults_file() is None
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert defaults_file() is None
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.master local[1]")
    assert defaults_file() == tmp_path / "conf" / "spark-defaults.conf"
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "elsewhere"))
    assert defaults_file() is None
