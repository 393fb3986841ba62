"""Presets: YAML files in Hydra's defaults-list form, read here without Hydra.

A preset names a recipe and selects options; it holds no values::

    # @package _global_
    # CART: binary trees by impurity reduction; paper: Breiman, Friedman, Olshen & Stone 1984
    defaults:
      - greedy@method
      - override /criterion: reduction
      - override /stopping: [standard]
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from arboretum.errors import PluginError
from arboretum.interfaces.component import KINDS, MANY
from arboretum.plugin.registry import Owner, Preset


def read_presets(folder: Path, owner: Owner) -> list[Preset]:
    """Read ``folder/<kind>/*.yaml``; an absent folder holds none.  Raises PluginError naming the file and the rule."""
    if not folder.is_dir():
        return []
    return [read_preset(path, owner) for path in sorted(folder.glob("*/*.yaml"))]


def read_preset(path: Path, owner: Owner) -> Preset:
    """Read one preset file."""
    import yaml

    text = path.read_text(encoding="utf-8")
    kind = path.parent.name
    try:
        data = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # the C form, where built: a tenth of the time
    except yaml.YAMLError as error:
        raise _broken(path, owner, " ".join(str(error).split())) from None
    if kind not in KINDS:
        raise _broken(path, owner, f"folder {kind!r} is not a kind")
    if not isinstance(data, dict) or set(data) != {"defaults"} or not isinstance(data["defaults"], list):
        raise _broken(path, owner, "a preset holds a list 'defaults' and no values")
    recipe, select = "", {}
    for item in data["defaults"]:
        if isinstance(item, str) and item.endswith(f"@{kind}"):
            recipe = item.removesuffix(f"@{kind}")
            continue
        select.update(_selection(path, owner, item))
    if not recipe:
        raise _broken(path, owner, f"no recipe; expected a line '- NAME@{kind}'")
    summary = " ".join(line[1:].strip() for line in text.splitlines() if line.startswith("#") and "@package" not in line)
    paper = re.search(r";?\s*paper:\s*(.+)$", summary)
    return Preset(
        kind=kind,
        name=path.stem,
        recipe=recipe,
        select=select,
        owner=owner,
        summary=summary[: paper.start()].strip() if paper else summary,
        paper=paper.group(1).strip() if paper else "",
    )


def _selection(path: Path, owner: Owner, item: Any) -> dict[str, str | tuple[str, ...]]:
    if not isinstance(item, dict) or len(item) != 1:
        raise _broken(path, owner, f"cannot read {item!r}; expected 'override /GROUP: OPTION'")
    (key, value), = item.items()
    words = str(key).split()
    if len(words) != 2 or words[0] != "override" or not words[1].startswith("/") or words[1][1:] not in KINDS:
        raise _broken(path, owner, f"cannot read {key!r}; expected 'override /GROUP: OPTION'")
    group = words[1][1:]
    if isinstance(value, list):
        if group not in MANY:
            raise _broken(path, owner, f"{group} takes one option, not a list")
        return {group: tuple(map(str, value))}
    return {group: (str(value),) if group in MANY else str(value)}


def _broken(path: Path, owner: Owner, reason: str) -> PluginError:
    return PluginError(f"plugin {owner.plugin}: preset {path.parent.name}/{path.name}: {reason}")
