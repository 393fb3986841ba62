"""Reading pages and running their code blocks.

What is done with a block depends on its info string::

    bash                 run by bash -eu in the page's folder; must succeed
    bash fails           must end with a status other than 0
    bash in=checkout     lines ``make TARGET``: the target must exist (tests/docs/test_make.py runs
                         them)
    python               executed; all blocks of a page share one namespace
    python file=NAME     written to NAME in the page's folder (any language)
    yaml, toml, json     parsed
    text output          what the bash block before it printed: each line must occur, in this order,
                         numbers aside; a line "…" stands for lines left out
    text                 a picture; not code

One folder per page, and one environment, in which a page may install things without touching the
one the tests run in.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import attrs
import pytest
from warm.interpreter import another

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^(?P<indent> *)```(?P<info>.*)$")


@attrs.frozen
class Block:
    """One fenced block: where it stands, its info string's words, its text."""

    page: Path
    line: int
    words: tuple[str, ...]
    text: str

    @property
    def language(self) -> str:
        return self.words[0] if self.words else ""

    @property
    def file(self) -> str:
        """NAME of ``file=NAME``, or ""."""
        return next(
            (word.removeprefix("file=") for word in self.words if word.startswith("file=")), ""
        )

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found, current, start, info, indent = [], None, 0, "", 0
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        match = FENCE.match(line)
        if match and current is None:
            current, start, info, indent = [], number, match["info"], len(match["indent"])
        elif match and not match["info"]:
            found.append(Block(page, start, tuple(info.split()), "\n".join(current) + "\n"))
            current = None
        elif current is not None:
            current.append(line[indent:])
    assert current is None, f"{page}:{start}: block is not closed"
    return found


def pages() -> list[Path]:
    """Every page that a reader may follow."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def skeleton(line: str) -> str:
    """A printed line without what differs from run to run or machine to machine: numbers, rules,
    spacing, folders.
    """
    line = re.sub(r"\S*[/\\]\S+", "PATH", line)
    line = re.sub(r"−?-?\d+(\.\d+)?(e[-+]?\d+)?", "0", line)
    return " ".join(re.sub(r"[─━]+", "─", line).split())


def assert_printed(shown: str, printed: str, where: str) -> None:
    """Every line shown occurs in what was printed, in this order."""
    actual = [skeleton(line) for line in printed.splitlines()]
    position = 0
    for line in shown.splitlines():
        wanted = skeleton(line)
        if not wanted or wanted == "…":
            continue
        assert wanted in actual[position:], (
            f"{where}: the page shows {line!r}, but the command printed\n{printed}"
        )
        position += actual[position:].index(wanted) + 1


@attrs.frozen
class Lab:
    """A folder to work in, and an environment of its own on top of the one that runs the tests."""

    folder: Path
    environment: dict[str, str]

    @staticmethod
    def at(base: Path) -> Lab:
        """Make both below ``base``; nothing is downloaded."""
        home, folder = base / "venv", base / "work"
        folder.mkdir(parents=True)
        venv.create(home, with_pip=False)
        outer = next(path for path in map(Path, sys.path) if path.name == "site-packages")
        inner = next((home / "lib").glob("python*/site-packages"))
        (inner / "outer.pth").write_text(f"import site; site.addsitedir({str(outer)!r})\n")
        command = home / "bin" / "arboretum"
        command.write_text(
            f"#!{another(home / 'bin' / 'python')}\nimport sys\nfrom arboretum.cli.main "
            "import main\nsys.exit(main())\n"
        )
        command.chmod(0o755)
        environment = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("ARBORETUM_", "PYTEST_"))
        }
        environment.pop("PYTHONPATH", None)
        environment |= {
            "PATH": f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": "120",
            "NO_COLOR": "1",
            "PIP_NO_INDEX": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "ARBORETUM_DATA": str(base / "no-data-home"),
            "XDG_CONFIG_HOME": str(base / "config"),
        }
        return Lab(folder, environment)

    def bash(self, text: str, timeout: float = 240) -> subprocess.CompletedProcess:
        """Run a script; output and errors together in ``stdout``."""
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
            check=False,
        )


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab.at(tmp_path)


@pytest.fixture(scope="session")
def reading():
    """The functions above, for the test modules."""
    return sys.modules[__name__]
