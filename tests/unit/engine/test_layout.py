"""A tree laid out level by level is the tree that is laid out node by node."""

import itertools
import zlib

import attrs
import numpy as np
import pytest

from arboretum.api import Choice, Encoded, Family, Level, assemble, laid_out
from arboretum.testing.tables import (
    TreeParts,
    outcomes,
    prices_of,
    toy_impurity,
    toy_objects,
    toy_table,
)

FAMILIES = (Family.multiway, Family.thresholds, Family.equals)


@attrs.frozen(eq=False)
class Own:
    """A solver's own table: the objects as they are."""

    objects: Encoded
    impurity: object

    def __getattr__(self, name):
        objects = self.objects
        return {
            "codes": objects.codes.T,
            "family": np.array([FAMILIES.index(feature.family) for feature in objects.features]),
            "first_test": objects.test_offset[:-1],
        }.get(name, getattr(objects, name, None))


def chosen(objects: Encoded, rows: np.ndarray, depth: int) -> int:
    """A test for a set of rows, or −1; any that divides them, by what the rows are."""
    drawn = np.random.default_rng([zlib.crc32(rows.astype(np.int64).tobytes()), depth])
    if len(set(objects.label[rows].tolist())) == 1 or (depth > 2 and drawn.random() < 0.2):
        return -1
    tests = [
        test
        for test in range(int(objects.test_offset[-1]))
        if len(set(outcomes(objects, test, rows).tolist())) > 1
    ]
    return int(drawn.choice(tests)) if tests else -1


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("impurity", [False, True])
def test_it_is_the_tree_that_is_laid_out_node_by_node(seed, impurity):
    objects = toy_objects(
        toy_table(seed, 40, TreeParts(multiclass=seed % 2 == 0)), multiway=seed % 3 > 0
    )
    price, measure = (
        prices_of(objects, seed).tests,
        toy_impurity(objects.task) if impurity else None,
    )

    def one_by_one(place):
        rows, depth = place
        weights, count = (
            np.bincount(objects.label[rows], objects.weight[rows], objects.n_classes),
            float(objects.count[rows].sum()),
        )
        test = chosen(objects, rows, depth)
        if test < 0:
            return Choice(weights, count)
        outcome = outcomes(objects, test, rows)
        below = [(int(k), (rows[outcome == k], depth + 1)) for k in np.unique(outcome)]
        return Choice(weights, count, objects.rule(test), float(price[test]), below)

    def by_level(level: Level, depth: int):
        for number in range(len(level)):
            rows = level.of(number)
            assert (np.diff(rows) > 0).all() and (
                level.sets[np.isin(level.rows, rows)] == number
            ).all()
            assert level.one_class[number] == (len(set(objects.label[rows].tolist())) == 1)
        return np.array(
            [chosen(objects, level.of(number), depth) for number in range(len(level))]
        ), lambda below: depth + 1

    own = Own(objects, measure)
    truth = assemble(objects, measure, (np.arange(objects.n_objects), 0), one_by_one)
    assert laid_out(own, price, 0, by_level) == truth and truth.n_leaves > 5


def test_what_is_handed_down_knows_its_parent():
    objects = toy_objects(toy_table(3, 40))
    own, seen = Own(objects, None), []

    def choose(level: Level, names):
        tests = np.array(
            [chosen(objects, level.of(number), len(seen)) for number in range(len(level))]
        )
        seen.append(names)
        return tests, lambda below: [
            f"{names[above]}.{outcome}"
            for above, outcome in zip(below.parent, below.outcome, strict=True)
        ]

    tree = laid_out(own, prices_of(objects).tests, ["root"], choose)
    assert sum(map(len, seen)) == tree.n_nodes and seen[0] == ["root"]
    assert all(
        name.rpartition(".")[0] in above
        for above, names in itertools.pairwise(seen)
        for name in names
    )
