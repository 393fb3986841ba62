"""Looking one test further than the parts of a test, on words of bits: which of *their* parts would have one class?

The rows of an opened subtable are numbered; every outcome of every test is the set of rows that have it (a *literal*).  What
a part C of a test costs is at least the minimum over further tests of what that test and the bounds of its parts cost, and a
part of a part is C ∩ literal: a few words, of which the first ones mostly show already that it is mixed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arboretum.kernels.bits import lowest
from arboretum.kernels.jit import jit
from arboretum.kernels.solving.rows import MULTIWAY, THRESHOLDS
from arboretum_decision_tables.kernels_part_bounds import FEW, LEAST, LIGHT, SHARE
from arboretum_decision_tables.kernels_table import Table
from arboretum_decision_tables.kernels_values import LEAF, MAX, PER_MASS, PER_NODE, PRICED

ONE, NONE = np.uint64(1), np.uint64(0)


class Literals(NamedTuple):
    """The literals of the rows of a subtable, numbered 0, 1, ….

    base : int64[F + 1], number of the first literal of each feature.   bits : uint64[literals, words].
    same : uint64[classes, words], rows of a class.   kind : int64[rows], class, −1 for an object that shares a leaf with no
    other.   heavy : float64[rows], weights.   words : how many are in use; 0 where nothing is to be looked at.
    """

    base: np.ndarray
    bits: np.ndarray
    same: np.ndarray
    kind: np.ndarray
    heavy: np.ndarray
    words: int


def new_literals(table: Table, rows: int, classes: int) -> Literals:
    """Room for so many rows: a multiway test has a literal per bin, a two-way test two."""
    tests = np.diff(np.append(table.first_test, len(table.price)))
    base = np.append(0, np.cumsum(np.where(table.family == MULTIWAY, table.n_bins, 2 * tests)))
    words = (rows + 63) // 64
    bits, same = (np.zeros((n, words), np.uint64) for n in (base[-1], classes))
    return Literals(base, bits, same, np.zeros(rows, np.int64), np.zeros(rows), 0)


@jit(inline=True)
def in_use(room, words):
    return Literals(room.base, room.bits, room.same, room.kind, room.heavy, words)


@jit(borrow=True)
def fill_bits(table, rows, low, high, room):
    """Fill the arrays of ``room`` with the literals of the rows low … high − 1; returns how many words are in use."""
    base, bits, same, kind, heavy, _ = room
    codes, family, group, weight = table.codes, table.family, table.group, table.weight
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


@jit(borrow=True)
def weight_if_light(part, literal, rows, setting):
    """Weight of the rows in both sets where the leaf rule may let them be a leaf for their weight or number, else −1."""
    share, few = setting[SHARE], setting[FEW]
    mass, n = 0.0, 0
    for q in range(rows.words):
        x = part[q] & literal[q]
        while x != NONE:
            mass += rows.heavy[(q << 6) + lowest(x)]
            n += 1
            if mass > share and n >= few:
                return -1.0
            x &= x - ONE
    return mass


@jit(inline=True, borrow=True)
def mixed_or_light(part, literal, rows, setting):
    """What ``look`` says of rows of several classes."""
    if setting[SHARE] > 0.0 or setting[FEW] > 0.0:
        mass = weight_if_light(part, literal, rows, setting)
        if mass >= 0.0:
            return 1, mass
    return 2, 0.0


@jit(inline=True, borrow=True)
def look(part, literal, rows, setting):
    """(0 for no rows, 1 for what may be a leaf, 2 for mixed; weight of the rows of a leaf)."""
    words, same, kind, heavy = rows.words, rows.same, rows.kind, rows.heavy
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
                return mixed_or_light(part, literal, rows, setting)
        elif x & ~same[of, q] != NONE:
            return mixed_or_light(part, literal, rows, setting)
    if first < 0:
        return 0, 0.0
    mass = 0.0
    for q in range(first >> 6, words):
        x = part[q] & literal[q]
        while x != NONE:
            mass += heavy[(q << 6) + lowest(x)]
            x &= x - ONE
    return 1, mass


@jit(borrow=True)
def bound_ahead(literal, mass, enough, table, form, setting, ahead):
    """A lower bound of ψ of the rows of a literal, which are mixed: the least over tests that divide them; at most about
    ``enough``, where looking stops to be of use.

    Only where no impurity makes leaves.  For sums, of the parts of a test those that may be leaves cost ψ⁰, the others at least
    one test at the least price and two leaves; so Σ mass of the mixed ones = mass − that of the others.  For maxima, a mixed
    part costs at least one test of the two lightest objects, and a leaf.
    """
    bits, base, family = ahead.bits, ahead.base, table.family
    part = bits[literal]
    least = setting[LEAST] if form[PRICED] else 1.0
    best = np.inf
    for f in range(len(family)):
        width = base[f + 1] - base[f]
        each = width if family[f] == MULTIWAY else 2
        for j in range(width // each):
            pure, mixed, of_pure = 0, 0, 0.0
            for o in range(base[f] + each * j, base[f] + each * (j + 1)):
                what, found = look(part, bits[o], ahead, setting)
                pure += what == 1
                mixed += what == 2
                of_pure += found
            if pure + mixed < 2:
                continue
            own = (form[PER_NODE] + form[PER_MASS] * mass) * (table.price[table.first_test[f] + j] if form[PRICED] else 1.0)
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
