"""What every suite checks: the component is a frozen attrs class that says who it is; and how a
small tree is grown and verified.
"""

import copy
import inspect
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

import attrs
import numpy as np
import pytest

from arboretum.api import (
    EVENT,
    Capability,
    Context,
    Parts,
    Problem,
    Solution,
    Table,
    Task,
    Tree,
    grow,
)
from arboretum.engine.check import capabilities_of, tasks_of
from arboretum.engine.ground import Ground
from arboretum.engine.mismatch import Seal
from arboretum.engine.promises import broken_promise
from arboretum.engine.verify import verify
from arboretum.errors import ContractError, sure
from arboretum.interfaces.component import Component, summary_of
from arboretum.interfaces.impurity import Impurity
from arboretum.plugin.registry import Owner, check_component
from arboretum.testing.tables import TreeParts, problem_of


class ComponentSuite:
    """Base of all suites; subclasses state ``kind`` and authors override ``component``.

    ``component`` may be a fixture that returns an instance, or the instance itself as an attribute
    of the class.
    """

    kind: str = ""

    def __init_subclass__(cls) -> None:
        """Make a fixture of an instance that is given as ``component``."""
        super().__init_subclass__()
        given = cls.__dict__.get("component")
        if given is None or hasattr(given, "_fixture_function_marker"):  # pytest made it
            return
        if isinstance(given, type | property) or inspect.isroutine(given):
            raise ContractError(
                f"{cls.__name__}.component must be an instance (component = MyComponent()) or a "
                f"function under @pytest.fixture that returns one; got {given!r}"
            )
        setattr(cls, "component", pytest.fixture(lambda self: given))  # noqa: B010 - it is a method

    @pytest.fixture
    def component(self) -> Component:
        """The component under test.  Override: a fixture that returns an instance, or the
        instance.
        """
        pytest.fail(
            f"{type(self).__name__} must override the fixture 'component' and return an instance"
        )

    def test_it_states_what_it_is_and_what_every_field_means(self, component):
        assert component.kind == self.kind, f"this suite is for {self.kind}"
        # as when it is registered: fields and methods, too
        check_component(type(component), Owner("its author"))
        assert isinstance(component.paper, str)
        summary = summary_of(type(component).__doc__)
        assert len(summary) > 10 and not summary.startswith(f"{type(component).__name__}("), (
            "attrs wrote this docstring"
        )
        fields = attrs.fields(type(component))
        assert [
            f.name for f in fields if f.default is attrs.NOTHING or not f.metadata.get("doc")
        ] == [], "declare fields with arboretum.api.param"

    def test_it_is_frozen_and_equal_to_its_copies_also_in_another_process(self, component):
        for field in attrs.fields(type(component)):
            with pytest.raises(attrs.exceptions.FrozenInstanceError):
                setattr(component, field.name, getattr(component, field.name))
        assert copy.deepcopy(component) == attrs.evolve(component) == component
        # workers receive it pickled; a class that lives in a test function cannot be sent
        assert (
            "<locals>" in type(component).__qualname__
            or pickle.loads(pickle.dumps(component)) == component
        )


class SeededSuite(ComponentSuite):
    """Of a kind that may draw: the same for the same seed, another draw exactly where that is
    declared, NumPy's own state left alone.
    """

    def answers(self, component: Component, seed: int) -> object:
        """What the component answers with a seed, in a form that ``==`` and ``repr`` tell apart."""
        raise NotImplementedError

    def test_the_same_seed_gives_the_same_whatever_the_global_random_state(self, component):
        # the state that must not move
        state, before = pickle.dumps(np.random.get_state()), self.answers(component, 3)
        assert pickle.dumps(np.random.get_state()) == state
        np.random.seed(1)  # nor matter
        assert self.answers(component, 3) == before

    def test_the_seed_matters_exactly_where_that_is_declared(self, component):
        found = {repr(self.answers(component, seed)) for seed in range(4)}
        if claims(component, Capability.randomised):
            assert len(found) > 1, "declared randomised, but four seeds give one answer"
        else:
            assert len(found) == 1, "depends on the seed; declare the capability 'randomised'"


def skip_if(condition: object, reason: str) -> None:
    """Leave out a check that does not apply, and say why."""
    if condition:
        pytest.skip(reason)


def claims(component: Component, capability: Capability) -> bool:
    """Whether a component says it can; one that says nothing handles any number of classes,
    weights and multiway tests.
    """
    return capability in (
        capabilities_of(component)
        or (Capability.multiclass, Capability.weights, Capability.multiway)
    )


def kind_of_table(component: Component, task: Task | None = None) -> TreeParts:
    """The hardest small table that a component claims to handle.

    task : default the first it handles.
    """
    return TreeParts(
        multiclass=claims(component, Capability.multiclass),
        weighted=claims(component, Capability.weights),
        multiway=claims(component, Capability.multiway),
        task=task or tasks_of(component)[0],
        timed=EVENT in getattr(component, "reads", ()) or getattr(component, "above_zero", False),
    )


def assert_promises_hold(
    component: Component, impurity: Impurity | None = None, task: Task | None = None
) -> None:
    """No promise of the component is broken on small tables of two, three and five classes, of
    weights and prices that are 1 or are not.

    impurity : the run's, for a leaf rule.   task : None: the first that it handles.
    """
    task = task or tasks_of(component)[0]
    for n_classes in (
        (2, 3, 5)
        if claims(component, Capability.multiclass) and task is Task.classification
        else (2,)
    ):
        for weights in ((1.0,), (0.25, 3.0))[: 1 + claims(component, Capability.weights)]:
            assert (
                broken_promise(component, Ground(task, n_classes, weights, (1.0, 6.0)), impurity)
                == ""
            )


def copies_of(table: Table) -> tuple[Table, Table]:
    """The table with rows of weight 1 and 2, and with one or two rows of weight 1 in their
    place.
    """
    times = 1 + np.arange(table.n_rows) % 2
    once = attrs.evolve(table, weights=times.astype(np.float64))
    return once, attrs.evolve(once.take(np.repeat(np.arange(table.n_rows), times)), weights=None)


# at the clock, at most, once the time is over: a search that looks at all and stops needs a dozen
# on tables this small
LOOKS = 100


@contextmanager
def late() -> Iterator[Context]:
    """A context whose deadline is over; on the clock inside, each look takes a second, and there
    are at most ``LOOKS`` of them.
    """
    clock = mock.Mock(side_effect=map(float, range(1, 10 * LOOKS)))
    try:
        with mock.patch("time.monotonic", clock):
            yield Context(deadline=0.0)
    finally:
        assert clock.call_count <= LOOKS, (
            f"looked at the clock {clock.call_count} times after its time was over"
        )


def grow_and_verify(
    table: Table, parts: Parts, *, multiway: bool = True, order: str = "depth"
) -> Tree:
    """The tree that the search loop grows, after verification replayed the training rows through
    it.

    multiway : categories are asked all at once, else one by one.
    """
    problem = problem_of(table, parts, multiway=multiway)
    found = fit_and_verify(lambda given, by: grow(given, by, order=order), problem, Context())
    return sure(found.tree)


def fit_and_verify(
    fit: Callable[[Problem, Context], Solution], problem: Problem, context: Context
) -> Solution:
    """What a ``fit`` or ``solve`` returns, its tree verified, if it has one; it must leave the
    problem as it was.
    """
    seal = Seal().over(problem.objects.table, problem.objects, problem.prices)
    solution = fit(problem, context)
    seal.check("it")
    if solution.tree is not None:
        verify_solution(solution, problem)
    return solution


def verify_solution(solution: Solution, problem: Problem) -> None:
    """Raise VerificationError unless the tree's weights, counts, labels and prices are those of
    its training rows.
    """
    verify(sure(solution.tree), problem, problem.objects.table, {}, solution)
