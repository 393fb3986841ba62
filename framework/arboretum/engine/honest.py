"""Honest leaves: the tests of a tree are chosen by one part of the training rows, and what its
leaves say by the other.

Where the same rows do both, leaves look purer than they are: the tests were chosen because they
suit these rows.  Rows that chose nothing estimate without that bias.  The tree is grown, tuned and
pruned before; then every node's weights, count, label, number and impurity become those of the
rows that fill it.  A node that none of these rows reaches is left out: whoever would come there
rests above, and gets the estimate of the nearest ancestor that some row reached.

Athey & Imbens (2016), "Recursive partitioning for heterogeneous causal effects", PNAS 113;
Wager & Athey (2018), "Estimation and inference of heterogeneous treatment effects using random
forests", JASA 113.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs
import numpy as np

from arboretum.engine import verify, verify_nodes
from arboretum.engine.label_costs import LabelCosts, has_own_labels, predicted
from arboretum.engine.mismatch import at_every_node, equal, fail
from arboretum.engine.row_costs import problem_of_rows, problem_without_tests
from arboretum.engine.verify_nodes import centre_of
from arboretum.errors import ContractError, sure
from arboretum.interfaces.impurity import impurity_values
from arboretum.interfaces.method import Parts, Problem
from arboretum.model import walk
from arboretum.model.encoded import Prices
from arboretum.model.plain import Facts
from arboretum.model.record import Solution
from arboretum.model.rules import NO_OUTCOME
from arboretum.model.steps import LARGE
from arboretum.model.table import Table
from arboretum.model.tree import NO_CHILD, Tree, single_leaf
from arboretum.model.walk import EPS, Arrivals

OF_THE_GROWN = (
    "honest leaves: value and bounds{} are those of the tree as it was grown, with the labels of "
    "the rows that chose its tests"
)
OF_A_FRONT = "honest leaves: the trees of the front are as they were grown, as their values are"


@attrs.frozen(eq=False)
class Filled:
    """A tree after its leaves were filled.

    problem : of the rows that filled them: an object per row, without tests.
    grown : the tree before.
    others : the trees that a solver lists beside it, filled too.
    notes : what the user should know of it, a sentence each.
    """

    tree: Tree
    problem: Problem
    grown: Tree
    others: tuple[Tree, ...]
    notes: tuple[str, ...]

    @property
    def of_the_grown(self) -> str:
        """What is to be said of a certificate."""
        return OF_THE_GROWN.format(" of the certificate")


def fill(solution: Solution, problem: Problem, rows: Table) -> Filled:
    """Return the solution's tree with leaves that these rows fill.

    problem : that the tree was grown from.   rows : at least one, none of which grew the tree.
    """
    grown, own = sure(solution.tree), problem_of_rows(problem, rows)
    tree = fill_tree(grown, own)
    others = tuple(fill_tree(other, own) for other in solution.others)
    notes = [OF_A_FRONT] if solution.front is not None else []
    if problem.parts.solver is not None:
        notes.append(OF_THE_GROWN.format(""))
    if lost := grown.n_nodes - tree.n_nodes:
        notes.append(
            f"honest leaves: no row that fills reaches {lost} of the {grown.n_nodes} nodes; they "
            "are left out, and a row that would come there gets its nearest ancestor's estimate"
        )
    return Filled(tree, own, grown, others, tuple(notes))


def fill_tree(grown: Tree, own: Problem) -> Tree:
    """Return a tree's tests with the weights, counts, labels, numbers and impurities of other rows;
    nodes that none of them reaches are left out.

    own : of :func:`problem_of_rows`.
    """
    objects, parts = own.objects, own.parts
    rest = walk.places(grown, objects.table, objects.weight)
    arrived = Arrivals.of(grown, objects.object_of_row, objects.n_objects, rest)
    reached = arrived.sizes() > 0
    weights = arrived.totals(objects)
    found: Facts = {"weights": weights, "counts": arrived.counts(objects.count)}
    if objects.is_classification:
        known = has_own_labels(own.parts)
        costs = LabelCosts(own).at_nodes(weights, arrived)[0] if known else -weights
        found["label"] = costs.argmin(axis=1)
    else:
        found["value"] = _numbers(own, arrived, reached)
    if not np.isnan(grown.impurity).all() and parts.impurity is not None:
        found["impurity"] = _impurities(own, arrived, reached)
    leads = (grown.child >= 0) & reached[grown.child]
    asks = np.bincount(grown.owner, leads, grown.n_nodes) > 0
    tree = attrs.evolve(grown, **found)
    return tree if reached.all() else tree.keep(reached, reached & asks)


def tree_without_tests(parts: Parts, rows: Table) -> Tree:
    """Return the tree that asks nothing of these rows, whose leaf says what the parts' objective,
    or impurity, makes of them.
    """
    none = Prices(np.zeros(0), np.zeros(0))
    own = problem_without_tests(rows, attrs.evolve(parts, criterion=None), none)
    return fill_tree(single_leaf(rows), own)


def _numbers(problem: Problem, arrived: Arrivals, reached: np.ndarray) -> np.ndarray:
    """Return float64[n_nodes]: what nodes predict, the mean of their rows, or what the impurity, or
    a solver's objective, makes of them; 0 where none comes by.

    reached : bool[n_nodes].
    """
    if hasattr(problem.parts.objective, "moments"):
        return predicted(problem, arrived)
    parts, shift = problem.parts, centre_of(problem)
    of_leaf = parts.solver and getattr(parts.objective, "leaf_value", None)
    of_leaf = of_leaf or getattr(parts.impurity, "leaf_value", None)
    if of_leaf is not None:
        return _by_node(problem, arrived, reached, of_leaf) + shift
    own = arrived.totals(problem.objects, shift)
    mean = np.divide(own[:, 1], own[:, 0], out=np.zeros(len(own)), where=reached)
    return np.asarray(mean + shift)


def _impurities(problem: Problem, arrived: Arrivals, reached: np.ndarray) -> np.ndarray:
    """Return float64[n_nodes]: the impurity of what comes by; NaN where nothing does."""
    impurity = sure(problem.parts.impurity)
    if hasattr(impurity, "of_values"):
        return _by_node(problem, arrived, reached, impurity.of_values)
    numbers = problem.objects.is_regression
    own = arrived.totals(problem.objects, centre_of(problem) if numbers else 0.0)
    found = np.full(len(own), np.nan)
    found[reached] = impurity_values(impurity, own[reached])
    return found


def _by_node(
    problem: Problem,
    arrived: Arrivals,
    reached: np.ndarray,
    ask: Callable[[np.ndarray, np.ndarray], float],
) -> np.ndarray:
    """Return float64[n_nodes]: what is said of the targets about their centre, and weights, of each
    node that rows reach; 0 elsewhere.
    """
    objects, shift, found = problem.objects, centre_of(problem), np.zeros(len(reached))
    for node in np.flatnonzero(reached).tolist():
        who, share = arrived.at(node)
        found[node] = ask(objects.y[who] - shift, objects.weight[who] * share)
    return found


def verify_filled(filled: Filled, train: Table, metrics: Mapping[str, float]) -> str:
    """Check the tree against the rows that filled it, its tests against the grown tree's (which
    :func:`arboretum.engine.verify.verify` has checked), and the reported metrics.

    train : the rows that grew it, of which the training errors are.
    Returns how much was computed again.  Raises VerificationError naming what disagrees.
    """
    own, grown, problem = verify.check_structure(filled.tree), filled.grown, filled.problem
    objects, rows = problem.objects, problem.objects.table
    sampled, arrived = _check_nodes(own, grown, problem, verify.ROWS_IN_PYTHON)
    slack = 8 * (max(len(arrived.node), train.n_rows) + own.n_nodes) * EPS
    known = {
        **verify.complexities(own, objects, arrived),
        **verify.errors(own, train, walk.places(own, train)),
    }
    if "covering_cost" in metrics:
        known["covering_cost"] = verify.covering_cost(own, problem, arrived)
    for name in (name for name in known if name in metrics):
        equal(f"reported {name}", metrics[name], known[name], slack)
    for other in filled.others:
        # which grown tree it was, nobody says; its own numbers are checked
        _check_nodes(verify.check_structure(other), None, problem, verify.LEAST_IN_PYTHON)
    return (
        f"every node, by the {rows.n_rows} rows that fill it, {sampled} of them once more in plain "
        "Python"
    )


def _check_nodes(
    tree: Tree, grown: Tree | None, problem: Problem, rows: int
) -> tuple[int, Arrivals]:
    """Check the numbers of every node, and its tests where the grown tree is known.  Returns how
    many rows were walked in plain Python, and the walk.

    rows : to walk so, at most.
    """
    objects, table = problem.objects, problem.objects.table
    rest = walk.places(tree, table)
    sampled = verify.check_sample(tree, table, rest, rows)
    if table.n_rows >= LARGE and not (same := tree.rest(table) == rest.whole).all():
        fail(f"row {int(same.argmin())} comes to rest where the kernel that predicts puts it")
    try:
        arrived = Arrivals.of(tree, objects.object_of_row, objects.n_objects, rest)
    except ContractError as error:
        fail(str(error))
    at_every_node("a row that fills comes by: rows", arrived.sizes() > 0, tree.counts)
    costs = LabelCosts(problem) if has_own_labels(problem.parts) else None
    verify.check_objects(tree, objects, arrived, costs)
    if objects.is_regression:
        verify_nodes.check_values(tree, problem, arrived)
    verify_nodes.check_impurity(tree, problem, arrived)
    if grown is not None:
        _check_tests(tree, grown, table, arrived)
    return sampled, arrived


def _check_tests(tree: Tree, grown: Tree, rows: Table, arrived: Arrivals) -> None:
    """Check that the filled tree asks what the grown one asks, and leaves out only outcomes that
    none of the rows has.
    """
    waiting = [(0, 0)]
    while waiting:
        node, before = waiting.pop()
        if grown.is_leaf[before]:
            if not tree.is_leaf[node]:
                fail(f"node {node} asks a test where the grown tree has a leaf")
            continue
        inner = not tree.is_leaf[node]
        rule, old = grown.rule(before), grown.children(before).tolist()
        new = tree.children(node).tolist() if inner else [NO_CHILD] * rule.arity
        if inner:
            asked, had = (
                (one.rule(v), one.price[v], one.score[v], one.missing_child[v])
                for one, v in ((tree, node), (grown, before))
            )
            if repr(asked) != repr(had):
                fail(f"node {node} asks what the grown tree asks there: {asked}", had)
        gone = [k for k in range(rule.arity) if new[k] < 0 <= old[k]]
        if gone:
            who = arrived.who[arrived.start[node] : arrived.start[tree.subtree_end[node]]]
            who = np.unique(who)
            if rule.fuzzy:
                there = bool((rule.degrees(rows, who)[:, gone] > 0).any())
            else:
                outcome = rule.outcomes(rows, who)
                there = bool((np.isin(outcome, gone) & (outcome != NO_OUTCOME)).any())
            if there:
                fail(f"node {node}: a branch is left out that a row takes")
        waiting += [(child, old[k]) for k, child in enumerate(new) if child >= 0]
