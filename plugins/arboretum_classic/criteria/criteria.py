"""Criteria of the classical methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from arboretum.api import (
    Capability,
    Node,
    Tables,
    param,
    sure,
)
from arboretum_classic.criteria import kernels
from arboretum_classic.criteria.impurities import Entropy

if TYPE_CHECKING:
    from arboretum.interfaces.impurity import Impurity


_ANY = (
    "classification",
    "multiclass",
    "regression",
    "weights",
    "missing",
    "multiway",
    "thresholds",
)


@attrs.frozen
class Reduction:
    """Impurity reduction, as scikit-learn's ``min_impurity_decrease`` counts it.

    For a node S with outcomes S_v and a root R, with an impurity i of scale *mean*: ``p(S)/p(R) ·
    [i(S) − Σ_v p(S_v)/p(S) · i(S_v)]``, p the mass; of scale *total*: ``i(S) − Σ_v i(S_v)``.
    """

    kind = "criterion"
    name = "reduction"
    paper = "Breiman, Friedman, Olshen & Stone 1984, definition 2.13"
    capabilities = (*_ANY, "additive")
    reads_prefix_costs = True
    adds_over_nodes = True
    needs = ("impurity",)

    def kernel(self, impurity: Impurity | None) -> Callable[..., float] | None:
        """Return the kernel for this impurity; None if it is written in NumPy only, or ``impurity``
        is None.
        """
        name, kernel = getattr(impurity, "name", ""), getattr(impurity, "kernel", None)
        own = getattr(kernels, f"reduction_{name}", None)
        if own is not None and kernel is not None and kernel is getattr(kernels, name, None):
            found: Callable[..., float] | None = own
            return found
        if kernel is None or hasattr(impurity, "prefix"):
            return kernels.reduction_prefix if hasattr(impurity, "prefix") else None
        if sure(impurity).scale == "total":
            found = kernels.reduction_total
            return found
        declared = _names(getattr(impurity, "capabilities", ()))
        return (
            None
            if "regression" in declared and "classification" not in declared
            else kernels.reduction_mean
        )

    def bounded_by_vertices(self, impurity: Impurity | None) -> bool:
        """With a concave mean impurity the score is convex in the class weights of an outcome."""
        return getattr(impurity, "scale", "") == "mean" and "concave" in _names(
            getattr(impurity, "capabilities", ())
        )

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        """Return float64[tests]; see the class."""
        return self.terms(tables, node)["decrease"]

    def terms(self, tables: Tables, node: Node) -> Mapping[str, np.ndarray]:
        """Return the impurity before; after (mean over the outcomes by mass, or total); the
        decrease that is the score.
        """
        before = np.full(tables.n_tests, node.impurity)
        if tables.impurity_scale == "total":
            after = tables.impurity(tables.weights).sum(axis=-1)
            return {"impurity": before, "after": after, "decrease": before - after}
        if tables.impurity_scale == "prefix":
            after = tables.extra[..., 0].sum(axis=-1) / node.mass
        else:
            after = (tables.mass * tables.impurity(tables.weights)).sum(axis=-1) / node.mass
        return {
            "impurity": before,
            "after": after,
            "decrease": (before - after) * (node.mass / node.total_mass),
        }


def _names(capabilities: Iterable[Any]) -> set[str]:
    """Return what a component declares, by name: members of Capability and their names mean the
    same.
    """
    return {getattr(capability, "value", capability) for capability in capabilities}


@attrs.frozen
class GainRatio:
    """Information gain divided by split information, both in bits of entropy over the rows at the
    node.

    ``[H(S) − Σ_v p(S_v)/p(S)·H(S_v)] / H(p(S_1)/p(S), …)``; a test with split information 0 is not
    admissible. Entropy is part of the definition, whatever the run's impurity.
    """

    kind = "criterion"
    name = "gain_ratio"
    paper = "Quinlan 1993, section 2.2"
    capabilities = (
        *(c for c in _ANY if c != "regression"),
        Capability.additive,
    )

    def kernel(self, impurity: Impurity | None) -> Callable[..., float]:
        """Return the gain ratio as a kernel, one for all impurities: entropy is part of it."""
        found: Callable[..., float] = kernels.gain_ratio
        return found

    def bounded_by_vertices(self, impurity: Impurity | None) -> bool:
        """Return a convex gain over a concave, positive split information is quasi-convex: its
        maximum lies at a vertex.
        """
        return True

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        """Return float64[tests]; see the class."""
        found = self.terms(tables, node)
        split = found["split_info"]
        made: np.ndarray = np.divide(
            found["gain"], split, out=np.full(len(split), -np.inf), where=split > 0
        )
        return made

    def terms(self, tables: Tables, node: Node) -> Mapping[str, np.ndarray]:
        """Return the information gain and split information, bits."""
        mass = tables.weights.sum(axis=-1)
        bits = Entropy().value
        after = (mass * bits(tables.weights)).sum(axis=-1) / mass.sum(axis=-1)
        return {"gain": bits(tables.weights.sum(axis=1)) - after, "split_info": bits(mass)}


@attrs.frozen
class RandomChoice:
    """A baseline: a random test among those that are not constant, each with the same chance.

    The score of a test is a hash of the seed, the node (its class weights and depth) and the test's
    position among the candidates; so the tree depends on the seed alone, not on the order in which
    nodes or tests are looked at, and a row given twice is a row of weight 2.
    """

    kind = "criterion"
    name = "random"
    paper = ""
    capabilities = (*_ANY, "randomised")

    seed: int = param(-1, "seed of the choices; −1 takes the run's seed", ge=-1)

    def with_seed(self, seed: int) -> RandomChoice:
        """Return the criterion with the run's seed, unless it has one of its own."""
        return self if self.seed >= 0 else attrs.evolve(self, seed=seed)

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        """Return float64[tests] in [0, 1)."""
        state = self.seed & _ALL
        # of moments only the mass: sums of y depend on the order of the rows in their last bits
        masses = node.weights if node.counts.shape == node.weights.shape else node.weights[:1]
        for part in (node.depth, *masses.view(np.uint64).tolist()):
            state = _scatter_bits_of_one(state ^ part)
        mixed = _scatter_bits(tables.test.astype(np.uint64) ^ np.uint64(state))
        return (mixed >> np.uint64(11)) * 2.0**-53


_ALL = 0xFFFFFFFFFFFFFFFF


def _scatter_bits_of_one(value: int) -> int:
    """Return :func:`_scatter_bits` of one number, 0 … 2⁶⁴ − 1, 20 times faster than as an array: a
    node's weights are mixed for every block of tests.
    """
    value = value + 0x9E3779B97F4A7C15 & _ALL
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & _ALL
    value = (value ^ value >> 27) * 0x94D049BB133111EB & _ALL
    return value ^ value >> 31


def _scatter_bits(values: np.ndarray) -> np.ndarray:
    """Scatter the bits of uint64 values (the finaliser of SplitMix64; Steele, Lea & Flood 2014)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: np.ndarray = values ^ (values >> np.uint64(31))
    return found
