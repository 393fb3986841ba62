"""Counting over those rows of a node that a mask keeps, and which small trees for them cannot be
ruled out by counts (:mod:`arboretum_gosdt.simd.lanes`).

With X the rows of the mask, S ⊃ X the node's, ℓ = (side, f) a literal and ¬ℓ its other side::

    gone(ℓ) = weight(S ∧ ℓ) − weight(X ∧ ℓ)
    two(X ∧ ℓ) ≥ two(S ∧ ℓ) − gone(ℓ)                       similar support (B.10), of two leaves
    three leaves, X ∧ ℓ one of them:  loss(X ∧ ℓ) + max(two(X ∧ ¬ℓ), two(X) − weight(X ∧ ℓ))
    four leaves, two on each side of f:  two(X ∧ f) + two(X ∧ ¬f)

Words, planes, lanes and the six rows of ``cells`` are those of :mod:`.pair_counts`.

Invariants: no kernel writes beyond the stride; lanes of features that are not alive are never
marked.  The bounds above hold for trees whose every leaf saves enough: what X's two leaves save,
S's save.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llvmlite import ir
from numba.core import types

from arboretum_gosdt.simd.lanes import INDEX, Lanes, lanes_kernel
from arboretum_gosdt.sparse.pair_counts import store_losses, weight_of_class, weights_of_cells

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
        loss_with, saved_with, loss_without, saved_without, valid, kinds = (
            v.load(cells, b.add(b.mul(v.index(number), stride), part.i)) for number in range(6)
        )
        alive_now = b.icmp_unsigned("!=", v.load(alive, part.i), v.all(0))
        valid, kinds = (b.select(alive_now, each, v.all(0)) for each in (valid, kinds))
        whole_with = _weight_with_feature(v, counts, stride, part.i, classes, summed)
        sides = []
        for known, whole, loss, saved in (
            (v.load(two, b.add(stride, part.i)), whole_with, loss_with, saved_with),
            (
                v.load(two, part.i),
                b.sub(v.spread(weight), whole_with),
                loss_without,
                saved_without,
            ),
        ):
            gone = b.sub(whole, b.add(loss, saved))
            bound = v.call("usub.sat", known, gone)
            sides.append(b.select(b.icmp_unsigned("==", known, never), never, bound))
        marks = []
        for bit, loss, saved, rest in (
            (1, loss_with, saved_with, sides[1]),
            (2, loss_without, saved_without, sides[0]),
        ):
            kind = b.icmp_unsigned("!=", b.and_(kinds, v.all(bit)), v.all(0))
            rest = v.call("umax", rest, v.call("usub.sat", least, v.call("uadd.sat", loss, saved)))
            fits = b.icmp_unsigned("<=", v.call("uadd.sat", loss, rest), three)
            marks.append((b.and_(kind, fits), b.and_(kind, b.icmp_unsigned("<=", loss, four))))
        pairs = b.icmp_unsigned("<=", v.call("uadd.sat", *sides), four)
        pairs = b.and_(pairs, b.icmp_unsigned("!=", valid, v.all(0)))
        to = b.mul(b.udiv(part.i, v.index(v.count)), v.index(KINDS))
        for number, fits in enumerate((marks[0][0], marks[1][0], marks[0][1], marks[1][1], pairs)):
            bits = b.zext(b.bitcast(fits, ir.IntType(v.count)), INDEX)
            v.put(bits, found, b.add(to, v.index(number)))
            some = b.or_(some, bits)
        part.next = [some]
    return part.after[0]
