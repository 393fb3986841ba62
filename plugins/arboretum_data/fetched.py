"""Files of an address: fetched once, kept in the data home under the checksum of their content, and
taken only where that is the one which was asked for.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

from arboretum.api import ConfigError, DataError
from arboretum_data.home import writable

TIMEOUT_SECONDS = 20.0
"""For an answer to begin, or a pause in it."""
BLOCK = 1 << 20
"""Bytes that are read at a time."""
_HEX = re.compile(r"[0-9a-f]{64}")


def is_address(path: str) -> bool:
    """Return whether a path is an address of the web."""
    return path.lower().startswith(("http://", "https://"))


def fetch_file(address: str, sha256: str | None, home: Path) -> Path:
    """Return where the file of an address is kept, ``home``/fetched/SHA256/NAME; fetched the first
    time.

    sha256 : of its content, 64 hexadecimal digits.
    home : the user's cache takes its place where nothing can be written there.

    Raises ConfigError for another checksum or address, DataError where it cannot be reached, or
    holds something else.
    """
    name = _name_of(address)
    if sha256 is not None:
        check_sum(sha256)
    folder = writable(home) / "fetched"
    if sha256 is not None:
        kept = folder / sha256.lower() / name
        if kept.is_file():
            check_file(kept, sha256, "delete it to have it fetched again")
            return kept
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="part-") as beside:
        fresh = Path(beside) / name
        found = _fetch_into(address, fresh)
        if sha256 is None:
            raise ConfigError(
                f"{address} is fetched by its checksum, so that it is the same for everybody; what "
                f"it gives now has dataset.sha256={found}"
            )
        if found != sha256.lower():
            raise DataError(
                f"{address} holds another content (sha256 {found}; expected {sha256}); look at it, "
                "and say the new checksum, or use a copy of your own by dataset.path=FILE"
            )
        kept.parent.mkdir(exist_ok=True)
        os.replace(fresh, kept)
    return kept


def check_sum(sha256: str) -> None:
    """Raise ConfigError for what is no checksum."""
    if not _HEX.fullmatch(sha256.lower()):
        raise ConfigError(f"dataset.sha256 must be 64 hexadecimal digits; got {sha256!r}")


def check_file(path: Path, sha256: str, way_out: str) -> None:
    """Raise DataError where a file has another content.

    way_out : what else there is to do than to say the content's own checksum.
    """
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(BLOCK):
                digest.update(block)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    if digest.hexdigest() != sha256.lower():
        raise DataError(
            f"{path} holds another content (sha256 {digest.hexdigest()}; expected {sha256}); "
            f"{way_out}, or say its own dataset.sha256"
        )


def _name_of(address: str) -> str:
    """The file's name, in letters, digits, dots, dashes and underscores.  Raises ConfigError for an
    address that names nobody, or somebody's password.
    """
    parts = urlsplit(address)
    if not parts.hostname or parts.password is not None or parts.username is not None:
        raise ConfigError(
            "dataset.path: an address names a machine, and neither a user nor a password, which "
            "would stand in every record; fetch the file yourself and say dataset.path=FILE"
        )
    last = unquote(parts.path).rstrip("/").rpartition("/")[2]
    return re.sub(r"[^A-Za-z0-9._-]", "_", last).lstrip(".") or "table"


def _fetch_into(address: str, place: Path) -> str:
    """Write what an address answers to a fresh file; returns the sha256 of it."""
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import urlopen

    instead = "fetch it where there is a network, and say dataset=file dataset.path=FILE"
    digest = hashlib.sha256()
    try:
        with urlopen(address, timeout=TIMEOUT_SECONDS) as answer, place.open("wb") as file:
            length, n = answer.headers.get("Content-Length"), 0
            while block := answer.read(BLOCK):
                file.write(block)
                digest.update(block)
                n += len(block)
    except HTTPError as error:
        raise DataError(
            f"{address} is not given: it answers {error.code} {error.reason}; look for it "
            "elsewhere, and say dataset=file dataset.path=FILE"
        ) from error
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        raise DataError(f"{address} cannot be reached ({reason}); {instead}") from error
    if length is not None and n != int(length):
        raise DataError(f"{address} ended after {n} of {length} bytes; start again, or {instead}")
    return digest.hexdigest()
