"""Small, nasty problems for the search loop: mixed features, ties, missing values, weights, one
object, one class.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from hypothesis import settings, strategies as st

from arboretum.api import (
    Column,
    ColumnKind,
    Encoded,
    Equals,
    Family,
    Feature,
    LeafRule,
    Limits,
    Node,
    OrdinalThreshold,
    Parts,
    Prices,
    Problem,
    RawFeature,
    Table,
    Target,
    Task,
    Values,
)


@attrs.frozen
class Rules:
    """A leaf rule that only limits."""

    max_depth: int | None = None
    max_leaves: int | None = None
    min_leaf: int = 1
    min_decrease: float | None = None
    min_mass: float = 0.0
    max_cost: float | None = None

    def limits(self) -> Limits:
        return Limits(**attrs.asdict(self))

    def is_leaf(self, node: Node) -> bool:
        return False

    def leaf_rule(self) -> LeafRule:
        return LeafRule()


@attrs.frozen
class CategoryFeature(Feature):
    """Codes of a category column, asked in any family."""

    def rule(self, index: int) -> Any:
        names = tuple(f"v{k}" for k in range(self.n_bins))
        if self.family is Family.multiway:
            return Values(self.column, names)
        return (
            Equals(self.column, names[index])
            if self.family is Family.equals
            else OrdinalThreshold(self.column, names, index)
        )


def encode(
    codes: np.ndarray,
    bins: list[int],
    families: list[Family],
    raw: np.ndarray,
    target: np.ndarray,
    task: Task = Task.classification,
    weight: np.ndarray | None = None,
    count: np.ndarray | None = None,
    n_classes: int | None = None,
) -> Encoded:
    """Encoded objects with their raw table.  A code equal to the number of bins is a missing
    value.
    """
    n = len(target)
    columns, features = [], []
    for f in range(codes.shape[1]):
        known = codes[:, f].astype(np.int64)
        missing = known >= bins[f]
        names = tuple(f"v{k}" for k in range(bins[f]))
        columns.append(
            Column(
                f"c{f}", ColumnKind.ordinal, np.where(missing, -1, known).astype(np.int32), names
            )
        )
        features.append(CategoryFeature(f"c{f}", f, families[f], bins[f], bool(missing.any())))
    for f in range(raw.shape[1]):
        columns.append(Column(f"r{f}", ColumnKind.continuous, raw[:, f].copy()))
    classes = (
        tuple(f"k{k}" for k in range(n_classes or int(target.max()) + 1))
        if task is Task.classification
        else ()
    )
    goal = (
        Target("y", task, target.astype(np.int32), classes)
        if task is Task.classification
        else Target("y", task, values=target.astype(np.float64))
    )
    return Encoded(
        table=Table("drawn", tuple(columns), goal),
        features=tuple(features),
        codes=codes,
        raw_features=tuple(RawFeature(f"r{f}", codes.shape[1] + f) for f in range(raw.shape[1])),
        raw=raw,
        label=goal.codes,
        y=goal.values,
        weight=np.ones(n) if weight is None else weight,
        count=np.ones(n, np.int64) if count is None else count,
        object_of_row=np.arange(n),
    )


def problem_of(
    objects: Encoded, criterion: Any, impurity: Any, prices: Prices | None = None, **limits: Any
) -> Problem:
    prices = prices or Prices(
        np.ones(int(objects.test_offset[-1])), np.ones(len(objects.raw_features))
    )
    return Problem(
        objects,
        prices,
        Parts(method=None, criterion=criterion, impurity=impurity, stopping=(Rules(**limits),)),
    )


BRIEF = settings.get_current_profile_name() == "brief"
CODES = [np.uint8] if BRIEF else [np.uint8, np.uint16, np.uint32]
NUMBERS = [np.float64] if BRIEF else [np.float32, np.float64]


@st.composite
def encodeds(
    draw: st.DrawFn,
    task: Task = Task.classification,
    raw_only: bool = False,
    missing: bool = True,
    max_rows: int = 14,
    mixed: bool = False,
) -> Encoded:
    """Objects with 0–3 coded and 0–2 raw features (at least one feature).

    mixed : both kinds, all tests of two outcomes.
    """
    n = draw(st.integers(1, max_rows))
    n_coded = 0 if raw_only else draw(st.integers(1 if mixed else 0, 3))
    n_raw = draw(st.integers(1 if n_coded == 0 or mixed else 0, 2))
    bins = [draw(st.integers(1, 4)) for _ in range(n_coded)]
    families = [
        draw(st.sampled_from([Family.thresholds, Family.equals] if mixed else Family))
        for _ in range(n_coded)
    ]
    dtype = draw(st.sampled_from(CODES))
    codes = np.zeros((n, n_coded), dtype)
    for f in range(n_coded):
        codes[:, f] = draw(
            st.lists(st.integers(0, bins[f] - (0 if missing else 1)), min_size=n, max_size=n)
        )
    numbers = [-2.0, 0.0, 0.1, 0.30000001, 0.30000004, 1.0, 5.0, 1e6] + (
        [float("nan")] if missing else []
    )
    raw = np.zeros((n, n_raw), draw(st.sampled_from(NUMBERS)))
    for f in range(n_raw):
        raw[:, f] = draw(st.lists(st.sampled_from(numbers), min_size=n, max_size=n))
    if draw(st.booleans()):
        codes, raw = np.asfortranarray(codes), np.asfortranarray(raw)
    if task is Task.classification:
        target = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    else:
        target = np.array(
            draw(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 3.0, 100.0]), min_size=n, max_size=n))
        )
    weight = count = None
    if draw(st.booleans()):
        weight = np.array(
            draw(st.lists(st.sampled_from([0.125, 0.375, 1.0, 2.5]), min_size=n, max_size=n))
        )
        count = np.array(draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)), np.int64)
    found = encode(
        codes,
        bins,
        families,
        raw,
        target,
        task,
        weight,
        count,
        4 if task is Task.classification else None,
    )
    return attrs.evolve(found, gap=draw(st.sampled_from([0.0, 1e-7])))
