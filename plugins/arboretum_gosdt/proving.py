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
    units, asked = attempt.units, attempt.asked
    if units.slack or units.slack_per_leaf:
        return "weights, costs or objective.lam were rounded to 62 bits; give them fewer digits"
    if units.price_value:
        return "it would have to account for prices (objective.mu)"
    return "it would have to account for a limit of leaves" if asked.leaves is not None else ""


def _written(path: str, attempt: Any, found: Solution, context: Context) -> Solution:
    from arboretum.api import Extraction, ProofWriter

    problem, units, search = attempt.problem, attempt.units, attempt.chosen.search
    asks, n_fixed = hasattr(search, "bounds"), int(problem.objects.test_offset[-1])
    features = np.arange(search.n_features if asks else len(attempt.tests.column))
    tests = attempt.chosen.tests(np.column_stack([features, 0 * features, features, features]))[:, 0] if asks else features
    fixed = len(problem.objects.features)
    names = [
        int(t) if t < n_fixed else (n_fixed + int(attempt.tests.column[t]) - fixed, int(attempt.tests.index[t])) for t in tests.tolist()
    ]
    nothing = np.zeros((2, len(names)), np.int64)
    memo = search.bounds if asks else lambda path, depth: nothing
    with ProofWriter(path, problem, tests=names, unit=units.loss_value / units.q, seed=context.seed) as log:
        extraction = Extraction(log, problem, memo, context.progress)
        if extraction.trouble:
            return attrs.evolve(found, notes=(*found.notes, f"no proof is written: {extraction.trouble}"))
        value = int(extraction.rules.cost_of(found.tree))
        bound = value if found.lower_bound >= found.value else min(value, search.lower)
        log.close(extraction.show(bound, -1 if attempt.asked.depth is None else attempt.asked.depth), value, found.tree)
    return found
