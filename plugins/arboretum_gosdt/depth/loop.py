"""The least loss of trees of a given depth: branch and bound over sets of rows, with depth 2 solved
by counts of pairs.

A *set* is what a conjunction of literals selects; R(S, d) is the least loss of trees of depth d on
it.  For every literal ℓ of a set lower and upper bounds of R(S ∧ ℓ, d − 1) are kept.  Where they
come from:

- counts of pairs (:mod:`.pair_counts`): R of depth 2 exactly, one feature at a time;
- **memory**: sets of depth 3 and more by fingerprint, and of depth 2 (``cells``), which the same
  literals in another order reach;
- **similarity**: R(S) ≥ R(T) − weight(T ∖ S), between literals of one set.

The kernel may be left and entered again at any step.  With v the level on top of the stack, d =
depth − v its remaining depth, ub the least loss known, and *budget* what a set must undercut to
matter to its parent::

    push the set of all rows, its budget HUGE
    while the stack is not empty, by the phase of the set S on top:
        OPEN:    pack its rows into words, count its features                        (open_set)
                 sum fingerprints of its literals, where the memory is asked   (sum_fingerprints)
        PAIRS:   count a stretch of all pairs; after the last one               (count_pairs_of_set)
                     ub = best of a leaf, a tree of depth 2, and the memory's; S is solved if
                     d ≤ 2 or ub = 0, else the memory bounds its literals         (bound_opened_set)
                 of a search that counts triples: S is solved by them              (search_triples)
        CHOOSE:  f = the feature with the least low[ℓ] + low[¬ℓ] below min(ub, budget)
                                                                                    (choose_feature)
                 none: lb = ub if S is solved, else min(ub, least low[ℓ] + low[¬ℓ] of all f);
                     enter lb, ub and the first test into the memory; pop S, tell its
                     parent                                                             (close_set)
                 d = 3: go on to SPLIT;  d > 3: go on to CHILD
        SPLIT:   count a stretch of the pairs on both sides of f; after the last one both losses
                     of depth 2 are known: finish f                               (finish_split)
        CHILD:   push the heavier side of f whose bounds differ, with the budget
                     min(ub, budget) − low(other side); if none is left, or the sides cost too
                     much, finish f                                         (search_children)
    finish f: ub = min(ub, up[ℓ] + up[¬ℓ]); its bounds go to all literals by similarity

In mode GREEDY a set of d > 3 asks only one feature, the one that is best as the first of a tree of
depth 2, and children have the budget HUGE: so a good tree is found first.

Invariants:

- low[ℓ] ≤ R(S ∧ ℓ, d − 1) ≤ up[ℓ]; ``todo[f]`` says that f divides S and is not finished
  (of a set that is not solved).
- A level has d ≥ 3, but that of a whole search of depth 2; so there are max(1, depth − 2) levels,
  and sets of d = 3 push nothing.
- ``scratch`` belongs to the pass that is going on, which is one of the set on top.
- ``memory``: numbers 0 … ``state.nodes`` − 1, 0 for all rows; lower rises, upper falls; depth is
  part of the fingerprint (TURN).  HUGE: no tree is known.  NEED_ROOM comes before CHILD, which
  enters at most one new set; half of ``slots`` stays free.  ``cells`` overwrite an entry
  where a line is full.

Where nothing else is said, task is a Task of :mod:`.arrays`, whose levels, scratch, memory and
state are written; v is the level of a set, f, g and h are features, and literal is 0 for outcome 1
of one.
"""

import numpy as np

from arboretum.kernels.jit import inline, inner, jit
from arboretum.kernels.solving.fingerprints import LOWER, UPPER, find, find_or_enter
from arboretum.kernels.solving.slices import FINISHED, NEED_ROOM, PAUSED
from arboretum_gosdt.depth.arrays import (
    CHILD,
    CHOOSE,
    GREEDY,
    HUGE,
    LEAF,
    OPEN,
    PAIR,
    PAIRS,
    SPLIT,
    TURN,
    WAYS,
)
from arboretum_gosdt.depth.packing import fill_array
from arboretum_gosdt.depth.pair_counts import Side
from arboretum_gosdt.depth.passes import (
    asks_memory,
    correct_of_depth_two,
    correct_of_leaf,
    count_pairs_of_set,
    count_pairs_of_split,
    loss_from_correct,
    open_set,
    read_row_of_pairs,
    start_split,
    sum_fingerprints,
)
from arboretum_gosdt.depth.triples import search_triples


@inner
def finish_split(task, v):
    """Set the bounds of both literals of the current feature to their losses of depth 2, which are
    known, and finish the feature.

    v : the level of the set, whose depth is 3; ``scratch.margins`` and ``wholes`` are of both
        sides.

    Writes ``low`` and ``up`` of level v, and the losses into ``memory.cells`` where they are kept.
    """
    levels, scratch, setting, memory = task.levels, task.scratch, task.setting, task.memory
    frame = levels.frame[v]
    f = frame.current
    inside = np.int64(levels.total[v, f])
    for number in range(2):
        side = Side(scratch.margins[number], scratch.wholes[number])
        right = correct_of_depth_two(task, v, side, np.int64(number))
        literal = number if frame.side else 1 - number
        loss = loss_from_correct(setting, frame.weight - inside if literal else inside, right)
        levels.low[v, literal, f] = levels.up[v, literal, f] = loss
        if setting.keep_cells:
            one, two = fingerprint_of_literal(levels, v, f, literal)
            task.state[0].cells += enter_cell(memory.cells, one, two, loss)
    task.state[0].opened += 2
    better = levels.low[v, 0, f] + levels.low[v, 1, f] < frame.ub
    finish_feature(task, v, f)
    if better:
        frame.one = best_first_feature(task, v, np.int64(1 - frame.side))
        frame.other = best_first_feature(task, v, np.int64(frame.side))


@inner
def best_first_feature(task, v, number):
    """Return the feature that the best tree of depth 2 of a side of the split asks first.

    number : of the side, in ``scratch``; ``scratch.key`` is overwritten.
    """
    scratch = task.scratch
    side = Side(scratch.margins[number], scratch.wholes[number])
    right, f = correct_of_depth_two(task, v, side, number), np.int64(0)
    while np.int64(scratch.key[f]) < right:
        f += 1
    return f


@inline(wraps=True)
def fingerprint_of_literal(levels, v, f, literal):
    """Return both words of the fingerprint of the rows that have a literal, before the depth is
    added.

    levels : DepthLevels, with ``sums`` and ``own`` of level v.
    literal : 0 for outcome 1 of f, 1 for outcome 0, whose sums are the set's own less the others
        (mod 2⁶⁴).
    """
    half = levels.sums.shape[1] // 2
    one, two = levels.sums[v, f], levels.sums[v, half + f]
    if literal:
        return levels.own[v, 0] - one, levels.own[v, 1] - two
    return one, two


@inner
def enter_cell(cells, one, two, loss):
    """Enter the loss of depth 2 of a set into ``cells``; returns 1 where the line had room.

    cells : uint64[WAYS · 2^k, 2], written.  In a full line the two highest bits of ``one`` choose
        which entry is overwritten.
    one, two : its fingerprint; of ``two`` only the bits of UPPER are kept.
    loss : below 2³² − 1, as the loss + 1 takes the other bits.
    """
    mask = np.uint64(cells.shape[0] // WAYS - 1)
    line = np.int64((one & mask) * np.uint64(WAYS))
    at = line + np.int64((one >> np.uint64(60)) & np.uint64(WAYS - 1))
    new = 0
    for k in range(WAYS):
        if cells[line + k, 1] == np.uint64(0):
            at, new = line + k, 1
            break
    cells[at, 0], cells[at, 1] = one, (two & UPPER) | np.uint64(loss + 1)
    return new


@inline
def loss_in_cells(cells, one, two):
    """Return the loss of depth 2 that is remembered of a set, or −1 where none is.

    cells : uint64[WAYS · 2^k, 2]; one, two : the set's fingerprint, as ``enter_cell`` took it.
    """
    mask = np.uint64(cells.shape[0] // WAYS - 1)
    line = np.int64((one & mask) * np.uint64(WAYS))
    for k in range(WAYS):
        if (
            cells[line + k, 0] == one
            and cells[line + k, 1] & UPPER == two & UPPER
            and cells[line + k, 1] != np.uint64(0)
        ):
            return np.int64(cells[line + k, 1] & LOWER) - 1  # loss + 1 is kept: 0 is an empty cell
    return np.int64(-1)


@jit(borrow=True)
def move_cells(old, new):
    """Enter all of ``old`` into a larger memory; returns how many are in it.

    old, new : uint64[WAYS · 2^k, 2]; new : zeros, written.
    """
    number = 0
    for k in range(old.shape[0]):
        if old[k, 1] != np.uint64(0):
            number += enter_cell(new, old[k, 0], old[k, 1], np.int64(old[k, 1] & LOWER) - 1)
    return number


@inner
def finish_feature(task, v, f):
    """Close feature f, of which nothing more is to be learnt: its tree may be the best known, and
    its bounds go to all literals.

    Writes ``todo`` of level v, ``ub`` and ``feature`` of its frame, and by similarity ``low`` of
    all features; ``scratch.shared`` is overwritten.
    """
    levels = task.levels
    frame = levels.frame[v]
    levels.todo[v, f] = False
    both = levels.up[v, 0, f] + levels.up[v, 1, f]
    if both < frame.ub:
        frame.ub, frame.feature, frame.one, frame.other = both, f, PAIR, PAIR
    if task.setting.similarity:
        read_row_of_pairs(levels.weight[v], 0, task.layout, f, task.scratch.shared, 0)
        propagate_to_siblings(
            task.scratch.shared,
            levels.total[v],
            levels.low[v, 0],
            levels.low[v, 1],
            f,
            frame.weight,
            task.layout.features,
        )


@inner
def propagate_to_siblings(shared, total, low1, low0, f, weight, features):
    """Raise the bounds of all h and ¬h by R(S ∧ h) ≥ R(S ∧ ℓ) − weight(S ∧ ℓ ∧ ¬h), for both
    literals ℓ of f: what a tree loses grows by no more than the weight of the rows added (B.10).

    shared : int64[features], weight of the rows with both f and h.
    total : int64[features], weight of those with h.
    low1, low0 : int64[features], in and out, bounds of h and ¬h.
    weight : of all rows of the set S.
    """
    a, b, mine = low1[f], low0[f], total[f]
    for h in range(features):
        w, t = shared[h], total[h]
        low1[h] = max(low1[h], max(a - mine + w, b - (weight - mine) + (t - w)))
        low0[h] = max(low0[h], max(b - (t - w), a - w))


@inner(wraps=True)
def look_up_literals(task, v, depth):
    """Bound the literals of an opened set by what the memory knows of them.

    depth : of the set's trees, at least 3; at 3 its literals have depth 2, whose losses are in
        ``memory.cells``.
    Writes ``todo``, ``low`` and ``up`` of level v; features that leave all rows on one side are not
    to be done.
    """
    levels, memory, setting = task.levels, task.memory, task.setting
    frame = levels.frame[v]
    for f in range(task.layout.features):
        inside = levels.total[v, f]
        levels.todo[v, f] = 0 < inside < frame.weight
        if not levels.todo[v, f]:
            continue
        learnt = False
        for literal in range(2 if asks_memory(setting, depth) else 0):
            one, two = fingerprint_of_literal(levels, v, f, literal)
            if depth == 3:
                loss = loss_in_cells(memory.cells, one, two)
                if loss >= 0:
                    levels.low[v, literal, f] = levels.up[v, literal, f] = loss
                    learnt = True
            else:
                node = find(memory.slots, one + np.uint64(depth - 1) * TURN, two)
                if node >= 0:
                    levels.low[v, literal, f] = max(levels.low[v, literal, f], memory.lower[node])
                    levels.up[v, literal, f] = memory.upper[node]
                    learnt = True
        if learnt:
            done = (
                levels.low[v, 0, f] >= levels.up[v, 0, f]
                and levels.low[v, 1, f] >= levels.up[v, 1, f]
            )
            finish_feature(task, v, f)
            levels.todo[v, f] = not done


@inner
def bound_opened_set(task, v):
    """Bound the set and its literals, all pairs of which are counted, and keep which features come
    first.

    The phase becomes CHOOSE.  Writes ``ub``, ``feature`` and ``solved`` of the frame, and ``key``
    of level v; ``scratch.key`` is overwritten.
    """
    layout = task.layout
    levels = task.levels
    scratch = task.scratch
    setting = task.setting
    memory = task.memory
    frame, depth = levels.frame[v], setting.depth - v
    side = Side(levels.margin[v], levels.whole[v])
    leaf = loss_from_correct(setting, frame.weight, correct_of_leaf(setting, levels.whole[v]))
    two = loss_from_correct(setting, frame.weight, correct_of_depth_two(task, v, side, 0))
    frame.ub, frame.feature = (two, PAIR) if two < leaf else (leaf, LEAF)
    node = frame.node
    if memory.upper[node] < frame.ub:
        frame.ub, frame.feature = memory.upper[node], memory.feature[node]
    for h in range(layout.features):
        levels.key[v, h] = np.int64(scratch.key[h])
    if depth <= 2 or frame.ub == 0:
        frame.solved = 1
    else:
        look_up_literals(task, v, depth)
    frame.phase = CHOOSE


@inner
def choose_feature(task, v):
    """Return the feature to search next, or −1: the least sum of bounds; the most right rows with
    depth 2 among equals.

    Only a sum below the budget and below the least loss known counts.  In mode GREEDY a set of more
    than depth 3 has one turn: the feature with the most right rows.
    """
    levels, setting = task.levels, task.setting
    frame = levels.frame[v]
    low1 = levels.low[v, 0]
    low0 = levels.low[v, 1]
    key = levels.key[v]
    todo = levels.todo[v]
    greedy = task.state[0].mode == GREEDY and setting.depth - v > 3
    least, most, found = min(frame.budget, frame.ub), np.int64(-1), np.int64(-1)
    if frame.solved or (greedy and frame.current >= 0):
        return found
    if greedy:
        for h in range(task.layout.features):
            if todo[h] and key[h] > most and low1[h] + low0[h] < least:
                most, found = key[h], h
        return found
    for h in range(task.layout.features):
        both = low1[h] + low0[h]
        if todo[h] and (both < least or (both == least and found >= 0 and key[h] > most)):
            least, most, found = both, key[h], h
    return found


@inner
def close_set(task, v):
    """Enter the bounds of the set of level v into the memory, pop it, and bound its parent's
    literal.

    The lower bound is the least loss known where the set is solved, else no more than the least
    ``low`` of both sides of any feature that divides it.
    """
    levels, memory = task.levels, task.memory
    frame = levels.frame[v]
    node, lower = frame.node, frame.ub
    if not frame.solved:
        for h in range(task.layout.features):
            if 0 < levels.total[v, h] < frame.weight:
                lower = min(lower, levels.low[v, 0, h] + levels.low[v, 1, h])
    memory.lower[node] = max(memory.lower[node], lower)
    if frame.ub < memory.upper[node]:
        memory.upper[node], memory.feature[node] = frame.ub, frame.feature
    task.state[0].level -= 1
    if v > 0:
        tighten_bounds_of_literal(levels, memory, v - 1, node)


@inline
def tighten_bounds_of_literal(levels, memory, v, node):
    """Bound the current literal of level v by what the memory knows of set ``node``.

    levels : ``low`` and ``up`` of level v are written.
    """
    f, literal = levels.frame[v].current, levels.frame[v].side
    levels.low[v, literal, f] = max(levels.low[v, literal, f], memory.lower[node])
    levels.up[v, literal, f] = min(levels.up[v, literal, f], memory.upper[node])


@inline
def outcome_of_row(table, row, f):
    """Return a row's outcome of feature f, 0 or 1."""
    return np.int64(table.bits[table.place[row] + (f >> 5)] >> (f & 31)) & 1


@inner
def push_child(task, v, node, budget, words):
    """Push the rows with the current literal of level v as level v + 1.

    node : number of the set in the memory.
    budget : the loss below which it matters.
    words : its fingerprint, two uint64, without the depth.
    Overwrites level v + 1 (``rows``, ``low``, ``up``, ``own`` and its frame); its phase is OPEN.
    """
    levels, table = task.levels, task.table
    frame, child = levels.frame[v], levels.frame[v + 1]
    f, wanted = frame.current, 1 - frame.side
    number, rows, into = np.int64(0), levels.rows[v], levels.rows[v + 1]
    for i in range(frame.rows):
        into[number] = rows[i]
        number += np.int64(outcome_of_row(table, rows[i], f) == wanted)
    for literal in range(2):
        fill_array(levels.low[v + 1, literal], 0, task.layout.stride, 0)
        fill_array(levels.up[v + 1, literal], 0, task.layout.stride, HUGE)
    levels.own[v + 1, 0], levels.own[v + 1, 1] = words
    child.rows, child.budget, child.node, child.phase = number, budget, node, OPEN
    child.current, child.solved = -1, 0
    task.state[0].level = v + 1


@inner(wraps=True)
def search_children(task, v):
    """Search one side of the current feature, the heavier one first, or be done with the
    feature.

    v : a level of depth above 3.  A child is pushed on level v + 1, or the phase becomes CHOOSE.
        It may enter one set into the memory, for which there must be room.
    """
    levels, memory, setting, state = task.levels, task.memory, task.setting, task.state[0]
    frame = levels.frame[v]
    f = frame.current
    greedy = state.mode == GREEDY
    limit = HUGE if greedy else min(frame.budget, frame.ub)
    low, up = levels.low[v], levels.up[v]
    heavy = np.int64(2 * levels.total[v, f] < frame.weight)
    for turn in range(2):
        side = heavy if turn == 0 else 1 - heavy
        if low[0, f] + low[1, f] >= limit:
            break
        if frame.tried >> side & 1 or low[side, f] >= up[side, f]:
            continue
        frame.tried |= 1 << side
        frame.side = side
        one, two = fingerprint_of_literal(levels, v, f, side)
        deep = np.uint64(setting.depth - v - 1) * TURN
        fresh = state.nodes
        node = find_or_enter(memory.slots, one + deep, two, fresh)
        if node == fresh:
            memory.lower[node], memory.upper[node], memory.feature[node] = low[side, f], HUGE, LEAF
            state.nodes += 1
        tighten_bounds_of_literal(levels, memory, v, node)
        budget = HUGE if greedy else limit - low[1 - side, f]
        if low[side, f] < min(up[side, f], budget):
            push_child(task, v, node, budget, (one, two))
            return
    finish_feature(task, v, f)
    frame.phase = CHOOSE


@jit
def search_limited(task, limit):
    """Search until the first set is left (FINISHED), the memory is full (NEED_ROOM) or after about
    so much work (PAUSED).

    task : Task, written; a later call goes on where this one stopped.
    limit : vectors · words to work; below 0: count only the pairs of the rows of level 0, with
        arrays that no search uses any more, for ``scratch.key``.  A kernel of its own would take as
        long to compile as half of this one.
    """
    if limit < 0:
        open_set(task, 0)
        while task.levels.frame[0].at < task.layout.features:
            count_pairs_of_set(task, 0)
        correct_of_depth_two(task, 0, Side(task.levels.margin[0], task.levels.whole[0]), 0)
        return FINISHED
    levels, setting, state, memory = task.levels, task.setting, task.state[0], task.memory
    work = np.int64(0)
    while state.level >= 0:
        if work > limit:
            return PAUSED
        v = state.level
        frame = levels.frame[v]
        if frame.phase == OPEN:
            open_set(task, v)
            if asks_memory(setting, setting.depth - v):
                sum_fingerprints(task, v)
            work += frame.rows * task.layout.chunks
        elif frame.phase == PAIRS:
            work += count_pairs_of_set(task, v)
            if frame.at >= task.layout.features:
                bound_opened_set(task, v)
                if setting.triples and not frame.solved:
                    search_triples(task)
        elif frame.phase == CHOOSE:
            f = choose_feature(task, v)
            if f < 0:
                close_set(task, v)
            elif setting.depth - v == 3:
                start_split(task, v, f)
            else:
                frame.current, frame.tried, frame.phase = f, 0, CHILD
        elif frame.phase == SPLIT:
            work += count_pairs_of_split(task, v)
            if frame.at >= task.layout.features:
                finish_split(task, v)
                frame.phase = CHOOSE
        else:
            if (
                state.nodes + 1 > memory.lower.shape[0]
                or 2 * (state.nodes + 1) > memory.slots.shape[0]
            ):
                return NEED_ROOM
            work += frame.rows
            search_children(task, v)
    return FINISHED
