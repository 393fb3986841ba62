"""Costs of a whole tree, each given by ψ⁰ and F (Alkhalid, Chikalov & Moshkov, section 2).

The paper prints 1 + Σ ψ_i for the number of terminal nodes; that is its number of all nodes, and its tables were made with
Σ ψ_i, as here.
"""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from arboretum.api import Form

PAPER = "Alkhalid, Chikalov & Moshkov 2011, section 2"


class ClosedForm:
    """ψ⁰ and F read off the closed form that a subclass states as ``FORM``."""

    kind: ClassVar[str] = "complexity"
    paper: ClassVar[str] = PAPER
    capabilities: ClassVar[tuple] = ()
    example: ClassVar[str] = "dataset=monk1-full method=subtable_dp"
    per_object: ClassVar[bool] = False
    FORM: ClassVar[Form]

    def form(self) -> Form:
        return self.FORM

    def leaf(self) -> float:
        return self.FORM.leaf

    def node(self, mass: float, price: float, children: np.ndarray) -> float:
        return self.FORM.node(mass, price, children)


@attrs.frozen
class Depth(ClosedForm):
    """Most tests on a path: ψ⁰ = 0, F = 1 + max ψ_i."""

    name: ClassVar[str] = "depth"
    FORM: ClassVar[Form] = Form(combine="max", per_node=1.0)


@attrs.frozen
class TotalPathLength(ClosedForm):
    """Tests asked of all objects together, by weight: ψ⁰ = 0, F = mass + Σ ψ_i."""

    name: ClassVar[str] = "total_path_length"
    FORM: ClassVar[Form] = Form(per_mass=1.0)


@attrs.frozen
class AverageDepth(ClosedForm):
    """Tests asked per object, by weight: the total path length divided by the weight of all objects."""

    name: ClassVar[str] = "average_depth"
    per_object: ClassVar[bool] = True
    FORM: ClassVar[Form] = Form(per_mass=1.0)


@attrs.frozen
class Nodes(ClosedForm):
    """Number of nodes: ψ⁰ = 1, F = 1 + Σ ψ_i."""

    name: ClassVar[str] = "n_nodes"
    FORM: ClassVar[Form] = Form(leaf=1.0, per_node=1.0)


@attrs.frozen
class Leaves(ClosedForm):
    """Number of terminal nodes: ψ⁰ = 1, F = Σ ψ_i."""

    name: ClassVar[str] = "n_leaves"
    FORM: ClassVar[Form] = Form(leaf=1.0)


@attrs.frozen
class InnerNodes(ClosedForm):
    """Number of nonterminal nodes: ψ⁰ = 0, F = 1 + Σ ψ_i."""

    name: ClassVar[str] = "n_internal"
    FORM: ClassVar[Form] = Form(per_node=1.0)


@attrs.frozen
class ExpectedCost(ClosedForm):
    """Price paid per object, by weight: ψ⁰ = 0, F = price · mass + Σ ψ_i, divided by the weight of all objects."""

    name: ClassVar[str] = "expected_cost"
    paper: ClassVar[str] = ""
    per_object: ClassVar[bool] = True
    FORM: ClassVar[Form] = Form(per_mass=1.0, priced=True)


@attrs.frozen
class MaxCost(ClosedForm):
    """Largest price of a path: ψ⁰ = 0, F = price + max ψ_i."""

    name: ClassVar[str] = "max_cost"
    paper: ClassVar[str] = ""
    FORM: ClassVar[Form] = Form(combine="max", per_node=1.0, priced=True)


COMPLEXITIES = (Depth, TotalPathLength, AverageDepth, Nodes, Leaves, InnerNodes, ExpectedCost, MaxCost)
