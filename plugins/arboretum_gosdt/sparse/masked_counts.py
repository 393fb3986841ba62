"""Counting over those rows of a node that a mask keeps, and which small trees for them cannot be
ruled out by counts (:mod:`arboretum_gosdt.simd.lanes`).

With X the rows of the mask, S ⊃ X the node's, ℓ = (side, f) a literal and ¬ℓ its other side::

    gone(ℓ) = weight(S ∧ ℓ) − weight(X ∧ ℓ)
    two(X ∧ ℓ) ≥ two(S ∧ ℓ) − gone(ℓ)                       similar support (B.10), of two leaves
    two(X ∧ ℓ) ≥ two(X) − weight(X ∧ ¬ℓ)                    the same
    three leaves, X ∧ ℓ one of them:  loss(X ∧ ℓ) + two(X ∧ ¬ℓ)
    four leaves, two on each side of f:  two(X ∧ f) + two(X ∧ ¬f)

With two labels a and b, n_a what a weighs, and leaves that one after the other take off a part of
what is left::

    leaves ℓ, ℓ′ of label a may change places: the tree loses as much.  So of three leaves, two of
        which have one label, the first has at least as many rows of it as the second has in X:
        loss ≥ n_b(X ∧ ℓ) + n_a(X) − 2 n_a(X ∧ ℓ)
    of four leaves the first is the largest of three of label a:
        loss ≥ n_b(X ∧ ℓ) + n_a(X) − 3 n_a(X ∧ ℓ)
    or two of label b, of which ℓ′ is the larger one, follow it:
        loss ≥ n_b(X) − 2 n_b(X ∧ ℓ′)  and  loss ≥ n_b(X ∧ ℓ) + n_a(X ∧ ℓ′) − n_a(X ∧ ℓ)

Words, planes, lanes and the six rows of ``cells`` are those of :mod:`.pair_counts`.

Invariants: no kernel writes beyond the stride; lanes of features that are not alive are never
marked.  The bounds above hold for trees whose every leaf saves enough: what X's two leaves save,
S's save.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from llvmlite import ir
from numba.core import types

from arboretum_gosdt.simd.lanes import INDEX, Lanes, lanes_kernel
from arboretum_gosdt.sparse.pair_counts import (
    greatest,
    store_losses,
    weight_of_class,
    weights_of_cells,
)

if TYPE_CHECKING:
    from llvmlite.ir import Value

KINDS = 5
"""Bits by feature that ``mark_small_trees`` writes: trees of three leaves of which the rows with
the feature are one, or those without; of four leaves, likewise; of two on each side.
"""


@lanes_kernel()
def fill_counts_of_child(v, found, stride, planes, both, counts, absent):
    """Write the weight of each class in the rows with i (absent = 1: without) and f.

    both : [k · stride + f], of the rows with i and f; counts : of those with f.
    found : out, as ``counts``.
    """
    b = v.builder
    flip = b.icmp_signed("!=", absent, v.index(0))
    with v.loop(v.index(0), b.mul(planes, stride), step=v.count) as part:
        with_i = v.load(both, part.i)
        other = b.sub(v.load(counts, part.i), with_i)
        v.store(b.select(flip, other, with_i), found, part.i)


@lanes_kernel()
def sum_weights_of_mask(v, node, mask, counts):
    """Write the weight of each class in the rows of a mask that have f.

    node : Words; mask : one element a word.
    counts : out, [k · stride + f], without mass.
    """
    b, words, stride = v.builder, node.words, node.stride
    with v.loop(v.index(0), stride, step=v.count) as part, v.loop(v.index(0), node.summed) as one:

        def word(w: Value) -> Value:
            return b.and_(
                v.load(words, b.add(b.mul(w, stride), part.i)), v.spread(v.element(mask, w))
            )

        v.store(weight_of_class(v, node, one.i, word), counts, b.add(b.mul(one.i, stride), part.i))


@lanes_kernel()
def fill_losses_of_rows(v, cells, stride, classes, summed, counts, totals, saving, least_loss):
    """Write what some rows lose and save with and without every feature, as
    ``fill_losses_of_cells`` does.

    counts, totals : [k · stride + f] and [k], of these rows.
    """
    b = v.builder
    least = v.spread(saving), v.spread(least_loss)
    with v.loop(v.index(0), stride, step=v.count) as part:

        def cells_of_plane(k: Value) -> tuple[Value, Value]:
            with_f = v.load(counts, b.add(b.mul(k, stride), part.i))
            return with_f, b.sub(v.spread(v.element(totals, k)), with_f)

        weights = weights_of_cells(v, classes, summed, cells_of_plane)
        store_losses(v, cells, stride, part.i, weights, least)


@lanes_kernel()
def find_two_leaves_of_both_sides(v, node, mask, counts, totals, of_mask, least_saving, found):
    """Write the least loss of two leaves for the rows that ``mask`` (one element a word) keeps, and
    for the others of some rows, in one pass over the words; the largest number where there is none.

    node : Words.
    counts, totals : [k · stride + f] and [k], of all these rows.
    of_mask : [k], of those that the mask keeps.
    least_saving : [1], what a leaf must save.
    found : out, [2], of the others and of those kept.
    """
    b, words, stride = v.builder, node.words, node.stride
    never = v.all(greatest(v.word.width))
    saving = v.spread(v.element(least_saving, v.index(0)))
    with v.loop(v.index(0), stride, [never] * 2, v.count) as part:

        def word(w: Value) -> Value:
            return b.and_(
                v.load(words, b.add(b.mul(w, stride), part.i)), v.spread(v.element(mask, w))
            )

        def cells_of_plane(k: Value) -> tuple[Value, ...]:
            """Return plane k of the rows that are kept, with feature f of each lane and without,
            and of the others.
            """
            kept = weight_of_class(v, node, k, word)
            with_f = b.sub(v.load(counts, b.add(b.mul(k, stride), part.i)), kept)
            all_kept = v.element(of_mask, k)
            others = v.spread(b.sub(v.element(totals, k), all_kept))
            return kept, b.sub(v.spread(all_kept), kept), with_f, b.sub(others, with_f)

        losses = []
        for weight, most in zip(
            *weights_of_cells(v, node.classes, node.summed, cells_of_plane, 4), strict=True
        ):
            losses.append(b.select(b.icmp_unsigned(">=", most, saving), b.sub(weight, most), never))
        part.next = [
            v.call("umin", now, v.call("uadd.sat", *two))
            for now, two in zip(part.now, (losses[:2], losses[2:]), strict=True)
        ]
    for side, least in enumerate(reversed(part.after)):
        v.put(v.reduce("umin", least), found, v.index(side))


@lanes_kernel()
def mark_leaf_candidates(v, cells, stride, alive, allowed, saved, found):
    """Mark the cells of ``fill_losses_of_cells`` that can be a leaf beside a cell that is divided,
    of at most a loss and at least a saving.

    cells : in, as ``fill_losses_of_cells`` writes them.
    alive : [f], 0 where a feature is left out.
    allowed, saved : the greatest loss and the least saving, within the range of a lane.
    found : out, int64[2 · vectors]: for each vector of features a bit per feature, of the cells
        with it and of those without.
    """
    b = v.builder
    allowed, saved = v.spread(allowed), v.spread(saved)
    with v.loop(v.index(0), stride, step=v.count) as part:
        at = [b.add(b.mul(v.index(number), stride), part.i) for number in range(6)]
        kinds = b.select(
            b.icmp_unsigned("!=", v.load(alive, part.i), v.all(0)), v.load(cells, at[5]), v.all(0)
        )
        for side, bit in enumerate((1, 2)):
            fits = b.and_(
                b.icmp_unsigned("<=", v.load(cells, at[2 * side]), allowed),
                b.icmp_unsigned(">=", v.load(cells, at[2 * side + 1]), saved),
            )
            fits = b.and_(fits, b.icmp_unsigned("!=", b.and_(kinds, v.all(bit)), v.all(0)))
            bits = b.zext(b.bitcast(fits, ir.IntType(v.count)), INDEX)
            v.put(
                bits,
                found,
                b.add(b.mul(b.udiv(part.i, v.index(v.count)), v.index(2)), v.index(side)),
            )


def _weight_with_feature(
    v: Lanes, counts: Value, stride: Value, at: Value, classes: Value, summed: Value
) -> Value:
    """Return, lane by lane, the weight of the node's rows that have the feature, without what they
    lose anyway.
    """
    b = v.builder
    with v.loop(v.index(0), classes, [v.all(0)]) as one:
        one.next = [b.add(one.now[0], v.load(counts, b.add(b.mul(one.i, stride), at)))]
    with v.loop(classes, summed, one.after) as lost:
        lost.next = [b.sub(lost.now[0], v.load(counts, b.add(b.mul(lost.i, stride), at)))]
    return lost.after[0]


@lanes_kernel()
def raise_similar(v, cells, stride, low, many, upper, test_bound, value, p, q, support):
    """Raise bounds of the children of all features by that of one child, which has most of their
    rows (``propagate_to_siblings``).

    cells : of the one child, as ``fill_losses_of_cells`` writes them.
    low, many, upper : int64, [side · stride + f]; the first two are written.
    test_bound : int64, [f], written: what a tree costs of which one side has three leaves or more.
    value : bound of the one child.
    p, q, support : of what the one child has besides, a leaf (p) pays for rows that save
        ``support``, at most the largest number of a lane; others cost all that they save, too.
    """
    b = v.builder
    wide = ir.VectorType(INDEX, v.count)
    value, p, q = (v.spread(each, INDEX) for each in (value, p, q))
    support = v.spread(support)
    with v.loop(v.index(0), stride, step=v.count) as part:
        raised = []
        for side in range(2):
            loss, saved = (
                v.load(cells, b.add(b.mul(v.index(2 * side + k), stride), part.i)) for k in range(2)
            )
            leaf = b.icmp_unsigned(">=", saved, support)
            lost = b.select(leaf, loss, b.add(loss, saved))
            lost = lost if v.word.width == 64 else b.zext(lost, wide)
            less = b.add(b.mul(lost, q), b.select(leaf, p, v.all(0, INDEX)))
            bound = b.sub(value, less)
            at = b.add(b.mul(v.index(side), stride), part.i)
            more = v.call("smax", v.load(many, at, INDEX), bound)
            v.store(more, many, at)
            least = v.call("smin", bound, v.load(upper, at, INDEX))
            least = v.call("smax", v.load(low, at, INDEX), least)
            v.store(least, low, at)
            raised.append((least, more))
        (low_0, many_0), (low_1, many_1) = raised
        least = v.call("smin", b.add(low_1, many_0), b.add(many_1, low_0))
        v.store(v.call("smax", v.load(test_bound, part.i, INDEX), least), test_bound, part.i)


@lanes_kernel(types.int64)
def mark_small_trees(
    v, cells, stride, alive, two, counts, classes, summed, weight, two_leaves, allowed, found
):
    """Mark the trees of three and of four leaves, for the rows of ``cells``, that may lose no more
    than they are allowed.

    cells : as ``fill_losses_of_rows`` writes them.
    alive : [f], 0 where a feature is left out.
    two : [side · stride + f], bound of two leaves for the node's rows with a literal.
    counts, weight : of all rows of the node, [k · stride + f] and their whole weight.
    two_leaves : bound of two leaves for the rows of ``cells``.
    allowed : [2], of three leaves and of four, below the largest number.
    found : out, int64[KINDS · vectors]: for each vector of features, KINDS words of a bit each.
    Returns 0 where nothing is marked.
    """
    b = v.builder
    never = v.all((1 << v.word.width) - 1)
    three, four = (v.spread(v.element(allowed, v.index(k))) for k in range(2))
    least = v.spread(two_leaves)
    with v.loop(v.index(0), stride, [v.index(0)], v.count) as part:
        some = part.now[0]
        loss_with, saved_with, loss_without, saved_without, kinds = (
            v.load(cells, b.add(b.mul(v.index(number), stride), part.i))
            for number in (0, 1, 2, 3, 5)
        )
        alive_now = b.icmp_unsigned("!=", v.load(alive, part.i), v.all(0))
        kinds = b.select(alive_now, kinds, v.all(0))
        whole_with = _weight_with_feature(v, counts, stride, part.i, classes, summed)
        weight_with, weight_without = (
            b.add(loss, saved)
            for loss, saved in ((loss_with, saved_with), (loss_without, saved_without))
        )
        sides = []
        for known, whole, here, other in (
            (v.load(two, b.add(stride, part.i)), whole_with, weight_with, weight_without),
            (
                v.load(two, part.i),
                b.sub(v.spread(weight), whole_with),
                weight_without,
                weight_with,
            ),
        ):
            bound = v.call("usub.sat", known, b.sub(whole, here))
            bound = b.select(b.icmp_unsigned("==", known, never), never, bound)
            sides.append(v.call("umax", bound, v.call("usub.sat", least, other)))
        marks = []
        for bit, loss, rest in ((1, loss_with, sides[1]), (2, loss_without, sides[0])):
            kind = b.icmp_unsigned("!=", b.and_(kinds, v.all(bit)), v.all(0))
            fits = b.icmp_unsigned("<=", v.call("uadd.sat", loss, rest), three)
            marks.append((b.and_(kind, fits), b.and_(kind, b.icmp_unsigned("<=", loss, four))))
        pairs = b.icmp_unsigned("<=", v.call("uadd.sat", *sides), four)
        pairs = b.and_(pairs, b.icmp_unsigned("==", kinds, v.all(3)))
        to = b.mul(b.udiv(part.i, v.index(v.count)), v.index(KINDS))
        for number, fits in enumerate((marks[0][0], marks[1][0], marks[0][1], marks[1][1], pairs)):
            bits = b.zext(b.bitcast(fits, ir.IntType(v.count)), INDEX)
            v.put(bits, found, b.add(to, v.index(number)))
            some = b.or_(some, bits)
        part.next = [some]
    return part.after[0]


@lanes_kernel(types.int64)
def keep_largest_leaves(v, cells, stride, counts, totals, alive, allowed, found):
    """Clear the marks of ``mark_small_trees`` at leaves that need not be the first one, where there
    are two labels (the module's docstring); returns 0 where nothing stays marked.

    cells, alive, allowed, found : as of ``mark_small_trees``.
    counts, totals : [k · stride + f] and [k], of the rows of ``cells``.
    """
    b = v.builder
    all_rows = [v.spread(v.element(totals, v.index(k))) for k in range(2)]
    three, four = (v.spread(v.element(allowed, v.index(k))) for k in range(2))
    never = v.all((1 << v.word.width) - 1)

    def add(*weights: Value) -> Value:
        return reduce(lambda sum_, weight: v.call("uadd.sat", sum_, weight), weights)

    def weights_of_sides(i: Value) -> list[list[Value]]:
        """Return what the labels weigh with the features of a vector, and without them."""
        with_f = [v.load(counts, b.add(b.mul(v.index(k), stride), i)) for k in range(2)]
        return [with_f, [b.sub(*pair) for pair in zip(all_rows, with_f, strict=True)]]

    with v.loop(v.index(0), stride, [never] * 2, v.count) as part:
        alive_now = b.icmp_unsigned("!=", v.load(alive, part.i), v.all(0))
        part.next = part.now
        for weights in weights_of_sides(part.i):
            may_follow = [
                b.and_(alive_now, b.icmp_unsigned(">=", add(weight, weight, four), whole))
                for weight, whole in zip(weights, all_rows, strict=True)
            ]
            part.next = [
                v.call("umin", least, b.select(other, weight, never))
                for least, weight, other in zip(
                    part.next, weights, reversed(may_follow), strict=True
                )
            ]
    besides = [v.spread(v.reduce("umin", least)) for least in part.after]
    with v.loop(v.index(0), stride, [v.index(0)], v.count) as part:
        to = b.mul(b.udiv(part.i, v.index(v.count)), v.index(KINDS))
        some = b.or_(part.now[0], v.element(found, b.add(to, v.index(4))))
        for side, weights in enumerate(weights_of_sides(part.i)):
            loss, saved = (
                v.load(cells, b.add(b.mul(v.index(2 * side + k), stride), part.i)) for k in range(2)
            )
            kept = [v.all(0, ir.IntType(1))] * 2
            for weight, whole, other in zip(weights, all_rows, besides, strict=True):
                label, needed = b.icmp_unsigned("==", saved, weight), add(whole, loss)
                of_three = b.icmp_unsigned(">=", add(saved, saved, three), needed)
                of_four = b.or_(
                    b.icmp_unsigned(">=", add(saved, saved, saved, four), needed),
                    b.icmp_unsigned(">=", add(saved, four), add(other, loss)),
                )
                kept = [
                    b.or_(now, b.and_(label, first))
                    for now, first in zip(kept, (of_three, of_four), strict=True)
                ]
            for kind, fits in enumerate(kept):
                at = b.add(to, v.index(2 * kind + side))
                bits = b.zext(b.bitcast(fits, ir.IntType(v.count)), INDEX)
                bits = b.and_(bits, v.element(found, at))
                v.put(bits, found, at)
                some = b.or_(some, bits)
        part.next = [some]
    return part.after[0]
