"""Sets of up to 64 things as one machine word: the instructions that Python has no operator for.

The members of a set are visited in ascending order, and the word is 0 in the end::

    while word != 0:
        u = lowest(word)
        word &= word - 1        # without its lowest one

Invariants: a word is a uint64; its bit u is 1 if and only if u is in the set.
"""

import numpy as np

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


def _transpose(block: np.ndarray) -> None:
    bits = np.unpackbits(block.view(np.uint8).reshape(64, 8), axis=1, bitorder="little")
    block[:] = np.packbits(np.ascontiguousarray(bits.T), axis=1, bitorder="little").view(np.uint64)[
        :, 0
    ]


@lazy_intrinsic(plain=_transpose)
def transpose(typingctx, block):
    """Let bit j of word i and bit i of word j change places, for the 64 words of ``block``,
    uint64[64], contiguous.

    Eight vectors of eight words: squares of 32, 16 and 8 bits change places between vectors; the
    words are transposed, so that the squares of 4, 2 and 1 bits do, too, and transposed again.
    """
    from llvmlite import ir
    from numba import types

    word, eight = ir.IntType(64), ir.VectorType(ir.IntType(64), 8)

    def exchange_squares(b, rows, first):
        for wide in (4, 2, 1):
            step = first * wide // 4
            low = ir.Constant(eight, [(2**64 - 1) // (2**step + 1)] * 8)
            by = ir.Constant(eight, [step] * 8)
            for k in (k for k in range(8) if not k & wide):
                moved = b.and_(b.xor(b.lshr(rows[k], by), rows[k + wide]), low)
                rows[k] = b.xor(rows[k], b.shl(moved, by))
                rows[k + wide] = b.xor(rows[k + wide], moved)

    def transpose_words(b, rows):
        lanes = ir.VectorType(ir.IntType(32), 8)
        for wide in (4, 2, 1):
            upper = ir.Constant(lanes, [8 + (i ^ wide) if i & wide else i for i in range(8)])
            lower = ir.Constant(lanes, [8 + i if i & wide else i ^ wide for i in range(8)])
            for k in (k for k in range(8) if not k & wide):
                both = rows[k], rows[k + wide]
                rows[k] = b.shuffle_vector(*both, upper)
                rows[k + wide] = b.shuffle_vector(*both, lower)

    def codegen(context, builder, signature, args):
        data = context.make_array(block)(context, builder, args[0]).data
        places = [
            builder.bitcast(builder.gep(data, [ir.Constant(word, 8 * k)]), eight.as_pointer())
            for k in range(8)
        ]
        rows = [builder.load(place, align=8) for place in places]
        exchange_squares(builder, rows, 32)
        transpose_words(builder, rows)
        exchange_squares(builder, rows, 4)
        transpose_words(builder, rows)
        for place, row in zip(places, rows, strict=True):
            builder.store(row, place, align=8)
        return context.get_dummy_value()

    return types.none(block), codegen
