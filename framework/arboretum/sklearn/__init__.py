"""The scikit-learn face: any greedy or exact method as an estimator, resolved through the registry,
without Hydra.

>>> from arboretum import TreeClassifier
>>> TreeClassifier(method="cart", max_depth=3).fit(X, y).predict(X)      # doctest: +SKIP

Numeric arrays stay what they are (float32 is not widened); a frame's text and category columns
become categorical columns, ordered categories ordinal ones, dates and times days or seconds since
1970-01-01.  Everything the laboratory knows of the tree is in ``tree_``.
"""

from arboretum.sklearn.estimators import TreeClassifier, TreeRegressor

__all__ = ["TreeClassifier", "TreeRegressor"]
