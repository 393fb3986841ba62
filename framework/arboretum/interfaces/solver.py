"""Contract: what is the optimum, and who proves it?"""

from collections.abc import Sequence
from typing import Protocol

from arboretum.interfaces.complexity import Complexity
from arboretum.interfaces.component import Component
from arboretum.interfaces.method import Context, Problem
from arboretum.interfaces.objective import Objective
from arboretum.model.record import Solution


class Solver(Component, Protocol):
    """An exact search.  Within the budget it proves; beyond it, it returns its best tree and the
    proven bound.

    minimises : (optional) the shapes (:class:`~arboretum.interfaces.objective.Shape`) of objectives
        that it knows; a run with another one is refused: where it states none, with any.
    """

    def solve(self, problem: Problem, context: Context) -> Solution:
        """Minimise ``problem.parts.objective`` (or ``complexity``).  Called once per run, inside
        the fit clock.

        Never a silent wrong answer: ``status`` says what is proven, ``lower_bound`` holds for every
        feasible tree (same unit as ``value``; finite, such as 0 where nothing costs less), and
        ``value`` is that of the tree returned: verification recomputes it.  Arrays of the problem
        stay as they are: who changes them works on a copy, or the run fails.  Looks at
        ``context.deadline`` and ``context.memory_bytes`` as it goes.  Raises BudgetError when a
        budget runs out before there is any tree.
        """


class SolverOptional(Protocol):
    """What a solver may have besides, each by itself.

    tests : on which its trees are, in words, where these are more than the run's ("all
        thresholds"); what is certified is of them.
    certifies : names of the complexities whose minima it knows; without it all.  It is the
        certifier where it is asked for by name.
    limits : names of the limits that ``minima`` and ``least`` obey, of ``max_depth``,
        ``max_leaves``, ``min_leaf`` and ``max_cost``; a run with another one has no certificate.
        The minimum then is over trees within the limits, in which a node that the leaf rule would
        divide may be a leaf where the limits leave it no test: at the greatest depth, where
        dividing it would make too many leaves, where every test leaves some branch fewer than
        ``min_leaf`` rows or costs more than ``max_cost`` leaves.
    constrains_labels : whether leaves say what keeps constraints rather than what is best for them;
        which, ``constraints()`` says to whoever checks its proofs
        (:class:`arboretum.interfaces.constraints.ConstrainedSolver`).
    """

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Make ready (compile, load) what ``solve`` or ``minima`` on this problem will call, in a
        second or two.

        Called by ``method=exact``, and before a certificate, while no clock runs; ``context`` is of
        a budget that starts anew afterwards.  Raises what they raise.
        """

    def problem_of_proof(self, problem: Problem) -> Problem:
        """Return the problem that its proofs are about, where its tests are more than the run's:
        whoever checks them asks.  Raises CapabilityError.
        """

    def least(self, problem: Problem, context: Context) -> tuple[Objective, Solution]:
        """Return the least value of the run's objective, or without one of the training error, over
        all trees within the run's limits.

        For ``certify=true``, where a tree is held to limits or has an objective: (objective, its
        optimum on ``problem``, within the budget proven, beyond it with a proven bound).  Of the
        run's other rules ``problem`` keeps none: less trees, no lower minimum.  Raises
        CapabilityError, with the reason, where that is not defined.
        """

    def minima(
        self, problem: Problem, complexities: Sequence[Complexity], context: Context
    ) -> Sequence[Solution]:
        """Return the minimum of each complexity over all trees on the same objects and tests with
        the same leaf rule (``certify=true``).

        One solution per complexity, in units of its reported value; within the budget a proven
        optimum, beyond it a proven lower bound (``tree`` may be None).  Raises CapabilityError,
        with the reason, where that minimum is not defined.
        """
