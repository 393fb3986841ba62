"""What the exact solver minimises: a cost of a whole tree, over the trees that the leaf rule
allows.

Each cost is given by ψ⁰ and F (Alkhalid, Chikalov & Moshkov, section 2).  The paper prints 1 + Σ
ψ_i for the number of terminal nodes; that is its number of all nodes, and its tables were made with
Σ ψ_i, as here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import attrs
import numpy as np

from arboretum.api import (
    CapabilityError,
    Facts,
    Form,
    Problem,
    Tree,
    value_of,
)

if TYPE_CHECKING:
    from arboretum.interfaces.complexity import Complexity


PAPER = "Alkhalid, Chikalov & Moshkov 2011, section 2"


class ClosedForm:
    """ψ⁰ and F read off the closed form that a subclass states as ``FORM``."""

    kind = "complexity"
    paper = PAPER
    capabilities = ()
    example = "dataset=monk1-full method=subtable_dp"
    per_object = False
    name: ClassVar[str]
    FORM: ClassVar[Form]

    def form(self) -> Form:
        """Return ψ⁰ and F in closed form."""
        return self.FORM

    def leaf(self) -> float:
        """Return ψ⁰, what a leaf costs."""
        return self.FORM.leaf

    def node(self, mass: float, price: float, children: np.ndarray) -> float:
        """Return F(mass, price, ψ₁ … ψ_t), what an inner node and all below it cost.

        children : float64[t], ψ_i of its branches.
        """
        return self.FORM.node(mass, price, children)


def _of_form(
    title: str, name: str, form: Form, doc: str, *, paper: str = PAPER, per_object: bool = False
) -> type[Complexity]:
    """Make the component of a complexity in closed form.

    title : of the class; name : under which it is registered; doc : its docstring.
    per_object : see the class.
    """
    body = {"name": name, "FORM": form, "__doc__": doc, "paper": paper, "per_object": per_object}
    return attrs.make_class(title, [], bases=(ClosedForm,), class_body=body, frozen=True)


DEEPEST: Facts = {"combine": "max", "per_node": 1.0}
Depth = _of_form(
    "Depth", "depth", Form(**DEEPEST), "Most tests on a path: ψ⁰ = 0, F = 1 + max ψ_i."
)
TotalPathLength = _of_form(
    "TotalPathLength",
    "total_path_length",
    Form(per_mass=1.0),
    "Tests asked of all objects together, by weight: ψ⁰ = 0, F = mass + Σ ψ_i.",
)
AverageDepth = _of_form(
    "AverageDepth",
    "average_depth",
    Form(per_mass=1.0),
    "Tests asked per object, by weight: the total path length divided by the weight of all "
    "objects.",
    per_object=True,
)
Nodes = _of_form(
    "Nodes", "n_nodes", Form(leaf=1.0, per_node=1.0), "Number of nodes: ψ⁰ = 1, F = 1 + Σ ψ_i."
)
Leaves = _of_form(
    "Leaves", "n_leaves", Form(leaf=1.0), "Number of terminal nodes: ψ⁰ = 1, F = Σ ψ_i."
)
InnerNodes = _of_form(
    "InnerNodes",
    "n_internal",
    Form(per_node=1.0),
    "Number of nonterminal nodes: ψ⁰ = 0, F = 1 + Σ ψ_i.",
)
ExpectedCost = _of_form(
    "ExpectedCost",
    "expected_cost",
    Form(per_mass=1.0, priced=True),
    "Price paid per object, by weight: ψ⁰ = 0, F = price · mass + Σ ψ_i, divided by the "
    "weight of all objects.",
    paper="",
    per_object=True,
)
MaxCost = _of_form(
    "MaxCost",
    "max_cost",
    Form(**DEEPEST, priced=True),
    "Largest price of a path: ψ⁰ = 0, F = price + max ψ_i.",
    paper="",
)
COMPLEXITIES = (
    Depth,
    TotalPathLength,
    AverageDepth,
    Nodes,
    Leaves,
    InnerNodes,
    ExpectedCost,
    MaxCost,
)


@attrs.frozen
class ZeroError:
    """The run's complexity, over trees that go on dividing until the leaf rule lets them stop
    (no error, with stopping=pure).
    """

    kind = "objective"
    name = "zero_error"
    paper = PAPER
    capabilities = ("classification", "multiclass", "weights", "prices")
    needs = ("complexity",)
    shape = "complexity"
    example = "dataset=monk1-full method=subtable_dp"

    def value(self, tree: Tree, problem: Problem) -> float:
        """Return ψ of the tree; ∞ if it has a leaf that the rule forbids although some test still
        divides its objects.

        Raises CapabilityError when the run has no complexity, or limits that are no leaf rule.
        """
        complexity = problem.parts.complexity
        if complexity is None:
            raise CapabilityError(
                "objective zero_error needs a complexity; add complexity=NAME (arboretum "
                "plugins lists them)"
            )
        return value_of(complexity, tree) if stops_lawfully(tree, problem) else math.inf


def stops_lawfully(tree: Tree, problem: Problem) -> bool:
    """Return whether every leaf has one class, or is one by the leaf rule, or holds objects that no
    test tells apart.
    """
    rule, objects = problem.parts.leaf_rule(counting_objects=True), problem.objects
    impurity = problem.parts.impurity
    mixed = tree.is_leaf & ((tree.weights > 0).sum(axis=1) > 1)
    if not mixed.any():
        return True
    mass, rests = tree.mass, np.full(objects.n_objects, -1, np.int64)
    rests[objects.object_of_row] = tree.rest(objects.table)
    for node in np.flatnonzero(mixed):
        of_node = float(impurity.value(tree.weights[node])) if impurity is not None else math.nan
        if rule.holds(
            float(mass[node]),
            float(mass[0]),
            int(tree.counts[node]),
            of_node,
            int((rests == node).sum()),
        ):
            continue
        codes = objects.codes[rests == node]
        if (codes != codes[:1]).any():
            return False
    return True
