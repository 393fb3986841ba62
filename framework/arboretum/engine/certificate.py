"""How far is a tree from the minimum?  A certifying solver answers; everything it says is checked
here, slowly.

The comparison is with all trees on the same objects and tests with the same leaf rule: every node
that the rule calls a leaf is one, and every other node is divided where some test divides it.  It
means something only if the run's own tree is such a tree; where it is none, or such trees have no
minimum that the solver knows, the certificate is "not applicable" and a note says why.  What the
solver claims is compared with the tree: a bound above a tree's value fails the run.

Tolerance.  A value is a sum of at most one term per node, each term holding a mass, which is a sum
of at most n weights; two orders of summation differ by less than 4·(n + nodes)·ε relatively (ε =
2⁻⁵²).
"""

import json
import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import cast

import attrs
import numpy as np

from arboretum.engine import check, verify
from arboretum.engine.label_costs import LabelCosts
from arboretum.engine.mismatch import at_most, equal, fail
from arboretum.engine.promises import check_complexity
from arboretum.engine.search.compiled_criterion import component_name
from arboretum.errors import BudgetError, CapabilityError, ContractError, DataError, blaming
from arboretum.interfaces.complexity import Complexity, form_of, value_of
from arboretum.interfaces.method import Context, Parts, Problem
from arboretum.interfaces.monotony import Monotony
from arboretum.interfaces.objective import Objective, certified_by_value
from arboretum.interfaces.solver import Solver, SolverOptional
from arboretum.interfaces.stopping import LeafRule, Limits, Within
from arboretum.model.encoded import Encoded, Family
from arboretum.model.plain import Facts
from arboretum.model.record import Certificate, Certified, Solution, Status
from arboretum.model.tree import LEAF, Tree
from arboretum.model.walk import EPS, sum_subtrees

OF_VALUES = 1e-9  # relative: an objective adds up losses and prices in an order of its own
WAY_OUT = "raise budget.seconds or budget.memory_mb"
OPEN = (
    "certify: only a lower bound{} is proven within the budget, so the ratio is at most the "
    f"one shown; {WAY_OUT}"
)


def certify(
    certifier: Solver | None,
    complexities: Sequence[Complexity],
    tree: Tree,
    problem: Problem,
    solution: Solution,
    metrics: Mapping[str, float],
    context: Context,
) -> tuple[Certificate | None, tuple[str, ...]]:
    """The certificate of a verified tree, and what is to be said about it; None where it is not
    applicable.

    certifier : a solver with ``minima``, None if there is none.
    complexities : which to certify.
    solution : what the method returned with the tree; a solver's own bound counts for the run's own
        complexity.
    Raises VerificationError when a bound is above the value of a tree, or when the solver's tree is
    not what it says.
    """
    try:
        if certifier is None:
            raise CapabilityError(
                "no installed solver proves minima; install or enable a plugin that brings "
                "one (arboretum plugins lists them)"
            )
        if hasattr(certifier, "least") and (
            certified_by_value(problem.parts) or not hasattr(certifier, "minima")
        ):
            return _certify_value(certifier, tree, problem, solution, metrics, context)
        rule = _applicable_leaf_rule(certifier, tree, problem, solution)
        known = getattr(certifier, "certifies", [each.name for each in complexities])
        kept, notes = _usable_complexities(
            [each for each in complexities if each.name in known], tree, problem
        )
        kept, found, more = _ask_minima(certifier, kept, problem, solution, tree, context)
        notes += more
        if not kept:
            why = (
                "; ".join(notes)
                or "no complexity is installed; install or enable a plugin that brings one"
            )
            raise CapabilityError(why.removeprefix("certify: "))
    except (CapabilityError, DataError) as error:
        return None, (f"certify: not applicable: {error}",)
    except (BudgetError, MemoryError) as error:
        why = str(error) or "out of memory"
        return None, (f"certify: nothing is proven within the budget: {why}; {WAY_OUT}",)
    bounds = certified(kept, found, tree, problem, rule, metrics)
    # as the metrics are read, then by name
    order = [*(name for name in metrics if name in bounds), *bounds]
    bounds = {name: bounds[name] for name in dict.fromkeys(order)}
    return Certificate(_describe_certifier(certifier), attrs.asdict(rule), bounds), (
        *notes,
        *_remarks(bounds, found),
    )


def _describe_certifier(certifier: Solver) -> Facts:
    """A solver's name and fields, as the record keeps them, and on which tests its trees are
    where these are not the run's.
    """
    reported = {
        field.alias: getattr(certifier, field.name)
        for field in attrs.fields(type(certifier))
        if field.init
    }
    reported |= {"tests": certifier.tests} if hasattr(certifier, "tests") else {}
    return {
        "name": certifier.name,
        **json.loads(
            json.dumps(reported, default=lambda value: getattr(value, "name", str(value)))
        ),
    }


def _certify_value(
    certifier: Solver,
    tree: Tree,
    problem: Problem,
    solution: Solution,
    metrics: Mapping[str, float],
    context: Context,
) -> tuple[Certificate, tuple[str, ...]]:
    """The objective, or the training error, beside its least value over all trees within the run's
    limits.

    Raises CapabilityError where that is not defined, VerificationError where what the certifier
    says is not so.
    """
    parts, held = problem.parts, problem.parts.limits().certified
    _refuse_unknown(problem)
    if parts.objective is None and problem.objects.hides_rows:
        raise CapabilityError(
            "the training error is that of rows, and merged objects hide some; use "
            "encoder.coalesce=none"
        )
    objective, answer = _least_value(certifier, problem, solution, context)
    name, bound = "train_error" if parts.objective is None else "objective", answer.lower_bound
    value = float(objective.value(tree, problem))
    slack = max(OF_VALUES, _slack(problem.objects, tree))
    if value == math.inf:
        raise CapabilityError(
            f"objective {objective.name} is ∞ for the tree, so it is none of those that the "
            "minimum is taken over"
        )
    if parts.objective is None:
        equal("the tree's train_error", metrics.get(name, value), value, slack)
    at_most(f"the proven minimum of {name} is at most the tree's value", bound, value, slack)
    best = value
    if answer.tree is not None:
        equal(
            f"{name} of the solver's tree",
            answer.value,
            objective.value(answer.tree, problem),
            slack,
        )
        asked = attrs.evolve(problem, parts=attrs.evolve(problem.parts, objective=objective))
        own = hasattr(objective, "label_costs") or hasattr(objective, "costs")
        costs = LabelCosts(asked) if own else None
        verify.check_tree(answer.tree, problem.objects, problem.objects.table, costs)
        verify.check_prices(answer.tree, problem.objects, problem.prices)
        if complaint := beyond(answer.tree, held):
            fail(f"the solver's tree keeps within the limits: {complaint}")
        best = min(best, answer.value)
    low = best if answer.status is Status.optimal else min(max(bound, 0.0), best)
    notes = () if answer.status is Status.optimal else (OPEN.format(""),)
    if answer.status is Status.optimal and best == 0:
        notes = (f"certify: the minimum of {name} is 0, so there the ratio is undefined",)
    return Certificate(
        _describe_certifier(certifier), held.given, {name: Certified(value, low, best)}
    ), notes


def _least_value(
    certifier: Solver, problem: Problem, solution: Solution, context: Context
) -> tuple[Objective, Solution]:
    """What is minimised over all trees within the run's limits, and what is proven of it: by the
    run's own solution where its solver is the certifier, else by asking the certifier.
    """
    parts = problem.parts
    if parts.solver is not None and parts.objective and type(parts.solver) is type(certifier):
        return parts.objective, solution
    plain = Parts(
        method=certifier,  # type: ignore[arg-type]  # capabilities alone are asked of it
        encoder=parts.encoder,
        cost=parts.cost,
        objective=parts.objective,
        solver=certifier,
        stopping=(Within(parts.limits().certified),),
    )
    check.check_table(plain, problem.objects.table)
    objective, answer = cast(SolverOptional, certifier).least(
        attrs.evolve(problem, parts=plain), context
    )
    answer.unless_signalled()
    return objective, answer


def beyond(tree: Tree, limits: Limits) -> str:
    """Which limit a tree does not keep, as the end of a sentence; "" where it keeps all."""
    deepest, leaves = (
        math.inf if most is None else most for most in (limits.max_depth, limits.max_leaves)
    )
    if (
        tree.depth_of.max() > deepest
        or tree.n_leaves > leaves
        or tree.counts[1:].min(initial=limits.min_leaf) < limits.min_leaf
    ):
        return (
            f"it is beyond the limits (max_depth {deepest:g}, max_leaves {leaves:g}, min_leaf "
            f"{limits.min_leaf})"
        )
    if (tree.price_to > limits.most_paid(tree.depth_of)).any():
        return (
            f"it is beyond the limits: a path pays {tree.price_to.max():.10g}, and max_cost is "
            f"{limits.max_cost:.10g}"
        )
    return ""


def _refuse_unknown(problem: Problem) -> None:
    """Raise CapabilityError for a problem whose minima nobody knows."""
    if problem.objects.is_regression and problem.parts.objective is None:
        raise CapabilityError(
            "without an objective minima are known for classes only, but the target is a "
            "number; choose a data set with classes"
        )
    if predicate := problem.parts.predicate:
        raise CapabilityError(
            f"predicate {predicate[0].name} makes its tests at each node, and minima are known for "
            "fixed tests; leave it out"
        )
    if problem.objects.gap:
        raise CapabilityError(
            "encoder.gap leaves close values together at each node, and minima are known "
            "where all are told apart; leave it out"
        )


def _applicable_leaf_rule(
    certifier: Solver, tree: Tree, problem: Problem, solution: Solution
) -> LeafRule:
    """The leaf rule; raises CapabilityError where the tree is none of those that the minimum is
    taken over.

    solution : of the run; where its budget cut it short, that is what is said of a tree that breaks
        the rule.
    """
    parts, objects = problem.parts, problem.objects
    # a certifier that cannot count objects refuses by itself
    rule = parts.leaf_rule(counting_objects=True, obeyed=getattr(certifier, "limits", ()))
    _refuse_unknown(problem)
    if objects.raw_features:
        raise CapabilityError(
            f"column {objects.raw_features[0].column!r} is raw, and its thresholds are found at "
            "each node; choose fixed tests: encoder=midpoints (the same thresholds) or "
            "encoder=multiway (a branch per value or bin)"
        )
    stand_in = Parts(
        method=certifier,  # type: ignore[arg-type]  # capabilities alone are asked of it
        encoder=parts.encoder,
    )
    check.check_table(stand_in, objects.table)
    check.check_objects(stand_in, objects)
    if complaint := breaks_rule(tree, problem, rule):
        cut = "the budget cut the tree short; raise budget.seconds" if not solution.finished else ""
        raise CapabilityError(
            cut or f"{complaint}, so the tree is none of those that the minimum is taken over"
        )
    return rule


def _usable_complexities(
    complexities: Sequence[Complexity], tree: Tree, problem: Problem
) -> tuple[list[Complexity], tuple[str, ...]]:
    """The complexities that dynamic programming may minimise and that say one thing of a tree; a
    sentence about each other one.
    """
    kept, notes, slack = [], [], _slack(problem.objects, tree)
    for each in complexities:
        try:
            with blaming(f"complexity {each.name!r}"):
                check_complexity(each, problem)
                Monotony.on(each, problem.objects, problem.prices)
                value, form = value_of(each, tree), form_of(each)
            if not 0.0 <= value < math.inf:
                raise CapabilityError(
                    f"complexity {each.name} of the tree is {value:g}; it must be a finite "
                    "number ≥ 0"
                )
            if form is not None:
                of_form = SimpleNamespace(
                    leaf=lambda: form.leaf,  # noqa: B023 - asked at once
                    node=form.node,
                    per_object=getattr(each, "per_object", False),
                )
                closed = value_of(cast(Complexity, of_form), tree)
                if not abs(closed - value) <= slack * max(1.0, value):
                    raise CapabilityError(
                        f"complexity {each.name} of the tree is "
                        f"{value:g}, but {closed:g} by its form(); let both say the same"
                    )
        except (CapabilityError, ContractError) as error:
            notes.append(_note_left_out(each, error))
        else:
            kept.append(each)
    return kept, tuple(notes)


def _note_left_out(complexity: Complexity, error: Exception) -> str:
    """The note on a complexity that the certificate does not show, and why."""
    return (
        f"certify: complexity {complexity.name} is left out: "
        f"{str(error).replace(f'complexity {complexity.name}', 'it', 1)}"
    )


def _ask_minima(
    certifier: Solver,
    complexities: Sequence[Complexity],
    problem: Problem,
    solution: Solution,
    tree: Tree,
    context: Context,
) -> tuple[list[Complexity], list[Solution], tuple[str, ...]]:
    """(complexities with a solution, their solutions, a sentence about each other one).

    The run's own solver has answered for the run's own complexity.  One without a closed form that
    the solver refuses (it found a NaN, or a counterexample to monotony) leaves the others what they
    are: each of that sort is then asked for by itself.
    """
    minima = cast(SolverOptional, certifier).minima
    own = _own_complexity(complexities, problem, solution, tree)
    found, notes = {} if own is None else {own.name: solution}, []
    waiting = [[complexity for complexity in complexities if complexity is not own]]
    if waiting[0]:
        context.progress(0, None, f"the minimum of {len(waiting[0])} complexities")
    for group in waiting:
        try:
            answers = list(minima(problem, group, context)) if group else []
        except CapabilityError as error:
            closed = [each for each in group if form_of(each) is not None]
            if group == closed:
                raise
            if len(group) > 1:
                waiting += [closed, *([each] for each in group if each not in closed)]
            else:
                notes.append(_note_left_out(group[0], error))
            continue
        if len(answers) != len(group):
            fail(
                f"solver {certifier.name} was asked for {len(group)} minima and returned "
                f"{len(answers)}"
            )
        found |= {
            complexity.name: answer for complexity, answer in zip(group, answers, strict=True)
        }
    kept = [complexity for complexity in complexities if complexity.name in found]
    return kept, [found[complexity.name] for complexity in kept], tuple(notes)


def _own_complexity(
    complexities: Sequence[Complexity], problem: Problem, solution: Solution, tree: Tree
) -> Complexity | None:
    """The complexity that the run's solver has minimised; None where there is no solver, it proved
    no finite value, or it minimised something that is none of these.
    """
    parts = problem.parts
    if parts.solver is None or parts.complexity is None or not math.isfinite(solution.value):
        return None
    own = next((complexity for complexity in complexities if complexity == parts.complexity), None)
    # a solver may have minimised something else (an error with a price per leaf): its bound then is
    # of something else
    slack = _slack(problem.objects, tree) * max(1.0, abs(solution.value))
    return own if own is not None and abs(value_of(own, tree) - solution.value) <= slack else None


def certified(
    complexities: Sequence[Complexity],
    answers: Sequence[Solution],
    tree: Tree,
    problem: Problem,
    rule: LeafRule,
    metrics: Mapping[str, float],
) -> dict[str, Certified]:
    """Check what is claimed of each complexity, and put it beside the tree's value.  Raises
    VerificationError.

    answers : of the complexity in the same place; ``lower_bound`` NaN: nothing is proven.
    metrics : the run's, by name; what a complexity has there must be the tree's value.

    What is found for one says something of the others: every tree has a value of each.
    """
    trees, found = [tree, *(answer.tree for answer in answers if answer.tree is not None)], {}
    slack, promised = max(_slack(problem.objects, one) for one in trees), _promised_factors(problem)
    for complexity, answer in zip(complexities, answers, strict=True):
        name = complexity.name
        value = value_of(complexity, tree)
        optimal = answer.status is Status.optimal
        equal(f"the tree's {name}", metrics.get(name, value), value, slack)
        # every ψ is ≥ 0; NaN: nothing is proven
        bound = answer.lower_bound if answer.lower_bound > 0 else 0.0
        at_most(f"the proven minimum of {name} is at most the tree's value", bound, value, slack)
        best = value
        if answer.tree is not None:
            own = value_of(complexity, answer.tree)
            equal(f"{name} of the solver's tree", answer.value, own, slack)
            check_tree(answer.tree, problem, rule)
            best = min(best, own)
        elif optimal:
            best = min(best, answer.value)
        at_most(
            f"the proven minimum of {name} is at most the value of the solver's own tree",
            bound,
            best,
            slack,
        )
        for claimed in (answer.lower_bound, answer.value) if optimal else ():
            equal(f"the minimum of {name}, said to be optimal", claimed, best, slack)
        if factor := promised.get(name):
            at_most(
                f"the tree's {name} is at most {factor:g} times the minimum, as the "
                "criterion promises",
                value,
                factor * best,
                slack,
            )
        # equal up to rounding where optimal
        found[name] = Certified(value, best if optimal else min(bound, best), best, factor)
    for each in complexities:
        name, one = each.name, found[each.name]
        best = min(one.best_known, *(value_of(each, other) for other in trees))
        at_most(
            f"the proven minimum of {name} is at most the value of a tree found for another",
            one.lower_bound,
            best,
            slack,
        )
        # equal up to rounding
        low = best if one.lower_bound >= best * (1.0 - slack) else one.lower_bound
        found[name] = attrs.evolve(one, lower_bound=min(low, best), best_known=best)
    return found


def check_tree(tree: Tree, problem: Problem, rule: LeafRule) -> None:
    """Check a solver's tree as a run's tree is checked, and that it obeys the leaf rule.  Raises
    VerificationError.
    """
    verify.check_tree(tree, problem.objects, problem.objects.table)
    verify.check_prices(tree, problem.objects, problem.prices)
    if complaint := breaks_rule(tree, problem, rule):
        fail(f"the solver's tree does not obey the leaf rule: {complaint}")


def breaks_rule(tree: Tree, problem: Problem, rule: LeafRule) -> str:
    """Which node of a tree is no leaf, or no inner node, as rule and limits have it; "" where
    all are.
    """
    objects, limits, depth = problem.objects, problem.parts.limits(), tree.depth_of
    deepest, leaves = (
        math.inf if most is None else most for most in (limits.max_depth, limits.max_leaves)
    )
    if complaint := beyond(tree, limits):
        return complaint
    at = np.full(objects.n_objects, -1, np.int64)
    at[objects.object_of_row] = tree.apply(objects.table)
    impurity, total = problem.parts.impurity, float(tree.mass[0])
    there = sum_subtrees(np.bincount(at[at >= 0], minlength=tree.n_nodes), tree)
    for node in range(tree.n_nodes):
        weights, mass, count = tree.weights[node], float(tree.mass[node]), int(tree.counts[node])
        mixed = (
            float(impurity.value(weights))
            if rule.delta is not None and impurity is not None
            else math.nan
        )
        leaf = np.count_nonzero(weights) == 1 or rule.holds(
            mass, total, count, mixed, int(there[node])
        )
        if tree.test[node] != LEAF:
            if leaf:
                return f"node {node} is divided, but it is a leaf by the leaf rule"
        elif not leaf and depth[node] < deepest and limits.max_cost is None:
            # what is left may pay for none
            column = _splitting_column(
                objects, np.flatnonzero(at == node), limits.min_leaf, leaves - tree.n_leaves + 1
            )
            if column:
                return (
                    f"leaf {node} is no leaf by the leaf rule (column {column!r} divides its "
                    f"{count} rows)"
                )
    return ""


def _splitting_column(objects: Encoded, rows: np.ndarray, min_leaf: int, most: float) -> str:
    """The first column with a test that divides these objects, "" where there is none.

    rows : int64, places of objects (not of table rows).
    min_leaf, most : each of its branches has so many table rows at least, and there are at most
        ``most`` branches; ∞ where leaves are not limited.
    """
    for f, feature in enumerate(objects.features):
        codes = objects.codes[rows, f]
        kept = ~feature.missing(codes)
        rows_of_bin = np.bincount(codes[kept], objects.count[rows][kept], feature.n_bins)
        rows_of_bin = rows_of_bin[rows_of_bin > 0]
        if not feature.n_tests or len(rows_of_bin) < 2:
            continue
        first = rows_of_bin.cumsum()[:-1] if feature.family is Family.thresholds else rows_of_bin
        smallest = (
            rows_of_bin.min()
            if feature.family is Family.multiway
            else np.minimum(first, rows_of_bin.sum() - first).max()
        )
        if (
            smallest >= min_leaf
            and (len(rows_of_bin) if feature.family is Family.multiway else 2) <= most
        ):
            return feature.column
    return ""


def _promised_factors(problem: Problem) -> Mapping[str, float]:
    """Complexity → the factor that the run's criterion promises its trees to keep of the minimum;
    empty for a solver's tree.
    """
    criterion = problem.parts.criterion
    promises = getattr(criterion, "promises", None)
    if problem.parts.solver is not None or promises is None:
        return {}
    with blaming(f"criterion {component_name(criterion)!r}: promises"):
        return {name: float(factor) for name, factor in promises(problem).items()}


def _remarks(bounds: Mapping[str, Certified], answers: Sequence[Solution]) -> tuple[str, ...]:
    """What the solver says of what it has proven, and sentences about what has no ratio and what
    is only bounded.

    bounds : complexity → what is proven of it.   answers : what the solver returned.
    """
    notes = list(
        dict.fromkeys(
            f"certify: {note}"
            for answer in answers
            if answer.status is Status.optimal
            for note in answer.notes
        )
    )
    zero = [name for name, found in bounds.items() if found.ratio_is == "undefined"]
    if zero:
        notes.append(
            f"certify: the minimum of {', '.join(zero)} is 0 (one leaf is enough), so there "
            "the ratio is undefined"
        )
    open_ = [name for name, found in bounds.items() if not found.proven]
    if open_:
        notes.append(OPEN.format("" if len(open_) == len(bounds) else f" of {', '.join(open_)}"))
    return tuple(notes)


def _slack(objects: Encoded, tree: Tree) -> float:
    """Relative rounding of a value of the tree, as the module derives it."""
    return 4 * (objects.n_objects + tree.n_nodes) * EPS
