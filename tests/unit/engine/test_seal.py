"""A run is verified against the data as it was loaded, whatever its components do to what they
are given.
"""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from arboretum.api import grow
from arboretum.engine.run import Request, fit, run
from arboretum.engine.verify import verify
from arboretum.errors import VerificationError
from arboretum.interfaces.method import Parts
from arboretum.model.record import Solution, Status
from arboretum.testing.tables import (
    ToyGini,
    ToyReduction,
    TreeParts,
    prices_of,
    toy_objects,
    toy_table,
)


def writable(array: np.ndarray) -> np.ndarray:
    """The same memory with the flag switched back."""
    while array.base is not None and isinstance(array.base, np.ndarray):
        array = array.base
    array.flags.writeable = True
    return array


@attrs.frozen
class Given:
    """A data set made of a table."""

    name = "given"

    def load(self, seed):
        return toy_table(3, n_rows=40, kind=TreeParts(weighted=True))


class Toy:
    """Encoder and prices."""

    kind, name = "cost", "toy"

    def encode(self, table, whole, *, raw_thresholds, seed):
        objects = toy_objects(table)
        return attrs.evolve(
            objects,
            weight=np.array(objects.weight),
            label=np.array(objects.label),
            codes=np.array(objects.codes),
        )

    def price_list(self, objects, seed):
        return prices_of(objects, seed)


@attrs.frozen
class Meddler:
    """Grows an honest tree, on data that it has changed before."""

    meddle: object
    name = "meddler"
    capabilities = ()

    def fit(self, problem, context):
        self.meddle(problem)
        return grow(problem, context)


def rescale_weights(problem):
    weight = writable(problem.objects.weight)
    weight *= np.linspace(1, 2, len(weight))
    weight.flags.writeable = False


def swap_weights(problem):
    object.__setattr__(problem.objects, "weight", problem.objects.weight * 2)


def flip_labels(problem):
    writable(problem.objects.label)[0] ^= 1


def change_codes(problem):
    problem.objects.codes[:] = problem.objects.codes[::-1].copy()


def rescale_prices(problem):
    problem.prices.tests[:] *= 0.5


def change_column(problem):
    writable(problem.objects.table.columns[0].values)[0] += 1


def flip_target(problem):
    writable(problem.objects.table.target.codes)[0] ^= 1


def parts(method) -> Parts:
    return Parts(
        method=method,
        dataset=Given(),
        encoder=Toy(),
        cost=Toy(),
        criterion=ToyReduction(),
        impurity=ToyGini(),
    )


def test_an_honest_run_says_what_was_checked():
    record = run(Request(parts(Meddler(lambda problem: None))))
    assert record.verified
    assert record.checked["data"] == "unchanged since it was loaded"
    assert (
        record.checked["impurity"] == "every node" and record.checked["score"] == "every inner node"
    )
    assert "train_error" in record.checked["metrics"] and record.checked["value"].startswith(
        "not: "
    )


@pytest.mark.parametrize(
    ("meddle", "what"),
    [
        (rescale_weights, "objects.weight"),
        (swap_weights, "objects.weight"),
        (flip_labels, "objects.label"),
        (change_codes, "objects.codes"),
        (rescale_prices, "prices.tests"),
        (change_column, "column 'width'"),
        (flip_target, "target codes"),
    ],
)
def test_a_method_that_changes_its_data_is_found_out(meddle, what):
    with pytest.raises(VerificationError, match=f"{what}.* changed while method meddler had them"):
        run(Request(parts(Meddler(meddle))))


def fitted():
    return fit(parts(Meddler(lambda problem: None)), Given().load(0), sealed=True)


@pytest.mark.parametrize("name", ["impurity", "score"])
@pytest.mark.parametrize("off", [1e-6, np.nan, np.inf])
def test_an_impurity_or_a_score_that_is_off_is_refused(name, off):
    found = fitted()
    tree, problem = found.solution.tree, found.problem
    assert tree.n_leaves > 2
    changed = getattr(tree, name).copy()
    changed[0] += off
    changed = attrs.evolve(tree, **{name: changed})
    verify(tree, problem, found.train, {}, found.solution, found.seal)
    with pytest.raises(VerificationError, match=f"node 0: {name}"):
        verify(
            changed,
            problem,
            found.train,
            {},
            Solution(changed, np.nan, np.nan, Status.feasible),
            found.seal,
        )


def test_the_estimators_go_the_same_way(monkeypatch):
    from arboretum.sklearn import TreeClassifier, parameters

    assembled = parameters.assembled
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2

    def meddling(*given):
        return attrs.evolve(assembled(*given), method=Meddler(rescale_weights))

    monkeypatch.setattr(parameters, "assembled", meddling)
    with pytest.raises(
        VerificationError, match="objects.weight changed while method meddler had them"
    ):
        TreeClassifier(verify=True).fit(X, y)
