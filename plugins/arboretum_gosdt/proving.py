"""The proof of what a search has found: extracted from its memo, where it has one that can be asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.api import Context, Solution


def prove(path: str, attempt: Any, found: Solution, context: Context) -> Solution:
    """Write the proof of an attempt's bound to a file; returns the solution, with a note where none could be written.

    Raises StoreError where the file cannot be written.   Ctrl-C leaves no proof, and the solution.
    """
    if reason := _unprovable(attempt):
        return attrs.evolve(found, notes=(*found.notes, f"no proof is written: {reason}"))
    try:
        return _written(path, attempt, found, context)
    except KeyboardInterrupt as error:
        if error.args:  # a signal that ends the process
            raise
        return attrs.evolve(found, notes=(*found.notes, "no proof is written: it was interrupted"))


def _unprovable(attempt: Any) -> str:
    """Why the checker cannot know the problem, "" where it does."""
    units = attempt.units
    if units.slack or units.slack_per_leaf:
        return "weights, costs or objective.lam were rounded to 62 bits; give them fewer digits"
    return "it would have to account for prices (objective.mu)" if units.price_value else ""


def _written(path: str, attempt: Any, found: Solution, context: Context) -> Solution:
    from arboretum.api import Extraction, ProofWriter

    problem, units, asked, search = attempt.problem, attempt.units, attempt.asked, attempt.chosen.search
    tests, memo = range(problem.objects.n_tests), None if problem.objects.raw_features else getattr(search, "bounds", None)
    if memo is not None:
        features = np.arange(search.n_features)
        tests = attempt.chosen.tests(np.column_stack([features, 0 * features, features, features]))[:, 0].tolist()
    with ProofWriter(path, problem, tests=tests, unit=units.loss_value / units.q, seed=context.seed) as log:
        extraction = Extraction(log, problem, memo, context.progress)
        value = int(extraction.rules.cost_of(found.tree))
        bound = value if found.lower_bound >= found.value else min(value, search.lower)
        limits = (-1 if most is None else most for most in (asked.depth, asked.leaves))
        shown = extraction.show(bound, *limits)
        log.close(shown, value, found.tree)
    if shown == bound:
        return found
    note = f"the proof shows {extraction.rules.value(shown):g} only: it knows no leaf rule that forbids a test"
    return attrs.evolve(found, notes=(*found.notes, note))


def sides_known(
    bits: np.ndarray, n_features: int, hashed: tuple[np.ndarray, np.ndarray], path: Sequence[tuple[int, int]], look: Callable[[np.ndarray], int]
) -> np.ndarray:
    """int64[2, features]: what a memo knows of both sides of every feature on the set of a path, literals (feature, outcome).

    bits : uint32[rows, ·], as in Prepared.   hashed : rows, and uint64[·, 2], words whose sum over a set is its key.   look : key
    (uint64[2]) → the bound that is known, 0 without.
    """
    has = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little")[:, :n_features].astype(bool)
    inside = np.ones(len(has), bool)
    for feature, outcome in path:
        inside &= has[:, feature] == outcome
    rows, words = hashed
    here = inside[rows]
    has, words = has[rows[here]], words[here]
    ones = np.array([np.where(has, word[:, None], 0).sum(axis=0, dtype=np.uint64) for word in words.T])
    with np.errstate(over="ignore"):
        keys = words.sum(axis=0, dtype=np.uint64)[:, None] - ones, ones
        return np.array([[look(key) for key in side.T] for side in keys], np.int64)
