"""Replay a proof against the table: accept it, or say at which record it fails and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.errors import ArboretumError, VerificationError
from arboretum.interfaces.method import Context, Problem
from arboretum.model.plain import Facts
from arboretum.model.tree import Tree
from arboretum.proof.asked import beyond, refuse_unknown
from arboretum.proof.format import BY_LINES, Proof, data_of
from arboretum.proof.subtables import Subtables

if TYPE_CHECKING:
    from arboretum.proof.additive import Additive
    from arboretum.proof.deviation import Deviations
    from arboretum.proof.lines import Lines
    from arboretum.proof.sums import Sums


@attrs.frozen
class Accepted:
    """What a proof shows.

    records : how many were checked.
    lower_bound, value : of the objective; value None: the proof holds no tree.
    assumed : what is taken from the objective's word, as the end of a sentence; "": nothing.
    """

    records: int
    lower_bound: float
    value: float | None
    assumed: str = ""


def check(
    proof: Proof, problem: Problem, progress: Callable[..., None] = Context().progress
) -> Accepted:
    """Check every record and what the end claims.  Raises VerificationError, saying why, at the
    first thing that does not follow.

    problem : made again from the log's configuration.
    progress : called with (done, total, message).
    """
    data, tests = data_of(problem), proof.header["tests"]
    refuse_unknown(problem, proof.header["shape"])
    for key, value in data.items():
        # a file may have another name today
        if key != "name" and proof.header["data"].get(key) != value:
            raise VerificationError(
                f"the proof is of another table: {key} is {proof.header['data'].get(key)}, "
                f"here it is {value}"
            )
    rules = rules_of(proof, problem)
    for number, reason in rules.refusals(
        proof, lambda n: progress(n, proof.n_records, f"checking {proof.n_records:,} records")
    ):
        record = proof.record(number)
        limits = "".join(
            f", {name} {n}"
            for name, n in (("depth", record.depth), ("leaves", record.leaves))
            if n >= 0
        )
        path = (
            " ".join(
                f"{tests[t] if 0 <= t < len(tests) else t}:{outcome}"
                for t, outcome in record.path.tolist()
            )
            or "root"
        )
        raise VerificationError(
            f"record {number} ({path}{limits}) claims a bound of {record.bound}, but {reason}"
        )
    return _check_end(proof, problem, rules)


def rules_of(proof: Proof, problem: Problem) -> Subtables | Additive | Deviations | Sums | Lines:
    """What checks the records of a log."""
    if proof.header["shape"] == "complexity":
        return Subtables(problem, proof.header["tests"])
    if proof.header["shape"] == "deviation":
        from arboretum.proof.deviation import Deviations

        return Deviations(problem, proof.header["tests"])
    if proof.header["shape"] == "sums":
        from arboretum.proof.sums import Sums

        return Sums(problem, proof.header["tests"])
    if proof.header["shape"] in BY_LINES:
        return kind_of_lines(proof.header["shape"]).of(problem, proof)
    from arboretum.proof.additive import Additive

    return Additive(problem, proof.header["tests"], proof.unit)


def kind_of_lines(shape: str) -> type[Lines]:
    """The rules of a value that lines bound."""
    if shape == "ranking":
        from arboretum.proof.areas import Areas

        return Areas
    if shape == "constrained":
        from arboretum.proof.constrained import Constrained

        return Constrained
    from arboretum.proof.confusion import Confusion

    return Confusion


def _check_end(
    proof: Proof, problem: Problem, rules: Subtables | Additive | Deviations | Sums | Lines
) -> Accepted:
    """What the proof shows, once its end claims no more than its records do, and a tree that costs
    what it says and that the run allows.  Raises VerificationError.
    """
    limits, end = problem.parts.limits(), proof.end
    root = (
        -1 if limits.max_depth is None else limits.max_depth,
        -1 if limits.max_leaves is None else limits.max_leaves,
    )
    bound, shown = end["bound"], rules.root_bound(root)
    if not bound <= shown + rules.slack * abs(shown):
        raise VerificationError(f"the end claims a bound of {bound}, but its records show {shown}")
    assumed = rules.assumed if hasattr(rules, "assumed") else ""
    if end["tree"] is None:
        return Accepted(proof.n_records, rules.value(min(bound, shown)), None, assumed)
    tree = tree_of(end["tree"], problem)
    cost = rules.cost_of(tree)
    slack = rules.slack * abs(float(cost))
    if end["value"] is None or not abs(cost - end["value"]) <= slack or not bound <= cost + slack:
        raise VerificationError(
            f"the end claims a tree of {end['value']} and a bound of {bound}, but the tree "
            f"costs {cost}"
        )
    if complaint := beyond(tree, problem):
        raise VerificationError(f"the run does not allow the tree: {complaint}")
    return Accepted(
        proof.n_records, rules.value(min(bound, shown)), rules.value_of(tree, cost), assumed
    )


def tree_of(data: Facts, problem: Problem) -> Tree:
    """The tree of a log.  Raises VerificationError where it is none of this table, or has other
    objects at its leaves, or some at no leaf.
    """
    objects = problem.objects
    try:
        tree = Tree.from_json(data)
        if tree.classes != objects.table.target.classes:
            raise ValueError(f"its classes are {', '.join(tree.classes)}")
        weights, at = np.zeros(tree.weights.shape), tree.apply(objects.table)
        if not (ends := tree.is_leaf[at]).all():
            raise ValueError(
                f"row {int(ends.argmin())} rests at node {int(at[ends.argmin()])}, where a "
                "leaf is left out"
            )
        at_object, w = at[objects.row_of_object], objects.weight
        if objects.label is None:
            np.add.at(weights, at_object, np.column_stack([w, w * objects.y, w * objects.y**2]))
        else:
            np.add.at(weights, (at_object, objects.label), w)
        if not np.allclose(weights[tree.is_leaf], tree.weights[tree.is_leaf]):
            raise ValueError("the weights of its leaves are others")
    except (
        ArboretumError,
        ValueError,
        LookupError,
        TypeError,
        ArithmeticError,
        AttributeError,
        RecursionError,
    ) as error:
        raise VerificationError(
            f"the end holds a tree that is none for this table: {error}"
        ) from None
    return tree
