"""Execute the statements of a function symbolically."""

from __future__ import annotations

import ast
import builtins
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from whence.rows.expressions import FALSE, TRUE, Expr
from whence.rows.functions import expressions as e
from whence.rows.functions.alternatives import items_of
from whence.rows.functions.binding import bound
from whence.rows.functions.globals import global_value
from whence.rows.functions.matching import as_ifs
from whence.rows.functions.operators import binary
from whence.rows.functions.refusal import Budget, Refusal
from whence.rows.functions.source import source_of
from whence.rows.functions.values import (
    Alternative,
    Const,
    Value,
    both,
    combined,
    const,
    constant,
    either,
    facts_of,
    merged,
    negated,
)

UNROLLED = 256  # iterations of a loop
SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Pass)
IMPORTS = frozenset({"re", "math", "datetime", "string", "pandas", "numpy"})


@dataclass
class Findings:
    """The conditions found for a function and all functions that it calls."""

    budget: Budget = field(default_factory=Budget)
    domain: dict[Expr, None] = field(default_factory=dict)

    def requires(self, condition: Expr) -> None:
        """Note that the translation is valid only where the condition is not false."""
        self.domain[condition] = None

    def fails(self, when: Expr, kind: type[Exception]) -> None:
        """Do nothing: no `try` in the function catches an error after it has returned."""


@dataclass
class Looking:
    """The symbolic execution of one call of a function."""

    function: types.FunctionType
    findings: Findings
    env: dict[str, Value] = field(default_factory=dict)
    path: list[Expr] = field(default_factory=list)  # conditions inside of this call
    outer: tuple[Expr, ...] = ()  # conditions around the call
    facts: list[Expr] = field(default_factory=list)  # true for rows that have not returned
    partial: set[str] = field(default_factory=set)  # variables that are not assigned in all rows
    lost: dict[str, list[Expr]] = field(default_factory=dict)  # changed by a `try` that failed somewhere; its path
    returns: list[tuple[Expr, Value]] = field(default_factory=list)
    errors: list[tuple[Expr, type[Exception]]] | None = None  # errors that an enclosing `try` may catch
    skipped: Expr = FALSE  # rows that left this iteration of a loop
    broken: Expr = FALSE  # rows that left the loop

    # --- called by operations

    def requires(self, condition: Expr) -> None:
        self.findings.requires(condition)

    def fails(self, when: Expr, kind: type[Exception]) -> None:
        if self.errors is not None:
            gone = either(FALSE, *(guard for guard, _ in self.returns))
            self.errors.append((both(*self.outer, *self.path, negated(self.away), negated(gone), when), kind))

    @contextmanager
    def under(self, guard: Expr) -> Iterator[None]:
        """Execute under a condition."""
        self.path.append(guard)
        try:
            yield
        finally:
            self.path.pop()

    @property
    def away(self) -> Expr:
        return either(self.skipped, self.broken)

    def possible(self, value: Value) -> Value:
        """Return the value without alternatives that are impossible here."""
        if len(value) < 2:
            return value
        known = {fact for each in (*self.facts, *self.path) for fact in facts_of(each)}
        left = tuple(each for each in value if negated(each.guard) not in known)
        sure = [each for each in left if each.guard in known]
        return (Alternative(TRUE, sure[0].item),) if sure else left if len(left) > 1 else combined(left)

    # --- names

    def name(self, name: str) -> Value:
        if name in self.lost:
            raise Refusal(f"the value of {name!r} depends on where in the try the error was raised")
        if name in self.env:
            if name in self.partial and self.errors is not None:
                raise Refusal(f"{name!r} may have no value there")
            return self.env[name]
        code = self.function.__code__
        if name in code.co_freevars:
            cell = (self.function.__closure__ or ())[code.co_freevars.index(name)]
            try:
                return const(cell.cell_contents)
            except ValueError:
                raise Refusal(f"{name!r} has no value yet") from None
        if name in code.co_varnames or name in code.co_cellvars:
            raise Refusal(f"{name!r} may have no value there")
        if name in self.function.__globals__:
            return const(global_value(self.function, name))
        if hasattr(builtins, name):
            return const(getattr(builtins, name))
        raise Refusal(f"{name!r} is not defined")

    def assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            if self.away == FALSE and self.lost.get(target.id, [])[: len(self.path)] == self.path:
                self.lost.pop(target.id, None)
            old = self.env.get(target.id, ())
            self.env[target.id] = merged(self.away, old, value) if self.away != FALSE else value
            return
        if isinstance(target, ast.Tuple | ast.List):
            parts = items_of(value)
            if parts is None or len(parts) != len(target.elts):
                raise Refusal("it unpacks a value that is not a list of known length")
            for each, part in zip(target.elts, parts, strict=True):
                self.assign(each, part)
            return
        raise Refusal("it changes an object")

    # --- statements: they return whether rows continue after them

    def block(self, statements: list[ast.stmt]) -> str:
        """Return `""`, "returned", or "left" if the statements left a loop, after which execution continues."""
        known = len(self.facts)
        try:
            for statement in statements:
                self.findings.budget.step()
                ended = self._statement(statement)
                if ended:
                    return ended
        except Refusal as refusal:
            raise refusal.at(statement) from None
        finally:
            del self.facts[known:]
        return ""

    def _statement(self, node: ast.stmt) -> str:
        if isinstance(node, ast.Return):
            value = const(None) if node.value is None else e.evaluate(node.value, self)
            self.returns.append((both(*self.path, negated(self.away)), value))
            return "returned"
        if isinstance(node, ast.Assign):
            value = e.evaluate(node.value, self)
            for target in node.targets:
                self.assign(target, value)
            return ""
        if isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.assign(node.target, e.evaluate(node.value, self))
            return ""
        if isinstance(node, ast.AugAssign):
            if not isinstance(node.target, ast.Name):
                raise Refusal("it changes an object")
            old = self.name(node.target.id)
            if any(isinstance(each.item, Const) and isinstance(each.item.value, list | dict | set) for each in old):
                raise Refusal("it changes an object")
            value = binary(node.op, old, e.evaluate(node.value, self), self)
            self.assign(node.target, value)
            return ""
        if isinstance(node, ast.If):
            return self._if(node)
        if isinstance(node, ast.Match):
            return self.block(as_ifs(node))
        if isinstance(node, ast.For):
            return self._for(node)
        if isinstance(node, ast.Try):
            return self._try(node)
        if isinstance(node, ast.Raise):
            self.fails(TRUE, self._raised(node))
            return "returned"
        if isinstance(node, ast.Break):
            self.broken = either(self.broken, both(*self.path, negated(self.away)))
            return "left"
        if isinstance(node, ast.Continue):
            self.skipped = either(self.skipped, both(*self.path, negated(self.away)))
            return "left"
        if isinstance(node, ast.Import):
            return self._import(node)
        if isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            return ""
        if isinstance(node, ast.Expr):
            raise Refusal(f"`{ast.unparse(node)[:60]}` has a side effect")
        what = {"While": "a while loop", "With": "a with statement", "FunctionDef": "a function inside of it"}
        kind = type(node).__name__
        raise Refusal(f"{what.get(kind, f'a statement of the kind {kind}')} is not translated")

    def _if(self, node: ast.If) -> str:
        guard = e.condition(node.test, self)
        if guard in (TRUE, FALSE):
            return self.block(node.body if guard == TRUE else node.orelse)
        before = dict(self.env)
        with self.under(guard):
            one = self.block(node.body)
        after, self.env = self.env, before
        if one == "returned":
            # Returned values are selected in the order of branches, so the code after this need not exclude these rows.
            self.facts.append(negated(guard))
            with self.under(negated(guard)) if self.errors is not None else self.under(TRUE):
                return self.block(node.orelse)
        with self.under(negated(guard)):
            other = self.block(node.orelse)
        if other == "returned":
            self.env = after
            self.facts.append(guard)
            return one
        self.env = self._joined(guard, after, self.env)
        return "left" if one == other == "left" else ""

    def _joined(self, guard: Expr, one: dict[str, Value], other: dict[str, Value]) -> dict[str, Value]:
        self.partial |= one.keys() ^ other.keys()
        names = dict.fromkeys((*one, *other))
        return {name: merged(guard, one.get(name, ()), other.get(name, ())) for name in names}

    def _for(self, node: ast.For) -> str:
        if node.orelse:
            raise Refusal("a loop with else is not translated")
        turns = items_of(e.evaluate(node.iter, self))
        if turns is None:
            raise Refusal("it loops over something that is not a constant")
        if len(turns) > UNROLLED:
            raise Refusal(f"it loops {len(turns)} times")
        outer = self.skipped, self.broken
        self.skipped, self.broken = either(*outer), FALSE
        around = self.skipped
        for turn in turns:
            self.skipped = around
            left = self.broken
            self.broken = FALSE  # rows that left the loop do not run the next iterations
            self.assign(node.target, turn)
            self.broken = left
            if self.block(node.body) == "returned" and self.away == FALSE:
                self.skipped, self.broken = outer
                return "returned"
        if self.broken != FALSE:  # these rows have another value of the loop variable, which is not translated
            for each in ast.walk(node.target):
                if isinstance(each, ast.Name):
                    self.env.pop(each.id, None)
        self.skipped, self.broken = outer
        return ""

    def _try(self, node: ast.Try) -> str:
        """Execute a `try` of simple statements. If one of them fails, the handler determines the values."""
        if node.orelse or node.finalbody or not all(isinstance(each, SIMPLE) for each in node.body):
            raise Refusal("a try with compound statements is not translated")
        around, self.errors = self.errors, []
        before, first = dict(self.env), len(self.returns)
        body = self.block(node.body)
        errors, self.errors = self.errors, around
        returned, self.returns = self.returns[first:], self.returns[:first]
        after = self.env
        # An assignment comes after all that may fail in its statement, so the last one does not count.
        changed = _assigned(node.body[:-1] if _names_only(node.body[-1]) else node.body)
        left = _in_order(errors)
        ends: list[tuple[Expr, str, dict[str, Value]]] = []
        for handler in node.handlers:
            kinds = self._kinds(handler)
            caught = either(FALSE, *(guard for guard, kind in left if issubclass(kind, kinds)))
            left = [(guard, kind) for guard, kind in left if not issubclass(kind, kinds)]
            self.env = {name: value for name, value in before.items() if name not in changed}
            with self.under(caught):
                ended = self.block(handler.body)
            if caught != FALSE:
                ends.append((caught, ended, self.env))
                if ended != "returned":
                    self.lost |= {name: list(self.path) for name in changed - (self.env.keys() - self.partial)}
        if around is not None:
            around.extend(left)
        open_ = [(guard, env) for guard, ended, env in ends if ended != "returned"]
        on = negated(either(FALSE, *(guard for guard, _ in open_)))
        self.returns.extend((both(guard, on), value) for guard, value in returned)
        if body == "returned":
            if not open_:
                return "returned"
            self.env = open_[-1][1]
            for guard, env in reversed(open_[:-1]):
                self.env = self._joined(guard, env, self.env)
            return ""
        self.env = after
        for guard, env in reversed(open_):
            self.env = self._joined(guard, env, self.env)
        return ""

    def _kinds(self, handler: ast.ExceptHandler) -> tuple[type[Exception], ...]:
        if handler.type is None:
            return (Exception,)
        found = constant(e.evaluate(handler.type, self))
        kinds = found.value if found is not None else None
        parts = items_of(e.evaluate(handler.type, self)) if found is None or isinstance(kinds, tuple) else None
        known = [constant(each) for each in parts or ()]
        listed = (kinds,) if parts is None else tuple(None if each is None else each.value for each in known)
        if not all(isinstance(each, type) and issubclass(each, BaseException) for each in listed):
            raise Refusal("it catches something unknown").at(handler)
        return tuple(each for each in listed if isinstance(each, type))

    def _raised(self, node: ast.Raise) -> type[Exception]:
        target = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        found = None if target is None else constant(e.evaluate(target, self))
        if found is None or not isinstance(found.value, type) or not issubclass(found.value, Exception):
            raise Refusal("it raises something unknown")
        return found.value

    def _import(self, node: ast.Import) -> str:
        for alias in node.names:
            module = sys.modules.get(alias.name)
            if alias.name not in IMPORTS or module is None:
                raise Refusal(f"it imports {alias.name}")
            self.env[alias.asname or alias.name] = const(module)
        return ""


def look(
    function: types.FunctionType, args: list[Value], kwargs: dict[str, Value], around: Looking | Findings
) -> Value:
    """Return the symbolic result of a call of a function."""
    inside = _opened(function, args, kwargs, around)
    result: Value = ()
    for guard, value in reversed(inside.returns):
        result = merged(guard, value, result) if result else value
    return result


def returned(function: types.FunctionType, args: list[Value], findings: Findings) -> list[tuple[Expr, Value]]:
    """Return what a function returns and under which condition; the first condition that is true counts."""
    return _opened(function, args, {}, findings).returns


def _opened(
    function: types.FunctionType, args: list[Value], kwargs: dict[str, Value], around: Looking | Findings
) -> Looking:
    findings = around if isinstance(around, Findings) else around.findings
    definition = source_of(function).definition
    inside = Looking(function, findings, bound(function, definition, args, kwargs))
    if isinstance(around, Looking):
        inside.errors = around.errors
        if around.errors is not None:
            gone = (negated(guard) for guard, _ in around.returns)
            inside.outer = (*around.outer, *around.path, negated(around.away), *gone)
    with findings.budget.nested():
        if isinstance(definition, ast.Lambda):
            try:
                inside.returns.append((TRUE, e.evaluate(definition.body, inside)))
            except Refusal as refusal:
                raise refusal.at(definition) from None
            return inside
        if inside.block(definition.body) != "returned":
            inside.returns.append((TRUE, const(None)))
    return inside


def _in_order(errors: list[tuple[Expr, type[Exception]]]) -> list[tuple[Expr, type[Exception]]]:
    """Restrict each error to rows without an earlier error. For errors of one type, the order is irrelevant."""
    if len({kind for _, kind in errors}) < 2:
        return errors
    found: list[tuple[Expr, type[Exception]]] = []
    for index, (guard, kind) in enumerate(errors):
        earlier = (each for each, other in errors[:index] if other is not kind)
        found.append((both(guard, *map(negated, earlier)), kind))
    return found


def _assigned(statements: list[ast.stmt]) -> set[str]:
    """The names that some statements assign to."""
    found = (each for statement in statements for each in ast.walk(statement))
    return {each.id for each in found if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def _names_only(statement: ast.stmt) -> bool:
    """Whether a simple statement assigns to plain names, if at all."""
    if isinstance(statement, ast.Assign):
        return all(isinstance(each, ast.Name) for each in statement.targets)
    return isinstance(statement, SIMPLE)
