"""What the sentences about the house are checked on: source files, read as syntax trees and
never imported.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import attrs
import pytest

ROOT = Path(__file__).resolve().parents[2]


@attrs.frozen
class Import:
    """One import statement: what is imported where, and whether at module level (so at import)
    or later.
    """

    target: str
    line: int
    at_import: bool


@attrs.frozen(slots=False)
class Module:
    """One source file of the framework or of a plugin."""

    path: Path
    name: str

    @property
    def where(self) -> str:
        return str(self.path.relative_to(ROOT))

    @property
    def package(self) -> str:
        """ "arboretum" for the framework, the plugin's name for a plugin."""
        return self.name.split(".")[0]

    @property
    def room(self) -> str:
        """Folder or file directly under ``arboretum``: "engine", "errors", …; "" for the package
        itself.
        """
        return self.name.split(".")[1] if "." in self.name else ""

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text(encoding="utf-8"))

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        return tuple(self._find_imports(self.tree, at_import=True))

    def _find_imports(self, node: ast.AST, *, at_import: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and _is_type_checking(child.test):
                continue  # never executed
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(alias.name, child.lineno, at_import)
            elif isinstance(child, ast.ImportFrom):
                yield from self._from(child, at_import)
            later = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from self._find_imports(child, at_import=at_import and not later)

    def _from(self, node: ast.ImportFrom, at_import: bool) -> Iterator[Import]:
        base = node.module or ""
        if node.level:
            package = self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]
            for _ in range(node.level - 1):
                package = package.rpartition(".")[0]
            base = f"{package}.{base}" if base else package
        if base == "arboretum":  # "from arboretum import kernels" imports the room "kernels"
            for alias in node.names:
                yield Import(f"arboretum.{alias.name}", node.lineno, at_import)
        else:
            yield Import(base, node.lineno, at_import)


def _is_type_checking(test: ast.expr) -> bool:
    return getattr(test, "id", getattr(test, "attr", "")) == "TYPE_CHECKING"


@attrs.frozen(slots=False)
class House:
    """The checkout."""

    root: Path

    @cached_property
    def framework(self) -> tuple[Module, ...]:
        return self._modules(self.root / "framework", "arboretum")

    @cached_property
    def plugins(self) -> tuple[Module, ...]:
        """Modules of the first-party plugins, their tests excepted."""
        folders = sorted(path.parent.name for path in (self.root / "plugins").glob("*/__init__.py"))
        return tuple(
            module for folder in folders for module in self._modules(self.root / "plugins", folder)
        )

    @property
    def modules(self) -> tuple[Module, ...]:
        return self.framework + self.plugins

    def _modules(self, source: Path, package: str) -> tuple[Module, ...]:
        paths = [
            p
            for p in sorted((source / package).rglob("*.py"))
            if "tests" not in p.relative_to(source).parts
        ]
        return tuple(Module(path, self._name(path.relative_to(source))) for path in paths)

    @staticmethod
    def _name(relative: Path) -> str:
        parts = list(relative.with_suffix("").parts)
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @cached_property
    def tracked(self) -> tuple[Path, ...]:
        """Every file that git tracks; skips the test where there is no git checkout."""
        try:
            listed = subprocess.run(
                ["git", "ls-files", "-z"],
                cwd=self.root,
                capture_output=True,
                check=True,
                timeout=60,
            )
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("not a git checkout: the tracked files are unknown")
        names = listed.stdout.decode().split("\0")
        return tuple(self.root / name for name in names if name and (self.root / name).is_file())


@pytest.fixture(scope="session")
def house() -> House:
    return House(ROOT)
