"""A tree as a model that ``mlflow.pyfunc`` loads: what is called when it is loaded, and when it
predicts.

MLflow imports this module by its name; nothing is unpickled: the model is ``tree.json`` and the
installed package.  ``model_files`` writes such a model.
"""

from __future__ import annotations

import contextlib
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from arboretum.api import DataError, Plain, Tree, table_like

if TYPE_CHECKING:
    import pandas as pd

TREE = "tree.json"
PROBABILITIES, NODES = "proba", "node"
"""Parameters of a prediction: probabilities of all classes instead of the likeliest; the numbers of
the nodes where the rows come to rest instead of what these predict.
"""


class TreeModel:
    """A tree that predicts frames."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def predict(
        self, model_input: object, params: Plain | None = None
    ) -> np.ndarray | pd.DataFrame:
        """Predict rows: names of classes, or numbers; with ``proba`` a column of probabilities per
        class.

        model_input : a frame, an array, mappings; see :func:`arboretum.api.table_like`.
        params : ``proba``, ``node``.

        Raises DataError for rows that the tree cannot read, and for probabilities of numbers.
        """
        asked, table = dict(params or {}), table_like(self.tree, model_input)
        if asked.get(NODES):
            return self.tree.apply(table)
        if asked.get(PROBABILITIES):
            import pandas as pd

            return pd.DataFrame(self.tree.predict_proba(table), columns=list(self.tree.classes))
        found = self.tree.predict(table)
        # a server writes an array as a list, a series as mappings
        return np.array(self.tree.classes, object)[found] if self.tree.classes else found


def _load_pyfunc(path: str) -> TreeModel:
    """Return the model of a folder, or of a file; MLflow calls it.  Raises DataError."""
    file = Path(path) / TREE if Path(path).is_dir() else Path(path)
    return TreeModel(read_tree(file.read_text(encoding="utf-8")))


def read_tree(text: str) -> Tree:
    """Return a tree, whose tests may be those of any installed plugin.  Raises DataError."""
    try:
        return Tree.from_json(text)
    except DataError:
        for point in metadata.entry_points(group="arboretum"):
            # one that cannot be imported has no tests here, and the tree says which it lacks
            with contextlib.suppress(Exception):
                point.load()
    return Tree.from_json(text)
