"""``arboretum reproduce regularized``: twenty data sets, eleven algorithms, five splits, two
price settings, two readings.
"""

import attrs

from arboretum.api import Chaptered, Services, param
from arboretum_regularized.paper.results import AUTHORS, PRICES, PROVEN, UNIT, VARIANTS, published

COST = {
    "iris": 5,
    "breast-w": 6,
    "tic-tac-toe": 7,
    "ilpd": 8,
    "phoneme": 10,
    "firewall": 11,
    "electricity": 21,
    "obesity": 22,
    "phishing-websites": 24,
    "default": 70,
    "bank-marketing": 80,
    "letter": 110,
    "spambase": 120,
    "shoppers": 200,
    "speed-dating": 270,
    "musk": 550,
    "bioresponse": 620,
    "diabetic": 770,
    "dota2": 840,
    "covertype": 1170,
}
"""Data set → what its pieces take on average, in hundredths of a second: order of the work, and
estimate of what is left.
"""
QUICK = 25
"""Cost of a piece up to which a data set is small."""
CHAPTERS = ("study", "certified", "drawn", "growth")
"""The twenty data sets; Theorem 1 beside proven minima; the trees that are drawn; Figure 15."""


@attrs.frozen
class Regularized(Chaptered):
    """Test AUC, expected cost and size of eleven algorithms on twenty data sets, with unit and with
    random prices.

    Per data set and split (70/10/20, stratified, seeds 0, 1, …): five k-means bins, one-hot tests,
    identical rows merged, θ = 0.005 (two objects on a small table), λ by the descending rule and α
    by validation AUC.  ``authors`` reads the score as the authors' program does, and is held
    against the published means with unit prices; ``paper`` reads it as printed. Every tree is
    replayed on all its training objects.  Seconds, where asked for, are the one part of a result
    that differs from run to run.
    """

    name = "regularized"
    modules = (("study", "verdicts"),)
    paper = (
        "Zhang & Gionis 2023: Regularized impurity reduction: accurate decision trees with "
        "complexity guarantees"
    )
    datasets: tuple[str, ...] = param(
        (), "of the twenty, those to study; none named: all", converter=Chaptered.listed
    )
    seeds: int = param(5, "splits per data set, as in the paper", ge=1)
    seeds_small: int = param(
        20,
        "splits of data sets whose pieces take a quarter of a second at most: their noise is "
        "the largest",
        ge=1,
    )
    seeds_judged: int = param(
        20,
        "splits of every data set for unit prices as the program reads the score, the part "
        "held against the published means: a "
        "pruned tree's cost falls in steps, and five splits may all miss one",
        ge=1,
    )
    prices: tuple[str, ...] = param(
        PRICES, "price settings: unit, random", converter=Chaptered.listed
    )
    variants: tuple[str, ...] = param(
        VARIANTS, "readings of the score: authors, paper", converter=Chaptered.listed
    )
    times: bool = param(True, "measure the seconds of each growth, too")
    chapters: tuple[str, ...] = param(
        CHAPTERS, "what to do: " + ", ".join(CHAPTERS), converter=Chaptered.listed
    )

    def __attrs_post_init__(self) -> None:
        self.refuse_unknown(prices=PRICES, variants=VARIANTS, chapters=CHAPTERS)
        if self.datasets:
            self.refuse_unknown(datasets=dict.fromkeys([*published().datasets, *PROVEN]))

    def cost(self, dataset: str) -> float:
        """Of each of its pieces."""
        return float(COST[dataset])

    def splits(self, name: str, prices: str, variant: str) -> int:
        """Return how many splits of a data set there are in a part."""
        if COST[name] <= QUICK:
            return self.seeds_small
        return self.seeds_judged if (prices, variant) == (UNIT, AUTHORS) else self.seeds

    def warm_up(self, services: Services) -> None:
        """Compile and load, on iris."""
        from arboretum_regularized.paper.study import study

        for prices in self.prices:
            for variant in self.variants:
                study(
                    services,
                    {
                        "dataset": "iris",
                        "seed": 0,
                        "prices": prices,
                        "variant": variant,
                        "times": self.times,
                    },
                    0,
                )
