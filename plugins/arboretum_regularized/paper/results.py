"""What the paper reports, as data: Table 1, the means of five runs with unit prices, its
protocol; and our results in the same order.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import attrs

from arboretum.api import (
    Facts,
    Keyed,
    Plain,
    Scores,
)
from arboretum_regularized.paper.observed import Observed

BASES = ("C4.5", "CART")
"""Plain algorithms, with the impurity that each stands for."""
IMPURITY = {"C4.5": "entropy", "CART": "gini", "EC4.5": "entropy", "ECART": "gini"}
GROWN = ("C4.5", "CART", "EC4.5", "ECART", "ASR", "IP", "BAL")
"""The algorithms that grow a tree, in the order of the paper's tables."""
PRUNED = tuple(f"p{name}" for name in IMPURITY)
ALGORITHMS = (*GROWN, *PRUNED)
"""Eleven per price setting; with random prices the plain ones are the cost-benefit ones, under
the names of :func:`called`.
"""
UNIT, RANDOM = "unit", "random"
PRICES = (UNIT, RANDOM)
AUTHORS, PAPER = "authors", "paper"
VARIANTS = (AUTHORS, PAPER)
"""How the score is read: as the authors' program has it, or as the paper prints it."""
PROVEN = {
    "monk1": PRICES,
    "monk2": PRICES,
    "monk3": PRICES,
    "iris": PRICES,
    "breast-w": PRICES,
    "house-votes": (UNIT,),
}
"""Table → price settings in which the least expected cost is proven within some seconds."""
MEASURES = ("roc_auc", "expected_cost")
"""The measures of which numbers are published."""


def called(algorithm: str, prices: str) -> str:
    """Return the name of an algorithm under a price setting: with random prices C4.5 is CC4.5,
    pCART is pCCART.
    """
    if prices == UNIT or algorithm.removeprefix("p") not in BASES:
        return algorithm
    base = algorithm.removeprefix("p")
    return f"{'p' if algorithm != base else ''}C{base}"


@attrs.frozen(eq=False)
class Published:
    """datasets : name → (rows, tests, classes), Table 1.

    adjusted : name → fields of the data set component.

    results : (data set, algorithm, measure) → mean of five runs with unit prices.
    seconds : (data set, algorithm) → running time of the authors' program.
    to_cc45 : algorithm → mean ratio of its seconds to those of CC4.5.
    sweep : (data set, λ, measure) → mean of EC4.5 with unit prices and that λ; validation AUC.
    captions : (data set, preset) → test AUC and expected height of the tree drawn.
    theta, lambdas, alphas, runs : of the protocol.
    """

    datasets: Mapping[str, tuple[int, int, int]]
    adjusted: Mapping[str, Plain]
    results: Mapping[tuple[str, str, str], float]
    seconds: Mapping[tuple[str, str], float]
    to_cc45: Mapping[str, float]
    sweep: Mapping[tuple[str, float, str], float]
    captions: Mapping[tuple[str, str], tuple[float, float]]
    theta: float
    lambdas: tuple[float, ...]
    alphas: tuple[float, ...]
    runs: int

    @property
    def sweep_lambdas(self) -> tuple[float, ...]:
        """Those of Figure 2, from small to large."""
        return tuple(sorted({lam for _, lam, _ in self.sweep}))


@lru_cache(maxsize=1)
def published() -> Published:
    """Return the numbers as printed."""
    data = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))
    numbers = {
        (dataset, "p" * kind.startswith("pruned_") + algorithm, kind.removeprefix("pruned_")): value
        for dataset, rows in data["results"].items()
        for kind, values in zip(data["measures"], rows, strict=True)
        for algorithm, value in zip(data["algorithms"], values, strict=True)
        if value is not None
    }
    return Published(
        datasets={
            name: (row["rows"], row["tests"], row["classes"])
            for name, row in data["datasets"].items()
        },
        adjusted=data["adjusted"],
        results={place: value for place, value in numbers.items() if place[2] in MEASURES},
        seconds={place[:2]: value for place, value in numbers.items() if place[2] == "seconds"},
        to_cc45=data["seconds_to_cc45"],
        sweep={
            (name, float(lam), measure): value
            for name, rows in data["lambda_sweep_of_ec45"].items()
            for measure, values in zip(MEASURES, rows, strict=True)
            for lam, value in zip(data["lambda_figure_2"], values, strict=True)
        },
        captions={
            (name, preset): tuple(values)
            for name, rows in data["captions"].items()
            for preset, values in rows.items()
        },
        theta=data["theta"],
        lambdas=tuple(map(float, data["lambdas"])),
        alphas=tuple(map(float, data["alphas"])),
        runs=data["runs"],
    )


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
    """One price setting read in one way.   words : for titles.   slug : for file names."""

    prices: str
    variant: str

    @property
    def words(self) -> str:
        """The part in titles: "unit prices, authors variant"."""
        return f"{self.prices} prices, {self.variant} variant"

    @property
    def slug(self) -> str:
        """The part in file names: "unit_authors"."""
        return f"{self.prices}_{self.variant}"


PARTS = tuple(Part(prices, variant) for prices in PRICES for variant in VARIANTS)
JUDGED = Part(UNIT, AUTHORS)
"""The part of which means are published."""


@attrs.frozen(eq=False)
class Results(Observed):
    """found : (part, data set, algorithm) → what was noted of each split."""

    @staticmethod
    def of(results: Keyed) -> Results:
        """Sort pieces by what they are about; splits in the order of their seeds."""
        found: dict[tuple[Hashable, ...], list[Plain]] = {}
        for key, result in sorted(results, key=lambda item: item[0]["seed"]):
            for algorithm, noted in result["algorithms"].items():
                place = Part(key["prices"], key["variant"]), key["dataset"], algorithm
                found.setdefault(place, []).append({"seed": key["seed"], **noted})
        return Results(found)

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
        """Return means per data set, with their standard errors; seconds without the pruned trees'
        cutting.

        part : price setting and reading.
        algorithms : the "methods" of the scores, as they are called there.
        """
        names, (words, higher) = self.datasets(part), WORDS[measure]
        means, errors = (
            [[f(part, name, a, measure) for a in algorithms] for name in names]
            for f in (self.mean, self.error)
        )
        return Scores(
            words, [called(a, part.prices) for a in algorithms], names, means, higher, errors
        )


@lru_cache(maxsize=1)
def as_published() -> Results:
    """Return the published means (unit prices), and the seconds of the authors' program, as if they
    were results.
    """
    paper = published()
    found: dict[tuple[Hashable, ...], list[Facts]] = {}
    seconds = {(*place, "seconds"): value for place, value in paper.seconds.items()}
    for (dataset, algorithm, measure), value in {**paper.results, **seconds}.items():
        found.setdefault((JUDGED, dataset, algorithm), [{}])[0][measure] = value
    return Results(found)
