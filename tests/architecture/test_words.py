"""Names are made of words that a reader knows: of the field, or of a list that is kept by hand."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

WORDS = Path(__file__).with_name("words.txt")
"""One word a line, sorted."""
WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")


def names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """(name, line) of what a module defines: functions, classes, arguments and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        if isinstance(node, ast.ClassDef):
            for one in node.body:
                if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                    yield one.target.id, one.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
