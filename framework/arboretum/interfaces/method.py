"""Contract: the recipe a paper proposes."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import attrs

from arboretum.errors import BudgetError, CapabilityError, OutOfTime
from arboretum.interfaces.component import Component
from arboretum.interfaces.missing import BETTER_SIDE
from arboretum.interfaces.stopping import LeafRule, Limits, tightest
from arboretum.model.encoded import Encoded, Prices
from arboretum.model.record import Solution
from arboretum.model.table import Table

if TYPE_CHECKING:
    from arboretum.interfaces.complexity import Complexity
    from arboretum.interfaces.cost import Cost
    from arboretum.interfaces.coverage import Coverage
    from arboretum.interfaces.criterion import Criterion
    from arboretum.interfaces.dataset import Dataset
    from arboretum.interfaces.encoder import Encoder
    from arboretum.interfaces.impurity import Impurity
    from arboretum.interfaces.missing import Missing
    from arboretum.interfaces.objective import Objective
    from arboretum.interfaces.predicate import Predicate
    from arboretum.interfaces.pruner import Pruner
    from arboretum.interfaces.rows import Rows, RowStore
    from arboretum.interfaces.solver import Solver
    from arboretum.interfaces.split import Split
    from arboretum.interfaces.stopping import Stopping
    from arboretum.interfaces.tracker import Tracker
    from arboretum.interfaces.tuner import Tuner

STEPS_PER_SECOND, GRACE, MOMENT, FEW_BYTES = 3e8, 0.1, 0.3, 1_000_000
"""Simple steps of a compiled loop that a processor of these years does in a second; seconds of
preparation, and of the search for a first tree, and bytes of preparation, that no budget refuses.
"""


def _several(one: Predicate | tuple[Predicate, ...] | None) -> tuple[Predicate, ...]:
    return one if isinstance(one, tuple) else () if one is None else (one,)


@attrs.frozen
class Parts:
    """The components of one run; None (or empty) where a group is not used.

    class_weight : ``balanced``, or class → what a row of it counts; None: 1.
    train_fraction, honest : share of training rows that teach, and of these that only fill leaves.
    """

    method: Method | None
    dataset: Dataset | None = None
    split: Split | None = None
    encoder: Encoder | None = None
    predicate: tuple[Predicate, ...] = attrs.field(default=(), converter=_several)
    impurity: Impurity | None = None
    coverage: tuple[Coverage, ...] = ()
    criterion: Criterion | None = None
    stopping: tuple[Stopping, ...] = ()
    missing: Missing | None = None
    cost: Cost | None = None
    complexity: Complexity | None = None
    objective: Objective | None = None
    solver: Solver | None = None
    pruner: Pruner | None = None
    tuner: Tuner | None = None
    rows: Rows | None = None
    tracker: Tracker | None = None
    class_weight: str | Mapping[str, float] | None = None
    train_fraction: float = 1.0
    honest: float = 0.0

    @property
    def fractional_rows(self) -> bool:
        """Whether trees grow on fractions of rows: ``missing`` is no rule of the kernels."""
        return self.missing is not None and self.missing.kernel != BETTER_SIDE

    @property
    def by_shares(self) -> bool:
        """``fractional_rows`` by its old name, until the next minor version."""
        warnings.warn("by_shares is fractional_rows now", DeprecationWarning, stacklevel=2)
        return self.fractional_rows

    @property
    def beside_raw(self) -> bool:
        """Whether thresholds on raw columns compete beside the tests of the predicates."""
        return any(getattr(one, "beside_raw", False) for one in self.predicate)

    def limits(self) -> Limits:
        """Return the tightest combination of what the stopping rules limit."""
        return tightest(Limits, [rule.limits() for rule in self.stopping])

    def leaf_rule(self, *, counting_objects: bool = False, obeyed: Sequence[str] = ()) -> LeafRule:
        """Return the one leaf rule, of several, that greedy growth and exact solvers share.

        Raises CapabilityError, naming rule and limit, where trees are held to more than that (a
        depth, a number of leaves, a least size of branches or decrease, a pruner): a minimum over
        all trees would say nothing about them.  So, too, where a rule counts objects
        (``min_objects``), unless the caller says that it counts them (``counting_objects``).
        obeyed : names of limits that the caller takes care of.
        """
        for name, value in self.limits().given.items():
            if name not in obeyed:
                way = f"; known here: {', '.join(obeyed)}" if obeyed else ", or use stopping=[pure]"
                raise CapabilityError(
                    f"exact minima know no limit {name} (it is {value:g}); leave it out{way}"
                )
        if self.pruner is not None:
            raise CapabilityError(
                f"exact minima know no pruned trees; leave pruner {self.pruner.name} out"
            )
        foreign = [rule.name for rule in self.stopping if not hasattr(rule, "leaf_rule")]
        if foreign:
            raise CapabilityError(
                "exact minima need leaf rules that look at objects alone; stopping "
                f"{foreign[0]} has no leaf_rule()"
            )
        by_rule = (rule.leaf_rule() for rule in self.stopping if hasattr(rule, "leaf_rule"))
        rules: list[LeafRule] = list(by_rule)
        if not counting_objects and any(rule.min_objects for rule in rules):
            raise CapabilityError(
                "this solver knows no leaf rule that counts objects; count rows "
                "(stopping.standard.min_split) or leave it out"
            )
        return tightest(LeafRule, rules)


@attrs.frozen(eq=False)
class Problem:
    """What is to be solved: encoded training objects, their prices, the validation rows where there
    are any; with a ``store``, which holds the rows, the objects are a few of their kind.

    Its impurity is the one that the run's means for these objects (``for_objects``), its criterion
    the one for this problem (``for_problem``); predicates for coded columns are left out without
    any.
    """

    objects: Encoded
    prices: Prices
    parts: Parts
    valid: Table | None = None
    store: RowStore | None = None

    def __attrs_post_init__(self) -> None:
        """Put the impurity, criterion and predicates that these objects and limits mean into
        ``parts``.
        """
        parts = self.parts
        if (of_objects := getattr(parts.impurity, "for_objects", None)) is not None:
            parts = attrs.evolve(parts, impurity=of_objects(self.objects))
        if (of_problem := getattr(parts.criterion, "for_problem", None)) is not None:
            parts = attrs.evolve(parts, criterion=of_problem(self))
        if any(hasattr(one, "within") for one in parts.predicate):
            within = [getattr(one, "within", lambda _, one=one: one) for one in parts.predicate]
            parts = attrs.evolve(parts, predicate=tuple(of(parts.limits()) for of in within))
        raw = all(getattr(one, "beside_raw", False) for one in parts.predicate)
        if parts.beside_raw and not self.objects.features and raw:
            parts = attrs.evolve(parts, predicate=())
        object.__setattr__(self, "parts", parts)


@attrs.frozen(eq=False)
class Context:
    """How it may be solved.

    seed : of every random choice.
    deadline, memory_bytes : ``time.monotonic()`` value, and a budget; None: there is none.
    progress : called now and then, not per test, with (done, total or None, message).
    proven : called by a solver when it knows more, with (lower bound, value of its best tree; ∞
        before there is one), in the unit of ``Solution.value``; kept with it, after how long.
    after : called by a solver with what it has found, and with what it does next that may take long
        or fail (writing a proof) and returns the solution with notes on that; returned by ``solve``
        in place of both.  At once, unless a run keeps its tree first.
    """

    seed: int = 0
    deadline: float | None = None
    memory_bytes: int | None = None
    progress: Callable[[float, float | None, str], None] = lambda done, total, message: None
    proven: Callable[[float, float], None] = lambda lower_bound, value: None
    after: Callable[[Solution, Callable[[], Solution]], Solution] = lambda found, work: work()

    @property
    def steps_left(self) -> float:
        """How many simple steps of a compiled loop end by the deadline; those of a tenth of a
        second always do, so that small tables are prepared.
        """
        if self.deadline is None:
            return math.inf
        return (max(0.0, self.deadline - time.monotonic()) + GRACE) * STEPS_PER_SECOND

    @property
    def late(self) -> bool:
        """Whether the deadline is over."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    @property
    def latest(self) -> float | None:
        """Until when a first tree is sought, without which there is no answer: the deadline, or
        a moment from now where that is later.
        """
        return None if self.deadline is None else max(self.deadline, time.monotonic() + MOMENT)

    def check_time(self, steps: float) -> None:
        """Raise OutOfTime where work of so many simple steps would not end by the deadline: for
        what no clock ends, once it is begun.
        """
        if steps > self.steps_left:
            needed = steps / STEPS_PER_SECOND
            raise OutOfTime(
                "the budget of seconds ran out before the search, which takes some "
                f"{needed:.2g} seconds to prepare; raise budget.seconds"
            )

    def look(self, steps: float) -> None:
        """``check_time`` by its old name, until the next minor version."""
        warnings.warn("context.look is context.check_time now", DeprecationWarning, stacklevel=2)
        self.check_time(steps)

    def room(self, needed: float, what: str) -> None:
        """Raise BudgetError where arrays of so many bytes for ``what`` exceed the budget, before
        they are made; a megabyte is always there.
        """
        if self.memory_bytes is not None and needed > max(self.memory_bytes, FEW_BYTES):
            raise BudgetError(
                f"{what} take about {needed / 1e6:,.0f} MB, and the budget is "
                f"{self.memory_bytes / 1e6:,.0f} MB; "
                "raise budget.memory_mb, or ask fewer tests (encoder=bins)"
            )


class Method(Component, Protocol):
    """A recipe.  The open ones are ``greedy`` and ``exact``; presets select their parts.

    One that states ``asks_missing = True`` heeds ``parts.missing``, as :func:`arboretum.api.grow`
    does; with others a run that asks for more than ``missing=better_side`` is refused, and without
    ``asks_rows = True`` (it leaves objects to ``grow``) a row store.  ``by_node = False``: ``why``
    cannot replay its choices from a node's table. ``fuzzy = True``: its tests may split a row.
    """

    def fit(self, problem: Problem, context: Context) -> Solution:
        """Grow or solve.  Called once per run, inside the fit clock."""


class MethodWarmUp(Protocol):
    """Optional: compilation and loading of kernels, kept out of the fit clock."""

    def warm_up(self, problem: Problem, context: Context) -> None:
        """Make ready what ``fit`` on this problem will call.  Called once per run, before the
        fit clock and the budget start.
        """
