"""Whole runs that are tuned and pruned: what the record keeps, in which order, and the presets
of the pruned methods.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import attrs
import numpy as np
import pytest

import arboretum
from arboretum.api import ConfigError, Selection
from arboretum.engine.run import fit
from arboretum.measure import evaluate
from arboretum.plugin.assemble import assemble, expand
from arboretum.plugin.discovery import load_registry
from arboretum.testing.tables import TreeParts, toy_table

TUNED = ["tuner=grid", "tuner.field=stopping.standard.max_depth", "tuner.values=[1,2,6]"]
PRUNED = {"pec45", "pecart", "pcc45", "pccart", "pc45_ig", "pcart_gg", "pasr", "pip", "pbal"}


def iris(*more):
    return arboretum.run(["dataset=iris", "method=cart", "seed=1", *more])


def test_a_run_is_tuned_before_it_is_pruned_and_both_are_recorded():
    record = iris(*TUNED, "pruner=cost_complexity")
    tuned, pruned = iris(*TUNED), iris("pruner=cost_complexity")
    tuner, pruner = record.selections["tuner"], record.selections["pruner"]
    assert tuner.to_json() == tuned.selections["tuner"].to_json(), (
        "the tuner sees trees that are not pruned"
    )
    depth, alpha = tuner.kept["stopping.standard.max_depth"], pruner.kept["pruner.alpha"]
    assert record.metrics["kept_max_depth"] == depth and record.metrics["kept_alpha"] == alpha
    again = iris(
        f"stopping.standard.max_depth={depth}", "pruner=cost_complexity", f"pruner.alpha={alpha}"
    )
    assert again.tree == record.tree
    assert record.metrics["valid_roc_auc"] == pytest.approx(
        {v["pruner.alpha"]: s for v, s in pruner.tried}[alpha]
    )
    assert any(
        note.startswith(
            f"tuner grid keeps stopping.standard.max_depth={depth} (validation roc auc: "
        )
        for note in record.notes
    )
    assert any(
        note.startswith("pruner cost_complexity keeps pruner.alpha=") for note in record.notes
    )
    assert pruned.metrics["kept_alpha"] in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)


def test_what_was_tried_survives_in_the_run_folder(tmp_path):
    record = iris(*TUNED, "pruner=cost_complexity", f"hydra.run.dir={tmp_path / 'run'}")
    again = arboretum.load(tmp_path / "run")
    assert {who: one.to_json() for who, one in again.selections.items()} == {
        who: one.to_json() for who, one in record.selections.items()
    }
    assert again.metrics == pytest.approx(dict(record.metrics), nan_ok=True)
    assert [values for values, _ in again.selections["tuner"].tried] == [
        {"stopping.standard.max_depth": d} for d in (1, 2, 6)
    ]


def test_a_run_that_chooses_has_the_fingerprint_of_its_configuration_alone():
    one, two = iris("pruner=cost_complexity"), iris("pruner=cost_complexity")
    told = iris("pruner=cost_complexity", f"pruner.alpha={one.metrics['kept_alpha']}")
    assert one.fingerprint == two.fingerprint != told.fingerprint
    assert told.selections == {} and "kept_alpha" not in told.metrics
    assert told.tree == one.tree


def test_a_field_that_does_not_exist_is_refused_with_the_closest_one():
    with pytest.raises(
        ConfigError, match="cannot tune unknown field 'stopping.standard.max_dept'; did you mean"
    ):
        iris("tuner=descending", "tuner.field=stopping.standard.max_dept")
    with pytest.raises(ConfigError, match="tuner.values must hold at least one value"):
        iris("tuner=descending", "tuner.values=[]")


@pytest.mark.parametrize("tuner", ["descending", "grid"])
@pytest.mark.parametrize("pruner", ["bottom_up", "top_down"])
def test_multiway_trees_with_missing_values_are_tuned_pruned_and_verified(tuner, pruner):
    more = [
        "method=id3",
        "encoder=multiway",
        "encoder.missing=category",
        f"tuner={tuner}",
        f"pruner.direction={pruner}",
    ]
    more += [
        "pruner=cost_complexity",
        "tuner.field=stopping.standard.min_split",
        "tuner.values=[2,10,30]",
    ]
    record = arboretum.run(["dataset=iris", "seed=2", *more])
    assert record.verified and record.metrics["n_leaves"] >= 1
    assert record.metrics["kept_min_split"] in (2, 10, 30)


def test_regression_trees_are_pruned_by_their_variance_and_judged_by_r2():
    registry = load_registry()
    parts = assemble(
        registry,
        {"method": "cart", "pruner": "cost_complexity", "tracker": "none"},
        {"pruner.grid": [0.0, 0.1, 1.0, 10.0]},
    )
    table = toy_table(5, n_rows=200, kind=TreeParts(task=type(toy_table(0).task).regression))
    fitted = fit(parts, table, 0)
    chosen = fitted.selections["pruner"]
    assert chosen.measure == "r2"
    valid = table.take(fitted.division.valid)
    assert evaluate(fitted.solution.tree, valid)["r2"] == pytest.approx(
        max(score for _, score in chosen.tried)
    )
    assert fitted.problem.parts.pruner.alpha == chosen.kept["pruner.alpha"]
    full = fit(attrs.evolve(parts, pruner=None), table, 0).solution.tree
    assert fitted.solution.tree.n_leaves < full.n_leaves, "half of the rows are noise"


def test_a_table_whose_validation_rows_show_one_class_is_judged_by_accuracy():
    registry = load_registry()
    parts = assemble(
        registry,
        {"method": "cart", "pruner": "cost_complexity", "tuner": "grid", "tracker": "none"},
        {"tuner.field": "stopping.standard.min_leaf", "tuner.values": [1, 5]},
    )
    table = toy_table(5, n_rows=100)
    division = fit(parts, table, 0).division
    one = attrs.evolve(division, valid=division.valid[table.target.codes[division.valid] == 0])
    fitted = fit(
        attrs.evolve(parts, split=SimpleNamespace(divide=lambda table, seed: one)), table, 0
    )
    assert {selection.measure for selection in fitted.selections.values()} == {"accuracy"}
    said = [
        note
        for note in fitted.solution.notes
        if "the validation rows show one class, 'red'" in note
    ]
    assert len(said) == 1, "said once, though both tuner and pruner say it"


# -- presets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(PRUNED))
def test_a_pruned_preset_is_the_plain_one_and_the_pruner(name):
    registry = load_registry()
    plain, pruned = expand(registry, {"method": name[1:]}), expand(registry, {"method": name})
    assert pruned.pop("pruner") == "cost_complexity" and plain.pop("pruner") == "none"
    assert plain == pruned


def test_a_pruned_preset_runs():
    record = arboretum.run(["dataset=iris", "method=pc45_ig", "theta=0.02"])
    assert record.verified and math.isfinite(record.metrics["kept_alpha"])
    assert isinstance(record.selections["pruner"], Selection)
    assert np.isclose(record.tree.mass[0], 105)
