"""The Pareto front of trees: what each amount of one measure buys of another, the trees that show it, and what is proven."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs
import numpy as np

import arboretum
from arboretum.errors import ContractError
from arboretum.model.reading import plain, refuse_misfits
from arboretum.model.tree import Tree

SCHEMA = "arboretum.front/1"


@attrs.frozen
class Point:
    """values : one per axis.   tree : has these values; None where only the numbers were loaded."""

    values: tuple[float, ...] = attrs.field(converter=tuple)
    tree: Tree | None = attrs.field(default=None, eq=False, repr=False)


@attrs.frozen
class Front:
    """Trees none of which is beaten by another, and what no tree can beat.

    axes : metrics as runs report them; the first is the error (``train_error``), the others are what it is bought with
        (``max_cost``, ``expected_cost``, ``n_leaves``).
    points : ascending in the axes after the first.
    bound : corners: every tree's values are at or above some corner on every axis (proven).
    curves : name → values of other trees that are drawn beside the front, of which nothing is proven.

    Raises ContractError where these are no front.
    """

    axes: tuple[str, ...] = attrs.field(converter=tuple)
    points: tuple[Point, ...] = attrs.field(converter=tuple)
    bound: tuple[tuple[float, ...], ...] = attrs.field(converter=lambda corners: tuple(map(tuple, corners)))
    curves: Mapping[str, Sequence[tuple[float, ...]]] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        if len(self.axes) < 2 or len(set(self.axes)) < len(self.axes) or not self.points:
            raise ContractError(f"a front has two axes or more and a point; got {len(self.points)} points on {', '.join(self.axes) or 'none'}")
        values = [point.values for point in self.points]
        for one in (*values, *self.bound, *(one for curve in self.curves.values() for one in curve)):
            if len(one) != len(self.axes) or not all(map(math.isfinite, one)):
                raise ContractError(f"a front on {', '.join(self.axes)} has a finite number for each; got {one}")
        corners, table = np.array(self.bound, ndmin=2), self._values
        for number, one in enumerate(values):
            if number and one[1:] <= values[number - 1][1:]:
                raise ContractError(f"points of a front ascend in {', '.join(self.axes[1:])}; got {one} after {values[number - 1]}")
            if len(better := np.flatnonzero((table <= one).all(axis=1))) > 1:
                raise ContractError(f"no point of a front beats another; {values[better[better != number][0]]} beats {one}")
            if not (self.bound and (corners <= one).all(axis=1).any()):
                raise ContractError(f"every tree lies at or above a corner of the bound; {one} does not")

    def error_within(self, budget: Sequence[float]) -> float:
        """The least error among the points whose other values are at most ``budget``; ∞ where there is none."""
        values = self._values
        return float(values[(values[:, 1:] <= budget).all(axis=1), 0].min(initial=math.inf))

    @cached_property
    def _values(self) -> np.ndarray:
        """float64[points, axes]."""
        return np.array([point.values for point in self.points])

    @cached_property
    def gap(self) -> float:
        """The most by which the front's error may lie above the truth at any budget; 0 where the front is exact."""
        return max(0.0, *(self.error_within(corner[1:]) - corner[0] for corner in self.bound))

    @property
    def most_accurate(self) -> Point:
        """The point of least error (among equals the first: the cheapest on the second axis)."""
        return min(self.points, key=lambda point: point.values)

    def to_json(self) -> dict[str, Any]:
        """The numbers, without the trees."""
        numbers = {"axes": self.axes, "points": [point.values for point in self.points], "bound": self.bound, "gap": self.gap}
        return plain(numbers | ({"curves": self.curves} if self.curves else {}))

    def text(self) -> str:
        """The numbers and the trees, in the order of the points, as JSON text (``front.json``)."""
        trees = [None if point.tree is None else json.loads(point.tree.to_json()) for point in self.points]
        return json.dumps({"schema": SCHEMA, **self.to_json(), "trees": trees}, ensure_ascii=False)

    def files(self, title: str = "") -> dict[str, str]:
        """What a run folder keeps: ``front.json`` (:meth:`text`), ``front.svg``, and ``front.html``, on which every point opens its tree."""
        return arboretum.front_files(self, title)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Front:
        """Rebuild it, with the trees where they are there; raises KeyError, ValueError or ArboretumError when the mapping is none."""
        corners = list[list[float]]
        refuse_misfits(data, {"axes": list[str], "points": corners, "bound": corners, "curves": dict[str, corners], "trees": list[dict | None]})
        trees = [one and Tree.from_json(json.dumps(one)) for one in data.get("trees") or [None] * len(data["points"])]
        points = [Point(values, tree) for values, tree in zip(data["points"], trees, strict=True)]
        return Front(data["axes"], points, data["bound"], {name: tuple(map(tuple, c)) for name, c in data.get("curves", {}).items()})
