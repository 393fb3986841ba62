"""Priors and losses: altered priors as in rpart, labels of least loss, and matrices that do not
fit.
"""

from __future__ import annotations

import numpy as np
import pytest

import arboretum
from arboretum.api import CapabilityError, DataError
from arboretum.testing.tables import TreeParts, toy_objects, toy_table
from arboretum_classic.pruning.complexity_path import Subtrees
from arboretum_classic.pruning.expected_loss import ExpectedLoss

RUN = ["split=none", "method=cart", "tracker=none", "objective=expected_loss"]
RPART = [
    "stopping.standard.min_split=20",
    "stopping.standard.min_leaf=7",
    "pruner=cost_complexity",
    "pruner.risk=error",
    "pruner.relative=true",
]


def test_altered_priors_of_two_classes_are_weights():
    """A loss of 3 for one kind of error is a weight of 3 on its class."""
    objects = toy_objects(toy_table(3, n_rows=40, kind=TreeParts(multiclass=False)))
    weight = ExpectedLoss(loss=[[0, 1], [3, 0]]).weigh(objects)
    assert weight.sum() == pytest.approx(objects.weight.sum())
    ratio = weight / objects.weight
    assert ratio[objects.label == 1] == pytest.approx(3 * ratio[objects.label == 0][0])
    share = ExpectedLoss(priors=[1, 1]).weigh(objects)
    assert share[objects.label == 0].sum() == pytest.approx(share[objects.label == 1].sum())


def test_the_trees_are_those_that_rpart_prints():
    """rpart 4.1: wdbc with loss=matrix(c(0, 1, 6, 0), byrow=TRUE) and cp=0.01, iris with
    prior=c(.2, .3, .5), where petal_width < 0.8 parts the rows of the second node alike.
    """
    found = arboretum.run(
        [*RUN, *RPART, "dataset=wdbc", "objective.loss=[[0,1],[6,0]]", "pruner.alpha=0.01"]
    )
    assert found.verified and found.tree.n_leaves == 8
    assert found.tree.rule(0).describe() == "worst_perimeter ≤ 101.65"
    assert found.tree.counts[found.tree.is_leaf].tolist() == [298, 7, 11, 20, 7, 17, 11, 198]
    iris = arboretum.run(
        [*RUN, *RPART, "dataset=iris", "objective.priors=[0.2,0.3,0.5]", "pruner.alpha=0.01"]
    ).tree
    assert iris.rule(0).describe() == "petal_length ≤ 4.75" and iris.counts.tolist() == [
        150,
        95,
        50,
        45,
        55,
    ]
    assert (iris.weights / iris.mass[:, None])[1] == pytest.approx(
        [0.42194093, 0.55696203, 0.02109705]
    )


LOSS, PRIORS = "[[0,1,4],[2,0,1],[6,3,0]]", "[0.25,0.25,0.5]"
CP = {
    "wine": [
        (0.760563, 0, 1.0),
        (0.174075, 1, 0.239437),
        (0.03662, 2, 0.065362),
        (0.012366, 3, 0.028742),
        (0.0, 4, 0.016376),
    ],
    "balance-scale": [
        (0.124504, 0, 1.0),
        (0.055159, 1, 0.875496),
        (0.04149, 2, 0.820337),
        (0.028671, 4, 0.737358),
        (0.021386, 6, 0.680017),
        (0.014364, 7, 0.658631),
        (0.012439, 9, 0.629904),
        (0.012316, 12, 0.592588),
        (0.011182, 13, 0.580272),
        (0.005591, 14, 0.56909),
        (0.000659, 16, 0.557908),
        (0.0, 18, 0.55659),
    ],
}
"""What rpart 4.1 prints for these tables with this loss matrix and priors, minsplit=20,
minbucket=7, cp=0.
"""


@pytest.mark.parametrize("name", CP)
def test_three_classes_are_pruned_by_what_is_lost(name):
    ways = [
        f"dataset={name}",
        "split=none",
        "tracker=none",
        "method=rpart",
        "objective=expected_loss",
    ]
    found = arboretum.run(
        [*ways, f"objective.loss={LOSS}", f"objective.priors={PRIORS}", "pruner.alpha=0"]
    )
    losses = np.array([[0, 1, 4], [2, 0, 1], [6, 3, 0]])
    path = Subtrees.of(found.tree, "error", losses / losses.sum(axis=1, keepdims=True)).path()
    assert found.verified and path.cp_table() == [pytest.approx(row, abs=1e-6) for row in CP[name]]
    by_folds = arboretum.run(
        [
            *ways,
            f"objective.loss={LOSS}",
            "pruner=cost_complexity",
            "pruner.risk=error",
            "pruner.folds=3",
        ]
    )
    assert (
        by_folds.selections["pruner"].measure == "1 − mean loss in 3 folds"
        and by_folds.tree.n_leaves > 1
    )


@pytest.mark.parametrize("seed", range(20))
def test_of_equal_losses_the_first_class_is_said(seed):
    """Altered weights cannot be added up exactly; rows and losses are whole numbers."""
    generator = np.random.default_rng(seed)
    losses = generator.integers(1, 4, (5, 5)) * (1 - np.eye(5, dtype=int))
    rows = generator.integers(0, 9, (60, 5))
    prior = generator.integers(1, 9, 5)  # of the classes, by row
    altered = rows * prior * losses.sum(axis=1) * (1 / 0.7 / prior.sum())
    told = ExpectedLoss(loss=losses.tolist()).label_costs(altered, None)
    assert told.argmin(axis=1).tolist() == (rows * prior @ losses).argmin(axis=1).tolist()


def test_the_heavier_branch_has_more_rows_whatever_the_priors(tmp_path):
    """As in rpart: six rows left, four right, which a prior makes heavier, and two without a
    value.
    """
    lines = ["x,y", *["1,a"] * 6, *["2,b"] * 4, *[",a"] * 2]
    (tmp_path / "gaps.csv").write_text("\n".join(lines))
    found = arboretum.run(
        [
            *RUN,
            "dataset=file",
            f"dataset.path={tmp_path}/gaps.csv",
            "dataset.target=y",
            "missing=rpart",
            "objective.priors=[0.1,0.9]",
        ]
    )
    assert found.tree.weights[2].sum() > found.tree.weights[
        1
    ].sum() and found.tree.counts.tolist() == [12, 8, 4]


def test_a_leaf_predicts_the_class_of_least_loss():
    """Of three classes the one in the middle is never far off, so that mixed leaves predict it
    though it is not the heaviest.
    """
    far = [[0, 1, 9], [1, 0, 1], [9, 1, 0]]
    found = arboretum.run(
        [
            *RUN,
            "dataset=iris",
            f"objective.loss={far}".replace(" ", ""),
            "stopping.standard.max_depth=0",
        ]
    )
    tree = found.tree
    assert found.verified and tree.n_nodes == 1
    losses = np.array(far) @ np.eye(3)
    assert tree.label[0] == (np.full(3, 50) @ losses).argmin() == 1


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        (
            {"loss": [[0, 1], [1]]},
            "objective.loss must have as many columns as rows; row 1 has 1 in a matrix of 2 rows",
        ),
        ({"loss": [[0, -1], [1, 0]]}, "objective.loss must be finite, ≥ 0, 0 on the diagonal"),
        (
            {"loss": [[1, 1], [1, 0]]},
            "0 on the diagonal, and above 0 somewhere in each row; got row 0",
        ),
        ({"priors": (0.5, 0.0)}, "objective.priors must be > 0"),
    ],
)
def test_impossible_matrices_and_priors_are_refused(fields, complaint):
    with pytest.raises(ValueError, match=complaint):
        ExpectedLoss(**fields)


def test_what_does_not_fit_the_classes_is_refused_with_the_way_out():
    with pytest.raises(
        CapabilityError,
        match="objective.loss is for 2 classes, but there are 3; give a row per class",
    ):
        arboretum.run([*RUN, "dataset=iris", "objective.loss=[[0,1],[1,0]]"])
    with pytest.raises(
        CapabilityError,
        match="objective.priors is for 2 classes, but there are 3; give a number per class",
    ):
        arboretum.run([*RUN, "dataset=iris", "objective.priors=[1,2]"])
    with pytest.raises((CapabilityError, DataError), match="expected_loss"):
        arboretum.run([*RUN, "dataset=diabetes"])
