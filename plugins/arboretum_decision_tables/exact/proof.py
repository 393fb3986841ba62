"""The log of a solved graph of subtables: each subtable after those that it leads to, with its
minimum as its bound.
"""

from fractions import Fraction

import numpy as np

from arboretum.api import Problem, Tree
from arboretum_decision_tables.exact.graph import Graph
from arboretum_decision_tables.exact.trees import split_by_test
from arboretum_decision_tables.exact.values import Cost, bundles_of, values_of_nodes

Path = tuple[tuple[int, int], ...]


def write_proof(
    file: str, problem: Problem, graph: Graph, cost: Cost, tree: Tree, seed: int
) -> None:
    """Write the proof that no tree is below ``tree``, which is optimal: a record of every subtable
    with its minimum.  Raises StoreError where the file cannot be written.

    graph : all of Δ(T).
    """
    from arboretum.api import ProofWriter

    with ProofWriter(
        file, problem, tests=range(problem.objects.n_tests), unit=Fraction(1), seed=seed
    ) as log:
        least = values_of_nodes(graph, cost).tolist() or [float(cost.complexity.leaf())]
        paths = paths_of(graph)
        for node in graph.order.tolist() or [0]:  # no node: the whole table is a leaf
            log.record(paths[node], least[node])
        log.close(least[0], least[0], tree)


def paths_of(graph: Graph) -> list[Path]:
    """Return for every node the literals (test, outcome) of one path that leads to it.

    Every node is reached from a larger one, so a path is found before its node is looked at.
    """
    space = graph.space
    found: list[Path] = [()] * max(1, graph.n_nodes)
    waiting: dict[int, tuple[Path, np.ndarray]] = {0: ((), np.arange(space.n_objects))}
    for node in graph.order[::-1].tolist():  # every node before those that it leads to
        path, rows = waiting.pop(node)
        found[node] = path
        for at, _, below in bundles_of(graph, node):
            if all(child in waiting for child in below):
                continue
            test = int(graph.stream[at])
            for outcome, part in split_by_test(space, rows, test):
                child = graph.node_of(part)
                if child >= 0 and child not in waiting:
                    waiting[child] = ((*path, (test, outcome)), part)
    return found
