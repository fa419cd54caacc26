"""The command line in tests: a command's result, or the JSON that it prints."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner, Result

from whence.cli._group import whence


def run(*arguments: object) -> Result:
    return CliRunner().invoke(whence, [str(each) for each in arguments])


def run_json(*arguments: object) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)
