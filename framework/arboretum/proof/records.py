"""What the records of a log say of a set: the checker's own kernels, of which no solver uses one.

known_of::

    follow the chain of the records that have the set's fingerprint
        take the best bound under limits as loose as those that are asked for
    if the path of that record leads to the very same objects, that is the bound;
    else follow the chain again, and look at the objects of each

Invariants:

- A record is words[start[i] : start[i + 1]]: length of the path, limits, bound (low and high half),
  literals.  Records of one fingerprint are a chain from ``slots`` on by ``before``, −1 at its end;
  some slot is always free.
- A fingerprint only says where a record may be found; what counts is that the record's path leads
  to the very same mask.  Words of a log are not trusted: limits and literals are checked first.
"""

from collections import namedtuple

import numpy as np

from arboretum.kernels.jit import inline, inner, jit

HEAD = 5
"""Words of a record before its literals."""

Log = namedtuple("Log", "words start mark slots before")
"""Records.

words : int32.
start : int64[records + 1].
mark : uint64[records], fingerprints.
slots : uint64[2^k, 2], by fingerprint: 1 + the number of its last record (0: the slot is free), and
    the fingerprint itself, which tells most sets without a record apart at one look into memory.
before : int64[records], the record of the same fingerprint that comes before; −1: none.
"""


@inner
def path_set(ground, words, at, out):
    """Write the objects of the path of the record at a word into ``out``; False where it names a
    literal that there is not.
    """
    for w in range(out.shape[0]):
        out[w] = ground.everything[w]
    for place in range(at + HEAD, at + HEAD + 2 * words[at], 2):
        test, outcome = np.int64(words[place]), np.int64(words[place + 1])
        if (
            test < 0
            or test + 1 >= ground.first.shape[0]
            or outcome < 0
            or ground.first[test] + outcome >= ground.first[test + 1]
        ):
            return False
        literal = ground.literal[ground.first[test] + outcome]
        part(ground, out, literal >> 1, literal & 1, out)
    return True


@inner
def literal_of(ground, words, at, k):
    """Literal k of the path at a word, which names one: 2 · column + side."""
    place = at + HEAD + 2 * k
    return ground.literal[ground.first[words[place]] + words[place + 1]]


@inner
def part(ground, mask, column, side, out):
    """Write the objects of a mask on one side of a column into ``out``.

    side : 1, those that have the column; 0, the others.
    """
    has, flip = ground.packed[column], np.uint64(0) if side == 1 else ~np.uint64(0)
    for w in range(mask.shape[0]):
        out[w] = mask[w] & (has[w] ^ flip)


@inner(wraps=True)
def mark_of(ground, mask):
    """Fingerprint of a mask: the sum of word · random word, modulo 2⁶⁴.

    Those of two parts add up to that of the whole.
    """
    mark = np.uint64(0)
    for w in range(mask.shape[0]):
        mark += mask[w] * ground.mixer[w]
    return mark


@inline(wraps=True)
def first_slot_of(log, mark):
    """Where a fingerprint is looked up first."""
    mixed = (mark ^ mark >> np.uint64(33)) * np.uint64(0xFF51AFD7ED558CCD)
    at = np.int64((mixed ^ mixed >> np.uint64(33)) >> np.uint64(1))
    return at & np.int64(log.slots.shape[0] - 1)


@inner
def slot_of(log, mark):
    """Where a fingerprint is, or would be."""
    at, last = first_slot_of(log, mark), np.int64(log.slots.shape[0] - 1)
    while log.slots[at, 0] != 0 and log.slots[at, 1] != mark:
        at = (at + 1) & last
    return at


@inner
def serves(have, want):
    """Whether a limit is as loose as another; −1: none."""
    return have < 0 or 0 <= want <= have


@inner
def is_about(ground, log, record, mask, room):
    """Whether a record is about the objects of a mask.   room : uint64[·], written."""
    if not path_set(ground, log.words, log.start[record], room):
        return False
    other = np.uint64(0)
    for w in range(mask.shape[0]):
        other |= room[w] ^ mask[w]
    return other == 0


@jit(borrow=True)
def known_of(ground, log, mask, mark, depth, leaves, room):
    """The best bound that the records have of a set under limits, 0 without one.

    mark : of the set.   depth, leaves : −1: any.   room : uint64[·], written.
    """
    # that all records of a fingerprint are about one set: of the best that is looked at
    trusted = True
    while True:
        best, found = np.int64(0), np.int64(-1)
        record = np.int64(log.slots[slot_of(log, mark), 0]) - 1
        while record >= 0:
            at = log.start[record]
            bound = bound_of(log.words, at)
            if (
                bound > best
                and serves(log.words[at + 1], depth)
                and serves(log.words[at + 2], leaves)
            ) and (trusted or is_about(ground, log, record, mask, room)):
                best, found = bound, record
            record = log.before[record]
        if not trusted or found < 0 or is_about(ground, log, found, mask, room):
            return best
        trusted = False


@inner
def bound_of(words, at):
    """The bound, an integer, of the record that begins at a word."""
    return np.int64(words[at + 4]) << 32 | np.int64(words[at + 3]) & 0xFFFFFFFF


@jit(borrow=True)
def learn(log, first, end):
    """Let the records first … end − 1, whose fingerprints are in ``log.mark``, be known from now
    on: writes ``log.slots`` and ``log.before``.
    """
    for number in range(first, end):
        at = slot_of(log, log.mark[number])
        log.before[number] = np.int64(log.slots[at, 0]) - 1
        log.slots[at, 0], log.slots[at, 1] = np.uint64(number + 1), log.mark[number]


@inner
def take_place(ground, log, number, mask, room):
    """A record, of the objects of a mask, is known in place of those that say less of them;
    returns how many others stay.
    """
    at, slot = log.start[number], slot_of(log, log.mark[number])
    bound, last, kept = bound_of(log.words, at), np.int64(-1), np.int64(0)
    record = np.int64(log.slots[slot, 0]) - 1
    while record >= 0:
        before, old = log.before[record], log.start[record]
        less = (
            bound_of(log.words, old) <= bound
            and serves(log.words[at + 1], log.words[old + 1])
            and serves(log.words[at + 2], log.words[old + 2])
        )
        if less and is_about(ground, log, record, mask, room):
            if last < 0:
                log.slots[slot, 0] = np.uint64(before + 1)
            else:
                log.before[last] = before
        else:
            last, kept = record, kept + 1
        record = before
    learn(log, number, number + 1)
    return kept


@jit(borrow=True)
def known_of_sides(ground, log, mask, columns, depth, room, out):
    """Write what records know of both sides of columns on a set, int64[2, columns]: of those that
    have the column, and of the others.

    mask : of the set.   depth : that is left to the sides; −1: any.
    room : uint64[2, words], written.
    """
    whole = mark_of(ground, mask)
    for i in range(columns.shape[0]):
        part(ground, mask, columns[i], 1, room[0])
        mark = mark_of(ground, room[0])
        out[0, i] = known_of(ground, log, room[0], mark, depth, -1, room[1])
        part(ground, mask, columns[i], 0, room[0])
        out[1, i] = known_of(ground, log, room[0], whole - mark, depth, -1, room[1])
