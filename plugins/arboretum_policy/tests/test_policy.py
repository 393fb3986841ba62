"""Policy trees: scores against a plain reference, the optimum against brute force, refusals."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from arboretum.api import (
    OUTCOME,
    PROPENSITY,
    Column,
    ColumnKind,
    Context,
    DataError,
    Parts,
    Problem,
    Status,
    Table,
    Target,
    Task,
)
from arboretum.engine.objective_check import Few, broken_objective
from arboretum.testing import CriterionSuite, DatasetSuite, ObjectiveSuite
from arboretum.testing.suites.base import verify_solution
from arboretum.testing.tables import prices_of, toy_objects
from arboretum_gosdt.problem.greedy import CostReduction
from arboretum_gosdt.solvers.gosdt import Gosdt
from arboretum_policy.loans import Loans
from arboretum_policy.objective import PolicyValue
from arboretum_policy.scores import Estimate, Model, Scoring, folds_of, numbers_of, scores_of
from arboretum_policy.trial import Trial


class TestTrial(DatasetSuite):
    @pytest.fixture
    def component(self):
        return Trial(n_rows=40)


class TestLoans(DatasetSuite):
    @pytest.fixture
    def component(self):
        return Loans(n_rows=40)


class TestPolicyValue(ObjectiveSuite):
    @pytest.fixture(params=list(Estimate), ids=lambda one: one.name)
    def component(self, request):
        return PolicyValue(estimate=request.param, folds=2)


class TestCostReduction(CriterionSuite):
    @pytest.fixture
    def component(self):
        return CostReduction()


def small(seed, n=24, known=True):
    """Rows of two columns of words, three actions, outcomes of one digit."""
    generator = np.random.default_rng([seed, 29])
    word = ColumnKind.categorical
    columns = tuple(Column(f"x{f}", word, generator.integers(0, 2, n), ("a", "b")) for f in (0, 1))
    taken = np.arange(n) % 3
    generator.shuffle(taken)
    roles = {OUTCOME: generator.normal(size=n).round(1)}
    if known:
        roles[PROPENSITY] = generator.choice([0.25, 0.5], n)
    target = Target("t", Task.classification, taken.astype(np.int32), ("p", "q", "r"))
    return Table("small", columns, target, roles=roles)


def scoring(estimate, model=Model.linear, folds=3):
    return Scoring(estimate, model, folds, 0.05)


def test_scores_by_propensity_are_outcomes_over_propensities():
    table = small(0)
    found = scores_of(table, scoring(Estimate.inverse_propensity))
    for row, (action, outcome, likely) in enumerate(
        zip(table.target.codes, table.roles[OUTCOME], table.roles[PROPENSITY], strict=True)
    ):
        for other in range(3):
            assert found[row, other] == (outcome / likely if other == action else 0.0)


@pytest.mark.parametrize("known", [True, False])
def test_scores_are_those_of_a_plain_reference(known):
    from sklearn.linear_model import LogisticRegression, Ridge

    table, folds = small(1, 40, known), 3
    x, taken, outcome = numbers_of(table), table.target.codes, table.roles[OUTCOME]
    fold, direct, likely = folds_of(taken, folds), np.empty((40, 3)), np.empty(40)
    for row in range(40):
        other = fold != fold[row]
        for action in range(3):
            own = other & (taken == action)
            direct[row, action] = Ridge().fit(x[own], outcome[own]).predict(x[[row]])[0]
        model = LogisticRegression(max_iter=1000).fit(x[other], taken[other])
        likely[row] = max(0.05, model.predict_proba(x[[row]])[0, taken[row]])
    if known:
        likely = table.roles[PROPENSITY]
    robust = direct.copy()
    for row in range(40):
        k = taken[row]
        robust[row, k] += (outcome[row] - direct[row, k]) / likely[row]
    np.testing.assert_allclose(scores_of(table, scoring(Estimate.direct)), direct, rtol=1e-9)
    np.testing.assert_allclose(
        scores_of(table, scoring(Estimate.doubly_robust)), robust, rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("actions", [2, 3])
def test_an_action_that_no_other_fold_took_has_the_least_propensity(actions):
    """However many others were taken there."""
    table = small(3, 24, known=False)
    codes = (np.arange(24) % (actions - 1)).astype(np.int32)
    codes[5] = actions - 1
    target = Target("t", Task.classification, codes, ("p", "q", "r")[:actions])
    found = scores_of(attrs.evolve(table, target=target), scoring(Estimate.inverse_propensity))
    assert found[5, actions - 1] == pytest.approx(table.roles[OUTCOME][5] / 0.05)


def test_no_row_is_scored_by_a_model_that_saw_its_outcome():
    table = small(2, 30)
    outcome = table.roles[OUTCOME].copy()
    outcome[7] = 1e6
    moved = attrs.evolve(table, roles={**table.roles, OUTCOME: outcome})
    before, after = (scores_of(one, scoring(Estimate.direct)) for one in (table, moved))
    np.testing.assert_array_equal(before[7], after[7])
    assert (before != after).any()


@pytest.mark.parametrize("estimate", list(Estimate))
def test_the_policy_is_the_best_that_brute_force_finds(estimate):
    for seed in range(6):
        table = small(seed)
        objects = toy_objects(table, multiway=False)
        objective = PolicyValue(lam=0.05, estimate=estimate, folds=2)
        parts = Parts(method=None, objective=objective, solver=Gosdt())
        problem = Problem(objects, prices_of(objects), parts)
        solution = Gosdt().solve(problem, Context())
        verify_solution(solution, problem)
        scores = scores_of(table, Scoring(estimate, Model.linear, 2, 0.01))
        x = np.array([column.values for column in table.columns]).T
        best = -np.inf
        cells = {
            (a, b): scores[(x == (a, b)).all(axis=1)].sum(axis=0) for a in (0, 1) for b in (0, 1)
        }
        for first in (0, 1):
            sides = []
            for value in (0, 1):
                here = [cell for key, cell in cells.items() if key[first] == value]
                sides.append(
                    max(sum(here).max() / 24 - 0.05, sum(c.max() for c in here) / 24 - 0.1)
                )
            best = max(best, sum(sides))
        best = max(best, scores.sum(axis=0).max() / 24 - 0.05)
        assert solution.status is Status.optimal
        assert solution.value == pytest.approx(-best, rel=1e-9, abs=1e-12)


def test_an_action_that_nobody_took_is_refused_by_name():
    table = small(0)
    target = attrs.evolve(table.target, classes=("p", "q", "r", "never"))
    with pytest.raises(DataError, match=r"'never' was taken in no row"):
        scores_of(attrs.evolve(table, target=target), scoring(Estimate.direct))


def test_a_table_without_outcomes_is_refused():
    table = attrs.evolve(small(0), roles={})
    with pytest.raises(DataError, match=r"does not say the outcome of its rows.*dataset.outcome"):
        scores_of(table, scoring(Estimate.direct))


def test_greedy_growth_takes_the_test_that_gains_most():
    table = small(5)
    objects = toy_objects(table, multiway=False)
    objective = PolicyValue(estimate=Estimate.inverse_propensity)
    parts = Parts(method=None, objective=objective, criterion=CostReduction())
    problem = Problem(objects, prices_of(objects), parts)
    shares = -scores_of(table, Scoring(Estimate.inverse_propensity, Model.linear, 5, 0.01)) / 24
    x = np.array([column.values for column in table.columns]).T
    gains = [
        shares.sum(axis=0).min() - sum(shares[x[:, f] == v].sum(axis=0).min() for v in (0, 1))
        for f in (0, 1)
    ]
    from arboretum.api import grow

    tree = grow(problem, Context()).tree
    if max(gains) > 0:
        assert tree.rule(0).columns == (f"x{int(np.argmax(gains))}",)


@pytest.mark.parametrize("estimate", [Estimate.inverse_propensity, Estimate.doubly_robust])
def test_a_propensity_that_no_float_can_be_divided_by_is_refused_by_row(estimate):
    table = small(0)
    likely = table.roles[PROPENSITY].copy()
    likely[2] = 1e-320
    outcome = np.arange(len(likely)) + 1.0
    table = attrs.evolve(table, roles={OUTCOME: outcome, PROPENSITY: likely})
    said = r"over the propensity of row 3, 9.99989e-321, .* mend dataset.propensity"
    with pytest.raises(DataError, match=said):
        scores_of(table, scoring(estimate))
    if estimate is Estimate.inverse_propensity:
        with pytest.raises(DataError, match=said):
            PolicyValue(estimate=estimate).linear_roles(table)


def test_the_best_policy_of_the_trial_is_found_on_many_rows():
    table = Trial(n_rows=3000, noise=0.5).load(0)
    scores = scores_of(table, Scoring(Estimate.doubly_robust, Model.linear, 5, 0.01))
    age, marker = table.columns[0].values, table.columns[1].values
    truth = ((age > 50) & (marker == 1)).astype(int)
    rows = np.arange(table.n_rows)
    worth = {
        name: scores[rows, policy].mean()
        for name, policy in (("truth", truth), ("wait", 0 * truth), ("treat", 0 * truth + 1))
    }
    assert worth["truth"] == max(worth.values())
    share = truth.mean()
    assert worth["truth"] - worth["wait"] == pytest.approx(share, abs=0.1)


def test_a_rare_action_does_not_stop_what_is_tried_on_a_few_rows():
    table = small(4, 60)
    codes = np.where(np.arange(60) % 20 == 7, 2, np.arange(60) % 2).astype(np.int32)
    table = attrs.evolve(table, target=attrs.evolve(table.target, codes=codes))
    objects = toy_objects(table, multiway=False)
    objective = PolicyValue(folds=2)
    parts = Parts(method=None, objective=objective, solver=Gosdt(), criterion=CostReduction())
    problem = Problem(objects, prices_of(objects), parts)
    Gosdt().warm_up(problem, Context())
    assert broken_objective(Few.of(problem)) == ""
    assert CostReduction().for_problem(problem) is not CostReduction()
    few = attrs.evolve(problem, objects=objects.take(np.arange(6)))
    assert isinstance(few.parts.criterion, CostReduction)
    with pytest.raises(DataError, match="was taken in no row"):
        objective.costs(few)
