"""Before a growth: do the kernels answer what the same code answers as plain Python, and what the
NumPy form answers?

Compiled code does not check indices: a kernel that reads ``node.params[1]`` of a component with one
numeric field, or a class that is not there, answers garbage in silence.  Python does check.  So
every kernel first judges a few small tables of the run's own shape in its slow form, and its
compiled form has to answer the same.  About 0.1 ms for ten classes; a combination that was looked
at once in a process is not looked at again.  The same tables show a kernel that allocates memory
per test, or answers otherwise when it is asked again.
"""

import inspect
import linecache
import math
import os
import traceback
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import FunctionType
from typing import SupportsFloat, cast

import attrs
import numpy as np

from arboretum.engine.ground import Ground
from arboretum.engine.search.bounded import MOST_CLASSES
from arboretum.engine.search.compiled_criterion import (
    CompiledCriterion,
    component_name,
    numeric_fields,
)
from arboretum.engine.search.statistics import Statistics
from arboretum.engine.search.sums import check_sums
from arboretum.engine.search.vertices import check_vertices
from arboretum.errors import ContractError, sure
from arboretum.interfaces.criterion import Criterion, CriterionOptional
from arboretum.interfaces.impurity import Impurity, ImpurityOfValues
from arboretum.kernels.kernel_decorators import Kernel, KernelNode, mark_of
from arboretum.kernels.plain import active_interpreter
from arboretum.kernels.scoring import impurity_of, pick_column, score_tables
from arboretum.model.encoded import Encoded, Family, Node, Tables

TOLERANCE = 1e-6
"""Relative to the larger of 1 and the values.  The two forms differ in the last bit of each
logarithm or power, which a difference of nearly equal sums may magnify a million times; what lies
behind an array differs by more.
"""

# table entries looked at, but for the first table: a plain Python kernel needs some 0.2 µs for one
MOST_ENTRIES = 4096

KEPT = 256  # trials and plain functions that are kept in a process
REPEATED = 40
"""Times that a kernel must be seen taking memory.  Where another thread does as it likes, one
comparison in two goes wrong.
"""

ONE_FORMULA = "the two forms must be one formula"

# of the tests looked at, where all of a run cost 1, which would hide that it is forgotten
PRICE = 1.5
SHOWN_ROWS = 8  # objects whose own columns a criterion is asked for
# of the objects that a column kernel is tried on: 3, 12 and 35 % of the weight of their node
OWN_WEIGHTS = (0.25, 1.0, 3.0)


@attrs.frozen
class Trial:
    """What a kernel's answers depend on; equal trials need no second look.

    width, count_width : of weights and counts.
    extra : own columns.
    arities : numbers of outcomes to try.
    impurity_at : address of the run's impurity.
    weights, prices : of the run, as :class:`~arboretum.engine.ground.Ground` has them.
    """

    width: int
    count_width: int
    extra: int
    arities: tuple[int, ...]
    params: tuple[float, ...]
    impurity_at: int
    weights: tuple[float, ...] = (1.0,)
    prices: tuple[float, ...] = (1.0,)

    def make_tables(self) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
        """Yield (weights, counts, mass): per arity a mixed table and one of pure outcomes, of which
        the last of three or more is empty; the first once more with objects of the run's
        weights.
        """
        for arity in self.arities:
            outcome = np.arange(arity)[:, None]
            if self.width != self.count_width:  # moments of three numbers per outcome
                y = np.array([-1.5, 0.5, 2.0]) + 0.25 * (outcome % 5)
                yield (
                    np.stack([np.full(arity, 3.0), y.sum(axis=1), (y * y).sum(axis=1)], axis=1),
                    np.full((arity, 1), 3),
                    3.0 * arity,
                )
                continue
            classes = np.arange(self.width)
            mixed = 1 + (3 * outcome + classes) % 4
            pure = np.where(classes == outcome % self.width, 2, 0) * (
                (outcome < arity - 1) | (arity < 3)
            )
            for counts in (mixed, pure):
                yield counts.astype(np.float64), counts.astype(np.int64), float(counts.sum())
            for weight in (w for w in self.weights if w != 1.0 and arity == self.arities[0]):
                yield weight * mixed, mixed.astype(np.int64), float((weight * mixed).sum())

    def make_node(
        self, mass: float, impurity: float, impurity_of: Kernel | None
    ) -> tuple[KernelNode, np.ndarray]:
        """Return a node for the slow form, and float64[6], its scalars for the compiled one.

        impurity : of the node.
        impurity_of : the slow form of the run's impurity; None: nodes answer NaN.
        """
        slow = impurity_of or (lambda weights: math.nan)
        scalars = np.array([mass, 2.0 * mass, impurity, 1.0, 0.0, self.width])
        return KernelNode(
            mass=mass,
            total_mass=2.0 * mass,
            impurity=impurity,
            depth=1,
            coverage=0.0,
            params=np.array(self.params),
            impurity_of=slow,
        ), scalars


@np.errstate(all="ignore")
def check_kernels(
    scorer: CompiledCriterion, objects: Encoded, statistics: Statistics, ground: Ground = Ground()
) -> None:
    """Raise ContractError naming criterion or impurity, the line of its kernel and the fault; a bin
    that is not bounded by its vertices, or a table that scores otherwise than its sum.
    """
    criterion, impurity = scorer.criterion, scorer.impurity
    own = getattr(impurity, "kernel", None)
    slow_impurity = as_plain_python(own) if own and scorer.compiled_impurity else None
    trial = Trial(
        width=statistics.width,
        count_width=statistics.count_width,
        extra=_count_own_columns(scorer, objects, statistics),
        arities=_arities_to_check(objects, statistics.width),
        params=tuple(numeric_fields(criterion).tolist()),
        impurity_at=scorer.impurity_at,
        weights=ground.weights,
        prices=ground.prices,
    )
    if slow_impurity is not None:
        _check_impurity(slow_impurity, trial, component_name(impurity), sure(impurity).value)
    if prefix := getattr(impurity, "prefix", None):
        below = objects.y is None or bool((objects.y < 0).any())
        _check_prefix(
            cast(ImpurityOfValues, impurity),
            as_plain_python(prefix),
            f"impurity {component_name(impurity)!r}",
            ground.weights,
            below,
        )
    if scorer.column_at:
        what = f"criterion {component_name(criterion)!r}: column"
        _check_column(
            as_plain_python(cast(CriterionOptional, criterion).column),
            slow_impurity,
            scorer.column_at,
            trial,
            what,
            statistics.moments,
        )
    if scorer.batch:
        numpy_form = (
            mark_of(criterion.score) is None and not scorer.wants_gain and not scorer.prefix
        )
        hashable = _is_hashable(criterion) and _is_hashable(impurity)
        check = _check_criterion if hashable else _check_criterion.__wrapped__
        kernel = sure(scorer.kernel)
        check(criterion, impurity, slow_impurity, kernel, scorer.batch, trial, numpy_form)
    if (
        scorer.concave
        and not statistics.moments
        and statistics.width <= MOST_CLASSES
        and not trial.extra
    ):
        check_vertices(scorer, ground)
    if scorer.sum_form:
        check_sums(scorer, ground)


def _arities_to_check(objects: Encoded, width: int) -> tuple[int, ...]:
    """Return the numbers of outcomes that tests have, lowest first, as far as trying them is
    cheap.
    """
    found = {
        2 if f.family is not Family.multiway else f.n_bins for f in objects.features if f.n_tests
    }
    ordered = sorted(found | ({2} if objects.raw_features else set())) or [2]
    entries = np.cumsum(ordered) * width
    return tuple(
        a
        for a, size in zip(ordered, entries, strict=True)
        if size <= MOST_ENTRIES or a == ordered[0]
    )


def _count_own_columns(scorer: CompiledCriterion, objects: Encoded, statistics: Statistics) -> int:
    """Return how many columns of its own the criterion adds."""
    if scorer.prefix or scorer.column_at:
        return statistics.width if scorer.by_class else 1
    if not scorer.has_columns or not scorer.batch:
        return 0
    rows = np.arange(min(SHOWN_ROWS, objects.n_objects))
    weights, counts = statistics.totals(rows.astype(np.int32))
    impurity = scorer.node_impurity(weights, statistics, rows)
    node = Node(
        weights,
        counts,
        float(statistics.mass(weights)),
        float(statistics.weight.sum()),
        impurity,
        0,
    )
    return int(scorer.columns(node, objects, rows).shape[1])


@lru_cache(maxsize=KEPT)
def _check_impurity(
    kernel: Kernel, trial: Trial, name: str, value: Callable[[np.ndarray], np.ndarray]
) -> None:
    """Raise ContractError where the compiled impurity answers otherwise than its slow form or its
    NumPy form, or takes memory.

    kernel : the slow form.
    value : the NumPy form.
    """
    what = f"impurity {name!r}"
    for weights, _, _ in trial.make_tables():
        for row in (*weights, total := weights.sum(axis=0)):
            slow = _call_in_bounds(kernel, what, row, shapes=f"weights holds {len(row)}")
            fast = impurity_of(row, trial.impurity_at)
            _compare_answers(slow, fast, kernel, what)
    _compare_answers(
        _call_as_float(value, total), fast, kernel, what, "by value, in NumPy form", ONE_FORMULA
    )
    _check_memory(lambda: impurity_of(np.ones(trial.width), trial.impurity_at), None, kernel, what)


def _check_prefix(
    impurity: ImpurityOfValues, kernel: Kernel, what: str, weights: tuple[float, ...], below: bool
) -> None:
    """Raise ContractError where a prefix is not mass × impurity, as ``of_values`` has it; in plain
    Python alone, as the compiled form allocates.

    weights : of rows, to try.
    below : whether the run has numbers below 0, of which not every impurity is one.
    """
    y = np.array([1.5, -0.5, 0.0, -1.0] if below else [1.5, 0.5, 0.0, 1.0])
    weight = np.resize(np.array(weights), 4)
    out = np.full(4, np.nan)
    _call_in_bounds(lambda: kernel(y, weight, out) or 0.0, what)
    for n, found in enumerate(out.tolist(), 1):
        mass, wanted = weight[:n].sum(), _call_as_float(impurity.of_values, y[:n], weight[:n])
        _compare_answers(
            mass * wanted, found, kernel, what, "by of_values times the mass", ONE_FORMULA
        )


@lru_cache(maxsize=KEPT)
def _check_criterion(
    criterion: Criterion,
    impurity: Impurity | None,
    slow_impurity: Kernel | None,
    kernel: Kernel,
    batch: int,
    trial: Trial,
    numpy_form: bool,
) -> None:
    """Compare the compiled kernel with its slow form, and with ``score`` in NumPy where the kernel
    stands in for it; raise ContractError where they differ, or the kernel draws or takes memory.

    impurity, slow_impurity : the run's and its plain Python kernel; None where there is none.
    batch : address of the compiled criterion.
    numpy_form : whether ``score`` is compared, too.
    """
    what, kernel = f"criterion {component_name(criterion)!r}", as_plain_python(kernel)
    names = (
        [field.name for field in attrs.fields(type(criterion))]
        if attrs.has(type(criterion))
        else []
    )
    numeric = ", ".join(n for n in names if isinstance(getattr(criterion, n), bool | int | float))
    held = (
        f"node.params holds {len(trial.params)} ({numeric})" if numeric else "node.params is empty"
    )
    value, params = getattr(impurity, "value", None), np.array(trial.params)
    for weights, counts, mass in trial.make_tables():
        total, extra = weights.sum(axis=0), np.ones((len(weights), trial.extra))
        mixed = 0.5 if value is None else _call_as_float(slow_impurity or value, total)
        seen, scalars = trial.make_node(mass, mixed, slow_impurity)
        shapes = (
            f"{held}, weights is {list(weights.shape)}, counts {list(counts.shape)}, extra "
            f"{list(extra.shape)}"
        )
        for price in (PRICE,) if trial.prices == (1.0,) else trial.prices:
            slow = _call_in_bounds(kernel, what, weights, counts, price, extra, seen, shapes=shapes)
            one = (weights[None], counts[None], np.array([price]), extra[None])
            out = np.empty(1)
            again = np.empty(1)
            for answers in (out, again):
                score_tables(*one, batch, scalars, params, trial.impurity_at, answers)
            if out[0] != again[0] and (out[0] == out[0] or again[0] == again[0]):
                raise ContractError(
                    f"{what}: its kernel {_locate(kernel)} scores one table in two ways; a "
                    "kernel must not draw"
                )
            _compare_answers(slow, float(out[0]), kernel, what)
            if numpy_form:
                own = _score_in_numpy(
                    criterion, impurity, one, mass, math.nan if value is None else mixed
                )
                _compare_answers(
                    own, float(out[0]), kernel, what, "by score, in NumPy form", ONE_FORMULA
                )

    def score_copies(n: int) -> None:
        """Score the last table ``n`` times in one call."""
        parts = (np.repeat(each, n, axis=0) for each in one)
        score_tables(*parts, batch, scalars, params, trial.impurity_at, np.empty(n))

    _check_memory(lambda: score_copies(2), lambda: score_copies(1), kernel, what)


def _score_in_numpy(
    criterion: Criterion,
    impurity: Impurity | None,
    one: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    mass: float,
    mixed: float,
) -> float:
    """Return the score of one table, of which its node has half of all weight; NaN where ``score``
    fails: it will be said at the node where it happens, if it does.

    one : weights, counts, price and own columns, an array of one table each.
    mass, mixed : weight of the node, and its impurity, NaN without one.
    """
    weights, counts = one[0][0], one[1][0]
    tables = Tables(
        *one,
        np.zeros(1, np.int64),
        getattr(impurity, "value", None),
        getattr(impurity, "scale", "mean"),
        outcome_price=np.full((1, len(weights)), one[2])
        if getattr(criterion, "needs_outcome_prices", False)
        else None,
    )
    node = Node(weights.sum(axis=0), counts.sum(axis=0), mass, 2.0 * mass, mixed, 1)
    try:
        return float(criterion.score(tables, node)[0])
    except Exception:  # see above
        return math.nan


@lru_cache(maxsize=KEPT)
def _check_column(
    kernel: Kernel,
    impurity: Kernel | None,
    address: int,
    trial: Trial,
    what: str,
    moments: bool,
) -> None:
    """Compare the compiled column kernel with its slow form on a few objects of the first and the
    last class, in a node of some more.

    impurity : its slow form, None without one.   address : of the compiled column kernel.
    moments : whether the target is a number.
    """
    some, params = np.array(OWN_WEIGHTS), np.array(trial.params)
    seen, scalars = trial.make_node(
        2.0 * some.sum(), math.nan if impurity is None else 0.5, impurity
    )
    members = np.arange(len(some), dtype=np.int32)
    for label in (-1,) if moments else (0, trial.width - 1):
        labels = np.full(0 if moments else len(some), label, np.int32)
        picked, values = np.empty(len(some), np.int32), np.empty(len(some))

        def pick(n: int, given: tuple[np.ndarray, ...] = (labels, picked, values)) -> int:
            """Run the compiled form on the first ``n`` objects; what it picks is written into
            ``picked`` and ``values``.  Returns how many, below 0 where it refuses one.
            """
            label, picked, values = given
            found: int = pick_column(
                members[:n],
                some,
                label,
                address,
                scalars,
                params,
                trial.impurity_at,
                picked,
                values,
            )
            return found

        _check_memory(lambda: pick(len(some)), lambda: pick(1), kernel, what)
        n, fast = pick(len(some)), np.zeros(len(some))
        if n < 0:
            continue  # refused at the node where it happens, if it does
        fast[picked[:n]] = values[:n]
        for weight, found in zip(OWN_WEIGHTS, fast.tolist(), strict=True):
            _compare_answers(
                _call_in_bounds(kernel, what, weight, label, seen), found, kernel, what
            )


# -- the slow form ---------------------------------------------------------------------------------


@lru_cache(maxsize=KEPT)
def as_plain_python(function: Kernel) -> Kernel:
    """Return the plain Python function of a kernel, calling the plain Python functions of its
    compiled helpers.
    """
    plain = cast(FunctionType, getattr(function, "py_func", function))
    names = [n for n in plain.__code__.co_names if hasattr(plain.__globals__.get(n), "py_func")]
    if not names or plain.__closure__:
        return plain
    scope = dict(plain.__globals__)
    copy = FunctionType(plain.__code__, scope, plain.__name__, plain.__defaults__)
    scope.update(
        {name: copy if scope[name] is function else as_plain_python(scope[name]) for name in names}
    )
    return copy


def _call_as_float(kernel: Callable[..., SupportsFloat], *arguments: object) -> float:
    """Return the kernel's answer; NaN where Python refuses what compiled code computes: 1/0,
    log 0.
    """
    try:
        return float(kernel(*arguments))
    except (ArithmeticError, ValueError, TypeError):
        return math.nan


def _call_in_bounds(kernel: Kernel, what: str, *arguments: object, shapes: str = "") -> float:
    """Return the kernel's answer; raise ContractError where it reads beyond an array.

    shapes : of the arrays, for the message.
    """
    try:
        return _call_as_float(kernel, *arguments)
    except IndexError as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        line = linecache.getline(last.filename, last.lineno or 0).strip()
        where = f"{os.path.basename(last.filename)}:{last.lineno}"
        held = f"; {shapes}" if shapes else ""
        raise ContractError(
            f"{what}: its kernel reads beyond an array in {where}, {line!r}: {error}{held}"
        ) from None


def _compare_answers(
    slow: float,
    fast: float,
    kernel: Kernel,
    what: str,
    form: str = "as plain Python",
    way: str = "",
) -> None:
    """Raise ContractError where the compiled answer differs from the slow one.

    Where the slow form has no number there is nothing to compare with.

    form, way : how the slow one was computed, and what to do, for the message.
    """
    if (
        math.isnan(slow)
        or slow == fast
        or abs(slow - fast) <= TOLERANCE * max(1.0, abs(slow), abs(fast))
    ):
        return
    way = (
        way
        or "numba's integers have 64 bits and its variables keep one type: write the arithmetic "
        "in floats"
    )
    raise ContractError(
        f"{what}: its kernel {_locate(kernel)} answers {fast:.9g} compiled and {slow:.9g} "
        f"{form} for the same table; {way}"
    )


def _is_hashable(component: object) -> bool:
    """Return whether answers can be kept for a component: not with a list among its fields."""
    try:
        hash(component)
    except TypeError:
        return False
    return True


def _locate(kernel: Kernel) -> str:
    """ "(file.py:12)": where a plain Python kernel stands."""
    file = os.path.basename(inspect.getsourcefile(kernel) or "?")
    return f"({file}:{kernel.__code__.co_firstlineno})"


def _check_memory(
    work: Callable[[], object], usual: Callable[[], object] | None, kernel: Kernel, what: str
) -> None:
    """Raise ContractError when ``work`` takes memory more often than ``usual``, or, where that is
    None, more than once: for its array argument.

    Other threads may take memory meanwhile, in either call: so it has to be so every time, of many.
    A kernel that takes none is done at the first; counting stays switched on, as it costs nothing.
    """
    if (interpreter := active_interpreter()) is not None and interpreter.waits_with_numba():
        return  # nothing is compiled that could take any
    from numba.core.runtime import _nrt_python as memory  # type: ignore[attr-defined]  # compiled

    def count_memory(work: Callable[[], object]) -> int:
        before = memory.memsys_get_stats_alloc()
        work()
        return int(memory.memsys_get_stats_alloc() - before)

    memory.memsys_enable_stats()
    if all(
        count_memory(work) > (1 if usual is None else count_memory(usual)) for _ in range(REPEATED)
    ):
        raise ContractError(
            f"{what}: its kernel {_locate(kernel)} takes memory each time it is called, which a "
            "kernel must not; loop over numbers instead of np.zeros, lists and arithmetic of whole "
            "rows, or write it in NumPy form"
        )
