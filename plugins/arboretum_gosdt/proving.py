"""The proof of what a search has found: extracted from its memo, where it has one that can be asked."""

from __future__ import annotations

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
    from arboretum.api import Extraction, Memo, ProofWriter

    problem, units, asked, search = attempt.problem, attempt.units, attempt.asked, attempt.chosen.search
    tests, memo = range(problem.objects.n_tests), None
    remembered = None if problem.objects.raw_features or not hasattr(search, "remembered") else search.remembered()
    if remembered is not None:
        memo, features = Memo(*remembered), np.arange(remembered[0].shape[1])
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
