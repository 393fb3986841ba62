"""The peers themselves, where they are installed: equal to each other and to all trees tried;
skipped where they are not.
"""

from __future__ import annotations

import math
import time

import attrs
import numpy as np
import pytest
from test_peers import Rule, StandIn, problem_of

from arboretum.api import CapabilityError, Context, Limits, Status
from arboretum.testing.tables import TreeParts, toy_table
from arboretum_peers.process import WORKER, PeerProcess
from arboretum_peers.solvers import PEERS
from arboretum_peers.worker import COUNTERS

pytestmark = pytest.mark.slow  # one of them compiles for a minute

PLAIN = TreeParts(multiway=False, weighted=False)


@pytest.fixture(params=PEERS, ids=lambda cls: cls.name)
def peer(request, installed):
    if why := installed(request.param):
        pytest.skip(why)
    return request.param()


@pytest.fixture(scope="module")
def installed():
    """Class → "" or why it does not load."""
    found: dict[type, str] = {}

    def ask(cls: type) -> str:
        if cls not in found:
            process = cls()._process()
            try:
                process.ready()
                found[cls] = ""
            except CapabilityError as error:
                found[cls] = str(error)
            process.end()
        return found[cls]

    return ask


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("lam", [0.0, 0.04])
def test_a_peer_finds_what_all_trees_tried_have(peer, seed, lam):
    if lam and not peer.charges:
        pytest.skip("it charges nothing for leaves")
    table = toy_table(seed, 16, PLAIN)
    problem = problem_of(lam=lam, table=attrs.evolve(table, columns=table.columns[1:]))
    if peer.limits_depth:
        problem = attrs.evolve(
            problem, parts=attrs.evolve(problem.parts, stopping=(Rule(Limits(max_depth=2)),))
        )
    elif not lam:
        pytest.skip("without a depth or a price of leaves there is nothing to find")
    found = peer.solve(problem, Context())
    truth = StandIn().solve(problem, Context())
    assert not found.notes[1:], found.notes  # what it says of its tree is true
    if peer.proves:
        assert found.status is Status.optimal, found.notes
        assert math.isclose(found.value, truth.value, rel_tol=1e-12)
    else:
        assert (found.status, found.lower_bound) == (Status.feasible, 0.0)
        assert found.value >= truth.value - 1e-12


def test_a_peer_keeps_its_limits(peer):
    table = toy_table(0, 400, PLAIN)
    rule = (Rule(Limits(max_depth=9)),) if peer.limits_depth else ()
    problem = problem_of(lam=0.0 if not peer.charges else 0.001, table=table, stopping=rule)
    peer.warm_up(problem, Context())
    start = time.monotonic()
    solution = peer.solve(problem, Context(deadline=start + 1.0, memory_bytes=500_000_000))
    assert (
        solution.value == problem.parts.objective.value(solution.tree, problem)
        and solution.lower_bound <= solution.value
    )


@pytest.mark.parametrize("name", [name for name in COUNTERS if name != "tree-praxis/near"])
def test_who_counts_good_trees_counts_as_many_as_there_are(name):
    process = PeerProcess(WORKER, name)
    try:
        process.ready()
    except CapabilityError as error:
        pytest.skip(str(error))
    x = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)] * 5, np.uint8)
    y = (x[:, 0] & x[:, 1]).astype(np.int64)
    y[:4] = 1 - y[:4]
    job = {"lam": 0.05, "depth": 3, "epsilon": 0.35, "seconds": 60.0, "bytes": None}
    found = process.ask(x, y, time.monotonic() + 60.0, **job)

    def values(rows, depth):
        """Of all trees, in errors + 2 · leaves (λ · n is 2)."""
        counts = np.bincount(y[rows], minlength=2)
        costs = [int(counts.min()) + 2]
        for column in x.T if depth else ():
            low, high = rows[column[rows] == 0], rows[column[rows] == 1]
            if len(low) and len(high):
                costs += [a + b for a in values(low, depth - 1) for b in values(high, depth - 1)]
        return costs

    every = values(np.arange(40), 3)
    assert found["trees"] == sum(value <= 1.35 * min(every) + 1e-9 for value in every) > 5
    assert found["least"] is None or math.isclose(found["least"], min(every) / 40)
