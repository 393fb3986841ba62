"""The paper's methods by name, on real rows: what they select, and that they are what they are
said to be.
"""

from __future__ import annotations

import pytest

from arboretum.plugin.assemble import RegistryFactory
from arboretum.plugin.discovery import load_registry

PLAIN = ("asr", "ip", "bal", "ec45", "ecart", "cc45", "ccart", "c45_ig", "cart_gg")
ROWS = {"dataset": "iris", "split": "none"}


@pytest.fixture(scope="module")
def services() -> RegistryFactory:
    return RegistryFactory(load_registry())


def tree(services, method, *values, theta=0.02, **choices):
    return services.run({**ROWS, "method": method, **choices}, [f"theta={theta}", *values]).tree


def structure(tree):
    return [
        None if tree.is_leaf[v] else (tree.rule(v).describe(), tree.children(v).tolist())
        for v in range(tree.n_nodes)
    ]


@pytest.mark.parametrize("name", PLAIN)
def test_a_method_and_its_pruned_form_differ_by_the_pruner_alone(services, name):
    plain = services.parts({**ROWS, "method": name})
    pruned = services.parts({**ROWS, "method": f"p{name}"})
    assert (plain.pruner, pruned.pruner.name) == (None, "cost_complexity")
    same = ("criterion", "impurity", "coverage", "stopping", "encoder", "cost")
    assert [getattr(plain, part) for part in same] == [getattr(pruned, part) for part in same]
    assert plain.encoder.name == "onehot_kmeans5" and [rule.name for rule in plain.stopping] == [
        "mass"
    ]


def test_ec45_without_impurity_is_asr_and_without_the_rest_the_cost_benefit_tree(services):
    for enhanced, plain in (("ec45", "cc45"), ("ecart", "ccart")):
        assert structure(tree(services, enhanced, "criterion.lam=0")) == structure(
            tree(services, "asr")
        )
        for cost in ("unit", "random"):
            endless = tree(services, enhanced, "criterion.lam=inf", cost=cost)
            assert structure(endless) == structure(tree(services, plain, cost=cost))
    assert structure(tree(services, "cc45")) == structure(tree(services, "c45_ig"))
    assert structure(tree(services, "ccart")) == structure(tree(services, "cart_gg"))


def test_the_programs_pairs_need_more_tests_than_the_papers(services):
    """On all of iris with θ = 0.02 the authors' program needs 3.67 tests per object with its
    form of IP, 2.42 with the paper's.
    """
    found = [
        services.run(
            {**ROWS, "method": "ip"}, ["theta=0.02", f"criterion.weighting={form}"]
        ).metrics["expected_cost"]
        for form in ("paper", "authors")
    ]
    assert [round(cost, 2) for cost in found] == [2.42, 3.67]


def test_group_identification_asks_until_one_class_is_left(services):
    found = tree(services, "gi", theta=0, dataset="play-tennis")
    assert (found.weights[found.is_leaf].min(axis=1) == 0).all()


def test_entity_identification_tells_every_object_apart(services, tmp_path):
    rows = [f"{name},{name >> 2 & 1},{name >> 1 & 1},{name & 1}" for name in range(8)]
    (tmp_path / "things.csv").write_text("\n".join(["name,a,b,c", *rows]) + "\n")
    values = [
        f"dataset.path={tmp_path / 'things.csv'}",
        "dataset.target=name",
        "dataset.kinds={name: categorical}",
    ]
    record = services.run({**ROWS, "dataset": "file", "method": "ei"}, values)
    assert record.tree.n_leaves == 8 and record.metrics["expected_cost"] == 3.0


def test_allowing_tests_that_divide_nothing_makes_the_balanced_tree_long(services):
    """One branch is perfectly even: BAL asks every such test before the first that divides."""
    plain, long = tree(services, "bal"), tree(services, "bal", "method.allow_constant=true")
    assert long.depth_of.max() > 2 * plain.depth_of.max()
    few = tree(services, "asr", stopping=["mass", "few_objects"])
    assert few.n_leaves < tree(services, "asr").n_leaves
