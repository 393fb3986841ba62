"""Colours of classes and numbers, distinct also for readers who see few of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

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
# of the 256-colour palette of terminals
ANSI_CODES, ANSI_OTHER = (39, 208, 35, 167, 140, 178, 80, 175, 106, 137), 245
LOW, HIGH = "#dbe9f6", "#14508c"


def ranked_classes(tree: Tree) -> list[int]:
    """Return the class indices that get a colour of their own: all of few, the heaviest of many; in
    class order.
    """
    if len(tree.classes) <= len(CLASS_COLOURS):
        return list(range(len(tree.classes)))
    return sorted(np.argsort(-tree.weights[0], kind="stable")[: len(CLASS_COLOURS) - 1].tolist())


def class_colours(
    tree: Tree, colours: Sequence[object] = CLASS_COLOURS, other: object = OTHER
) -> list[Any]:
    """Return one colour per class; classes beyond the ranked ones share ``other``.

    colours : CLASS_COLOURS, or as many of another kind (ANSI_CODES, with ANSI_OTHER).
    """
    own = dict(zip(ranked_classes(tree), colours, strict=False))
    return [own.get(c, other) for c in range(len(tree.classes))]


def mix(a: str, b: str, share: float) -> str:
    """Return the colour ``share`` of the way from ``a`` to ``b`` (both "#rrggbb")."""
    one, two = (bytes.fromhex(colour[1:]) for colour in (a, b))
    return "#" + "".join(f"{round(x + (y - x) * share):02x}" for x, y in zip(one, two, strict=True))


def value_range(tree: Tree) -> tuple[float, float]:
    """Smallest and largest number that a leaf predicts (regression)."""
    values = tree.value[tree.is_leaf]
    return float(values.min()), float(values.max())


def place_between(value: float, low: float, high: float) -> float:
    """Return where a number lies between the lowest (0) and the highest (1)."""
    return 0.5 if high <= low else min(max((value - low) / (high - low), 0.0), 1.0)


def node_colour(tree: Tree, node: int) -> str:
    """Return the colour of what a node predicts; of a number its place on a light-to-dark scale."""
    if tree.is_regression:
        return mix(LOW, HIGH, place_between(float(tree.value[node]), *value_range(tree)))
    return str(class_colours(tree)[tree.label[node]])


def series_colour(number: int) -> str:
    """Return the colour of the method (or line) with this number; from the eleventh on the same
    colours, darker, then lighter.
    """
    colour, turn = CLASS_COLOURS[number % len(CLASS_COLOURS)], number // len(CLASS_COLOURS) % 3
    return (colour, mix(colour, "#000000", 0.45), mix(colour, "#ffffff", 0.5))[turn]


def series_form(number: int) -> str:
    """Return the form of its mark (as matplotlib spells it), for readers who see few of these
    colours.
    """
    return "osD^"[number % 4]
