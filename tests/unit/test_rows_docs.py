"""docs/reference/operators.md is what the rules say, about every operator that has one."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from whence.rows.operators.join import JOINS
from whence.rows.pushdown import RULES
from whence.rows.tree import walk

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def generator() -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("operators_page", ROOT / "docs" / "_ext" / "operators.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for the names in annotations
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_the_page_is_current(generator: ModuleType) -> None:
    page = generator.page()
    assert generator.PAGE.read_text(encoding="utf-8") == page, "run `make docs`, and commit docs/reference/operators.md"
    assert "| NO |" not in page, "the solver refutes a claim of a rule"


def test_every_operator_with_a_rule_is_on_it(generator: ModuleType) -> None:
    operators = [each.operator for examples in generator.EXAMPLES.values() for each in examples]
    assert {type(op) for op in operators} == set(RULES)
    joins = {op.how for op in operators for op in walk(op) if hasattr(op, "how")}
    assert joins == set(JOINS)
