"""The suites of what looks at objects or trees (coverage, complexity, objective) and of what makes
trees (solvers, pruners, tuners, methods) tell a sound component from a broken one: every defect
below must be found by some test of the suite.
"""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest
from cover import ToyCover
from suite_failures import failures
from toy_coverage import ToyExcluded

from arboretum.api import ConfusionObjective, Form, Parts, Selection, Solution, Status, param
from arboretum.testing import suite_of
from arboretum.testing.effort import tries
from arboretum.testing.oracles import best_tree, build_tree

# -- coverage, complexity, objective ---------------------------------------------------------------


@attrs.frozen
class SoundCoverage:
    """Share of the objects of other classes that are gone (heterogeneous pairs, per object)."""

    kind, name, paper, capabilities = "coverage", "sound", "", ()

    def covered(self, objects, rows):
        total = np.bincount(objects.label, objects.weight, objects.n_classes)
        here = np.bincount(objects.label[rows], objects.weight[rows], objects.n_classes)
        others, still = total.sum() - total, here.sum() - here
        return (1 - still / others)[objects.label[rows]]


@attrs.frozen
class AboveOne(SoundCoverage):
    """Counts instead of shares."""

    def covered(self, objects, rows):
        return super().covered(objects, rows) * 2


@attrs.frozen
class Uncovers(SoundCoverage):
    """Falls when more is asked."""

    def covered(self, objects, rows):
        return 1 - super().covered(objects, rows)


@attrs.frozen
class NotSubmodular(SoundCoverage):
    """A square gains more the later it is asked."""

    def covered(self, objects, rows):
        return super().covered(objects, rows) ** 6


@attrs.frozen
class HalfBefore(SoundCoverage):
    """Half covered before anything is asked."""

    def covered(self, objects, rows):
        return 0.5 + super().covered(objects, rows) / 2


@attrs.frozen
class Drifts(SoundCoverage):
    """Answers something else once it is bound to its root."""

    def prepare(self, objects):
        return NotSubmodular()


@attrs.frozen
class SoundComplexity:
    """Number of leaves."""

    kind, name, paper, capabilities = "complexity", "sound", "", ()

    per_object = False

    def leaf(self):
        return 1.0

    def node(self, mass, price, children):
        return float(children.sum())

    def form(self):
        return Form(leaf=1.0)


@attrs.frozen
class FallsWithSize(SoundComplexity):
    """Cheaper when larger."""

    def node(self, mass, price, children):
        return 1 / (1.0 + float(children.sum()))

    def form(self):
        return None


@attrs.frozen
class WrongForm(SoundComplexity):
    """Says in closed form what it does not do."""

    def form(self):
        return Form(leaf=1.0, per_node=1.0)


@attrs.frozen
class LeafErrors:
    """Weight of the errors plus λ per leaf."""

    kind, name, paper, capabilities = "objective", "leaf_errors", "", ()
    lam: float = param(0.7, "cost of a leaf", ge=0)

    def value(self, tree, problem):
        wrong = (tree.weights.sum(axis=1) - tree.weights.max(axis=1))[tree.is_leaf].sum()
        return float(wrong + self.lam * tree.n_leaves)


@attrs.frozen
class NanObjective(LeafErrors):
    """Undefined on a leaf."""

    def value(self, tree, problem):
        return float("nan") if tree.n_nodes == 1 else super().value(tree, problem)


@attrs.frozen
class ConstantObjective(LeafErrors):
    """Tells nothing apart."""

    def value(self, tree, problem):
        return 1.0


@attrs.frozen
class Missed(ConfusionObjective):
    """Shares of misses."""

    name = "missed"

    def loss(self, fp, fn, positives, negatives):
        return fn / positives + 0 * fp


@attrs.frozen
class Forgiving(Missed):
    """A false alarm is a gain."""

    def loss(self, fp, fn, positives, negatives):
        return fn / positives - fp / (9 * negatives)


@attrs.frozen
class OfAnotherLoss(Missed):
    """Its value is not that of its loss."""

    def value(self, tree, problem):
        return 2 * super().value(tree, problem)


@pytest.mark.parametrize(
    "coverage", [(), (ToyExcluded(),), (ToyExcluded(), SoundCoverage())], ids=len
)
def test_the_criterion_suite_accepts_a_sound_criterion_that_reads_coverage(coverage):
    assert failures("criterion", ToyCover(0.1), coverage=coverage) == []


@pytest.mark.parametrize(
    ("kind", "broken", "found_by"),
    [
        ("coverage", AboveOne, "test_it_satisfies_its_axioms"),
        ("coverage", Uncovers, "test_it_satisfies_its_axioms"),
        ("coverage", NotSubmodular, "test_it_satisfies_its_axioms"),
        ("coverage", HalfBefore, "test_it_satisfies_its_axioms"),
        (
            "coverage",
            Drifts,
            "test_it_answers_with_a_number_per_object_and_bound_to_its_root_with_the_same",
        ),
        (
            "complexity",
            FallsWithSize,
            "test_it_is_a_finite_number_above_that_of_a_leaf_and_no_cut_makes_a_tree_dearer",
        ),
        ("complexity", FallsWithSize, "test_no_dearer_branch_makes_a_node_cheaper"),
        ("complexity", WrongForm, "test_its_closed_form_says_the_same"),
        (
            "objective",
            NanObjective,
            "test_it_is_a_number_the_same_for_a_stored_tree_and_tells_some_trees_apart",
        ),
        (
            "objective",
            ConstantObjective,
            "test_it_is_a_number_the_same_for_a_stored_tree_and_tells_some_trees_apart",
        ),
        (
            "objective",
            Forgiving,
            "test_its_loss_falls_with_neither_kind_of_error",
        ),
        (
            "objective",
            OfAnotherLoss,
            "test_its_loss_falls_with_neither_kind_of_error",
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_suites_find_a_function_of_trees_or_objects_that(kind, broken, found_by):
    assert found_by in failures(kind, broken(), found_by)


def test_the_suites_accept_sound_functions_of_trees_and_objects():
    assert failures("coverage", SoundCoverage()) == failures("coverage", ToyExcluded()) == []
    assert failures("complexity", SoundComplexity()) == []
    assert failures("objective", LeafErrors()) == failures("objective", Missed()) == []


# -- solvers, pruners, tuners, methods -------------------------------------------------------------


@attrs.frozen
class BruteForce:
    """Lists every tree."""

    kind, name, paper, capabilities = (
        "solver",
        "brute_force",
        "",
        ("classification", "multiclass", "weights", "exact"),
    )

    def solve(self, problem, context):
        objective = problem.parts.objective
        value, tree = best_tree(
            problem.objects, lambda tree: objective.value(tree, problem), problem.prices
        )
        return Solution(tree, value, value, Status.optimal)


@attrs.frozen
class ClaimsTheFirstTree(BruteForce):
    """Calls a leaf optimal."""

    def solve(self, problem, context):
        leaf = build_tree(problem.objects, None)
        value = problem.parts.objective.value(leaf, problem)
        return Solution(leaf, value, value, Status.optimal)


@attrs.frozen
class BoundAboveTheOptimum(BruteForce):
    """Proves too much when time is over."""

    def solve(self, problem, context):
        found = super().solve(problem, context)
        if context.deadline is None:
            return found
        return attrs.evolve(
            found, value=found.value + 1, lower_bound=found.value + 0.5, status=Status.feasible
        )


@attrs.frozen
class NoPruning:
    """Leaves the tree as it is."""

    kind, name, paper, capabilities = "pruner", "no_pruning", "", ()
    needs_validation = False

    def prune(self, tree, train, valid):
        return tree


@attrs.frozen
class Stump(NoPruning):
    """Cuts the tree at a depth that is given, or chosen."""

    depth: int | None = param(None, "tests on a path")

    @property
    def needs_validation(self):
        return self.depth is None

    def choose(self, tree, valid):
        return Selection({"pruner.depth": 1})

    def prune(self, tree, train, valid):
        depth = 1 if self.depth is None else self.depth
        return tree.cut(np.flatnonzero(tree.depth_of == depth))


@attrs.frozen
class ChoosesAnother(Stump):
    """Says one depth and takes another."""

    def choose(self, tree, valid):
        return Selection({"pruner.depth": 0})


@attrs.frozen
class ForgetsRows(NoPruning):
    """Counts one row less."""

    def prune(self, tree, train, valid):
        return attrs.evolve(tree, counts=np.maximum(tree.counts - 1, 0))


def _errors(solution, valid):
    """Weight of the rows predicted wrongly; a solution without a tree is worse than any."""
    if solution.tree is None:
        return math.inf
    return valid.row_weights()[solution.tree.predict(valid) != valid.target.codes].sum()


@attrs.frozen
class BestOfThree:
    """Tries three values and keeps the one with fewest errors on the validation rows."""

    kind, name, paper, capabilities = "tuner", "best_of_three", "", ()
    measure = "accuracy"

    def tune(self, fit, valid):
        tried = [({"criterion.lam": lam}, fit({"criterion.lam": lam})) for lam in (0.0, 0.3, 0.5)]
        return min(tried, key=lambda pair: _errors(pair[1], valid))


@attrs.frozen
class KeepsWhatItNeverTried(BestOfThree):
    """Invents a value."""

    def tune(self, fit, valid):
        return {"criterion.lam": 99.0}, super().tune(fit, valid)[1]


@attrs.frozen
class KeepsTheWorst(BestOfThree):
    """The wrong way round."""

    def tune(self, fit, valid):
        tried = [({"criterion.lam": lam}, fit({"criterion.lam": lam})) for lam in (0.0, 0.3, 0.5)]
        return max(tried, key=lambda pair: _errors(pair[1], valid))


@attrs.frozen
class TellsOtherScores(BestOfThree):
    """Its record does not fit its trees."""

    def tune(self, fit, valid):
        kept, solution = super().tune(fit, valid)
        return Selection(
            kept, "accuracy", [({"criterion.lam": lam}, 0.125) for lam in (0.0, 0.3, 0.5)]
        ), solution


@attrs.frozen
class KeepsWhatHasNoTree(BestOfThree):
    """The last value, come what may."""

    def tune(self, fit, valid):
        return [({"criterion.lam": lam}, fit({"criterion.lam": lam})) for lam in (0.0, 0.3, 0.5)][
            -1
        ]


@attrs.frozen
class JudgesOnHalves(BestOfThree):
    """Needs no validation rows: a tree of the first half of the objects is judged on the others."""

    needs_validation = False
    values = (0.0, 0.3, 0.5)

    def tune_by_growing(self, fit, grow, objects, seed):
        who, tried = self.learn(objects), []
        held = objects.table.take(np.arange(objects.n_objects // 2, objects.n_objects))
        for lam in self.values:
            right = grow({"criterion.lam": lam}, who).predict(held) == held.target.codes
            tried.append(({"criterion.lam": lam}, float(right.mean())))
        kept = self.choose(tried)
        return Selection(kept, "accuracy", tried), fit(kept)

    def learn(self, objects):
        return np.arange(objects.n_objects // 2)

    def choose(self, tried):
        return max(tried, key=lambda pair: pair[1])[0]


@attrs.frozen
class JudgesOnWhatItSaw(JudgesOnHalves):
    """Its trees know all objects."""

    def learn(self, objects):
        return np.arange(objects.n_objects)


@attrs.frozen
class KeepsTheWorstHalf(JudgesOnHalves):
    """The wrong way round, without validation rows."""

    def choose(self, tried):
        return min(tried, key=lambda pair: pair[1])[0]


@attrs.frozen
class KeepsWhatItNeverJudged(JudgesOnHalves):
    """Invents a value, and grows a tree with it."""

    def choose(self, tried):
        return {"criterion.lam": 99.0}


@attrs.frozen
class SlowMethod:
    """Grows by the naive loop."""

    kind, name, paper, capabilities = "method", "slow", "", ()
    needs = ("criterion",)

    def fit(self, problem, context):
        from arboretum.testing.oracles import slow_greedy

        return Solution(
            build_tree(problem.objects, slow_greedy(problem.objects)), 0.0, 0.0, Status.feasible
        )


@attrs.frozen
class NeverLearns(SlowMethod):
    """Always a leaf."""

    def fit(self, problem, context):
        return Solution(build_tree(problem.objects, None), 0.0, 0.0, Status.feasible)


@attrs.frozen
class LosesWeight(SlowMethod):
    """Reports other weights than its training objects have."""

    def fit(self, problem, context):
        found = super().fit(problem, context)
        return attrs.evolve(found, tree=attrs.evolve(found.tree, weights=found.tree.weights * 1.01))


def solver_parts(solver):
    return Parts(method=None, solver=solver, objective=LeafErrors())


@pytest.mark.parametrize(
    ("kind", "broken", "found_by"),
    [
        (
            "solver",
            ClaimsTheFirstTree,
            "test_it_finds_what_brute_force_finds_and_again_for_the_same_seed",
        ),
        ("solver", BoundAboveTheOptimum, "test_when_time_is_over_it_says_what_it_has_proven"),
        (
            "pruner",
            ForgetsRows,
            "test_the_pruned_tree_is_no_larger_and_holds_at_every_node_the_rows_that_come_to_it",
        ),
        (
            "tuner",
            KeepsWhatItNeverTried,
            "test_it_keeps_one_of_the_values_it_tried_and_tries_the_same_again",
        ),
        (
            "tuner",
            KeepsTheWorst,
            "test_it_keeps_the_best_tree_on_the_validation_rows_up_to_the_slack_it_states",
        ),
        ("tuner", TellsOtherScores, "test_what_it_tells_of_its_trials_is_what_it_tried"),
        (
            "tuner",
            KeepsWhatHasNoTree,
            "test_a_value_that_the_budget_left_without_a_tree_is_kept_only_where_no_other_has_one",
        ),
        *(
            (
                "tuner",
                one,
                "test_without_validation_rows_it_judges_on_objects_its_trees_have_not_seen",
            )
            for one in (JudgesOnWhatItSaw, KeepsTheWorstHalf, KeepsWhatItNeverJudged)
        ),
        (
            "pruner",
            ChoosesAnother,
            "test_it_says_whether_it_needs_validation_rows_and_its_choice_prunes_as_it_does",
        ),
        ("method", NeverLearns, "test_it_learns_something_and_makes_a_leaf_of_a_single_object"),
        (
            "method",
            LosesWeight,
            "test_it_returns_a_tree_that_verification_accepts_and_for_the_same_seed_the_same",
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_suites_find_a_procedure_that(kind, broken, found_by):
    extra = (
        {"parts": solver_parts(broken()), "value": LeafErrors().value} if kind == "solver" else {}
    )
    assert found_by in failures(kind, broken(), found_by, **extra)


@pytest.mark.slow
def test_the_suites_accept_sound_procedures(monkeypatch):
    monkeypatch.setattr(suite_of("solver"), "tables", tries(30))
    assert failures("solver", BruteForce(), parts=solver_parts(BruteForce())) == []
    assert failures("pruner", NoPruning()) == []
    assert failures("pruner", Stump()) == failures("pruner", Stump(2)) == []
    assert failures("tuner", BestOfThree()) == failures("tuner", JudgesOnHalves()) == []
    assert failures("method", SlowMethod()) == []
