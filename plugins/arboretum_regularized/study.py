"""One piece of the study: the eleven algorithms on one split of one data set, with one price setting and one reading."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from arboretum.api import Context, House, Parts, Prices, Problem, Tree
from arboretum_regularized.measuring import Measured
from arboretum_regularized.protocol import TOLERANCE, Lesson, lesson, price_list
from arboretum_regularized.published import AUTHORS, BASES, GROWN, IMPURITY, UNIT, published

DROP = 0.01
"""λ falls until the validation AUC is this much below the best so far."""
PRESETS = {
    UNIT: {"C4.5": "c45_ig", "CART": "cart_gg", "EC4.5": "ec45", "ECART": "ecart", "ASR": "asr", "IP": "ip", "BAL": "bal"},
    "random": {"C4.5": "cc45", "CART": "ccart", "EC4.5": "ec45", "ECART": "ecart", "ASR": "asr", "IP": "ip", "BAL": "bal"},
}
"""Price setting → algorithm → preset of method."""


@lru_cache(maxsize=256)
def recipe(house: House, algorithm: str, prices: str, variant: str, theta: float) -> Parts:
    """The parts of an algorithm: the preset's, with θ, and with the authors' ways where they are asked for."""
    authors = variant == AUTHORS
    values: dict[str, Any] = {"theta": theta, "stopping.mass.tolerance": TOLERANCE}
    if authors:
        values["method.allow_constant"] = True
        if algorithm in ("EC4.5", "ECART", "ASR"):
            values["criterion.d_term"] = "authors"
        if algorithm == "IP":
            values["criterion.weighting"] = "authors"
        values["stopping"] = ["mass", "few_objects"]
    return house.parts({"method": PRESETS[prices][algorithm]}, values)


@attrs.frozen(eq=False)
class Piece:
    """What the trees of one piece share."""

    house: House
    lesson: Lesson
    price: Prices
    prices: str
    variant: str
    seed: int
    clock: bool

    @staticmethod
    def of(house: House, key: Mapping[str, Any], seed: int) -> Piece:
        """Read, split, encode and price; most of it is kept from the piece before.  Raises DataError."""
        run = seed + key["seed"]
        split = lesson(house, key["dataset"], run)
        price = price_list(house, split.objects, key["prices"], run)
        return Piece(house, split, price, key["prices"], key["variant"], run, key["times"])

    def grow(self, algorithm: str, lam: float | None = None) -> tuple[Measured, float]:
        """Grow and verify a tree; (it, seconds of growing)."""
        parts = recipe(self.house, algorithm, self.prices, self.variant, self.lesson.theta)
        if lam is not None:
            parts = attrs.evolve(parts, criterion=attrs.evolve(parts.criterion, lam=lam))
        problem, context = Problem(self.lesson.objects, self.price, parts), Context(seed=self.seed)
        if self.clock:
            ready(parts, problem, context)
        start = time.perf_counter()
        tree = parts.method.fit(problem, context).tree
        seconds = time.perf_counter() - start
        return Measured.of(tree, self.lesson), seconds

    def grown(self, algorithm: str) -> tuple[Measured, dict[str, Any]]:
        """The algorithm's tree, λ tuned where it has one, and what is noted of it."""
        if algorithm not in IMPURITY or algorithm in BASES:
            found, seconds = self.grow(algorithm)
            return found, self.noted(found, seconds)
        tried: list[tuple[float, float]] = []

        def attempt(lam: float) -> tuple[float, tuple[Measured, float]]:
            found, seconds = self.grow(algorithm, lam)
            tried.append((lam, found.auc(self.lesson.valid)))
            return tried[-1][1], (found, seconds)

        lam, (found, seconds) = descend(attempt, published().lambdas)
        trace = [[value, _plain(auc)] for value, auc in tried]
        return found, self.noted(found, seconds) | {"lam": lam, "tried": trace}

    def pruned(self, found: Measured, algorithm: str) -> dict[str, Any]:
        """The tree cut back by the α that ranks validation rows best, the smallest of equal ones."""
        chosen, best, auc = None, math.nan, -math.inf
        for alpha in published().alphas:
            nodes = weakest(found.tree, alpha, top_down=self.variant == AUTHORS)
            rest = found.tree.heirs(nodes)[found.rest]
            now = attrs.evolve(found, rest=rest).auc(self.lesson.valid)
            if chosen is None or now > auc:
                chosen, best, auc = nodes, alpha, now
        cut = Measured.of(found.tree.cut(chosen), self.lesson) if len(chosen) else found
        return self.noted(cut, 0.0) | {"alpha": best}

    def noted(self, found: Measured, seconds: float) -> dict[str, Any]:
        """Measures of a tree; seconds of the growing alone, where times are asked for."""
        times = {"seconds": round(seconds, 6)} if self.clock else {}
        return {
            "roc_auc": _plain(found.auc(self.lesson.test)),
            "valid_auc": _plain(found.auc(self.lesson.valid)),
            "expected_cost": found.expected_cost,
            "n_nodes": found.tree.n_nodes,
            **times,
        }


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value


_READY: set[tuple[Any, ...]] = set()


def ready(parts: Parts, problem: Problem, context: Context) -> None:
    """Let the method load what it will call, once per kind of problem."""
    form = (type(parts.criterion), type(parts.impurity), parts.coverage, problem.objects.codes.dtype)
    if form not in _READY:
        parts.method.warm_up(problem, context)
        _READY.add(form)


def descend(attempt: Callable[[float], tuple[float, Any]], values: Sequence[float], drop: float = DROP) -> tuple[float, Any]:
    """Try values in their order until the first number falls by more than ``drop`` below the best so far; keep the one before.

    attempt : value → (validation AUC, anything).   NaN counts as no fall.
    """
    kept, best = None, -math.inf
    for value in values:
        auc, found = attempt(value)
        if kept is not None and auc < best - drop:
            break
        kept, best = (value, found), max(best, auc) if not math.isnan(auc) else best
    return kept


def weakest(tree: Tree, alpha: float, *, top_down: bool) -> np.ndarray:
    """int64[k]: the nodes that become leaves at this price of a leaf; R(t) is a node's share of the weight × its impurity.

    Bottom-up: a node whose best subtree costs no less than itself (the smallest minimizing subtree).   top_down: a node
    that costs less than its whole subtree, seen from the root down.
    """
    leaf, parent = tree.is_leaf.tolist(), tree.parent.tolist()
    own = (tree.mass / tree.mass[0] * tree.impurity + alpha).tolist()
    below, cut = [0.0] * len(leaf), []  # of the node's subtree: Σ over its leaves of own, or of the best subtree
    for node in range(len(leaf) - 1, -1, -1):  # children come after their parent
        if leaf[node]:
            below[node] = own[node]
        elif own[node] < below[node] or (not top_down and own[node] == below[node]):
            cut.append(node)
            if not top_down:
                below[node] = own[node]
        if node:
            below[parent[node]] += below[node]
    return np.array(cut, np.int64)


def study(house: House, key: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """All algorithms on one split.

    key : dataset, seed, prices, variant, times.   The seeds of split and prices are ``seed`` + the key's.
    """
    piece = Piece.of(house, key, seed)
    found: dict[str, Any] = {}
    for algorithm in GROWN:
        tree, found[algorithm] = piece.grown(algorithm)
        if algorithm in IMPURITY:
            found[f"p{algorithm}"] = piece.pruned(tree, algorithm)
    objects = piece.lesson.objects
    facts = {
        "rows": objects.table.n_rows,
        "objects": objects.n_objects,
        "tests": objects.n_tests,
        "classes": objects.n_classes,
        "theta": piece.lesson.theta,
    }
    return {"algorithms": found, "facts": facts}


def datasets_of(names: Iterable[str]) -> tuple[str, ...]:
    """All data sets of Table 1 when none is named, else those."""
    return tuple(names) or tuple(published().datasets)
