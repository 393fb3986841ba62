"""Optima of restricted problems: they say so, and all thresholds certify them; Theorem 3.1's
example.
"""

from __future__ import annotations

import os

import attrs
import numpy as np
import pytest
from tiny_tables import Held, least

import arboretum
from arboretum.api import (
    CapabilityError,
    Column,
    ColumnKind,
    Context,
    DataError,
    Limits,
    Parts,
    Price,
    Prices,
    Problem,
    Status,
    Table,
    Target,
    Task,
)
from arboretum.cli.verify import main
from arboretum.testing import SolverSuite
from arboretum_data.encoding.columns import BinTests, Numeric
from arboretum_data.encoding.encoder import Coalesce, TestsEncoder
from arboretum_gosdt.problem.objectives import Accuracy
from arboretum_gosdt.solvers.gosdt import Gosdt
from arboretum_gosdt.solvers.thresholds import GosdtThresholds

CUT = [
    TestsEncoder(numeric=Numeric.quantile, n_bins=2),
    TestsEncoder(numeric=Numeric.quantile, n_bins=3, bin_tests=BinTests.thresholds),
]
CUT += [
    TestsEncoder(numeric=Numeric.bucketised),
    TestsEncoder(numeric=Numeric.guessed, guesses=2),
    TestsEncoder(numeric=Numeric.kmeans, n_bins=4),
]
EIGHT = "x,y,class\n1,1,0\n2,3,1\n3,2,0\n4,3,1\n5,1,1\n6,3,0\n7,1,1\n8,2,0\n"


class TestConformance(SolverSuite):
    tables = 4

    @pytest.fixture
    def component(self):
        return GosdtThresholds()

    @pytest.fixture
    def parts(self, component):
        return Parts(method=None, solver=component, objective=Accuracy())


def posed(encoder, seed, objective, **limits):
    """Eight rows of two columns of up to six values as an encoder cuts them, and the same with
    the columns raw that it kept; None for none.
    """
    generator = np.random.default_rng([seed, 31])
    columns = tuple(
        Column(f"x{f}", ColumnKind.continuous, generator.integers(0, 6, 8).astype(float))
        for f in range(2)
    )
    weights = generator.choice([1.0, 2.0, 0.5], 8) if seed % 2 else None
    table = Table(
        "eight",
        columns,
        Target("y", Task.classification, generator.integers(0, 2, 8).astype(np.int32), ("u", "v")),
        weights,
    )
    try:
        kept = {
            feature.position
            for feature in encoder.encode(table, table, raw_thresholds=False, seed=0).features
        }
    except DataError:
        return None
    table = attrs.evolve(table, columns=tuple(columns[place] for place in sorted(kept)))
    parts = Parts(method=None, objective=objective, stopping=(Held(Limits(**limits)),))
    found = (
        one.encode(table, table, raw_thresholds=False, seed=0)
        for one in (encoder, TestsEncoder(numeric=Numeric.raw))
    )
    return [
        Problem(
            objects,
            Prices(np.ones(objects.test_offset[-1]), np.ones(len(objects.raw_features))),
            parts,
        )
        for objects in found
    ]


@pytest.mark.parametrize(
    "encoder", CUT, ids=lambda one: f"{one.numeric.value}-{one.bin_tests.value}"
)
def test_the_minimum_is_that_of_all_thresholds(encoder):
    tried = below = 0
    for seed in range(60):
        objective = Accuracy(
            lam=[0.0, 0.02][seed % 2], mu=0.01 * (seed % 3 == 0), price=Price.expected
        )
        limits = {"max_depth": 2, "max_leaves": [None, 3][seed // 2 % 2]}
        if (both := posed(encoder, seed, objective, **limits)) is None:
            continue
        restricted, raw = both
        wide, narrow = (
            solver.solve(restricted, Context()) for solver in (GosdtThresholds(), Gosdt())
        )
        best = float(least(raw, depth=2, leaves=limits["max_leaves"]))
        assert wide.status is narrow.status is Status.optimal and wide.value <= narrow.value + 1e-12
        # a bin between two cuts is a test that no threshold is
        more = encoder.numeric is Numeric.kmeans
        assert wide.value == pytest.approx(best) or (more and wide.value < best)
        tried, below = tried + 1, below + (wide.value < narrow.value - 1e-9)
    assert tried > 50 and (below > 4 or encoder.numeric is Numeric.bucketised)


def test_objects_of_several_rows_are_refused_with_the_way_out():
    problem, _ = posed(
        TestsEncoder(numeric=Numeric.quantile, n_bins=2, coalesce=Coalesce.sum), 0, Accuracy()
    )
    with pytest.raises(
        CapabilityError, match=r"different values of column 'x0'; .* encoder.coalesce=none"
    ):
        GosdtThresholds().solve(problem, Context())


def said(record):
    return [note for note in record.notes if "restricted problem" in note]


def test_a_restricted_optimum_says_so_and_is_certified(tmp_path):
    (tmp_path / "eight.csv").write_text(EIGHT)
    words = [
        f"dataset.path={tmp_path / 'eight.csv'}",
        "dataset=file",
        "dataset.target=class",
        "method=gosdt",
        "objective.lam=0.05",
        "split=none",
    ]
    words += ["stopping.standard.max_leaves=4", "certify=true", "certifier=gosdt_thresholds"]
    every = arboretum.run(words)
    few = arboretum.run([*words, "encoder.numeric=bucketised"])
    assert (every.metrics["train_error"], few.metrics["train_error"]) == (0.0, 1 / 8)
    assert not said(every) and said(few)[0].startswith(
        "optimal for a restricted problem: tests know 8 of 9 cuts"
    )
    ratios = [record.certificate.complexities["objective"].ratio for record in (every, few)]
    assert ratios == pytest.approx([1.0, 0.325 / 0.2])
    assert not said(
        arboretum.run([*words, "encoder.numeric=bucketised", "solver=gosdt_thresholds"])
    )
    greedy = [
        word.replace("method=gosdt", "method=cart").replace(
            "objective", "objective=accuracy objective"
        )
        for word in words
    ]
    greedy = [part for word in greedy for part in word.split()]
    # it is no optimum of anything
    assert not said(arboretum.run([*greedy, "encoder.numeric=bucketised"]))


@pytest.mark.skipif(
    not os.environ.get("ARBORETUM_DATA"), reason="ARBORETUM_DATA names no data home with gosdt-fig1"
)
def test_theorem_3_1_on_the_papers_table():
    """Figure 1: 72 of 77 with all 46 cuts, 71 with the 9 of buckets; with λ = 0.09 both have
    four leaves.
    """
    for words in (["objective.lam=0", "stopping.standard.max_depth=2"], ["objective.lam=0.09"]):
        for numeric, tests, errors in (("midpoints", 46, 5), ("bucketised", 9, 6)):
            record = arboretum.run(
                [
                    "dataset=gosdt-fig1",
                    "method=gosdt",
                    "split=none",
                    f"encoder.numeric={numeric}",
                    *words,
                ]
            )
            assert record.solution.status is Status.optimal and record.data["n_tests"] == tests
            assert round(record.metrics["train_error"] * 77) == errors and record.tree.n_leaves == 4
            assert bool(said(record)) == (numeric == "bucketised")


@pytest.mark.parametrize("encoder", ["bins", "midpoints", "onehot", "raw"])
def test_its_proof_is_of_all_thresholds_whatever_the_encoder_cut(encoder, tmp_path, capsys):
    (tmp_path / "t.csv").write_text("a,b,y\n1,u,p\n2,v,q\n3,u,p\n4,w,q\n5,u,q\n")
    run = arboretum.run(
        [
            *("dataset=file", f"dataset.path={tmp_path / 't.csv'}", "dataset.target=y"),
            *("method=gosdt", "solver=gosdt_thresholds", f"encoder={encoder}", "split=none"),
            *("objective.lam=0.05", f"solver.proof={tmp_path / 'proof'}", "tracker=none"),
        ]
    )
    assert main([str(tmp_path / "proof")]) == 0
    assert f"the tree's value is {run.solution.value:g} (optimal)" in capsys.readouterr().out
