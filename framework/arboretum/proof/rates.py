"""The rates of groups that a run limits, counted again from the rows, in whole numbers."""

from __future__ import annotations

from fractions import Fraction

import attrs
import numpy as np

from arboretum.errors import CapabilityError, VerificationError
from arboretum.interfaces.constraints import Constraints
from arboretum.interfaces.method import Problem
from arboretum.model.tree import Tree
from arboretum.proof.ground import MOST, common_divisor, decimal, decimals

NAMES = "parity", "opportunity"
"""Rates, as a log numbers them: of all rows, and of those of the second class."""


@attrs.frozen(eq=False)
class Rate:
    """By how much the shares of groups that are predicted the second class, "yes", may differ.

    number : of the rate.   most : the limit.
    rows : int64[rows of the table], the weight that counts, in multiples of the common divisor.
    of : int64[rows], the group of each.
    held : int64[merged objects, groups], the weights of groups.   sizes : of the groups.
    """

    number: int
    most: Fraction
    rows: np.ndarray
    of: np.ndarray
    held: np.ndarray
    sizes: tuple[int, ...]

    def apart(self, group: int, other: int) -> np.ndarray:
        """int64[merged objects], what each adds, where its leaf says yes, to n' y − n y': y and n
        the yes and the weight of a group, y' and n' those of the other.

        Of a tree that keeps the limit this is ``room`` at most.
        """
        return np.asarray(
            self.held[:, group] * self.sizes[other] - self.held[:, other] * self.sizes[group]
        )

    def room(self, group: int, other: int) -> int:
        """⌊limit · n n'⌋, as the sum of ``apart`` is a whole number."""
        return int(self.most * self.sizes[group] * self.sizes[other])

    @property
    def sums(self) -> np.ndarray:
        """int64[merged objects, groups − 1]: ``apart`` of each group but the first, and the first.

        Trees with equal sums keep the limit, or do not, alike.
        """
        return np.column_stack([self.apart(g, 0) for g in range(1, len(self.sizes))])

    def keeps(self, sums: np.ndarray) -> np.ndarray:
        """bool[trees], of int64[trees, groups − 1]: whether each keeps the limit, exactly."""
        whole = sums.astype(object)  # products of three weights
        first = np.zeros((len(sums), 1), object)
        # shares less that of the first group, times all sizes
        all_sizes = int(np.prod(np.array(self.sizes, object)))
        times = np.array([all_sizes // (n * self.sizes[0]) for n in self.sizes[1:]], object)
        shares = np.concatenate([first, whole * times], axis=1)
        apart = (shares.max(axis=1) - shares.min(axis=1)) * self.most.denominator
        return np.asarray(apart <= self.most.numerator * all_sizes, bool)

    def of_tree(self, says: np.ndarray) -> Fraction:
        """By how much the shares differ.   says : int[rows of the table], predictions."""
        yes = np.zeros(len(self.sizes), np.int64)
        np.add.at(yes, self.of[says == 1], self.rows[says == 1])
        shares = [Fraction(int(y), n) for y, n in zip(yes, self.sizes, strict=True)]
        return max(shares) - min(shares)


def rates_of(problem: Problem, asked: Constraints, group: np.ndarray) -> list[Rate]:
    """The rates that a run limits, below 1.

    group : int64[n_objects], the merged object of each.
    Raises VerificationError, and CapabilityError for what no checker knows.
    """
    objects, table = problem.objects, problem.objects.table
    limits = [(k, decimal(most)) for k, most in enumerate((asked.parity, asked.opportunity))]
    limits = [(k, most) for k, most in limits if most < 1]
    if not limits:
        return []
    column = next((one for one in table.columns if one.name == asked.sensitive), None)
    if column is None or objects.n_classes != 2 or min(most for _, most in limits) < 0:
        raise VerificationError(
            f"rates of groups of the column {asked.sensitive!r} are none: limits are not negative, "
            f"the column is one of the table, and its classes are two; they are {objects.n_classes}"
        )
    if column.has_missing:
        raise CapabilityError(
            f"the sensitive column {column.name!r} has missing values, of which proofs know nothing"
        )
    values, of = np.unique(column.values, return_inverse=True)
    weights = decimals(table.row_weights())
    shared = common_divisor(weights)
    mass = [int(weight / shared) for weight in weights]
    if sum(mass) ** 2 >= MOST:
        raise CapabilityError("products of two weights exceed 2^53; proofs of rates count them")
    whole, at = np.array(mass, np.int64), group[objects.object_of_row]
    positive = objects.label[objects.object_of_row] == 1
    found = []
    for number, most in limits:
        counted = whole * (positive | (number == 0))
        held = np.zeros((int(group.max()) + 1, len(values)), np.int64)
        np.add.at(held, (at, of.ravel()), counted)
        sizes = held.sum(axis=0)
        if not sizes.all():
            raise CapabilityError(
                f"a group of the column {column.name!r} has no rows of the second class, so that "
                "its opportunity is undefined"
            )
        found.append(Rate(number, most, counted, of.ravel(), held, tuple(sizes.tolist())))
    return found


def beyond_rates(tree: Tree, problem: Problem, rates: list[Rate]) -> str:
    """Which rate of a run a tree does not keep; "" where it keeps all."""
    says = tree.predict(problem.objects.table)
    for rate in rates:
        if (apart := rate.of_tree(says)) > rate.most:
            return f"{NAMES[rate.number]} is {float(rate.most):g}, and its rates differ by {apart}"
    return ""
