"""Which columns does a tree live on?  By impurity decrease, by what that costs, and by what is
lost when a column's values are shuffled.
"""

import attrs
import numpy as np

from arboretum.measure.evaluate import ValidationScore
from arboretum.model.plain import Facts
from arboretum.model.table import Table
from arboretum.model.tree import Tree


def importances(
    tree: Tree, rows: Table | None = None, *, repeats: int = 10, seed: int = 0, measure: str = ""
) -> list[Facts]:
    """Return a row per column that the tree reads, the greatest decrease first.

    decrease : of impurity, as share of all columns' (:meth:`Tree.impurity_decrease`).
    price : paid for its tests per training object.
    decrease_per_price : decrease of impurity ÷ price; None where nothing is paid.
    permutation, error : mean and standard error, over ``repeats`` shuffles of the column among
        ``rows``, of what the score loses; with rows only.
    measure : of :class:`ValidationScore`; as scikit-learn's estimators, accuracy or r2, unless
        given.   The seed fixes the shuffles.

    Breiman (2001), Random forests, section 10, for permutations.
    """
    gain = tree.impurity_decrease()
    paid = _prices_paid(tree)
    read = dict.fromkeys(name for rule in tree.rules for name in rule.columns)
    total = sum(gain.values()) or 1.0
    found = [
        {
            "column": name,
            "decrease": gain.get(name, 0.0) / total,
            "price": (price := paid.get(name, 0.0)),
            "decrease_per_price": gain.get(name, 0.0) / price if price > 0 else None,
        }
        for name in read
    ]
    if rows is not None:
        rng = np.random.default_rng(seed)
        score = ValidationScore(rows, measure or ("r2" if tree.is_regression else "accuracy"))
        whole = score.of(tree)
        for one in found:
            lost = np.array(
                [
                    whole
                    - attrs.evolve(score, table=_shuffle_column(rows, str(one["column"]), rng)).of(
                        tree
                    )
                    for _ in range(repeats)
                ]
            )
            error = float(lost.std(ddof=1)) / np.sqrt(repeats) if repeats > 1 else None
            one |= {"permutation": float(lost.mean()), "error": error}
    return sorted(found, key=lambda one: -one["decrease"])


def _prices_paid(tree: Tree) -> dict[str, float]:
    """Return column → price of its tests per training object, by the branches taken."""
    saved = np.where(tree.child >= 0, tree.mass[tree.child], 0.0) * (
        tree.price[tree.owner] - tree.edge_price
    )
    return tree.by_column(
        (tree.mass * tree.price - np.bincount(tree.owner, saved, tree.n_nodes)) / tree.mass[0]
    )


def _shuffle_column(rows: Table, name: str, rng: np.random.Generator) -> Table:
    """Return the rows with the values of one column in another order."""
    order = rng.permutation(rows.n_rows)
    return attrs.evolve(
        rows, columns=tuple(one.take(order) if one.name == name else one for one in rows.columns)
    )
