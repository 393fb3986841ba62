"""Survival trees: hazards, concordance and Brier's score against plain references; the optimum
against brute force; what is refused.
"""

from __future__ import annotations

import itertools
import math

import attrs
import numpy as np
import pytest

import arboretum
from arboretum.api import (
    EVENT,
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
    grow,
)
from arboretum.testing import CriterionSuite, DatasetSuite
from arboretum.testing.suites.base import verify_solution
from arboretum.testing.tables import prices_of, toy_objects
from arboretum_gosdt.sums.solver import LeafSums
from arboretum_survival.hazards import Followed, concordance, integrated_brier
from arboretum_survival.lifetimes import Lifetimes
from arboretum_survival.log_rank import LogRank
from arboretum_survival.objective import Survival


class TestLifetimes(DatasetSuite):
    @pytest.fixture
    def component(self):
        return Lifetimes(n_rows=40)


class TestLogRank(CriterionSuite):
    @pytest.fixture
    def component(self):
        return LogRank()


def small(seed, n=20, columns=3):
    """Rows of columns of 0 and 1, times with ties, some lost; weights where the seed is odd."""
    generator = np.random.default_rng([seed, 33])
    numbers = ColumnKind.categorical
    made = tuple(
        Column(f"x{f}", numbers, generator.integers(0, 2, n), ("a", "b")) for f in range(columns)
    )
    time = generator.integers(1, 9, n) / 2
    event = (generator.random(n) < 0.7).astype(float)
    weights = generator.choice([1.0, 2.0], n) if seed % 2 else None
    target = Target("time", Task.regression, values=time)
    return Table("small", made, target, weights, roles={EVENT: event})


def rows_of(table):
    return list(zip(table.target.values, table.roles[EVENT], table.row_weights(), strict=True))


def test_hazards_and_survival_are_the_products_and_sums_of_their_definitions():
    for seed in range(8):
        table = small(seed)
        followed, rows = Followed.of(table), rows_of(table)
        for now in (0.1, 0.5, 1.0, 2.2, 3.0, 9.0):
            hazard, kept, before = 0.0, 1.0, 1.0
            for t in sorted({t for t, e, _ in rows if e and t <= now}):
                died = sum(w for u, e, w in rows if u == t and e)
                risk = sum(w for u, _, w in rows if u >= t)
                hazard, kept = hazard + died / risk, kept * (1 - died / risk)
                before = before * (1 - died / risk) if t < now else before
            at = np.array([now])
            assert followed.hazard_until(at)[0] == pytest.approx(hazard)
            assert followed.survival_until(at)[0] == pytest.approx(kept)
            assert followed.survival_until(at, before=True)[0] == pytest.approx(before)


def test_concordance_is_the_share_of_pairs():
    for seed in range(12):
        table = small(seed)
        risk = np.random.default_rng(seed).integers(0, 4, table.n_rows).astype(float)
        good = pairs = 0.0
        for (t, e, w, r), (u, d, v, s) in itertools.permutations(
            [(*row, r) for row, r in zip(rows_of(table), risk.tolist(), strict=True)], 2
        ):
            if e and (u > t or (u == t and not d)):
                pairs += w * v
                good += w * v * (1.0 if r > s else 0.5 if r == s else 0.0)
        assert concordance(Followed.of(table), risk) == pytest.approx(good / pairs)


def test_concordance_without_a_pair_is_undefined():
    table = small(0)
    lost = attrs.evolve(table, roles={EVENT: np.zeros(table.n_rows)})
    assert math.isnan(concordance(Followed.of(lost), np.arange(20.0)))


def test_the_brier_score_is_the_integral_of_its_definition():
    for seed in range(6):
        train, table = small(seed, 40), small(seed + 50, 25)
        ratio = np.random.default_rng(seed).random(25) * 3
        whole, lost = Followed.of(train), Followed.of(train).censored()
        times = sorted({t for t, e, _ in rows_of(table) if e})
        times = [t for t in times if lost.survival_until(np.array([t]))[0] > 0]
        scores = []
        for now in times:
            hazard, still = (
                f(np.array([now]))[0] for f in (whole.hazard_until, lost.survival_until)
            )
            total = 0.0
            for (t, e, w), r in zip(rows_of(table), ratio, strict=True):
                free = math.exp(-r * hazard)
                if t <= now and e:
                    total += w * free**2 / lost.survival_until(np.array([t]), before=True)[0]
                elif t > now:
                    total += w * (1 - free) ** 2 / still
            scores.append(total / table.row_weights().sum())
        area = sum(
            (b - a) * (x + y) / 2
            for a, b, x, y in zip(times, times[1:], scores, scores[1:], strict=False)
        )
        found = integrated_brier(whole, Followed.of(table), ratio)
        assert found == pytest.approx(area / (times[-1] - times[0]))


def problem_of(table, lam=0.05, **parts):
    objects = toy_objects(table, multiway=False)
    made = Parts(method=None, objective=Survival(lam=lam), **parts)
    return Problem(objects, prices_of(objects), made)


def test_the_tree_is_the_best_that_brute_force_finds():
    for seed in range(10):
        table = small(seed)
        problem = problem_of(table, 0.05 * (1 + seed % 3), solver=LeafSums())
        solution = LeafSums().solve(problem, Context())
        verify_solution(solution, problem)
        followed, w = Followed.of(table), table.row_weights()
        hazard = followed.hazard_until(followed.time)
        x = np.array([column.values for column in table.columns]).T

        def leaf(rows, followed=followed, hazard=hazard, w=w, lam=problem.parts.objective.lam):
            events = followed.event[rows] == 1
            died = float(w[rows][events].sum())
            cost = 0.0
            if died:
                ratio = died / float(w[rows] @ hazard[rows])
                cost = -2 * float(w[rows][events] @ np.log(ratio * hazard[rows][events]))
            return cost / w.sum() + lam

        def best(rows, x=x, leaf=leaf):
            found = leaf(rows)
            for f in range(x.shape[1]):
                inside = x[rows, f] == 1
                if inside.any() and not inside.all():
                    found = min(found, best(rows[inside]) + best(rows[~inside]))
            return found

        assert solution.status is Status.optimal
        assert solution.value == pytest.approx(best(np.arange(table.n_rows)), rel=1e-9)


def test_leaves_without_events_predict_no_hazard_and_others_events_over_hazard():
    table = small(3, 30)
    event = np.where(table.columns[0].values == 1, 0.0, 1.0)
    table = attrs.evolve(table, roles={EVENT: event})
    solution = LeafSums().solve(problem_of(table, 0.001, solver=LeafSums()), Context())
    tree = solution.tree
    at = tree.apply(table)
    hazard = Followed.of(table).hazard_until(table.target.values)
    for node in np.unique(at):
        here = at == node
        weights = table.row_weights()[here]
        ratio = float(weights @ event[here]) / float(weights @ hazard[here])
        assert tree.value[node] == pytest.approx(ratio)
    assert tree.value[tree.is_leaf].min() == 0.0


def test_the_log_rank_criterion_is_the_statistic_of_its_definition():
    table = small(3, 30)
    problem = problem_of(table, criterion=LogRank())
    rows = rows_of(table)

    def statistic(inside):
        off = variance = 0.0
        for t in sorted({t for t, e, _ in rows if e}):
            risk = sum(w for u, _, w in rows if u >= t)
            own = sum(w for (u, _, w), i in zip(rows, inside, strict=True) if u >= t and i)
            died = sum(w for u, e, w in rows if u == t and e)
            here = sum(w for (u, e, w), i in zip(rows, inside, strict=True) if u == t and e and i)
            off += here - died * own / risk
            if risk > 1:
                variance += died * own / risk * (1 - own / risk) * (risk - died) / (risk - 1)
        return off**2 / variance

    tree = grow(problem, Context()).tree
    best = max(range(3), key=lambda f: statistic(table.columns[f].values == 1))
    assert tree.rule(0).columns == (f"x{best}",)
    assert tree.score[0] == pytest.approx(statistic(table.columns[best].values == 1))


@pytest.mark.parametrize("time", [0.0, -1.0])
def test_times_that_are_not_above_zero_are_refused_by_row(time):
    table = small(0)
    values = table.target.values.copy()
    values[4] = time
    table = attrs.evolve(table, target=attrs.evolve(table.target, values=values))
    with pytest.raises(DataError, match=r"times lie above 0, and that of row 5 is"):
        LeafSums().solve(problem_of(table, solver=LeafSums()), Context())


def test_a_table_that_does_not_say_events_is_refused():
    table = attrs.evolve(small(0), roles={})
    with pytest.raises(DataError, match=r"dataset.event=COLUMN"):
        LeafSums().solve(problem_of(table, solver=LeafSums()), Context())


def run_of(tmp_path, rows, *words):
    (tmp_path / "t.csv").write_text(rows)
    path = f"dataset.path={tmp_path / 't.csv'}"
    said = ("dataset=file", path, "dataset.target=t", "method=survival_tree", "split=none")
    return arboretum.run([*said, *words])


def test_a_run_that_does_not_say_events_is_told_how_whatever_its_times(tmp_path):
    """So few whole numbers would be classes."""
    rows = "a,t,e\n1,1,1\n2,2,0\n3,3,1\n4,4,1\n"
    with pytest.raises(DataError, match="objective survival reads the event .*dataset.event=COL"):
        run_of(tmp_path, rows)


def test_rows_of_one_time_are_told_apart_by_their_events(tmp_path):
    record = run_of(tmp_path, "a,t,e\n1,5,1\n2,5,0\n", "dataset.event=e")
    assert record.tree.n_leaves == 2
    assert not any("nothing to tell apart" in note for note in record.notes)


def test_the_hazards_of_the_drawn_rows_are_found():
    table = Lifetimes(n_rows=3000, lost=0.2).load(0)
    problem = problem_of(table, 0.02, solver=LeafSums())
    tree = LeafSums().solve(problem, Context()).tree
    asked = {tree.rule(node).columns[0] for node in tree.inner.tolist()}
    assert asked == {"dose", "stage"} and tree.n_leaves == 3
    dose, stage = table.columns[0].values, table.columns[1].values
    said = tree.predict(table)
    high, early, late = (
        np.unique(said[rows])
        for rows in (dose > 6, (dose <= 6) & (stage == 0), (dose <= 6) & (stage == 1))
    )
    # ratios to a hazard that is a mixture of the three lie closer than the hazards
    assert len(high) == len(early) == len(late) == 1
    assert 1.5 < high[0] / early[0] < 3 and 1.5 < early[0] / late[0] < 1 / 0.3
