"""Which search knows a problem's limits, and is the fastest of those that do."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import attrs
import numpy as np

from arboretum.api import (
    BudgetError,
    CapabilityError,
    Context,
    Problem,
    TreeLimits,
    sure,
)
from arboretum_gosdt.problem.prepared import (
    LAYING,
    MOST,
    Merged,
    Tests,
    Units,
    merge_equal_rows,
    merge_ranks,
)

if TYPE_CHECKING:
    from arboretum_gosdt.problem.prepared import Merged
    from arboretum_gosdt.sparse.incumbent import Masses


MANY_TESTS = 700
"""From as many tests on intervals of cuts are faster than bits; between 500 and 1,000 both are
alike.
"""
CUTS_OF_COLUMN = 90
"""Without a price of leaves intervals are faster, too, where a column has so many cuts on average.
fourclass (172 a column) within 3: 1.2 ms, bits 6.8; raisin with 89 a column 19 and 29, with 39
12 and 5; pima with 98 4.1 and 5.8, with 59 2.2 and 1.4.
"""
CUTS_IN_ALL, CUTS, SHALLOW = 300, 8, 4
"""With a price of leaves, intervals are faster from so many cuts on, of which a column has so many,
and up to that depth.
raisin within 3, λ = .01: .014 s, bits 9.2; pima within 4, λ = .05: .058 and .46; pima within 5: 1.0
and .55.
"""
WEIGHTS = (1 << 31) - 2
"""All objects together weigh at most this, in 1/q losses, which lanes of 32 bits hold."""


class Search(Protocol):
    """What every search here has; values are integers, without constants."""

    @property
    def lower(self) -> int:
        """The proven bound: no tree costs less."""

    @property
    def upper(self) -> int:
        """The cost of the best tree known."""

    @property
    def subproblems(self) -> int:
        """Number of sets of objects that were solved or bounded."""

    @property
    def bytes_used(self) -> int:
        """Bytes of its arrays."""

    def run(
        self, until: float | None, memory_bytes: int | None, report: Callable[[int, int], None]
    ) -> str:
        """Go on until it is finished (""), or "seconds" or "bytes" run out; ``report(lower,
        upper)`` as they improve.
        """

    def tree(self) -> np.ndarray:
        """Return the best tree known, int64[nodes, 4]: (feature or column, −1 for a leaf; cut;
        node of outcome 1 or rank ≤ cut; the other), root first.
        """


class Which(enum.Enum):
    """The search that is to be used."""

    auto = "auto"
    sparse = "sparse"
    limited = "limited"
    intervals = "intervals"
    general = "general"


@attrs.frozen(eq=False)
class Chosen:
    """A search, and how its results are read.

    base : losses that every tree makes besides.
    leaf : what every tree costs besides, in 1/q losses: with a price of splits a leaf is not
        counted.
    tests : a search's nodes (int64[nodes, 4]) → int64[nodes, 3], (the problem's test or −1, node of
        outcome 1, node of outcome 0).
    objects : how many different ones there are.
    """

    search: Search
    base: int
    tests: Callable[[np.ndarray], np.ndarray]
    objects: int
    leaf: int = 0


def search_kind(
    which: Which, limits: TreeLimits, tests: Tests, units: Units, with_memo: bool = False
) -> Which:
    """Return the search that is used where ``which`` is asked for: that one, or for ``auto`` the
    fastest that knows the limits.

    with_memo : whether sets of rows are asked for afterwards, with their bounds, as by a deep
        proof: the sparse search has them, and without a price of leaves the limited one.
    Raises CapabilityError where the one named does not know the limits.
    """

    def fits(one: Which) -> bool:
        """Whether a search knows the problem's limits."""
        if one is Which.general:
            return True
        if limits.leaves is not None or not (limits.any_node and len(tests.column)):
            return False
        if one is Which.sparse:
            priced = bool(units.price_value)
            if units.worst:
                return bool(units.p and units.price_of_test)
            if limits.least > 1 and priced and not units.mass_of_row:
                return False
            if units.p:
                return True
            return (limits.least > 1 or priced) and most_leaves(limits, units) is not None
        if limits.least > 1 or units.price_value or limits.depth is None:
            return False
        if one is Which.limited:
            return not units.p
        return max(units.q * units.most, int(units.mass.sum())) <= WEIGHTS

    if which is Which.auto:
        many = len(tests.column) >= MANY_TESTS
        if units.p:
            shallow = limits.depth is not None and limits.depth <= SHALLOW
            fine = len(tests.column) >= max(CUTS_IN_ALL, CUTS * tests.n_ranked)
            many = shallow and fine and not with_memo
        elif not (many or with_memo):
            least = len(tests.column) // CUTS_OF_COLUMN  # columns, of ranks as of codes
            many = least >= len(tests.codes) and least >= tests.n_ranked
        first = [Which.intervals] if many else []
        return next(filter(fits, [*first, Which.sparse, Which.limited, Which.general]))
    if not fits(which):
        knows = {
            Which.sparse: "objective.lam > 0, a limit on depth, prices (of the costliest path where"
            " all tests have one) and a least leaf (with prices where all rows weigh alike); within"
            " a limit on depth, with one of the others, also objective.lam=0",
            Which.limited: "objective.lam=0 with a limit on depth",
        }.get(which, "a limit on depth, no prices, and costs and λ that fit into 31 bits together")
        raise CapabilityError(
            f"solver.search={which.name} knows {knows}, and no more; choose solver.search=auto"
        )
    return which


def most_leaves(limits: TreeLimits, units: Units) -> int | None:
    """Return how many leaves a tree has at most, where a leaf costs nothing and the depth is
    limited, 1 where it costs something; None where nothing limits them, or a loss that costs as
    much would be too large a number.
    """
    if units.p:
        return 1
    if limits.depth is None:
        return None
    most = min(1 << min(limits.depth, 62), len(units.costs))
    paid = units.most_paid * limits.depth
    return most if (units.q * units.most + paid) * most < MOST else None


def choose_search(
    problem: Problem,
    limits: TreeLimits,
    tests: Tests,
    units: Units,
    which: Which,
    context: Context,
    without: tuple[str, ...] = (),
    threads: int = 1,
    merged: Merged | None = None,
) -> Chosen:
    """Prepare the problem for a search.

    merged : the problem's equal rows, where they are known.
    without : its bounds that are not used.
    threads : of the sparse search.

    Raises CapabilityError where the one that was named does not know its limits, or knows no such
    bound; BudgetError where it cannot begin.
    """
    which = search_kind(which, limits, tests, units)
    known = bounds_of_search(which)
    if unheard := [name for name in without if name not in known]:
        has = f"has the bounds {', '.join(known)}" if known else "has no bounds to leave out"
        raise CapabilityError(f"solver.without: the search {which.name} {has}; got {unheard[0]!r}")
    if which is Which.intervals:
        return _interval_search(problem, limits, tests, units, context)
    merged = merged or merge_equal_rows(problem, tests, units, context)
    prepared = merged.prepared
    if which is not Which.general and len(prepared.weights) and len(prepared.tests):
        search = _search_on_bits(which, merged, limits, without, threads, context)
    else:
        search = _general_search(problem, limits, merged, units, context)

    return chosen_of_merged(search, merged)


def chosen_of_merged(search: Search, merged: Merged) -> Chosen:
    """Return a search whose nodes have the features of merged rows."""

    def in_tests(nodes: np.ndarray) -> np.ndarray:
        found = nodes[:, [0, 2, 3]]
        inner = found[:, 0] >= 0
        found[inner, 0] = merged.tests[found[inner, 0]]
        return found

    return Chosen(search, merged.base, in_tests, len(merged.first))


def bounds_of_search(which: Which) -> tuple[str, ...]:
    """Return the names of the bounds that a search may do without."""
    if which is Which.sparse:
        from arboretum_gosdt.sparse.search import BOUNDS

        return tuple(BOUNDS)
    return ("similarity", "cells", "greedy") if which is Which.limited else ()


def _search_on_bits(
    which: Which,
    merged: Merged,
    limits: TreeLimits,
    without: tuple[str, ...],
    threads: int,
    context: Context,
) -> Search:
    """Return the sparse search or the limited one, for objects of equal rows.

    limits : of depth, and for the sparse search alone of rows in a leaf; it needs none of depth.
    without : names of bounds that are not used.
    threads : of the sparse search.
    """
    if which is Which.sparse:
        return _sparse_search(merged, limits, without, threads, context)
    from arboretum_gosdt.depth.search import LimitedSearch

    prepared = merged.prepared
    # no tree asks more on a path
    deepest = min(limits.depth or 0, len(prepared.tests), len(prepared.bits) - 1)
    return LimitedSearch(
        prepared.bits,
        prepared.weights,
        len(prepared.tests),
        deepest,
        **dict.fromkeys(without, False),
    )


def _sparse_search(
    merged: Merged, limits: TreeLimits, without: tuple[str, ...], threads: int, context: Context
) -> Search:
    """Return the sparse search, alone or as a team, or what makes one of it that knows the limits.

    threads : each of several gets its share of the bytes; where the depth is paid there is one.
    """
    from arboretum_gosdt.sparse.incumbent import Masses
    from arboretum_gosdt.sparse.search import SparseSearch

    prepared, units = merged.prepared, merged.units
    most = sure(most_leaves(limits, units))
    paid = None
    if units.price_value and not units.worst:
        paid = Masses(merged.mass, merged.price * most)
    masses = paid
    if limits.least > 1:
        masses = Masses(merged.rows, 0 * merged.price, limits.least)
        if paid:
            masses = paid._replace(least=limits.least * units.mass_of_row)
    # objects that no label helps pay for tests, and count as rows of a leaf
    objects = prepared if masses is None else merged

    def search(depth: int | None, masses: Masses | None = masses, parts: int = threads) -> Any:
        """Return a search within a depth, with a share of the bytes."""
        room = None if context.memory_bytes is None else context.memory_bytes // parts
        leaf, loss = units.p or 1, units.q * most
        asked = (objects.bits, objects.weights, len(prepared.tests), leaf, loss, depth, without)
        if threads == 1 or units.worst:
            return SparseSearch(*asked, masses=masses, memory_bytes=room)
        from arboretum_gosdt.sparse.team import SparseTeam

        return SparseTeam(threads, *asked, masses=masses, memory_bytes=room)

    if units.worst:
        from arboretum_gosdt.sparse.paid_depth import PaidDepth

        return PaidDepth(lambda depth: search(depth, parts=1), limits.depth, units.price_of_test)
    if limits.least > 1 and units.p and threads == 1 and not without:
        from arboretum_gosdt.sparse.least_leaf import LeastLeafSearch

        with suppress(BudgetError):  # of both; one may fit
            return LeastLeafSearch(
                search(limits.depth, parts=2), search(limits.depth, paid, parts=2)
            )
    if not units.p:
        from arboretum_gosdt.sparse.free_leaves import FreeLeaves

        return FreeLeaves(search(limits.depth), most)
    found: Search = search(limits.depth)
    return found


def _general_search(
    problem: Problem, limits: TreeLimits, merged: Merged, units: Units, context: Context
) -> Search:
    """Return the general search.  Raises BudgetError where seconds or bytes are too few for the
    outcomes of all tests.
    """
    from arboretum_gosdt.general.known import ANY, Bounds
    from arboretum_gosdt.general.search import GeneralSearch
    from arboretum_gosdt.general.splits import SplitRules

    # a byte per outcome, and once more while they are made
    needed = 2 * len(merged.bits) * len(merged.tests)
    context.check_time(LAYING * needed)
    context.room(
        needed, f"{len(merged.tests):,} tests of {len(merged.bits):,} objects in the general search"
    )
    bounds = Bounds(*(ANY if most is None else most for most in (limits.depth, limits.leaves)))
    # masses are whole: a node is light where its mass is at most this
    light = (
        math.floor(limits.light * float(units.mass.sum()) / float(problem.objects.weight.sum()))
        if limits.light
        else 0
    )
    return GeneralSearch(
        merged,
        units.p,
        units.q,
        SplitRules(bounds, limits.least, limits.split, light, limits.members, units.worst),
    )


def _interval_search(
    problem: Problem, limits: TreeLimits, tests: Tests, units: Units, context: Context
) -> Chosen:
    """Return the search among intervals of cuts, with what turns its cuts into tests.  Raises
    OutOfTime where seconds are too few for the ranks.

    Its nodes have the side up to the cut first, tests have outcome 1 above it: ``Chosen.tests``
    exchanges them.
    """
    from arboretum_gosdt.continuous.search import IntervalSearch

    ranked = merge_ranks(problem, tests, units, context)
    context.check_time(LAYING * ranked.ranks.size)
    depth = min(limits.depth or 0, max(0, len(ranked.ranks) - 1))
    search = IntervalSearch(ranked.ranks, units.q * ranked.weights, depth, units.p)

    def in_tests(nodes: np.ndarray) -> np.ndarray:
        found = nodes[:, [0, 3, 2]]  # what is above the cut has outcome 1
        inner = found[:, 0] >= 0
        found[inner, 0] = ranked.first_test[found[inner, 0]] + nodes[inner, 1]
        return found

    return Chosen(search, ranked.base, in_tests, ranked.objects, units.p)
