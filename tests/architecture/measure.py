"""What the house weighs: ``python tests/architecture/measure.py``.

Prints one line a measure: tokens without tests (names, numbers, operators and strings, commas
apart), lines over 100 columns and files over 700 lines (tests included), fields of integer arrays
that are read by capital constants, uses of ``Any`` in annotations, public names without a
docstring, and names in ``arboretum.api``.  ``--places NAME`` lists where one of the last four is.

What is subscripted has no type here: a mapping's entry under a constant key counts as a field, too.
A type's variable in an annotation (``type[T]``) is none.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COUNTED = {tokenize.NAME, tokenize.NUMBER, tokenize.OP, tokenize.STRING}
WIDTH, LENGTH = 100, 700


def sources() -> list[Path]:
    """The repository's Python files."""
    told = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    return [ROOT / line for line in told.split()]


def is_product(path: Path) -> bool:
    """Whether it is part of the framework or of a plugin, and no test."""
    parts = path.relative_to(ROOT).parts
    return parts[0] in ("framework", "plugins") and "tests" not in parts


def tokens(text: str) -> int:
    """Names, numbers, operators and strings, commas apart."""
    found = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(token.type in COUNTED and token.string != "," for token in found)


def annotations(tree: ast.Module) -> Iterator[ast.expr]:
    """What arguments, names and functions are said to be."""
    for node in ast.walk(tree):
        said = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        yield from filter(None, said)


def constants_as_fields(tree: ast.Module) -> Iterator[int]:
    """Lines of ``array[NAME]`` and ``array[…, NAME]``, NAME in capitals, annotations apart."""
    said = {part for annotation in annotations(tree) for part in ast.walk(annotation)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and node not in said:
            index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if any(isinstance(one, ast.Name) and one.id.isupper() for one in index):
                yield node.lineno


def uses_of_any(tree: ast.Module) -> Iterator[int]:
    """Lines of annotations that say ``Any``."""
    for annotation in annotations(tree):
        for part in ast.walk(annotation):
            if isinstance(part, ast.Name) and part.id == "Any":
                yield part.lineno


def without_docstring(tree: ast.Module) -> Iterator[int]:
    """Lines of public classes, functions and methods without one, properties too."""

    def within(body: list[ast.stmt]) -> Iterator[int]:
        for node in body:
            kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            if isinstance(node, kinds) and not node.name.startswith("_"):
                if ast.get_docstring(node) is None:
                    yield node.lineno
                if isinstance(node, ast.ClassDef):
                    yield from within(node.body)

    return within(tree.body)


PLACES = {
    "fields read by constants": constants_as_fields,
    "uses of Any": uses_of_any,
    "public names without docstring": without_docstring,
}


def main() -> None:
    """Print the measures, or the places of one."""
    parser = argparse.ArgumentParser(description="What the house weighs.")
    parser.add_argument("--places", choices=list(PLACES), help="list where")
    asked = parser.parse_args()
    sizes, found, wide, long = Counter[str](), Counter[str](), 0, 0
    for path in sources():
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        wide += sum(len(line) > WIDTH for line in lines)
        long += len(lines) > LENGTH
        if not is_product(path):
            continue
        package = path.relative_to(ROOT).parts[1]
        sizes[package] += tokens(text)
        for name, count in PLACES.items():
            places = list(count(ast.parse(text)))
            # a suite's tests are sentences
            places = [] if name.startswith("public") and "suites" in path.parts else places
            found[name] += len(places)
            if asked.places == name and places:
                print(*(f"{path.relative_to(ROOT)}:{line}" for line in places), sep="\n")
    if asked.places:
        return
    import arboretum.api

    print(f"{'tokens without tests':<34}{sizes.total():>9,}")
    for package, size in sizes.most_common():
        print(f"  {package:<32}{size:>9,}")
    print(f"{f'lines over {WIDTH} columns':<34}{wide:>9,}")
    print(f"{f'files over {LENGTH} lines':<34}{long:>9,}")
    for name in PLACES:
        print(f"{name:<34}{found[name]:>9,}")
    print(f"{'names in arboretum.api':<34}{len(arboretum.api.__all__):>9,}")


if __name__ == "__main__":
    main()
