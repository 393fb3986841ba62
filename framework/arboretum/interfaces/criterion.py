"""Contract: how good is this test here?

Call sequence at one node::

    columns(node, objects)                if declared: extra additive columns
        → the engine builds contingency tables
    score(tables, node)                   once, or several times on blocks of the node's candidates
                                          when the tables are large
    finalise_scores(scores, terms, node)  if declared: once, sees all scores of the node
        → the engine takes the highest score; ties within its tolerance go to the lowest test
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from arboretum.interfaces.component import Component
from arboretum.model.encoded import Encoded, Node, Tables

if TYPE_CHECKING:
    from arboretum.interfaces.coverage import Coverage
    from arboretum.interfaces.impurity import Impurity
    from arboretum.interfaces.method import Problem
    from arboretum.kernels.kernel_decorators import KernelNode
    from arboretum.model.tree import Tree


class Criterion(Component, Protocol):
    """A score for candidate tests.  Only ``score`` is required.

    Kernel form: ``score`` is a static method marked by ``arboretum.kernels.criterion_kernel`` with
    the signature ``score(weights, counts, price, extra, node) -> float64`` for one test (numba
    subset, must not allocate); ``node.params`` holds the component's numeric fields (bool, int,
    float; true is 1) in the order of declaration. Compiled code does not check indices, so each run
    judges a few small tables by the kernel as plain Python first: ContractError where it reads
    beyond an array, or where the compiled form answers otherwise.

    Optional class attributes:

    ``needs`` : kinds without which it cannot work, as in ``needs = ("impurity",)``.
    ``counts_objects`` : True: ``tables.counts`` and ``node.counts`` count objects (rows that the
        encoder merged are one), not rows.  Weights stay the rows'; so does everything a tree
        reports.
    ``divides_by_price`` : True: a run with a test of price 0, or with prices paid once per column
        (free when asked again), is refused.
    ``needs_outcome_prices`` : True: the NumPy ``score`` finds ``tables.outcome_price``; its kernel
        serves prices that no outcome changes.
    ``weighs_branches`` : True: it says itself how light a branch may be, so that one may hold a
        part of a row where rows go in shares.
    ``own_unit`` : True: scores are no amounts of impurity: they tie by their own size alone, not by
        that of the node's impurity.
    ``needs_gain`` : True: the NumPy ``score`` and ``terms`` find ``tables.gain`` and
        ``node.coverage`` in runs with coverages.  They are literal sums over objects, any coverage
        will do, and slow: one call of ``covered`` per set of objects that is an outcome of some
        test (a coverage with ``covered_many``: one per some thousand objects).
    """

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        """Return float64[tests]: higher is better, −inf = not admissible, in any unit of its own.

        Must not change ``tables`` (its arrays refuse to be written).  What comes back is checked:
        ContractError for nothing, another shape or dtype, NaN or +∞.  An exception raised here is
        reported as the criterion's.
        """


class CriterionOptional(Protocol):
    """What a criterion may have besides, each by itself."""

    def terms(self, tables: Tables, node: Node) -> Mapping[str, np.ndarray]:
        """Return the named parts of a score, shown by ``arboretum why``: name → float64[tests],
        finite or −inf.

        Called by ``why`` for one node, and at every node if there is ``finalise_scores``.
        """

    def columns(self, node: Node, objects: Encoded, rows: np.ndarray) -> np.ndarray:
        """Return float64[len(rows), k]: additive columns besides class weights, of the node's
        objects (``rows``: int64 indices).

        ``columns(node, objects)``, told apart by its parameters, receives the node's objects alone;
        this form spares that copy. k is the same at every node.  Each test's sums over its outcomes
        are ``tables.extra``, float64[tests, outcomes, k]; they are not multiplied by object
        weights.  Called once per node that is scored.  ``columns_are_costs = True`` says that they
        are what objects cost by label, as :func:`arboretum.api.shares_of_costs` has it: then rows
        may lie in parts.  So they may where ``by_value = True`` says that columns are the same at
        every node and made of each object's target, weight and roles, beside what the criterion
        estimates of all rows: ``fitted(table)``, where it is there, returns it with what it
        estimates of a table of the different targets and roles, each of the weight of its rows.
        Each such run tries that on a few rows.
        """

    @staticmethod
    def column(weight: float, label: int, node: KernelNode) -> float:
        """Return what an object adds to ``tables.extra[..., 0]``, from its weight and class (−1:
        the target is a number); finite.

        A static method marked by ``arboretum.kernels.column_kernel``; ``node`` is the
        ``KernelNode`` that ``score`` receives.  An object whose value is 0 costs nothing further:
        it is not added up.  Not called where ``tables.gain`` stands in for it (``needs_gain`` in a
        run with coverages that has no kernel).  With a kernel marked
        ``criterion_kernel(column_by_class=True)`` it is summed per class: ``tables.extra[..., k]``
        is of the objects of class k.
        """

    def finalise_scores(
        self, scores: np.ndarray, terms: Mapping[str, np.ndarray], node: Node
    ) -> np.ndarray:
        """Return a rule over all candidates of a node (C4.5's average-gain filter): float64[tests]
        → float64[tests].

        terms : as returned by the criterion's ``terms`` on the same candidates.
        scores : float64[tests], of all candidates of the node, in the order of ``tables.test``.
        """

    def kernel(
        self, impurity: Impurity | None, coverage: tuple[Coverage, ...]
    ) -> Callable[..., float] | None:
        """Return the marked kernel for the run's impurity; None if there is none: ``score`` is
        used. Called once per run.

        Beside it the NumPy ``score`` serves ``why`` and rules over all candidates.
        coverage : the run's coverage components; a method without this parameter serves every
            combination of them.
        """

    def bounded_by_vertices(self, impurity: Impurity | None) -> bool:
        """Return a promise about the kernel form on two outcomes, which leaves only the thresholds
        on raw columns to search that can win (up to 3 times faster growth).

        With the node, the price and the class weights of all other objects fixed, the score of any
        division of some objects is at most the highest over the divisions that keep each of their
        classes together; as for every score that is quasi-convex in the class weights of an
        outcome.  No such division may be refused with −inf unless one outcome is empty.
        """

    def for_problem(self, problem: Problem) -> Criterion:
        """Return the criterion for a problem, by whose objective, or objects, it scores.  Called
        once for each problem, before it is solved.
        """

    def with_seed(self, seed: int) -> Criterion:
        """Return the criterion with the run's seed, if it draws.  Scores must depend on seed, node
        and ``tables.test`` only.
        """

    def promises(self, problem: Problem) -> Mapping[str, float]:
        """Return a proven bound of the greedy tree, put beside what ``certify=true`` finds: name of
        a complexity → factor.

        The tree's value is at most that many times the minimum over trees with the same leaf rule.
        A promise that a certificate refutes fails the run.  Called once per certificate.
        """

    def notes(self, problem: Problem, tree: Tree) -> Sequence[str]:
        """Return what can be said about a run, such as a proven bound; printed and kept with it.

        problem : what was solved.
        tree : the one found.   Called once per run, outside the fit clock.
        """
