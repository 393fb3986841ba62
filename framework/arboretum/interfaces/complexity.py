"""Contract: what does a whole tree cost?"""

from typing import Protocol, TypeVar

import attrs
import numpy as np

from arboretum.interfaces.component import Component
from arboretum.model.tree import Tree

Amount = TypeVar("Amount", float, np.ndarray)


@attrs.frozen
class Form:
    """A closed form of (ψ⁰, F) that compiled solvers know.

    F = (per_node + per_mass · mass) · (price if ``priced``, else 1) + Σ ψ_i, or + max ψ_i where
    ``combine`` is "max". All numbers are ≥ 0, so F is monotone.

    leaf : ψ⁰.
    """

    combine: str = attrs.field(default="sum", validator=attrs.validators.in_(("sum", "max")))
    leaf: float = attrs.field(default=0.0, validator=attrs.validators.ge(0.0))
    per_node: float = attrs.field(default=0.0, validator=attrs.validators.ge(0.0))
    per_mass: float = attrs.field(default=0.0, validator=attrs.validators.ge(0.0))
    priced: bool = False

    def own(self, mass: Amount, price: float) -> Amount:
        """Return what an inner node, or each of many, adds to its branches."""
        return (self.per_node + self.per_mass * mass) * (price if self.priced else 1.0)

    def node(self, mass: float, price: float, children: np.ndarray) -> float:
        """F."""
        return self.own(mass, price) + float(
            np.sum(children) if self.combine == "sum" else np.max(children)
        )


class Complexity(Component, Protocol):
    """A cost ψ of a tree by induction (Alkhalid, Chikalov & Moshkov, section 2).

    A leaf costs ψ⁰; an inner node whose objects weigh ``mass`` and whose test costs ``price`` costs
    F(mass, price, ψ₁ … ψ_t), ψ_i being what its branches cost.  F must be monotone in every ψ_i:
    that is what makes dynamic programming exact.

    per_object : the reported value is ψ of the root divided by the total weight (average depth,
        expected cost); may be left out, False then.

    ``node`` may be a static method marked by :func:`arboretum.kernels.complexity_kernel`: solvers
    then call it compiled.
    """

    def leaf(self) -> float:
        """Return ψ⁰ ≥ 0, what a leaf costs."""

    def node(self, mass: float, price: float, children: np.ndarray) -> float:
        """Return F(mass, price, ψ₁ … ψ_t) ≥ 0, monotone in every entry of ``children`` (float64[t],
        t ≥ 1, in any order).
        """


class ComplexityForm(Protocol):
    """Optional: a closed form; solvers are fastest then, and know bounds."""

    def form(self) -> Form:
        """Return the same ψ⁰ and F in closed form."""


def form_of(complexity: Complexity) -> Form | None:
    """Return the closed form of a complexity that has one."""
    form: Form | None = complexity.form() if hasattr(complexity, "form") else None
    return form


def value_of(complexity: Complexity, tree: Tree) -> float:
    """Return the value of a complexity component on a tree over its training objects: ψ by
    induction, from the leaves up.

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
            # rows that stop are a leaf
            below = [*value[present], complexity.leaf()] if tree.is_end[node] else value[present]
            value[node] = complexity.node(
                float(mass[node]), float(tree.price[node]), np.asarray(below)
            )
    return (
        float(value[0] / mass[0]) if getattr(complexity, "per_object", False) else float(value[0])
    )
