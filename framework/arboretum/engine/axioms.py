"""Which axioms does an impurity satisfy?  Tried on all small sets of objects and on random ones,
with the smallest counterexample.

F is a function of how many objects of each class are together.  An axiom is a sum of values of F
that must not be above 0 (or must be 0), so one search serves all of them: all cases of few objects
by their number, then seeded random cases, which are shrunk. A counterexample refutes; finding none
is evidence, not proof.

For an impurity of numbers, a "class" is a value of the target (:data:`TARGETS`), and classes are
not interchangeable.
"""

import itertools
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import attrs
import numpy as np

from arboretum.engine.check import lacks, tasks_of
from arboretum.errors import ArboretumError
from arboretum.interfaces.component import Capability
from arboretum.interfaces.impurity import Impurity, impurity_values
from arboretum.model.real_numbers import real_numbers
from arboretum.model.table import Target, Task, frozen_array

Function = Callable[[np.ndarray], np.ndarray]
"""float64[sets, classes] → float64[sets]."""

EXHAUSTIVE = {2: 40, 3: 16, 4: 10}
"""Classes → all cases of at most so many objects are tried."""
RANDOM, RANDOM_CLASSES, LARGEST = 4000, (2, 3, 4, 6), 4
"""Random cases per number of classes, half of them with weights that are no whole numbers; sets
of up to 10⁴ objects per class.
"""
FEW_CLASSES, FEW_OBJECTS, FEW_WIDE = 3, 6, 64
"""What every run looks at: all cases of so many objects of so many classes, and so many of all
classes that the run has.
"""
START, DOUBLINGS = 8, 30
"""Objects, and how often their number is doubled, to see how F grows: up to 8.6e9."""
SLOWER = 20
"""An impurity of values is asked set by set: of the random cases it is asked one in so many."""
TARGETS = np.array([0.0, 1.0, 3.0, 7.0, 12.0, 20.0])
"""Values of the target that stand for classes; most of their differences differ."""
TOLERANCE = 1e-12
"""Relative to the terms that F is computed of, taken to be no larger than F at the uniform vector
of the same mass (1 − Σ p², N^l − Σ n^l). A vector has a handful of entries: sums and quotients of
them differ by a few times 2⁻⁵² ≈ 2.2e-16 of the largest term, and a power or a logarithm of them by
some tens of that.
"""

Terms = list[tuple[Any, np.ndarray]]  # factor, and float64[cases, classes] that F is taken of


@attrs.frozen
class Finding:
    """What was found of an axiom.

    holds : None where it does not apply.
    tried : how far.
    note : the counterexample, or what is known.
    """

    axiom: str
    says: str
    holds: bool | None
    tried: str = ""
    note: str = ""


@attrs.frozen
class Axiom:
    """A sentence about F: for all parts, the sum of ``terms`` is at most 0 (0, where it is
    ``two_sided``).

    terms : (scale, *parts) → Terms.
    sets : parts that are any set of objects.
    singles : parts of one object, which follow; of classes in rising order, all different where
        ``apart``.
    of_classes : says something of numbers no more than of names.
    summed : so may any sets be, of which steps of one object say all.
    """

    name: str
    says: str
    terms: Callable[..., Terms]
    sets: int = 1
    singles: int = 0
    apart: bool = False
    two_sided: bool = False
    of_classes: bool = False
    summed: bool = False

    def small_cases(self, k: int, most: int | None = None) -> np.ndarray:
        """float64[cases, parts, k]: all cases of at most EXHAUSTIVE[k] objects, or so many, by
        their number, then lexicographically.
        """
        most = EXHAUSTIVE[k] if most is None else most
        sets = vectors(self.sets * k, most - self.singles).reshape(-1, self.sets, k)
        singles = self.single_objects(k)
        return np.concatenate(
            [np.repeat(sets, len(singles), axis=0), np.tile(singles, (len(sets), 1, 1))], axis=1
        )

    def few_cases(self, k: int) -> np.ndarray:
        """Return float64[cases, parts, k], the cases that every run looks at, always the same.

        They are all cases of at most FEW_OBJECTS objects of FEW_CLASSES classes (where k is more:
        of the first classes, and of classes spread from the first to the last); where k is more,
        FEW_WIDE cases of 0 to 3 objects of every class, the first half of which grows from few
        classes to all; where ``summed``, FEW_WIDE cases of up to 1,000 objects a class.
        """
        narrow = self.small_cases(min(k, FEW_CLASSES), FEW_OBJECTS)
        sets_of_classes = {
            tuple(range(narrow.shape[2])),
            tuple(np.linspace(0, k - 1, narrow.shape[2]).astype(int).tolist()),
        }
        found = []
        for classes in sorted(sets_of_classes):
            found.append(np.zeros((*narrow.shape[:2], k)))
            found[-1][..., list(classes)] = narrow
        generator, shape = np.random.default_rng(k), (FEW_WIDE, self.sets + self.singles, k)
        wide = generator.integers(0, 4, shape).astype(np.float64)
        # of more and more classes
        wide[: FEW_WIDE // 2, 0] = np.tri(FEW_WIDE // 2, k, k - FEW_WIDE // 2)
        wide[:, self.sets :] = np.eye(k)[generator.integers(0, k, (FEW_WIDE, self.singles))]
        # their single object is of the next class, which the first part lacks
        wide[: FEW_WIDE // 2, self.sets :] = np.eye(k)[
            np.minimum(wide[: FEW_WIDE // 2, 0].sum(axis=1).astype(int), k - 1)
        ][:, None]
        large = np.rint(10.0 ** (3 * generator.random(shape))) * (generator.random(shape) < 0.6)
        large[:, 0] = generator.integers(0, 4, (FEW_WIDE, k))
        return np.concatenate(
            [
                *(found if k > FEW_CLASSES else [narrow]),
                *[wide] * (k > FEW_CLASSES),
                *[large] * self.summed,
            ]
        )

    def random_cases(self, k: int, power: int) -> np.ndarray:
        """float64[RANDOM, parts, k]: sets of all sizes up to 10^power objects per class, many of
        them without some class.
        """
        generator, shape = np.random.default_rng([k, power]), (RANDOM, self.sets, k)
        sets = (
            10.0 ** (power * generator.random((RANDOM, self.sets, 1)))
            * generator.random(shape)
            * (generator.random(shape) > 0.3)
        )
        sets[: RANDOM // 2] = np.rint(sets[: RANDOM // 2])
        return np.concatenate([sets, generator.choice(self.single_objects(k), RANDOM)], axis=1)

    def single_objects(self, k: int) -> np.ndarray:
        """float64[choices, singles, k]: the single objects."""
        choose = itertools.combinations if self.apart else itertools.combinations_with_replacement
        return np.array([np.eye(k)[list(classes)] for classes in choose(range(k), self.singles)])


@cache
def vectors(n: int, most: int) -> np.ndarray:
    """float64[vectors, n]: all vectors of n counts that sum to at most ``most``, by their sum,
    then lexicographically.
    """
    # between the counts and, after the last bar, what is left
    bars = np.array(list(itertools.combinations(range(most + n), n)))
    counts = np.diff(bars, axis=1, prepend=-1) - 1
    return frozen_array(counts[np.argsort(counts.sum(axis=1), kind="stable")], np.float64)


def _concave(scale: str, a: np.ndarray, b: np.ndarray) -> Terms:
    """F(a) + F(b) − F(a + b), each F times its mass where F is a mean; a, b: float64[cases, k]."""
    if scale == "total":
        return [(1, a), (1, b), (-1, a + b)]
    return [(a.sum(axis=1), a), (b.sum(axis=1), b), (-(a + b).sum(axis=1), a + b)]


def _hexagon(scale: str, v: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Terms:
    """Around v + a + b + c, one object moved from class to class: 0 for Σ g_ℓ(n_ℓ) and, of three
    classes at a given mass, for nothing else.

    v : float64[cases, k], any set.
    a, b, c : the same, one object each, of three different classes. ``scale`` is not read: all sets
        have the same mass.
    """
    return [
        (1, v + 2 * a + c),
        (1, v + 2 * b + a),
        (1, v + 2 * c + b),
        (-1, v + 2 * a + b),
        (-1, v + 2 * b + c),
        (-1, v + 2 * c + a),
    ]


def _square(
    scale: str, v: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray
) -> Terms:
    """What an object does in class a rather than b is the same, whether another one is in class
    c or d; arguments as of :func:`_hexagon`.
    """
    return [(1, v + a + c), (1, v + b + d), (-1, v + a + d), (-1, v + b + c)]


NON_NEGATIVE = "non-negative"
ZERO = "zero at purity"
UNIFORM = "maximal at uniform"
SYMMETRIC = "symmetric"
CONCAVE = "concave"
DECOMPOSABLE = "decomposable"
MONOTONE = "monotone"
SUPERMODULAR = "supermodular"
GROWTH = "log F = O(log n)"
SCALE_FREE = "scale-free"
AXIOMS = (
    Axiom(NON_NEGATIVE, "F(S) ≥ 0", lambda _, v: [(-1, v)]),
    Axiom(
        ZERO,
        "F = 0 of one class alone, and of nothing",
        lambda _, v, j: [(1, v.sum(axis=1, keepdims=True) * j)],
        singles=1,
        two_sided=True,
    ),
    Axiom(
        UNIFORM,
        "F is largest where all classes weigh the same",
        lambda _, v: [(1, v), (-1, uniform(v))],
        of_classes=True,
    ),
    Axiom(
        SYMMETRIC,
        "the order of the classes does not matter",
        lambda _, v: [(1, v), (-1, -np.sort(-v))],
        two_sided=True,
        of_classes=True,
    ),
    Axiom(
        CONCAVE,
        "no division raises F (a mean: on average by mass; a total: in sum)",
        _concave,
        sets=2,
    ),
    Axiom(
        DECOMPOSABLE,
        "F is, at a given mass, a sum of one function per class",
        _hexagon,
        singles=3,
        apart=True,
        two_sided=True,
        of_classes=True,
    ),
    Axiom(
        DECOMPOSABLE,
        "F is, at a given mass, a sum of one function per class",
        _square,
        singles=4,
        apart=True,
        two_sided=True,
        of_classes=True,
    ),
    Axiom(
        MONOTONE,
        "R ⊆ G implies F(R) ≤ F(G)",
        lambda _, v, j: [(1, v), (-1, v + j)],
        singles=1,
        summed=True,
    ),
    Axiom(
        SUPERMODULAR,
        "an object adds no less to a larger set: R ⊆ G implies F(R∪j) − F(R) ≤ F(G∪j) − F(G)",
        lambda _, v, i, j: [(1, v + i), (1, v + j), (-1, v), (-1, v + i + j)],
        singles=2,
        summed=True,
    ),
    Axiom(GROWTH, "F grows no faster than some power of the number of objects", lambda *_: []),
    Axiom(
        SCALE_FREE,
        "F depends on the shares alone",
        lambda _, v: [(1, 2 * v), (-1, v)],
        two_sided=True,
    ),
)
"""Where two have one name, both must hold.  Steps of one object say all of whole numbers:
differences over larger sets are sums of theirs.
"""
ADMISSIBLE = (NON_NEGATIVE, ZERO, MONOTONE, SUPERMODULAR, GROWTH)
"""Nan, Wang & Saligrama, Definition 2."""


def uniform(v: np.ndarray) -> np.ndarray:
    """The same mass, the same of each class."""
    return np.broadcast_to(v.mean(axis=-1, keepdims=True), v.shape)


def function_of(impurity: Impurity, task: Task) -> Function:
    """F: float64[cases, classes], how many objects there are of each → float64[cases].

    Of numbers a "class" is a value of TARGETS: F is then asked for the moments Σ w y^k, or, where
    it has ``of_values``, for the values themselves; an empty set has F = 0.  Raises ContractError
    where it answers no numbers.
    """
    if task is Task.classification:
        return lambda counts: impurity_values(impurity, np.array(counts, np.float64))
    if not hasattr(impurity, "of_values"):
        powers = TARGETS[:, None] ** np.arange(3)
        return lambda counts: impurity_values(impurity, counts @ powers[: counts.shape[-1]])

    def f(counts: np.ndarray) -> np.ndarray:  # one call per set: each set once
        """Ask for each different set once.   counts : float64[cases, values]."""
        once, place = np.unique(counts, axis=0, return_inverse=True)
        here = [(TARGETS[: len(each)][each > 0], each[each > 0]) for each in once]
        found = [impurity.of_values(*each) if len(each[0]) else 0.0 for each in here]
        return real_numbers(found, f"impurity {impurity.name}: of_values")[place.ravel()]

    return f


def examine(
    impurity: Impurity, names: Sequence[str] = (), task: Task | None = None
) -> dict[str, Finding]:
    """Name → what was found, of these axioms (default: all).

    task : default the first that the impurity handles.

    Raises ArboretumError where the impurity refuses small sets.
    """
    task = task or tasks_of(impurity)[0]
    # it stands for another per kind of target
    if len(tasks_of(impurity)) > 1 and hasattr(impurity, "for_objects"):
        impurity = impurity.for_objects(Target("", task))
    f, found = function_of(impurity, task), dict[str, Finding]()
    many = not lacks(impurity, Capability.multiclass) or task is Task.regression
    with np.errstate(all="ignore"):
        for axiom in [axiom for axiom in AXIOMS if not names or axiom.name in names]:
            if axiom.name in found and not found[axiom.name].holds:
                continue
            if axiom.of_classes and task is Task.regression:
                found[axiom.name] = Finding(
                    axiom.name, axiom.says, None, note="a number is no class"
                )
            else:
                found[axiom.name] = (
                    examine_growth(f, axiom)
                    if axiom.name == GROWTH
                    else try_axiom(f, axiom, impurity, many)
                )
    return found


def not_admissible(impurity: Impurity, n_classes: int | None = None) -> str:
    """Which axiom of an admissible function it breaks, with the smallest counterexample, as a
    phrase; "" where none was found.

    n_classes : few small sets of so many classes, two at least, are looked at, in a millisecond,
        and growth with the number of classes is not tried; None: all that are tried.
    """
    if n_classes is not None:
        return find_refutation(impurity, ADMISSIBLE, max(2, n_classes))
    broken = [
        finding for finding in examine(impurity, ADMISSIBLE).values() if finding.holds is False
    ]
    return f"not {broken[0].axiom}: {broken[0].note}" if broken else ""


def find_refutation(
    impurity: Impurity,
    names: Sequence[str],
    n_classes: int,
    task: Task = Task.classification,
    weights: Sequence[float] = (1.0,),
) -> str:
    """Which of these axioms few small sets of so many classes refute, as :func:`not_admissible`
    says it; "" where none.

    weights : of an object; the sets are looked at in each.
    names : of axioms; GROWTH is left out.
    n_classes : of the sets; for numbers FEW_CLASSES values are taken.
    """
    f, k = function_of(impurity, task), FEW_CLASSES if task is Task.regression else n_classes
    with np.errstate(all="ignore"):
        for axiom in (axiom for axiom in AXIOMS if axiom.name in names and axiom.name != GROWTH):
            cases = axiom.few_cases(k)
            for weight in dict.fromkeys((1.0, *weights)):
                wrong = weight * cases[broken(f, axiom, impurity.scale, weight * cases)]
                if len(wrong):
                    return (
                        f"not {axiom.name}: "
                        f"{counterexample(f, axiom, impurity.scale, min(wrong, key=np.sum))}"
                    )
    return ""


def try_axiom(f: Function, axiom: Axiom, impurity: Impurity, many: bool) -> Finding:
    """What is found of one axiom (not GROWTH): all small cases are tried, then, where none of them
    breaks it, random ones.  Reports the case of the smallest sum.

    many : whether F handles more than two classes; else two are looked at alone.
    """
    sizes = [k for k in EXHAUSTIVE if (many or k == 2) and len(axiom.single_objects(k))]
    if not sizes:
        return Finding(axiom.name, axiom.says, None, note="of two classes every F is")
    count, drawn, worst = 0, 0, []
    for k in sizes:
        cases = axiom.small_cases(k)
        count += len(cases)
        if len(where := np.flatnonzero(broken(f, axiom, impurity.scale, cases))):
            worst.append(cases[where[0]])
    power = largest_power(f, max(sizes))
    for k in [
        k
        for k in RANDOM_CLASSES
        if power and not worst and (many or k == 2) and len(axiom.single_objects(k))
    ]:
        cases = axiom.random_cases(k, power)[:: SLOWER if hasattr(impurity, "of_values") else 1]
        drawn += len(cases)
        wrong = cases[broken(f, axiom, impurity.scale, cases)]
        whole = wrong[(wrong == np.rint(wrong)).all(axis=(1, 2))]
        if len(wrong):
            case = min(whole if len(whole) else wrong, key=lambda each: (each.sum(), each.tolist()))
            worst.append(shrink_case(f, axiom, impurity.scale, case) if len(whole) else case)
    said, note = f"{count:,} + {drawn:,}", ""
    if axiom.name == SCALE_FREE and (found := degree(f, sizes[-1])):
        note = f"homogeneous of degree {found:g}; "
    if not worst:
        return Finding(axiom.name, axiom.says, True, said, note)
    return Finding(
        axiom.name,
        axiom.says,
        False,
        said,
        note + counterexample(f, axiom, impurity.scale, min(worst, key=np.sum)),
    )


def broken(f: Function, axiom: Axiom, scale: str, cases: np.ndarray) -> np.ndarray:
    """bool[cases]: where the sum is too large by more than rounding; also where F is NaN, but
    not where it overflows.

    scale : "mean" or "total", the impurity's.
    cases : float64[cases, parts, classes].
    """
    total = size = np.zeros(len(cases))
    for factor, v in axiom.terms(scale, *np.swapaxes(cases, 0, 1)):
        value = f(v)
        total = total + factor * value
        size = size + np.abs(factor) * np.maximum(np.abs(value), np.abs(f(uniform(v))))
    total = np.abs(total) if axiom.two_sided else total
    return ~(total <= TOLERANCE * size) & ~np.isinf(size)


def largest_power(f: Function, k: int) -> int:
    """The largest power of ten up to LARGEST of whose multitudes F is a finite number; 0 where
    there is none.
    """
    return next(
        (
            power
            for power in range(LARGEST, 0, -1)
            if is_finite_at(f, np.full((1, k), 10.0 ** (power + 1)))
        ),
        0,
    )


def is_finite_at(f: Function, vector: np.ndarray) -> bool:
    """Whether F is a number there.   vector : float64[1, classes]."""
    try:
        return bool(np.isfinite(f(vector)).all())
    except ArboretumError:  # it says so itself
        return False


def shrink_case(f: Function, axiom: Axiom, scale: str, case: np.ndarray) -> np.ndarray:
    """A counterexample of which no set can lose one object, or half of its objects of a class,
    and stay one; float64[parts, classes], as ``case``, of whole numbers.  Greedy: the first smaller
    one is taken each time.
    """
    while True:
        smaller = []
        for part, j in np.argwhere(case[: axiom.sets] > 0):
            for left in (case[part, j] // 2, case[part, j] - 1):
                smaller.append(case.copy())
                smaller[-1][part, j] = left
        still = broken(f, axiom, scale, np.array(smaller)) if smaller else np.zeros(1, bool)
        if not still.any():
            return case
        case = smaller[int(still.argmax())]


def counterexample(f: Function, axiom: Axiom, scale: str, case: np.ndarray) -> str:
    """The broken inequality: "F(1, 0) + F(0, 1) > F(0, 0) + F(1, 1): 0 + 0 > 0 + −1".

    case : float64[parts, classes].  Terms of a factor above 0 stand on the left.
    """
    sides: dict[bool, list[tuple[str, str]]] = {True: [], False: []}
    for factor, v in axiom.terms(scale, *case[:, None]):
        weight = float(np.ravel(factor)[0])
        times = "" if abs(weight) == 1 else f"{abs(weight):g}·"
        sides[weight > 0].append(
            (f"{times}F({', '.join(f'{n:.6g}' for n in v[0])})", f"{times}{float(f(v)[0]):.6g}")
        )
    left, right = (
        [" + ".join(words) for words in zip(*side, strict=True)] or ["0", "0"]
        for side in sides.values()
    )
    sign = "≠" if axiom.two_sided else ">"
    return f"{left[0]} {sign} {right[0]}: {left[1]} {sign} {right[1]}"


def degree(f: Function, k: int) -> float | None:
    """d where F(2w) = 2^d F(w) for all small w; None where there is no such d."""
    v = vectors(k, EXHAUSTIVE[k])
    once, twice = f(v), f(2 * v)
    powers = np.log2(twice[once > 0] / once[once > 0])
    return round(float(powers[0]), 6) if len(powers) and np.ptp(powers) <= 1e-9 else None


def examine_growth(f: Function, axiom: Axiom) -> Finding:
    """log F(S) = O(log n), by the exponents log2 F(2n)/F(n): bounded where F is at most a power of
    n, without bound where it outgrows them all.

    Looked at where two classes weigh 1:1 and 3:1, over doublings of n until F overflows or refuses.
    The exponent may rise at first (of n + n³ from 1 to 3); over the last quarter of the doublings
    by 1/2 at most.  Of n^log n it rises by 2 at each.
    """
    most, steepest = START * 2.0**DOUBLINGS, -np.inf
    for shape in ((0.5, 0.5), (0.75, 0.25)):
        seen = [np.array([shape]) * START * 2.0**i for i in range(DOUBLINGS + 1)]
        seen = list(itertools.takewhile(lambda v: is_finite_at(f, v), seen))
        values = [value for v in seen if (value := float(f(v)[0])) > 0]
        exponents = np.diff(np.log2(values))
        most = min(most, float(seen[-1].sum()) if seen else 0.0)
        if len(exponents) < 4 and len(seen) <= DOUBLINGS:
            return Finding(
                axiom.name,
                axiom.says,
                None,
                note=f"F overflows or refuses beyond {most:.2g} objects",
            )
        if len(exponents) and exponents[-1] - exponents[-1 - len(exponents) // 4] > 0.5:
            note = (
                f"F(2n)/F(n) rises from 2^{exponents[0]:.3g} to 2^{exponents[-1]:.3g} at n = "
                f"{most / 2:.3g}"
            )
            return Finding(axiom.name, axiom.says, False, f"n ≤ {most:.2g}", note)
        steepest = max(steepest, *exponents[-1:], -np.inf)
    return Finding(
        axiom.name,
        axiom.says,
        True,
        f"n ≤ {most:.2g}",
        f"like n^{steepest:.3g}" if np.isfinite(steepest) else "",
    )
