"""`whence bench`: run the benchmarks, which compare each claim with its baselines."""

from __future__ import annotations

import difflib
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from whence.cli._options import json_file_option
from whence.cli._output import emit_table, terminal
from whence.errors import BadType, StoreError, UnknownName

Claim = dict[str, Any]
FIELDS = frozenset({"name", "ours", "baselines", "ratio", "target", "holds"})


@click.command("bench")
@click.argument("name", required=False)
@click.option("--list", "list_", is_flag=True, help="List the benchmarks instead of running them.")
@click.option("--size", type=click.Choice(["tiny", "small", "full"]), default="small", help="How much data to measure.")
@json_file_option
@click.option(
    "--plot", metavar="DIR", type=click.Path(file_okay=False, path_type=Path), help="Draw the results into DIR."
)
@click.option("--strict", is_flag=True, help="Exit with status 1 if a claim does not hold.")
def command(name: str | None, list_: bool, size: str, json_file: Path | None, plot: Path | None, strict: bool) -> None:
    """Measure size and speed against baselines, in one run on the same data.

    NAME is one benchmark; without it, all of them run. The benchmarks are scripts in bench/ of a source checkout.

    \b
      whence bench --list
      whence bench query-latency --size tiny
    """
    scripts = find_scripts(bench_directory(Path.cwd(), Path(__file__).resolve()))
    if list_:
        for each in scripts:
            click.echo(each)
        return
    chosen = scripts if name is None else {name: _script_named(scripts, name)}
    claims: list[Claim] = []
    for each, path in chosen.items():
        found = [{"benchmark": each, "size": size, **claim} for claim in _run_benchmark(each, path, size, plot)]
        claims += found
        _print(each, found)
    if json_file is not None:
        json_file.parent.mkdir(parents=True, exist_ok=True)
        json_file.write_text(json.dumps({"claims": claims}, indent=2) + "\n", encoding="utf-8")
    broken = [claim["name"] for claim in claims if not claim["holds"]]
    click.echo(f"{len(claims) - len(broken)} of {len(claims)} claims hold")
    if broken:
        click.echo(f"these do not: {', '.join(broken)}", err=True)
    if broken and strict:
        raise SystemExit(1)


def bench_directory(here: Path, module: Path) -> Path:
    """Return bench/ of the checkout that the command runs in, else of the checkout that contains this module."""
    for place in (here, *here.parents, *module.parents):
        bench = place / "bench"
        if bench.is_dir() and (place / "src" / "whence").is_dir():
            return bench
    raise StoreError(
        "benchmarks are part of the source, not of the installed package: run this in a checkout of whence"
    )


def find_scripts(bench: Path) -> dict[str, Path]:
    """Return the benchmarks by name: bench/query_latency.py is query-latency."""
    paths = sorted(each for each in bench.glob("*.py") if not each.name.startswith("_"))
    return {path.stem.replace("_", "-"): path for path in paths if "\ndef run(" in path.read_text(encoding="utf-8")}


def _script_named(scripts: dict[str, Path], name: str) -> Path:
    if name in scripts:
        return scripts[name]
    near = difflib.get_close_matches(name, scripts, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(scripts) or 'none'}"
    raise UnknownName(f"there is no benchmark {name!r}: {hint}")


def _load(name: str, path: Path) -> ModuleType:
    sys.path.insert(0, str(path.parent))  # scripts import helpers from their directory
    spec = importlib.util.spec_from_file_location(f"whence_bench_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _run_benchmark(name: str, path: Path, size: str, plot: Path | None) -> list[Claim]:
    module = _load(name, path)
    claims: list[Claim] = module.run(size, _progress(name))
    for claim in claims:
        if missing := FIELDS - claim.keys():
            raise BadType(f"{path.name}: the claim {claim.get('name')!r} lacks {', '.join(sorted(missing))}")
    if plot is not None and hasattr(module, "plot"):
        plot.mkdir(parents=True, exist_ok=True)
        for drawn in module.plot(claims, plot) or ():
            click.echo(f"drawn: {drawn}", err=True)
    return claims


def _progress(name: str) -> Callable[[str], None]:
    """Return a function that prints the progress of a script on standard error, if it is a terminal."""

    def say(text: str) -> None:
        if sys.stderr.isatty():
            click.echo(f"{name}: {text}", err=True)

    return say


def _print(name: str, claims: list[Claim]) -> None:
    if terminal():
        click.echo(f"\n{name}")
    rows = [
        (
            claim["name"],
            f"{_rounded(claim['ours'])} {claim.get('unit', '')}".strip(),
            _closest_baseline(claim["baselines"]),
            _rounded(claim["ratio"]),
            claim.get("goal") or _rounded(claim["target"]),
            "yes" if claim["holds"] else "NO",
        )
        for claim in claims
    ]
    emit_table(("claim", "ours", "best other", "ratio", "goal", "holds"), rows, numbers=("ours", "ratio"))


def _closest_baseline(baselines: dict[str, float | None]) -> str:
    """Return the closest baseline; lower is always better.

    >>> _closest_baseline({"Raw": 9.0, "Parquet": 8.25, "Turbo": None})
    'Parquet 8.25'
    """
    known = {name: value for name, value in baselines.items() if value is not None}
    best = min(known, key=lambda name: known[name], default=None)
    return "-" if best is None else f"{best} {_rounded(known[best])}"


def _rounded(value: object) -> str:
    """Format a float with four significant digits, anything else with `str`.

    >>> _rounded(0.00012346), _rounded(1234567.0), _rounded("< 1 ms"), _rounded(None)
    ('0.0001235', '1.235e+06', '< 1 ms', '-')
    """
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
