"""Small faults for a module: each changes one expression or statement, and a good test notices it.

Left out is what no test of numbers can see: texts (docstrings, messages, errors, functions that return a text),
annotations, decorators and imports.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}
_OTHER_FUNCTION = {"min": "max", "minimum": "maximum", "any": "all", "floor": "ceil", "zeros": "ones"}
_OTHER_FUNCTION |= {new: old for old, new in _OTHER_FUNCTION.items()}
_UNWRAPPED = {"abs", "ceil", "clip", "cumsum", "exp", "floor", "log", "rint", "sorted", "sqrt"}
_SYMMETRIC = {"isinstance", "max", "maximum", "min", "minimum"}
_NO_NUMBERS = {"dtype", "strict"}  # keyword arguments


@dataclass(frozen=True)
class Mutant:
    """One change of a source: its bytes from ``start`` to ``end`` are replaced.

    where:
        lines  are those of the statement: a test that runs none of them cannot see the change.
    """

    start: int
    end: int
    replacement: str
    lines: range

    def applied(self, source: str) -> str:
        """The changed source."""
        raw = source.encode()
        return (raw[: self.start] + self.replacement.encode() + raw[self.end :]).decode()


def mutants_of(source: str) -> list[Mutant]:
    """All mutants of a module, in the order of its lines."""
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    return sorted(dict.fromkeys(finder.mutants), key=lambda one: (one.start, one.end, one.replacement))


class _Finder(ast.NodeVisitor):
    """Walks through a module and notes what can be changed."""

    def __init__(self, source: str) -> None:
        self.raw = source.encode()
        self.first_byte = [0]
        for line in self.raw.splitlines(keepends=True):
            self.first_byte.append(self.first_byte[-1] + len(line))
        self.mutants: list[Mutant] = []
        self.lines = range(0)
        self.may_be_none = False

    def visit(self, node: ast.AST) -> Any:
        if not isinstance(node, ast.stmt):
            return super().visit(node)
        outer = self.lines
        body = getattr(node, "body", None)
        last = (node.end_lineno or node.lineno) if body is None else max(node.lineno, body[0].lineno - 1)
        self.lines = range(node.lineno, last + 1)
        super().visit(node)
        self.lines = outer
        return None

    def note(self, start: int, end: int, replacement: str) -> None:
        self.mutants.append(Mutant(start, end, replacement, self.lines))

    def replace(self, node: ast.expr | ast.stmt, replacement: str) -> None:
        self.note(self.start(node), self.end(node), replacement)

    def replace_between(self, left: ast.expr, right: ast.expr, old: str, new: str) -> None:
        """Another operator: the first one between two operands, which may stand in brackets."""
        gap = self.raw[self.end(left) : self.start(right)].decode()
        start = self.end(left) + len(gap[: gap.index(old)].encode())
        self.note(start, start + len(old), new)

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self.first_byte[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt) -> int:
        return self.first_byte[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    def text(self, node: ast.expr) -> str:
        return self.raw[self.start(node) : self.end(node)].decode()

    def negate(self, test: ast.expr) -> None:
        self.replace(test, f"(not ({self.text(test)}))")

    # what is left out

    def visit_Raise(self, node: ast.Raise) -> None: ...

    def visit_Assert(self, node: ast.Assert) -> None: ...

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None: ...

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for each in node.body:
            self.visit(each)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if isinstance(node.returns, ast.Name) and node.returns.id == "str":
            return
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        outer, self.may_be_none = self.may_be_none, node.returns is not None and "| None" in self.text(node.returns)
        for each in node.body:
            self.visit(each)
        self.may_be_none = outer

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in _NO_NUMBERS:
            self.visit(node.value)

    # statements

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self.replace(node, "pass")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if isinstance(node.targets[0], ast.Subscript):
            self.replace(node, "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.replace(node, "pass")
        old, new = _ARITHMETIC[type(node.op)]
        self.replace_between(node.target, node.value, old, new)
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if self.may_be_none and node.value is not None and not _is_none(node.value):
            self.replace(node.value, "None")
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        self.negate(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self.negate(node.test)
        self.generic_visit(node)

    # expressions

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.negate(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self.negate(test)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for (left, right), kind in zip(pairwise([node.left, *node.comparators]), node.ops, strict=True):
            self.replace_between(left, right, *_COMPARISONS[type(kind)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in pairwise(node.values):
            self.replace_between(left, right, old, new)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in _ARITHMETIC:
            self.replace_between(node.left, node.right, *_ARITHMETIC[type(node.op)])
        if isinstance(node.op, ast.Add | ast.Sub):
            self.replace(node, f"({self.text(node.left)})")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        self.replace(node, f"({self.text(node.operand)})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self.replace(node, str(not value))
        elif isinstance(value, int):
            self.replace(node, str(value + 1))
        elif isinstance(value, float):
            self.replace(node, repr(2 * value or 1.0))

    def visit_Call(self, node: ast.Call) -> None:
        name = self.text(node.func).rpartition(".")[2]
        arguments = node.args
        if name in _OTHER_FUNCTION:
            self.note(self.end(node.func) - len(name), self.end(node.func), _OTHER_FUNCTION[name])
        if name in _UNWRAPPED and arguments:
            self.replace(node, f"({self.text(arguments[0])})")
        pair = arguments[:2]
        if len(pair) == 2 and name not in _SYMMETRIC and all(isinstance(one, ast.Name | ast.Attribute) for one in pair):
            first, second = pair
            between = self.raw[self.end(first) : self.start(second)].decode()
            self.note(self.start(first), self.end(second), f"{self.text(second)}{between}{self.text(first)}")
        self.generic_visit(node)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def changed_lines(old: str, new: str) -> Iterator[str]:
    """The lines in which two sources differ, as in a patch."""
    before, after = old.splitlines(), new.splitlines()
    same = next((i for i, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), len(before))
    tail = 0
    while tail < min(len(before), len(after)) - same and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    yield from (f"-{line}" for line in before[same : len(before) - tail])
    yield from (f"+{line}" for line in after[same : len(after) - tail])
