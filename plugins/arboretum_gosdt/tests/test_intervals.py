"""The search over intervals of cuts against brute force over all trees."""

from __future__ import annotations

import time
from functools import cache

import numpy as np
import pytest

from arboretum.testing.effort import tries
from arboretum_gosdt.continuous import search as intervals
from arboretum_gosdt.continuous.loop import search_intervals
from arboretum_gosdt.continuous.parts import measure_sides
from arboretum_gosdt.continuous.search import IntervalSearch
from arboretum_gosdt.problem.ranks import ranks_of


def least_loss(ranks, weights, depth, price=0):
    """Over all trees, by trying every cut of every column.

    price : of every split.
    """
    return least_losses(ranks, weights, depth, price)[0]


def least_losses(ranks, weights, depth, price=0):
    """The same, and by first cut, (column, rank) → loss."""

    @cache
    def least(rows, depth):
        sums = weights[list(rows)].sum(0)
        best = int(sums.sum() - sums.max())
        if depth == 0 or best == 0:
            return best
        for column in range(ranks.shape[1]):
            for cut in sorted({int(ranks[row, column]) for row in rows})[:-1]:
                best = min(best, price + least_of_sides(rows, column, cut, depth - 1))
        return best

    def least_of_sides(rows, column, cut, depth):
        left = tuple(row for row in rows if ranks[row, column] <= cut)
        return least(left, depth) + least(tuple(row for row in rows if row not in left), depth)

    rows = tuple(range(len(ranks)))
    by_cut = {
        (column, cut): price + least_of_sides(rows, column, cut, depth - 1)
        for column in range(ranks.shape[1] if depth else 0)
        for cut in sorted(set(ranks[:, column].tolist()))[:-1]
    }
    return least(rows, depth), by_cut


def loss_of(ranks, weights, tree, price=0):
    """What a tree loses, with the best label in every leaf."""
    place = np.zeros(len(ranks), np.int64)
    while True:
        column = tree[place, 0]
        inner = np.flatnonzero(column >= 0)
        if not len(inner):
            break
        at = place[inner]
        left = ranks[inner, column[inner]] <= tree[at, 1]
        place[inner] = np.where(left, tree[at, 2], tree[at, 3])
    sums = np.zeros((len(tree), weights.shape[1]), np.int64)
    np.add.at(sums, place, weights)
    splits = int((tree[:, 0] >= 0).sum())
    return int(sums.sum() - sums.max(1, initial=0).sum()) + price * splits


def tiny_table(seed):
    """Up to 13 rows, 4 columns and 4 classes; ties, rows that nothing saves, weights that need
    lanes of 32 bits.
    """
    generator = np.random.default_rng([seed, 4])
    rows, columns, classes = (int(generator.integers(1, most)) for most in (14, 5, 5))
    ranks = generator.integers(0, int(generator.integers(1, 12)), (rows, columns)).astype(np.int32)
    weights = generator.integers(0, 4, (rows, classes))
    if generator.random() < 0.5:
        weights = np.zeros((rows, classes), np.int64)
        weights[np.arange(rows), generator.integers(0, classes, rows)] = generator.integers(
            1, 4, rows
        )
    scale = int(generator.choice([1, 1, 1, 60, 5000]))
    return ranks, weights * scale


def nothing(lower, upper):
    """Hear the bounds, and say nothing."""


def check(seed, depths=(0, 1, 2, 3, 4)):
    ranks, weights = tiny_table(seed)
    for depth in depths:
        search = IntervalSearch(ranks, weights, depth)
        assert search.run(None, None, nothing) == ""
        assert (
            search.lower
            == search.upper
            == least_loss(ranks, weights, depth)
            == loss_of(ranks, weights, search.tree())
        ), (seed, depth)
        assert height(search.tree()) <= depth


def height(tree, node=0):
    return (
        0
        if tree[node, 0] < 0
        else 1 + max(height(tree, tree[node, 2]), height(tree, tree[node, 3]))
    )


def check_with_price(seed, depths=(1, 2, 3, 4)):
    """The least cost, and that of the trees by their first cut, as far as the margin reaches."""
    ranks, weights = tiny_table(seed)
    generator = np.random.default_rng([seed, 6])
    leaf = int(weights.sum() - weights.sum(0).max())
    for depth in depths:
        price, margin = (int(generator.integers(0, leaf // most + 2)) for most in (3, 2))
        margin *= int(generator.integers(0, 2))
        search = IntervalSearch(ranks, weights, depth, price, margin)
        assert search.run(None, None, nothing) == ""
        least, by_cut = least_losses(ranks, weights, depth, price)
        assert (
            search.lower == search.upper == least == loss_of(ranks, weights, search.tree(), price)
        ), (seed, depth, price)
        assert height(search.tree()) <= depth
        if not search.plain:
            check_bounds(search, least, by_cut)


def check_bounds(search, least, by_cut):
    bounds, sides = search.bounds_of_cuts()
    for (column, cut), loss in by_cut.items():
        at = search.used.tolist().index(column)
        at = sum(search.highest[:at]) + cut
        found, both = int(bounds[at]), sides[:, at]
        assert found <= loss
        if search.margin:
            assert found == loss or min(found, loss) >= least + search.margin
            assert (loss < least + search.margin) == (both >= 0).all()
        if (both >= 0).any():
            left = search.columns[column] <= cut
            assert both.tolist() == [
                least_loss(search.columns.T[s], search.weights[s], search.depth - 1, search.price)
                for s in (~left, left)
            ]


@pytest.mark.parametrize("seed", range(tries(300)))
def test_least_cost_with_a_price_of_splits(seed):
    check_with_price(seed, (1 + seed % 3, 4))


@pytest.mark.parametrize("seed", range(8))
def test_all_cuts_within_the_margin_are_solved(seed):
    ranks, weights = middle_table(seed, rows=30, columns=3, classes=2 + seed % 2, values=8)
    for depth, price in ((2, 1), (3, 2)):
        search = IntervalSearch(ranks, weights, depth, price, margin=3)
        assert search.run(None, None, nothing) == ""
        least, by_cut = least_losses(ranks, weights, depth, price)
        assert search.upper == least
        check_bounds(search, least, by_cut)


@pytest.mark.compiled
@pytest.mark.slow
def test_least_cost_with_a_price_of_splits_of_thousands_of_tables():
    for seed in range(1000, 1000 + tries(3000)):
        check_with_price(seed)


@pytest.mark.parametrize("seed", range(tries(300)))
def test_least_loss_of_all_trees(seed):
    check(seed, (seed % 4, 4))


@pytest.mark.compiled
@pytest.mark.slow
def test_least_loss_of_all_trees_of_thousands_of_tables():
    for seed in range(1000, 1000 + tries(3000)):
        check(seed)


def middle_table(seed, rows=120, columns=5, classes=2, values=40):
    """Labels that follow two columns, with noise."""
    generator = np.random.default_rng([seed, 5])
    ranks = generator.integers(0, values, (rows, columns)).astype(np.int32)
    label = (
        (ranks[:, 0] + ranks[:, 1] // 2 + generator.integers(0, values // 2, rows))
        * classes
        // (2 * values)
    )
    weights = np.zeros((rows, classes), np.int64)
    weights[np.arange(rows), np.minimum(label, classes - 1)] = generator.integers(1, 3, rows)
    return ranks, weights


@pytest.mark.compiled
@pytest.mark.parametrize("columns", [3, 9, 20, 40])
@pytest.mark.parametrize("classes", [3, 6, 8, 12, 23])
def test_of_many_classes_those_that_matter_are_measured(classes, columns):
    """Classes alike, so that any may be a side's best, or of which a few are most of the rows; a
    column in many blocks or in one, in one vector or more; fewer than five classes, than nine, and
    more.  Both sides of every cut have the least loss with one more split.
    """
    for seed in range(tries(80)):
        generator = np.random.default_rng([seed, classes, columns])
        n = int(generator.integers(20, 90))
        ranks = generator.integers(0, int(generator.integers(2, 7)), (n, columns)).astype(np.int32)
        share = generator.random(classes) ** (0, 0, 4)[seed % 3]
        weights = np.zeros((n, classes), np.int64)
        label = generator.choice(classes, n, p=share / share.sum())
        weights[np.arange(n), label] = generator.integers(1, 4, n)
        if seed % 3 == 1:  # no column says anything, but of the rarest class
            label = np.repeat(np.arange(classes), [2, *[4] * (classes - 1)])
            weights = np.eye(classes, dtype=np.int64)[label]
            ranks = np.repeat(np.arange(len(label), dtype=np.int32)[:, None] % 2, columns, axis=1)
            ranks[:, 0] += label > 0
        search = IntervalSearch(ranks, weights, 2)
        if search.plain:
            continue
        search.layout = search.layout[0], (1, 2, 4)[seed // 3 % 3]
        assert search._allocate(None)
        given = search.plan, search.tables, search.state
        search_intervals(*given, -1)  # the first frame, and no more
        for column, cut in [(0, 0), (columns // 2, 1), (columns - 1, int(ranks.max()))]:
            left = ranks[:, search.used[column]] <= cut
            measure_sides(*given, 0, column, cut, int(weights[left].sum()))
            assert search.state.out[:2].tolist() == [
                least_loss_with_one_split(ranks[side], weights[side]) for side in (left, ~left)
            ]


def value_of(ranks, weights, depth, memory=None):
    search = IntervalSearch(ranks, weights, depth)
    assert search.run(None, memory, nothing) == ""
    assert search.lower == search.upper == loss_of(ranks, weights, search.tree())
    return search.upper


@pytest.mark.compiled
@pytest.mark.parametrize(("seed", "classes"), [(0, 2), (1, 2), (2, 3), (3, 5)])
def test_the_value_is_the_same_whatever_is_held(seed, classes, monkeypatch):
    ranks, weights = middle_table(seed, classes=classes)
    for depth in (2, 3, 4) if classes == 2 else (2, 3):
        found = value_of(ranks, weights, depth)
        assert value_of(ranks, 40000 * weights, depth) == 40000 * found  # 32 bits
        assert value_of(np.repeat(ranks, 2, 1)[:, ::-1], weights, depth) == found
        assert value_of(ranks.max() - ranks, weights, depth) == found
        with monkeypatch.context() as patch:
            patch.setattr(intervals, "LISTS", 40)  # few sets leave lists
            patch.setattr(intervals, "RANK_BYTES", 1)  # ranks of one column at a time
            assert value_of(ranks, weights, depth) == found


@pytest.fixture
def strips_at_once(monkeypatch):
    """Strips of few rows, made before the first cut is looked at."""
    for name, value in (
        ("STEPS_WITHOUT_STRIPS", 0),
        ("PATIENCE", 0.0),
        ("PATIENCE_OF_MANY", 0.0),
        ("ROWS_OF_STRIP", 2),
    ):
        monkeypatch.setattr(intervals, name, value)
    return monkeypatch


def look_up_all(patch, seed):
    """Sides of every cut are looked up, in families of few sets or of many, with a place for one
    of them, for a few, or for all.
    """
    sets, places = (2, 5, 1000)[seed % 3], (1, 7, 1 << 12)[seed // 3 % 3]
    patch.setattr(intervals, "LONG_PASS", 0)
    patch.setattr(intervals, "SETS_OF_FAMILY", sets)
    patch.setattr(intervals, "MEASURED_OF_FAMILY", sets)
    patch.setattr(intervals, "FAMILY_BYTES", places * (20 * sets + 16))


@pytest.mark.parametrize("seed", range(tries(60)))
def test_least_loss_of_all_trees_with_sets_looked_up(seed, monkeypatch):
    look_up_all(monkeypatch, seed)
    check(seed, (3, 4))


@pytest.mark.compiled
@pytest.mark.slow
def test_least_loss_with_sets_looked_up_of_thousands_of_tables(monkeypatch):
    for seed in range(8000, 8000 + tries(2000)):
        look_up_all(monkeypatch, seed)
        check(seed, (3, 4, 5))


def losses_of_families(search, cuts):
    """Yield, of every set of a family that is remembered, its rows, bool, and what is said of its
    weight and its loss.
    """
    families, n = (search.state.pairs, search.state.triples)[cuts - 2], 2 * len(search.used)
    mass = search.weights.sum(1)
    for key, count, sets in zip(families.key, families.count, families.sets, strict=True):
        for *weights, weight, loss in sets.T[:count].tolist() if key >= 0 else ():
            rows, rest = np.ones(len(mass), bool), int(key)
            for k in reversed(range(cuts)):
                column, side = search.columns[search.used[rest % n // 2]], rest % 2
                rest //= n
                sides = [(column > cut) == bool(side) for cut in np.unique(column)]
                rows &= next(side for side in sides if mass[side].sum() == weights[k])
            yield rows, weight, loss


@pytest.mark.compiled
@pytest.mark.parametrize(("depth", "classes"), [(3, 2), (3, 4), (4, 2), (4, 3)])
def test_sets_that_are_remembered_have_the_loss_of_their_rows(depth, classes, monkeypatch):
    look_up_all(monkeypatch, 8)
    ranks, weights = middle_table(1, 60, 3, classes, 12)
    search = IntervalSearch(ranks, weights, depth)
    assert search.run(None, None, nothing) == ""
    seen, keys = 0, (search.state.pairs, search.state.triples)[depth - 3].key
    # 2 · 3 columns and sides: three cuts of which the rows above are meant, or two
    assert any(all(key // 6**k % 2 for k in range(depth - 1)) for key in keys[keys >= 0])
    for rows, weight, loss in losses_of_families(search, depth - 1):
        seen += 1
        assert weight == weights[rows].sum()
        assert loss == least_loss_with_one_split(ranks[rows], weights[rows])
    assert seen > 50
    if depth == 4:
        for rows, weight, loss in losses_of_families(search, 2):
            assert weight == weights[rows].sum()
            assert loss <= least_loss(ranks[rows], weights[rows], 2)


@pytest.mark.compiled
@pytest.mark.parametrize("seed", range(8))
def test_sets_looked_up_change_no_value_and_save_passes(seed, monkeypatch):
    classes, depth = (2, 2, 3, 5)[seed % 4], 3 + seed // 4
    look_up_all(monkeypatch, 8)
    ranks, weights = middle_table(seed, 500 // depth, 4, classes, 1000)
    found = {}
    for known in (True, False):
        if not known:
            monkeypatch.setattr(intervals, "FAMILY_BYTES", 0)
        search = IntervalSearch(ranks, weights, depth)
        assert search.run(None, None, nothing) == ""
        assert search.upper == loss_of(ranks, weights, search.tree())
        found[known] = search.upper, search.measured
    assert found[True][0] == found[False][0]
    assert found[True][1] < found[False][1]


@pytest.mark.compiled
def test_sets_are_looked_up_as_long_as_their_weights_fit(monkeypatch):
    """Three differences of weights are added in 32 bits."""
    look_up_all(monkeypatch, 8)
    ranks, weights = middle_table(6, 120, 4, 2, 1000)
    found, scale = value_of(ranks, weights, 4), (2**31 - 2) // int(weights.sum())
    for part in (1, 3, 5):
        assert value_of(ranks, scale // part * weights, 4) == scale // part * found


@pytest.mark.parametrize("seed", range(tries(60)))
def test_least_loss_of_all_trees_with_strips(seed, strips_at_once):
    strips_at_once.setattr(intervals, "STRIPS", (2, 8, 256)[seed % 3])
    strips_at_once.setattr(intervals, "ROWS_OF_STRIP", 1 + seed % 2)
    check(seed, (3, 4))


@pytest.mark.compiled
@pytest.mark.slow
def test_least_loss_with_strips_of_thousands_of_tables(strips_at_once):
    for seed in range(5000, 5000 + tries(2000)):
        strips_at_once.setattr(intervals, "STRIPS", (2, 8, 256)[seed % 3])
        strips_at_once.setattr(intervals, "ROWS_OF_STRIP", 1 + seed % 2)
        look_up_all(strips_at_once, seed // 6)
        check(seed, (3, 4))


@pytest.mark.compiled
@pytest.mark.parametrize("seed", range(12))
def test_strips_change_no_value_and_save_passes(seed, strips_at_once):
    classes, values = (2, 2, 3, 5)[seed % 4], (8, 40, 1000)[seed % 3]
    ranks, weights = middle_table(seed, 400, 4, classes, values)
    if seed > 8:
        weights = weights * 40000  # lanes of 32 bits
    found = {}
    for strips in (True, False):
        strips_at_once.setattr(intervals, "STRIP_BYTES", 1 << 27 if strips else 0)
        search = IntervalSearch(ranks, weights, 3)
        assert search.run(None, None, nothing) == ""
        assert search.upper == loss_of(ranks, weights, search.tree())
        assert (search.plan.fine > 0) == strips
        found[strips] = search.upper, search.measured
    assert found[True][0] == found[False][0]
    assert found[True][1] < found[False][1] or values == 8


def least_loss_with_one_split(ranks, weights):
    """Over all cuts of all columns, of sets of rows."""
    best = weights.sum() - weights.sum(0).max(initial=0)
    for column in ranks.T:
        for cut in np.unique(column):
            left = column <= cut
            sides = weights[left].sum(0), weights[~left].sum(0)
            best = min(best, weights.sum() - sum(side.max(initial=0) for side in sides))
    return int(best)


@pytest.mark.compiled
@pytest.mark.parametrize(("seed", "classes"), [(0, 2), (1, 2), (2, 3), (3, 6)])
def test_strips_have_the_least_loss_of_their_rows(seed, classes, strips_at_once):
    strips_at_once.setattr(intervals, "STRIPS", 4)
    ranks, weights = middle_table(seed, 90, 3, classes, (7, 60)[seed % 2])
    search = IntervalSearch(ranks, weights, 3)
    assert search.run(None, None, nothing) == ""
    plan, tables, columns = search.plan, search.tables, 3
    assert plan.fine == 4
    assert tables.spent[0, 1] == columns * columns
    n, strips = int(tables.shape[0, 0]), tables.strips[0]
    rank = tables.rank[0].reshape(columns, n + 1)[:, :n].T
    rows = np.zeros((n, classes), np.int64)
    rows[np.arange(n), tables.label[0]] = tables.weight[0]
    block = strips[tables.starts[:columns] + rank]
    width, sides = plan.fine + 1, 2 * plan.coarse
    losses = strips[plan.losses : plan.losses + columns * columns * sides * width]
    losses = np.diff(losses.reshape(columns, columns, sides, width))
    coarse, fine = block * plan.coarse // 256, block * plan.fine // 256
    assert all(np.ptp(np.bincount(f, minlength=4)) <= 30 for f in fine.T)
    for f in range(columns):
        for g in range(columns):
            for side in (0, 3, plan.coarse - 1, plan.coarse, plan.coarse + 7, sides - 1):
                if side < plan.coarse:
                    mine = coarse[:, f] <= side
                else:
                    mine = coarse[:, f] >= side - plan.coarse
                for j in range(plan.fine):
                    inside = mine & (fine[:, g] == j)
                    assert losses[f, g, side, j] == least_loss_with_one_split(
                        rank[inside], rows[inside]
                    )


@pytest.mark.compiled
@pytest.mark.parametrize("rows", [4000, 40000])
def test_sums_of_8_bits_are_put_into_wider_lanes_before_they_are_too_large(rows):
    # one class first: sums of a block grow to all of its weight
    generator = np.random.default_rng(11)
    label = (np.arange(rows) >= rows // 2).astype(int)
    ranks = np.column_stack([np.arange(rows), generator.permutation(rows)]).astype(np.int32)
    ranks //= max(1, rows // 8000)  # ranks of 16 bits
    weights = np.zeros((rows, 2), np.int64)
    weights[np.arange(rows), label ^ (generator.random(rows) < 0.1)] = generator.integers(
        1, 4, rows
    )
    search = IntervalSearch(ranks, weights, 2)
    assert search.run(None, None, nothing) == ""
    assert search.layout[0] == np.int8
    assert search.plan.span < search.tables.shape[0, 1]
    assert (search.tables.sums.dtype == np.int32) == (search.total >= 2**15)
    assert search.upper == loss_of(ranks, weights, search.tree())
    assert search.upper == value_of(ranks, 200 * weights, 2) // 200


def test_a_search_stops_and_goes_on(monkeypatch):
    ranks, weights = middle_table(7)
    whole = value_of(ranks, weights, 3)
    monkeypatch.setattr(intervals, "STEPS", 50)
    search, told = IntervalSearch(ranks, weights, 3), []
    assert search.run(time.monotonic() - 1, None, nothing) == "seconds"
    assert (search.lower, search.upper) == (0, loss_of(ranks, weights, search.tree()))
    assert search.run(None, 10_000, nothing) == "bytes"

    def report(lower, upper):
        told.append((lower, upper))
        if len(told) % 20 == 1:
            assert upper == loss_of(ranks, weights, search.tree())

    while search.run(time.monotonic() + 0.01, None, report):
        pass
    assert search.lower == search.upper == whole == loss_of(ranks, weights, search.tree())
    lowers, uppers = np.array(told).T
    assert len(told) > 20
    assert (np.diff(uppers) <= 0).all()
    assert (lowers <= whole).all()


def test_a_search_of_depth_2_that_is_stopped_has_a_bound(monkeypatch):
    ranks, weights = middle_table(7, rows=400, values=100)
    monkeypatch.setattr(intervals, "STEPS", 1)
    search, lowers = IntervalSearch(ranks, weights, 2), []
    assert search.run(None, None, lambda lower, _: lowers.append(lower)) == ""
    assert lowers == sorted(lowers)
    assert 0 < lowers[3 * len(lowers) // 4] <= search.upper


def test_memory_is_told_and_kept():
    ranks, weights = middle_table(3, rows=400, columns=20)
    search = IntervalSearch(ranks, weights, 3)
    budget = 3_000_000
    assert search.run(None, budget, nothing) == ""
    assert 0 < search.bytes_used <= budget
    assert search.upper == value_of(ranks, weights, 3)


def test_tables_without_anything_to_ask():
    for depth in range(4):
        assert value_of(np.zeros((3, 2), np.int32), np.array([[2, 0], [0, 3], [1, 1]]), depth) == 3
        assert value_of(np.zeros((0, 2), np.int32), np.zeros((0, 2), np.int64), depth) == 0
        assert value_of(np.zeros((2, 0), np.int32), np.array([[2, 0], [0, 3]]), depth) == 2
        assert value_of(np.arange(4, dtype=np.int32)[:, None], np.array([[1]] * 4), depth) == 0
    with pytest.raises(OverflowError, match="coarser"):
        IntervalSearch(np.array([[0], [1]]), np.array([[2**40, 0], [0, 1]]), 2)


@pytest.mark.parametrize("seed", range(5))
def test_ranks_are_dense_and_in_order(seed):
    generator = np.random.default_rng(seed)
    values = generator.choice(
        [-0.0, 0.0, 1e-300, -2.5, 3.0, 7e9, np.inf], (int(generator.integers(1, 30)), 3)
    )
    expected = np.array([np.unique(column, return_inverse=True)[1].ravel() for column in values.T])
    np.testing.assert_array_equal(ranks_of(values), expected)


@pytest.mark.parametrize("seed", range(20))
def test_ranks_of_whole_values_are_those_of_their_order_near_and_far_apart(seed):
    generator = np.random.default_rng([seed, 3])
    n, width = int(generator.integers(1, 30)), 6
    least = generator.choice([-7.0, 0.0, -(2.0**52), 2.0**52 - 9, 2.0**53, -1e300], width)
    apart = generator.choice([1, 2, 5, n], width)
    values = least + apart * generator.integers(0, 5, (n, width))
    values[0] += 0.5 * (generator.random(width) < 0.3)
    expected = np.array([np.unique(column, return_inverse=True)[1].ravel() for column in values.T])
    np.testing.assert_array_equal(ranks_of(values), expected)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.uint8])
def test_values_of_any_kind_are_ranked_as_numbers_and_minus_0_is_0(kind):
    values = np.array([[3, 0], [1, 1], [3, 0]], kind)
    assert ranks_of(values).tolist() == [[1, 0, 1], [0, 1, 0]]
    assert ranks_of(np.array([[-0.0], [0.0], [-1.0]])).tolist() == [[1, 1, 0]]
