"""Where the nodes of a picture go: a tidy layout for nodes of different sizes.

Parents stand over the middle of their children, subtrees are pushed together until their outlines touch, and a subtree
looks the same wherever it stands.  Reingold & Tilford (1981), "Tidier drawings of trees"; outlines kept per level,
which costs O(nodes · depth), here at most a few hundred.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def tidy(root: T, children: Callable[[T], Sequence[T]], breadth: Callable[[T], float], gap: float) -> dict[int, float]:
    """Return ``id(item)`` → centre across the direction of growth, the smallest edge at 0.

    breadth : size of an item across the direction of growth.   gap : between neighbours on one level.
    """
    offset: dict[int, float] = {}  # relative to the parent
    _place(root, children, breadth, gap, offset)
    centre: dict[int, float] = {}
    stack = [(root, 0.0)]
    while stack:
        item, at = stack.pop()
        centre[id(item)] = at
        stack.extend((child, at + offset[id(child)]) for child in children(item))
    items = {id(item): item for item in _walk(root, children)}
    left = min(centre[key] - breadth(item) / 2 for key, item in items.items())
    return {key: at - left for key, at in centre.items()}


def _walk(root: T, children: Callable[[T], Sequence[T]]) -> list[T]:
    found = [root]
    for item in found:
        found.extend(children(item))
    return found


def _place(root, children, breadth, gap: float, offset: dict[int, float]) -> None:
    """Fill ``offset`` from the leaves up, keeping each subtree's outline: per level its (low, high) around its root."""
    outline: dict[int, list[tuple[float, float]]] = {}
    for item in reversed(_walk(root, children)):
        own = (-breadth(item) / 2, breadth(item) / 2)
        kids = children(item)
        if not kids:
            outline[id(item)] = [own]
            continue
        merged: list[tuple[float, float]] = []
        at: list[float] = []
        for kid in kids:
            shape = outline.pop(id(kid))
            shift = max((high + gap - low for (_, high), (low, _) in zip(merged, shape, strict=False)), default=0.0)
            at.append(shift)
            moved = [(low + shift, high + shift) for low, high in shape]
            shared = [(a[0], b[1]) for a, b in zip(merged, moved, strict=False)]
            merged = shared + merged[len(shared) :] + moved[len(shared) :]
        middle = (at[0] + at[-1]) / 2
        for kid, shift in zip(kids, at, strict=True):
            offset[id(kid)] = shift - middle
        outline[id(item)] = [own, *((low - middle, high - middle) for low, high in merged)]
