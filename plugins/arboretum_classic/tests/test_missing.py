"""What becomes of missing values: each rule keeps its contract and says what its paper says."""

from __future__ import annotations

import attrs
import numpy as np
import pandas
import pytest

import arboretum
from arboretum.api import (
    MISSING_SPLITS,
    MISSING_STOPS,
    Column,
    ColumnKind,
    Context,
    Equals,
    Family,
    Parts,
    Prices,
    Problem,
    RawFeature,
    Table,
    Target,
    Task,
    Threshold,
    Values,
    VerificationError,
    grow,
    table_like,
)
from arboretum.sklearn import TreeClassifier
from arboretum.testing import MissingSuite
from arboretum.testing.suites.base import verify_solution
from arboretum.testing.tables import (
    SEEDS,
    ToyFeature,
    TreeParts,
    bare_objects,
    problem_of,
    toy_table,
)
from arboretum_classic.criteria.criteria import GainRatio, Reduction
from arboretum_classic.criteria.impurities import Entropy, Gini, Variance
from arboretum_classic.missing.rpart import RpartSurrogates
from arboretum_classic.missing.rules import (
    Fractional,
    Ignore,
    Majority,
    OwnCategory,
    Stops,
    Surrogates,
)

RULES = [
    Fractional(),
    Ignore(),
    Majority(),
    OwnCategory(),
    Stops(),
    Surrogates(),
    Surrogates(use=1),
    Surrogates(use=0),
    Surrogates(style=1),
    RpartSurrogates(),
]
NAMES = [f"{rule.name}{k}" for k, rule in enumerate(RULES)]


# with other fields than in tests/conformance
@pytest.mark.parametrize("component", RULES[6:], ids=NAMES[6:])
class TestRules(MissingSuite):
    @pytest.fixture
    def component(self, request):
        return request.param


def raw_problem(columns, codes, missing, criterion=None, classes=("a", "b")):
    """Raw columns of numbers and classes, one object per row."""
    kinds = [
        Column(f"x{k}", ColumnKind.continuous, np.array(values, float))
        for k, values in enumerate(columns)
    ]
    table = Table(
        "small", tuple(kinds), Target("y", Task.classification, np.array(codes, np.int32), classes)
    )
    raw = tuple(RawFeature(column.name, k) for k, column in enumerate(kinds))
    objects = bare_objects(table, raw_features=raw, raw=np.array(columns, float).T.copy())
    parts = Parts(method=None, criterion=criterion or Reduction(), impurity=Gini(), missing=missing)
    return Problem(objects, Prices(np.zeros(0), np.ones(len(raw))), parts)


def grown(problem):
    solution = grow(problem, Context())
    verify_solution(solution, problem)
    return solution.tree


NAN = np.nan


def test_the_gain_is_that_of_known_rows_times_their_share():
    """Quinlan's F · gain: of four rows three are known, two a and one b, which x0 ≤ 1.5 tells
    apart; rpart's improvement is the same.
    """
    for rule in (Fractional(), Stops(), Surrogates()):
        tree = grown(raw_problem([[1, 1, 2, NAN]], [0, 0, 1, 1], rule))
        assert tree.rules[0] == Threshold("x0", 1.5)
        assert tree.score[0] == pytest.approx(3 / 4 * (1 - (4 + 1) / 9))
    ratio = grown(raw_problem([[1, 1, 2, NAN]], [0, 0, 1, 1], Fractional(), GainRatio()))
    # its split information is that of the known rows: the gain itself
    assert ratio.score[0] == pytest.approx(3 / 4)


@pytest.mark.parametrize(
    "rule",
    [Fractional(), Stops(), Surrogates(), Majority(), OwnCategory()],
    ids=lambda rule: rule.name,
)
def test_a_score_that_is_not_that_of_the_rule_is_found_out_where_rows_are_in_parts(rule):
    problem = problem_of(
        toy_table(3, 40, TreeParts(missing=True)),
        Parts(method=None, criterion=Reduction(), impurity=Gini(), missing=rule),
    )
    solution = grow(problem, Context())
    for v in np.flatnonzero(~solution.tree.is_leaf):
        score = solution.tree.score.copy()
        score[v] += 1e-6
        with pytest.raises(VerificationError, match="score"):
            verify_solution(
                attrs.evolve(solution, tree=attrs.evolve(solution.tree, score=score)), problem
            )


def test_ignored_columns_compete_where_they_are_complete():
    """x0 is the better test, but has a gap among the rows x1 > 0; below x1 ≤ 0 it is complete."""
    tree = grown(
        raw_problem([[1, 2, 1, 2, 1, NAN], [0, 0, 0, 0, 1, 1]], [0, 1, 0, 1, 0, 1], Ignore())
    )
    assert [tree.rule(v).column for v in np.flatnonzero(~tree.is_leaf)] == ["x1", "x0"]
    nothing = grown(raw_problem([[1, 2, NAN]], [0, 1, 0], Ignore()))
    assert nothing.n_nodes == 1


def test_where_the_rules_send_rows():
    columns, codes = [[1, 1, 1, 2, NAN, NAN]], [0, 0, 0, 1, 0, 0]
    assert grown(raw_problem(columns, codes, Majority())).missing_child[0] == 0
    assert grown(raw_problem(columns, codes, Stops())).missing_child[0] == MISSING_STOPS
    assert grown(raw_problem(columns, codes, Fractional())).missing_child[0] == MISSING_SPLITS
    own = grown(raw_problem(columns, codes, OwnCategory()))
    assert own.rule(0) == Threshold("x0", 1.5).with_missing() and own.weights[3].tolist() == [2, 0]


def test_thresholds_without_such_an_outcome_do_not_compete_where_values_are_missing(tmp_path):
    """Of an ordered column only "known or missing?" has a branch for rows without a value; it is
    asked as the loop without kernels asks it.
    """
    (tmp_path / "rows.csv").write_text(
        "o,y\n1,a\n1,a\n2,b\n2,b\n3,a\n3,a\n,b\n,b\n", encoding="utf-8"
    )
    data = [
        "dataset=file",
        f"dataset.path={tmp_path / 'rows.csv'}",
        "dataset.target=y",
        "dataset.kinds={o: ordinal}",
        "split=none",
        "tracker=none",
    ]
    tree = arboretum.run(
        [*data, "method=greedy", "criterion=reduction", "missing=own_category"]
    ).tree
    assert tree.rule(0).describe() == "o is known" and tree.depth_of.max() == 3
    assert tree.predict([["1"], ["2"], ["3"], [None]]).tolist() == [0, 1, 0, 1]


def test_surrogates_by_hand():
    """x0 ≤ 4.5 is chosen; x1 says the same the other way round but for one row of eight (4 or 5:
    the lower cut is kept), x2 but for two, x3 nothing.
    """
    columns = [
        [1, 2, 3, 4, 5, 6, 7, 8, NAN, NAN, NAN],
        [9, 8, 7, 4, 5, 3, 2, 1, 1, 9, NAN],
        [1, 1, 2, 2, 1, 2, 2, 2, 2, 2, NAN],
        [5] * 11,
    ]
    codes = [0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0]
    tree = grown(raw_problem(columns, codes, Surrogates()))
    assert tree.rule(0) == Threshold("x0", 4.5)
    (first, *_) = [one for one in tree.surrogates if one.node == 0]
    assert tree.rules[first.rule] == Threshold("x1", 3.5) and first.to == (1, 0)
    left, right = tree.children(0)
    # x1 sends one of its rows to either side; the last has neither, nor a heavier branch
    assert tree.counts[left] == tree.counts[right] == 5
    heavier = grown(raw_problem([[*column, 1] for column in columns], [*codes, 0], Surrogates()))
    assert heavier.counts[heavier.children(0)].tolist() == [7, 5]
    none = grown(raw_problem(columns, codes, Surrogates(use=0)))
    assert not none.surrogates and none.counts[none.children(0)].sum() == 8
    some = grown(raw_problem(columns, codes, Surrogates(use=1)))
    assert some.counts[some.children(0)].sum() == 10


OF_RPART = {
    0: (9.89006, [("x0", -0.115), ("x2", 0.1), ("x1", -0.465)], {39, 41}),
    1: (
        18.63648,
        [("x0", 0.165), ("x2", -0.25), ("c", None), ("x1", 0.43), ("x3", 0.955)],
        {39, 41},
    ),
    10: (10.45161, [("x2", 0.25), ("c", None), ("x0", -0.22), ("x1", -1.205)], {38, 41}),
}
"""What rpart 4.1.19 prints of the roots below (cp = −1, maxdepth = 1): improvement, the test and
its surrogates, rows of the branches; in the last a row stays, since its branches are equally heavy.
"""


def test_surrogates_are_those_of_rpart():
    generator, n = np.random.default_rng(5), 80
    for k in range(11):
        x = generator.normal(size=(4, n)).round(2)
        x[1] = (x[0] + generator.normal(size=n)).round(2)
        x[2] = (-x[0] + generator.normal(size=n) * 0.7).round(1)
        c = np.where(
            x[0] + generator.normal(size=n) * 0.8 > 0,
            generator.integers(0, 2, n),
            generator.integers(1, 4, n),
        )
        y = x[0] + x[3] * 0.5 + generator.normal(size=n) * 0.6 > 0
        x[generator.random(x.shape) < 0.2] = np.nan
        c[generator.random(n) < 0.15] = -1
        if k not in OF_RPART:
            continue
        problem = raw_problem(x, y, Surrogates())
        words = Column("c", ColumnKind.categorical, c, ("a", "b", "c", "d"))
        table = attrs.evolve(problem.objects.table, columns=(*problem.objects.table.columns, words))
        feature = ToyFeature(
            "c", 4, Family.equals, 4, categories=words.categories, has_missing=True
        )
        objects = attrs.evolve(
            problem.objects,
            table=table,
            features=(feature,),
            codes=np.where(c < 0, 4, c).astype(np.uint8)[:, None],
        )
        problem = attrs.evolve(problem, objects=objects, prices=Prices(np.ones(4), np.ones(4)))
        tree = grown(problem)
        improvement, tests, rows = OF_RPART[k]
        found = [tree.rule(0), *(tree.rules[one.rule] for one in tree.surrogates if one.node == 0)]
        assert tree.score[0] * n == pytest.approx(improvement, abs=1e-5)
        assert [one.columns[0] for one in found] == [name for name, _ in tests]
        cuts = [
            (one.threshold, cut)
            for one, (_, cut) in zip(found, tests, strict=True)
            if cut is not None
        ]
        assert (
            all(own == pytest.approx(theirs) for own, theirs in cuts)
            and set(tree.counts[tree.children(0)].tolist()) == rows
        )


@pytest.mark.parametrize(
    ("rows", "stands"),
    [
        ((10, 0, 0, 10), False),
        ((5, 1, 0, 4), False),
        ((4, 1, 1, 4), True),
        ((5, 2, 0, 3), True),
        ((1, 0, 2, 2), False),
        ((1, 0, 5, 20), True),
        ((0, 5, 20, 2), True),
    ],
)
def test_rpart_takes_no_factor_that_disagrees_on_fewer_than_two_rows(rows, stands):
    """Rows left and right that say u, and that say v: what rpart 4.1.19 lists."""
    side, word = np.repeat([0, 1, 0, 1], rows), np.repeat([0, 0, 1, 1], rows)
    columns = (
        Column("x", ColumnKind.continuous, side.astype(float)),
        Column("c", ColumnKind.categorical, word, ("u", "v")),
    )
    table = Table(
        "small", columns, Target("y", Task.classification, side.astype(np.int32), ("a", "b"))
    )
    feature = ToyFeature("c", 2, Family.equals, 2, categories=("u", "v"))
    objects = bare_objects(table, features=(feature,), codes=word.astype(np.uint8)[:, None])
    told = (
        Threshold("x", 0.5),
        [Equals("c", "u")],
        objects,
        np.arange(len(side)),
        np.ones(len(side)),
    )
    assert bool(RpartSurrogates().surrogates(*told)) is stands
    assert bool(Surrogates().surrogates(*told)) is (rows != (1, 0, 2, 2))


@pytest.mark.parametrize(("classes", "rows"), [("ny", [7, 7]), ("yn", [8, 6])])
def test_a_category_between_equal_branches_goes_to_the_higher_mean(classes, rows):
    """Where rpart 4.1 sends the last two rows: u stands for x = 1, and w, with two rows on
    either side, for the branch of the later class.
    """
    x, c = [1] * 6 + [2] * 6 + [None] * 2, [*"uuuvwwuvvvwwwu"]
    limits = {
        f"stopping__rpart__{name}": k
        for name, k in (("minsplit", 2), ("minbucket", 1), ("maxdepth", 1))
    }
    y = np.array([classes.index("n")] * 6 + [classes.index("y")] * 8)
    tree = (
        TreeClassifier(method="rpart", pruner="none", **limits)
        .fit(pandas.DataFrame({"x": x, "c": pandas.Categorical(c)}), y)
        .tree_
    )
    assert tree.rule(0).columns == ("x",) and tree.counts[tree.children(0)].tolist() == rows


def test_a_category_stands_for_the_branch_of_most_of_its_weight():
    table = toy_table(2, n_rows=60, kind=TreeParts(missing=True))
    objects = problem_of(table, Parts(method=None), multiway=False).objects
    others = [objects.rule(k) for k in range(int(objects.test_offset[-1]))]
    rule = next(one for one in others if isinstance(one, Threshold))
    found = Surrogates(most=9).surrogates(rule, others, objects, np.arange(60), table.row_weights())
    words = [(other, to) for other, to in found if isinstance(other, Values)]
    assert not any(isinstance(other, Equals) for other, _ in found)
    for other, to in words:
        says, goes = other.outcomes(table, np.arange(60)), rule.outcomes(table, np.arange(60))
        for k, stands in enumerate(to):
            here = [float(table.weights[(says == k) & (goes == o)].sum()) for o in range(2)]
            assert stands == -1 or here[stands] == max(here)


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
class TestBadInput:
    def test_a_column_without_a_value(self, rule):
        tree = grown(raw_problem([[NAN] * 6, [1, 2, 3, 4, 5, 6]], [0, 0, 0, 1, 1, 1], rule))
        assert tree.n_leaves == 2 and {one.column for one in tree.rules} == {"x1"}
        assert grown(raw_problem([[NAN] * 4], [0, 1, 0, 1], rule)).n_nodes == 1

    def test_a_class_that_only_rows_without_a_value_have(self, rule):
        problem = raw_problem(
            [[1, 1, 2, 2, NAN, NAN, NAN]], [0, 0, 1, 1, 2, 2, 2], rule, classes=("a", "b", "c")
        )
        tree = grown(problem)
        assert tree.weights[0].tolist() == [2, 2, 3]
        chances = tree.predict_proba(problem.objects.table)
        assert chances.sum(axis=1) == pytest.approx(np.ones(7)) and (chances >= 0).all()

    def test_a_value_missing_only_at_prediction_and_an_unseen_category(self, rule):
        for seed in SEEDS[:2]:
            for multiway in (True, False):
                problem = problem_of(
                    toy_table(seed, 40),
                    Parts(method=None, criterion=Reduction(), impurity=Entropy(), missing=rule),
                    multiway=multiway,
                )
                tree = grown(problem)
                rows = {
                    "width": [NAN, 1.0, NAN],
                    "shade": ["pink", "dark", None],
                    "height": [0.0, NAN, NAN],
                    "lit": ["no", None, None],
                }
                chances = tree.predict_proba(table_like(tree, rows))
                assert chances.shape == (3, 3) and chances.sum(axis=1) == pytest.approx(np.ones(3))

    def test_numbers_to_predict(self, rule):
        table = toy_table(1, 40, TreeParts(missing=True, task=Task.regression))
        problem = problem_of(
            table, Parts(method=None, criterion=Reduction(), impurity=Variance(), missing=rule)
        )
        values = grown(problem).predict(table)
        assert (
            np.isfinite(values).all()
            and values.min() >= table.target.values.min()
            and values.max() <= table.target.values.max()
        )


@pytest.mark.parametrize("missing", ["better_side", "surrogates", "stops", "fractional"])
def test_ordered_categories_may_be_missing(missing):
    """The class is whether the size is known, and whether the weight is more than light:
    thresholds, "is it known?" and surrogates of both.
    """
    generator, words = np.random.default_rng(0), ["low", "middle", "high"]
    cells = generator.integers(0, 3, (2, 120))
    cells[generator.random(cells.shape) < 0.2] = -1
    X = pandas.DataFrame(
        {
            name: pandas.Categorical.from_codes(codes, words, ordered=True)
            for name, codes in zip(("size", "weight"), cells, strict=True)
        }
    )
    y = (cells[0] < 0) ^ (cells[1] > 0)
    found = TreeClassifier(method="cart", missing=missing, max_depth=3, verify=True).fit(X, y)
    assert found.score(X, y) == 1.0 if missing == "better_side" else found.get_n_leaves() > 1


@pytest.mark.parametrize("rule", ["majority", "stops", "fractional"])
def test_criteria_of_compiled_tables_score_tests_that_lack_values(rule):
    X = np.array([[NAN, 0], [NAN, 1], [0, 2], [1, 0], [2, 1], [3, 2], [1, 2], [2, 0]])
    fitted = TreeClassifier(
        predicate="interval", criterion="idx", impurity="entropy", missing=rule, verify=True
    ).fit(X, [0, 1, 0, 1, 1, 0, 0, 1])
    assert fitted.tree_.n_nodes > 1


@pytest.mark.parametrize("seed", range(40))
def test_no_threshold_agrees_with_more_weight_than_the_surrogate(seed):
    """Counted threshold by threshold; weights are whole, so that sums are exact."""
    from arboretum_classic.missing.kernels import best_agreement

    generator, n, least, outcomes = np.random.default_rng(seed), 12, 2, 2 + seed % 2
    values = generator.integers(0, 5, (2, n)).astype(np.float64)
    values[generator.random(values.shape) < 0.2] = np.nan
    goes = generator.integers(-1, outcomes, n).astype(np.int32)
    weight = generator.integers(1, 6, n).astype(np.float64)
    cut = np.empty((2, 2))
    sides = np.empty((2, 2), np.int64)
    agree = np.empty(2)
    both = np.empty((2, outcomes))
    best_agreement(values, values.view(np.uint64), goes, weight, least, cut, sides, agree, both)
    for f, column in enumerate(values):
        some, best, at = (goes >= 0) & ~np.isnan(column), -1.0, None
        assert both[f].tolist() == np.bincount(goes[some], weight[some], outcomes).tolist()
        for low, high in zip(
            *(np.unique(column[~np.isnan(column)])[k:] for k in (0, 1)), strict=False
        ):
            left, right = some & (column <= low), some & (column >= high)
            if min(left.sum(), right.sum()) >= least:
                found = sum(
                    np.bincount(goes[side], weight[side], outcomes).max() for side in (left, right)
                )
                best, at = (found, (low, high)) if found > best else (best, at)
        assert agree[f] == best
        assert at is None or tuple(cut[f]) == at


@pytest.mark.parametrize("seed", range(8))
def test_surrogates_of_complete_rows_are_found_after_growth_as_they_are_at_its_nodes(
    seed, monkeypatch
):
    generator = np.random.default_rng(seed)
    columns = generator.integers(0, 6, (4, 60))
    problem = raw_problem(columns.tolist(), generator.integers(0, 2, 60).tolist(), Surrogates())
    fast = grown(problem)
    monkeypatch.setattr("arboretum.engine.search.grow.without_gaps", lambda problem: problem)
    assert fast.surrogates and fast.to_json() == grown(problem).to_json()
