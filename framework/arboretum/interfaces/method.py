"""Contracts: the recipe a paper proposes, the values that it receives, and who cuts its trees back and tries values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import attrs

from arboretum.errors import CapabilityError
from arboretum.interfaces.component import Component
from arboretum.interfaces.node import BETTER_SIDE
from arboretum.interfaces.stopping import LeafRule, Limits, tightest
from arboretum.model.encoded import Encoded, Prices
from arboretum.model.record import Selection, Solution
from arboretum.model.table import Table
from arboretum.model.tree import Tree


@attrs.frozen
class Parts:
    """The components of one run; None (or empty) where a group is not used."""

    method: Any
    dataset: Any = None
    split: Any = None
    encoder: Any = None
    predicate: Any = None
    impurity: Any = None
    coverage: tuple[Any, ...] = ()
    criterion: Any = None
    stopping: tuple[Any, ...] = ()
    missing: Any = None
    cost: Any = None
    complexity: Any = None
    objective: Any = None
    solver: Any = None
    pruner: Any = None
    tuner: Any = None
    tracker: Any = None

    @property
    def by_shares(self) -> bool:
        """Whether ``missing`` is another rule than that of the growth kernels, so that trees grow by shares."""
        return self.missing is not None and self.missing.kernel != BETTER_SIDE

    def limits(self) -> Limits:
        """The tightest combination of what the stopping rules limit."""
        return tightest(Limits, [rule.limits() for rule in self.stopping])

    def leaf_rule(self, *, counting_objects: bool = False, obeyed: Sequence[str] = ()) -> LeafRule:
        """The leaf rule that greedy growth and exact solvers share, the several rules combined.

        Raises CapabilityError, naming rule and limit, where trees are held to more than that (a depth, a number of leaves, a
        least size of branches or decrease, a pruner): a minimum over all trees would say nothing about them.  So, too, where
        a rule counts objects (``min_objects``), unless the caller says that it counts them.   obeyed : names of limits that the
        caller takes care of.
        """
        limits = self.limits()
        for field in attrs.fields(Limits):
            if field.name not in obeyed and (value := getattr(limits, field.name)) != field.default:
                raise CapabilityError(f"exact minima know no limit {field.name} (it is {value:g}); leave it out, or use stopping=[pure]")
        if self.pruner is not None:
            raise CapabilityError(f"exact minima know no pruned trees; leave pruner {self.pruner.name} out")
        foreign = [rule.name for rule in self.stopping if not hasattr(rule, "leaf_rule")]
        if foreign:
            raise CapabilityError(f"exact minima need leaf rules that look at objects alone; stopping {foreign[0]} has no leaf_rule()")
        rules = [rule.leaf_rule() for rule in self.stopping]
        if not counting_objects and any(rule.min_objects for rule in rules):
            msg = "this solver knows no leaf rule that counts objects; count rows (stopping.standard.min_split) or leave it out"
            raise CapabilityError(msg)
        return tightest(LeafRule, rules)


@attrs.frozen(eq=False)
class Problem:
    """What is to be solved: encoded training objects, their prices, the validation rows where there are any."""

    objects: Encoded
    prices: Prices
    parts: Parts
    valid: Table | None = None


@attrs.frozen(eq=False)
class Context:
    """How it may be solved.

    seed : of every random choice.   deadline : ``time.monotonic()`` value, or None.   memory_bytes : budget, or None.
    progress : called now and then with (done, total or None, message); must not be called per candidate test.
    proven : called by a solver when it knows more, with (lower bound, value of its best tree; ∞ before there is one), both in
        the unit of ``Solution.value``.  What it hears is kept with the solution, after how many seconds.
    """

    seed: int = 0
    deadline: float | None = None
    memory_bytes: int | None = None
    progress: Callable[[float, float | None, str], None] = lambda done, total, message: None
    proven: Callable[[float, float], None] = lambda lower_bound, value: None


class Method(Component, Protocol):
    """A recipe.  The open ones are ``greedy`` and ``exact``; presets select their parts.

    One that states ``asks_missing = True`` heeds ``parts.missing``, as :func:`arboretum.api.grow` does; with others a run that asks
    for more than ``missing=better_side`` is refused.
    """

    def fit(self, problem: Problem, context: Context) -> Solution:
        """Grow or solve.  Called once per run, inside the fit clock."""


class MethodWarmUp(Protocol):
    """Optional: compilation and loading of kernels, kept out of the fit clock."""

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Make ready what ``fit`` on this problem will call.  Called once per run, before the fit clock and the budget start."""


class Pruner(Component, Protocol):
    """A rule that replaces subtrees by leaves (or by a branch).  :meth:`Tree.cut` does the work.

    needs_validation : a run without validation rows is refused; a class attribute, or a property that looks at the fields
        (a pruner that chooses its strength needs them, one that is told it does not).
    reads_impurity : optional, default False: it reads ``tree.impurity``, so a run without impurity, or with one that grows
        with the mass (``scale = "total"``), is refused.
    """

    needs_validation: bool

    def prune(self, tree: Tree, train: Table, valid: Table | None) -> Tree:
        """Return the pruned tree, the given one itself where nothing is cut.  Called once per run, after growth.

        train : the training rows.   valid : the validation rows, None without any.   It asks no test that ``tree`` does not.
        """


class PrunerChooses(Protocol):
    """Optional: a pruner that picks values for those of its fields that are None, so that the record can tell which."""

    def choose(self, tree: Tree, valid: Table) -> Selection:
        """The values for this tree; keys are "pruner.FIELD".  Called once per run, if ``needs_validation``; never for nothing.

        With these values in its fields the pruner needs no validation rows, and ``prune`` does the same as without.
        """


class Tuner(Component, Protocol):
    """A rule that tries values of one field and keeps one.  It sees trees before they are pruned.

    Optional attributes, for those who check it: ``measure``, by which the kept tree is the best tried on the validation rows
    ("roc_auc", "accuracy" or "r2"; default: what :class:`~arboretum.measure.ValidationScore` takes for the rows), and ``slack``,
    by how much it may miss that.
    """

    def tune(
        self, fit: Callable[[dict[str, Any]], Solution], valid: Table
    ) -> tuple[dict[str, Any] | Selection, Solution]:
        """Return the kept overrides, or a selection that also tells what was tried, and their solution.

        fit : grows with some fields replaced; keys as on the command line ("criterion.lam").  A solution without a tree means
        that the budget ran out.   valid : rows to judge on, never empty: a run without validation rows is refused.
        """
