"""Sets of up to 64 things as one machine word: the two instructions that Python has no operator
for.

The members of a set are visited in ascending order, and the word is 0 in the end::

    while word != 0:
        u = lowest(word)
        word &= word - 1        # without its lowest one

Invariants: a word is a uint64; its bit u is 1 if and only if u is in the set.
"""

from arboretum.kernels.lazy import lazy_intrinsic


@lazy_intrinsic(plain=lambda word: int(word).bit_count())
def popcount(typingctx, word):
    """Number of ones of a uint64, as int64."""
    from numba import types

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


def _lowest(word: int) -> int:
    """Position of the word's lowest one, or the one behind its end."""
    word = int(word) | 1 << 64
    return (word & -word).bit_length() - 1


@lazy_intrinsic(plain=_lowest)
def lowest(typingctx, word):
    """Position of the lowest one of a uint64, as int64; 64 when there is none."""
    from numba import types
    from numba.core import cgutils

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], cgutils.false_bit)

    return types.int64(types.uint64), codegen
