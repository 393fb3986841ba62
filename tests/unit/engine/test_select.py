"""What validation rows decide: which fields a tuner may change, in which order tuner and pruner
work, what is told of it.
"""

from __future__ import annotations

import functools
import math
import operator

import attrs
import numpy as np
import pytest

from arboretum.engine import check
from arboretum.engine.select import Grown, grow_or_tune, prune, with_fields
from arboretum.errors import CapabilityError, ConfigError
from arboretum.interfaces.method import Context, Parts, Problem
from arboretum.model.record import Selection, Solution, Status
from arboretum.testing.oracles import build_tree, slow_greedy
from arboretum.testing.tables import toy_objects, toy_table


@attrs.frozen
class Stub:
    """A component that only declares."""

    kind: str = "method"
    name: str = "stub"
    lam: float = attrs.field(default=1.0)

    @lam.validator
    def _(self, attribute, value):
        if not value >= 0:
            msg = f"criterion.lam must be ≥ 0; got {value!r}"
            raise ValueError(msg)


@attrs.frozen
class Grows(Stub):
    """A method that returns what belongs to the criterion's λ."""

    solutions: dict = attrs.field(factory=dict)

    def fit(self, problem, context):
        context.progress(0, None, "at work")
        return self.solutions[problem.parts.criterion.lam]


@attrs.frozen
class Tries(Stub):
    """A tuner that tries two values and keeps the second."""

    told: bool = False

    def tune(self, fit, valid):
        values = [{"criterion.lam": lam} for lam in (3.0, 5.0)]
        solutions = [fit(one) for one in values]
        tried = list(zip(values, (0.75, 0.5), strict=True))
        kept = Selection(values[1], "roc_auc", tried, ("a remark",)) if self.told else values[1]
        return kept, solutions[1]


def solution(*notes, finished=True, tree=None):
    return Solution(tree, 1.0, 0.0, Status.feasible, notes=notes, finished=finished)


def problem(told=False, **changes):
    solutions = {
        1.0: solution("plain"),
        3.0: solution("three"),
        5.0: solution("five"),
    } | changes.pop("solutions", {})
    parts = Parts(
        method=Grows(solutions=solutions),
        criterion=Stub("criterion"),
        tuner=Tries("tuner", told=told),
        **changes,
    )
    return Problem(None, None, parts)


def test_a_tuner_may_only_change_fields_that_exist():
    parts = Parts(
        method=Stub(),
        criterion=Stub("criterion"),
        stopping=(Stub("stopping", "mass"), Stub("stopping", "pure")),
    )
    assert with_fields(parts, {"criterion.lam": 7.0}).criterion.lam == 7.0
    changed = with_fields(parts, {"stopping.mass.lam": 7.0, "method.lam": 2.0})
    assert [rule.lam for rule in changed.stopping] == [7.0, 1.0] and changed.method.lam == 2.0
    for wrong in (
        "criterion.lamb",
        "criteria.lam",
        "stopping.mas.lam",
        "stopping.lam",
        "stopping.mass.lamb",
    ):
        with pytest.raises(
            ConfigError, match=f"cannot tune unknown field '{wrong}'; did you mean '.*lam'"
        ):
            with_fields(parts, {wrong: 7.0})
    with pytest.raises(ConfigError, match="unknown field 'impurity.base'"):
        with_fields(parts, {"impurity.base": 7.0})


def test_what_is_used_up_before_trees_grow_cannot_be_tuned():
    parts = Parts(method=Stub(), encoder=Stub("encoder"), pruner=Stub("pruner"))
    with pytest.raises(
        ConfigError,
        match="cannot tune 'encoder.lam': it is used before any tree grows; .* sweep over",
    ):
        with_fields(parts, {"encoder.lam": 2.0})
    with pytest.raises(
        ConfigError, match="cannot tune 'pruner.lam': pruners choose for themselves, after tuning"
    ):
        with_fields(parts, {"pruner.lam": 2.0})


def test_a_value_that_the_field_refuses_is_named():
    with pytest.raises(
        ConfigError, match="cannot tune criterion.lam=-1.0: criterion.lam must be ≥ 0; got -1.0"
    ):
        with_fields(Parts(method=Stub(), criterion=Stub("criterion")), {"criterion.lam": -1.0})


def test_a_note_says_which_values_a_tuner_keeps():
    found = grow_or_tune(problem(), Context())
    assert found.solution.notes == ("five", "tuner stub keeps criterion.lam=5")
    assert found.problem.parts.criterion.lam == 5.0, "what comes after sees the kept value"
    assert found.selections["tuner"].numbers() == {"kept_lam": 5.0}


def test_a_tuner_that_tells_its_trials_has_them_in_a_note():
    found = grow_or_tune(problem(told=True), Context())
    sentence = "tuner stub keeps criterion.lam=5 (validation roc auc: 0.7500 at 3, 0.5000 at 5)"
    assert found.solution.notes == ("five", "a remark", sentence)


def test_what_is_tried_is_said_while_it_grows():
    said = []
    grow_or_tune(problem(), Context(progress=lambda done, total, text: said.append(text)))
    lines = [
        [f"tuning criterion.lam={lam}", f"tuning criterion.lam={lam}: at work"]
        for lam in (3.0, 5.0)
    ]
    assert said == functools.reduce(operator.iadd, lines, [])


def test_a_choice_among_trees_that_were_cut_short_is_not_finished():
    assert grow_or_tune(problem(), Context()).solution.finished
    assert not grow_or_tune(
        problem(solutions={3.0: solution(finished=False)}), Context()
    ).solution.finished


def test_without_a_tuner_the_method_fits_once():
    given = problem()
    alone = attrs.evolve(given, parts=attrs.evolve(given.parts, tuner=None))
    found = grow_or_tune(alone, Context())
    assert found.solution.notes == ("plain",) and found.selections == {} and found.problem is alone


@attrs.frozen
class Cuts:
    """A pruner that makes a leaf of everything above a strength it chooses."""

    kind, name = "pruner", "cuts"
    strength: float | None = None

    @property
    def needs_validation(self):
        return self.strength is None

    def choose(self, tree, valid):
        assert valid.n_rows == 12
        return Selection({"pruner.strength": 2.0}, "roc_auc", [({"pruner.strength": 2.0}, 0.5)])

    def prune(self, tree, train, valid):
        return tree.cut([0]) if self.strength == 2.0 else tree


def grown(pruner):
    table = toy_table(0, n_rows=40)
    objects = toy_objects(table.take(np.arange(28)))
    tree = build_tree(objects, slow_greedy(objects))
    parts = Parts(method=Stub(), pruner=pruner)
    return Grown(
        solution("grown", tree=tree), Problem(objects, None, parts, table.take(np.arange(28, 40)))
    )


def test_a_pruner_chooses_its_strength_and_the_parts_remember_it():
    given = grown(Cuts())
    found = prune(given, Context())
    assert found.solution.tree.n_nodes == 1
    assert found.problem.parts.pruner == Cuts(2.0)
    assert found.selections["pruner"].numbers() == {"kept_strength": 2.0}
    assert found.solution.notes[1:] == (
        "pruner cuts keeps pruner.strength=2 (validation roc auc: 0.5000 at 2)",
        f"pruner cuts leaves 1 of {given.solution.tree.n_leaves} leaves",
    )


def test_a_pruner_that_is_told_its_strength_chooses_nothing():
    given = grown(Cuts(1.0))
    found = prune(given, Context())
    assert found.solution.tree is given.solution.tree and found.selections == {}


def test_without_a_pruner_or_a_tree_nothing_is_cut():
    assert prune(given := grown(None), Context()) is given
    nothing = attrs.evolve(grown(Cuts()), solution=solution())
    assert prune(nothing, Context()) is nothing


def test_a_pruner_that_chooses_says_how_to_do_without_validation_rows():
    with pytest.raises(
        CapabilityError,
        match="pruner cuts needs validation rows.*use split=holdout, or say pruner.strength=VALUE",
    ):
        check.check_validation(Parts(method=Stub(), pruner=Cuts()), None)
    check.check_validation(Parts(method=Stub(), pruner=Cuts(1.0)), None)


@attrs.frozen
class Pairs:
    """An impurity that counts."""

    kind, name, scale = "impurity", "pairs", "total"


@attrs.frozen
class Reads(Cuts):
    """A pruner that weighs the tree's impurity."""

    reads_impurity = True


def test_a_pruner_that_reads_impurities_needs_one_per_object():
    parts = Parts(method=Stub(), encoder=Stub("encoder"), cost=Stub("cost"), pruner=Reads())
    with pytest.raises(CapabilityError, match="pruner cuts needs an impurity"):
        check.check_parts(parts)
    with pytest.raises(CapabilityError, match="impurity pairs grows with the mass already; choose"):
        check.check_parts(attrs.evolve(parts, impurity=Pairs()))
    check.check_parts(attrs.evolve(parts, impurity=Stub("impurity")))
    check.check_parts(attrs.evolve(parts, impurity=Pairs(), pruner=Cuts()))


# -- what is kept of a choice ----------------------------------------------------------------------


def test_a_selection_survives_the_way_through_json():
    tried = [({"criterion.lam": 3.0}, 0.5), ({"criterion.lam": 5.0}, math.nan)]
    data = Selection({"criterion.lam": 3.0}, "roc_auc", tried).to_json()
    assert data["tried"][1] == {"values": {"criterion.lam": 5.0}, "score": None}
    again = Selection.from_json(data)
    assert again.kept == {"criterion.lam": 3.0} and again.measure == "roc_auc"
    assert again.tried[0] == tried[0] and math.isnan(again.tried[1][1])


def test_kept_numbers_that_end_alike_are_told_apart():
    kept = {"criterion.lam": 3, "method.lam": 1.5, "criterion.base": "gini", "criterion.deep": True}
    assert Selection(kept).numbers() == {"kept_criterion_lam": 3.0, "kept_method_lam": 1.5}


def test_a_long_list_of_trials_is_shortened():
    tried = [({"a.b": i}, 0.5) for i in range(15)]
    assert (
        Selection({"a.b": 0}, "roc_auc", tried).sentence("it").endswith("0.5000 at 11, and 3 more)")
    )
