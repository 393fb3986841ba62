"""Does a bound of a complexity follow from the bounds before it?  ψ of a set is ψ⁰ where it is a
leaf, else the least F over its tests.

A set is a leaf where the run's leaf rule says so, and where no test divides it.  Else a tree asks
some test that divides it, and costs F(mass, price, ψ of the parts) at least, F being monotone:
bounds of the parts, by the leaf rule or by records, give a bound of the set.  A part without a
record costs ψ⁰ at least where F has a closed form, else nothing.  What is kept is what was shown:
the claimed bound, less what the rounding of sums may take from it.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import cast

import numpy as np

from arboretum.errors import CapabilityError, VerificationError, sure
from arboretum.interfaces.complexity import form_of
from arboretum.interfaces.method import Problem
from arboretum.model.tree import Tree
from arboretum.proof.format import NO_PATH, Proof, Record
from arboretum.proof.ground import ProofRules, one_price_each, outcomes, rule_key, tests_of_rules

EPS = float(np.finfo(np.float64).eps)


class Subtables(ProofRules):
    """Checks records about sets of objects; those equal in every test and in class are one.

    planes : float64[n, classes + 2], weight of each object by class, its rows, objects merged in
        it.
    edge : (test, outcome) → number; ``packed`` and ``inside`` say which objects have it, as bits
        (uint8[edges, ·]) and as float64[n, edges].
    slack : relative, what rounding may take from a bound; 0 where all sums are exact.
    known : bits of a set → the bound shown of it.
    """

    def __init__(self, problem: Problem, tests: Sequence[int | list[int]]) -> None:
        """Raises CapabilityError for raw columns and prices that depend on the path,
        VerificationError for tests that the problem has not.

        tests : of the log, by the numbers that records use.
        """
        objects, prices = problem.objects, problem.prices
        if objects.raw_features or not one_price_each(problem):
            raise CapabilityError(
                "proofs of a complexity know fixed tests with one price each, and no raw columns"
            )
        if odd := [
            test for test in tests if not (isinstance(test, int) and 0 <= test < objects.n_tests)
        ]:
            raise VerificationError(
                f"the proof names tests that the table has not: {odd[0]}; it has {objects.n_tests}"
            )
        self.problem, self.tests = problem, cast(Sequence[int], tests)
        self.complexity = sure(problem.parts.complexity)
        self.rule = problem.parts.leaf_rule(counting_objects=True)
        self.form = form_of(self.complexity)
        self.impurity = problem.parts.impurity if self.rule.delta is not None else None
        answer = outcomes(objects)
        codes, group = np.unique(
            np.vstack([answer, objects.label[None]]), axis=1, return_inverse=True
        )
        self.answer, label, group, self.k = codes[:-1], codes[-1], group.ravel(), objects.n_classes
        self.n = len(label)
        weight = np.bincount(group, objects.weight, self.n)
        count = np.bincount(group, objects.count, self.n)
        members = np.bincount(group, minlength=self.n)
        self.total = float(objects.weight.sum())
        self.planes = np.column_stack(
            [weight[:, None] * (label[:, None] == np.arange(self.k)), count, members]
        )
        edges = [(test, k) for test, row in enumerate(self.answer) for k in np.unique(row).tolist()]
        self.edge = {edge: number for number, edge in enumerate(edges)}
        self.test_of = np.array([test for test, _ in edges], np.int64)
        inside = np.array([self.answer[test] == k for test, k in edges]).reshape(len(edges), self.n)
        self.packed = np.packbits(inside, axis=1, bitorder="little")
        self.inside = inside.T.astype(np.float64)
        self.everything = np.packbits(np.ones(self.n, np.bool_), bitorder="little")
        whole = (objects.weight == np.rint(objects.weight)).all() and (
            prices.tests == np.rint(prices.tests)
        ).all()
        self.slack = 0.0 if whole and self.form is not None else 4 * objects.n_objects * EPS
        self.known: dict[bytes, float] = {}

    def refusals(self, proof: Proof, report: Callable[[int], None]) -> Iterator[tuple[int, str]]:
        """As of :class:`arboretum.proof.additive.Additive`."""
        for number, record in enumerate(proof.records()):
            if not number % 64:
                report(number)
            if reason := self._refusal(record):
                yield number, reason

    def _refusal(self, record: Record) -> str:
        """Why a record does not follow, "" where it does: it is known from then on."""
        if record.depth >= 0 or record.leaves >= 0 or not math.isfinite(record.bound):
            return "records of a complexity have no limits, and their bounds are numbers"
        bits = self.everything
        for test, outcome in record.path.tolist():
            if not 0 <= test < len(self.tests):
                return NO_PATH
            edge = self.edge.get((self.tests[test], outcome))
            bits = bits & self.packed[edge] if edge is not None else np.zeros_like(bits)
        key = bits.tobytes()
        if self.known.get(key, -math.inf) >= record.bound:  # nothing new, however often it is said
            return ""
        shown, test = self._least_cost(bits)
        if shown < record.bound - self.slack * abs(record.bound):
            return (
                f"trees that begin with test {test} may cost {shown:.12g}"
                if test >= 0
                else f"a leaf costs {shown:.12g}"
            )
        self.known[key] = max(self.known.get(key, 0.0), min(record.bound, shown))
        return ""

    def root_bound(self, limits: tuple[int, int]) -> float:
        """The best bound known of all objects; records of a complexity have no ``limits``."""
        return self.known.get(self.everything.tobytes(), 0.0)

    def value(self, bound: Fraction | float) -> float:
        """As the complexity is reported."""
        return float(bound) / (self.total if getattr(self.complexity, "per_object", False) else 1.0)

    def _least_cost(self, bits: np.ndarray) -> tuple[float, int]:
        """A bound of a set, and the test that has it; −1 for a leaf.   bits : uint8[·], the set."""
        rows = self._rows(bits)
        planes = self.planes[rows]
        total, parts = planes.sum(axis=0), self.inside[rows].T @ planes
        if self._are_leaves(total[None])[0]:
            return self.complexity.leaf(), -1
        splitting = np.flatnonzero((parts[:, -1] > 0) & (parts[:, -1] < total[-1]))
        if not len(splitting):
            return self.complexity.leaf(), -1
        below = np.full(len(splitting), self.complexity.leaf())
        leaf = self._are_leaves(parts[splitting])
        for at in np.flatnonzero(~leaf).tolist():
            below[at] = self._bound_of_part(bits & self.packed[splitting[at]])
        mass, of = float(total[: self.k].sum()), self.test_of[splitting]
        first = np.flatnonzero(np.diff(of, prepend=-1))
        tests, prices = of[first], self.problem.prices.tests
        if self.form is not None:
            own = np.array([self.form.own(mass, price) for price in prices[tests].tolist()])
            ends = own + (np.add if self.form.combine == "sum" else np.maximum).reduceat(
                below, first
            )
        else:
            parts = np.split(below, first[1:])
            ends = np.array(
                [
                    self.complexity.node(mass, float(prices[t]), part)
                    for t, part in zip(tests, parts, strict=True)
                ]
            )
        at = int(ends.argmin())
        return float(ends[at]), int(tests[at])

    def _bound_of_part(self, bits: np.ndarray) -> float:
        """A bound of a part that the leaf rule divides: what a record has shown, else ψ⁰ where no
        test divides it or F has a closed form, else 0.

        bits : uint8[·], the part.
        """
        known = self.known.get(bits.tobytes())
        if known is not None:
            return known
        answers = self.answer[:, self._rows(bits)]
        alike = (answers == answers[:, :1]).all()  # no test divides it
        return self.complexity.leaf() if alike or self.form is not None else 0.0

    def _rows(self, bits: np.ndarray) -> np.ndarray:
        """int64: the objects of a set of bits."""
        return np.flatnonzero(np.unpackbits(bits, count=self.n, bitorder="little"))

    def _are_leaves(self, planes: np.ndarray) -> np.ndarray:
        """bool[sets]: whether the leaf rule makes leaves of them.

        planes : float64[sets, ·], sums of the sets, columns as ``self.planes``.
        """
        weights, count, members = planes[:, : self.k], planes[:, -2], planes[:, -1]
        found: np.ndarray = (weights > 0).sum(axis=1) < 2
        for at in np.flatnonzero(~found).tolist():
            impurity = (
                math.nan if self.impurity is None else float(self.impurity.value(weights[at]))
            )
            found[at] = self.rule.holds(
                float(weights[at].sum()), self.total, int(count[at]), impurity, int(members[at])
            )
        return found

    def cost_of(self, tree: Tree) -> float:
        """ψ of a tree, replayed over the sets.  Raises VerificationError where it asks what is
        no test, or leaves what is no leaf.
        """
        objects, prices = self.problem.objects, self.problem.prices.tests
        number = tests_of_rules(objects)
        sets, value = {0: self.everything}, np.zeros(tree.n_nodes)
        for node in range(tree.n_nodes):  # preorder: parents first
            if tree.is_leaf[node]:
                if self._least_cost(sets[node])[1] >= 0:
                    raise VerificationError(f"node {node} of the tree is no leaf by the leaf rule")
                continue
            test = number.get(rule_key(tree.rule(node)), -1)
            children, found = tree.children(node).tolist(), {k for t, k in self.edge if t == test}
            if test < 0 or any(child >= 0 and k not in found for k, child in enumerate(children)):
                raise VerificationError(
                    f"node {node} of the tree asks what is no test of the table"
                )
            for k in found:
                part = sets[node] & self.packed[self.edge[test, k]]
                if part.any() != (children[k] >= 0):
                    raise VerificationError(
                        f"node {node} of the tree has not the branches that its test has"
                    )
                sets[children[k]] = part
        for node in range(tree.n_nodes - 1, -1, -1):
            below, rows = tree.children(node), self._rows(sets[node])
            test = -1 if tree.is_leaf[node] else number[rule_key(tree.rule(node))]
            mass = float(self.planes[rows, : self.k].sum())
            value[node] = (
                self.complexity.leaf()
                if test < 0
                else self.complexity.node(mass, float(prices[test]), value[below[below >= 0]])
            )
        return float(value[0])
