"""Which code made a result: versions for the reader, one content hash for "already finished"."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arboretum.plugin.registry import Owner

_SUFFIXES = {".py", ".yaml"}
FRAMEWORK = "arboretum"  # under which name the framework's code is listed


def code_hash(paths: Iterable[str | Path]) -> str:
    """SHA-256 of the sources below each folder (or of each file): names relative to it, and
    contents.

    Tests and caches do not count.  About 10 ms for the framework and the first-party plugins.
    """
    digest = hashlib.sha256()
    for path in sorted({Path(p) for p in paths}):
        files = (
            [path]
            if path.is_file()
            else sorted(p for p in path.rglob("*") if p.suffix in _SUFFIXES)
        )
        for file in files:
            inside = file.name if file == path else file.relative_to(path).as_posix()
            if "tests/" in inside or "__pycache__" in inside:
                continue
            digest.update(f"{path.name}/{inside}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def framework_folder() -> Path:
    """Absolute path of the package ``arboretum``."""
    return Path(__file__).resolve().parents[1]


def versions(owners: Iterable[Owner] = ()) -> dict[str, str]:
    """Package → version; "plugin NAME" → distribution and version; "git" → commit of a source
    checkout, if it is one.
    """
    import platform

    found = {"python": platform.python_version()}
    for name in ("arboretum", "numpy", "numba"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    found |= {f"plugin {owner.plugin}": version_of(owner) for owner in owners}
    commit = _commit(framework_folder())
    return {**found, "git": commit} if commit else found


def version_of(owner: Owner) -> str:
    """Distribution and version of a plugin; of a one-file plugin the checksum of its source."""
    return f"{owner.distribution} {owner.version}".strip()


def _commit(folder: Path) -> str:
    """The checkout's commit, "-dirty" appended when tracked files differ; "" outside a checkout
    or without git.
    """
    try:
        asked = [
            "git",
            "-C",
            str(folder),
            "describe",
            "--always",
            "--dirty",
            "--abbrev=40",
            "--exclude=*",
        ]
        run = subprocess.run(asked, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout.strip() if run.returncode == 0 else ""
