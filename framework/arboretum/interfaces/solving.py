"""Contracts: what does a whole tree cost, what does an exact solver minimise, and who proves the optimum?"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import attrs
import numpy as np

from arboretum.interfaces.component import Component
from arboretum.interfaces.method import Context, Problem
from arboretum.model.record import Solution
from arboretum.model.tree import Tree


@attrs.frozen
class Form:
    """A closed form of (ψ⁰, F) that compiled solvers know.

    F = (per_node + per_mass · mass) · (price if ``priced``, else 1) + Σ ψ_i, or + max ψ_i where ``combine`` is "max".
    All numbers are ≥ 0, so F is monotone.   leaf : ψ⁰.
    """

    combine: str = attrs.field(default="sum", validator=attrs.validators.in_(("sum", "max")))
    leaf: float = attrs.field(default=0.0, validator=attrs.validators.ge(0.0))
    per_node: float = attrs.field(default=0.0, validator=attrs.validators.ge(0.0))
    per_mass: float = attrs.field(default=0.0, validator=attrs.validators.ge(0.0))
    priced: bool = False

    def own(self, mass: float, price: float) -> float:
        """What an inner node adds to its branches."""
        return (self.per_node + self.per_mass * mass) * (price if self.priced else 1.0)

    def node(self, mass: float, price: float, children: np.ndarray) -> float:
        """F."""
        return self.own(mass, price) + float(np.sum(children) if self.combine == "sum" else np.max(children))


class Complexity(Component, Protocol):
    """A cost ψ of a tree by induction (Alkhalid, Chikalov & Moshkov, section 2).

    A leaf costs ψ⁰; an inner node whose objects weigh ``mass`` and whose test costs ``price`` costs F(mass, price, ψ₁ … ψ_t), ψ_i
    being what its branches cost.  F must be monotone in every ψ_i: that is what makes dynamic programming exact.

    per_object : the reported value is ψ of the root divided by the total weight (average depth, expected cost); may be
        left out, False then.

    ``node`` may be a static method marked by :func:`arboretum.kernels.complexity_kernel`: solvers then call it compiled.
    """

    per_object: ClassVar[bool]

    def leaf(self) -> float:
        """ψ⁰ ≥ 0, what a leaf costs."""

    def node(self, mass: float, price: float, children: np.ndarray) -> float:
        """F(mass, price, ψ₁ … ψ_t) ≥ 0, monotone in every entry of ``children`` (float64[t], t ≥ 1, in any order)."""


class ComplexityForm(Protocol):
    """Optional: a closed form; solvers are fastest then, and know bounds."""

    def form(self) -> Form:
        """The same ψ⁰ and F in closed form."""


def form_of(complexity: Any) -> Form | None:
    """The closed form of a complexity that has one."""
    return complexity.form() if hasattr(complexity, "form") else None


def value_of(complexity: Any, tree: Tree) -> float:
    """The value of a complexity component on a tree over its training objects: ψ by induction, from the leaves up.

    Divided by the total weight where the component says ``per_object``.
    """
    value = np.zeros(tree.n_nodes)
    mass = tree.mass
    for node in range(tree.n_nodes - 1, -1, -1):  # preorder: children come after their parent
        children = tree.children(node)
        present = children[children >= 0]
        if len(present) == 0:
            value[node] = complexity.leaf()
        else:
            value[node] = complexity.node(float(mass[node]), float(tree.price[node]), value[present])
    return float(value[0] / mass[0]) if getattr(complexity, "per_object", False) else float(value[0])


class Shape(enum.Enum):
    """What an objective is made of: bounds and recursions hold for a shape, and a solver says which it minimises."""

    additive = "additive"
    """A cost per leaf, of its class weights, plus a cost per node."""
    complexity = "complexity"
    """The run's complexity, monotone in what the branches cost, over trees that obey the leaf rule; ∞ for the others."""
    confusion = "confusion"
    """A monotone function of false positives and false negatives, plus a cost per node."""
    ranking = "ranking"
    """A value of the leaves ranked by their share of a class, plus a cost per node."""


class Objective(Component, Protocol):
    """A value of a tree that a solver minimises and verification recomputes.

    shape : (optional) a :class:`Shape` or its name; a solver that states ``minimises``, a tuple of them, refuses all others.
    """

    def value(self, tree: Tree, problem: Problem) -> float:
        """The objective's value over the problem's objects; lower is better, ∞ = the tree is not allowed."""


def shape_of(objective: Any) -> Shape | None:
    """What an objective says of itself; raises ValueError for a shape that does not exist."""
    declared = getattr(objective, "shape", None)
    return None if declared is None else Shape(declared)


class Solver(Component, Protocol):
    """An exact search.  Within the budget it proves; beyond it, it returns its best tree and the proven bound.

    minimises : (optional) the shapes (:class:`Shape`) of objectives that it knows; a run with
        another one is refused.
    """

    def solve(self, problem: Problem, context: Context) -> Solution:
        """Minimise ``problem.parts.objective`` (or ``complexity``).  Called once per run, inside the fit clock.

        Never a silent wrong answer: ``status`` says what is proven, ``lower_bound`` holds for every feasible tree (same unit
        as ``value``; finite, such as 0 where nothing costs less), and ``value`` is that of the tree returned: verification
        recomputes it.  Arrays of the problem stay as they are: who changes them works on a copy, or the run fails.  Looks at ``context.deadline``
        and ``context.memory_bytes`` as it goes.  Raises BudgetError when a budget runs out before there is any tree.
        """


class SolverWarmUp(Protocol):
    """Optional: compilation and loading of kernels, kept out of the budget."""

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Make ready what ``solve`` or ``minima`` on this problem will call, in a second or two.

        Called by ``method=exact``, and before a certificate, while no clock runs; ``context`` is of a budget that starts anew
        afterwards.  Raises what they raise.
        """


class SolverCertifies(Protocol):
    """Optional: proven minima beside which the trees of other methods are put (``certify=true``).

    limits : (may be left out) names of the limits that ``minima`` obeys, of ``max_depth``, ``max_leaves`` and ``min_leaf``; a run
        with another one has no certificate.  The minimum then is over trees within the limits, in which a node that the leaf
        rule would divide may be a leaf where the limits leave it no test: at the greatest depth, where dividing it would make
        too many leaves, where every test leaves some branch fewer than ``min_leaf`` rows.
    """

    def minima(self, problem: Problem, complexities: Sequence[Any], context: Context) -> Sequence[Solution]:
        """The minimum of each complexity over all trees on the same objects and tests with the same leaf rule.

        One solution per complexity, in units of its reported value; within the budget a proven optimum, beyond it a proven
        lower bound (``tree`` may be None).  Raises CapabilityError, with the reason, where that minimum is not defined.
        """
