"""One piece of the study: the eleven algorithms on one split of one data set, with one price
setting and one reading.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    Context,
    Facts,
    Key,
    Parts,
    Prices,
    Problem,
    Services,
    sure,
)
from arboretum_regularized.paper.protocol import (
    TOLERANCE,
    Measured,
    TrainingSplit,
    price_list,
    training_split,
)
from arboretum_regularized.paper.results import (
    AUTHORS,
    BASES,
    GROWN,
    IMPURITY,
    RANDOM,
    UNIT,
    published,
)
from arboretum_regularized.tuning import Descending

TOO_SLOW = {("bioresponse", "BAL")}
"""What has no published result either: with the authors' rule BAL asks some thousand useless
tests on every path.
"""
PRESETS = {
    "C4.5": "cc45",
    "CART": "ccart",
    "EC4.5": "ec45",
    "ECART": "ecart",
    "ASR": "asr",
    "IP": "ip",
    "BAL": "bal",
}
PLAIN = {"C4.5": "c45_ig", "CART": "cart_gg"}
ORDERS = 2
"""Other orders of the columns in which BAL is grown, on the first split: what ties make of it."""


def preset(algorithm: str, prices: str) -> str:
    """Return the preset of an algorithm; with random prices C4.5 and CART are the cost-benefit
    ones, "plain C4.5" is still C4.5.
    """
    if prices == UNIT or algorithm.startswith("plain "):
        return (PRESETS | PLAIN)[algorithm.removeprefix("plain ")]
    return PRESETS[algorithm]


@lru_cache(maxsize=256)
def recipe(services: Services, algorithm: str, prices: str, variant: str, theta: float) -> Parts:
    """Return the parts of an algorithm: the preset's, with θ, and with the authors' ways where they
    are asked for.

    prices, variant : UNIT or RANDOM, PAPER or AUTHORS.
    theta : θ, the mass up to which a node is covered, and a leaf.
    """
    values: Facts = {"theta": theta, "stopping.mass.tolerance": TOLERANCE}
    if variant == AUTHORS:
        values |= {"method.allow_constant": True, "stopping": ["mass", "few_objects"]}
        if algorithm in ("EC4.5", "ECART"):  # λ = 0 of ASR leaves the term out
            values["criterion.d_term"] = "authors"
        if algorithm == "IP":
            values["criterion.weighting"] = "authors"
    return services.parts({"method": preset(algorithm, prices)}, values)


@attrs.frozen(eq=False)
class Piece:
    """What the trees of one piece share."""

    services: Services
    training_split: TrainingSplit
    price: Prices
    prices: str
    variant: str
    seed: int
    split: int
    clock: bool

    @staticmethod
    def of(services: Services, key: Key, seed: int) -> Piece:
        """Read, split, encode and price; most of it is kept from the piece before.  Raises
        DataError.
        """
        run = seed + key["seed"]
        split = training_split(services, key["dataset"], run)
        price = price_list(services, split.objects, key["prices"], run)
        return Piece(
            services,
            split,
            price,
            key["prices"],
            key["variant"],
            run,
            split=key["seed"],
            clock=key["times"],
        )

    def grow(self, algorithm: str, lam: float | None = None) -> tuple[Measured, float]:
        """Grow and verify a tree; return (it, seconds of processor time to grow it).

        lam : λ in place of the preset's.
        """
        parts = recipe(
            self.services, algorithm, self.prices, self.variant, self.training_split.theta
        )
        if lam is not None:
            criterion: Any = parts.criterion
            parts = attrs.evolve(parts, criterion=attrs.evolve(criterion, lam=lam))
        problem = Problem(self.training_split.objects, self.price, parts)
        context = Context(seed=self.seed)
        method = sure(parts.method)
        if self.clock and hasattr(method, "warm_up"):
            method.warm_up(problem, context)  # a millisecond or two once everything is loaded
        start = time.process_time()
        tree = sure(method.fit(problem, context).tree)
        seconds = time.process_time() - start
        return Measured.of(tree, self.training_split, self.price), seconds

    def grown(self, algorithm: str) -> tuple[dict[float | None, Measured], Facts]:
        """Return the algorithm's tree, λ tuned where it has one, and what is noted of it.

        By λ, None where there is none: the tree kept, then the others that were tried.
        """
        if algorithm not in IMPURITY or algorithm in BASES:
            found, seconds = self.grow(algorithm)
            return {None: found}, self.noted(found, seconds)
        rule = Descending()
        kept: tuple[float, Measured, float] | None = None
        best, tried = -math.inf, []
        trees: dict[float | None, Measured] = {}
        for lam in published().lambdas:
            found, seconds = self.grow(algorithm, lam)
            trees[lam] = found
            auc = self.auc(found, self.training_split.valid)
            tried.append([lam, *self.numbers(found)])
            if kept is not None and rule.drops(auc, best):
                break
            kept, best = (lam, found, seconds), max(best, auc)
        lam, found, seconds = sure(kept)
        noted = self.noted(found, seconds) | {"lam": lam, "tried": tried}
        if self.judged and (algorithm == "EC4.5" or self.split < published().runs):
            noted["sweep"] = self.sweep(algorithm, trees)
        return {lam: found} | trees, noted

    @property
    def judged(self) -> bool:
        """Whether means of this part are published."""
        return (self.prices, self.variant) == (UNIT, AUTHORS)

    def sweep(
        self, algorithm: str, trees: Mapping[float | None, Measured]
    ) -> list[list[float | None]]:
        """Return Figure 2: λ, validation AUC, test AUC, expected cost and nodes of each λ.

        trees : λ → tree of the algorithm; those at hand are not grown again.
        """
        found = {
            lam: trees[lam] if lam in trees else self.grow(algorithm, lam)[0]
            for lam in published().sweep_lambdas
        }
        return [[lam, *self.numbers(one), one.tree.n_nodes] for lam, one in found.items()]

    def orders(self, algorithm: str) -> list[list[float | None]]:
        """Return the numbers of the algorithm with the columns in other orders: of tests that score
        alike the first is asked.
        """
        made, objects = [], self.training_split.objects
        for number in range(ORDERS):
            order = np.random.default_rng([self.seed, number]).permutation(len(objects.features))
            features = tuple(objects.features[f] for f in order)
            codes = np.asfortranarray(objects.codes[:, order])
            mixed = attrs.evolve(
                self.training_split, objects=attrs.evolve(objects, features=features, codes=codes)
            )
            made.append(
                self.numbers(
                    attrs.evolve(self, training_split=mixed, clock=False).grow(algorithm)[0]
                )
            )
        return made

    def pruned(self, trees: Mapping[float | None, Measured]) -> Facts:
        """Return the first of these trees cut back; of the others, those of other values of λ, what
        they give.

        trees : λ → tree, None for the algorithm's own λ; the first is the one that was chosen.
        """
        cuts = {lam: self.cut(found) for lam, found in trees.items()}
        cut, alpha, tried = next(iter(cuts.values()))
        beside = (
            {"lams": [[lam, *self.numbers(other)] for lam, (other, _, _) in cuts.items()]}
            if len(cuts) > 1
            else {}
        )
        return self.noted(cut, None) | {"alpha": alpha, "tried": tried} | beside

    def cut(self, found: Measured) -> tuple[Measured, float, list[list[float | None]]]:
        """Return the tree cut back by the α that ranks validation rows best, the smallest of equal
        ones; α; numbers of each α, itself first.

        found : the tree as grown.
        """
        chosen: Sequence[int] = ()
        best, auc = math.nan, -math.inf
        direction = "top_down" if self.variant == AUTHORS else "bottom_up"
        cuts = self.services.component(
            "pruner", "cost_complexity", {"direction": direction}
        ).cuts_of(found.tree)
        tried = []
        for alpha in published().alphas:
            nodes = cuts(alpha)
            nearest_kept = found.tree.nearest_kept(nodes)
            stands = nearest_kept == np.arange(len(nearest_kept))
            stands[nodes] = False
            now = attrs.evolve(found, rest=nearest_kept[found.rest], asked=stands)
            tried.append([alpha, *self.numbers(now)])
            score = self.auc(now, self.training_split.valid)
            if math.isnan(best) or score > auc:
                chosen, best, auc = nodes, alpha, score
        return (
            Measured.of(found.tree.cut(chosen), self.training_split, self.price)
            if len(chosen)
            else found,
            best,
            tried,
        )

    def auc(self, found: Measured, tally: np.ndarray) -> float:
        """Area under the ROC curve, over the classes that the reading counts."""
        return found.auc(tally, trained=self.variant == AUTHORS)

    def numbers(self, found: Measured) -> list[float | None]:
        """Return validation AUC, test AUC (None: not a number), expected cost of a tree."""
        areas = [
            self.auc(found, tally)
            for tally in (self.training_split.valid, self.training_split.test)
        ]
        return [*(None if math.isnan(area) else area for area in areas), found.expected_cost]

    def noted(self, found: Measured, seconds: float | None) -> Facts:
        """Return the measures of a tree by name; with ``seconds`` of the growing alone, where times
        are asked for.
        """
        times = {"seconds": round(seconds, 6)} if self.clock and seconds is not None else {}
        valid, test, cost = self.numbers(found)
        shape = {"n_nodes": found.tree.n_nodes, "pure": found.pure, "useless": found.useless}
        return {"roc_auc": test, "valid_auc": valid, "expected_cost": cost, **shape, **times}


def study(services: Services, key: Key, seed: int) -> Facts:
    """Return all algorithms on one split.

    key : dataset, seed, prices, variant, times.

    The seeds of split and prices are ``seed`` + the key's.
    """
    piece = Piece.of(services, key, seed)
    found: Facts = {}
    beside = ("plain C4.5", "plain CART") if piece.prices == RANDOM else ()
    for algorithm in (*GROWN, *beside):
        if piece.variant == AUTHORS and (key["dataset"], algorithm) in TOO_SLOW:
            continue
        trees, found[algorithm] = piece.grown(algorithm)
        if algorithm in IMPURITY:
            found[f"p{algorithm}"] = piece.pruned(trees)
        if algorithm == "BAL" and piece.judged and key["seed"] == 0:
            found[algorithm]["orders"] = piece.orders(algorithm)
    return {"algorithms": found}
