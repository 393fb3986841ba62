"""What validation rows decide: first the tuner, over trees that are not pruned, then the pruner,
on the tree it kept.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import attrs
import numpy as np

from arboretum.engine.check import returned
from arboretum.engine.label_costs import has_own_labels, labelled
from arboretum.engine.progress import Curve, about
from arboretum.engine.promises import check_promises
from arboretum.errors import BudgetError, ConfigError, sure, unknown
from arboretum.interfaces.component import MANY
from arboretum.interfaces.method import Context, Parts, Problem
from arboretum.interfaces.objective import ObjectiveOptional
from arboretum.model.plain import Facts, Plain
from arboretum.model.record import Selection, Solution
from arboretum.model.tree import Tree

TUNABLE = (
    "predicate",
    "impurity",
    "coverage",
    "criterion",
    "stopping",
    "complexity",
    "objective",
    "solver",
    "method",
)
"""Groups whose fields a tuner may change: those that are asked while a tree grows.  The rest has
done its work by then, or comes later (the pruner chooses for itself).
"""


@attrs.frozen(eq=False)
class Grown:
    """A solution with the problem it solves: the parts with the values that were kept.

    selections : "tuner", "pruner" → what they chose; without a key where they did not.
    """

    solution: Solution
    problem: Problem
    selections: Mapping[str, Selection] = attrs.field(factory=dict)


def grow_or_tune(problem: Problem, context: Context) -> Grown:
    """Let the method fit, once, or for each value that the tuner tries (on parts of the objects,
    too, where it judges by such); a note of the solution says what it keeps.

    A tuned solution counts as finished only where all that were tried are: with more time another
    might have been kept.
    Raises ConfigError for a field that no part has, or that cannot be tuned, BudgetError where the
    budget ends on parts of the objects.
    """
    tuner = problem.parts.tuner
    if tuner is None:
        return Grown(_fit_once(problem, context), problem)
    finished: list[bool] = []

    def attempt(values: Facts, problem: Problem = problem) -> Solution:
        """Fit with these fields; an interrupted one ends the tuning, as the signal that it was."""
        changed = with_fields(problem.parts, values)
        listener = about(
            context.progress,
            "tuning " + ", ".join(f"{key}={value}" for key, value in values.items()),
        )
        solution = _fit_once(
            attrs.evolve(problem, parts=changed), attrs.evolve(context, progress=listener)
        )
        if solution.interrupted:
            raise solution.interrupted
        finished.append(solution.finished)
        return solution

    def grow(values: Facts, who: np.ndarray) -> Tree:
        """A tree of these objects alone (int64), with these fields, without validation rows."""
        some = attrs.evolve(problem, objects=problem.objects.take(who), valid=None)
        return grown_tree(attempt(values, some), tuner.name)

    # whether there are rows to choose by was asked with the other capabilities
    if hasattr(tuner, "tune_by_growing") and not getattr(tuner, "needs_validation", True):
        tuned = tuner.tune_by_growing(attempt, grow, problem.objects, context.seed)
        kept, solution = returned(tuned, tuple, tuner, "tune_by_growing")
    else:
        tuned = tuner.tune(attempt, problem.valid)  # type: ignore[arg-type]
        kept, solution = returned(tuned, tuple, tuner, "tune")
    chosen = Selection.of(kept)
    notes = (*solution.notes, *chosen.notes, chosen.sentence(f"tuner {tuner.name}"))
    solution = attrs.evolve(solution, notes=notes, finished=all(finished))
    return Grown(
        solution,
        attrs.evolve(problem, parts=with_fields(problem.parts, chosen.kept)),
        {"tuner": chosen},
    )


def _fit_once(problem: Problem, context: Context) -> Solution:
    """The method's solution, once the promises of the parts were tried; a solver that forgets it
    is named rather than the method that asked.
    """
    check_promises(problem)
    method, solver = sure(problem.parts.method), problem.parts.solver
    if solver is None:
        found: Solution = returned(method.fit(problem, context), Solution, method, "fit")
        if found.tree is None or not has_own_labels(problem.parts):
            return found
        return attrs.evolve(found, tree=labelled(found.tree, problem))
    curve = Curve(context)
    return curve.of(
        returned(method.fit(problem, curve.context()), Solution, solver, "solve"), solver.name
    )


def grown_tree(found: Solution, who: str) -> Tree:
    """The tree of a solution on parts of the rows; raises what interrupted it, and BudgetError
    where there is none.

    who : asked for it.
    """
    if found.tree is None or found.interrupted:
        raise found.interrupted or BudgetError(
            f"the budget ran out while {who} grew trees on parts of the rows; raise budget.seconds"
        )
    return found.tree


def prune(grown: Grown, context: Context) -> Grown:
    """Cut the tree by the run's pruner, if there is one; notes of the solution say what it chose
    and how much it cut.

    Raises BudgetError where the budget ends while the pruner grows trees on parts of the rows, and
    what interrupts them.
    """
    solution, problem, pruner = grown.solution, grown.problem, grown.problem.parts.pruner
    if pruner is None or solution.tree is None:
        return grown
    context.progress(0, None, f"pruning with {pruner.name}")
    selections = dict(grown.selections)
    notes = list(solution.notes)
    tree = solution.tree
    before = pruner
    grown_all = [solution.finished]

    def grow(who: np.ndarray) -> Tree:
        """A tree of these objects alone (int64), not pruned, without validation rows."""
        found = _fit_once(
            attrs.evolve(problem, objects=problem.objects.take(who), valid=None), context
        )
        grown_all.append(found.finished)
        return grown_tree(found, before.name)

    chosen, reported = None, _costs_read(problem, tree)
    if pruner.needs_validation and hasattr(pruner, "choose"):
        chosen = returned(
            pruner.choose(tree, problem.valid, **reported), Selection, pruner, "choose"
        )
    elif hasattr(pruner, "choose_by_growing"):
        chosen = pruner.choose_by_growing(tree, problem.objects, grow, context.seed, **reported)
    if chosen is not None:
        selections["pruner"] = chosen
        problem = attrs.evolve(problem, parts=with_fields(problem.parts, chosen.kept, ("pruner",)))
        pruner = problem.parts.pruner or pruner
        notes += [
            *(note for note in chosen.notes if note not in notes),
            chosen.sentence(f"pruner {before.name}"),
        ]
    pruned = returned(
        pruner.prune(tree, problem.objects.table, problem.valid, **reported), Tree, pruner, "prune"
    )
    # a branch was raised: its nodes hold other rows
    if np.isnan(pruned.impurity).any() and not np.isnan(tree.impurity).any():
        impurity = sure(problem.parts.impurity)
        pruned = attrs.evolve(pruned, impurity=np.asarray(impurity.value(pruned.weights)))
    notes.append(f"pruner {pruner.name} leaves {pruned.n_leaves} of {tree.n_leaves} leaves")
    notes += (
        pruner.notes(pruned, problem.objects.table, problem.valid)
        if hasattr(pruner, "notes")
        else ()
    )
    return Grown(
        attrs.evolve(solution, tree=pruned, notes=tuple(notes), finished=all(grown_all)),
        problem,
        selections,
    )


def _costs_read(problem: Problem, tree: Tree) -> dict[str, np.ndarray]:
    """``costs``, float64[classes, labels], what a leaf of each class costs by each label; {} where
    the pruner does not read them, or the objective has none of its own.
    """
    objective = problem.parts.objective
    if not getattr(problem.parts.pruner, "reads_costs", False) or not hasattr(objective, "weigh"):
        return {}
    costs = cast(ObjectiveOptional, objective).label_costs(np.eye(len(tree.classes)), problem)
    return {"costs": costs}


def with_fields(parts: Parts, values: Plain, groups: tuple[str, ...] = TUNABLE) -> Parts:
    """Replace fields of components: "criterion.lam" → 10, "stopping.mass.theta" → 0.01.

    groups : whose fields may be replaced.

    Raises ConfigError naming the field, with the closest one the run has.
    """
    for key, value in values.items():
        found = {
            name: (group, one, field.alias) for name, group, one, field in fields_in(parts, groups)
        }
        if key not in found:
            raise _untunable(key, list(found), groups)
        group, component, field = found[key]
        try:
            changed = attrs.evolve(component, **{field: value})
        except (ValueError, TypeError) as error:
            raise ConfigError(
                f"cannot tune {key}={value!r}: {' '.join(str(error).split())}"
            ) from error
        members = getattr(parts, group)
        new: Any = (
            tuple(changed if one is component else one for one in members)
            if isinstance(members, tuple)
            else changed
        )
        parts = attrs.evolve(parts, **{group: new})
    return parts


def fields_in(parts: Parts, groups: Iterable[str]) -> Iterator[tuple[str, str, Any, Any]]:
    """(name as on the command line, group, component, field) of all that can be set."""
    for group in groups:
        part = getattr(parts, group)
        for one in part if isinstance(part, tuple) else () if part is None else (part,):
            for field in attrs.fields(type(one)) if attrs.has(type(one)) else ():
                if field.init:
                    yield (
                        f"{group}.{one.name}.{field.alias}"
                        if group in MANY
                        else f"{group}.{field.alias}",
                        group,
                        one,
                        field,
                    )


def _untunable(key: str, known: list[str], groups: tuple[str, ...]) -> ConfigError:
    """Why a field cannot be tuned: it does not exist, or is used up before trees grow.

    key : as it was asked for.   known : keys that can be tuned.   groups : whose fields can.
    """
    group = key.partition(".")[0]
    if group in {f.name for f in attrs.fields(Parts)} - set(groups):
        why = (
            "pruners choose for themselves, after tuning"
            if group == "pruner"
            else "it is used before any tree grows"
        )
        return ConfigError(
            f"cannot tune {key!r}: {why}; tune a field of {', '.join(groups)}, or sweep over "
            f"{key} with -m"
        )
    return ConfigError("cannot tune " + unknown("field", key, known))
