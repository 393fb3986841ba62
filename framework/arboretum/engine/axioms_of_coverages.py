"""Which axioms does a coverage satisfy?  Tried on all small tables and on random ones, with the
smallest counterexample.

f_i depends on the set S of objects that are still together, and tests may divide S in any way: so
the axioms are looked at on sets. With A, B ⊆ S what two tests leave of S, f never falls where
f_i(A) ≥ f_i(S), and is submodular where f_i(A ∩ B) − f_i(A) ≤ f_i(B) − f_i(S), which is all that
submodularity asks (Schrijver 2003, Combinatorial Optimization, theorem 44.1).
"""

import itertools
from collections.abc import Iterator
from functools import cache

import numpy as np

from arboretum.engine.axioms import Finding
from arboretum.engine.check import lacks, tasks_of
from arboretum.engine.search.compiled_criterion import check_array
from arboretum.interfaces.component import Capability
from arboretum.interfaces.coverage import Coverage, PreparedCoverage
from arboretum.model.encoded import Encoded, RawFeature
from arboretum.model.table import Column, ColumnKind, Table, Target, Task

NEAR = 1e-9
"""Absolute: values lie between 0 and 1 and come from a few dozen additions and one division."""
EXHAUSTIVE, LARGE, RANDOM = (2, 3, 4, 5), 9, 40
"""Numbers of objects of which every labelling and every pair of subsets is tried; of the random
tables, and how many of them.
"""
RANGE = "from 0 to 1"
ROOT = "0 at the root"
ALONE = "1 when alone"
ORDER = "order-free"
MONOTONE = "never falls"
SUBMODULAR = "submodular"
SAYS = {
    RANGE: "0 ≤ f_i ≤ 1, and a number",
    ROOT: "f_i = 0 before a test is asked (or 1 of all: nothing to ask)",
    ALONE: "f_i = 1 of an object that is alone",
    ORDER: "f_i depends on the set of objects, not on their order",
    MONOTONE: "f_i never falls on the way down",
    SUBMODULAR: "a test gains no more after others were asked",
}


def examine_coverage(coverage: Coverage) -> dict[str, Finding]:
    """Name → what was found, of every axiom."""
    first: dict[str, str] = {}
    count = 0
    for objects, sets in tables(coverage):
        count += len(sets[0])
        first = find_counterexamples(coverage, objects, sets) | first
    return {
        name: Finding(
            name, says, name not in first, f"{count:,} pairs of sets", first.get(name, "")
        )
        for name, says in SAYS.items()
    }


def find_counterexamples(coverage: Coverage, objects: Encoded, sets: np.ndarray) -> dict[str, str]:
    """Axiom → the first counterexample to it, of the axioms that these sets break.

    sets : int64[3, cases], as of :func:`tables`.
    """
    f, moved = values(coverage, objects, np.unique([*sets, sets[1] & sets[2]]))
    found = {}
    for name, (excess, members) in broken_by(f, moved, *sets).items():
        excess = np.where(np.isnan(excess), -np.inf, excess)
        at = np.unravel_index(int(np.argmax(excess > NEAR)), excess.shape)
        if excess[at] > NEAR:
            found[name] = counterexample(
                objects, f, int(at[1]), [int(member[at[0]]) for member in members]
            )
    return found


def broken_by(
    f: np.ndarray, moved: np.ndarray, s: np.ndarray, a: np.ndarray, b: np.ndarray
) -> dict[str, tuple[np.ndarray, tuple[np.ndarray, ...]]]:
    """Name → (by how much it is broken, float64[cases, objects], NaN of objects that do not matter;
    the sets that say so).

    f : float64[sets, objects].
    moved : by how much f changed with the order.
    s, a, b : int64[cases], sets as bits; a, b ⊆ s.
    """
    n = f.shape[1]
    everyone, alone = np.array([(1 << n) - 1]), 1 << np.arange(n)
    inside = (s[:, None] >> np.arange(n)) & 1 == 1
    far = np.where(np.isnan(f[s]), np.inf, np.maximum(-f[s], f[s] - 1))
    return {
        RANGE: (np.where(inside, far, np.nan), (s,)),
        ROOT: (np.abs(f[everyone] - (np.abs(f[everyone] - 1) <= NEAR).all()), (everyone,)),
        ALONE: (np.abs(f[alone] - 1), (alone,)),
        ORDER: (moved[s], (s,)),
        MONOTONE: (f[s] - f[a], (s, a)),
        SUBMODULAR: (f[a & b] - f[a] - f[b] + f[s], (s, a, b, a & b)),
    }


def values(coverage: Coverage, objects: Encoded, sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(float64[2^n, n] f of the sets asked for, by the bits of the set and the object, NaN
    elsewhere; by how much it changes when they come in reverse, the same shape).

    sets : int64, each a set of objects as bits.
    """
    bound = coverage.prepare(objects) if hasattr(coverage, "prepare") else coverage
    f = np.full((1 << objects.n_objects, objects.n_objects), np.nan)
    moved = f.copy()
    for each in sets.tolist():
        rows = np.flatnonzero((each >> np.arange(objects.n_objects)) & 1)
        f[each, rows] = ask(bound, coverage.name, objects, rows)
        backwards = ask(bound, coverage.name, objects, rows[::-1])
        moved[each, rows] = np.abs(backwards[::-1] - f[each, rows])
    return f, moved


def ask(who: PreparedCoverage, name: str, objects: Encoded, rows: np.ndarray) -> np.ndarray:
    """Return float64[len(rows)]: what ``covered`` says of a set, of a coverage of that name; raises
    ContractError where these are no such numbers.
    """
    what = f"coverage {name!r}: covered"
    return check_array(who.covered(objects, rows), len(rows), what, "object")


def counterexample(objects: Encoded, f: np.ndarray, i: int, sets: list[int]) -> str:
    """ "classes 0 0 1, weights 1 1 1: f of object 0 is 0.5 among {0, 1, 2}, 0.3 among {0, 2}".

    f : float64[2^n, n], as of :func:`values`.   sets : as bits, in the order they are named.
    """
    label = objects.label if objects.label is not None else objects.y
    among = [
        f"{f[each, i]:.6g} among "
        f"{{{', '.join(str(j) for j in range(objects.n_objects) if each >> j & 1)}}}"
        for each in sets
    ]
    reported = [" ".join(f"{value:g}" for value in array) for array in (label, objects.weight)]
    return f"classes {reported[0]}, weights {reported[1]}: f of object {i} is {', '.join(among)}"


def tables(coverage: Coverage) -> Iterator[tuple[Encoded, np.ndarray]]:
    """(objects, int64[3, cases]: S, and A, B ⊆ S with an object in common), the smallest tables
    first.
    """
    task, generator = tasks_of(coverage)[0], np.random.default_rng(0)
    classes = (
        2
        if lacks(coverage, Capability.multiclass) and task is Task.classification
        else max(EXHAUSTIVE)
    )
    weigh = not lacks(coverage, Capability.weights)
    for n in EXHAUSTIVE:
        for label in itertools.product(range(classes), repeat=n):
            # classes named as they come
            if len(set(label)) > 1 and all(label[i] <= max((-1, *label[:i])) + 1 for i in range(n)):
                for weight in (np.ones(n), *(generator.integers(1, 6, (2, n)) if weigh else ())):
                    yield objects_of(np.array(label), weight, task), all_sets(n)
    for _ in range(RANDOM):
        drawn = np.concatenate([[0, 1], generator.integers(0, min(classes, 4), LARGE - 2)])
        s = generator.integers(1, 1 << LARGE, 60)
        a, b = s & generator.integers(0, 1 << LARGE, (2, 60))
        weight = generator.gamma(1.0, 1.0, LARGE) + 0.01 if weigh else np.ones(LARGE)
        yield (
            objects_of(np.unique(drawn, return_inverse=True)[1], weight, task),
            np.array([s, a, b])[:, (a & b) > 0],
        )


@cache
def all_sets(n: int) -> np.ndarray:
    """int64[3, cases]: every S and A, B ⊆ S with an object in common, as bits; small S first."""
    s, a, b = (each.ravel() for each in np.mgrid[1 : 1 << n, 1 : 1 << n, 1 : 1 << n])
    fits = ((a | b) & ~s == 0) & (a & b > 0)
    order = np.argsort(np.bitwise_count(s[fits]), kind="stable")
    return np.array([s, a, b])[:, fits][:, order]


def objects_of(label: np.ndarray, weight: np.ndarray, task: Task) -> Encoded:
    """One object per row, with a raw column that tells them apart and no fixed test.

    label : int[n], classes 0, 1, … without a gap, or, for regression, the numbers of the target.
    weight : [n], each above 0.
    """
    n = len(label)
    names = tuple(map(str, range(int(label.max()) + 1)))
    number = Task.regression is task
    target = (
        Target("y", task, values=label.astype(float))
        if number
        else Target("y", task, label.astype(np.int32), names)
    )
    table = Table(
        "small",
        (Column("number", ColumnKind.continuous, np.arange(float(n))),),
        target,
        weight.astype(float),
    )
    return Encoded(
        table,
        (),
        np.empty((n, 0), np.uint8),
        (RawFeature("number", 0),),
        np.arange(float(n))[:, None],
        label=target.codes,
        y=target.values,
        weight=weight.astype(float),
        count=np.ones(n, np.int64),
        object_of_row=np.arange(n),
    )
