"""A problem as integers: tests as bits, equal rows as one object, what each label saves there.

Every additive objective takes this form.  Object u (all rows that agree on every test) costs c_u(k)
where its leaf says k, in whole losses.  What counts is what label k saves of the worst label's
cost, weight_u(k) = max_j c_u(j) − c_u(k):

    loss of a leaf S = Σ_u Σ_k weight_u(k) − max_k Σ_u weight_u(k) + constants that every tree pays,
    summed up as ``base``.

For errors of two classes weight_u is the lead of the majority: the loss of equal rows (equivalent
points, B.9) is in ``base``. Objects that no label helps are left out of the search.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    BudgetError,
    CapabilityError,
    Context,
    Encoded,
    Family,
    Price,
    Problem,
    Task,
    TestRule,
    decimal,
    midpoints,
    rational,
    refuse_unfit,
    whole_costs,
)

MOST = 1 << 58
"""All losses together stay below, in 1/q losses, so that sixteen times as much fits into 62
bits.
"""
FINE = 34
"""Bits of the mean loss, or of 1/q, where something has to be rounded."""
SMALL, MEDIUM = 65_534, (1 << 31) - 2
"""Greatest weight of all objects together for lanes of 16, and of 32 bits."""
SORTING, LAYING = 30, 10
"""Steps for each value of a column that is sorted, or laid out by its rank."""
THRESHOLDS = 1
"""Family of a column whose test k has outcome 1 where code > k, as in
arboretum.kernels.solving.rows; any other: where code ≠ k.
"""


@attrs.frozen(eq=False)
class Prepared:
    """What a search over binary tests reads.

    bits : uint32[objects, ceil(features / 32)]; bit f % 32 of word f // 32 is the outcome of
        feature f.
    weights : int64[objects, classes], ≥ 0, the least of an object 0, never all 0.
    base : losses that every tree makes, besides those that the formula above counts; may be below
        0.
    tests : int64[features], the problem's test that each feature is; constant ones, duplicates and
        complements are left out.
    """

    bits: np.ndarray
    weights: np.ndarray
    base: int
    tests: np.ndarray


@attrs.frozen(eq=False)
class Units:
    """How integers are read: a tree is worth (q · (losses + base) + p · leaves + prices) ·
    loss_value / q.

    costs : int64[objects, labels], losses of an object by the label of its leaf.
    mass : int64[objects], weights without their common divisor, for prices.
    mass_of_row : of every training row, where all weigh alike; else 0.
    price_value : what price 1 costs per unit of mass, in 1/q losses (per path, where ``worst``: the
        costliest counts); 0: prices do not count.
    most_paid : for one test of all objects, in 1/q losses, at most.
    price_of_test : in 1/q losses, where the costliest path counts and all tests cost the same; else
        0.
    slack, slack_per_leaf : by how much rounding may have raised a tree's value; 0 where everything
        is exact, or was rounded down.
    more : by how much it may have lowered it.
    above : what λ is more than p, in 1/q losses, where it is above all losses together: then the
        best tree is a leaf, which pays it once.
    """

    loss_value: Fraction
    q: int
    p: int
    costs: np.ndarray
    mass: np.ndarray
    price_value: Fraction
    slack: Fraction
    slack_per_leaf: Fraction
    worst: bool
    above: Fraction = Fraction(0)
    more: Fraction = Fraction(0)
    mass_of_row: int = 0
    most_paid: int = 0
    price_of_test: int = 0

    @cached_property
    def unit(self) -> Fraction:
        """What 1/q loss is worth."""
        return self.loss_value / self.q

    @cached_property
    def most(self) -> int:
        """What all labels together may save, at most: sums of weights stay below."""
        from arboretum_gosdt.problem.kernels import span_of_costs

        return int(span_of_costs(self.costs)[1])

    def value(self, integer: int) -> float:
        """Return the objective's value of a value in 1/q losses, ``base`` included."""
        unit = self.unit
        if self.above:
            return float((integer + self.above) * unit)
        return int(integer) * unit.numerator / unit.denominator  # rounded once, as a Fraction is


def units_of(problem: Problem) -> Units:
    """Return the integers of a problem's objective: exact wherever they fit into 62 bits.

    Else costs are rounded (:func:`arboretum.api.whole_costs`), or λ (by half of 1/q loss per
    leaf): ``slack`` says what that may change.  Raises CapabilityError for prices that do not fit,
    and objectives that are not for these classes.

    The numbers: weights are mass · unit, factors and costs of errors have common divisors, which go
    into ``loss_value``; q is the common denominator of λ and of prices in losses.
    """
    from arboretum_gosdt.problem.kernels import span_of_costs

    objective: Any = problem.parts.objective
    mass, _, error = problem.objects.exact_weights
    rows = problem.objects.count
    mass_of_row = int(mass[0]) // max(1, int(rows[0])) if len(mass) and not error else 0
    found = whole_costs(problem)
    costs, loss_value, none = found.costs, found.unit, Fraction(0)
    bound, lam = int(span_of_costs(costs)[0]) + 1, rational(objective.lam)
    lam = lam / loss_value if lam else none
    q, per_price, per_leaf, most_paid, price_of_test = lam.denominator, none, none, 0, 0
    if objective.mu > 0:
        if error or found.more:
            raise CapabilityError(
                "weights or costs have too many digits to be priced exactly (objective.mu > 0); "
                "round them to fewer"
            )
        q, per_price = _denominator_with_prices(problem, q, loss_value, mass, bound)
        prices = [one * per_price * q for one in _distinct_prices(problem)]
        most_paid = int(prices[-1] * int(mass.sum()))
        if objective.price is Price.max and len(prices) == 1:
            price_of_test = int(prices[0])
    elif found.more:  # rounded down as costs are
        q, lam = 1, Fraction(math.floor(lam))
    elif q * bound >= MOST:
        q = 1 << max(0, min(FINE, 57 - bound.bit_length()))
        per_leaf = loss_value / (2 * q)
    # λ above all losses together: no tree but a leaf pays, whatever it is
    scaled = lam * q if lam else none
    p = min(round(scaled), q * bound)
    return Units(
        loss_value=loss_value,
        q=q,
        p=p,
        costs=costs,
        mass=mass,
        price_value=per_price * q if per_price else none,
        slack=found.slack,
        slack_per_leaf=per_leaf,
        worst=per_price > 0 and objective.price is Price.max,
        above=scaled - p if lam and lam > bound else none,
        more=found.more,
        mass_of_row=mass_of_row if (mass == mass_of_row * rows).all() else 0,
        most_paid=most_paid,
        price_of_test=price_of_test,
    )


def _denominator_with_prices(
    problem: Problem, q: int, loss_value: Fraction, mass: np.ndarray, bound: int
) -> tuple[int, Fraction]:
    """Return the common denominator of λ and of prices, in losses, and what price 1 costs per unit
    of mass, in losses.  Raises CapabilityError where they do not fit.

    q : the denominator of λ.
    loss_value : what a loss costs.
    mass : int64[objects], weights without their common divisor.
    bound : above all losses together.
    """
    prices = _distinct_prices(problem)
    objective: Any = problem.parts.objective
    # the costliest path is paid once, not per unit of mass
    masses = 1 if objective.price is Price.max else int(mass.sum())
    per_price = rational(objective.mu) / loss_value / masses
    q = math.lcm(q, *((per_price * one).denominator for one in prices))
    paid = max(prices, default=Fraction(0)) * per_price * q * masses * len(mass)
    if q * bound >= MOST or paid >= MOST:
        raise CapabilityError(
            "objective.lam, objective.mu, prices and weights do not fit into 62 bits "
            "together; give them fewer digits"
        )
    return q, per_price


def _distinct_prices(problem: Problem) -> list[Fraction]:
    """Return the distinct prices of tests, ascending and exact."""
    return [
        decimal(price)
        for price in sorted({*problem.prices.tests.tolist(), *problem.prices.raw.tolist()})
    ]


@attrs.frozen(eq=False)
class Tests:
    """All two-way tests of a problem, numbered: the fixed ones as the problem has them, then the
    thresholds of raw columns.

    codes : uint8, uint16 or uint32[columns, objects], of the coded columns, then the ranks of raw
        values.
    family : int64[columns], 1 for thresholds.
    column, index : int64[tests].
    price : float64[tests].
    """

    __test__ = False

    objects: Encoded
    codes: np.ndarray
    family: np.ndarray
    column: np.ndarray
    index: np.ndarray
    price: np.ndarray

    @property
    def first(self) -> np.ndarray:
        """int64[columns + 1]: the number of each column's first test."""
        return np.searchsorted(self.column, np.arange(len(self.codes) + 1))

    @property
    def n_ranked(self) -> int:
        """Columns of ranks: one of thresholds is one, as is each test of another family."""
        return int(np.where(self.family == THRESHOLDS, 1, np.diff(self.first)).sum())

    def select(self, which: np.ndarray) -> Tests:
        """Return some of the tests.

        which : bool[tests].
        """
        return attrs.evolve(
            self, column=self.column[which], index=self.index[which], price=self.price[which]
        )

    def outcome(self, test: int, objects: np.ndarray) -> np.ndarray:
        """Return bool[len(objects)]: whether they have outcome 1.

        objects : int64, numbers of the problem's objects.
        """
        code, k = self.codes[self.column[test], objects], self.index[test]
        found: np.ndarray = code > k if self.family[self.column[test]] == THRESHOLDS else code != k
        return found

    def rule(self, test: int) -> TestRule:
        """Return the test as the tree asks it."""
        column, fixed = int(self.column[test]), len(self.objects.features)
        k = int(self.index[test])
        if column < fixed:
            return self.objects.features[column].rule(k)
        values, ranks = self.objects.raw[:, column - fixed], self.codes[column]
        ends = values[[(ranks == k).argmax(), (ranks == k + 1).argmax()]]
        return self.objects.raw_features[column - fixed].rule(float(midpoints(ends[None])[0]))


def all_tests(
    problem: Problem, task: Task = Task.classification, context: Context = Context()
) -> Tests:
    """Return the tests of a problem; raises CapabilityError or DataError, with the way out, where
    it is none for this solver, and OutOfTime.

    task : what the objects must have, labels or targets.
    context : whose deadline raises OutOfTime before raw columns are sorted.
    """
    objects = problem.objects
    prices = problem.prices
    solver = getattr(problem.parts.solver, "name", "gosdt")
    refuse_unfit(solver, objects, prices, raw=True, two_way=True, task=task)
    codes, family, counts = objects.codes.T, [], []
    thresholds, equals = Family.thresholds, Family.equals  # a look at an enum takes a while
    for feature in objects.features:
        bins, kind = feature.n_bins, feature.family
        family.append(THRESHOLDS if kind is thresholds else 0)
        counts.append(bins if kind is equals else bins - 1 if kind is thresholds else 1)
    if objects.raw_features:
        from arboretum_gosdt.problem.ranks import ranks_of

        context.check_time(SORTING * objects.raw.size)
        ranks = ranks_of(objects.raw)
        cuts = ranks.max(axis=1)
        most = max(int(cuts.max()), int(codes.max(initial=0))) + 1
        narrow = np.uint8 if most <= 256 else np.uint16 if most <= 65536 else np.uint32
        # fewer bytes than to cast what was put together
        codes = np.concatenate([codes, ranks], dtype=narrow, casting="unsafe")
        family += [THRESHOLDS] * len(cuts)
        counts += cuts.tolist()
    column = np.repeat(np.arange(len(counts)), counts)
    first = np.cumsum([0, *counts[:-1]])
    price = np.concatenate([prices.tests, np.repeat(prices.raw, counts[len(objects.features) :])])
    return Tests(
        objects,
        np.ascontiguousarray(codes),
        np.array(family, np.int64),
        column,
        np.arange(len(column)) - first[column],
        price,
    )


@attrs.frozen(eq=False)
class Merged:
    """All rows that agree on every test as one object, those that no label helps included.

    pack : gives the bits; bits, weights, base, tests : as in :class:`Prepared`.
    costs : int64[objects, labels], losses by label.
    mass, rows : int64[objects], weight without common divisor, and training rows.
    members : int64[objects], the problem's objects in each.
    price : int64[features], in 1/q losses per unit of mass (per path).
    helps : bool[objects], whether a label saves anything.
    first : int64[objects], a row of the problem's of each.
    codes : int32[objects, columns], where all tests are thresholds: how many of each column, which
        are neighbours, have outcome 1, the first ones; None: it is not known.
    """

    units: Units
    pack: Callable[[], np.ndarray]
    weights: np.ndarray
    base: int
    tests: np.ndarray
    mass: np.ndarray
    rows: np.ndarray
    members: np.ndarray
    price: np.ndarray
    helps: np.ndarray
    costs: np.ndarray
    first: np.ndarray
    codes: np.ndarray | None = None

    @cached_property
    def bits(self) -> np.ndarray:
        """Bits as of :class:`Prepared`, packed when they are first asked for."""
        return self.pack()

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        arrays = self.bits, *attrs.astuple(self, recurse=False)
        return sum(getattr(one, "nbytes", 0) for one in arrays)

    @cached_property
    def prepared(self) -> Prepared:
        """What a search sees that asks for neither prices nor rows."""
        kept = slice(None) if self.helps.all() else self.helps
        return Prepared(self.bits[kept], self.weights[kept], self.base, self.tests)


MANY_THRESHOLDS = 400
"""Of a column, on average, from which its codes take the place of bits, where that will do: with 19
and with 171 the search for all trees took four times and twice as long by codes, with 890 a quarter
less.
"""


def merge_equal_rows(
    problem: Problem,
    tests: Tests,
    units: Units,
    context: Context = Context(),
    *,
    by_codes: bool = False,
) -> Merged:
    """Return the bits of the tests, and equal rows as one object.  Raises BudgetError, with the
    estimate, where the bits of all tests exceed the budget, and OutOfTime.

    Of tests that divide all rows alike the first is kept, or the cheapest where prices count.
    by_codes : bits may not be asked for: of many thresholds they are packed only when they are.
    """
    codes = None
    if (
        by_codes
        and not units.price_value
        and len(tests.column) >= MANY_THRESHOLDS * len(tests.codes)
        and (tests.family == THRESHOLDS).all()
    ):
        kept, of_rows = code_distinct_thresholds(tests, context)
        first, weights, helps, sums, base, costs = _merge_objects(
            problem, units, of_rows.astype(np.uint32)
        )
        codes = np.ascontiguousarray(of_rows[:, first].T)

        def pack() -> np.ndarray:
            chosen = np.zeros(len(tests.column), bool)
            chosen[kept] = True
            planes = pack_distinct_tests(tests.select(chosen), Context())[0]
            return np.ascontiguousarray(planes[:, first].T)
    else:
        order = np.argsort(tests.price, kind="stable") if units.price_value else None
        planes, kept = pack_distinct_tests(tests, context, order)
        first, weights, helps, sums, base, costs = _merge_objects(problem, units, planes)
        bits = np.ascontiguousarray(planes[:, first].T)
        pack = partial(np.asarray, bits)
    price = np.zeros(len(kept), np.int64)
    if units.price_value:
        price[:] = [int(units.price_value * decimal(one)) for one in tests.price[kept].tolist()]
    mass, rows, members = sums
    return Merged(
        units=units,
        pack=pack,
        weights=weights,
        base=base,
        tests=kept,
        mass=mass,
        rows=rows,
        members=members,
        price=price,
        helps=helps,
        costs=costs,
        first=first,
        codes=codes,
    )


def code_distinct_thresholds(tests: Tests, context: Context) -> tuple[np.ndarray, np.ndarray]:
    """Return int64[features], the thresholds that are kept, as ``pack_distinct_tests`` does; and
    int32[columns, objects], of the columns that have any: how many of them are below the value.

    tests : thresholds alone.   Raises BudgetError or OutOfTime as ``merge_ranks`` does.
    """
    from arboretum.kernels.solving.fingerprints import random_words
    from arboretum_gosdt.problem.thresholds import keep_thresholds

    (columns, n), n_tests = tests.codes.shape, len(tests.column)
    context.check_time(LAYING * n * columns)
    context.room(16 * n * columns, f"the codes of {columns:,} columns of {n:,} objects")
    start = tests.first
    codes = np.empty((columns, n), np.int32)
    for column, (begin, end) in enumerate(pairwise(start.tolist())):
        below = np.zeros(int(tests.codes[column].max(initial=0)) + 1, np.int32)
        below[tests.index[begin:end] + 1] = 1
        codes[column] = below.cumsum(dtype=np.int32)[tests.codes[column]]
    kept = np.empty(n_tests, np.bool_)
    keep_thresholds(
        codes,
        start,
        random_words(n - n // 2).ravel()[:n],
        np.full(_hash_slots(n_tests), -1),
        np.zeros(n_tests, np.int64),
        np.zeros(n_tests, np.uint64),
        kept,
    )
    # of the first tests of a column, how many are kept
    many = np.concatenate([[0], kept.cumsum()])
    used = np.diff(many[start]) > 0
    for column, begin in enumerate(start[:-1].tolist()):
        if used[column] and not kept[begin : start[column + 1]].all():
            codes[column] = (many[begin:] - many[begin])[codes[column]]
    return kept.nonzero()[0], codes if used.all() else codes[used]


def pack_distinct_tests(
    tests: Tests, context: Context, order: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the bits of the tests, uint32[words, objects], and the test that each feature is,
    int64[features]: the first in ``order`` of those that divide alike.

    order : int64, the tests, as they are preferred; None: by their numbers.
    Raises BudgetError or OutOfTime where bits of all tests are too many for the context.
    """
    from arboretum.kernels.solving.fingerprints import random_words
    from arboretum_gosdt.problem import kernels

    n, n_tests = tests.codes.shape[1], len(tests.column)
    width = max(1, -(-n_tests // 32))
    context.check_time(n * n_tests)
    context.room(8 * n * width, f"{n_tests:,} tests of {n:,} objects as bits")
    planes = np.zeros((width, n), np.uint32)
    kept = np.empty(n_tests, np.int64)
    words = random_words(-(-n // 4)).view(np.uint32).ravel()[:n]
    room = kernels.Planes(
        planes,
        kept,
        words,
        np.empty(n, np.uint32),
        np.empty(n_tests, np.uint32),
        np.full(_hash_slots(n_tests), -1),
    )
    column, index = tests.column, tests.index
    if order is not None:
        column, index = column[order], index[order]
    found = kernels.pack_tests(kernels.Coded(tests.codes, tests.family, column, index), room)
    first = kept[:found]
    return planes[: -(-found // 32)], first if order is None else order[first]


def run_slices_of_steps(
    work: Callable[[int], int],
    make_room: Callable[[], bool],
    until: float | None,
    report: Callable[[], None],
) -> str:
    """Work slice by slice until the search ends, and return what ran out: "" (nothing), "seconds",
    or "memory" where ``make_room`` finds none, as
    :func:`arboretum.kernels.solving.slices.run_slices` does.

    work : takes the simple steps that are left until ``until`` (``time.monotonic()``; None: any
        number).  It begins no step that is longer, but returns TOO_LONG, and then "seconds" ran
        out.
    report : called after every slice.
    """
    from arboretum.kernels.solving.slices import FINISHED, run_slices
    from arboretum_gosdt.problem.kernels import TOO_LONG

    found = FINISHED

    def slice_of_work() -> int:
        nonlocal found
        found = work(int(min(Context(deadline=until).steps_left, 1 << 62)))
        return FINISHED if found == TOO_LONG else found

    ended = run_slices(slice_of_work, make_room, until, report)
    return "seconds" if found == TOO_LONG else ended


def refuse_many_pairs(tests: int, levels: int, needed: int, memory_bytes: int) -> None:
    """Raise BudgetError, with the ways out, where a search that counts pairs of tests on so many
    levels needs more bytes than it may take.
    """
    if needed > memory_bytes:
        ways = "raise budget.memory_mb, limit the depth, or ask fewer tests (encoder=bins)"
        raise BudgetError(
            f"the pairs of {tests:,} tests on {levels} levels take {needed / 1e6:,.0f} MB; {ways}"
        )


def unpack_bits(bits: np.ndarray, n: int) -> np.ndarray:
    """Return uint8[rows, n], the first n bits of the words of each row, a word's lowest one first.

    bits : uint[rows, words].
    """
    return np.unpackbits(
        np.ascontiguousarray(bits).view(np.uint8), axis=1, count=n, bitorder="little"
    )


def group_equal_rows(planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return int64[objects], the group of equal rows that each is in, and int64[groups], the first
    of each.

    planes : uint32[words, objects].
    """
    from arboretum_gosdt.problem import kernels

    n = planes.shape[1]
    group, first = np.empty(n, np.int64), np.empty(n, np.int64)
    groups = kernels.merge_rows(
        planes, np.empty(n, np.uint64), np.full(_hash_slots(n), -1), group, first
    )
    return group, first[:groups]


@attrs.frozen(eq=False)
class Ranked:
    """The objects as a search over cuts of columns sees them; those that no label helps are left
    out.

    ranks : int32[objects, columns], column-wise.
    weights, base : as in :class:`Prepared`.
    first_test : int64[columns], the test "rank ≤ 0" of each column; that of the next cut follows.
    objects : how many different ones there are.
    """

    ranks: np.ndarray
    weights: np.ndarray
    base: int
    first_test: np.ndarray
    objects: int


def merge_ranks(
    problem: Problem, tests: Tests, units: Units, context: Context = Context()
) -> Ranked:
    """Return the columns of ranks: one of thresholds as it is, each test of another family as one
    of two ranks.

    ``Ranked.objects`` counts also those that no label helps.  Raises BudgetError or OutOfTime where
    ranks are too many for the context.
    """
    # each test of another family is one
    per_column = np.where(tests.family == THRESHOLDS, 1, np.diff(tests.first))
    n, columns = tests.codes.shape[1], int(per_column.sum())
    context.check_time(LAYING * n * columns)
    context.room(16 * n * columns, f"the ranks of {columns:,} columns of {n:,} objects")
    first, weights, helps, _, base, _ = _merge_objects(
        problem, units, tests.codes.astype(np.uint32)
    )
    rows, source = first[helps], np.repeat(np.arange(len(per_column)), per_column)
    # the same, where no objects are left out
    kept = tests.codes if len(rows) == n else tests.codes.take(rows, axis=1)
    ranks = kept[source].astype(np.int32)
    before = np.cumsum(per_column) - per_column
    first_test = tests.first[source] + np.arange(columns) - before[source]
    if len(other := np.flatnonzero(tests.family[source] != THRESHOLDS)):
        ranks[other] = ranks[other] != tests.index[first_test[other], None]
    return Ranked(ranks.T, weights[helps], base, first_test, len(first))


def _merge_objects(
    problem: Problem, units: Units, planes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int, np.ndarray]:
    """Merge equal objects to groups; return the first of each, weights and helps as in
    :class:`Merged`, int64[3, groups] mass, rows and members, the base, and the costs of each label,
    int64[groups, labels].

    planes : uint32[words, objects], equal in all words where objects are.
    """
    from arboretum_gosdt.problem import kernels

    objects, (group, first) = problem.objects, group_equal_rows(planes)
    groups = len(first)
    costs = np.zeros((groups, units.costs.shape[1]), np.int64)
    sums = np.zeros((3, groups), np.int64)
    kernels.add_to_groups(group, units.costs, units.mass, objects.count, costs, sums)
    weights, helps = np.empty_like(costs), np.empty(groups, np.bool_)
    base = kernels.savings_of_labels(costs, weights, helps)
    return first, weights, helps, sums, int(base), costs


def _hash_slots(n: int) -> int:
    """Return the length of a hash table for n entries, a power of two above 2 n."""
    return 1 << (2 * n + 1).bit_length()
