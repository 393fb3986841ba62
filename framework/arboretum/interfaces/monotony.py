"""Is F of a complexity monotone, or a loss of two kinds of errors?  Exact searches assume it; it
can be tried, and refuted, but not proven.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence
from typing import Protocol

import attrs
import numpy as np

from arboretum.errors import CapabilityError, ContractError
from arboretum.interfaces.complexity import Complexity, form_of
from arboretum.interfaces.component import Component
from arboretum.model.encoded import Encoded, Prices
from arboretum.model.real_numbers import real_numbers

DRAWS, ORDERS = 500, 4
"""Random pairs of arguments at a time; and of a table, as many at the masses that objects add up
to in each of some orders.
"""
Floats = Sequence[float] | np.ndarray
LOSS_ROUNDING = 1e-12
"""Of a loss, which is a few sums and quotients of numbers about 1: one that falls by more is not
monotone.
"""


@attrs.define
class Monotony:
    """How far it was tried that F is monotone: a number of pairs of arguments, until a
    counterexample was found.

    Finding none is evidence, not proof.

    found : a pair on which F falls though a branch became dearer, or is no number ≥ 0, as a
        sentence; None while there is none.
    """

    complexity: Complexity
    pairs: int = 0
    found: str | None = None

    def compare(
        self, mass: float, price: float, cheaper: Sequence[float], dearer: Sequence[float]
    ) -> bool:
        """Try one pair: whether F(… cheaper) ≤ F(… dearer), both numbers ≥ 0; ``found`` says so
        where not.

        cheaper, dearer : ψ of the branches, as many in both, none of which falls.
        """
        low, high = (
            float(self.complexity.node(mass, price, np.array(children)))
            for children in (cheaper, dearer)
        )
        self.pairs += 1
        # a sum of t terms may round differently: nothing below that is a counterexample
        equal = math.isclose(low, high, rel_tol=4 * len(cheaper) * sys.float_info.epsilon)
        if low >= 0.0 and high >= 0.0 and (low <= high or equal):
            return True
        said = [
            f"F(mass={mass:g}, price={price:g}, {list(c)}) = {value:g}"
            for c, value in ((cheaper, low), (dearer, high))
        ]
        undefined = [
            text for text, value in zip(said, (low, high), strict=True) if not value >= 0.0
        ]
        self.found = (
            f"{undefined[0]} must be a number ≥ 0"
            if undefined
            else f"{said[0]} is greater than {said[1]}"
        )
        return False

    @staticmethod
    def on(complexity: Complexity, objects: Encoded, prices: Prices) -> Monotony:
        """Try a complexity, also at the masses and prices of a table, from one object to all; a
        closed form is not tried.

        Raises CapabilityError, with the counterexample, where F is not monotone, and where ψ⁰ or F
        is no number ≥ 0.
        """
        tried, leaf = Monotony(complexity), float(complexity.leaf())
        if not 0.0 <= leaf < math.inf:
            raise CapabilityError(
                f"complexity {complexity.name}: ψ⁰ = {leaf:g} must be a finite number ≥ 0; "
                "let leaf() return one"
            )
        if form_of(complexity) is None:
            tried.on_a_grid().at_random(DRAWS)
            for seed in range(1, 1 + ORDERS):
                order = np.cumsum(np.random.default_rng(seed).permutation(objects.weight))
                tried.at_random(
                    DRAWS,
                    seed,
                    order[np.geomspace(1, len(order), 64).astype(np.int64) - 1],
                    prices.tests,
                )
            tried.demand()
        return tried

    def demand(self) -> None:
        """Raises CapabilityError, with the counterexample, where one was found."""
        if self.found is not None:
            raise CapabilityError(
                f"complexity {self.complexity.name} is not monotone: {self.found}; "
                "let F be ≥ 0 and grow with every branch's value"
            )

    def on_a_grid(self) -> Monotony:
        """Return all vectors over {ψ⁰, 0, 1, 2, 5} of up to three branches, each against one entry
        raised.
        """
        levels = sorted({0.0, 1.0, 2.0, 5.0, float(self.complexity.leaf())})
        for mass, price, t in itertools.product((1.0, 2.0, 7.0), (0.0, 1.0, 3.0), (1, 2, 3)):
            for vector in itertools.product(levels, repeat=t):
                for position, level in itertools.product(range(t), levels):
                    dearer = (*vector[:position], level, *vector[position + 1 :])
                    if level > vector[position] and not self.compare(mass, price, vector, dearer):
                        return self
        return self

    def at_random(
        self, draws: int, seed: int = 0, masses: Floats = (), prices: Floats = ()
    ) -> Monotony:
        """Random pairs of up to eight branches.

        masses, prices : of a table at hand; without, whole numbers up to 1000 and 10.

        Branches are of the size of 1, 10, 100 or of the mass.

        draws : pairs, until one is a counterexample.   Returns itself.
        """
        generator = np.random.default_rng(seed)
        for _ in range(draws if self.found is None else 0):
            t = int(generator.integers(1, 9))
            mass = float(generator.choice(masses) if len(masses) else generator.integers(1, 1000))
            price = float(generator.choice(prices) if len(prices) else generator.integers(0, 11))
            size = float(generator.choice([1.0, 10.0, 100.0, mass]))
            cheaper = generator.exponential(size, t).round(3)
            dearer = cheaper + generator.exponential(0.3 * size, t).round(3) * generator.integers(
                0, 2, t
            )
            if not self.compare(mass, price, cheaper.tolist(), dearer.tolist()):
                break
        return self


def counterexample_to_monotony(complexity: Complexity) -> str | None:
    """Look for arguments on which F is not monotone; None when none was found (a closed form
    always is monotone).
    """
    return (
        None
        if form_of(complexity) is not None
        else Monotony(complexity).on_a_grid().at_random(DRAWS).found
    )


class OfErrors(Component, Protocol):
    """An objective of false positives and false negatives."""

    def loss(
        self, fp: np.ndarray, fn: np.ndarray, positives: float, negatives: float
    ) -> np.ndarray:
        """Return the loss at each pair."""


def monotone_losses(
    objective: OfErrors, fp: np.ndarray, fn: np.ndarray, positives: float, negatives: float
) -> np.ndarray:
    """Return float64[fp, fn]: an objective's ``loss`` at all pairs of these ascending numbers.

    Raises CapabilityError, with the counterexample, where the loss falls though one of them grows,
    or is no number, ContractError where it has another shape.

    positives, negatives : weight of the rows of either class.
    """
    shape = len(fp), len(fn)
    pairs = np.broadcast_to(fp[:, None], shape), np.broadcast_to(fn, shape)
    said_of_all = real_numbers(
        objective.loss(*pairs, positives, negatives), f"objective {objective.name}: loss"
    )
    if said_of_all.shape not in ((), shape):
        raise ContractError(
            f"objective {objective.name}: loss must return one number for each pair of fp and fn, "
            f"here {shape}; got {said_of_all.shape}"
        )
    losses = np.array(np.broadcast_to(said_of_all, shape))

    def said(i: int, j: int) -> str:
        return f"loss(fp={fp[i]:g}, fn={fn[j]:g}) = {losses[i, j]:g}"

    way_out = "let it grow with both, or choose another objective"
    fine = np.isfinite(losses)
    for i, j in [] if fine.all() else np.argwhere(~fine)[:1].tolist():
        raise CapabilityError(
            f"objective {objective.name}: {said(i, j)} must be a number; {way_out}"
        )
    for axis in (0, 1):
        falls = np.diff(losses, axis=axis) < -LOSS_ROUNDING
        for i, j in np.argwhere(falls)[:1].tolist() if falls.any() else []:
            more = said(i + 1 - axis, j + axis)
            raise CapabilityError(
                f"objective {objective.name} is not monotone: {said(i, j)} is greater than "
                f"{more}; {way_out}"
            )
    return losses
