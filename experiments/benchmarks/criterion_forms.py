"""What the form of a criterion costs: NumPy batch and plugin kernel against the built-in kernel.

    python experiments/benchmarks/criterion_forms.py

Goals, over a depth-6 fit of 100,000 × 50 × 64 bins with 3 classes: NumPy at most 2 ×, a plugin's
kernel at most 1.1 × the built-in; on exact scans of raw columns a plugin's kernel at most 2 × the
built-in scan.
"""

from __future__ import annotations

import attrs
import numpy as np
from greedy_tables import coded_problem, codes, interleaved, one_thread, raw_problem, two_ands

from arboretum.kernels import criterion_kernel
from arboretum_classic.criteria.criteria import Reduction


@attrs.frozen
class GiniInNumpy:
    """What an author without numba writes."""

    def score(self, tables, node):
        mass = tables.weights.sum(axis=2)
        squares = (tables.weights**2).sum(axis=2)
        after = (mass - squares / np.maximum(mass, 1e-300)).sum(axis=1)
        return (node.mass * node.impurity - after) / node.total_mass


@attrs.frozen
class GiniKernel:
    """What an author with numba writes."""

    @staticmethod
    @criterion_kernel
    def score(weights, counts, price, extra, node):
        after = 0.0
        for o in range(weights.shape[0]):
            mass, squares = 0.0, 0.0
            for k in range(weights.shape[1]):
                mass += weights[o, k]
                squares += weights[o, k] ** 2
            if mass > 0.0:
                after += mass - squares / mass
        return (node.mass * node.impurity - after) / node.total_mass


@attrs.frozen
class GiniKernelWithVertices(GiniKernel):
    """The same, declaring that vertices bound it."""

    def bounded_by_vertices(self, impurity) -> bool:
        return True


class ReductionWithoutBounds(Reduction):
    """The built-in criterion, made to scan every cut."""

    def bounded_by_vertices(self, impurity) -> bool:
        return False


def main() -> None:
    one_thread()
    from arboretum.api import Context, grow
    from arboretum.engine.search.warmup import warm_up
    from arboretum_classic.criteria.impurities import Gini

    def run(problems, repeats):
        for problem in problems.values():
            warm_up(problem)
        nodes = {name: grow(problem, Context()).tree.n_nodes for name, problem in problems.items()}
        assert len(set(nodes.values())) == 1, f"the forms grow different trees: {nodes}"
        runs = {
            name: lambda problem=problem: grow(problem, Context())
            for name, problem in problems.items()
        }
        return interleaved(runs, repeats)

    x, y = codes(100_000, 50, 64, 3)
    forms = {"built-in": Reduction(), "plugin kernel": GiniKernel(), "NumPy batch": GiniInNumpy()}
    found = run({name: coded_problem(x, y, 64, form, Gini(), 6) for name, form in forms.items()}, 9)
    for name, limit in (("plugin kernel", 1.1), ("NumPy batch", 2.0)):
        print(
            f"histograms: {name} {found[name]:.4f} s, built-in {found['built-in']:.4f} s, "
            f"ratio {found[name] / found['built-in']:.2f} (goal <= {limit})"
        )

    raw = np.asfortranarray(np.random.default_rng(1).random((100_000, 20), dtype=np.float32))
    forms = {"built-in": Reduction(), "plugin kernel": GiniKernelWithVertices()}
    found = run({name: raw_problem(raw, y, form, Gini(), 6) for name, form in forms.items()}, 5)
    print(
        f"exact, bounded: plugin kernel {found['plugin kernel']:.4f} s, built-in "
        f"{found['built-in']:.4f} s, "
        f"ratio {found['plugin kernel'] / found['built-in']:.2f} (goal <= 2)"
    )
    quick = found["built-in"]
    forms = {"built-in": ReductionWithoutBounds(), "plugin kernel": GiniKernel()}
    found = run({name: raw_problem(raw, y, form, Gini(), 6) for name, form in forms.items()}, 5)
    print(
        f"exact, every cut scanned: plugin kernel {found['plugin kernel']:.4f} s, built-in "
        f"{found['built-in']:.4f} s, "
        f"ratio {found['plugin kernel'] / found['built-in']:.2f} (goal <= 2)"
    )
    print(
        f"exact: a plugin that declares no bound {found['plugin kernel']:.4f} s, bounded "
        f"built-in {quick:.4f} s, "
        f"ratio {found['plugin kernel'] / quick:.2f} (goal <= 2)"
    )
    x, y = two_ands(100_000, 20)
    forms = {"built-in": Reduction(), "plugin kernel": GiniKernel()}
    found = run({name: raw_problem(x, y, form, Gini(), 6) for name, form in forms.items()}, 5)
    print(
        "exact, the table of exact_cart.py: a plugin that declares no bound "
        f"{found['plugin kernel']:.4f} s, "
        f"bounded built-in {found['built-in']:.4f} s, ratio "
        f"{found['plugin kernel'] / found['built-in']:.2f}"
    )


if __name__ == "__main__":
    main()
