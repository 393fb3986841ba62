"""Sums of prices and weights as they are written in decimals (0.1 is a tenth): equal sums are
equal, and no rounding ranks trees.
"""

import math
from fractions import Fraction

import numpy as np

from arboretum.api import Encoded, Tree


def as_written_fraction(number: float) -> Fraction:
    """Return the number that the shortest decimal says, which the float is nearest to, exactly."""
    return Fraction(repr(float(number)))


def path_costs_to_nodes(tree: Tree, asked: bool = True) -> list[Fraction]:
    """Return, for each node, what a row pays that comes to rest there.

    asked : at an inner node that test, too.
    """
    known = {
        price: as_written_fraction(price)
        for price in {*tree.edge_price.tolist(), *tree.price.tolist()}
    }
    edge, paid = tree.edge_price.tolist(), [Fraction(0)] * tree.n_nodes
    for node, (above, to) in enumerate(
        zip(tree.parent[1:].tolist(), tree.edge_to[1:].tolist(), strict=True), start=1
    ):
        paid[node] = paid[above] + known[edge[to]]  # a parent comes before its children
    return (
        [before + known[own] for before, own in zip(paid, tree.price.tolist(), strict=True)]
        if asked
        else paid
    )


def error_and_costs_of(tree: Tree, objects: Encoded) -> tuple[Fraction, Fraction, Fraction]:
    """Return (training error, max cost, expected cost) of a tree on objects, exactly up to the
    shares of rows that are split.
    """
    known = {weight: as_written_fraction(weight) for weight in set(objects.weight.tolist())}
    unit = math.lcm(*(weight.denominator for weight in known.values()))
    mass = [int(known[weight] * unit) for weight in objects.weight.tolist()]
    node, who, share = tree.places(objects.table.take(objects.row_of_object)).all()
    held: dict[tuple[int, int], Fraction | int] = {}
    for v, i, label, part in zip(
        node.tolist(), who.tolist(), objects.label[who].tolist(), share.tolist(), strict=True
    ):
        held[v, label] = held.get((v, label), 0) + (
            mass[i] if part == 1.0 else Fraction(part) * mass[i]
        )
    paid, total = path_costs_to_nodes(tree), sum(mass)
    wrong = sum(weight for (v, label), weight in held.items() if label != tree.label[v])
    return (
        Fraction(wrong) / total,
        max(paid[v] for v, _ in held),
        sum(weight * paid[v] for (v, _), weight in held.items()) / Fraction(total),
    )


def as_floats(paid: list[Fraction]) -> np.ndarray:
    """Return float64[·], each fraction rounded once: what is equal stays so, and nothing gets above
    what is greater.
    """
    return np.array([float(one) for one in paid])
