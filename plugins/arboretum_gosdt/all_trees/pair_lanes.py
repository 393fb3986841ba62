"""Vector code for the pairs of a test with all others (:mod:`arboretum_gosdt.simd.lanes`): the
lanes of a vector are eight tests.

The bodies of :mod:`.passes`, whose twins there say in NumPy what each computes; a term is a word of
a mask that is not 0, and the objects of that word.

    for every vector of tests:
        into = Σ over terms of 2^shift · ones(planes[place] ∧ mask)                  (count_common)
        two, three = least of leaf + other, of either, in both sides        (least_losses_of_few)
        low = max(low, min(high, what the sides of one test leave over))         (raise_siblings)

Loops over few tests are short: what numba makes of the loop over the tests of one word asks first
whether arrays overlap.  One loop over all terms of a number ends as often, where one by kinds, of
few terms each, was guessed wrongly every time.

Invariants: tests are in a multiple of as many lanes as a vector has; rows of matrices are
``stride`` apart.  No index is checked.

In the bodies v is the writer, a Lanes, which the decorator hands in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from arboretum_gosdt.simd.lanes import lanes_kernel

if TYPE_CHECKING:
    from llvmlite.ir import Value

    from arboretum_gosdt.simd.lanes import Lanes

NEVER = 1 << 60
"""As in :mod:`.passes`, which imports this module for its vectors."""


@lanes_kernel()
def count_common(
    v: Lanes,
    planes: Value,
    mask: Value,
    at: Value,
    shift: Value,
    into: Value,
    first: Value,
    last: Value,
    lanes: Value,
) -> None:
    """As :func:`.passes.count_common`."""
    b = v.builder
    with v.loop(v.index(0), lanes, step=v.count) as part:
        with v.loop(first, last, [v.all(0)]) as term:
            plane = v.load(planes, b.add(v.element(at, term.i), part.i))
            both = b.and_(plane, v.spread(v.element(mask, term.i)))
            worth = b.shl(v.call("ctpop", both), v.spread(v.element(shift, term.i)))
            term.next = [b.add(term.now[0], worth)]
        v.store(term.after[0], into, part.i)


def _split_losses(
    v: Lanes, cells: tuple[Value, Value], whole: tuple[Value, Value]
) -> tuple[Value, Value, Value]:
    """Return the least loss of both leaves that tests split a side into, and whether they do.

    cells : of the leaf of outcome 1, the excesses of both answers; whole : of the side.
    """
    b, (x, y) = v.builder, cells
    leaf, other = (
        v.call("smin", x, y),
        v.call("smin", b.sub(whole[0], x), b.sub(whole[1], y)),
    )
    both = b.add(x, y)
    some = b.icmp_signed("!=", both, v.all(0))
    return leaf, other, b.and_(some, b.icmp_signed("!=", both, b.add(*whole)))


def _write_losses(
    v: Lanes, sums: Value, both: Value, found: Value, stride: Value, lanes: Value, many: bool
) -> None:
    """Write :func:`least_losses_of_two`, or where ``many`` those of three as well."""
    b, never = v.builder, v.all(NEVER)
    sides = [v.spread(v.element(found, v.index(k))) for k in range(4)]
    with v.loop(v.index(0), lanes, [never] * 4, step=v.count) as part:
        beyond = b.add(stride, part.i)
        x, y = v.load(both, part.i), v.load(both, beyond)
        v.store(b.add(x, y), both, b.add(stride, beyond))
        rest = b.sub(v.load(sums, part.i), x), b.sub(v.load(sums, beyond), y)
        least = list(part.now)
        for side, cells in enumerate(((x, y), rest)):
            leaf, other, splits = _split_losses(v, cells, (sides[2 * side], sides[2 * side + 1]))
            least[side] = v.call("smin", least[side], b.add(leaf, other))
            if many:
                one = b.select(splits, v.call("smin", leaf, other), never)
                least[2 + side] = v.call("smin", least[2 + side], one)
        part.next = least
    for k, one in enumerate(part.after[: 4 if many else 2]):
        v.put(v.reduce("smin", one), found, v.index(k))


@lanes_kernel()
def least_losses_of_two(
    v: Lanes, sums: Value, both: Value, found: Value, stride: Value, lanes: Value
) -> None:
    """As :func:`.passes.least_losses_of_two`."""
    _write_losses(v, sums, both, found, stride, lanes, many=False)


@lanes_kernel()
def least_losses_of_few(
    v: Lanes, sums: Value, both: Value, found: Value, stride: Value, lanes: Value
) -> None:
    """As :func:`.passes.least_losses_of_few`."""
    _write_losses(v, sums, both, found, stride, lanes, many=True)


@lanes_kernel()
def raise_siblings(
    v: Lanes,
    low: Value,
    high: Value,
    bound: Value,
    known_bound: Value,
    near: Value,
    of_one: Value,
    given: Value,
    stride: Value,
    lanes: Value,
) -> None:
    """As :func:`.passes.raise_siblings`."""
    b = v.builder
    q, one, above_one, rest, above_rest = (v.spread(v.element(given, v.index(k))) for k in range(5))
    with v.loop(v.index(0), lanes, step=v.count) as part:
        common = b.mul(q, v.load(near, part.i))
        other = b.sub(b.mul(q, v.load(of_one, part.i)), common)
        raised = []
        for at, (a, c) in zip(
            (part.i, b.add(stride, part.i)),
            (
                (b.add(above_one, common), b.add(above_rest, other)),
                (b.sub(one, common), b.sub(rest, other)),
            ),
            strict=True,
        ):
            least = v.call("smin", v.load(high, at), v.call("smax", a, c))
            raised.append(v.call("smax", v.load(low, at), least))
            v.store(raised[-1], low, at)
        found = v.call("smax", b.add(*raised), v.load(known_bound, part.i))
        v.store(found, bound, part.i)
