"""Contract: how mixed is a class-weight vector?"""

from typing import Protocol

import numpy as np

from arboretum.interfaces.component import Component
from arboretum.model.encoded import Encoded
from arboretum.model.real_numbers import real_numbers


class Impurity(Component, Protocol):
    """A function of the class weights of a set of objects (of the moments Σw, Σwy, Σwy² for
    regression).

    scale : "mean" (entropy, gini: does not grow with the mass) or "total" (pairs, powers: does).
        Only mean impurities are weighted by mass in a reduction.
    about (optional) : the number that moments and values are taken about (0.0: they are the plain
        ones); default: the target's mean.
    whole (optional) : True: whole class weights have values that are whole numbers, so that bounds
        may be rounded up.

    A kernel form may be given as a static method ``kernel`` marked by
    ``arboretum.kernels.impurity_kernel``: ``kernel(weights: float64[classes]) -> float64``, called
    inside numba, must not allocate; where it depends on the fields, as a property that makes it by
    ``arboretum.kernels.baked``.
    """

    @property
    def scale(self) -> str:
        """ "mean" or "total"."""

    def value(self, weights: np.ndarray) -> np.ndarray:
        """Return float64[…, classes] → float64[…], finite and ≥ 0; 0 where the mass is 0 and where
        one class has all of it.

        Called once per batch of tables; may allocate; must not change ``weights``.
        """


class ImpurityForObjects(Protocol):
    """Optional: a name that stands for another impurity per kind of target (``auto``), or a
    field that is a share of the objects.
    """

    def for_objects(self, objects: Encoded) -> Impurity:
        """Return the impurity meant; CapabilityError where these training objects have none.
        Called whenever a problem is posed, so it must give itself back where nothing is open.
        """


class ImpurityOfValues(Protocol):
    """An impurity of numbers that no additive table determines (absolute error): these instead of
    ``value``.

    It works on raw columns, with a criterion that states ``reads_prefix_costs = True``: mass ×
    impurity of every outcome reaches it as ``tables.extra[..., 0]``.  A static method ``prefix``
    marked by ``arboretum.kernels.prefix_kernel``, ``prefix(y, weight, out)``, writes mass ×
    impurity of every prefix of a sequence; inside numba, may allocate.
    """

    def of_values(self, y: np.ndarray, weight: np.ndarray) -> float:
        """Return the impurity of some objects.

        y, weight : float64[n], n ≥ 1, in any order.  Called once per node.

        ``y`` is the target minus its mean over the training objects, in the target's unit.
        """

    def leaf_value(self, y: np.ndarray, weight: np.ndarray) -> float:
        """Return what a leaf with these objects predicts, about the same mean as ``y`` (also
        allowed beside ``value``; default: the weighted mean).
        """


def impurity_values(impurity: Impurity, weights: np.ndarray) -> np.ndarray:
    """Return float64[…]: what ``value`` says of class weights; ContractError where these are no
    numbers.
    """
    return real_numbers(impurity.value(weights), f"impurity {impurity.name}: value")
