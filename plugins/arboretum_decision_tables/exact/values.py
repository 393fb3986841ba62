"""Values of complexities on Δ(T), and the bundles that optimal trees use."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

import attrs
import numpy as np

from arboretum.api import CapabilityError, Form, Monotony, Problem, form_of
from arboretum.kernels import mark_of
from arboretum_decision_tables.exact.graph import Graph
from arboretum_decision_tables.exact.space import Space

if TYPE_CHECKING:
    from arboretum.interfaces.complexity import Complexity
    from arboretum_decision_tables.exact.parts import ClosedForm


@attrs.frozen(eq=False)
class Cost:
    """A complexity as the passes over the graph see it: a closed form, a compiled F, or plain
    Python.

    tried : how far it was tried that F is monotone.
    """

    complexity: Complexity
    form: Form | None
    compiled: bool
    tried: Monotony

    @staticmethod
    def of(complexity: Complexity, problem: Problem | None = None) -> Cost:
        """Return a complexity as the passes see it.  Raises CapabilityError, with the
        counterexample, for one that is not monotone, and for a ψ⁰ below 0.

        problem : at whose masses and prices F is tried; None: it is not.
        """
        tried = (
            Monotony(complexity)
            if problem is None
            else Monotony.on(complexity, problem.objects, problem.prices)
        )
        return Cost(
            complexity, form_of(complexity), mark_of(complexity.node) == "complexity", tried
        )

    @property
    def strict(self) -> bool:
        """F rises with every branch, so that every subtree of an optimal tree is optimal."""
        return self.form is not None and self.form.combine == "sum"

    @property
    def in_python(self) -> bool:
        """Whether F has neither a closed form nor a kernel, so that plain Python evaluates it."""
        return self.form is None and not self.compiled

    def closed_form(self) -> ClosedForm:
        """Return the form as kernels read it, a ``parts.ClosedForm``; ψ⁰ alone for a compiled F."""
        from arboretum_decision_tables.exact.parts import closed_form_of

        return closed_form_of(self.form or Form(leaf=self.complexity.leaf()))

    def kernel_address(self) -> int:
        """Return the address of the compiled F; 0 for a closed form."""
        if self.form is not None:
            return 0
        from arboretum.kernels.function_pointers import address_of

        found: int = address_of(self.complexity.node, "complexity")
        return found

    def divisor_of_report(self, space: Space) -> float:
        """Return what ψ is divided by to be reported: the total mass for a mean over objects, else
        1.
        """
        return space.total_mass if getattr(self.complexity, "per_object", False) else 1.0


def values_of_nodes(graph: Graph, cost: Cost, *, bound: bool = False) -> np.ndarray:
    """Return ψ of the best tree of every node, float64[n].

    bound : of a graph that is not finished return a lower bound of ψ; else ∞ for a node below which
        no tree is known.
    Raises CapabilityError when F returns NaN.
    """
    from arboretum_decision_tables.exact import value_kernels as kernels

    space = graph.space
    out = _bounds_of_unexpanded(graph, cost) if bound else np.full(graph.n_nodes, math.inf)
    if cost.in_python:
        bad = _write_values_in_python(graph, cost, out)
    else:
        bad = kernels.values_of_nodes(
            graph.order,
            graph.start,
            graph.stream,
            graph.mass,
            space.price,
            cost.closed_form(),
            cost.kernel_address(),
            np.empty(graph.widest),
            out,
        )
    if bad >= 0:
        msg = (
            f"complexity {cost.complexity.name} returned NaN for a node of mass "
            f"{graph.mass[bad]:g}; F must be a number ≥ 0"
        )
        raise CapabilityError(msg)
    return out


def _bounds_of_unexpanded(graph: Graph, cost: Cost) -> np.ndarray:
    """Return what no tree undercuts at a node that was never expanded, float64[nodes]: a test at
    the least price with two leaves below it, as every form is monotone; ψ⁰ where objects that no
    test tells apart may make a leaf of it; 0 for F without a form (ψ ≥ 0 by contract).
    """
    form = cost.form or Form()
    if cost.form is None or graph.space.inconsistent:
        return np.full(graph.n_nodes, form.leaf)
    return form.own(graph.mass, float(graph.space.price.min(initial=0.0))) + form.leaf * (
        1.0 if form.combine == "max" else 2.0
    )


class Bundle(NamedTuple):
    """A way to divide a node, see :class:`.graph.Graph`.

    at : its place in the stream, where its test stands.
    leaves : number of branches that are leaves.
    below : nodes of the others.
    """

    at: int
    leaves: int
    below: list[int]


def bundles_of(graph: Graph, node: int) -> list[Bundle]:
    """Return the bundles of a node; none of one that was never expanded, or that nothing
    divides.
    """
    at, end = graph.start[node].tolist()
    found = []
    while at < end:
        edges = int(graph.stream[at + 2])
        found.append(
            Bundle(at, int(graph.stream[at + 1]), graph.stream[at + 3 : at + 3 + edges].tolist())
        )
        at += 3 + edges
    return found


def bundle_value_in_python(
    graph: Graph, cost: Cost, node: int, bundle: Bundle, value: np.ndarray
) -> float:
    """Return F of a node that is divided by one of its bundles.

    value : float64[n], ψ of every node.
    """
    children = np.concatenate([np.full(bundle.leaves, cost.complexity.leaf()), value[bundle.below]])
    return float(
        cost.complexity.node(
            float(graph.mass[node]), float(graph.space.price[graph.stream[bundle.at]]), children
        )
    )


def _write_values_in_python(graph: Graph, cost: Cost, out: np.ndarray) -> int:
    """Fill ``out`` with ψ of every expanded node, the least F of its bundles, smallest nodes first.

    Returns the first node for which F is NaN, −1 when there is none.

    out : float64[n], in: what is taken for nodes that were not expanded.
    """
    for node in graph.order[graph.start[graph.order, 0] >= 0].tolist():
        found = [
            bundle_value_in_python(graph, cost, node, bundle, out)
            for bundle in bundles_of(graph, node)
        ]
        if any(math.isnan(value) for value in found):
            return int(node)
        out[node] = min(found, default=cost.complexity.leaf())
    return -1


MOST_SUBTABLES, MOST_BUNDLES = 1000, 4
"""Subtables, and bundles of each, at which F is tried with the values found: some tenths of a
second.
"""


def try_monotony(graph: Graph, cost: Cost, value: np.ndarray) -> list[str]:
    """Try whether F is monotone where the search has been: at subtables, with what their branches
    cost, against dearer trees of one branch.

    Returns a note of what was tried; nothing of a closed form.  Raises CapabilityError with a
    counterexample.

    value : float64[nodes], ψ of every node.
    """
    if cost.form is not None:
        return []
    before, expanded = cost.tried.pairs, graph.order[graph.start[graph.order, 0] >= 0][::-1]
    nodes = expanded[:: -(-len(expanded) // MOST_SUBTABLES) or 1].tolist()
    for node in nodes:
        bundles = bundles_of(graph, node)
        for at, leaves, below in bundles[:: -(-len(bundles) // MOST_BUNDLES) or 1]:
            mass, price = float(graph.mass[node]), float(graph.space.price[graph.stream[at]])
            children = [cost.complexity.leaf()] * leaves + value[below].tolist()
            if not np.isfinite(children).all():
                continue  # a subtable below which no tree is known yet
            for j, child in enumerate(below, leaves):
                others = {
                    bundle_value_in_python(graph, cost, child, other, value)
                    for other in bundles_of(graph, child)[:MOST_BUNDLES]
                }
                for dearer in (*others, 2.0 * children[j] + 1.0):
                    if math.inf > dearer > children[j]:
                        cost.tried.compare(
                            mass, price, children, [*children[:j], dearer, *children[j + 1 :]]
                        )
                        cost.tried.demand()
    where = (
        f"{'all' if len(nodes) == len(expanded) else f'{len(nodes):,} of'} {len(expanded):,} "
        "subtables"
    )
    return [
        f"complexity {cost.complexity.name} has no closed form: that its F grows with the "
        "value of every branch is assumed, not "
        f"proven; {cost.tried.pairs:,} pairs of arguments were tried, "
        f"{cost.tried.pairs - before:,} of them at {where} visited"
    ]


def keep_optimal_bundles(graph: Graph, cost: Cost, value: np.ndarray) -> Graph:
    """Return the part of a finished graph that optimal trees use: below T, the bundles whose value
    is their node's.

    value : float64[n], ψ of every node for this complexity.

    It describes the trees all of whose subtrees are optimal.  Where F rises strictly with every
    branch (sums) these are all optimal trees; for maxima (depth) a tree may be optimal though a
    subtree off its longest path is not, and is left out.
    """
    from arboretum_decision_tables.exact import value_kernels as kernels

    start, stream = np.full_like(graph.start, -1), np.empty_like(graph.stream)
    if cost.in_python:
        used = _copy_optimal_bundles_in_python(graph, cost, value, start, stream)
    else:
        used = kernels.copy_optimal_bundles(
            graph.order,
            graph.start,
            graph.stream,
            graph.mass,
            graph.space.price,
            cost.closed_form(),
            cost.kernel_address(),
            np.empty(graph.widest),
            value,
            graph.space.slack,
            start,
            stream,
        )
    kept = graph.order[start[graph.order, 0] >= 0]
    return attrs.evolve(graph, start=start, stream=stream[:used].copy(), order=kept)


def _copy_optimal_bundles_in_python(
    graph: Graph, cost: Cost, value: np.ndarray, start: np.ndarray, stream: np.ndarray
) -> int:
    """Write the bundles whose value is their node's, of nodes that optimal trees reach, and return
    how much of ``stream`` is used.

    start : int64[n, 2], out: where a node's bundles begin and end; −1 where none reaches it.
    stream : int32, out: as the graph's, and as long.
    """
    reached, top = {0}, 0
    for node in graph.order[::-1].tolist():
        if node not in reached:
            continue
        start[node, 0] = top
        for bundle in bundles_of(graph, node):
            at, _, below = bundle
            if bundle_value_in_python(graph, cost, node, bundle, value) <= value[
                node
            ] + graph.space.slack * abs(value[node]):
                stream[top : top + 3 + len(below)] = graph.stream[at : at + 3 + len(below)]
                reached.update(below)
                top += 3 + len(below)
        start[node, 1] = top
    return top


def count_trees(graph: Graph) -> dict[int, int]:
    """Return the number of trees that a graph's bundles describe, for every node; exact, however
    many.

    Where only optimal bundles are kept (:func:`keep_optimal_bundles`), these are the optimal trees.
    ``graph.order`` has children before their parents; a node without bundles is a leaf, one tree.
    """
    number: dict[int, int] = {}
    for node in graph.order.tolist():
        bundles = bundles_of(graph, node)
        number[node] = (
            sum(math.prod(number[child] for child in below) for _, _, below in bundles)
            if bundles
            else 1
        )
    return number


def decimal_digits(number: int) -> str:
    """Return a natural number in decimal digits, also beyond the 4,300 that Python writes by
    itself.
    """
    return f"{Decimal(number):f}"
