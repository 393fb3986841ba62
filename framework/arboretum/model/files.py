"""Files that a setting names (a proof, a page): looked at before the work whose result they
take, and written whole or not at all.
"""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from arboretum.errors import StoreError

HEAD_BYTES = 4_096


def file_for(path: str | os.PathLike[str], key: str, mark: str) -> Path:
    """Return where a setting's file is written, links followed: a new one, or in place of one that
    was written so.

    key : of the setting.
    mark : what its files have within their first bytes; any other file is somebody's.

    Raises StoreError.
    """
    place = Path(path).expanduser().resolve()
    try:
        taken = place.exists() and not (place.is_file() and mark in _head(place))
        if not taken and not place.parent.is_dir():
            raise NotADirectoryError(0, f"{str(place.parent)!r} is no folder")
        if not taken and not os.access(place.parent, os.W_OK | os.X_OK):
            raise PermissionError(0, f"nothing may be put into {str(place.parent)!r}")
    except OSError as error:
        raise _trouble(path, key, error) from None
    if taken:
        raise StoreError(
            f"{key}={str(path)!r} is there already and was not written by this, so it is "
            f"kept; name another file with {key}"
        )
    return place


def _head(path: Path) -> str:
    """The first bytes of a file, as text."""
    with path.open("rb") as file:
        return file.read(HEAD_BYTES).decode(errors="replace")


def _trouble(path: str | os.PathLike[str], key: str, error: OSError) -> StoreError:
    """The error for a setting's file that cannot be written."""
    return StoreError(
        f"{key}={str(path)!r} cannot be written ({error.strerror or error}); name another "
        f"file with {key}"
    )


def put_text(path: str | os.PathLike[str], text: str, key: str, mark: str) -> None:
    """Write a setting's file: what is there stays until the new one is whole.   Arguments as for
    :func:`file_for`; raises StoreError.
    """
    place = file_for(path, key, mark)
    part = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(place)
    except OSError as error:
        raise _trouble(path, key, error) from error
    finally:
        with suppress(OSError):
            part.unlink()
