"""How does a configuration become parameters?  Nested fields → flat names and texts that MLflow takes."""

from __future__ import annotations

import enum
import hashlib
import json
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

MAX_NAME = 250
MAX_PARAM = 6000
MAX_TAG = 5000  # SQLite takes 8000; 5000 is what MLflow promises for every store
MACHINERY = frozenset({"hydra", "tracker", "choices", "skip_finished"})
"""Keys that describe how a run was started or kept, not what it computed (a tracker's URI may hold a password)."""


def parameters(config: Mapping[str, Any], seed: int | None = None) -> dict[str, str]:
    """Flatten a composed configuration.

    Chosen options come first under their group's name ("criterion" → "gain_ratio"), then fields ("criterion.lam" → "10").
    Groups that are switched off are left out.
    """
    found: dict[str, str] = {}
    for group, option in (config.get("choices") or {}).items():
        if option not in (None, "", "none", [], ()) and group not in MACHINERY:
            found[group] = text_of(option)
    if seed is not None:
        found["seed"] = str(seed)
    for name, value in _leaves({k: v for k, v in config.items() if k not in MACHINERY}, ""):
        group, _, field = name.partition(".")
        if field != "name" or found.get(group) != text_of(value):  # the chosen name is said already
            found.setdefault(name, text_of(value))
    return {name: shorten(value, MAX_PARAM) for name, value in sanitised(found.items())}


def _leaves(value: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, value


def text_of(value: Any) -> str:
    """One value as text: "none", "true", "0.1", "standard, pure", JSON for anything nested."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        if any(isinstance(item, Mapping | Sequence) and not isinstance(item, str | bytes) for item in value):
            return json.dumps(value, ensure_ascii=False, default=str)
        return ", ".join(text_of(item) for item in value)
    return str(value)


def sanitised(items: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the items under names that MLflow takes; names that become equal are numbered ("a_b", "a_b-2")."""
    seen: set[str] = set()
    for name, value in items:
        base = clean_name(name)
        unique, number = base, 1
        while unique in seen:
            number += 1
            unique = f"{base[: MAX_NAME - len(str(number)) - 1]}-{number}"
        seen.add(unique)
        yield unique, value


def clean_name(name: str) -> str:
    """Replace what MLflow refuses in a name: other characters than letters, digits, ``_ - . /`` and space, paths that
    resolve to another path, more than 250 characters (the end becomes a hash)."""
    clean = re.sub(r"[^/\w.\- ]", "_", name)
    if posixpath.normpath(clean) != clean or clean.startswith(("/", "..")) or clean == ".":
        clean = re.sub(r"/|^\.+", "_", clean) or "_"
    if len(clean) > MAX_NAME:
        clean = f"{clean[: MAX_NAME - 13]}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"
    return clean


def shorten(text: str, limit: int) -> str:
    """Cut a text to ``limit`` characters and say so at its end."""
    if len(text) <= limit:
        return text
    mark = f" … [{len(text)} characters, whole in record.json]"
    return text[: limit - len(mark)] + mark


def chunks(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """Cut a sequence into pieces of at most ``size``."""
    return [items[start : start + size] for start in range(0, len(items), size)]
