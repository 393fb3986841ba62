"""What the site has beside the repository's pages: Python and the command, read off the code."""

from __future__ import annotations

import importlib
import io
import os
import re
import sys
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.transforms import Transform
from myst_parser.mdit_to_docutils.transforms import ResolveAnchorIds
from sphinx.application import Sphinx
from sphinx_gallery.scrapers import figure_rst

import arboretum
from arboretum import api, kernels, testing
from arboretum.cli.main import VERBS, main
from arboretum.interfaces.contracts import REQUIRED
from arboretum.plugin.discovery import load_registry

sys.path.insert(0, str(Path(__file__).parents[1] / "reference"))
import generate

ANCHOR = re.compile(r'<a id="([^"]+)">')
FIELD = re.compile(
    r"(?:^|(?<=   )|(?<=; )|(?<=\. ))(?:``)?([A-Za-z_]+(?:, [A-Za-z_]+)*)(?:``)? : ", re.MULTILINE
)
"""Where a docstring begins to tell of a field: ``name : meaning``."""

PYTHON = """\
Python
======

``arboretum`` has ``run``, ``load`` and the two estimators. A plugin imports from ``arboretum.api``,
``arboretum.kernels`` and ``arboretum.testing`` alone; they offer what stands here by the room that
answers for it. Shapes stand in brackets: ``float64[n_rows]``.
"""
COMMAND = """\
The command
===========

Every verb as ``arboretum VERB --help`` tells it. The configuration is that of
``arboretum run``: groups choose components, keys set their fields.
"""


def python_page() -> str:
    """Every public name of Python with a page of its own."""
    rooms: dict[str, set[str]] = {"sklearn": set(), "config": set(), "interfaces": set()}
    for package in (arboretum, api, kernels, testing):
        for name in set(package.__all__) - {"__version__"}:
            thing = getattr(package, name)
            inside = f"{getattr(thing, '__module__', '')}.{getattr(thing, '__name__', '')}"
            if not inside.startswith("arboretum."):  # a module, or a value
                inside = getattr(thing, "__name__", f"{package.__name__}.{name}")
            rooms.setdefault(inside.split(".")[1], set()).add(inside)
    rooms["interfaces"] |= {f"{one.__module__}.{one.__name__}" for one in REQUIRED.values()}
    rooms = {f"arboretum.{room}": names for room, names in rooms.items()}
    for entry in generate.first_party(load_registry()).entries():
        place = f"{entry.cls.__module__}.{entry.cls.__qualname__}"
        if hasattr(importlib.import_module(entry.cls.__module__), entry.cls.__qualname__):
            rooms.setdefault(entry.owner.plugin, set()).add(place)
    parts = [PYTHON]
    for head, names in rooms.items():
        meaning = (importlib.import_module(head).__doc__ or "").partition("\n\n")[0]
        listed = "".join(f"   ~{name}\n" for name in sorted(names, key=str.casefold))
        table = f".. autosummary::\n   :toctree: api\n\n{listed}"
        parts.append(f"{head}\n{'-' * len(head)}\n\n{meaning}\n\n{table}")
    return "\n".join(parts)


def command_page() -> str:
    """The help of every verb."""
    os.environ["COLUMNS"] = "96"
    parts = [COMMAND]
    for verb in VERBS:
        said = io.StringIO()
        with redirect_stdout(said), suppress(SystemExit):
            main([verb, "--help"])
        block = "".join(f"   {line}\n" for line in said.getvalue().splitlines())
        parts.append(f"{verb}\n{'-' * len(verb)}\n\n.. code-block:: text\n\n{block}")
    return "\n".join(parts)


def sections(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Put what a docstring tells of fields in the form that numpydoc reads."""
    summary, *told = FIELD.split("\n".join(lines))
    prose, fields = [summary.rstrip()], []
    for names, text in zip(told[::2], told[1::2], strict=True):
        meaning, _, more = text.partition("\n\n")
        fields += [names, *(f"    {line.strip()}" for line in meaning.splitlines())]
        prose.append(more)
    if what == "class" and {"kind", "name", "capabilities"} <= set(dir(thing)):
        choice = f"``{thing.kind}={thing.name}``"
        prose.append(f"Chosen by {choice}." + (f" Paper: {thing.paper}." if thing.paper else ""))
        for row in generate.field_table(thing)[2:]:
            cells = re.split(r" \| ", row.strip("| ").replace("`", "``"))
            told = ", ".join(filter(None, map(str.strip, cells[1:4])))
            fields += [f"{cells[0].strip('`')} : {told}", f"    {cells[-1]}"]
    head = ["", "Parameters", "----------"] if fields else []
    told = "\n\n".join(filter(None, prose)).splitlines() + head + fields + [""]
    # an absolute value is no substitution
    lines[:] = [re.sub(r"(``.*?``)|\|", lambda found: found[1] or "\\|", line) for line in told]


def drawn(block: tuple[str, str, int], variables: dict[str, Any], gallery: dict[str, Any]) -> str:
    """The SVG files that a code block of an example wrote, as pictures of its page."""
    places = []
    for made in sorted(Path.cwd().glob("*.svg")):
        places.append(Path(next(variables["image_path_iterator"])).with_suffix(".svg"))
        made.rename(places[-1])
    return figure_rst(places, gallery["src_dir"])


class Anchors(Transform):
    """Let links lead to ``<a id="…">``."""

    default_priority = ResolveAnchorIds.default_priority - 1

    def apply(self) -> None:
        """Add them to the headings that MyST knows."""
        found = {
            name: (0, name, name)
            for raw in self.document.findall(nodes.raw)
            for name in ANCHOR.findall(raw.astext())
        }
        environment = self.document.settings.env
        for slugs in (vars(self.document), environment.metadata[environment.docname]):
            slugs["myst_slugs"] = {**slugs.get("myst_slugs", {}), **found}
