"""Scalar kernels; compiled at first use.  The same names in ``reference.py`` are the slow, obvious
twins::

    powers (equation 9):          (Σ n_i)^l − Σ n_i^l
    hinged_pairs (equation 10):   Σ_{i<j} [[n_i − α]₊ [n_j − α]₊ − level]₊
    polynomial (equation 8):      Σ_t γ_t Π_k n_k^p_tk
    worst_case (Algorithm 1):     −R(t),  R(t) = max_i c(t) / (g(G) − g(G_i)),  g = [F − δ]₊
    eg2, idx, cs_id3:             (2^ΔI − 1) / (C + 1)^w,  ΔI / C,  ΔI² / C

Kernels of impurities with fields have one source each; the names in capitals are constants of a
kernel, made from the fields (``baked``).  All three are sums of products of whole numbers where
counts and fields are whole, none of which exceeds the result: a value below 2⁵³ is exact.

Invariants: ``weights`` is a vector of class weights for an impurity, a row of them per outcome for
a criterion; no kernel writes into it or allocates.  Of scores the greatest is best.  ``worst_case``
takes one division for all outcomes, as c / x is greatest where x is least; where some outcome does
not lower g it answers NO_PROGRESS.
"""

import hashlib
import math
from collections.abc import Callable
from functools import cache

from arboretum.kernels import baked, criterion_kernel, impurity_kernel, kernel_part
from arboretum.kernels.impurity_sums import entropy_after

TOP = 1  # a degree, that of the last coefficient
COEFFICIENTS = (2.0,)
ALPHA, LEVEL = 0.0, 0.0
GAMMA, EXPONENTS = (1.0,), ((1, 1),)
NO_PROGRESS = -1e300
"""Score of a test with an outcome that does not lower F: below that of any test without one, so
that it is chosen where there is no other; the first of them is, because equal scores go to the
lowest test.
"""
ZERO = 2.0**-50
"""A difference of products below this share of the larger one is the rounding of α: 0."""


@impurity_kernel
def powers(weights):
    """Return (Σ n_i)^l − Σ n_i^l, without subtraction: Σ_i (m_i + n_i)^l − m_i^l − n_i^l, m_i the
    mass of the classes before i,

    and each of these is m n Σ_{j=0}^{l−2} C(l, j+1) m^j n^(l−2−j), by Horner's rule in m; TOP = l −
    2, COEFFICIENTS C(l, 1 … l−1), constants of the kernel.

    weights : float64[classes], n.
    """
    before = 0.0
    total = 0.0
    for w in weights:
        if w > 0.0:
            found = COEFFICIENTS[TOP]
            power = 1.0
            for j in range(TOP - 1, -1, -1):
                power *= w
                found = found * before + COEFFICIENTS[j] * power
            total += before * w * found
            before += w
    return total


@impurity_kernel
def hinged_pairs(weights):
    """Return Σ_{i<j} [[n_i − α]₊ [n_j − α]₊ − level]₊, level α² or 0; with α² the product is n_i
    n_j − α (n_i + n_j).

    weights : float64[classes], n.   ALPHA, LEVEL are constants of the kernel.
    """
    total = 0.0
    for i in range(weights.shape[0]):
        a = weights[i]
        if a > ALPHA:
            for j in range(i):
                b = weights[j]
                if b > ALPHA:
                    found = a * b - ALPHA * (a + b) if LEVEL > 0.0 else (a - ALPHA) * (b - ALPHA)
                    if found > ZERO * a * b:
                        total += found
    return total


@impurity_kernel
def polynomial(weights):
    """Return Σ_t γ_t Π_k n_k^p_tk; a class beyond the exponents counts in no term.

    weights : float64[classes], n.   GAMMA, EXPONENTS are constants of the kernel.
    """
    total = 0.0
    for t in range(len(GAMMA)):
        found = GAMMA[t]
        for k in range(len(EXPONENTS[t])):
            w = weights[k] if k < weights.shape[0] else 0.0
            for _ in range(EXPONENTS[t][k]):
                found *= w
        total += found
    return total


@cache
def powers_of(l: int) -> Callable:
    """Return the kernel for an exponent."""
    coefficients = tuple(float(math.comb(l, j)) for j in range(1, l))
    return baked(powers, f"powers_{l}", TOP=l - 2, COEFFICIENTS=coefficients)


@cache
def hinged_pairs_of(alpha: float, subtract_square: bool) -> Callable:
    """Return the kernel for a hinge."""
    name = f"hinged_pairs_{_tag(alpha)}_{int(subtract_square)}"
    return baked(hinged_pairs, name, ALPHA=alpha, LEVEL=alpha * alpha if subtract_square else 0.0)


@cache
def polynomial_of(gamma: tuple[float, ...], exponents: tuple[tuple[int, ...], ...]) -> Callable:
    """Return the kernel for coefficients and exponents."""
    return baked(
        polynomial, f"polynomial_{_tag(gamma, exponents)}", GAMMA=gamma, EXPONENTS=exponents
    )


def _tag(*values: object) -> str:
    """Return what tells copies apart in numba's disk cache."""
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]


@criterion_kernel
def worst_case(weights, counts, price, extra, node):
    """Return −max_i c / (g(G) − g(G_i)), g = [F − δ]₊ with δ in ``node.params[0]``; an outcome that
    nobody has lowers g to 0, hence is no maximum.

    weights : float64[outcomes, classes]; price : c.

    NaN where F has no kernel, NO_PROGRESS where an outcome does not lower g.
    """
    whole = max(node.impurity - node.params[0], 0.0)
    least = whole
    for o in range(weights.shape[0]):
        inside = node.impurity_of(weights[o])
        if inside != inside:
            return inside
        least = min(least, whole - max(inside - node.params[0], 0.0))
    return -price / least if least > 0.0 else NO_PROGRESS


@criterion_kernel
def worst_case_rt(weights, counts, price, extra, node):
    """Return what :func:`worst_case` does, with F = rt: Σ_{i<j} n_i n_j, written out."""
    whole = max(node.impurity - node.params[0], 0.0)
    least = whole
    for o in range(weights.shape[0]):
        before = 0.0
        inside = 0.0
        for k in range(weights.shape[1]):
            w = weights[o, k]
            inside += w * before
            before += w
        least = min(least, whole - max(inside - node.params[0], 0.0))
    return -price / least if least > 0.0 else NO_PROGRESS


@kernel_part
def gain_of(weights):
    """Return ΔI, bits: entropy of the outcomes together less the mean of theirs; at least 0.

    weights : float64[outcomes, classes], not all 0.
    """
    mass = 0.0
    parts = 0.0
    for k in range(weights.shape[1]):
        w = 0.0
        for o in range(weights.shape[0]):
            w += weights[o, k]
        mass += w
        if w > 0.0:
            parts += w * math.log2(w)
    return max((mass * math.log2(mass) - parts - entropy_after(weights)) / mass, 0.0)


@criterion_kernel
def eg2(weights, counts, price, extra, node):
    """Return (2^ΔI − 1) / (C + 1)^w, w in ``node.params[0]``."""
    return (2.0 ** gain_of(weights) - 1.0) / (price + 1.0) ** node.params[0]


@criterion_kernel
def idx(weights, counts, price, extra, node):
    """Return ΔI / C."""
    return gain_of(weights) / price


@criterion_kernel
def cs_id3(weights, counts, price, extra, node):
    """Return ΔI² / C."""
    gain = gain_of(weights)
    return gain * gain / price
