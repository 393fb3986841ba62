"""What the components of a run declare besides their contract is tried before it is believed.

A declaration opens a faster way (a leaf rule, a closed form, the rule of a kernel) or a claim (an
admissible impurity, an additive objective). Each is tried on small tables of the run's own kind:
its classes, weights and prices.  A lie ends the run, with the smallest table that shows it. What
was tried once in a process is not tried again.  Kernels are replayed, and bounds by vertices tried,
where they are compiled (:mod:`arboretum.engine.search.kernel_check`).

A trial refutes; that it finds nothing is evidence, not proof.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from arboretum.engine.axioms import (
    ADMISSIBLE,
    CONCAVE,
    NON_NEGATIVE,
    SCALE_FREE,
    ZERO,
    find_refutation,
    vectors,
)
from arboretum.engine.axioms_of_coverages import (
    NEAR,
    all_sets,
    ask,
    find_counterexamples,
    objects_of,
)
from arboretum.engine.check import capabilities_of, label, lacks
from arboretum.engine.ground import Ground
from arboretum.engine.objective_check import Few, broken_objective
from arboretum.errors import ContractError, DataError, blaming
from arboretum.interfaces.complexity import Complexity, form_of
from arboretum.interfaces.component import Capability, Component
from arboretum.interfaces.coverage import Coverage
from arboretum.interfaces.impurity import Impurity, impurity_values
from arboretum.interfaces.method import Problem
from arboretum.interfaces.missing import BETTER_SIDE, SHARED, Missing
from arboretum.interfaces.stopping import LeafRule, Stopping
from arboretum.model.encoded import Encoded, Node, Tables
from arboretum.model.tree import MISSING_SPLITS, MISSING_STOPS

# relative: two forms of one formula of a few dozen operations; a lie differs by a part of an object
CLOSE = 1e-9
SIZES = 2, 3, 4, 5, 7, 10, 20, 40, 100, 300, 1000
"""Rows of the nodes that a leaf rule is asked about, besides those around its levels."""


def check_promises(problem: Problem) -> None:
    """Raise ContractError naming the component, its promise, the smallest case that breaks it
    and the way out.
    """
    parts = problem.parts
    alone = [
        part
        for part in (
            parts.impurity,
            *parts.coverage,
            *parts.stopping,
            parts.missing,
            parts.complexity,
        )
        if _promises(part)
    ]
    ground = Ground.of(problem) if alone else Ground()
    for part in alone:
        _raise(
            part,
            _try_once(
                broken_promise, part, ground, parts.impurity if part.kind == "stopping" else None
            ),
        )
    if parts.solver is not None and hasattr(parts.objective, "shape"):
        few = Few.of(problem)
        _raise(few.objective, _try_once(broken_objective, few))


def check_complexity(complexity: Complexity, problem: Problem) -> None:
    """The same of one that a certificate is about, and which is left out otherwise."""
    if _promises(complexity):
        _raise(complexity, _try_once(broken_promise, complexity, Ground.of(problem), None))


def broken_promise(part: Component, ground: Ground, impurity: Impurity | None = None) -> str:
    """How a component breaks a promise, and the way out, as the end of a sentence that names it; ""
    where no small table shows it.

    impurity : the run's, for a leaf rule.
    """
    with blaming(), np.errstate(all="ignore"), suppress(DataError):
        return next(TRIALS[part.kind](part, ground, impurity), "")
    return ""  # a table that it refuses shows nothing; of the run's own it says so itself


_kept: Callable[..., str] = lru_cache(maxsize=1024)(lambda trial, *given: trial(*given))


def _promises(part: object) -> TypeGuard[Component]:
    """Whether something is tried of such a component."""
    return getattr(part, "kind", "") in TRIALS


def _try_once(trial: Callable[..., str], *given: object) -> str:
    """What a trial found, which is kept, unless there is a list among the fields of a component."""
    try:
        list(map(hash, given))
    except TypeError:
        return trial(*given)
    return _kept(trial, *given)


def _raise(part: Component, broken: str) -> None:
    if broken:
        raise ContractError(f"{label(part)} {broken}")


# -- impurities and coverages ----------------------------------------------------------------------


def _faults_of_impurity(impurity: Impurity, ground: Ground, _: object) -> Iterator[str]:
    """Yield what it breaks of its contract, its scale and the axioms that it declares, on sets of
    the run's classes and weights.
    """
    declared, name = capabilities_of(impurity), impurity.name
    claims: dict[str, tuple[str, ...]] = {"is said to be an impurity": (NON_NEGATIVE, ZERO)}
    if hasattr(impurity, "value"):
        claims |= (
            {"states scale = 'mean'": (SCALE_FREE,)}
            if getattr(impurity, "scale", "mean") == "mean"
            else {}
        )
        claims |= {"declares concave": (CONCAVE,)} if Capability.concave in declared else {}
        claims |= {"declares admissible": ADMISSIBLE} if Capability.admissible in declared else {}
    for claim, axioms in claims.items():
        if found := find_refutation(
            impurity, axioms, ground.n_classes, ground.task, ground.weights
        ):
            yield (
                f"{claim}, but is {found}; mend value, or leave that out (arboretum lint "
                f"impurity.{name} tries more)"
            )
    if getattr(impurity, "whole", False) and not ground.numbers:
        sets = vectors(min(ground.n_classes, 4), 6)
        sets = np.pad(sets, [(0, 0), (0, ground.n_classes - sets.shape[1])])
        value = impurity_values(impurity, sets)
        for i in np.flatnonzero(
            np.abs(value - np.rint(value)) > CLOSE * np.maximum(1.0, np.abs(value))
        )[:1]:
            yield f"states whole = True, but F{_tuple(sets[i])} = {value[i]:.6g}; leave whole out"


def _faults_of_coverage(coverage: Coverage, ground: Ground, _: object) -> Iterator[str]:
    """Yield the axioms that it breaks, and the forms in which it answers otherwise, on tables of
    two to four objects.
    """
    classes = 2 if lacks(coverage, Capability.multiclass) else min(ground.n_classes, 3)
    for n, heavy in itertools.product((2, 3, 4), dict.fromkeys((1.0, *ground.weights[-1:]))):
        weight = np.where(np.arange(n) % 2, heavy, ground.weights[0])
        objects = objects_of(np.arange(n) % min(classes, n), weight, ground.task)
        for name, reported in find_counterexamples(coverage, objects, all_sets(n)).items():
            yield (
                f"is not {name}: {reported}; mend covered (arboretum lint "
                f"coverage.{coverage.name} tries more)"
            )
        yield from _forms_of_coverage(coverage, objects)


def _forms_of_coverage(coverage: Coverage, objects: Encoded) -> Iterator[str]:
    """Yield where it does not answer as ``covered`` does, bound to its root or asked for many sets
    at once.
    """
    everyone = np.arange(objects.n_objects)
    sets = [everyone, everyone[1:], everyone[:1], everyone[::-1]]
    wanted = np.concatenate([ask(coverage, coverage.name, objects, rows) for rows in sets])
    bound = coverage.prepare(objects) if hasattr(coverage, "prepare") else coverage
    reported = {
        "prepare(objects).covered": np.concatenate(
            [ask(bound, coverage.name, objects, rows) for rows in sets]
        )
    }
    start = np.cumsum([0, *map(len, sets)])
    for form, who in (("covered_many", coverage), ("prepare(objects).covered_many", bound)):
        if hasattr(who, "covered_many"):
            reported[form] = np.asarray(who.covered_many(objects, np.concatenate(sets), start))
    for form, found in reported.items():
        if found.shape != wanted.shape or not (np.abs(found - wanted) <= NEAR).all():
            k = (
                int(np.argmax(~(np.abs(found - wanted) <= NEAR)))
                if found.shape == wanted.shape
                else 0
            )
            who = (
                f"object {int(np.concatenate(sets)[k])} of {objects.n_objects} of the classes "
                f"{_tuple(objects.label if objects.label is not None else objects.y)}"
            )
            yield (
                f"answers {found.ravel()[k]:.6g} by {form} and {wanted[k]:.6g} by covered for "
                f"{who}; let both answer the same, or leave {form} out"
            )


# -- leaf rules ------------------------------------------------------------------------------------


def _faults_of_stopping(rule: Stopping, ground: Ground, impurity: Impurity | None) -> Iterator[str]:
    if hasattr(rule, "leaf_rule"):
        yield from _faults_of_leaf_rule(rule, rule.leaf_rule(), ground, impurity)
    if not ground.numbers:
        yield from _faults_of_significance(rule, ground, impurity)


def _faults_of_leaf_rule(
    rule: Stopping, promised: LeafRule, ground: Ground, impurity: Impurity | None
) -> Iterator[str]:
    """Yield a node around its levels, of any depth, path and classes, of which ``leaf_rule()``
    answers something else than ``is_leaf``.

    promised : what ``leaf_rule()`` returned.
    """
    for node in nodes_around(promised, ground, impurity):
        wanted = bool(
            promised.holds(node.mass, node.total_mass, node.count, node.impurity, node.n_objects)
        )
        if (said := bool(rule.is_leaf(node))) != wanted:
            what = (
                f"a node of {node.count} rows ({node.n_objects} objects) of the weights "
                f"{_tuple(node.weights)}, {node.mass / node.total_mass:.3g} of all"
            )
            where = f"at depth {node.depth}" + (
                f" with coverage {node.coverage:g}" if node.coverage else ""
            )
            ways = "a leaf", "no leaf"
            yield (
                f"promises by leaf_rule() = {promised} that {what}, {where}, is "
                f"{ways[not wanted]}, and is_leaf says {ways[not said]}; "
                "leave leaf_rule out, or let is_leaf answer leaf_rule().holds(…)"
            )


def nodes_around(rule: LeafRule, ground: Ground, impurity: Impurity | None) -> Iterator[Node]:
    """Nodes of several classes, small ones first: in number, share and impurity below, at and
    above a rule's levels, at every depth down to nine and at a great one.

    impurity : states a node's; None: NaN, and 1 where it is one of values only.
    """
    sizes = sorted(
        {
            *SIZES,
            *(max(2, n + d) for n in (rule.min_split, rule.min_objects) if n for d in (-1, 0)),
        }
    )
    ways = [(0, 0.0, 1.0), (1, 0.0, 0.5), (2, 0.5, 0.013), (5, 1.0, 1.0), (50, 0.0, 0.5)]
    ways += [(depth, 0.25, 0.1) for depth in (3, 4, 6, 7, 8, 9)]
    ways += [(1, 0.0, min(1.0, rule.theta * by)) for by in (0.99, 1.0, 1.01) if rule.theta]
    for size, weight, classes in itertools.product(
        sizes, ground.weights, _classes_of_nodes(ground)
    ):
        counts = _counts(size, ground, classes)
        weights = weight * (np.array([size, 3.0 * size, 10.0 * size]) if ground.numbers else counts)
        mass = float(weights[0] if ground.numbers else weights.sum())
        mixed = (
            math.nan
            if impurity is None
            else float(impurity.value(weights))
            if hasattr(impurity, "value")
            else 1.0
        )
        levels = (
            [mixed]
            if rule.delta is None
            else [mixed, *(rule.delta * by for by in (0.99, 1.0, 1.01))]
        )
        for k, (depth, covered, share) in enumerate(ways):
            if share == rule.theta and share * (mass / share) != mass:  # a matter of the last bit
                continue
            yield Node(
                weights=weights,
                counts=counts,
                mass=mass,
                total_mass=mass / share,
                impurity=levels[k % len(levels)],
                depth=depth,
                coverage=covered,
                n_rows=size,
                n_objects=size if k % 2 else max(2, size - 1),
            )


def _classes_of_nodes(ground: Ground) -> list[range | None]:
    """Of which classes a node has rows, evenly: all, all but the first, all but the last; None: one
    row of the last and all others of the first.
    """
    k = ground.n_classes
    return [range(k), None, *([range(1, k), range(k - 1)] if k > 2 and not ground.numbers else [])]


def _counts(size: int, ground: Ground, classes: range | None) -> np.ndarray:
    """int64[classes]: rows of a node, as :func:`_classes_of_nodes` says; int64[1] of numbers."""
    if ground.numbers:
        return np.array([size])
    counts = np.zeros(ground.n_classes, np.int64)
    if classes is None:
        counts[[0, -1]] = size - 1, 1
    else:
        np.add.at(counts, np.array(classes)[np.arange(size) % len(classes)], 1)
    return counts


def _faults_of_significance(
    rule: Stopping, ground: Ground, impurity: Impurity | None
) -> Iterator[str]:
    """Yield a node, of one and of three tests, of which the kernel of ``significance`` decides
    something else than ``is_leaf_among``.

    impurity : the run's, which nodes and tables state; None: NaN.
    """
    from arboretum.engine.search.compiled_criterion import numeric_fields
    from arboretum.engine.search.kernel_check import as_plain_python
    from arboretum.kernels.kernel_decorators import KernelNode

    if not (hasattr(rule, "significance") and hasattr(rule, "is_leaf_among")):
        return
    kernel, each = rule.significance()
    score = as_plain_python(kernel)
    params = numeric_fields(rule)
    value = getattr(impurity, "value", None)
    for counts, weight in itertools.product(tables_of(ground.n_classes), ground.weights):
        weights, total = weight * counts, counts[0].sum(axis=0)
        mass = float(weight * total.sum())
        mixed = math.nan if value is None else float(value(weight * total))
        for n in (1, len(counts)):
            of = value or (lambda _: math.nan)
            seen = KernelNode(
                mass=mass,
                total_mass=2.0 * mass,
                impurity=mixed,
                depth=1,
                coverage=0.0,
                params=params,
                impurity_of=of,
            )
            best = max(
                float(score(weights[t], counts[t], 1.0, np.zeros((2, 0)), seen)) for t in range(n)
            )
            wanted = best < (n if each else 1.0)
            node = Node(
                weights=weight * total,
                counts=total,
                mass=mass,
                total_mass=2.0 * mass,
                impurity=mixed,
                depth=1,
                coverage=0.0,
                n_rows=int(total.sum()),
                n_objects=int(total.sum()),
            )
            tables = Tables(
                weights=weights[:n],
                counts=counts[:n],
                price=np.ones(n),
                extra=np.zeros((n, 2, 0)),
                test=np.arange(n),
                impurity_of=value,
                impurity_scale=getattr(impurity, "scale", "mean"),
            )
            if (said := bool(rule.is_leaf_among(iter([tables]), node))) != wanted:
                reported = " and ".join(
                    f"{_tuple(one[0])} | {_tuple(one[1])}" for one in weights[:n]
                )
                is_one = "a leaf", "no leaf"
                yield (
                    f"makes a node with the tests {reported} {is_one[not wanted]} by significance "
                    f"(its best is {best:.6g}) and {is_one[not said]} by is_leaf_among; "
                    "let both decide by one formula, or leave significance out"
                )


@lru_cache(maxsize=16)
def tables_of(n_classes: int) -> list[np.ndarray]:
    """int64[tests, 2, classes]: the tests of some nodes, each of which divides the same rows,
    small nodes first.
    """
    generator, found = np.random.default_rng(n_classes), []
    for most in (1, 2, 6, 40, 400):
        for _ in range(3):
            total = generator.integers(1, most + 1, n_classes)
            first = generator.integers(0, total + 1, (3, n_classes))
            # some row has the first outcome …
            first[:, 0] = np.maximum(first[:, 0], 1 - first[:, 1:].sum(axis=1))
            first[:, -1] -= first.sum(axis=1) == total.sum()  # … and some the other
            found.append(np.stack([first, total - first], axis=1))
    return found


# -- rows without a value --------------------------------------------------------------------------


def _faults_of_missing(missing: Missing, _: Ground, __: object) -> Iterator[str]:
    """Yield where its placements, or how it counts, are not those of the kernel that it says it
    is.
    """
    kernel = missing.kernel
    if not kernel or hasattr(missing, "surrogates"):  # no kernel grows by it
        return
    if kernel not in (BETTER_SIDE, *SHARED):
        yield (
            f"states kernel = {kernel!r}, which is none; say one of "
            f"{', '.join(map(repr, (BETTER_SIDE, *SHARED)))}, or ''"
        )
        return
    way = f"leave kernel out (growth then asks placements at each node), or do as {kernel!r} does"
    rows_in_tables = kernel not in ("splits", "stops")
    states = {
        "counted": rows_in_tables,
        "discounted": not rows_in_tables,
        "left_out": kernel == "left_out",
    }
    for field, wanted in states.items():
        if bool(getattr(missing, field, False)) != wanted:
            yield (
                f"states kernel = {kernel!r} and {field} = {not wanted}, where that kernel is by "
                f"{field} = {wanted}; {way}"
            )
    for known in (
        np.ones(2),
        np.array([1.0, 2.0]),
        np.array([3.0, 0.5]),
        np.array([1.0, 4.0, 4.0]),
        np.array([0.0, 2.0, 1.0, 5.0, 5.0]),
    ):
        heaviest, n = (int(known.argmax()),), len(known)
        places: tuple[int, ...] = {
            "splits": (MISSING_SPLITS,),
            "own_outcome": (n,),
            "stops": (MISSING_STOPS,),
        }.get(kernel, heaviest)
        places = (0, 1) if kernel == BETTER_SIDE and n == 2 else places
        if (found := tuple(missing.placements(known.copy()))) != places:
            yield (
                f"places rows without a value into {found} of a test with the known weights "
                f"{_tuple(known)}, and kernel = {kernel!r} into {places}; {way}"
            )


# -- complexities ----------------------------------------------------------------------------------


def _faults_of_complexity(complexity: Complexity, ground: Ground, _: object) -> Iterator[str]:
    """Yield where its closed form says something else than ``leaf`` and ``node``, at the run's
    weights and prices.
    """
    form = form_of(complexity)
    if form is None:
        return
    way = "let form() say the same as leaf() and node(…), or leave it out"
    if form.leaf != complexity.leaf():
        yield (
            f"has the form {form}, by which a leaf costs {form.leaf:g}, and leaf() says "
            f"{complexity.leaf():g}; {way}"
        )
    masses = sorted({2 * ground.weights[0], 3 * ground.weights[-1], 2.0, 7.0})
    prices = sorted({0.0, 1.0, 2.5, *ground.prices})
    branches = ([0.0], [1.0, 0.0], [2.0, 1.0], [1.0, 3.0, 2.0], [5.0] * 4)
    for children, mass, price in itertools.product(branches, masses, prices):
        below = np.array(children)
        reported = form.node(mass, price, below)
        own = float(complexity.node(mass, price, below.copy()))
        if not math.isclose(reported, own, rel_tol=CLOSE, abs_tol=CLOSE * mass):
            yield (
                f"answers F(mass={mass:g}, price={price:g}, {children}) = {reported:.9g} in closed "
                f"form and {own:.9g} by node; {way}"
            )


TRIALS: dict[str, Callable[..., Iterator[str]]] = {
    "impurity": _faults_of_impurity,
    "coverage": _faults_of_coverage,
    "stopping": _faults_of_stopping,
    "missing": _faults_of_missing,
    "complexity": _faults_of_complexity,
}
"""Kind → what is tried of its components alone."""


def _tuple(numbers: ArrayLike) -> str:
    return f"({', '.join(f'{n:.6g}' for n in np.asarray(numbers).ravel().tolist())})"
