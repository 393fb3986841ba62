"""Arboretum: a laboratory for decision-tree construction.

Every tree comes with what it costs, how far it can be from the optimum, and a check of both.

``import arboretum`` is light: it loads neither Hydra, numba, mlflow nor scikit-learn.  The public
names below are loaded on first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arboretum.config.entry import load, run
    from arboretum.errors import ArboretumError
    from arboretum.model.record import Record, Solution
    from arboretum.model.tree import Tree
    from arboretum.sklearn import TreeClassifier, TreeRegressor

__version__ = "0.2.0"

_PUBLIC = {
    "ArboretumError": "arboretum.errors",
    "Tree": "arboretum.model.tree",
    **dict.fromkeys(("Record", "Solution"), "arboretum.model.record"),
    **dict.fromkeys(("TreeClassifier", "TreeRegressor"), "arboretum.sklearn"),
    **dict.fromkeys(("load", "run"), "arboretum.config.entry"),
    "exported": "arboretum.plugin.assemble",
}

_FORMS = {
    "front_files": "arboretum.report.front",
    "rest_of_rows": "arboretum.kernels.walking",
    "tree_text": "arboretum.report.text",
    "tree_scene": "arboretum.report.picture",
}
"""What ``Tree.to_text``, ``Tree.places`` and their siblings ask for.  The package lies above all
rooms, so the model needs to know none of them.
"""

__all__ = sorted((*_PUBLIC, "__version__"))


def __getattr__(name: str) -> Any:
    if module := _PUBLIC.get(name) or _FORMS.get(name):
        return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module 'arboretum' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
