"""Verification: a tree is replayed over the rows it was grown from, and what it reports is computed
again.

Rows travel by shares (a whole row has share 1): by the walk in NumPy, which knows nothing of
growth, kernels and codes; a sample of the rows is walked again in plain Python, by the rules as
written, and many rows by the kernel that predicts them.  Where growth and walk disagree about a
single row, a weight or a count of some node does not come out.  A mismatch fails the run.

Every check states what must hold, so that NaN and ±∞ fail it.

Tolerances.  Sums of n weights in float64, in whatever order, differ by at most about n·ε times the
sum of absolute values (ε = 2⁻⁵²); twice that is allowed.  Counts, labels and shapes must agree
exactly.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import groupby

import attrs
import numpy as np

from arboretum.engine import verify_nodes
from arboretum.engine.label_costs import LabelCosts, has_own_labels
from arboretum.engine.mismatch import Seal, at_every_node, at_most, equal, fail
from arboretum.engine.monotone import find_fault
from arboretum.engine.search.coverage_state import COVERED
from arboretum.errors import ContractError, sure
from arboretum.interfaces.method import Problem
from arboretum.interfaces.missing import Missing
from arboretum.model import walk
from arboretum.model.encoded import Encoded, Prices
from arboretum.model.front import Front
from arboretum.model.invariants import check_numbers
from arboretum.model.plain import Plain
from arboretum.model.record import RECOMPUTED, Solution, Status
from arboretum.model.rules import NO_OUTCOME
from arboretum.model.steps import LARGE
from arboretum.model.table import Column, Table
from arboretum.model.tree import LEAF, MISSING_SPLITS, MISSING_STOPS, Tree
from arboretum.model.walk import EPS, NEGLIGIBLE, Arrivals

# rows that are walked one by one in plain Python; all rows are walked by NumPy
ROWS_IN_PYTHON = 1000
LEAST_IN_PYTHON = 20  # of each of several trees
CLOSE = 1e-9  # relative for values, absolute for a coverage: sums of the same terms in other orders
# tests that those rows are asked together at most (0.2 s); in a tree that is very deep they are
# fewer
STEPS_IN_PYTHON = 200_000


def verify(
    tree: Tree,
    problem: Problem,
    train: Table,
    metrics: Mapping[str, float],
    solution: Solution,
    seal: Seal = Seal(),
) -> dict[str, str]:
    """Check the tree against the training objects, its prices, the reported metrics and the
    solution's value.

    train : the rows the objects were made from.
    seal : of the data as it was before anybody could change it.

    Returns what was computed again → how much of it, or "not: " and the reason.

    Raises VerificationError naming what disagrees, where and by how much.
    """
    objects, parts = problem.objects, problem.parts
    seal.check(f"method {getattr(parts.method, 'name', None) or 'the fit'}")
    costs = LabelCosts(problem) if has_own_labels(parts) else None
    tree, arrived, sampled = check_tree(tree, objects, train, costs, missing=parts.missing)
    check_prices(tree, objects, problem.prices)
    check_limits(tree, problem)
    known = {**complexities(tree, objects, arrived), **errors(tree, train, arrived.places)}
    if "covering_cost" in metrics:
        known["covering_cost"] = covering_cost(tree, problem, arrived)
    regression = objects.is_regression
    if not regression:
        verify_nodes.check_shares(tree, problem, arrived)
    terms = max(len(arrived.node), int(objects.count.sum()))
    slack = 8 * (terms + tree.n_nodes) * EPS
    for name in (same := [name for name in known if name in metrics]):
        equal(f"reported {name}", metrics[name], known[name], slack)
    return {
        "data": "unchanged since it was loaded" if seal.values else "not: no checksum was taken",
        "rows": f"{train.n_rows} by their raw values, {sampled} of them once more in plain Python",
        f"weights, counts, {'prices' if regression else 'labels, prices'}": "every node",
        **(
            {"predicted numbers": verify_nodes.check_values(tree, problem, arrived)}
            if regression
            else {}
        ),
        "impurity": verify_nodes.check_impurity(tree, problem, arrived),
        "score": verify_nodes.check_scores(tree, problem, train, arrived),
        "metrics": ", ".join(same) or "not: none of them is reported",
        "value": check_solution(tree, problem, solution),
        **({"front": check_front(solution.front, problem, train)} if solution.front else {}),
        **(
            {"other trees": check_others(solution.others, problem, train, costs)}
            if solution.others
            else {}
        ),
    }


def check_limits(tree: Tree, problem: Problem) -> None:
    """Check that what the stopping rules limit holds.  Rows and weight of a branch are not asked
    for where a pruner may have moved rows, nor weight that an objective changed.
    """
    parts, limits = problem.parts, problem.parts.limits()
    at_every_node(
        "no path pays more than max_cost",
        tree.price_to <= limits.most_paid(tree.depth_of),
        tree.price_to,
    )
    if fault := find_fault(tree, parts, problem.objects.table):
        fail(f"predictions are monotone: {fault}")
    if limits.max_depth is not None:
        at_every_node(
            f"max_depth is {limits.max_depth}: depth",
            tree.depth_of <= limits.max_depth,
            tree.depth_of,
        )
    if limits.max_leaves is not None and tree.n_leaves > limits.max_leaves:
        fail(f"max_leaves is {limits.max_leaves}: the tree has {tree.n_leaves}", limits.max_leaves)
    if parts.pruner is not None:
        return
    below, slack = np.arange(tree.n_nodes) > 0, (tree.n_nodes + problem.objects.n_objects) * EPS
    if limits.min_leaf > 1:
        at_every_node(
            f"min_leaf is {limits.min_leaf}: rows",
            ~below | (tree.counts >= limits.min_leaf * (1 - slack)),
            tree.counts,
        )
    if limits.min_mass > 0 and not hasattr(parts.objective, "weigh"):
        mass = tree.weights.sum(axis=1) if tree.is_classification else tree.weights[:, 0]
        least = limits.min_weight(float(problem.objects.weight.sum()), problem.objects.n_objects)
        at_every_node(
            f"min_mass is {limits.min_mass:g}: weight",
            ~below | (mass >= least - slack * mass[0]),
            mass,
        )


def check_front(front: Front, problem: Problem, train: Table) -> str:
    """Check the tree of every point, as the run's own, and its values; returns how many points
    had one to be checked, in words.
    """
    trees = [(number, point) for number, point in enumerate(front.points) if point.tree is not None]
    for number, point in trees:
        tree, arrived, _ = check_tree(
            sure(point.tree),
            problem.objects,
            train,
            rows=max(LEAST_IN_PYTHON, ROWS_IN_PYTHON // len(trees)),
            missing=problem.parts.missing,
        )
        check_prices(tree, problem.objects, problem.prices)
        known = {
            **complexities(tree, problem.objects, arrived),
            **errors(tree, train, arrived.places),
        }
        for axis, value in zip(front.axes, point.values, strict=True):
            equal(
                f"point {number} of the front: {axis}",
                value,
                known.get(axis, math.nan),
                8 * (len(arrived.node) + tree.n_nodes) * EPS,
            )
    return f"{len(trees)} of {len(front.points)} points by their trees"


def check_others(
    trees: Sequence[Tree],
    problem: Problem,
    train: Table,
    label_costs: LabelCosts | None,
) -> str:
    """Check the trees that a solver lists beside its own; returns how many they are, in words.

    label_costs : as of :func:`check_tree`; of rows each is given its share of ROWS_IN_PYTHON.
    """
    for tree in trees:
        tree, _, _ = check_tree(
            tree,
            problem.objects,
            train,
            label_costs,
            max(LEAST_IN_PYTHON, ROWS_IN_PYTHON // len(trees)),
            problem.parts.missing,
        )
        check_prices(tree, problem.objects, problem.prices)
        check_limits(tree, problem)
    return f"all {len(trees)}"


def check_tree(
    tree: Tree,
    objects: Encoded,
    table: Table,
    label_costs: LabelCosts | None = None,
    rows: int = ROWS_IN_PYTHON,
    missing: Missing | None = None,
) -> tuple[Tree, Arrivals, int]:
    """Check shape, walk, weights, counts and labels; returns the tree with nothing cached, the
    walk, and the number of rows walked in plain Python.

    table : the rows the objects were made from.
    label_costs : by which a label is right where none costs less; None: the heaviest class is.
    rows : to walk in plain Python.
    missing : the run's rule for rows without a value, None where nobody says.

    Raises VerificationError.
    """
    tree = check_structure(tree)
    places = walk.places(tree, table)
    sampled = check_sample(tree, table, places, rows)
    if table.n_rows >= LARGE and not (same := tree.rest(table) == places.whole).all():
        fail(
            f"row {int(same.argmin())} comes to rest where the kernel that predicts puts it",
            int(places.whole[same.argmin()]),
        )
    try:
        arrived = Arrivals.of(tree, objects.object_of_row, objects.n_objects, places)
    except ContractError as error:
        fail(str(error))
    check_rests(tree, table, places, missing)
    check_objects(tree, objects, arrived, label_costs)
    return tree, arrived, sampled


def check_rests(tree: Tree, table: Table, places: walk.Places, missing: Missing | None) -> None:
    """Check that a row rests at an inner node only without an outcome there, where the run's rule
    lets it stop; else its branch, a leaf, is left out.

    missing : None: nobody says where rows stop, so they may.
    """
    nodes, rows, _ = places.all()
    inner = ~tree.is_leaf[nodes]
    for node in np.unique(nodes[inner]).tolist():
        row, rule = rows[inner & (nodes == node)], tree.rule(node)
        lost = (
            ~rule.degrees(table, row).any(axis=1)
            if rule.fuzzy
            else rule.outcomes(table, row) == NO_OUTCOME
        )
        if not lost.all():
            fail(
                f"row {int(row[lost.argmin()])} rests at node {node}, whose test "
                f"{rule.describe()!r} it can answer: a leaf is left out there"
            )
        even = np.ones(rule.arity)
        known = np.array([tree.mass[child] if child >= 0 else 0.0 for child in tree.children(node)])
        if missing is not None and MISSING_STOPS not in (
            *missing.placements(even),
            *missing.placements(known),
        ):
            fail(
                f"row {int(row[0])} rests at node {node}, whose test {rule.describe()!r} it "
                f"cannot answer, but missing={missing.name} lets no row stop"
            )


def check_structure(tree: Tree) -> Tree:
    """Check that the arrays still form a tree, inner nodes have a child and leaves cost nothing.
    Returns it afresh, with nothing cached.
    """
    try:
        tree = attrs.evolve(tree)
        check_numbers(tree)
    except ContractError as error:
        fail(str(error))
    has = np.zeros(tree.n_nodes, np.bool_)
    has[tree.parent[1:]] = True
    at_every_node("an inner node has a child: test", has | tree.is_leaf, tree.test)
    at_every_node("a leaf costs nothing: price", ~tree.is_leaf | (tree.price == 0), tree.price)
    return tree


def check_sample(tree: Tree, table: Table, places: walk.Places, rows: int) -> int:
    """Walk some rows in plain Python, shares in exact fractions, and compare; returns how many.

    rows : at most so many, evenly spaced, fewer where STEPS_IN_PYTHON run out.
    """
    columns = {column.name: column for column in table.columns}
    by_row = np.argsort(places.row, kind="stable")
    first = np.searchsorted(places.row[by_row], np.arange(table.n_rows + 1))
    even = np.unique(np.linspace(0, table.n_rows - 1, min(rows, table.n_rows)).astype(np.int64))
    walker, done = _Walker(tree), 0
    # wherever the steps run out, they are spread evenly
    for row in np.random.default_rng(0).permutation(even).tolist():
        before = walker.steps
        found, mine = walker.places(_Row(columns, row)), by_row[first[row] : first[row + 1]]
        reported: dict[int, float] = dict(
            zip(places.node[mine].tolist(), places.share[mine].tolist(), strict=True)
        )
        reported, slack = reported or {int(places.whole[row]): 1}, 4 * (walker.steps - before) * EPS
        if found != reported and not all(
            abs(found.get(v, 0) - reported.get(v, 0)) <= slack for v in found | reported
        ):
            fail(
                f"row {row} comes to rest at the same nodes in both walks: {reported} by NumPy",
                {v: float(s) for v, s in found.items()},
            )
        done += 1
        if walker.steps >= STEPS_IN_PYTHON:
            break
    return done


class _Row(dict[str, object]):
    """One row as rules read it: a number, a category, or None for none; cells are looked up when
    asked for.
    """

    def __init__(self, columns: Mapping[str, Column], row: int) -> None:
        self.columns, self.row = columns, row

    def __missing__(self, name: str) -> object:
        column = self.columns[name]
        value = column.values[self.row].item()
        if not column.is_continuous:
            value = column.categories[value] if value >= 0 else None
        self[name] = value
        return value


class _Walker:
    """Walks one row at a time, by nothing but the tree's definition.

    steps : tests asked so far.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.steps = 0
        self.test = tree.test.tolist()
        self.child = tree.child.tolist()
        self.offset = tree.child_offset.tolist()
        self.surrogates = {
            node: tuple(one) for node, one in groupby(tree.surrogates, key=lambda each: each.node)
        }

    def places(self, values: Plain) -> dict[int, Fraction | int]:
        """Node → share of the row that rests there."""
        found: dict[int, Fraction | int] = {}
        waiting: list[tuple[int, Fraction | int]] = [(0, 1)]
        while waiting:
            node, share = waiting.pop()
            if self.test[node] == LEAF:
                found[node] = share
                continue
            self.steps += 1
            for child, part in self._below(node, values):
                if child >= 0:
                    waiting.append((child, share * part))
                else:  # what has no branch rests here
                    found[node] = found.get(node, 0) + share * part
        return found

    def _below(self, node: int, values: Plain) -> Sequence[tuple[int, Fraction | int]]:
        """(child or −1, part of the row that goes there) at an inner node."""
        tree, rule = self.tree, self.tree.rules[self.test[node]]
        branches = self.child[self.offset[node] : self.offset[node + 1]]
        if rule.fuzzy:
            parts = [
                (child, Fraction(float(part)))
                for child, part in zip(branches, rule.degrees_of(values), strict=True)
                if part > 0
            ]
            if parts:
                return parts
        outcome = NO_OUTCOME if rule.fuzzy else rule.outcome_of(values)
        for one in self.surrogates.get(node, ()) if outcome == NO_OUTCOME else ():
            known = tree.rules[one.rule].outcome_of(values)
            outcome = NO_OUTCOME if known == NO_OUTCOME else one.to[known]
            if outcome != NO_OUTCOME:
                break
        if outcome == NO_OUTCOME:
            outcome = int(tree.missing_child[node])
        if outcome == MISSING_SPLITS and (
            heavy := [child for child in branches if child >= 0 and tree.mass[child] > 0]
        ):
            total = sum(Fraction(float(tree.mass[child])) for child in heavy)
            return [(child, Fraction(float(tree.mass[child])) / total) for child in heavy]
        return [(branches[outcome] if outcome >= 0 else -1, 1)]


def check_objects(
    tree: Tree,
    objects: Encoded,
    arrived: Arrivals,
    label_costs: LabelCosts | None = None,
) -> None:
    """Recompute weights, counts and labels of every node from the objects that pass it; numbers
    that nodes predict are :mod:`arboretum.engine.verify_nodes`'.

    label_costs : as of :func:`check_tree`.
    """
    if not (np.isfinite(objects.weight) & (objects.weight > 0)).all():
        fail(
            "every object has a finite weight above 0",
            objects.weight[~(objects.weight > 0)][:3].tolist(),
        )
    classes = objects.is_classification
    own = arrived.totals(objects)
    slack = arrived.rounding(objects) * np.abs(own[0]).sum()
    at_every_node(
        "class weights" if classes else "moments",
        (np.abs(tree.weights - own) <= slack).all(axis=1),
        tree.weights,
        own,
    )
    count = arrived.counts(objects.count)
    rounding = arrived.rounding(objects) * objects.count.sum() if arrived.split else 0.0
    at_every_node("number of rows", np.abs(count - tree.counts) <= rounding, tree.counts, count)
    # a label is right if no class outweighs it, or costs less, by more than the rounding of the
    # sums
    if classes and (label_costs is None or label_costs.are_free):
        if not np.isnan(tree.value).all():  # they predict other shares than those of their weights
            own = tree.distribution() * own.sum(axis=1, keepdims=True)
        cost, total = (
            (-own, np.abs(own[0]).sum())
            if label_costs is None
            else label_costs.at_nodes(own, arrived)
        )
        lead = cost[np.arange(tree.n_nodes), tree.label] - cost.min(axis=1)
        at_every_node(
            "the label is "
            f"{'the majority class' if label_costs is None else 'a class of least cost'}",
            lead <= arrived.rounding(objects) * total,
            tree.label,
            cost.argmin(axis=1),
        )


def check_prices(tree: Tree, objects: Encoded, prices: Prices) -> None:
    """Check that every inner node's prices (of its branches, and the most of them) are ones that
    the list of its path has for a test of its column, or 0 where the column is paid already.

    A test that reads several columns pays for each what the costliest test of that column costs.
    """
    allowed = _prices_by_column(objects, prices)
    columns = [rule.columns for rule in tree.rules]
    test = tree.test.tolist()
    price = tree.price.tolist()
    parent = tree.parent.tolist()
    paid = tree.price_to.tolist()
    branch, offset = tree.edge_price.tolist(), tree.child_offset.tolist()
    # inner node → columns read there and above
    asked: dict[int, frozenset[str]] = {-1: frozenset()}
    for node in np.flatnonzero(tree.test != LEAF).tolist():
        names, above = tuple(dict.fromkeys(columns[test[node]])), asked[parent[node]]
        asked[node] = above if above.issuperset(names) else above.union(names)
        if prices.after is not None:
            allowed = _prices_by_column(objects, prices.at(above, paid[node]))
        each: list[set[tuple[float, ...]]] = [
            {(0.0,)} if prices.once_per_column and name in above else allowed.get(name, set())
            for name in names
        ]
        known = (
            each[0]
            if len(each) == 1
            else {(float(sum(max(map(max, one)) for one in each)),)}
            if all(each)
            else None
        )
        branches = branch[offset[node] : offset[node + 1]]
        reported = (
            tuple(branches) if any(one != price[node] for one in branches) else (price[node],)
        )
        if known and not (reported in known and price[node] == max(reported)):
            fail(
                f"node {node}: price of {tree.rule(node).describe()!r}: reported "
                f"{price[node]}, by branch {reported}",
                sorted(known)[:5],
            )


def _prices_by_column(objects: Encoded, prices: Prices) -> dict[str, set[tuple[float, ...]]]:
    """Column → the prices that its tests have in a list: a tuple by outcome, or of the one number
    that all outcomes have.
    """
    found: dict[str, set[tuple[float, ...]]] = {}
    columns = [feature.column for feature in objects.features for _ in range(feature.n_tests)]
    columns += [feature.column for feature in objects.raw_features]
    lists = (
        ((p,) for p in (*prices.tests.tolist(), *prices.raw.tolist()))
        if prices.outcomes is None
        else map(prices.of, range(len(columns)))
    )
    for column, one in zip(columns, lists, strict=True):
        found.setdefault(column, set()).add(one)
    return found


def complexities(tree: Tree, objects: Encoded, arrived: Arrivals) -> dict[str, float]:
    """Metric → depth, path lengths, sizes and costs of the tree, object by object (share by share);
    lengths and costs are weighed by the objects.
    """
    inner = tree.test != LEAF
    depth, paid, price = np.zeros(tree.n_nodes), np.zeros(tree.n_nodes), tree.edge_price
    for node, above in enumerate(tree.parent[1:].tolist(), 1):
        depth[node], paid[node] = depth[above] + 1, paid[above] + price[tree.edge_to[node]]
    # where a row rests at an inner node, the test was asked, and had no branch for the answer
    asked = (depth + inner)[arrived.node]
    spent = (paid + np.where(inner, tree.price, 0.0))[arrived.node]
    mass, total = objects.weight[arrived.who] * arrived.share, objects.weight.sum()
    rows = np.bincount(arrived.node, objects.count[arrived.who] * arrived.share, tree.n_nodes)
    # rows that rest at an inner node are a leaf
    ends = ~inner | (rows > NEGLIGIBLE * objects.count.sum())
    path, cost = float((mass * asked).sum()), float((mass * spent).sum())
    return {
        "depth": float(depth.max()),
        "n_nodes": int(inner.sum() + ends.sum()),
        "n_leaves": int(ends.sum()),
        "n_internal": int(inner.sum()),
        "total_path_length": path,
        "average_depth": path / total,
        "expected_cost": cost / total,
        "max_cost": float((paid + np.where(inner, tree.price, 0.0))[ends].max()),
    }


def errors(tree: Tree, train: Table, places: walk.Places) -> dict[str, float]:
    """The error on the training rows by their weights, from where they rest; a row at several nodes
    is predicted by the mean of their shares.
    """
    weight, numbers = train.row_weights(), train.is_regression
    own = tree.value[:, None] if numbers else np.eye(len(tree.classes))[tree.label]
    mass = tree.weights.sum(axis=1, keepdims=True)
    shares = (
        own if numbers else np.where(mass > 0, tree.weights / np.where(mass > 0, mass, 1.0), own)
    )
    predicted = own[places.whole]
    predicted[places.row] = 0.0
    np.add.at(predicted, places.row, places.share[:, None] * shares[places.node])
    wrong = (
        (predicted[:, 0] - train.target.values) ** 2
        if numbers
        else predicted.argmax(axis=1) != train.target.codes
    )
    return {"train_mse" if numbers else "train_error": float((weight * wrong).sum() / weight.sum())}


# nodes at which a coverage bound to its root is compared with the component itself, which may be
# slow
NODES_UNBOUND = 8


def covering_cost(tree: Tree, problem: Problem, arrived: Arrivals) -> float:
    """The mean path cost until an object is covered: all objects walk down together; each (each
    share of it) pays until some coverage says 1, and stays covered.
    """
    objects, coverage = problem.objects, problem.parts.coverage
    bound = [part.prepare(objects) if hasattr(part, "prepare") else part for part in coverage]
    waiting = [(0, np.arange(objects.n_objects))]
    is_open = np.zeros(objects.n_objects, np.bool_)
    paid = 0.0
    compared = 0
    while waiting:
        node, uncovered = waiting.pop()
        rows, share = arrived.at(node)
        is_open[uncovered] = True
        still, mass = is_open[rows], objects.weight[rows] * share
        is_open[uncovered] = False
        if node:  # a branch may cost less than the most
            edge = tree.edge_to[node]
            paid -= float(tree.price[tree.owner[edge]] - tree.edge_price[edge]) * float(
                mass[still].sum()
            )
        if tree.test[node] == LEAF:
            continue
        for part, own in zip(coverage, bound, strict=True) if len(rows) else ():
            found = own.covered(objects, rows)
            if own is not part and compared < NODES_UNBOUND * len(coverage):
                compared += 1
                off = np.abs(found - (itself := part.covered(objects, rows)))
                if not (off <= CLOSE).all():
                    i = int(off.argmax())
                    fail(
                        f"node {node}: coverage {part.name} answers alike, bound to its root or "
                        f"not: {found[i]} when bound",
                        float(itself[i]),
                    )
            still &= ~(found >= 1.0 - COVERED)
        paid += float(tree.price[node]) * float(mass[still].sum())
        waiting += [(child, rows[still]) for child in tree.children(node).tolist() if child >= 0]
    return paid / float(objects.weight.sum())


def check_solution(tree: Tree, problem: Problem, solution: Solution) -> str:
    """Check that a solver's value is the objective's value of its tree, its bound is not above it,
    and "optimal" means no gap.  Returns RECOMPUTED, or "not: " and why the value is only claimed.
    """
    parts, optimal = problem.parts, solution.status is Status.optimal
    if parts.solver is None and not optimal:
        return "not: no solver claims one"
    if not (np.isfinite(solution.value) and np.isfinite(solution.lower_bound)):
        fail(
            f"value and lower bound of a tree are finite: reported {solution.value} and "
            f"{solution.lower_bound}"
        )
    slack, value = CLOSE, solution.value
    at_most("the lower bound is at most the value", solution.lower_bound, value, slack)
    if optimal and not abs(solution.gap) <= slack * max(1.0, abs(value)):
        fail(f"an optimal solution has no gap: reported {solution.gap}", 0)
    if (value_of := getattr(parts.objective, "value", None)) is None:
        return "not: the run has no objective that says a tree's value"
    equal(
        "the solution's value is the objective's value of its tree",
        value,
        value_of(tree, problem),
        slack,
    )
    return RECOMPUTED
