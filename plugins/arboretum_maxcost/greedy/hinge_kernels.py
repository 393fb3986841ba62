"""The worst-case reduction of hinged Pairs with α as a parameter: a sweep over α compiles one
kernel, not one per value::

    F(G) = Σ_{i<j} [[n_i − α]₊ [n_j − α]₊ − α²]₊  (equation 10; or without − α²)
    score(t) = −max_i c(t) / (F(G) − F(G_i)) = −c(t) / min_i (F(G) − F(G_i))

Invariants: ``weights`` has a row of class weights per outcome; F(G) is taken from their sums, not
from ``node``.  An outcome that nobody has lowers F to 0, so it is not the minimum.  −∞ says that
F(G) is 0, −1e300 that some outcome does not lower F.
"""

from arboretum.kernels import criterion_kernel, kernel_part

ROUNDING = 2.0**-50
"""A difference of products below this share of the larger one is the rounding of α: 0."""


@kernel_part
def hinged_product(a, b, alpha, squared):
    """Return [[a − α]₊ [b − α]₊ − α²]₊, or without − α² (not ``squared``), of the weights of two
    classes.
    """
    if a <= alpha or b <= alpha:
        return 0.0
    found = a * b - alpha * (a + b) if squared else (a - alpha) * (b - alpha)
    return found if found > ROUNDING * a * b else 0.0


@criterion_kernel
def worst_case_hinged(weights, counts, price, extra, node):
    """Return −max_i c / (F(G) − F(G_i)) with α in ``node.params[0]``, − α² by ``[1]``; −∞ where
    F(G) = 0 (a leaf), and next to it where some F(G_i) = F(G).

    weights : float64[outcomes, classes]; price : c.
    """
    alpha = node.params[0]
    squared = node.params[1] > 0.0
    n_outcomes, n_classes = weights.shape
    whole = 0.0
    for i in range(n_classes):
        a = 0.0
        for o in range(n_outcomes):
            a += weights[o, i]
        if a > alpha:
            for j in range(i):
                b = 0.0
                for o in range(n_outcomes):
                    b += weights[o, j]
                whole += hinged_product(a, b, alpha, squared)
    if whole <= 0.0:
        return -float("inf")
    least = whole
    for o in range(n_outcomes):
        inside = 0.0
        for i in range(n_classes):
            if weights[o, i] > alpha:
                for j in range(i):
                    inside += hinged_product(weights[o, i], weights[o, j], alpha, squared)
        least = min(least, whole - inside)
    return -price / least if least > 0.0 else -1e300
