"""What ψ of a set of rows is at least: by its class weights, by looking one test further, and by
the sets that can be leaves at all::

    lower_bound_of_part(C):
                     max(one test and two leaves,
                         c leaves, ⌈(c − 1) / (a − 1)⌉ tests, Huffman's length of the classes;
                         for maxima a path of ⌈log_a c⌉ tests)
    bound_ahead(C):  min over tests that divide C of F(mass, price, least costs of the parts)
    list_conjunctions:
        extend sets of literals depth first, literals ascending, at most D of them:
                         C ← what they have in common
                         C is empty, or the last literal took nothing away: skip it
                         C may be a leaf: G_r(d) ← max(G_r(d), mass(C) · Π arity) for r in C
                         else go on with a further literal of another test
    conjunction_bound:
        max over λ of Σ_r w_r min_d (d + λ / G_r(d)) − λ; it is concave in λ

Looking ahead goes by words of bits.  The rows of an opened subtable are numbered; every outcome of
every test is the set of rows that have it (a *literal*).  What a part C of a test costs is at least
the minimum over further tests of what that test and the bounds of its parts cost, and a part of a
part is C ∩ literal: a few words, of which the first ones mostly show already that it is mixed.

A leaf at depth d is a *conjunction*: what at most d literals have in common, of one class, or light
enough.  Listing all such conjunctions of at most D literals gives for every object r, and every d ≤
D, the largest value G_r(d) of mass · Π arity over the conjunctions of d literals that hold r (0 if
there is none); a deeper one is at most the mass of r's class (or the greatest of a light leaf) · Π
arity. Now

- an object at depth d needs G_r(d) > 0;
- leaves obey Kraft's equation Σ over leaves of Π 1 / arity = 1, the product being over the tests
  above a leaf.  A leaf's share spread over its objects by weight is w_r / (mass · Π arity) ≥ w_r /
  G_r(d_r) each, so Σ_r w_r / G_r(d_r) ≤ 1.

So the total path length is at least min Σ w_r d_r over depths with Σ w_r / G_r(d_r) ≤ 1; by
Lagrange, for every λ ≥ 0, at least Σ_r w_r min_d (d + λ / G_r(d)) − λ.

Invariants:

- ``heap`` is scratch: its first entries are the weights of the classes that occur, ascending, and
  ``huffman_length`` overwrites them.
- The literal of a multiway feature f is base[f] + code, that of a two-way test base[f] + 2 · test +
  outcome.  Only the first ``words`` words of ``bits`` and ``same``, and ``kind`` and
  ``class_weight`` of the rows that were filled in, may be read; bits beyond the last row are 0.
  ``words`` is 0 where nothing is to be looked at, and then the arrays are not read.
- In ``list_conjunctions`` stack[d] holds the rows that the d literals at[0] … at[d − 1] have in
  common, product[d] is their Π arity, and at[d] is the literal to try next.
- ``most[r, d]`` is G_r(d) for d ≥ 1, 0 for none; column 0 is not used.

Where nothing else is said, table is a Table, form a ClosedForm and setting a Setting, all only
read.
"""

from typing import NamedTuple

import numpy as np

from arboretum.kernels.bits import lowest
from arboretum.kernels.jit import inline, inner, jit
from arboretum.kernels.solving.rows import MULTIWAY, THRESHOLDS
from arboretum_decision_tables.exact.parts import ClosedForm, Table, n_classes

ONE, NONE = np.uint64(1), np.uint64(0)
DEEPEST = 6
"""Literals of a conjunction, at most."""
BEYOND = 64
"""Depths up to which objects may lie in the minimum over d; Π arity has long made λ / G vanish
there.
"""
ENTROPY, PAIRS, GINI, WORST_PAIRS, WORST_ENTROPY = range(5)
"""What ranks tests: sum over parts of mass times entropy, of pairs of unlike objects, of mass times
Gini's index; or the maximum over parts.
"""


class Setting(NamedTuple):
    """What bounds know of a problem.

    least : cheapest price.
    arity : most outcomes of a test.
    free : greatest weight of a leaf of several classes (∞: not known).
    share, few : second and third number of ``space.Space.light``.
    light : weight of the two lightest objects.
    slack : relative difference of equal values.
    ease : how far beyond the second best test to go on with the best.
    ahead : whether to look ahead.
    """

    least: float
    arity: int
    free: float
    light: float
    slack: float
    ease: float
    ahead: bool
    share: float
    few: int


@jit(borrow=True)
def lower_bound_of_part(mass, class_weight, alone, spread, form, setting, heap):
    """Return a lower bound of ψ for a part that is no leaf, by its class weights.

    It is divided, as two of its objects differ in class and so in some code; so one test is asked
    of all its objects, and it has two branches, each ≥ ψ⁰.  Where only one class makes a leaf (for
    light leaves see ``pool_light_classes``), each of its c classes has a leaf: there are at least c
    leaves, ⌈(c − 1) / (a − 1)⌉ inner nodes, a path of ⌈log_a c⌉ tests, and Σ mass over inner nodes
    is at least the length of Huffman's a-ary code of the classes: keep of each class its shallowest
    leaf and send all its weight there; no path gets longer, and what remains is a prefix code.  An
    object that shares a leaf with no other is a class.  Where there are such, Shannon's bound of
    that length is taken: it needs only sums over the objects.

    mass : of the part.
    class_weight : float64[classes], of the objects that may share a leaf.
    alone, spread : how many objects share a leaf with no other, and Σ w log₂ w of them.
    heap : float64[≥ classes], overwritten.
    ψ in the unit of the form, not divided by the total weight.
    """
    least = setting.least if form.priced else 1.0
    one_test = (form.per_node + form.per_mass * mass) * least + form.leaf * (
        1.0 if form.largest else 2.0
    )
    free = setting.free
    if np.isinf(free) or (alone > 0 and free > 0.0):
        return one_test
    classes = 0
    for k in range(len(class_weight)):
        if class_weight[k] > 0.0:
            j = classes
            while j > 0 and heap[j - 1] > class_weight[k]:
                heap[j] = heap[j - 1]
                j -= 1
            heap[j] = class_weight[k]
            classes += 1
    if free > 0.0:
        classes = pool_light_classes(heap, classes, free)
    arity = setting.arity
    if classes + alone <= 2:
        return one_test
    length = 0.0
    if alone > 0:
        length = mass * np.log2(mass) - spread if mass > 0.0 else 0.0
        for j in range(classes):
            length -= heap[j] * np.log2(heap[j])
        # each of the terms is rounded: take off more than that
        length = (
            (length - 1e-12 * (alone + classes) * mass * max(1.0, np.log2(mass))) / np.log2(arity)
            if mass > 0.0
            else 0.0
        )
        length = max(length, 0.0)
        classes += alone
    elif form.per_mass > 0.0 and not form.largest:
        length = huffman_length(heap, classes, arity)
    if form.largest:
        longest, reached = 1, arity
        while reached < classes:
            longest += 1
            reached *= arity
        return one_test + (longest - 1) * (form.per_node + form.per_mass * setting.light) * least
    inner = (classes - 1 + arity - 2) // (arity - 1)
    return max(
        one_test, form.leaf * classes + (form.per_node * inner + form.per_mass * length) * least
    )


@jit(borrow=True)
def pool_light_classes(heap, n_weights, free):
    """Keep the weights above ``free``, and put the rest into portions of ``free``, in place and
    ascending; returns how many numbers there are.

    Where light nodes are leaves of weight at most ``free``, the j heaviest leaves together weigh at
    most what the j first of these numbers do: they majorise the leaves' weights, and the length of
    the best code is Schur-concave.

    heap : float64, its first ``n_weights`` the weights, ascending.
    """
    rest, light = 0.0, 0
    while light < n_weights and heap[light] <= free:
        rest += heap[light]
        light += 1
    portions = 0
    while rest > free and portions < light:
        rest -= free
        portions += 1
    # less is what rounding has left
    left = 1 if rest > 1e-9 * free and portions < light else 0
    if left:
        heap[0] = rest
    for k in range(portions):
        heap[left + k] = free
    for k in range(light, n_weights):
        heap[left + portions + k - light] = heap[k]
    return left + portions + n_weights - light


@jit(borrow=True)
def huffman_length(heap, n_weights, arity):
    """Return the length of the best prefix code of ``arity`` letters for the weights
    heap[:n_weights], Σ weight · length of its word; the weights are overwritten.

    heap : float64, its first ``n_weights`` ascending.
    """
    total, first = 0.0, 0
    take = (n_weights - 1) % (arity - 1) + 1  # words of no weight fill the first group
    if take == 1:
        take = arity
    while n_weights - first > 1:
        merged = 0.0
        for _ in range(take):
            merged += heap[first]
            first += 1
        total += merged
        first -= 1
        j = first
        while j + 1 < n_weights and heap[j + 1] < merged:
            heap[j] = heap[j + 1]
            j += 1
        heap[j] = merged
        take = min(arity, n_weights - first)
    return total


@inner
def heuristic_impurity(class_weight, spread, mass, heuristic):
    """Return how mixed a part is, by the heuristic: its entropy or Gini impurity times its mass,
    else the mass of its pairs of different classes.

    class_weight : float64[classes], of the objects that may share a leaf.
    spread : Σ w log₂ w of objects that share a leaf with no other; only entropies look at it.
    heuristic : of ENTROPY, PAIRS, GINI, WORST_PAIRS and WORST_ENTROPY.
    """
    total = 0.0
    if heuristic == ENTROPY or heuristic == WORST_ENTROPY:
        for k in range(len(class_weight)):
            if class_weight[k] > 0.0:
                total -= class_weight[k] * np.log2(class_weight[k])
        return total + mass * np.log2(mass) - spread if mass > 0.0 else 0.0
    for k in range(len(class_weight)):
        total += class_weight[k] * class_weight[k]
    if heuristic == GINI:
        return mass - total / mass if mass > 0.0 else 0.0
    return (mass * mass - total) / 2.0


# -- one test further ------------------------------------------------------------------------------


class Literals(NamedTuple):
    """The literals of the rows of a subtable, numbered 0, 1, ….

    base : int64[F + 1], number of the first literal of each feature.
    bits : uint64[literals, words].
    same : uint64[classes, words], rows of a class.
    kind : int64[rows], class, −1 for an object that shares a leaf with no other.
    row_weight : float64[rows], weights.
    words : how many are in use; 0 where nothing is to be looked at.
    """

    base: np.ndarray
    bits: np.ndarray
    same: np.ndarray
    kind: np.ndarray
    row_weight: np.ndarray
    words: int


def new_literals(table: Table, rows: int, classes: int) -> Literals:
    """Return empty literals with room for ``rows`` rows: a multiway test has a literal per bin, a
    two-way test two.

    rows : 0 where nothing is looked ahead.
    """
    tests = np.diff(np.append(table.features["first_test"], len(table.price)))
    features = table.features
    each = np.where(features["family"] == MULTIWAY, features["n_bins"], 2 * tests)
    base = np.append(0, np.cumsum(each))
    words = (rows + 63) // 64
    bits, same = (np.zeros((n, words), np.uint64) for n in (base[-1], classes))
    return Literals(base, bits, same, np.zeros(rows, np.int64), np.zeros(rows), 0)


@jit(borrow=True)
def fill_literals(table, rows, low, high, literals):
    """Fill the arrays of ``literals`` for rows[low:high]; returns how many words are in use.

    table : Table; rows : int32, objects.
    literals : with room for so many rows; its ``words`` is for the caller to replace.
    """
    base, bits, same, kind, row_weight, _ = literals
    codes = table.codes
    words = (high - low + 63) // 64
    bits[:, :words] = NONE
    same[:, :words] = NONE
    for k in range(high - low):
        row = table.rows[rows[low + k]]
        kind[k], row_weight[k] = row.group, row.weight
        if row.group >= 0:
            same[row.group, k >> 6] |= ONE << np.uint64(k & 63)
    for f in range(len(table.features)):
        first, family = base[f], table.features[f].family
        for k in range(high - low):
            c, word, bit = np.int64(codes[f, rows[low + k]]), k >> 6, ONE << np.uint64(k & 63)
            if family == MULTIWAY:
                bits[first + c, word] |= bit
                continue
            for j in range((base[f + 1] - first) // 2):
                inside = c <= j if family == THRESHOLDS else c == j
                bits[first + 2 * j + (0 if inside else 1), word] |= bit
    return words


@inner
def weight_if_light(part, literal, rows, setting):
    """Return the weight of the rows in both sets where the leaf rule may let them be a leaf for
    their weight or number, else −1.

    part, literal : uint64[words], sets of the rows that ``rows``, Literals, is of.
    setting : Setting, of which ``share`` and ``few`` say what is light.
    """
    share, few = setting.share, setting.few
    mass, n = 0.0, 0
    for q in range(rows.words):
        x = part[q] & literal[q]
        while x != NONE:
            mass += rows.row_weight[(q << 6) + lowest(x)]
            n += 1
            if mass > share and n >= few:
                return -1.0
            x &= x - ONE
    return mass


@inline
def classify_mixed_part(part, literal, rows, setting):
    """Return what ``inspect_part`` says of rows of several classes: (1, their weight) where they
    may be a leaf as they are light, else (2, 0.0).

    Arguments as of ``weight_if_light``.
    """
    if setting.share > 0.0 or setting.few > 0:
        mass = weight_if_light(part, literal, rows, setting)
        if mass >= 0.0:
            return 1, mass
    return 2, 0.0


@inline
def inspect_part(part, literal, rows, setting):
    """Return (0 for no rows, 1 for what may be a leaf, 2 for mixed; weight of the rows of a leaf,
    else 0.0) of the rows in both sets.

    Arguments as of ``weight_if_light``.  A mixed set is mostly told by its first words.
    """
    words, same, kind, row_weight = rows.words, rows.same, rows.kind, rows.row_weight
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
                return classify_mixed_part(part, literal, rows, setting)
        elif x & ~same[of, q] != NONE:
            return classify_mixed_part(part, literal, rows, setting)
    if first < 0:
        return 0, 0.0
    mass = 0.0
    for q in range(first >> 6, words):
        x = part[q] & literal[q]
        while x != NONE:
            mass += row_weight[(q << 6) + lowest(x)]
            x &= x - ONE
    return 1, mass


@inner
def bound_ahead(literal, mass, enough, table, form, setting, ahead):
    """Return a lower bound of ψ of the rows of a literal, which are mixed: the least over tests
    that divide them; at most about ``enough``, where looking stops to be of use.

    Only where no impurity makes leaves.  For sums, of the parts of a test those that may be leaves
    cost ψ⁰, the others at least one test at the least price and two leaves; so Σ mass of the mixed
    ones = mass − that of the others.  For maxima, a mixed part costs at least one test of the two
    lightest objects, and a leaf.

    literal : its number in ``ahead``, Literals; mass : of its rows.
    ∞: no test divides them.
    """
    bits, base = ahead.bits, ahead.base
    part = bits[literal]
    least = setting.least if form.priced else 1.0
    best = np.inf
    for f in range(len(table.features)):
        width, feature = base[f + 1] - base[f], table.features[f]
        each = width if feature.family == MULTIWAY else 2
        for j in range(width // each):
            pure, mixed, of_pure = 0, 0, 0.0
            for o in range(base[f] + each * j, base[f] + each * (j + 1)):
                what, found = inspect_part(part, bits[o], ahead, setting)
                pure += what == 1
                mixed += what == 2
                of_pure += found
            if pure + mixed < 2:
                continue
            own = (form.per_node + form.per_mass * mass) * (
                table.price[feature.first_test + j] if form.priced else 1.0
            )
            if form.largest:
                total = own + form.leaf
                if mixed > 0:
                    total += (form.per_node + form.per_mass * setting.light) * least
            else:
                rest = max(0.0, mass - of_pure) if mixed > 0 else 0.0
                total = (
                    own
                    + form.leaf * (pure + 2 * mixed)
                    + (form.per_node * mixed + form.per_mass * rest) * least
                )
            best = min(best, total)
            if best <= enough:
                return best
    return best


# -- conjunctions ----------------------------------------------------------------------------------


def fitting_depth(literals: int, words: int, work: float) -> int:
    """Return the most literals per conjunction, up to ``DEEPEST``, such that all conjunctions are
    listed within about ``work`` words.

    literals : of the table; words : of a set of its rows; work : words to be looked at.
    0: not even single literals fit.
    """
    depth, conjunctions = 0, 1.0
    while depth < DEEPEST:
        conjunctions *= literals / (depth + 1.0)
        if conjunctions * words > work:
            break
        depth += 1
    return depth


@jit
def list_conjunctions(n, depth, features, ahead, setting, most):
    """Fill ``most``, float64[n, depth + 1], with G_r(d) of the rows that may be a leaf (see the
    module); 0 where there is none.

    depth : literals of a conjunction, at most.
    features : FEATURE[F].
    ahead : literals of the n rows.
    most : zeros before.
    """
    base, bits, same, kind, row_weight, words = ahead
    literals = base[-1]
    test, arity = np.zeros(literals, np.int64), np.zeros(literals)
    number, lighter = 0, setting.share > 0.0 or setting.few > 0
    for f in range(len(features)):
        each = base[f + 1] - base[f] if features[f].family == MULTIWAY else 2
        for first in range(base[f], base[f + 1], max(1, each)):
            occur = 0.0
            for o in range(first, first + each):
                for q in range(words):
                    if bits[o, q] != NONE:
                        occur += 1.0
                        break
            for o in range(first, first + each):
                test[o], arity[o] = number, occur
            number += 1
    stack = np.zeros((depth + 1, words), np.uint64)
    product = np.ones(depth + 1)
    at = np.zeros(depth + 1, np.int64)
    for k in range(n):
        stack[0, k >> 6] |= ONE << np.uint64(k & 63)
    d = 0
    while d >= 0:
        o = at[d]
        if o >= literals or d >= depth:
            d -= 1
            if d >= 0:
                at[d] += 1
            continue
        at[d] += 1
        if arity[o] < 2.0 or (d > 0 and test[o] == test[at[d - 1]]):
            continue
        first, mixed, narrower = -1, False, False
        for q in range(words):
            x = stack[d, q] & bits[o, q]
            stack[d + 1, q] = x
            narrower |= x != stack[d, q]
            if x == NONE:
                continue
            if first < 0:
                first = (q << 6) + lowest(x)
            of = kind[first]
            if of < 0:
                mixed |= x != ONE << np.uint64(first & 63) or q != first >> 6
            else:
                mixed |= x & ~same[of, q] != NONE
        if first < 0 or not narrower:
            continue
        product[d + 1] = product[d] * arity[o]
        if mixed and lighter:
            mixed = weight_if_light(stack[d + 1], stack[d + 1], ahead, setting) < 0.0
        if mixed:
            if d + 1 < depth:
                at[d] -= 1
                at[d + 1] = o + 1
                d += 1
            continue
        mass = 0.0
        for again in range(2):
            for q in range(first >> 6, words):
                x = stack[d + 1, q]
                while x != NONE:
                    k = (q << 6) + lowest(x)
                    x &= x - ONE
                    if again == 0:
                        mass += row_weight[k]
                    else:
                        most[k, d + 1] = max(most[k, d + 1], mass * product[d + 1])


@jit
def conjunction_bound(n, depth, features, ahead, form, setting, most):
    """Return a lower bound of ψ of the n rows that the literals ``ahead`` are of, by the
    conjunctions of at most ``depth`` literals.

    For maxima: the object that lies in no conjunction of less than k literals is asked k tests,
    each of at least two objects.

    features : FEATURE[F]; form, setting : ClosedForm and Setting.
    most : float64[≥ n, depth + 1], overwritten.
    """
    kind, row_weight = ahead.kind, ahead.row_weight
    most[:n] = 0.0
    list_conjunctions(n, depth, features, ahead, setting, most)
    arity, least = float(setting.arity), setting.least if form.priced else 1.0
    if form.largest:
        deepest = 1
        for k in range(n):
            d = 1
            while d <= depth and most[k, d] == 0.0:
                d += 1
            deepest = max(deepest, d)
        return form.leaf + deepest * (form.per_node + form.per_mass * setting.light) * least
    of_class, total = np.zeros(len(ahead.same)), 0.0
    for k in range(n):
        total += row_weight[k]
        if kind[k] >= 0:
            of_class[kind[k]] += row_weight[k]
        for d in range(2, depth + 1):
            # a conjunction of fewer literals may be reached by a longer path
            most[k, d] = max(most[k, d], most[k, d - 1] * arity)
    best, factor, step = 0.0, total / arity**2, 4.0
    found = lagrangian_bound_at(
        0.0, n, depth, kind, row_weight, of_class, arity, setting.free, most
    )
    best = max(best, found)
    for _ in range(3):  # the bound is concave in λ: climb with a shrinking step
        while True:
            up = lagrangian_bound_at(
                factor * step, n, depth, kind, row_weight, of_class, arity, setting.free, most
            )
            if up <= best:
                break
            best, factor = up, factor * step
        while factor > 1e-9 * total:
            down = lagrangian_bound_at(
                factor / step, n, depth, kind, row_weight, of_class, arity, setting.free, most
            )
            if down <= best:
                break
            best, factor = down, factor / step
        step = np.sqrt(step)
    # sums of n terms, rounded
    length = best * (1.0 - 1e-15 * (n + 64))
    return (form.per_node + form.per_mass * length) * least + 2.0 * form.leaf


@inner
def lagrangian_bound_at(multiplier, n_rows, depth, kind, row_weight, of_class, arity, free, most):
    """Return Σ w_r min_d (d + λ / G_r(d)) − λ, with λ = ``multiplier``: a lower bound of the total
    path length for every λ ≥ 0.

    depth : literals up to which G_r(d) is listed; beyond, the mass of r's class times arityᵈ stands
        for it.
    kind, row_weight : int64[n_rows], float64[n_rows], as in ``Literals``.
    of_class : float64[classes], weight of each class.
    free : greatest weight of a leaf of several classes.
    most : float64[n_rows, depth + 1], G_r(d).
    """
    total = 0.0
    for k in range(n_rows):
        best = np.inf
        for d in range(1, depth + 1):
            if most[k, d] > 0.0:
                best = min(best, d + multiplier / most[k, d])
        mass = max(of_class[kind[k]] if kind[k] >= 0 else row_weight[k], free)
        power = arity ** (depth + 1.0)
        for d in range(depth + 1, BEYOND):
            if d >= best:
                break
            best = min(best, d + (multiplier / (mass * power) if mass > 0.0 else 0.0))
            power *= arity
        total += row_weight[k] * best
    return total - multiplier


def conjunction_bound_of_table(
    table: Table, form: ClosedForm, setting: Setting, depth: int
) -> float:
    """Return a lower bound of ψ of the whole table: :func:`conjunction_bound` of all its objects.

    depth : literals of a conjunction, at most.
    """
    n = len(table.rows)
    room, rows = new_literals(table, n, n_classes(table)), np.arange(n, dtype=np.int32)
    ahead = room._replace(words=fill_literals(table, rows, 0, n, room))
    return conjunction_bound(
        n, depth, table.features, ahead, form, setting, np.zeros((n, depth + 1))
    )
