"""Colours of classes and numbers, distinct also for readers who see few of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arboretum.model.table import Task
from arboretum.model.tree import Tree

CLASS_COLOURS = (
    "#3b7dd8",
    "#e08a1e",
    "#2a9d6f",
    "#c8553d",
    "#8e6bbf",
    "#d9b514",
    "#56b4c9",
    "#c77ba6",
    "#7d8f2e",
    "#8c5b3e",
)
OTHER = "#9aa0a6"
ANSI_CODES = (39, 208, 35, 167, 140, 178, 80, 175, 106, 137)
ANSI_OTHER = 245
LOW, HIGH = "#dbe9f6", "#14508c"


def ranked_classes(tree: Tree) -> list[int]:
    """Class indices that get a colour of their own: all of few, the heaviest of many; in class order."""
    n = len(tree.classes)
    if n <= len(CLASS_COLOURS):
        return list(range(n))
    heaviest = np.argsort(-tree.weights[0], kind="stable")[: len(CLASS_COLOURS) - 1]
    return sorted(heaviest.tolist())


def class_colours(tree: Tree) -> list[str]:
    """One colour per class; classes beyond the ranked ones share a grey."""
    colours = [OTHER] * len(tree.classes)
    for colour, c in zip(CLASS_COLOURS, ranked_classes(tree), strict=False):
        colours[c] = colour
    return colours


def ansi_codes(tree: Tree) -> list[int]:
    """One code of the 256-colour terminal palette per class."""
    codes = [ANSI_OTHER] * len(tree.classes)
    for code, c in zip(ANSI_CODES, ranked_classes(tree), strict=False):
        codes[c] = code
    return codes


def mix(a: str, b: str, share: float) -> str:
    """The colour ``share`` of the way from ``a`` to ``b`` (both "#rrggbb")."""
    one, two = (_channels(colour) for colour in (a, b))
    return "#" + "".join(f"{round(x + (y - x) * share):02x}" for x, y in zip(one, two, strict=True))


def _channels(colour: str) -> Sequence[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def tint(colour: str) -> str:
    """A light version for the ground under dark text."""
    return mix(colour, "#ffffff", 0.82)


def value_range(tree: Tree) -> tuple[float, float]:
    """Smallest and largest number that a leaf predicts (regression)."""
    values = tree.value[tree.is_leaf]
    return float(values.min()), float(values.max())


def value_colour(tree: Tree, value: float) -> str:
    """A number's place on the light-to-dark scale of its tree."""
    low, high = value_range(tree)
    place = 0.5 if high <= low else min(max((value - low) / (high - low), 0.0), 1.0)
    return mix(LOW, HIGH, place)


def node_colour(tree: Tree, node: int) -> str:
    """The colour of what a node predicts."""
    if tree.task is Task.regression:
        return value_colour(tree, float(tree.value[node]))
    return class_colours(tree)[tree.label[node]]


FORMS = ("o", "s", "D", "^")
"""Marks (as matplotlib spells them) that go with the colours of a study's methods, for readers who see few of these."""


def series_colour(number: int) -> str:
    """The colour of the method (or line) with this number; from the eleventh on the same colours, darker, then lighter."""
    colour, turn = CLASS_COLOURS[number % len(CLASS_COLOURS)], number // len(CLASS_COLOURS) % 3
    return (colour, mix(colour, "#000000", 0.45), mix(colour, "#ffffff", 0.5))[turn]


def series_form(number: int) -> str:
    """The form of its mark."""
    return FORMS[number % len(FORMS)]
