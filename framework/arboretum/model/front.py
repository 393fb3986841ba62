"""The Pareto front of trees: what each amount of one measure buys of another, the trees that
show it, and what is proven.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import attrs
import numpy as np
from numpy.typing import ArrayLike

import arboretum
from arboretum.errors import ContractError
from arboretum.model.plain import Facts, Plain
from arboretum.model.reading import plain, refuse_misfits
from arboretum.model.tree import Tree

SCHEMA = "arboretum.front/1"


@attrs.frozen
class Point:
    """One tree of a front.

    values : one per axis.   tree : has these values; None where only the numbers were loaded.
    """

    values: tuple[float, ...] = attrs.field(converter=tuple[float, ...])
    tree: Tree | None = attrs.field(default=None, eq=False, repr=False)


def _corners(given: Iterable[Iterable[float]]) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, given))


@attrs.frozen
class Front:
    """Trees none of which is beaten by another, and what no tree can beat.

    axes : metrics as runs report them; the first is the error (``train_error``), the others are
        what it is bought with (``max_cost``, ``expected_cost``, ``n_leaves``).
    points : ascending in the axes after the first.
    bound : corners: every tree's values are at or above some corner on every axis (proven).
    curves : name → values of other trees that are drawn beside the front, of which nothing is
        proven.

    Raises ContractError where these are no front.
    """

    axes: tuple[str, ...] = attrs.field(converter=tuple[str, ...])
    points: tuple[Point, ...] = attrs.field(converter=tuple[Point, ...])
    bound: tuple[tuple[float, ...], ...] = attrs.field(converter=_corners)
    curves: Mapping[str, Sequence[tuple[float, ...]]] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Raise ContractError unless points ascend, none beats another, and the bound is one."""
        if len(self.axes) < 2 or len(set(self.axes)) < len(self.axes) or not self.points:
            raise ContractError(
                f"a front has two axes or more and a point; got {len(self.points)} points on "
                f"{', '.join(self.axes) or 'none'}"
            )
        values = [point.values for point in self.points]
        for one in (
            *values,
            *self.bound,
            *(one for curve in self.curves.values() for one in curve),
        ):
            if len(one) != len(self.axes) or not all(map(math.isfinite, one)):
                raise ContractError(
                    f"a front on {', '.join(self.axes)} has a finite number for each; got {one}"
                )
        for one, before in zip(values[1:], values, strict=False):
            if one[1:] <= before[1:]:
                raise ContractError(
                    f"points of a front ascend in {', '.join(self.axes[1:])}; got {one} "
                    f"after {before}"
                )
        for number, cheaper in enumerate(least_before(self._values).tolist()):
            if cheaper <= values[number][0]:
                better = next(
                    one
                    for one in values
                    if one[0] == cheaper and all(np.less_equal(one, values[number]))
                )
                raise ContractError(
                    f"no point of a front beats another; {better} beats {values[number]}"
                )
        for one, least in zip(
            values, least_within(np.array(self.bound), self._values[:, 1:]).tolist(), strict=True
        ):
            if not least <= one[0]:
                raise ContractError(
                    f"every tree lies at or above a corner of the bound; {one} does not"
                )

    def error_within(self, budget: Sequence[float]) -> float:
        """Return the least error among the points whose other values are at most ``budget``; ∞
        where there is none.
        """
        return float(least_within(self._values, np.array([budget]))[0])

    @cached_property
    def _values(self) -> np.ndarray:
        """float64[points, axes]."""
        return np.array([point.values for point in self.points])

    @cached_property
    def gap(self) -> float:
        """The most by which the front's error may lie above the truth at any budget; 0 where the
        front is exact.
        """
        corners = np.array(self.bound)
        return max(0.0, float((least_within(self._values, corners[:, 1:]) - corners[:, 0]).max()))

    @property
    def most_accurate(self) -> Point:
        """The point of least error (among equals the first: the cheapest on the second axis)."""
        return min(self.points, key=lambda point: point.values)

    def to_json(self) -> Facts:
        """Return the numbers, without the trees."""
        numbers = {
            "axes": self.axes,
            "points": [point.values for point in self.points],
            "bound": self.bound,
            "gap": self.gap,
        }
        said: Facts = plain(numbers | ({"curves": self.curves} if self.curves else {}))
        return said

    def text(self) -> str:
        """Return the numbers and the trees, in the order of the points, as JSON text
        (``front.json``).
        """
        trees = [
            None if point.tree is None else json.loads(point.tree.to_json())
            for point in self.points
        ]
        return json.dumps({"schema": SCHEMA, **self.to_json(), "trees": trees}, ensure_ascii=False)

    def files(self, title: str = "") -> dict[str, str]:
        """Return what a run folder keeps: ``front.json`` (:meth:`text`), ``front.svg``, and
        ``front.html``, on which every point opens its tree.
        """
        files: dict[str, str] = arboretum.front_files(self, title)
        return files

    @staticmethod
    def from_json(data: Plain) -> Front:
        """Rebuild it, with the trees where they are there; raises KeyError, ValueError or
        ArboretumError when the mapping is none.
        """
        corners = list[list[float]]
        refuse_misfits(
            data,
            {
                "axes": list[str],
                "points": corners,
                "bound": corners,
                "curves": dict[str, corners],
                "trees": list[dict | None],  # type: ignore[type-arg]  # as messages show it
            },
        )
        trees = [
            one and Tree.from_json(one) for one in data.get("trees") or [None] * len(data["points"])
        ]
        points = [Point(values, tree) for values, tree in zip(data["points"], trees, strict=True)]
        return Front(
            data["axes"],
            points,
            data["bound"],
            {name: tuple(map(tuple, c)) for name, c in data.get("curves", {}).items()},
        )


def unbeaten(points: ArrayLike, slack: float = 0.0) -> np.ndarray:
    """Return int64[·]: the points that no other is at or below on every axis, ascending in the axes
    after the first; the first of equals.

    points : finite[n, axes], as those of a :class:`Front`.
    slack : on the first axis, what is no further below counts as equal.
    """
    given = np.asarray(points, np.float64)
    order = np.lexsort((given[:, 0], *given.T[:0:-1]))
    kept: np.ndarray = order[given[order, 0] < least_before(given[order]) - slack]
    return kept


def least_within(points: np.ndarray, budgets: np.ndarray) -> np.ndarray:
    """Return float64[k]: the least first value of the points whose others are at most each budget;
    ∞ where there is none.

    points : float64[n, axes].   budgets : float64[k, axes − 1].
    """
    if not len(points):
        return np.full(len(budgets), math.inf)
    if points.shape[1] > 2:
        return np.array(
            [points[(points[:, 1:] <= one).all(axis=1), 0].min(initial=math.inf) for one in budgets]
        )
    points = points[np.argsort(points[:, 1])]
    least = np.append(np.minimum.accumulate(points[:, 0]), math.inf)
    return least[np.searchsorted(points[:, 1], budgets[:, 0], side="right") - 1]


def least_before(points: np.ndarray) -> np.ndarray:
    """Return float64[n]: of each of these points, which ascend in the others, the least first value
    of those before it within its other values; ∞ where there is none.

    points : float64[n, axes].
    """
    if points.shape[1] > 2:
        return np.array(
            [
                least_within(points[:number], points[number : number + 1, 1:])[0]
                for number in range(len(points))
            ]
        )
    return np.append(math.inf, np.minimum.accumulate(points[:-1, 0]))
