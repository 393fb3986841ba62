"""Looking one test further than the parts of a test, on words of bits: which of *their* parts would have one class?

The rows of an opened subtable are numbered; every outcome of every test is the set of rows that have it (a *literal*).  What
a part C of a test costs is at least the minimum over further tests of what that test and the bounds of its parts cost, and a
part of a part is C ∩ literal: a few words, of which the first ones mostly show already that it is mixed.
"""

from __future__ import annotations

import numpy as np

from arboretum.kernels.bits import lowest
from arboretum_decision_tables.kernels_parts import FEW, LEAST, LIGHT, SHARE, jit
from arboretum_decision_tables.kernels_rows import MULTIWAY, THRESHOLDS
from arboretum_decision_tables.kernels_values import LEAF, MAX, PER_MASS, PER_NODE, PRICED

ONE, NONE = np.uint64(1), np.uint64(0)


@jit
def literals_of(family, n_bins, first_test, tests):
    """int64[F + 1]: number of the first literal of each feature: a multiway test has one per bin, a two-way test two."""
    base = np.zeros(len(family) + 1, np.int64)
    for f in range(len(family)):
        last = first_test[f + 1] if f + 1 < len(family) else tests
        base[f + 1] = base[f] + (n_bins[f] if family[f] == MULTIWAY else 2 * (last - first_test[f]))
    return base


@jit
def fill_bits(codes, family, base, rows, low, high, group, weight, bits, same, kind, heavy):
    """Literals of the rows low … high − 1.   bits : uint64[literals, words].   same : uint64[classes, words].
    kind : int64[rows], class, −1 for an object that shares a leaf with no other.   heavy : float64[rows], weights.
    """
    words = (high - low + 63) // 64
    bits[:, :words] = NONE
    same[:, :words] = NONE
    for k in range(high - low):
        r = rows[low + k]
        kind[k], heavy[k] = group[r], weight[r]
        if group[r] >= 0:
            same[group[r], k >> 6] |= ONE << np.uint64(k & 63)
    for f in range(len(family)):
        first = base[f]
        for k in range(high - low):
            c, word, bit = np.int64(codes[f, rows[low + k]]), k >> 6, ONE << np.uint64(k & 63)
            if family[f] == MULTIWAY:
                bits[first + c, word] |= bit
                continue
            for j in range((base[f + 1] - first) // 2):
                inside = c <= j if family[f] == THRESHOLDS else c == j
                bits[first + 2 * j + (0 if inside else 1), word] |= bit
    return words


@jit
def weight_if_light(part, literal, words, heavy, setting):
    """Weight of the rows in both sets where the leaf rule may let them be a leaf for their weight or number, else −1."""
    share, few = setting[SHARE], setting[FEW]
    mass, n = 0.0, 0
    for q in range(words):
        x = part[q] & literal[q]
        while x != NONE:
            mass += heavy[(q << 6) + lowest(x)]
            n += 1
            if mass > share and n >= few:
                return -1.0
            x &= x - ONE
    return mass


@jit(inline=True)
def mixed_or_light(part, literal, words, heavy, setting):
    """What ``look`` says of rows of several classes."""
    if setting[SHARE] > 0.0 or setting[FEW] > 0.0:
        mass = weight_if_light(part, literal, words, heavy, setting)
        if mass >= 0.0:
            return 1, mass
    return 2, 0.0


@jit(inline=True)
def look(part, literal, words, same, kind, heavy, setting):
    """(0 for no rows, 1 for what may be a leaf, 2 for mixed; weight of the rows of a leaf)."""
    first = -1
    for q in range(words):
        x = part[q] & literal[q]
        if x == NONE:
            continue
        if first < 0:
            first = (q << 6) + lowest(x)
        of = kind[first]
        if of < 0:
            if x != ONE << np.uint64(first & 63) or q != first >> 6:
                return mixed_or_light(part, literal, words, heavy, setting)
        elif x & ~same[of, q] != NONE:
            return mixed_or_light(part, literal, words, heavy, setting)
    if first < 0:
        return 0, 0.0
    mass = 0.0
    for q in range(first >> 6, words):
        x = part[q] & literal[q]
        while x != NONE:
            mass += heavy[(q << 6) + lowest(x)]
            x &= x - ONE
    return 1, mass


@jit
def bound_ahead(literal, mass, enough, family, base, first_test, price, form, setting, ahead):
    """A lower bound of ψ of the rows of a literal, which are mixed: the least over tests that divide them; at most about
    ``enough``, where looking stops to be of use.

    Only where no impurity makes leaves.  For sums, of the parts of a test those that may be leaves cost ψ⁰, the others at least
    one test at the least price and two leaves; so Σ mass of the mixed ones = mass − that of the others.  For maxima, a mixed
    part costs at least one test of the two lightest objects, and a leaf.
    """
    bits, same, kind, heavy, words = ahead
    part = bits[literal]
    least = setting[LEAST] if form[PRICED] else 1.0
    best = np.inf
    for f in range(len(family)):
        width = base[f + 1] - base[f]
        each = width if family[f] == MULTIWAY else 2
        for j in range(width // each):
            pure, mixed, of_pure = 0, 0, 0.0
            for o in range(base[f] + each * j, base[f] + each * (j + 1)):
                what, found = look(part, bits[o], words, same, kind, heavy, setting)
                pure += what == 1
                mixed += what == 2
                of_pure += found
            if pure + mixed < 2:
                continue
            own = (form[PER_NODE] + form[PER_MASS] * mass) * (price[first_test[f] + j] if form[PRICED] else 1.0)
            if form[MAX]:
                total = own + form[LEAF]
                if mixed > 0:
                    total += (form[PER_NODE] + form[PER_MASS] * setting[LIGHT]) * least
            else:
                rest = max(0.0, mass - of_pure) if mixed > 0 else 0.0
                total = own + form[LEAF] * (pure + 2 * mixed) + (form[PER_NODE] * mixed + form[PER_MASS] * rest) * least
            best = min(best, total)
            if best <= enough:
                return best
    return best
