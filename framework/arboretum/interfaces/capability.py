"""What a component declares it can do.  The engine refuses combinations by it, the conformance suites choose by it."""

from __future__ import annotations

import enum


class Capability(enum.Enum):
    """A property that a component claims.

    A component that declares nothing is taken to handle classification with any number of classes and weights; one that
    declares something is held to the list.
    """

    classification = "classification"
    regression = "regression"
    multiclass = "multiclass"
    """More than two classes."""
    weights = "weights"
    """Object weights other than 1."""
    missing = "missing"
    """Tests that have no outcome for some objects."""
    prices = "prices"
    """Looks at what tests cost."""
    multiway = "multiway"
    """Tests with more than two outcomes."""
    thresholds = "thresholds"
    """Raw columns: thresholds are found at the node."""
    additive = "additive"
    """Reads nothing but the contingency table; false for absolute error, which needs order statistics."""
    concave = "concave"
    """An impurity that no split can raise on average."""
    admissible = "admissible"
    """Non-negative, zero on pure, monotone, supermodular (Nan, Wang & Saligrama, Definition 2)."""
    randomised = "randomised"
    """Depends on the seed."""
    anytime = "anytime"
    """Returns its best tree when the budget runs out."""
    exact = "exact"
    """Proves a lower bound."""


def as_capabilities(declared: object) -> frozenset[Capability]:
    """Read a declaration (an iterable of Capability or of their names); raises ValueError on an unknown name."""
    items = [declared] if isinstance(declared, str | Capability) else list(declared or ())
    return frozenset(item if isinstance(item, Capability) else Capability(item) for item in items)
