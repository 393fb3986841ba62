"""Which of the rows that the split lets train teach, and what: a share of them alone (learning
curves), or one part the tests and the other what leaves say (honest trees).

Samples are nested: the rows of a smaller share are among those of a larger one.
"""

import attrs
import numpy as np

from arboretum.errors import ConfigError, DataError
from arboretum.interfaces.split import Division, Split
from arboretum.model.table import Table

# keep the draws apart from those of the splits, which begin with the same seed
_STREAM, _HONEST_STREAM = 0x7472, 0x686F


def draw_fraction(
    table: Table, division: Division, fraction: float, seed: int, split: Split | None = None
) -> Division:
    """The division with a share of its training rows; validation and test rows stay as they are.

    Each class keeps n · ``fraction`` of its n training rows, rounded half up, and at least one;
    numbers are drawn as one class.  Groups stay whole: each is dealt with the class that most of
    its rows have (the first of equals), and a class keeps as many groups as come nearest to its
    share; groups by which a class is first shown are always kept.

    fraction : > 0, ≤ 1; 1 leaves the division as it is.
    seed, split : the order is drawn by NumPy's PCG64 from the run's seed and the split's ``fold``,
        if it has one; with both the same, samples of all fractions are nested.
    Raises ConfigError for another fraction.
    """
    if not 0 < fraction <= 1:
        raise ConfigError(f"train_fraction must be > 0 and ≤ 1; got {fraction}")
    return division if fraction == 1 else _draw(table, division, fraction, seed, split, _STREAM)


def divide_honest(
    table: Table, division: Division, share: float, seed: int, split: Split | None = None
) -> tuple[Division, np.ndarray]:
    """The division whose training rows choose the tests, and the other training rows, which fill
    the leaves: int64, ascending.

    share : of the training rows that fill leaves, > 0, < 1; drawn as :func:`draw_fraction` draws,
        by class, in whole groups, from the run's seed and fold; a class of one row chooses tests.
    Raises DataError where no row would be left to fill leaves.
    """
    growing = _draw(table, division, 1 - share, seed, split, _HONEST_STREAM)
    others = np.setdiff1d(division.train, growing.train)
    if not len(others):
        raise DataError(
            f"honest={share:g} leaves none of the {len(division.train)} training rows to fill the "
            "leaves (each class, each group's first, keeps a row that chooses tests); raise it, or "
            "give more rows"
        )
    return growing, others


def note_honest(division: Division, others: np.ndarray) -> str:
    """A sentence on how many rows do what."""
    return (
        f"honest leaves: {len(division.train)} of the training rows chose the tests, the other "
        f"{len(others)} say what leaves predict: weights, labels and numbers of the tree are theirs"
    )


def _draw(
    table: Table, division: Division, fraction: float, seed: int, split: Split | None, stream: int
) -> Division:
    """Return the division with that share of its training rows.   stream : tells draws apart."""
    key = [abs(seed), stream, abs(int(getattr(split, "fold", 0)))]
    order = np.random.Generator(np.random.PCG64(np.random.SeedSequence(key))).permutation(
        division.train
    )
    if table.is_classification:
        strata = np.asarray(table.target.codes, np.int64)[order]
    else:
        strata = np.zeros(len(order), np.int64)
    if table.groups is None:
        kept = _first_rows(strata, fraction)
    else:
        kept = _first_groups(strata, np.asarray(table.groups)[order], fraction)
    return attrs.evolve(division, train=np.sort(order[kept]))


def note_fraction(division: Division, drawn: Division) -> str:
    """A sentence on how many of the rows teach."""
    return (
        f"{len(drawn.train)} of the {len(division.train)} rows that may train were drawn "
        "(train_fraction); the others take no part"
    )


def _share_of(n: np.ndarray, fraction: float) -> np.ndarray:
    """int64: shares of numbers of rows, rounded half up after taking off what binary fractions
    add, at least 1.
    """
    return np.maximum(1, np.floor(np.round(n * fraction, 9) + 0.5)).astype(np.int64)


def _first_rows(strata: np.ndarray, fraction: float) -> np.ndarray:
    """bool[n]: whether a row is kept, the first ones of each stratum.

    strata : int64[n], in the order in which rows are drawn.
    """
    by_stratum = np.argsort(strata, kind="stable")
    sizes = np.bincount(strata)
    start = np.cumsum(sizes) - sizes
    place = np.arange(len(strata)) - start[strata[by_stratum]]
    kept = np.zeros(len(strata), bool)
    kept[by_stratum] = place < _share_of(sizes, fraction)[strata[by_stratum]]
    return kept


def _first_groups(strata: np.ndarray, groups: np.ndarray, fraction: float) -> np.ndarray:
    """bool[n]: whether a row is kept, with its whole group; groups come in the order of their first
    rows.

    strata, groups : [n], in the order in which rows are drawn.
    """
    _, first, member = np.unique(groups, return_index=True, return_inverse=True)
    counts = np.zeros((len(first), int(strata.max()) + 1), np.int64)
    np.add.at(counts, (member, strata), 1)
    owner = counts.argmax(axis=1)
    shown = np.zeros(counts.shape[1], bool)
    early = np.zeros(len(first), bool)
    for group in np.argsort(first):
        early[group] = (counts[group, ~shown] > 0).any()
        shown |= counts[group] > 0
    kept = np.zeros(len(first), bool)
    for stratum in np.unique(owner):
        own = np.flatnonzero(owner == stratum)
        own = own[np.lexsort((first[own], ~early[own]))]  # those that show a class come first
        rows = np.concatenate([[0], np.cumsum(counts[own].sum(axis=1))])
        nearest = int(np.abs(rows - rows[-1] * fraction).argmin())
        kept[own[: max(nearest, int(early[own].sum()))]] = True
    return kept[member]
