"""Every code block of the README and of docs/ runs, and prints what the page says it prints.

`pycon` blocks are doctests, `python` blocks run as they stand, and in a `console` block each `$ whence ...` line is run
and its output compared. The blocks of one page share their names and one empty directory, from top to bottom. A
block that cannot run everywhere says so, with the reason, in a comment above it: `<!-- not run: ... -->`.
"""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from whence.cli._group import whence

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("**/*.md"))]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^(?P<fence>`{3,})(?P<kind>\w+)\n(?P<code>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"<!-- not run: \S.* -->\n+\Z")


@dataclass(frozen=True)
class Block:
    kind: str
    code: str
    line: int


def blocks(text: str) -> Iterator[Block]:
    for match in FENCE.finditer(text):
        if not NOT_RUN.search(text[: match.start()]):
            yield Block(match["kind"], match["code"], text.count("\n", 0, match.start()) + 2)


def run_session(block: Block, names: dict[str, object], page: str) -> None:
    session = doctest.DocTestParser().get_doctest(block.code, names, page, page, block.line)
    session.globs = names  # get_doctest copies: what one block defines, the next may use
    report: list[str] = []
    doctest.DocTestRunner(verbose=False, optionflags=FLAGS).run(session, out=report.append, clear_globs=False)
    assert not report, "".join(report)


def run_commands(block: Block, page: str) -> None:
    for chunk in re.split(r"^\$ ", block.code, flags=re.MULTILINE)[1:]:
        line, _, expected = chunk.partition("\n")
        if not line.startswith("whence "):
            assert not expected.strip(), f"{page}:{block.line}: only whence commands are run: {line}"
            continue
        result = CliRunner().invoke(whence, shlex.split(line)[1:])
        match = doctest.OutputChecker().check_output(expected, result.output, FLAGS)
        assert match, f"{page}:{block.line}: $ {line}\nexpected:\n{expected}\ngot:\n{result.output}"


def run_page(page: Path) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    name = str(page.relative_to(ROOT))
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.kind == "pycon":
            run_session(block, names, name)
        elif block.kind == "python":
            exec(compile("\n" * (block.line - 1) + block.code, name, "exec"), names)
        elif block.kind == "console":
            run_commands(block, name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHENCE_LOG", raising=False)
    if "local_session" not in page.read_text(encoding="utf-8"):
        run_page(page)
        return
    # A process has one Spark: a page that stops it at its end would stop that of the other tests.
    done = subprocess.run([sys.executable, __file__, page], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_readme_has_a_session_to_paste() -> None:
    kinds = [block.kind for block in blocks((ROOT / "README.md").read_text(encoding="utf-8"))]
    assert "pycon" in kinds


def test_the_runner_sees_a_wrong_answer() -> None:
    with pytest.raises(AssertionError, match="Expected"):
        run_session(Block("pycon", ">>> 1 + 1\n3\n", 1), {}, "page")
    with pytest.raises(AssertionError, match="expected"):
        run_commands(Block("console", "$ whence --version\nwhence of another world\n", 1), "page")


def test_command_page_is_current() -> None:
    generator = [sys.executable, "-c", "import commands; p = commands.PAGE.read_text(); assert commands.page(p) == p"]
    run = subprocess.run(generator, cwd=ROOT / "docs" / "_ext", capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"run `make docs`, and commit docs/reference/cli.md\n{run.stderr}"


def test_measured_page_is_current() -> None:
    code = "import json, measured as m; assert m.page(json.loads(m.DATA.read_text())) == m.PAGE.read_text()"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "docs" / "_ext", capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, f"run `make docs`, and commit docs/reference/measured.md\n{run.stderr}"


def test_every_command_and_option_is_documented() -> None:
    import click

    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    context = click.Context(whence)
    for name in whence.list_commands(context):
        command = whence.get_command(context, name)
        assert command is not None
        _, heading, rest = page.partition(f"\n## whence {name}\n")
        assert heading, f"docs/reference/cli.md does not document `whence {name}`"
        section = rest.split("\n## ")[0]
        for option in (each for each in command.params if isinstance(each, click.Option)):
            assert option.help, f"whence {name} {option.opts[0]} has no help"
            assert all(f"`{spelling}`" in section for spelling in option.opts), f"{name}: {option.opts}"


if __name__ == "__main__":
    run_page(Path(sys.argv[1]))
