"""Sets of objects known by the sum of two random 64-bit words per object (mod 2⁶⁴), in a table of
open addressing::

    one, two ← Σ of the words of the set's objects, modulo 2⁶⁴
    at ← one mod the table's length
    while slot ``at`` is not free:
        if it keeps ``one`` and the upper half of ``two``: the set is known, by its number
        at ← at + 1, from the end to the start
    the set is new: its slot is ``at``

A slot keeps all of the first sum and the upper half of the second; its lower half is the set's
number + 1, 0 for a free slot.  Two different sets agree in these 96 bits with probability 2⁻⁹⁶, as
one object that only one of them has makes both differences uniform; so among N sets some two are
confused with probability at most N² · 2⁻⁹⁷ (6 · 10⁻¹⁴ for a hundred million).  What is known of a
set (bounds, a test) lies in arrays by its number.

Invariants: a table has 2^k slots, one at least of them free, so that each search ends; the caller
makes it longer in time (``rehash``).  These kernels take nothing out.  Numbers are below 2³² − 1.
"""

from functools import cache

import numpy as np

from arboretum.kernels.jit import inline, jit
from arboretum.kernels.lazy import lazy_intrinsic

SEED = 0x5AB7AB1E  # of the random words: results must not depend on the run's seed
UPPER = np.uint64(0xFFFFFFFF00000000)
LOWER = np.uint64(0x00000000FFFFFFFF)
FREE = np.uint64(0)
KEPT = 1 << 14
"""Objects whose words are kept."""
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2⁶⁴ / golden ratio, an odd number: its multiples lie far apart (Knuth, The Art of Computer
Programming, volume 3, section 6.4).
"""
LAST = np.uint64(31)
MIXING = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)
"""Shifts and factors by which splitmix64 makes a word of a state; states are GOLDEN apart."""


def random_words(n: int) -> np.ndarray:
    """Return uint64[n, 2], two words for each of n objects, always the same: the splitmix64
    generator (Steele, Lea & Flood 2014), all of its numbers at once.
    """
    if n <= KEPT:  # most tables are small, and ask at every fit
        return _first_words()[:n].copy()
    return _words(n)


@cache
def _first_words() -> np.ndarray:
    """Return uint64[KEPT, 2], those of the first objects."""
    return _words(KEPT)


def _words(n: int) -> np.ndarray:
    words = np.arange(SEED, SEED + 2 * n, dtype=np.uint64)
    words *= GOLDEN
    for shift, factor in MIXING:
        words ^= words >> shift
        words *= factor
    words ^= words >> LAST
    return words.reshape(n, 2)


@inline
def find_or_enter(slots, one, two, number):
    """Return the number under which a fingerprint is known; it is entered under ``number``, which
    is returned, when it is new.

    slots : uint64[2^k, 2], at least one of them free.
    one, two : the sums of the set's words.
    """
    mask = np.int64(slots.shape[0] - 1)
    at = np.int64(one & np.uint64(mask))
    upper = two & UPPER
    while True:
        word = slots[at, 1]
        if word == FREE:
            slots[at, 0] = one
            slots[at, 1] = upper | np.uint64(number + 1)
            return number
        if slots[at, 0] == one and word & UPPER == upper:
            return np.int64(word & LOWER) - 1
        at = (at + 1) & mask


@lazy_intrinsic(plain=lambda slots, at: None)
def prefetch(typingctx, slots, at):
    """Ask memory for row ``at`` of a table, uint64[2^k, 2], or for that element of an array, which
    is read later: it has no effect but on the cache.
    """
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils

    def codegen(context, builder, signature, args):
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        ask = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte] + [number] * 3),
            "llvm.prefetch.p0i8",
        )
        data = context.make_array(slots)(context, builder, args[0]).data
        place = builder.gep(data, [builder.mul(args[1], ir.Constant(args[1].type, slots.ndim))])
        how = (ir.Constant(number, n) for n in (0, 3, 1))
        builder.call(ask, [builder.bitcast(place, byte), *how])
        return context.get_dummy_value()

    return types.none(slots, types.int64), codegen


@jit(borrow=True)
def enter(slots, one, two, number):
    """:func:`find_or_enter`, for callers in Python."""
    return find_or_enter(slots, one, two, number)


@jit(borrow=True)
def find(slots, one, two):
    """Return the number under which a fingerprint is known, or −1.

    slots, one, two : as in :func:`find_or_enter`.
    """
    mask = np.int64(slots.shape[0] - 1)
    at = np.int64(one & np.uint64(mask))
    while slots[at, 1] != FREE:
        if slots[at, 0] == one and slots[at, 1] & UPPER == two & UPPER:
            return np.int64(slots[at, 1] & LOWER) - 1
        at = (at + 1) & mask
    return np.int64(-1)


@jit(borrow=True)
def rehash(old, new):
    """Enter all of ``old`` into an empty, larger table, uint64[2^k, 2] as it."""
    mask = np.int64(new.shape[0] - 1)
    for i in range(old.shape[0]):
        if old[i, 1] != FREE:
            at = np.int64(old[i, 0] & np.uint64(mask))
            while new[at, 1] != FREE:
                at = (at + 1) & mask
            new[at, 0] = old[i, 0]
            new[at, 1] = old[i, 1]
