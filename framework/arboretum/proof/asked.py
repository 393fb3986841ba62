"""What a run asks of its trees, as far as a checker knows it: whatever it does not know ends the
check with that word.

Bounds are shown for all trees within limits of depth, of leaves and of rows in a leaf.  Whatever
else forbids trees only raises what the others cost, so that the bounds hold; the proof's own tree
is held to all of it.
"""

import math

import attrs
import numpy as np

from arboretum.errors import CapabilityError, VerificationError, sure
from arboretum.interfaces.constraints import constraints_of
from arboretum.interfaces.method import Problem
from arboretum.interfaces.objective import Shape, shape_of
from arboretum.interfaces.stopping import LeafRule, Limits, tightest
from arboretum.model.tree import Tree
from arboretum.model.walk import sum_subtrees


def refuse_unknown(problem: Problem, shape: str) -> None:
    """Raise CapabilityError for a run that asks what no checker knows, VerificationError for a
    shape that its objective has not, and is no case of.
    """
    # as logs are written
    parts, own = problem.parts, shape_of(problem.parts.objective) or Shape.additive
    name = getattr(parts.objective, "name", "none")
    constrained = constraints_of(parts.solver)
    if constrained is not None:
        # a bound of all trees holds of those, too, but the proof's own tree is not held to them
        if shape != "constrained" or own is not Shape.additive:
            raise VerificationError(
                f"the proof is of shape {shape!r}, but solver={sure(parts.solver).name} of its run "
                "keeps constraints of an additive objective"
            )
    elif shape not in {one.value for one in own.cases}:
        raise VerificationError(
            f"the proof is of shape {shape!r}, but objective={name} of its run is of shape "
            f"{own.value!r}"
        )
    if own is Shape.additive and parts.complexity is not None:
        raise CapabilityError(
            f"complexity={parts.complexity.name} stands beside objective={name}, which does "
            "not count it; proofs know one of them"
        )
    if not problem.prices.fixed:
        raise CapabilityError(
            f"cost={sure(parts.cost).name} has prices that depend on the path or the outcome; "
            "proofs know one price per test"
        )
    if parts.predicate:
        raise CapabilityError(
            f"predicate={parts.predicate[0].name} makes its tests at each node; proofs know "
            "fixed tests and thresholds"
        )
    for rule in parts.stopping:
        if (
            not hasattr(rule, "leaf_rule")
            or hasattr(rule, "is_leaf_among")
            or hasattr(rule, "significance")
        ):
            raise CapabilityError(
                f"stopping={rule.name} looks at more than a node's objects; proofs know "
                "limits and leaf rules"
            )
        if rule.limits().min_decrease is not None:
            raise CapabilityError(
                f"stopping.{rule.name} has a min_decrease, a score; proofs know none"
            )


def asked_of(problem: Problem) -> dict[str, float]:
    """Limits and leaf rule of a run: name → value of those that forbid anything."""
    fields = {**attrs.asdict(problem.parts.limits()), **attrs.asdict(_leaf_rule(problem))}
    free = {**attrs.asdict(Limits()), **attrs.asdict(LeafRule())}
    none = {"min_split": 2, "min_objects": 2}  # what has fewer is never divided
    return {
        name: value
        for name, value in fields.items()
        if value != free[name] and value != none.get(name)
    }


def _leaf_rule(problem: Problem) -> LeafRule:
    stopping = problem.parts.stopping
    rules: list[LeafRule] = [rule.leaf_rule() for rule in stopping if hasattr(rule, "leaf_rule")]
    return tightest(LeafRule, [LeafRule(), *rules])


def beyond(tree: Tree, problem: Problem) -> str:
    """Which limit, or which leaf rule, of the run a tree does not keep, by where its rows come
    to rest; "" where it keeps all.
    """
    objects = problem.objects
    limits = problem.parts.limits()
    rule = _leaf_rule(problem)
    impurity = problem.parts.impurity
    at = tree.apply(objects.table)
    n = tree.n_nodes
    shown = np.zeros((tree.n_nodes, max(1, objects.n_classes)))
    of_object = at[objects.row_of_object]
    label = 0 if objects.label is None else objects.label
    np.add.at(shown, (of_object, label), objects.weight)
    weights = sum_subtrees(shown, tree)
    rows, members = (
        sum_subtrees(np.bincount(found, minlength=n), tree) for found in (at, of_object)
    )
    mass = weights.sum(axis=1)
    for limit, found in (("max_depth", int(tree.depth_of.max())), ("max_leaves", tree.n_leaves)):
        if (most := getattr(limits, limit)) is not None and found > most:
            return f"{limit} is {most}, and it has {found}"
    least, lightest = rows[rows > 0].min(), mass[rows > 0].min()  # of branches that receive any
    if n > 1 and least < limits.min_leaf:
        return f"min_leaf is {limits.min_leaf}, and a branch has {least:g} rows"
    if n > 1 and lightest < limits.min_weight(float(mass[0]), objects.n_objects):
        return (
            f"min_mass is {limits.min_mass:g}, and a branch has {lightest / mass[0]:g} of the "
            "weight"
        )
    if (tree.price_to > limits.most_paid(tree.depth_of)).any():
        return f"max_cost is {limits.max_cost:g}, and a path pays {tree.price_to.max():g}"
    for node in tree.inner.tolist():
        mixed = (
            float(impurity.value(weights[node]))
            if rule.delta is not None and impurity is not None
            else math.nan
        )
        if rule.holds(
            float(mass[node]), float(mass[0]), int(rows[node]), mixed, int(members[node])
        ):
            return (
                f"{', '.join(f'{k} is {v}' for k, v in attrs.asdict(rule).items() if v)}, and "
                f"node {node} of {rows[node]:g} rows is divided"
            )
    return ""
