"""
A decision boundary
===================

The estimators are scikit-learn's, so that its tools and matplotlib work with them. Here the regions
of a greedy tree stand beside those of the best tree of the same depth.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons
from sklearn.inspection import DecisionBoundaryDisplay

from arboretum import TreeClassifier

X, y = make_moons(120, noise=0.25, random_state=4)
figure, both = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
for axes, method in zip(both, ("cart", "exact"), strict=True):
    chosen = {"solver": "gosdt", "objective": "accuracy", "objective__lam": 0.0}
    tree = TreeClassifier(method, max_depth=3, **(chosen if method == "exact" else {})).fit(X, y)
    DecisionBoundaryDisplay.from_estimator(tree, X, ax=axes, alpha=0.4, response_method="predict")
    axes.scatter(*X.T, c=y, s=14, edgecolor="k", linewidth=0.4)
    axes.set_title(f"{method}, depth 3: {(tree.predict(X) != y).sum()} of {len(y)} rows wrong")
