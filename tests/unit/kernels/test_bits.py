"""What is written in LLVM's instructions against the same in Python."""

import numpy as np

from arboretum.kernels.bits import lowest, popcount, transpose
from arboretum.kernels.jit import jit


@jit
def transposed(block):
    transpose(block)
    return block


@jit
def counted(word):
    return popcount(word), lowest(word)


def test_bits_change_places_with_those_beyond_the_diagonal():
    words = np.random.default_rng(0).integers(0, 2**64, (20, 64), np.uint64, endpoint=False)
    for block in (
        *words,
        *np.uint64(1) << np.arange(64, dtype=np.uint64)[:, None] * np.ones(64, np.uint64),
    ):
        bits = block[:, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)
        wanted = (bits.T << np.arange(64, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
        plain = block.copy()
        transpose.plain(plain)
        assert (plain == wanted).all() and (transposed(block.copy()) == wanted).all()


def test_ones_are_counted_and_the_lowest_is_found():
    for word in (0, 1, 1 << 63, 0b1010_0000, 2**64 - 1):
        ones, first = counted(np.uint64(word))
        assert ones == popcount.plain(word) == bin(word).count("1")
        assert first == lowest.plain(word) == (bin(word)[::-1].find("1") if word else 64)
