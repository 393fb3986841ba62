"""The proof of what a search has found: extracted from its memo, where it has one that can be
asked.
"""

import math
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    CapabilityError,
    Context,
    Ended,
    Problem,
    Solution,
    Tree,
    VerificationError,
    heard,
    sure,
)

ROUNDING = 1e-9
"""Values of trees are compared up to this."""
HARD_TO_SHOW = "superset"
"""A bound of the sparse search that makes proofs up to twenty times longer to find, and saves
one set in twenty-five.
"""
EXACT = 2.0**53
"""The checker counts costs up to this."""
RECORDED = 2.0**63
"""Values of trees that a proof holds stay below."""
TOO_LARGE = (
    "objective.lam is too large to be counted; a leaf is best far below it: set a smaller one"
)
"""Why there is none where λ is above all losses."""
GRACE_SECONDS = 2.0
"""Seconds for a proof once a signal has ended the search: whoever sends one kills what is still
there some seconds later.
"""


def prove(
    path: str, attempt: Any, found: Solution, context: Context, resumable: bool = False
) -> Solution:
    """Write the proof of an attempt's bound to a file; returns the solution, with a note where none
    could be written.

    attempt : AdditiveSearch after its search; found : its solution.
    resumable : also what a search that goes on from there asks for.
    Raises StoreError where the file cannot be written, VerificationError where the bound is not
    true (sets had the same fingerprint, or the search is wrong).  Ctrl-C and signals leave no
    proof, and the solution.
    """
    if reason := _unprovable(attempt):
        return attrs.evolve(found, notes=(*found.notes, f"no proof is written: {reason}"))
    return _heard(
        found, context, lambda within: _write_proof(path, attempt, found, within, resumable)
    )


def _interrupt_after_grace(
    progress: Callable[..., None], ended: KeyboardInterrupt
) -> Callable[..., None]:
    """Return a listener for the proof of a search that a signal has ended: it interrupts what takes
    longer than GRACE_SECONDS from now.

    progress : the listener that hears of progress until then.
    ended : what it raises.
    """
    end = time.monotonic() + GRACE_SECONDS

    def report(*what: object) -> None:
        progress(*what)
        if time.monotonic() > end:
            raise ended

    return report


def _unprovable(attempt: Any) -> str:
    """Return why the checker cannot know the problem, "" where it does."""
    units = attempt.units
    if units.slack or units.slack_per_leaf:
        return "weights, costs or objective.lam were rounded to 62 bits; give them fewer digits"
    most = np.abs(units.costs).max(axis=1, initial=0).astype(np.float64)
    by_object = hasattr(attempt.problem.parts.objective, "costs")
    together = most.sum() if by_object else len(most) * most.max(initial=0.0)
    path = units.price_of_test * len(most)
    if units.q * together + 4 * (units.p + units.above) + path >= EXACT:  # of four leaves at once
        if units.above:
            return TOO_LARGE
        return (
            "costs in a unit that divides objective.lam, too, exceed 2^53; give weights, costs or "
            "objective.lam fewer digits"
        )
    if units.worst and not hasattr(attempt.chosen.search, "levels_of_proof"):
        return "it would have to account for the costliest path (objective.price=max)"
    return ""


def _write_proof(
    path: str, attempt: Any, found: Solution, context: Context, resumable: bool
) -> Solution:
    """Write the proof of an attempt's bound, and return the solution, with a note where the proof
    shows less, as it knows no leaf rule that forbids a test.  Raises VerificationError where it
    shows less and there is no such rule.

    resumable : as of :func:`prove`.
    """
    from arboretum.api import Extraction, Memo, ProofWriter

    problem = attempt.problem
    units = attempt.units
    limits = attempt.limits
    search = attempt.chosen.search
    tests: Sequence[int | list[int]] = range(problem.objects.n_tests)
    # None where a leaf or a single test was all there was to look for
    remembered = search.memo_for_proof() if hasattr(search, "memo_for_proof") else None
    most: list[int] = [-1 if one is None else one for one in (limits.depth, limits.leaves)]
    # limits, what is paid besides, and what is remembered
    asked: list[tuple[int, int, int, Any]] = [(most[0], most[1], 0, remembered)]
    if hasattr(search, "levels_of_proof"):
        asked = [
            (depth, -1, levels * units.price_of_test, remembered)
            for depth, levels, remembered in search.levels_of_proof()
        ]
        remembered = asked[0][-1]
    if remembered is not None:
        tests = name_tests(attempt, tests_of_features(attempt, remembered[0].shape[1]))
    elif (sides := attempt.sides_of_cuts(context)) is not None:
        asked, tests = [(most[0], most[1], 0, sides[0])], name_tests(attempt, sides[1])
    with ProofWriter(
        path, problem, tests=tests, unit=units.loss_value / units.q, seed=context.seed
    ) as log:
        rules: Any = None
        for depth, leaves, paid, remembered in asked:
            memo = None if remembered is None else Memo(*remembered)
            extraction = Extraction(log, problem, memo, context.progress, rules)
            if rules is None:
                rules = extraction.rules
                value = int(rules.cost_of(sure(found.tree)))
                lower = max(search.lower + attempt.chosen.leaf, units.p)  # a leaf at least
                shown = bound = value if found.lower_bound >= found.value else min(value, lower)
            shown = min(shown, extraction.show(bound - paid, depth, leaves) + paid)
            if resumable and bound < value and hasattr(search, "resume_from_proof"):
                extraction.keep(search.literals_to_node())
            extraction.write()
        log.close(shown, value, found.tree)
    if shown == bound:
        return found
    what = f"the proof shows {rules.value(shown):g} only"
    if limits.any_node:
        raise VerificationError(
            f"{what}, but the search claims {found.lower_bound:g}: please report this, with "
            f"{path!r}"
        )
    return attrs.evolve(
        found, notes=(*found.notes, f"{what}: it knows no leaf rule that forbids a test")
    )


def prove_lines(path: str, search: Any, found: Solution, context: Context) -> Solution:
    """Write the proof of a bound of a loss of false positives and false negatives, or of an area;
    returns the solution, with a note where none could be written, or where it shows less.

    search : :class:`arboretum_gosdt.solvers.fronts.NonDominatedSearch` after its search.
    Raises as :func:`prove`.
    """
    if found.value >= RECORDED:
        return attrs.evolve(found, notes=(*found.notes, f"no proof is written: {TOO_LARGE}"))
    return _heard(found, context, lambda within: _write_lines(path, search, found, within))


def prove_constrained(path: str, search: Any, found: Solution, context: Context) -> Solution:
    """Write the proof of a bound of trees that keep constraints; returns the solution, with a note
    where none could be written, or where it shows less.

    search : :class:`arboretum_gosdt.solvers.constrained.ConstrainedSearch` after its search.
    Raises as :func:`prove`.
    """
    if reason := _unprovable(search.found):
        return attrs.evolve(found, notes=(*found.notes, f"no proof is written: {reason}"))
    return _heard(found, context, lambda within: _write_constrained(path, search, found, within))


def _heard(found: Solution, context: Context, write: Callable[[Context], Solution]) -> Solution:
    """Return what writing a proof makes of a solution; the solution, with a note, where that is
    interrupted, a budget ends it, or no checker knows the problem.

    write : in a context, which gives a search that was interrupted its grace.
    """
    if found.interrupted and found.interrupted.args:
        context = attrs.evolve(
            context, progress=_interrupt_after_grace(context.progress, found.interrupted)
        )

    def without(ended: Ended) -> Solution:
        why = "it was interrupted" if ended.details else ended.error
        notes = (*found.notes, f"no proof is written: {why}")
        return attrs.evolve(
            found, notes=notes, finished=False, details={**found.details, **ended.details}
        )

    try:
        return heard(lambda: write(context), without)
    except CapabilityError as error:  # the checker does not know what the run asks
        return attrs.evolve(found, notes=(*found.notes, f"no proof is written: {error}"))


def _write_lines(path: str, search: Any, found: Solution, context: Context) -> Solution:
    """As :func:`prove_lines`, of a search whose loss has lines."""
    from arboretum.api import KnownLine, Memo, ProofWriter, write_lines

    problem = search.problem
    lines = [
        KnownLine(
            line.name,
            least + line.constant,
            Memo(*search.remembered[line].memo_for_proof()) if line in search.remembered else None,
        )
        for line, least in search.loss.lines.items()
    ]
    free = not any(line.p for line in search.loss.lines)
    if free:  # nothing is searched where leaves cost nothing
        near = search.loss.cost_near(*held_by(sure(found.tree), problem))
        lines = [KnownLine(near.name, None)]
    tests = name_tests(search, search.merged.tests.tolist())
    with ProofWriter(path, problem, tests=tests, unit=Fraction(1), seed=context.seed) as log:
        shown = write_lines(
            log, problem, lines, found.lower_bound, sure(found.tree), context.progress
        )
    if shown.bound >= min(found.lower_bound, shown.value) - ROUNDING:
        return found
    why = "lines of whole numbers show no more, or too many trees are near the best"
    if free and search.loss.lines:
        why = "objective.lam is too small for lines of whole numbers; say 0, or more"
    note = f"the proof shows {shown.bound:g} only: {why}"
    return attrs.evolve(found, notes=(*found.notes, note))


def _write_constrained(path: str, search: Any, found: Solution, context: Context) -> Solution:
    """As :func:`prove_constrained`."""
    from arboretum.api import KnownLine, Memo, ProofWriter, write_lines

    of = search.found
    plain, units, tests = of.chosen.search, of.units, search.divided.tests.tolist()

    def memo(one: Any) -> Memo | None:
        remembered = one.memo_for_proof() if hasattr(one, "memo_for_proof") else None
        return None if remembered is None else Memo(*remembered)

    # λ above all losses is not searched as it is
    least = None if units.above else search.plain
    lines = [KnownLine((1, 1, []), least, memo(plain))]
    lines += [KnownLine(line.name, line.least, memo(line.search)) for line in search.lines]
    with ProofWriter(
        path,
        of.problem,
        tests=name_tests(of, tests),
        unit=units.unit,
        shape="constrained",
        seed=context.seed,
    ) as log:
        bound = min(search.least, search.cost_of_best) + of.equivalent_cost
        if found.lower_bound >= found.value:
            bound = math.inf  # as much as its tree is worth
        shown = write_lines(log, of.problem, lines, bound, sure(found.tree), context.progress)
    if shown.bound >= min(bound, shown.value):
        return found
    note = (
        f"the proof shows {of.value(int(shown.bound)):g} only: too many trees are near the best, "
        "or their order would have to be looked at one by one"
    )
    return attrs.evolve(found, notes=(*found.notes, note))


def held_by(tree: Tree, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return int64[leaves, 2], what leaves of a tree hold of two classes, and int64[2], its false
    positives and false negatives, in whole units of weight.
    """
    objects, mass = problem.objects, problem.objects.exact_weights[0]
    at = tree.apply(objects.table)[objects.row_of_object]
    held = np.zeros((tree.n_nodes, 2), np.int64)
    np.add.at(held, (at, objects.label), mass)
    wrong = np.zeros(2, np.int64)
    missed = tree.predict(objects.table)[objects.row_of_object] != objects.label
    np.add.at(wrong, objects.label[missed], mass[missed])
    return held[held.any(axis=1)], wrong


def tests_of_features(attempt: Any, n: int) -> list[int]:
    """Return the test that each of n features of the search is, numbered as in ``attempt.tests``,
    in the order of the features.

    attempt : AdditiveSearch, whose search is chosen.
    """
    features = np.arange(n)
    found: list[int] = attempt.chosen.tests(
        np.column_stack([features, 0 * features, features, features])
    )[:, 0].tolist()
    return found


def name_tests(attempt: Any, tests: list[int]) -> list[int | list[int]]:
    """Return tests as a log names them: single thresholds of raw columns by column and cut.

    tests : numbers in ``attempt.tests``.
    """
    objects, column, index = attempt.problem.objects, attempt.tests.column, attempt.tests.index
    n_fixed, coded = objects.n_fixed, len(objects.features)
    return [
        int(objects.test_offset[column[t]] + index[t])
        if column[t] < coded
        else [n_fixed + int(column[t]) - coded, int(index[t])]
        for t in tests
    ]


def resume_from_proof(path: str, attempt: Any, context: Context) -> None:
    """Let a search that has not begun go on from a proof: its bounds enter the memo, its tree is
    the first one.

    Every record is checked before.  Raises StoreError, VerificationError or CapabilityError.

    attempt : AdditiveSearch; one whose search has nothing to resume stays as it is.
    """
    from arboretum.api import check_proof, read_proof, tree_of_proof

    proof = read_proof(path)
    search = attempt.chosen.search
    problem = attempt.problem
    units = attempt.units
    if not hasattr(search, "resume_from_proof"):  # no test divides the objects
        return
    tests = tests_of_features(attempt, search.subproblem.n_features)
    if (
        proof.header["tests"] != name_tests(attempt, tests)
        or proof.unit != units.loss_value / units.q
    ):
        raise CapabilityError(
            f"solver.resume: {path!r} is the proof of another problem; its tests or its "
            "costs are others"
        )
    check_proof(proof, problem, context.progress)
    tree = tree_of_proof(sure(proof.end["tree"]), problem)
    number = {attempt.tests.rule(test): f for f, test in enumerate(tests)}
    nodes = np.full((tree.n_nodes, 4), -1)
    nodes[:, 1] = 0
    for node in tree.inner.tolist():
        nodes[node, 0], nodes[node, [3, 2]] = number[tree.rule(node)], tree.children(node)
    search.resume_from_proof(proof.words, proof.start, nodes)
