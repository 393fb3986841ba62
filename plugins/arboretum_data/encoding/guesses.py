"""Guessed thresholds: where a boosted ensemble of stumps cuts (McTavish et al. 2022, "Fast
sparse decision tree optimization via reference ensembles").
"""

import numpy as np

from arboretum.api import Table
from arboretum_data.encoding.cuts import midpoints


def guessed_edges(table: Table, stumps: int) -> dict[int, np.ndarray]:
    """Return ascending edges by position of each continuous column, none where no stump cuts it.

    stumps : trees of one test in the ensemble.

    Gradient boosting of scikit-learn with learning rate 0.1 sees all columns, categories as
    numbers; a missing value is the column's median. The ensemble compares in single precision: each
    of its thresholds becomes the midpoint of the two values of the column that it divides.
    """
    from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

    of_classes = table.is_classification
    seen, edges = np.zeros((table.n_rows, len(table.columns)), np.float32), {}
    for position, column in enumerate(table.columns):
        values = column.values.astype(float)
        known = values[~column.missing]
        seen[:, position] = _single(
            np.where(column.missing, np.median(known) if len(known) else 0.0, values)
        )
    target = table.target.codes if of_classes else table.target.values
    asked = np.empty((0, 2))
    if len(np.unique(target)) > 1:
        kind = GradientBoostingClassifier if of_classes else GradientBoostingRegressor
        model = kind(n_estimators=stumps, max_depth=1, learning_rate=0.1, random_state=0).fit(
            seen, target, table.row_weights()
        )
        trees = [one.tree_ for one in model.estimators_.ravel()]
        asked = np.array(
            [(tree.feature[0], tree.threshold[0]) for tree in trees if tree.feature[0] >= 0]
        ).reshape(-1, 2)
    for position, column in enumerate(table.columns):
        if column.is_continuous:
            distinct = np.unique(column.values[~column.missing])
            place = np.unique(
                np.searchsorted(_single(distinct), asked[asked[:, 0] == position, 1], side="right")
            )
            place = place[(place > 0) & (place < len(distinct))]
            edges[position] = midpoints(distinct[place - 1], distinct[place])
    return edges


def _single(values: np.ndarray) -> np.ndarray:
    """float32, the nearest finite one."""
    most = np.finfo(np.float32).max
    return np.asarray(np.clip(values, -most, most).astype(np.float32))
