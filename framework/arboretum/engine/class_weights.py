"""Class weights: what a row of each class counts where a tree grows, is pruned and is certified.

Estimators and runs weigh rows here.  Reported measures of validation and test rows count them as
they are.
"""

import sys
from collections.abc import Mapping
from numbers import Real

import attrs
import numpy as np

from arboretum.errors import ConfigError, DataError, unknown
from arboretum.model.spelling import positions
from arboretum.model.table import Table, Target

BALANCED = "balanced"
ClassWeight = str | Mapping[str, float] | None


def check_class_weight(given: ClassWeight) -> None:
    """Raise ConfigError unless it is nothing, ``balanced``, or finite weights of at least 0."""
    if given is None or (isinstance(given, str) and given == BALANCED):  # of arrays == is no truth
        return
    if not isinstance(given, Mapping):
        raise ConfigError(
            f"class_weight must be {BALANCED} or {{class: weight}}; got {given!r:.60}"
        )
    for name, weight in given.items():
        if not (isinstance(weight, Real) and 0 <= weight <= sys.float_info.max):
            raise ConfigError(
                f"class_weight must be finite numbers ≥ 0; class {name} has {weight!s:.60}"
            )


def weights_of_classes(given: str | Mapping[str, float], target: Target) -> np.ndarray:
    """float64[classes]: what a row of each class counts; 1 where nothing is said of the class.

    given : ``balanced``, n / (k · n_c) for each of the k classes that the n rows show, or class →
        weight.
    Raises ConfigError, and DataError for a target that is a number or has no such class.
    """
    check_class_weight(given)
    if target.is_regression:
        raise DataError(
            f"class_weight weighs classes, but the target {target.name!r} is a number; leave it out"
        )
    found = np.ones(len(target.classes))
    if not isinstance(given, Mapping):
        rows = np.bincount(target.codes, minlength=len(found))
        shown = rows > 0
        found[shown] = len(target.codes) / (shown.sum() * rows[shown])
        return found
    named: dict[int, str] = {}
    for name, place in zip(given, positions(tuple(given), target.classes, -1), strict=True):
        if place < 0:
            raise DataError("class_weight: " + unknown("class", name, target.classes))
        if (other := named.setdefault(place, name)) != name:
            raise ConfigError(
                f"class_weight: {other!r} and {name!r} are one class, {target.classes[place]!r}; "
                "give it one weight"
            )
        found[place] = given[name]
    return found


def weigh_classes(table: Table, by_class: np.ndarray) -> Table:
    """The rows, each weighing so many times as much, with a note that says so; rows that then weigh
    nothing are left out.

    by_class : float64[classes], as of :func:`weights_of_classes`.
    """
    least, most = by_class.argmin(), by_class.argmax()
    names = table.target.classes
    note = (
        f"training rows count by their class, {by_class[least]:.4g} ({names[least]}) to "
        f"{by_class[most]:.4g} ({names[most]}); valid and test measures count rows as they are"
    )
    weights = table.row_weights() * by_class[table.target.codes]
    notes = {**table.notes, "class_weight": note}
    return with_weight(attrs.evolve(table, weights=weights, notes=notes))


def with_weight(table: Table) -> Table:
    """The rows that weigh anything, however light.  Raises DataError where none does."""
    heavy = table.row_weights() > 0
    if not heavy.any():
        raise DataError(
            "every training row weighs 0 (its sample weight times its class_weight); no row is "
            "left to learn from; give some of them a weight above 0"
        )
    return table if heavy.all() else table.take(np.flatnonzero(heavy))
