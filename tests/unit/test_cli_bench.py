"""`whence bench`, in checkouts made for the purpose."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from whence.cli._group import whence
from whence.cli.bench import bench_directory
from whence.errors import StoreError

SCRIPT = """
from pathlib import Path
from shared import TARGET


def run(size, progress):
    progress(f"measuring at size {{size}}")
    claim = {{"name": f"toy {{size}}", "ours": 2.0, "baselines": {{"Raw": 9.0, "Parquet": 8.0}}}}
    return [{{**claim, "ratio": 4.0, "target": TARGET, "holds": {holds}}}]


def plot(claims, directory):
    path = Path(directory) / "toy.png"
    path.write_bytes(b"drawn " + str(len(claims)).encode())
    return [path]
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "src" / "whence").mkdir(parents=True)
    bench = tmp_path / "bench"
    bench.mkdir()
    (bench / "shared.py").write_text("TARGET = 3.0\n")
    (bench / "toy_size.py").write_text(SCRIPT.format(holds=True))
    (bench / "_helpers.py").write_text("\ndef run(size, progress): ...\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(whence, ["bench", *(str(each) for each in arguments)])


def test_list_names_the_scripts_that_run(checkout: Path) -> None:
    assert run("--list").output == "toy-size\n"


def test_one_benchmark(checkout: Path) -> None:
    result = run("toy-size", "--json", checkout / "out" / "claims.json")
    assert result.exit_code == 0, result.output
    assert "toy small\t2\tParquet 8\t4\t3\tyes" in result.output
    assert "1 of 1 claims hold" in result.output
    document = json.loads((checkout / "out" / "claims.json").read_text())
    [claim] = document["claims"]
    assert claim == {
        "benchmark": "toy-size",
        "size": "small",
        "name": "toy small",
        "ours": 2.0,
        "baselines": {"Raw": 9.0, "Parquet": 8.0},
        "ratio": 4.0,
        "target": 3.0,
        "holds": True,
    }


def test_size_is_passed_on(checkout: Path) -> None:
    assert "toy full" in run("toy-size", "--size", "full").output


def test_plot(checkout: Path) -> None:
    assert run("toy-size", "--plot", checkout / "plots").exit_code == 0
    assert (checkout / "plots" / "toy.png").read_bytes() == b"drawn 1"


def test_a_claim_that_does_not_hold_is_said(checkout: Path) -> None:
    (checkout / "bench" / "wrong.py").write_text(SCRIPT.format(holds=False))
    result = run("--json", checkout / "claims.json")
    assert result.exit_code == 0
    assert "1 of 2 claims hold" in result.stdout
    assert "these do not: toy small" in result.stderr
    assert run("--strict").exit_code == 1
    assert run("toy-size", "--strict").exit_code == 0
    assert len(json.loads((checkout / "claims.json").read_text())["claims"]) == 2


def test_a_claim_that_lacks_a_field_is_named(checkout: Path) -> None:
    (checkout / "bench" / "short.py").write_text('\ndef run(size, progress):\n    return [{"name": "short"}]\n')
    result = run("short")
    assert result.exit_code == 1
    assert "short.py: the claim 'short' lacks baselines, holds, ours, ratio, target" in result.stderr


def test_an_unknown_benchmark_suggests_the_nearest(checkout: Path) -> None:
    result = run("toy-siez")
    assert result.exit_code == 1
    assert "did you mean 'toy-size'?" in result.stderr


def test_outside_a_checkout_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="checkout"):
        bench_directory(tmp_path, tmp_path / "lib" / "whence" / "cli" / "bench.py")
