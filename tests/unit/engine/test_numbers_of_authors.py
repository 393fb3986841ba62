"""What an author's function returns is read as numbers, or refused by name with the way out."""

from __future__ import annotations

import warnings
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import attrs
import numpy as np
import pytest

from arboretum.engine.axioms import AXIOMS, find_refutation
from arboretum.engine.axioms_of_coverages import find_counterexamples
from arboretum.engine.check import check_prices, weigh
from arboretum.engine.search.compiled_criterion import check_array
from arboretum.errors import ContractError
from arboretum.interfaces.monotony import monotone_losses
from arboretum.interfaces.objective import costs_by_object
from arboretum.interfaces.sums import leaf_answers, leaf_costs, moments_of
from arboretum.model.encoded import Prices
from arboretum.model.real_numbers import real_numbers
from arboretum.testing.tables import toy_objects, toy_table

READ = {
    "floats": (np.array([0.5, 2.0]), [0.5, 2.0]),
    "a list": ([0.5, 2], [0.5, 2.0]),
    "whole numbers": (np.array([3, 4], np.uint8), [3.0, 4.0]),
    "truth values": (np.array([True, False]), [1.0, 0.0]),
    "half floats": (np.array([0.5], np.float16), [0.5]),
    "long floats": (np.array([0.1], np.longdouble), [0.1]),
    "fractions": (np.array([Fraction(1, 4), Decimal("0.5"), 2], object), [0.25, 0.5, 2.0]),
    "a mask that masks nothing": (np.ma.masked_array([1.0, 2.0], [False, False]), [1.0, 2.0]),
    "another order of bytes": (np.array([0.5], ">f8"), [0.5]),
    "not finite": (np.array([np.nan, np.inf], np.float32), [np.nan, np.inf]),
    "too large for a float": (np.array([10], np.longdouble) ** 400, [np.inf]),
}
REFUSED = {
    "complex": (np.array([1 + 2j, 3]), r"complex128: return their real part \(\.real\)"),
    "complex without an imaginary part": (np.array([1 + 0j]), "complex128"),
    "text": (np.array(["1.5"]), r"<U3: convert them \(\.astype\(float\)\)"),
    "bytes": (np.array([b"1.5"]), r"\|S3: convert them"),
    "text as objects": (np.array(["1.5"], object), "an object of str"),
    "nothing": (None, "an object of NoneType"),
    "nothing among numbers": ([1.0, None], "an object of NoneType"),
    "complex objects": (np.array([1j], object), "an object of complex"),
    "masked": (np.ma.masked_array([1.0, 2.0], [False, True]), r"1 are masked; use \.filled"),
    "dates": (np.array(["2020-01-01"], "M8[D]"), r"datetime64\[D\]: return a span"),
    "spans": (np.array([3], "m8[s]"), r"timedelta64\[s\]: divide by a unit"),
    "records": (np.array([(1.0,)], [("x", "f8")]), "return float64"),
    "parts that differ in length": ([[1.0], [1.0, 2.0]], "differ in length"),
    "whole numbers too large": (np.array([10**400], object), "that float64 holds"),
}


@pytest.mark.parametrize("name", READ)
def test_numbers_are_read(name):
    given, wanted = READ[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = real_numbers(given, "objective own: costs")
    assert found.dtype == np.float64 and type(found) is np.ndarray
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_number_is_refused_by_name(name):
    given, said = REFUSED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ContractError, match=rf"^objective own: costs must return .*{said}"):
            real_numbers(given, "objective own: costs")


OBJECTS = toy_objects(toy_table(0, n_rows=12))
N, CLASSES = OBJECTS.n_objects, OBJECTS.n_classes


def of_objective(method, shape, ask):
    """Ask an objective whose method returns what is made of that shape."""

    def asked(made):
        own = SimpleNamespace(name="own", **{method: lambda *_: made(shape)})
        return ask(SimpleNamespace(parts=SimpleNamespace(objective=own), objects=OBJECTS))

    return asked


def weights(made):
    own = SimpleNamespace(kind="objective", name="own", weigh=lambda objects: made((N,)))
    return weigh(own, OBJECTS).weight


def prices(made):
    listed = Prices(made((OBJECTS.n_fixed,)), np.ones(len(OBJECTS.raw_features)))
    return check_prices(SimpleNamespace(kind="cost", name="own"), listed, OBJECTS)


def of_outcomes(made):
    n = OBJECTS.n_fixed
    listed = Prices(np.ones(n), np.ones(len(OBJECTS.raw_features)), outcomes=made((n, 2)))
    return check_prices(SimpleNamespace(kind="cost", name="own"), listed, OBJECTS)


def impurity(made):
    return find_refutation(Own(made), (AXIOMS[0].name,), 2)


def coverage(made):
    return find_counterexamples(Own(made), OBJECTS, np.ones((3, 1), np.int64))


@attrs.frozen
class Own:
    """An impurity, and a coverage, that answers what is made."""

    made: object
    kind, name, scale = "own", "own", "mean"

    def value(self, weights):
        return self.made(weights.shape[:-1])

    def covered(self, objects, rows):
        return self.made(rows.shape)


SUMS, STEPS = np.ones((3, 2)), np.arange(2.0)
ASKED = {
    "objective own: costs": of_objective("costs", (N, CLASSES), costs_by_object),
    "objective own: moments": of_objective("moments", (N, 2), moments_of),
    "objective own: leaf": of_objective(
        "leaf", (3,), lambda problem: leaf_costs(problem.parts.objective, SUMS)
    ),
    "objective own: predicts": of_objective(
        "predicts", (3,), lambda problem: leaf_answers(problem.parts.objective, SUMS)
    ),
    "objective own: loss": of_objective(
        "loss",
        (2, 2),
        lambda problem: monotone_losses(problem.parts.objective, STEPS, STEPS, 1.0, 1.0),
    ),
    "objective own: weigh": weights,
    "cost own: Prices.tests": prices,
    "cost own: Prices.outcomes": of_outcomes,
    "Prices.by_outcome": lambda made: Prices.by_outcome(made((3, 2))),
    "impurity own: value": impurity,
    "coverage 'own': covered": coverage,
    "criterion own: score": lambda made: check_array(made((3,)), 3, "criterion own: score"),
}
MADE = {
    "complex": lambda shape: np.full(shape, 1 + 0.5j),
    "text": lambda shape: np.full(shape, "1.5"),
    "objects": lambda shape: np.full(shape, None),
    "masked": lambda shape: np.ma.masked_array(np.ones(shape), np.ones(shape, bool)),
}


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("who", ASKED)
def test_every_function_of_an_author_that_returns_numbers_is_held_to_it(who, kind):
    ASKED[who](np.ones)  # numbers are taken
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ContractError, match=f"^{who} must "):
            ASKED[who](MADE[kind])


def test_weights_of_another_kind_are_float64():
    found = weights(lambda shape: np.full(shape, 2, np.int16))
    assert found.dtype == np.float64 and (found == 2).all()
