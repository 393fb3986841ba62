"""The results of the study, put in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from arboretum.api import Observed, Scores
from arboretum_regularized.published import AUTHORS, PRICES, UNIT, VARIANTS, called, published

WORDS = {
    "roc_auc": ("test ROC AUC", True),
    "expected_cost": ("expected cost", False),
    "n_nodes": ("tree size (nodes)", False),
    "seconds": ("seconds to grow", False),
    "lam": ("λ kept", False),
    "alpha": ("α kept", False),
    "pure": ("share of rows in pure leaves", True),
    "useless": ("cost of tests that divide nothing", False),
}
"""Measure → its words, and whether higher is better."""
FAMILY = {
    "C4.5": ("C4.5", "EC4.5", "ASR", "IP", "BAL", "pC4.5", "pEC4.5"),
    "CART": ("CART", "ECART", "ASR", "IP", "BAL", "pCART", "pECART"),
}
"""Plain algorithm → the seven that the paper ranks together."""


@attrs.frozen
class Part:
    """One price setting read in one way."""

    prices: str
    variant: str

    @property
    def words(self) -> str:
        """For titles."""
        return f"{self.prices} prices, {self.variant} variant"

    @property
    def slug(self) -> str:
        """For file names."""
        return f"{self.prices}_{self.variant}"


PARTS = tuple(Part(prices, variant) for prices in PRICES for variant in VARIANTS)


@attrs.frozen(eq=False)
class Results(Observed):
    """found : (part, data set, algorithm) → what was noted of each split.   facts : data set → rows, objects, tests."""

    facts: Mapping[str, Mapping[str, Any]]

    @staticmethod
    def of(results: Iterable[tuple[Mapping[str, Any], Any]]) -> Results:
        """Sort pieces by what they are about; splits in the order of their seeds."""
        found: dict[tuple[Part, str, str], list[Mapping[str, Any]]] = {}
        facts: dict[str, Mapping[str, Any]] = {}
        for key, result in sorted(results, key=lambda item: item[0]["seed"]):
            facts[key["dataset"]] = result["facts"]
            for algorithm, noted in result["algorithms"].items():
                place = Part(key["prices"], key["variant"]), key["dataset"], algorithm
                found.setdefault(place, []).append({"seed": key["seed"], **noted})
        return Results(found, facts)

    def datasets(self, part: Part | None = None) -> tuple[str, ...]:
        """Data sets with results, in the order of Table 1."""
        known = {name for at, name, _ in self.found if part in (None, at)}
        return tuple(name for name in published().datasets if name in known)

    @property
    def parts(self) -> tuple[Part, ...]:
        """Parts with results."""
        known = {part for part, _, _ in self.found}
        return tuple(part for part in PARTS if part in known)

    def scores(self, part: Part, measure: str, algorithms: Sequence[str]) -> Scores:
        """Means per data set, with their standard errors; seconds without the pruned trees' cutting."""
        names, (words, higher) = self.datasets(part), WORDS[measure]
        table = {name: [f(part, name, a, measure) for f in (self.mean, self.error) for a in algorithms] for name in names}
        both = np.array([table[name] for name in names]).reshape(len(names), 2, len(algorithms))
        shown = [called(a, part.prices) for a in algorithms]
        return Scores(words, shown, names, both[:, 0], higher, both[:, 1])


@lru_cache(maxsize=1)
def as_published() -> Results:
    """The published means (unit prices), and the seconds of the authors' program, as if they were results."""
    paper, found = published(), {}
    for (dataset, algorithm, measure), value in paper.results.items():
        found.setdefault((Part(UNIT, AUTHORS), dataset, algorithm), [{}])[0][measure] = value
    for (dataset, algorithm), value in paper.seconds.items():
        found[Part(UNIT, AUTHORS), dataset, algorithm][0]["seconds"] = value
    return Results(found, {})
