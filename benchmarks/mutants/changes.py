"""The mutants of a source file: the file with one small mistake in it, each.

What counts as a mistake is mutmut's list: another operator or number, a string in other letters, an
argument left out or None, a value that is None, a branch never taken. mutmut itself changes plain
functions only; here those with decorators are changed too (compiled loops, properties, context
managers), and numbers and strings outside functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

# As in mutmut: their arguments are types and sized things, and any change is an error at once.
_LEFT_ALONE = ("len", "isinstance")


@dataclass(frozen=True)
class Mutant:
    """A file with one mistake in it.

    Attributes
    ----------
    file : str
        Relative to the package.
    function : str
        Dotted; empty outside functions.
    line : int
    before, after : str
        The lines that differ, without indentation.
    reach : range
        Lines of which a test must run one to notice; empty if that is any test.
    code : str
        The whole file.
    """

    file: str
    function: str
    line: int
    before: str
    after: str
    reach: range
    code: str


def mutants(package: Path, file: str) -> Iterator[Mutant]:
    """Every mutant of a file, in the order of its lines."""
    wrapper = MetadataWrapper(cst.parse_module((package / file).read_text()))
    finder = _Finder()
    wrapper.visit(finder)
    original = wrapper.module.code
    for path, new, function, reach in finder.found:
        code = _replaced(path, new).code
        if code != original:
            yield Mutant(file, function, *_difference(original, code), reach, code)


def _replaced(path: Sequence[cst.CSTNode], new: cst.CSTNode) -> Any:
    """The first node of a path, with another one at the path's end."""
    for old, parent in pairwise(reversed(path)):
        for field in fields(parent):
            value = getattr(parent, field.name)
            if value is old:
                new = parent.with_changes(**{field.name: new})
                break
            if isinstance(value, Sequence) and any(child is old for child in value):
                children = [new if child is old else child for child in value]
                new = parent.with_changes(**{field.name: children})
                break
    return new


def _difference(original: str, code: str) -> tuple[int, str, str]:
    """The first line that differs, and what stands there before and after."""
    before, after = original.splitlines(), code.splitlines()
    same = [one == other for one, other in zip_longest(before, after)]
    first = same.index(False)
    n_last = 0  # lines at the end that are the same
    while n_last < min(len(before), len(after)) - first and before[~n_last] == after[~n_last]:
        n_last += 1

    def part(lines: list[str]) -> str:
        return " ".join(line.strip() for line in lines[first : len(lines) - n_last])

    return first + 1, part(before), part(after)


class _Finder(cst.CSTVisitor):
    """Collects what can be replaced by what, in which function, and where it is reached."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[list[cst.CSTNode], cst.CSTNode, str, range]] = []
        self._path: list[cst.CSTNode] = []
        self._names: list[tuple[str, bool]] = []
        self._reach: list[range] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if _is_left_alone(node):
            return False
        self._path.append(node)
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            self._names.append((node.name.value, isinstance(node, cst.FunctionDef)))
        if _is_statement(node):
            self._reach.append(self._lines(node))
        inside = any(is_function for _, is_function in self._names)
        if inside or isinstance(node, cst.BaseNumber | cst.BaseString):
            function = ".".join(name for name, _ in self._names) if inside else ""
            reach = self._reach[-1] if inside else range(0)
            for kind, changed in mutation_operators:
                if isinstance(node, kind):
                    path = list(self._path)
                    self.found += [
                        (path, new, function, reach)
                        for new in changed(node)
                        if not _are_one_number(node, new)
                    ]
        return True

    def on_leave(self, node: cst.CSTNode) -> None:
        if _is_left_alone(node):
            return
        self._path.pop()
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            self._names.pop()
        if _is_statement(node):
            self._reach.pop()

    def _lines(self, node: cst.CSTNode) -> range:
        """Lines of a statement; of one with a body, those of its head."""
        place = self.get_metadata(PositionProvider, node)
        end = place.end.line + 1
        body = getattr(node, "body", None)
        if body is not None and not isinstance(node, cst.FunctionDef):
            inner = self.get_metadata(PositionProvider, body).start.line
            end = max(inner, place.start.line + 1)
        return range(place.start.line, end)


def _are_one_number(one: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether these are the same number, as 1e30 and 1e30 + 1 are."""
    kinds = (cst.Integer, cst.Float)
    if not (isinstance(one, kinds) and isinstance(other, kinds)):
        return False
    return bool(one.evaluated_value == other.evaluated_value)


def _is_statement(node: cst.CSTNode) -> bool:
    kinds = (cst.BaseSmallStatement, cst.BaseCompoundStatement, cst.ExceptHandler, cst.MatchCase)
    return isinstance(node, kinds)


def _is_left_alone(node: cst.CSTNode) -> bool:
    """Types are no code, and what stands in a decorator or a default runs on import."""
    match node:
        case cst.Annotation() | cst.Decorator():
            return True
        case cst.Param(default=default):
            simple = (cst.Name, cst.BaseNumber, cst.BaseString)
            return default is not None and not isinstance(default, simple)
        case cst.Call(func=cst.Name(value=name)):
            return name in _LEFT_ALONE
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value="__all__"))]):
            return True
    return False
