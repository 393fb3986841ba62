"""Proofs of trees that keep constraints, against every tree with every answer of tiny tables."""

from __future__ import annotations

import json
from types import SimpleNamespace

import attrs
import numpy as np
import pytest
from tampered import with_bound
from test_constrained import brute_force, with_groups
from test_proof import problem_from
from tiny_tables import Held, limited, tiny_problem

from arboretum.api import (
    CapabilityError,
    Column,
    ColumnKind,
    Context,
    Limits,
    Prices,
    RawFeature,
    VerificationError,
)
from arboretum.proof import constrained as proof_rules, order
from arboretum.proof.check import check
from arboretum.proof.format import read
from arboretum.testing.effort import tries
from arboretum.testing.tables import bare_objects
from arboretum_gosdt.problem.objectives import Accuracy, Balanced, CostMatrix, Weighted
from arboretum_gosdt.problem.ranked import FScore
from arboretum_gosdt.solvers import constraints
from arboretum_gosdt.solvers.constrained import Constrained, ConstrainedSearch
from arboretum_gosdt.solvers.gosdt import Gosdt


def proven(problem, path, context=Context(), **fields):
    solver = Constrained(proof=str(path), **fields)
    problem = limited(problem, solver=solver)
    return solver.solve(problem, context), problem


def drawn(seed, kind):
    """A problem, the fields of the solver, and limits; None where rates are not defined."""
    rng = np.random.default_rng([seed, 78])
    lam = float(rng.choice([0.0, 0.01, 0.04, 0.1]))
    mu = float(rng.choice([0.0, 0.02, 0.05]))
    objective = [
        Accuracy(lam=lam, mu=mu),
        Balanced(lam=lam, mu=mu),
        CostMatrix(lam=lam, mu=mu, costs=[[0, 1], [2, 0]]),
    ][seed % 3 if kind != "monotone" else seed % 2]
    rows = int(rng.integers(3, 8))
    two = None if kind == "monotone" else Weighted()
    problem = tiny_problem(seed, two, raw=seed % 8 < 3, n_rows=rows, n_columns=2)
    limits = Limits(
        max_depth=2 if seed % 2 else 3,
        max_leaves=(None, 2, 3, 4)[seed % 4],
        min_leaf=2 if seed % 5 == 0 else 1,
    )
    problem = limited(problem, objective=objective, stopping=(Held(limits),))
    fields = {}
    if kind != "fair":
        fields = {"increasing": ("x0",), "decreasing": ("x1",) if seed % 3 else ()}
    if kind != "monotone":
        if len(np.unique(problem.objects.label)) != 2:
            return None
        problem = with_groups(problem, 2 + seed % 2)
        fields |= {
            "sensitive": "x1" if seed % 6 == 5 else "group",
            "parity": float(rng.choice([0.0, 0.2, 0.5])),
            "ask_sensitive": bool(seed % 4 == 1),
            "opportunity": float(rng.choice([0.1, 0.34, 1.0])),
        }
    return problem, fields, limits


def with_end(proof, **changed):
    return attrs.evolve(proof, end={**proof.end, **changed})


@pytest.mark.parametrize(
    "seeds",
    [range(120), pytest.param(range(120, 120 + tries(900)), marks=pytest.mark.slow)],
    ids=["few", "many"],
)
@pytest.mark.parametrize("kind", ["fair", "monotone", "both"])
def test_a_proof_shows_the_optimum_of_all_trees_and_answers_and_no_more(kind, seeds, tmp_path):
    tried = fronts = 0
    for seed in seeds:
        if (made := drawn(seed, kind)) is None:
            continue
        problem, fields, limits = made
        try:
            found, problem = proven(problem, tmp_path / "proof", **fields)
        except CapabilityError as error:
            assert any(
                word in str(error) for word in ("categories", "second class", "one value")
            ), error
            continue
        proof = read(tmp_path / "proof")
        accepted = check(proof, problem)
        assert not found.notes, (seed, found.notes)
        truth = brute_force(problem, problem.parts.solver, limits)
        assert accepted.value == pytest.approx(truth, abs=1e-9), seed
        assert accepted.lower_bound == accepted.value == pytest.approx(found.value, abs=1e-9)
        for fronts_by in range(-1, len(proof.end["lines"])):
            end = {"bound": proof.end["bound"] + 1, "value": None, "tree": None}
            with pytest.raises(VerificationError, match="but its records show"):
                check(with_end(proof, **end, fronts=fronts_by), problem)
        fronts += proof.end["fronts"] >= 0
        tried += 1
    assert tried > len(seeds) / 6
    assert fronts


def larger(seed, n=80, columns=5, lam=0.01, mu=0.0, **fields):
    """Of so many rows that lines need records, and leave trees; groups tell of a column."""
    rng = np.random.default_rng([seed, 81])
    x = rng.integers(0, 2, (n, columns))
    y = ((x[:, 0] & x[:, 1]) ^ x[:, 2] ^ (rng.random(n) < 0.2)).astype(int)
    problem = problem_from(x, y, Accuracy(lam=lam, mu=mu), priced=seed if mu else None)
    group = np.where(rng.random(n) < 0.7, x[:, 2], rng.integers(0, 2, n)).astype(np.int32)
    table = problem.objects.table
    more = [
        Column(name, ColumnKind.categorical, codes, tuple("abc"[: int(codes.max()) + 1]))
        for name, codes in (
            ("group", group),
            ("other", rng.permutation(group)),
            ("three", (group + rng.integers(0, 2, n)).astype(np.int32)),
        )
    ]
    objects = attrs.evolve(
        problem.objects, table=attrs.evolve(table, columns=(*table.columns, *more))
    )
    return limited(attrs.evolve(problem, objects=objects), solver=Constrained(**fields))


RATED = {"sensitive": "group", "parity": 0.1, "opportunity": 0.3}


def with_multipliers(path, fitting, **fields):
    """A proof that needs its fronts, with a line of as many multipliers as is fitting."""
    for seed in range(40):
        found, problem = proven(larger(seed), path, **fields)
        proof = read(path)
        line = proof.end["lines"][0]
        if proof.end["fronts"] >= 0 and proof.n_records > 50 and fitting(len(line[2])):
            assert check(proof, problem).lower_bound == pytest.approx(found.value)
            return problem, proof
    raise AssertionError("no table of these leaves trees to its fronts")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A proof with a multiplier."""
    path = tmp_path_factory.mktemp("proofs") / "proof"
    return with_multipliers(path, lambda n: n == 1, **RATED)


SEVERAL = {
    "two rates": RATED | {"opportunity": 0.05},
    "three groups": {"sensitive": "three", "parity": 0.1},
    "both": RATED | {"sensitive": "three", "opportunity": 0.05},
}


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """A proof with more than one multiplier in a line."""
    path = tmp_path_factory.mktemp("proofs") / "proof"
    return with_multipliers(path, lambda n: n > 1, **SEVERAL["both"])


@pytest.fixture(scope="module")
def ordered(tmp_path_factory):
    """A proof of a monotone tree that needs its list."""
    path = tmp_path_factory.mktemp("proofs") / "proof"
    for seed in range(40):
        problem = larger(seed, columns=4, n=50)
        found, problem = proven(problem, path, increasing=("x2",), decreasing=("x0",))
        proof = read(path)
        if proof.end["fronts"] >= 0 and found.tree.n_leaves > 1:
            assert check(proof, problem).lower_bound == pytest.approx(found.value)
            return problem, proof
    raise AssertionError("no table of these leaves trees to its list")


def asked(problem, **fields):
    """The same run with other constraints."""
    return limited(problem, solver=attrs.evolve(problem.parts.solver, **fields))


@pytest.mark.parametrize("which", ["written", "several", "ordered"])
def test_a_bound_that_is_raised_by_one_is_refused(which, request):
    problem, proof = request.getfixturevalue(which)
    for changed in ({}, {"tree": None, "value": None}, {"fronts": -1, "tree": None}):
        with pytest.raises(VerificationError, match="but its records show"):
            check(with_end(proof, bound=proof.end["bound"] + 1, **changed), problem)
    with pytest.raises(VerificationError, match="but its records show"):
        check(with_end(proof, fronts=-1), problem)
    with pytest.raises(VerificationError, match="may cost 2\\^61 or more"):
        check(with_end(proof, bound=(1 << 63) - 1), problem)
    # 1.5 is above a bound of 1, but no cost lies between
    half = with_end(proof, bound=proof.end["bound"] + 0.5, tree=None, value=None)
    with pytest.raises(VerificationError, match="but its records show"):
        check(half, problem)


def test_a_multiplier_that_is_negative_or_of_nothing_is_refused(written):
    problem, proof = written
    scale, grain, ((rate, g, h, number, divisor),), count = proof.end["lines"][0]
    for line in (
        [scale, grain, [[rate, g, h, -number, divisor]], count],
        [scale, grain, [[rate, g, h, number, -divisor]], count],
        [scale, grain, [[rate, g, h, number / 1.0, divisor]], count],
        [-scale, grain, [[rate, g, h, number, divisor]], count],
        [scale, grain, [[rate, g, h, number]], count],
        [scale, grain, [rate, g, h, number, divisor], count],
    ):
        with pytest.raises(VerificationError, match="names its lines"):
            check(with_end(proof, lines=[line]), problem)
    for line in (
        [scale, grain, [[rate, g, h, number, 0]], count],
        [0, grain, [[rate, g, h, number, divisor]], count],
        [scale, 0, [[rate, g, h, number, divisor]], count],
    ):
        with pytest.raises(VerificationError, match="lie above 0"):
            check(with_end(proof, lines=[line]), problem)
    for wrong in ([rate, g, 2, number, divisor], [rate, 2, h, number, divisor], [2, g, h, 1, 1]):
        with pytest.raises(VerificationError, match="which the run does not limit"):
            check(with_end(proof, lines=[[scale, grain, [wrong], count]]), problem)
    with pytest.raises(VerificationError, match="costs of a line exceed"):
        huge = [[rate, g, h, 1 << 50, 1]]
        check(with_end(proof, lines=[[scale, grain, huge, count]]), problem)


def test_other_multipliers_than_those_of_the_records_are_refused(written):
    problem, proof = written
    scale, grain, ((rate, g, h, number, divisor),), count = proof.end["lines"][0]
    for line in (
        [scale, grain, [], count],
        [scale, grain, [[rate, h, g, number, divisor]], count],
        [scale, grain, [[rate, g, h, 3 * number, divisor]], count],
        [scale, grain, [[rate, g, h, number, 2 * divisor]], count],
        [1, grain, [[rate, g, h, number, divisor]], count],
        [scale // 2, grain, [[rate, g, h, number, divisor]], count],
        [2 * scale, grain, [[rate, g, h, number, divisor]], count],
        [scale, 1000 * grain, [[rate, g, h, number, divisor]], count],
    ):
        refused = with_end(proof, lines=[line], fronts=-1)
        with pytest.raises(VerificationError):
            check(refused, problem)


@pytest.mark.parametrize("which", SEVERAL)
def test_a_line_of_other_multipliers_than_its_records_is_refused(which, tmp_path):
    """Each one is left out, turned, given to the other rate, to other groups, or changed."""
    problem, proof = with_multipliers(tmp_path / "proof", lambda n: n > 1, **SEVERAL[which])
    scale, grain, listed, count = proof.end["lines"][0]
    raised = with_end(proof, bound=proof.end["bound"] + 1, tree=None, value=None)
    with pytest.raises(VerificationError, match="but its records show"):
        check(raised, problem)
    for k, (rate, g, h, number, divisor) in enumerate(listed):
        others = [
            [],
            [[rate, h, g, number, divisor]],
            [[rate, g, h, 2 * number, divisor]],
            [[rate, g, h, number, 2 * divisor]],
            [[1 - rate, g, h, number, divisor]],
            [[rate, g, h, number, divisor]] * 2,
        ]
        if which != "two rates":
            others += [[[rate, g, ({0, 1, 2} - {g, h}).pop(), number, divisor]]]
        for other in others:
            line = [scale, grain, [*listed[:k], *other, *listed[k + 1 :]], count]
            for fronts in (-1, 0):
                with pytest.raises(VerificationError):
                    check(with_end(proof, lines=[line], fronts=fronts), problem)
    # the same multipliers in another order, or in two parts, are the same line
    rate, g, h, number, divisor = listed[0]
    parts = [[rate, g, h, number, 2 * divisor]] * 2
    same = [scale, grain, [*listed[1:], *parts], count]
    assert check(with_end(proof, lines=[same]), problem).value is not None


def test_the_proof_of_other_constraints_is_refused(written, ordered):
    problem, proof = written
    for fields in (
        {"parity": 0.05},
        {"parity": 0.2},
        {"parity": 0.2, "opportunity": 1.0},
        {"sensitive": "other"},
        {"sensitive": "x0"},
        {"sensitive": "nobody"},
        {"sensitive": ""},
        {"parity": 1.0, "opportunity": 1.0},
        {"increasing": ("x1",), "decreasing": ("x0", "x2")},
        {"increasing": ("nobody",)},
    ):
        with pytest.raises(VerificationError):
            check(proof, asked(problem, **fields))
    problem, proof = ordered
    for fields in (
        {"increasing": ("x0",), "decreasing": ("x2",)},
        {"increasing": (), "decreasing": ()},
        {"sensitive": "group", "parity": 0.0},
    ):
        with pytest.raises(VerificationError):
            check(proof, asked(problem, **fields))


def test_a_proof_says_that_it_is_of_constrained_trees(written, tmp_path):
    """A bound of all trees holds of these, but nobody would look at the constraints of its tree."""
    problem, proof = written
    plain = Gosdt(proof=str(tmp_path / "plain"))
    free = limited(problem, solver=plain)
    plain.solve(free, Context())
    of_all = read(tmp_path / "plain")
    assert check(of_all, free).lower_bound < check(proof, problem).lower_bound
    with pytest.raises(VerificationError, match="keeps constraints of an additive objective"):
        check(of_all, problem)
    with pytest.raises(VerificationError, match="is of shape 'constrained'"):
        check(proof, free)
    with pytest.raises(VerificationError, match="keeps constraints of an additive objective"):
        check(proof, limited(problem, objective=FScore(lam=0.01)))


def tree_of_no_constraint(problem):
    """The best of all, as JSON, and its cost in the log's unit."""
    free = limited(problem, solver=Gosdt())
    found = Gosdt().solve(free, Context())
    return json.loads(found.tree.to_json()), found.value


@pytest.mark.parametrize(
    ("which", "said"),
    [
        ("written", "parity is 0.1, and its rates differ by"),
        ("several", "and its rates differ by"),
        ("ordered", "is not monotone beside"),
    ],
)
def test_a_tree_that_breaks_a_limit_is_refused(which, said, request):
    problem, proof = request.getfixturevalue(which)
    tree, value = tree_of_no_constraint(problem)
    saved = (check(proof, problem).value - value) / float(proof.unit)
    cost = proof.end["value"] - round(saved)
    assert saved > 0.5
    for bound in (0, cost):
        with pytest.raises(VerificationError, match=said):
            check(with_end(proof, tree=tree, value=cost, bound=bound), problem)


def test_a_tree_of_another_value_is_refused(written):
    problem, proof = written
    for value in (proof.end["value"] - 1, proof.end["value"] + 1, None):
        with pytest.raises(VerificationError, match="but the tree costs"):
            check(with_end(proof, value=value), problem)
    tree = json.loads(json.dumps(proof.end["tree"]))
    tree["label"] = [0] * len(tree["label"])  # all are treated alike
    with pytest.raises(VerificationError, match="but the tree costs"):
        check(with_end(proof, tree=tree), problem)


def test_a_tree_that_asks_the_sensitive_column_is_refused(tmp_path):
    """Where tests may not; where they may, it is taken."""
    problem = larger(1, n=60)
    fields = {"sensitive": "x2", "parity": 0.9}
    found, free = proven(problem, tmp_path / "free", ask_sensitive=True, **fields)
    other, held = proven(problem, tmp_path / "held", **fields)
    assert found.value < other.value
    proof = read(tmp_path / "free")
    assert check(proof, free).value == pytest.approx(found.value)
    with pytest.raises(VerificationError, match="asks the sensitive column 'x2'"):
        check(with_end(read(tmp_path / "held"), tree=proof.end["tree"], bound=0), held)
    with pytest.raises(VerificationError):  # there are better trees
        check(read(tmp_path / "held"), free)


@pytest.mark.parametrize("which", ["written", "several", "ordered"])
def test_records_that_do_not_follow_are_refused(which, request):
    problem, proof = request.getfixturevalue(which)
    step, needed = max(1, proof.n_records // 40), 0
    for number in range(0, proof.n_records, step):
        bound = int(proof.record(number).bound)
        with pytest.raises(VerificationError, match=f"record {number} "):
            check(with_bound(proof, number, bound * 3 + 200_000), problem)
        try:
            check(with_bound(proof, number, 0), problem)
        except VerificationError:
            needed += 1
    # what no record shows is shown by a list of trees, which is short here
    assert needed or which == "ordered"


@pytest.mark.parametrize("seed", range(12))
def test_three_groups_and_two_rates_take_several_multipliers(seed, tmp_path):
    """Multipliers of a hand: the sum of several is as true as one, also where tests cost."""
    problem = larger(seed, n=30 + seed, columns=4, mu=0.01 if seed % 2 else 0.0)
    found, problem = proven(problem, tmp_path / "proof", **RATED | {"sensitive": "three"})
    proof = read(tmp_path / "proof")
    assert check(proof, problem).lower_bound == pytest.approx(found.value)
    rng = np.random.default_rng(seed)
    log_unit, cost = proof.unit, proof.end["value"]
    shown = []
    for _ in range(tries(20)):
        listed = [
            [int(rng.integers(2)), *rng.permutation(3)[:2].tolist(), int(rng.integers(9)), 400]
            for _ in range(3)
        ]
        name = (int(rng.integers(1, 50)), int(rng.integers(1, 4)), listed)
        rules = proof_rules.Constrained(
            problem, proof.header["tests"], [name], 0, cost + 1, log_unit
        )
        rules.lines[0].rules.new_log(np.empty(0, np.int32), np.zeros(1, np.int64))
        # without a record nothing is known but that costs are not below 0
        assert rules.root_bound((-1, -1)) == cost
        shown.append(rules.bound_of(0))
    assert max(shown) <= cost


@pytest.mark.parametrize("which", SEVERAL)
def test_a_price_of_many_digits_is_proven_with_what_parts_are_left(which, tmp_path, monkeypatch):
    """λ makes whole costs large, so that a loss has few parts, or one; numbers stay below 2^53."""
    for seed in range(tries(6)):
        values = []
        for most in (1 << 51, 1):
            monkeypatch.setattr(constraints, "SHOWN", most)
            problem = larger(seed, n=40, columns=4, lam=0.0123456789012)
            found, problem = proven(problem, tmp_path / "proof", **SEVERAL[which])
            assert not found.notes
            accepted = check(read(tmp_path / "proof"), problem)
            assert accepted.lower_bound == pytest.approx(found.value) == accepted.value
            values.append(found.value)
        assert values[0] == values[1]


@pytest.mark.parametrize("whole", [True, False], ids=["everywhere", "on one side"])
@pytest.mark.parametrize("falling", [("x0",), ("x1",), ("x0", "x1")])
def test_tests_that_divide_training_rows_alike_are_all_asked(whole, falling, tmp_path):
    """x0 and x1 are equal on all rows, or where x2 is 1, or opposite there; predictions must not
    rise with one.
    """
    rng = np.random.default_rng(5)
    x = rng.integers(0, 2, (40, 4))
    same = x[:, 0] if len(falling) == 1 else 1 - x[:, 0]
    x[:, 1] = np.where(whole | (x[:, 2] == 1), same, x[:, 1])
    y = np.where(whole | (x[:, 2] == 1), x[:, 0], x[:, 3])
    problem = problem_from(x, y, Accuracy(lam=0.02))
    found, problem = proven(problem, tmp_path / "proof", decreasing=falling)
    proof = read(tmp_path / "proof")
    leaves = 2 if whole else 4
    assert check(proof, problem).lower_bound == pytest.approx(0.02 * leaves) == found.value
    more = with_end(proof, bound=proof.end["bound"] + 1, tree=None, value=None, fronts=0)
    with pytest.raises(VerificationError, match="but its records show"):
        check(more, problem)


@pytest.mark.parametrize("dear", [0, 1])
def test_of_tests_that_divide_a_set_alike_the_cheapest_counts(dear, tmp_path):
    """Where x2 is 1, x0 and x1 are equal, and one of them costs more; either may be within the
    budget for all that is known of their sides, which take four leaves each.
    """
    rng = np.random.default_rng(5)
    x = rng.integers(0, 2, (200, 7))
    x[:, 1] = np.where(x[:, 2] == 1, x[:, 0], x[:, 1])
    y = x[:, 2] & np.where(x[:, 0] == 1, x[:, 3] ^ x[:, 4], x[:, 5] ^ x[:, 6])
    problem = problem_from(x, y, Accuracy(lam=0.01, mu=0.01))
    objects = with_groups(problem, 2).objects
    names = [objects.features[objects.place(t)[0]].column for t in range(objects.n_fixed)]
    prices = Prices(np.array([2.0 if name == f"x{dear}" else 1.0 for name in names]), np.ones(0))
    problem = attrs.evolve(problem, objects=objects, prices=prices)
    found, problem = proven(problem, tmp_path / "proof", sensitive="group", parity=0.99)
    proof = read(tmp_path / "proof")
    assert check(proof, problem).lower_bound == pytest.approx(found.value)
    assert found.tree.n_leaves == 9
    cost, tests = proof.end["value"], proof.header["tests"]
    rules = proof_rules.Constrained(problem, tests, [(1, 1, [])], 0, cost + 1, proof.unit)
    rules.lines[0].rules.new_log(np.empty(0, np.int32), np.zeros(1, np.int64))
    assert rules.root_bound((-1, -1)) == cost


def test_fronts_hold_limits(tmp_path):
    """Trees of more leaves may be better, cost less, and have the same differences."""
    met = 0
    for seed in range(tries(40)):
        problem = larger(seed, lam=0.003, n=30, columns=4)
        most = Limits(max_leaves=3 + seed % 3)
        problem = limited(problem, stopping=(Held(most),))
        found, problem = proven(problem, tmp_path / "proof", sensitive="group", parity=0.1)
        proof = read(tmp_path / "proof")
        accepted = check(proof, problem)
        assert not found.notes
        assert accepted.lower_bound == pytest.approx(found.value) == accepted.value
        more = with_end(proof, bound=proof.end["bound"] + 1, tree=None, value=None)
        with pytest.raises(VerificationError, match="but its records show"):
            check(more, problem)
        met += proof.end["fronts"] >= 0
    assert met


def test_two_cuts_between_two_values_are_refused(tmp_path):
    """What lies between them is a cell that no test of the table knows."""
    rng = np.random.default_rng(2)
    x = rng.integers(0, 2, (40, 3))
    problem = with_raw(x, x[:, 0] ^ x[:, 1])
    found, problem = proven(problem, tmp_path / "proof", increasing=("x2",))
    proof = read(tmp_path / "proof")
    assert check(proof, problem).value == pytest.approx(found.value) == 0.08
    tree = json.loads(json.dumps(proof.end["tree"]))
    again = max(range(len(tree["test"])), key=lambda node: (tree["test"][node] == 1, node))
    tree["test"][again] = len(tree["rules"])
    tree["rules"].append({**tree["rules"][1], "threshold": 0.75})
    with pytest.raises(VerificationError, match="asks what is no test of the table"):
        check(with_end(proof, tree=tree), problem)


def with_raw(x, y):
    """Numbers, whose cuts are tests."""
    problem = problem_from(x, y, Accuracy(lam=0.02))
    values = x.astype(float)
    columns = tuple(
        Column(f"x{f}", ColumnKind.continuous, column) for f, column in enumerate(values.T)
    )
    table = attrs.evolve(problem.objects.table, columns=columns)
    raw = tuple(RawFeature(f"x{f}", f) for f in range(x.shape[1]))
    objects = bare_objects(table, raw_features=raw, raw=values)
    return attrs.evolve(problem, objects=objects, prices=Prices(np.ones(0), np.ones(len(raw))))


def test_a_search_that_is_stopped_proves_what_it_has(tmp_path, monkeypatch):
    for seed in range(tries(6)):
        problem = larger(seed)
        for stop in range(4):
            calls = []
            made = ConstrainedSearch._search_lagrangian

            def late(self, *args, made=made, calls=calls, stop=stop):
                calls.append(1)
                if len(calls) > stop:
                    raise KeyboardInterrupt
                return made(self, *args)

            monkeypatch.setattr(ConstrainedSearch, "_search_lagrangian", late)
            found, problem = proven(problem, tmp_path / "proof", **RATED)
            monkeypatch.undo()
            accepted = check(read(tmp_path / "proof"), problem)
            assert accepted.value == pytest.approx(found.value)
            assert accepted.lower_bound == pytest.approx(found.lower_bound)


@pytest.mark.parametrize("which", ["rates", "order"])
def test_where_too_many_trees_are_left_a_note_says_what_is_shown(which, tmp_path, monkeypatch):
    if which == "rates":
        monkeypatch.setattr(proof_rules.Constrained, "most_sets", 1)
        fields = RATED
    else:
        monkeypatch.setattr(order, "MOST_STEPS", 1)
        fields = {"increasing": ("x2",), "decreasing": ("x0",)}
    for seed in range(40):
        found, problem = proven(larger(seed, columns=4, n=50), tmp_path / "proof", **fields)
        if found.notes:
            assert "the proof shows" in found.notes[-1]
            accepted = check(read(tmp_path / "proof"), problem)
            assert accepted.lower_bound < found.value == pytest.approx(accepted.value)
            return
    raise AssertionError("no table of these leaves trees")


def test_a_solver_that_does_not_state_its_constraints_is_refused(written):
    problem, proof = written
    solver = SimpleNamespace(name="own", constrains_labels=True)
    with pytest.raises(CapabilityError, match="states no constraints"):
        check(proof, limited(problem, solver=solver))


def test_what_a_run_keeps_is_said_in_words():
    asked = Constrained(**RATED, increasing=("x1", "x2")).constraints()
    assert asked.said == (
        "sensitive=group, which no test asks, parity=0.1, opportunity=0.3, increasing=x1+x2"
    )
    assert Constrained().constraints().said == ""


def test_weights_that_a_checker_cannot_count_leave_the_tree_and_say_so(tmp_path):
    """Solver and checker multiply two weights, the checker up to 2^53."""
    problem = larger(0, n=12, columns=3, **RATED)
    table = attrs.evolve(problem.objects.table, weights=np.arange(12) * 1e7 + 1)
    objects = attrs.evolve(problem.objects, table=table, weight=table.weights)
    problem = attrs.evolve(problem, objects=objects)
    found, _ = proven(problem, tmp_path / "proof", **RATED)
    assert found.notes[-1].startswith("no proof is written: products of two weights exceed 2^53")
    assert list(tmp_path.iterdir()) == []
