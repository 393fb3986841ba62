"""A tree beside the proven minimum: what is computed, what is refused, and what fails a run."""

from __future__ import annotations

import math
import re
import time
from types import SimpleNamespace
from typing import Any

import attrs
import numpy as np
import pytest

from arboretum.api import Form, param
from arboretum.engine.certificate import breaks_rule, certified
from arboretum.engine.run import CERTIFICATE_MB, Budget, Request, fingerprint, fit, run
from arboretum.errors import BudgetError, CapabilityError, ConfigError, VerificationError
from arboretum.interfaces.complexity import value_of
from arboretum.interfaces.stopping import LeafRule
from arboretum.model.record import Solution, Status
from arboretum.plugin.assemble import assemble, certified_complexities, certifier_of
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import Owner
from arboretum.testing.oracles import branches, build_tree


@attrs.frozen
class AverageDepth:
    """Tests asked per object."""

    kind, name, paper, capabilities, per_object = "complexity", "average_depth", "", (), True

    def form(self):
        return Form(per_mass=1.0)

    def leaf(self):
        return 0.0

    def node(self, mass, price, children):
        return mass + float(np.sum(children))


@attrs.frozen
class Leaves:
    """Number of leaves."""

    kind, name, paper, capabilities = "complexity", "n_leaves", "", ()

    def leaf(self):
        return 1.0

    def node(self, mass, price, children):
        return float(np.sum(children))


@attrs.frozen
class Falling:
    """Not monotone."""

    kind, name, paper, capabilities = "complexity", "falling", "", ()

    def leaf(self):
        return 1.0

    def node(self, mass, price, children):
        return 9.0 / (1.0 + float(np.sum(children)))


@attrs.frozen
class BruteForce:
    """Minimum over all trees, by trying every test at every node."""

    kind, name, paper = "solver", "brute_force", ""
    capabilities = ("classification", "multiclass", "weights", "multiway")

    trees: bool = param(True, "return the trees, too")
    slack: float = param(0.0, "added to the bound: above 0 it is a lie")
    gap: float = param(0.0, "part of the minimum that is not proven")
    fails: str = param("", "what is raised instead")
    counts_objects: bool = param(False, "knows leaf rules that count objects")
    limits: tuple = param((), "limits that it obeys")
    kind_: str = param("any", "which trees it tries", alias="kind")

    def solve(self, problem, context):
        complexity = problem.parts.complexity or AverageDepth()
        return attrs.evolve(self, trees=True).minima(problem, [complexity], context)[0]

    def minima(self, problem, complexities, context):
        if self.fails:
            raise {"budget": BudgetError, "capability": CapabilityError}[self.fails](
                f"told to fail by {self.fails}"
            )
        return [self._one(problem, complexity) for complexity in complexities]

    def _one(self, problem, complexity):
        objects, rule = (
            problem.objects,
            problem.parts.leaf_rule(counting_objects=self.counts_objects, obeyed=self.limits),
        )
        deepest, fewest = (
            problem.parts.limits().max_depth or math.inf,
            problem.parts.limits().min_leaf,
        )
        total, price = objects.weight.sum(), problem.prices.tests
        impurity = problem.parts.impurity

        known = {}

        def best(rows, depth=0):
            key = rows.tobytes(), depth if deepest < math.inf else 0
            if key not in known:
                known[key] = search(rows, depth)
            return known[key]

        def search(rows, depth):
            weights = np.bincount(objects.label[rows], objects.weight[rows], objects.n_classes)
            mixed = float(impurity.value(weights)) if impurity else math.nan
            mass = float(weights.sum())
            if np.count_nonzero(weights) == 1 or rule.holds(
                mass, total, int(objects.count[rows].sum()), mixed, len(rows)
            ):
                return complexity.leaf(), None
            found = (complexity.leaf(), None), math.inf
            for test in range(int(objects.test_offset[-1]) if depth < deepest else 0):
                parts = branches(objects, test, rows)
                if (
                    len(parts) < 2
                    or min(objects.count[part].sum() for part in parts.values()) < fewest
                ):
                    continue
                below = {k: best(part, depth + 1) for k, part in parts.items()}
                value = complexity.node(
                    mass, float(price[test]), np.array([v for v, _ in below.values()])
                )
                if value < found[1]:
                    found = (value, (test, {k: sketch for k, (_, sketch) in below.items()})), value
            return found[0]

        value, sketch = best(np.arange(objects.n_objects))
        value = value / total if getattr(complexity, "per_object", False) else value
        tree = build_tree(objects, sketch, problem.prices) if self.trees else None
        if self.gap:
            return Solution(
                tree,
                value if tree else math.nan,
                value * (1 - self.gap),
                Status.feasible,
                finished=False,
            )
        return Solution(tree, value, value + self.slack, Status.optimal)


REGISTRY = load_registry()
SMALL = {"dataset.n_rows": 20, "dataset.n_columns": 5}
SEED = 4
"""With this one, id3 misses both minima."""
CHOICES = {"dataset": "play-tennis", "method": "id3", "split": "none", "tracker": "none"}


def request(
    certifier=BruteForce(), complexities=(AverageDepth(), Leaves()), values=(), **choices
) -> Request:
    parts = assemble(REGISTRY, {**CHOICES, **choices}, values)
    return Request(parts, certify=True, certifier=certifier, complexities=tuple(complexities))


def note_of(asked: Request) -> str:
    record = run(asked)
    assert record.certificate is None
    assert record.tree is not None
    return next(note for note in record.notes if note.startswith("certify: "))


def test_a_greedy_tree_stands_beside_the_minimum_of_each_complexity():
    record = run(attrs.evolve(request(dataset="random_table", values=SMALL), seed=SEED))
    found = record.certificate.complexities
    assert list(found) == ["average_depth", "n_leaves"]
    for name, one in found.items():
        assert one.value == record.metrics[name]
        assert one.proven
        assert one.ratio == one.value / one.minimum > 1
    assert record.timings["certify"] > 0
    told = {
        "trees": True,
        "slack": 0.0,
        "gap": 0.0,
        "fails": "",
        "counts_objects": False,
        "limits": [],
        "kind": "any",
    }
    assert record.certificate.certifier == {"name": "brute_force", **told}
    assert record.certificate.leaf_rule == {
        "min_split": 2,
        "theta": 0.0,
        "delta": None,
        "min_objects": 0,
    }


MERGED = {
    "stopping": ["few_objects"],
    "values": {"dataset.ignore": ["temperature"], "encoder.coalesce": "sum"},
}


@pytest.mark.parametrize("most", [2, 3, 5])
def test_trees_whose_leaf_rule_counts_objects_are_compared_with_those_that_obey_it(most):
    values = {**MERGED["values"], "stopping.few_objects.most": most}
    record = run(request(BruteForce(counts_objects=True), **{**MERGED, "values": values}))
    assert record.data["n_objects"] < record.data["n_train"], "rows were merged"
    assert record.certificate.leaf_rule["min_objects"] == most + 1
    rows = run(request(values={**MERGED["values"], "stopping.standard.min_split": most + 1}))
    assert (
        record.certificate.complexities["n_leaves"].minimum
        <= rows.certificate.complexities["n_leaves"].minimum
    )
    for one in record.certificate.complexities.values():
        assert one.proven and one.value >= one.minimum > 0


def test_a_solver_that_does_not_count_objects_refuses_such_a_rule():
    assert "knows no leaf rule that counts objects" in note_of(request(**MERGED))


def test_without_certify_there_is_no_certificate_and_no_note():
    record = run(attrs.evolve(request(), certify=False))
    assert record.certificate is None
    assert "certify" not in record.timings
    assert not any("certify" in note for note in record.notes)


def test_a_bound_that_is_not_the_minimum_gives_a_ratio_that_is_at_most_so_large():
    exact, loose = (
        run(request(BruteForce(gap=gap))).certificate.complexities["n_leaves"]
        for gap in (0.0, 0.25)
    )
    assert (loose.minimum, loose.ratio_is, exact.ratio_is) == (None, "at most", "exact")
    assert loose.best_known == exact.minimum
    assert loose.ratio == pytest.approx(loose.value / (0.75 * exact.minimum), rel=1e-12)
    assert loose.ratio > exact.ratio


def test_a_solver_without_trees_is_taken_at_its_bound():
    with_trees, without = (
        run(request(BruteForce(trees=trees))).certificate for trees in (True, False)
    )
    assert with_trees.to_json()["complexities"] == without.to_json()["complexities"]


def test_a_loose_bound_still_leaves_the_run_finished_and_says_so():
    record = run(request(BruteForce(gap=0.5)))
    assert not record.fingerprint.startswith("unfinished")
    assert any("only a lower bound" in note for note in record.notes)


def test_where_one_leaf_is_enough_the_ratio_is_undefined_and_said_to_be():
    record = run(request(values={"theta": 1.0}, stopping=["mass"]))
    found = record.certificate.complexities
    assert (found["average_depth"].minimum, found["average_depth"].ratio) == (0, None)
    assert found["average_depth"].ratio_is == "undefined"
    assert found["n_leaves"].ratio == 1
    assert any(
        "the minimum of average_depth is 0 (one leaf is enough)" in note for note in record.notes
    )


@pytest.mark.parametrize(
    ("values", "stopping"),
    [
        ({"theta": 0.3}, ["mass"]),
        ({"stopping.impurity.delta": 0.95}, ["impurity"]),
        ({"stopping.standard.min_split": 5}, ["standard"]),
    ],
)
def test_the_leaf_rule_of_the_run_is_the_rule_of_the_minimum(values, stopping):
    plain = run(request()).certificate.complexities["n_leaves"]
    record = run(request(values=values, stopping=stopping))
    assert record.certificate.complexities["n_leaves"].minimum <= plain.minimum
    assert record.certificate.complexities["n_leaves"].ratio >= 1


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            request(values={"stopping.standard.max_depth": 2}),
            "know no limit max_depth .it is 2.; leave it out",
        ),
        (request(values={"stopping.standard.min_leaf": 2}), "know no limit min_leaf"),
        (request(dataset="iris", method="cart"), "'sepal.length.*' is raw.*encoder=midpoints"),
        (request(dataset="diabetes", method="cart"), "minima are known for classes only"),
        (request(None), "no installed solver proves minima"),
        (request(complexities=()), "no complexity is installed"),
        (request(BruteForce(fails="capability")), "told to fail by capability"),
    ],
    ids=[
        "depth",
        "leaf size",
        "raw columns",
        "regression",
        "no solver",
        "no complexity",
        "the solver refuses",
    ],
)
def test_where_it_is_not_applicable_a_note_says_why_and_the_run_goes_on(asked, words):
    note = note_of(asked)
    assert note.startswith("certify: not applicable: ")
    assert re.search(words, note)


LIMITED = {
    "stopping.standard.max_depth": 2,
    "stopping.standard.min_leaf": 2,
    "dataset.n_rows": 40,
    "dataset.n_columns": 6,
}


@pytest.mark.parametrize(
    "left_out", [(), ("stopping.standard.min_leaf",), ("stopping.standard.max_depth",)]
)
def test_under_limits_that_the_solver_obeys_the_tree_is_compared_with_trees_within_them(left_out):
    values = {name: value for name, value in LIMITED.items() if name not in left_out}
    names = tuple(name.rpartition(".")[2] for name in values if name.startswith("stopping"))
    record = run(
        attrs.evolve(
            request(BruteForce(limits=names), dataset="random_table", values=values), seed=SEED
        )
    )
    for name, one in record.certificate.complexities.items():
        assert one.proven and one.ratio >= 1, name
    assert record.metrics["depth"] <= values.get("stopping.standard.max_depth", 99)
    if names:
        unable = BruteForce(limits=names[1:])
        assert f"know no limit {names[0]}" in note_of(
            attrs.evolve(request(unable, dataset="random_table", values=values), seed=SEED)
        )


def test_a_tree_of_the_solver_beyond_the_limits_it_says_it_obeys_is_found_out():
    @attrs.frozen
    class Blind(BruteForce):
        """Says that it obeys a depth, and does not."""

        limits: tuple = param(("max_depth",), "limits that it obeys")

        def minima(self, problem, complexities, context):
            free = attrs.evolve(problem, parts=attrs.evolve(problem.parts, stopping=()))
            return super().minima(free, complexities, context)

    values = {"stopping.standard.max_depth": 1, **SMALL}
    with pytest.raises(VerificationError):
        run(
            attrs.evolve(
                request(Blind(), complexities=[Leaves()], dataset="random_table", values=values),
                seed=SEED,
            )
        )


def test_a_budget_that_proves_nothing_is_said_and_the_tree_stays():
    assert "nothing is proven within the budget: told to fail by budget" in note_of(
        request(BruteForce(fails="budget"))
    )


@pytest.mark.parametrize("ended", [15, True])
def test_whoever_sends_a_signal_does_not_wait_for_the_certificate(ended):
    """Ctrl-C (True) ends the certifier's search alone, whose bound counts."""

    class Sent:
        kind, name, paper, capabilities = "solver", "sent", "", BruteForce.capabilities
        limits = ()

        def least(self, problem, context):
            tree = BruteForce().solve(problem, context).tree
            told = {"details": {"interrupted": ended}, "finished": False}
            nothing = SimpleNamespace(name="error", value=lambda tree, problem: 0.0)
            return nothing, Solution(tree, 0.0, 0.0, Status.feasible, **told)

    asked = attrs.evolve(request(), certifier=attrs.frozen(Sent)())
    if ended == 15:
        with pytest.raises(KeyboardInterrupt) as raised:
            run(asked)
        assert raised.value.args == (15,)
    else:
        assert run(asked).tree is not None


def test_a_solver_that_does_not_know_missing_values_is_not_asked():
    @attrs.frozen
    class WithHole:
        table: object

        def load(self, seed):
            column = self.table.columns[0]
            codes = np.array(column.values)
            codes[0] = -1
            return attrs.evolve(
                self.table, columns=(attrs.evolve(column, values=codes), *self.table.columns[1:])
            )

    asked = request(values={"encoder.missing": "keep"})
    data = WithHole(asked.parts.dataset.load(0))
    assert "does not handle missing values; use encoder.missing=category" in note_of(
        attrs.evolve(asked, parts=attrs.evolve(asked.parts, dataset=data))
    )


def test_a_tree_that_the_budget_cut_short_is_not_compared():
    record = run(attrs.evolve(request(), budget=Budget(seconds=1e-9)))
    assert record.certificate is None
    assert any("not applicable: the budget cut the tree short" in note for note in record.notes)


def test_a_bound_above_the_tree_fails_the_run():
    with pytest.raises(
        VerificationError, match="proven minimum of average_depth is at most the tree's value"
    ):
        run(request(BruteForce(slack=5.0)))
    with pytest.raises(VerificationError, match="at most the value of the solver's own tree"):
        run(
            attrs.evolve(
                request(BruteForce(slack=0.001), dataset="random_table", values=SMALL), seed=SEED
            )
        )


@attrs.frozen
class Promising:
    """ID3's criterion, with a theorem."""

    base: Any
    factor: float

    def __getattr__(self, name):
        return getattr(self.base, name)

    def promises(self, problem):
        assert problem.objects.n_objects > 0
        return {"n_leaves": self.factor}


def promising(factor: float) -> Request:
    asked = attrs.evolve(request(dataset="random_table", values=SMALL), seed=SEED)
    return attrs.evolve(
        asked, parts=attrs.evolve(asked.parts, criterion=Promising(asked.parts.criterion, factor))
    )


def test_what_the_criterion_promises_stands_beside_the_ratio_of_its_complexity():
    certificate = run(promising(123456.7)).certificate
    assert {name: one.promised for name, one in certificate.complexities.items()} == {
        "average_depth": None,
        "n_leaves": 123456.7,
    }
    assert [row["promised"].strip() for row in certificate.rows()] == ["", "≤ 123,457"]
    assert attrs.asdict(type(certificate).from_json(certificate.to_json())) == attrs.asdict(
        certificate
    )
    assert all("promised" not in row for row in run(request()).certificate.rows())


def test_a_promise_that_the_certificate_refutes_fails_the_run():
    assert run(promising(2.0)).certificate.complexities["n_leaves"].ratio > 1
    with pytest.raises(
        VerificationError,
        match="n_leaves is at most 1 times the minimum, as the criterion promises",
    ):
        run(promising(1.0))


def test_a_complexity_that_is_not_monotone_is_left_out_with_its_counterexample():
    record = run(request(complexities=[Falling(), Leaves()]))
    assert list(record.certificate.complexities) == ["n_leaves"]
    assert any(
        "complexity falling is left out: it is not monotone: F(mass=" in note
        for note in record.notes
    )


@pytest.fixture(scope="module")
def grown():
    asked = request()
    return fit(asked.parts, asked.parts.dataset.load(0))


def test_a_solver_that_misreports_its_tree_is_found_out(grown):
    tree, problem, rule = grown.solution.tree, grown.problem, LeafRule(2)
    value = value_of(Leaves(), tree)
    wrong = Solution(tree, value - 1, value - 1, Status.feasible)
    with pytest.raises(VerificationError, match="n_leaves of the solver's tree"):
        certified([Leaves()], [wrong], tree, problem, rule, {})
    with pytest.raises(VerificationError, match="the tree's n_leaves"):
        certified(
            [Leaves()],
            [Solution(None, value, value, Status.optimal)],
            tree,
            problem,
            rule,
            {"n_leaves": value + 1},
        )
    with pytest.raises(VerificationError, match="said to be optimal"):
        certified(
            [Leaves()], [Solution(tree, value, value - 1, Status.optimal)], tree, problem, rule, {}
        )


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["value", "lower_bound"])
def test_a_minimum_that_is_no_number_is_not_optimal(grown, name, value):
    tree, problem = grown.solution.tree, grown.problem
    for own in (tree, None):
        honest = Solution(own, value_of(Leaves(), tree), value_of(Leaves(), tree), Status.optimal)
        certified([Leaves()], [honest], tree, problem, LeafRule(2), {})
        with pytest.raises(VerificationError, match="n_leaves"):
            certified(
                [Leaves()], [attrs.evolve(honest, **{name: value})], tree, problem, LeafRule(2), {}
            )


def test_a_solvers_tree_that_stops_where_it_may_not_is_found_out(grown):
    stump = build_tree(grown.problem.objects, None)
    with pytest.raises(
        VerificationError,
        match="leaf 0 is no leaf by the leaf rule .column '.*' divides its 14 rows",
    ):
        certified(
            [Leaves()],
            [Solution(stump, 1.0, 1.0, Status.optimal)],
            grown.solution.tree,
            grown.problem,
            LeafRule(2),
            {},
        )


def test_a_tree_that_goes_on_where_the_rule_stops_is_none_of_those_compared(grown):
    tree, problem = grown.solution.tree, grown.problem
    assert breaks_rule(tree, problem, LeafRule(2)) == ""
    assert "node 0 is divided, but it is a leaf" in breaks_rule(
        tree, problem, LeafRule(2, theta=1.0)
    )
    assert "divided" in breaks_rule(tree, problem, LeafRule(min_split=6))
    assert "divided" in breaks_rule(
        tree, problem, LeafRule(2, min_objects=problem.objects.n_objects + 1)
    )
    assert breaks_rule(tree, problem, LeafRule(2, min_objects=2)) == ""


def test_an_exact_run_is_certified_by_its_own_bound_and_the_rest_by_minima():
    parts = assemble(REGISTRY, {**CHOICES, "method": "exact"}, {})
    parts = attrs.evolve(
        parts, solver=BruteForce(), complexity=AverageDepth(), encoder=request().parts.encoder
    )
    silent = BruteForce(fails="budget")  # not asked for the run's own complexity
    record = run(Request(parts, certify=True, certifier=silent, complexities=(AverageDepth(),)))
    assert record.certificate.complexities["average_depth"].ratio == 1
    both = run(
        Request(
            parts, certify=True, certifier=BruteForce(), complexities=(AverageDepth(), Leaves())
        )
    )
    assert both.certificate.complexities["average_depth"].ratio == 1
    assert both.certificate.complexities["n_leaves"].ratio >= 1


def test_who_certifies_what_is_part_of_the_fingerprint_where_a_certificate_is_asked_for():
    asked = request()
    changes = [
        {"certifier": BruteForce(gap=0.1)},
        {"certifier": None},
        {"complexities": (Leaves(),)},
    ]
    prints = {fingerprint(attrs.evolve(asked, **change), "data") for change in [{}, *changes]}
    assert len(prints) == 4
    plain = {
        fingerprint(attrs.evolve(asked, certify=False, **change), "data")
        for change in [{}, *changes]
    }
    assert len(plain) == 1


@attrs.frozen
class Silent(BruteForce):
    """Says nothing while it works."""

    name = "silent"


def test_who_certifies_is_said_and_what_it_says_is_told_once():
    told = []
    run(request(Silent()), lambda done, total, message: told.append(message))
    assert "certifying with silent" in told
    assert "certifying with silent: the minimum of 2 complexities" in told


@pytest.mark.parametrize(
    ("budget", "megabytes", "seconds"),
    [(Budget(), CERTIFICATE_MB, None), (Budget(100.0, 7), 7, 100.0)],
    ids=["none", "given"],
)
def test_the_certificate_has_the_whole_budget_anew_and_a_bound_on_memory_in_any_case(
    budget, megabytes, seconds
):
    seen = []

    @attrs.frozen
    class Asked(BruteForce):
        name = "asked"

        def minima(self, problem, complexities, context):
            seen.append((context.memory_bytes, context.deadline, time.monotonic()))
            return super().minima(problem, complexities, context)

    run(attrs.evolve(request(Asked()), budget=budget))
    memory, deadline, now = seen[0]
    assert memory == megabytes * 1_000_000
    assert deadline is None if seconds is None else 0 < deadline - now <= seconds


def toy_registry():
    registry = load_registry()
    for cls in (BruteForce, _named("a_first"), _named("blind", minima=None)):
        registry.add(cls, Owner("toys"))
    return registry


def _named(name, **changes):
    body = {"name": name, **changes}
    return (
        attrs.frozen(type(name, (BruteForce,), body)) if "minima" not in changes else _blind(name)
    )


def _blind(title):
    @attrs.frozen
    class Blind:
        kind, name, paper, capabilities = "solver", title, "", ("classification",)

        def solve(self, problem, context):
            raise NotImplementedError

    return Blind


def test_the_certifier_is_the_one_named_else_the_runs_own_else_the_first_by_name():
    registry, parts = toy_registry(), request().parts
    assert certifier_of(registry, parts).name == "a_first"
    own = BruteForce(gap=0.5)
    assert certifier_of(registry, attrs.evolve(parts, solver=own)) is own
    assert certifier_of(registry, parts, "brute_force") == BruteForce()
    assert certifier_of(registry, attrs.evolve(parts, solver=own), "brute_force") is own
    with pytest.raises(ConfigError, match="solver blind proves no minima.*known: .*brute_force"):
        certifier_of(registry, parts, "blind")
    with pytest.raises(
        ConfigError, match="certifier: unknown certifier 'brute_forc'; did you mean 'brute_force'"
    ):
        certifier_of(registry, parts, "brute_forc")


def test_every_installed_complexity_is_certified_and_the_runs_own_as_it_is_set():
    @attrs.frozen
    class Scaled(Leaves):
        name = "scaled"
        factor: float = param(1.0, "of every leaf")

    registry, parts = load_registry(), request().parts
    registry.add(Scaled, Owner("toys"))
    names = [one.name for one in certified_complexities(registry, parts)]
    assert names == [entry.name for entry in registry.entries("complexity")]
    own = Scaled(factor=2.0)
    assert own in certified_complexities(registry, attrs.evolve(parts, complexity=own))
