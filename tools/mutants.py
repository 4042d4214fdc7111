"""Small mistakes that could be made in a line of code: operators over the syntax tree.

Each operator looks at one node and gives the texts that could stand in its place. What no test can notice
is left out: annotations, docstrings, messages, what only type checkers see.
"""

from __future__ import annotations

import ast
import copy
import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Operator = Callable[[Any], Iterator[Any]]

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
OPPOSITES = {"min": "max", "any": "all", "minimum": "maximum", "argmin": "argmax", "floor": "ceil"}
OPPOSITES |= {other: name for name, other in OPPOSITES.items()}
UNSEEN = (ast.JoinedStr, ast.Raise, ast.Import, ast.ImportFrom, ast.arg)
"""Nodes inside which nothing is changed: messages, imports, annotations of arguments."""


@dataclass(frozen=True)
class Mutant:
    """Another text for one place of a source, counted in bytes."""

    line: int
    begin: int
    end: int
    operator: str
    text: str

    def applied(self, source: str) -> str:
        """The source with this change."""
        data = source.encode()
        return (data[: self.begin] + self.text.encode() + data[self.end :]).decode()

    def diff(self, source: str, path: str) -> str:
        """The change as a patch without context."""
        old, new = source.splitlines(), self.applied(source).splitlines()
        return "\n".join(difflib.unified_diff(old, new, path, path, n=0, lineterm=""))


def compare(node: ast.AST) -> Iterator[ast.AST]:
    """Another comparison."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            changed = copy.deepcopy(node)
            changed.ops[place] = COMPARISONS[type(operator)]()
            yield changed


def arithmetic(node: ast.AST) -> Iterator[ast.AST]:
    """Plus for minus, times for division, and for or."""
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in ARITHMETIC:
        changed = copy.deepcopy(node)
        changed.op = ARITHMETIC[type(node.op)]()
        yield changed


def logic(node: ast.AST) -> Iterator[ast.AST]:
    """``and`` for ``or``, and a ``not`` that is forgotten."""
    if isinstance(node, ast.BoolOp):
        changed = copy.deepcopy(node)
        changed.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        yield changed
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub, ast.Invert)):
        yield node.operand


def constant(node: ast.AST) -> Iterator[ast.AST]:
    """A number that is one off; true for false."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield ast.Constant(not node.value)
        elif isinstance(node.value, (int, float)):
            yield ast.Constant(node.value + 1)
            yield ast.Constant(node.value - 1)


def opposite(node: ast.AST) -> Iterator[ast.AST]:
    """The largest for the smallest, all for any."""
    if isinstance(node, ast.Call):
        changed = copy.deepcopy(node)
        if isinstance(changed.func, ast.Name) and changed.func.id in OPPOSITES:
            changed.func.id = OPPOSITES[changed.func.id]
            yield changed
        elif isinstance(changed.func, ast.Attribute) and changed.func.attr in OPPOSITES:
            changed.func.attr = OPPOSITES[changed.func.attr]
            yield changed


def bounds(node: ast.AST) -> Iterator[ast.AST]:
    """A slice that starts one later, or ends one earlier, or has no such end."""
    if isinstance(node, ast.Slice):
        one = ast.Constant(1)
        if node.lower is not None:
            yield ast.Slice(ast.BinOp(node.lower, ast.Add(), one), node.upper, node.step)
            yield ast.Slice(None, node.upper, node.step)
        if node.upper is not None:
            yield ast.Slice(node.lower, ast.BinOp(node.upper, ast.Sub(), one), node.step)
            yield ast.Slice(node.lower, None, node.step)


def nothing(node: ast.AST) -> Iterator[ast.AST]:
    """A function that forgets its answer; a statement that is left out."""
    if isinstance(node, ast.Return) and not (
        node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
    ):
        yield ast.Return(ast.Constant(None))
    called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    stored = isinstance(node, ast.Assign) and isinstance(
        node.targets[0], (ast.Subscript, ast.Attribute)
    )
    if called or stored or isinstance(node, (ast.AugAssign, ast.Raise)):
        yield ast.Pass()


OPERATORS: tuple[Operator, ...] = (
    compare, arithmetic, logic, constant, opposite, bounds, nothing,
)  # fmt: skip


def mutants(source: str) -> list[Mutant]:
    """All mutants of a source, in the order of its lines."""
    starts, found = [0], []
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in _changeable(ast.parse(source)):
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        for operator in OPERATORS:
            for changed in operator(node):
                text = ast.unparse(ast.fix_missing_locations(changed))
                if isinstance(node, ast.expr) and not isinstance(node, ast.Slice):
                    text = f"({text})"  # what surrounds it may bind more tightly
                found.append(Mutant(node.lineno, begin, end, operator.__name__, text))
    return sorted(found, key=lambda one: (one.line, one.begin))


def _changeable(node: ast.AST) -> Iterator[Any]:
    """Nodes with a place of their own whose change a test could notice."""
    if hasattr(node, "lineno"):
        yield node
    if isinstance(node, UNSEEN):
        return
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    unseen = {"returns", "annotation", "decorator_list", "type_comment"}
    for name, value in ast.iter_fields(node):
        if name not in unseen:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _changeable(child)
