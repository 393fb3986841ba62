"""Rows in actors are what rows in memory are: the suite of the kind, and what it does not ask."""

from __future__ import annotations

import itertools
import sys
import time

import attrs
import numpy as np
import pytest

from arboretum.api import (
    Context,
    DataError,
    Parts,
    Problem,
    StoreError,
    Table,
    Task,
    grow,
)
from arboretum.engine.merged_rows import MergedRows
from arboretum.rows.parts import TablePart, table_in_parts
from arboretum.testing import RowsSuite
from arboretum.testing.suites.rows import ToyEncoder
from arboretum.testing.tables import (
    ToyGini,
    ToyReduction,
    ToyVariance,
    TreeParts,
    prices_of,
    toy_table,
)
from arboretum_ray.rows import RayRows

pytestmark = [pytest.mark.slow, pytest.mark.cold, pytest.mark.usefixtures("local_ray")]
SILENT = lambda done, total, message: None


def opened(rows, data, about=None, encoder=None):
    return rows.open(data, encoder or ToyEncoder(), 0, about, SILENT)


def tree_of(found):
    """The tree that grows on an opened store."""
    regression = found.objects.table.is_regression
    parts = Parts(
        None, criterion=ToyReduction(), impurity=ToyVariance() if regression else ToyGini()
    )
    problem = Problem(found.objects, prices_of(found.objects), parts, store=found.store)
    return grow(problem, Context(), order="breadth").tree


class TestRayRows(RowsSuite):
    """Every fourth case: an actor is a process."""

    component = RayRows()

    def cases(self):
        return itertools.islice(super().cases(), 0, None, 4)

    def cases_with_roles(self):
        return itertools.islice(super().cases_with_roles(), 0, None, 4)


@pytest.mark.parametrize(
    "kind", [TreeParts(missing=True), TreeParts(task=Task.regression), TreeParts(weighted=False)]
)
def test_the_number_of_actors_changes_no_bit(kind):
    table = toy_table(3, n_rows=60, kind=kind)
    if not table.is_regression and table.weights is not None:
        weights = np.random.default_rng(0).random(60) / 3 + 0.1  # sums of them round
        table = attrs.evolve(table, weights=weights)
    data, found = table_in_parts(table, (7, 9, 4, 11, 8, 3)), []
    for n in (1, 2, 3):
        store = opened(RayRows(actors=n), data)
        totals, tables = store.store.totals([0]), store.store.tables([0])
        answers = [totals.weights, totals.low, tables.counts]
        answers += [] if tables.weights is None else [tables.weights]
        tree = tree_of(store)
        found.append(([answer.tolist() for answer in answers], store.store.shift, tree))
        store.release()
    assert found[0] == found[1] == found[2]


def test_quantiles_do_not_depend_on_the_number_of_actors():
    table = toy_table(1, n_rows=4000, kind=TreeParts(weighted=False))
    data, found = table_in_parts(table, (900, 100, 1300, 700)), []
    for n in (1, 3):
        store = opened(RayRows(actors=n, most_values=16), data)
        assert "height" in store.approximate
        found.append((store.objects.features, store.store.tables([0]).counts.tolist()))
        store.release()
    assert found[0] == found[1]


def test_a_part_without_rows_is_no_matter():
    table = toy_table(0, n_rows=30)
    data = table_in_parts(table, (12,))
    none = TablePart(table.take(np.arange(0)), "an empty part")
    with_none = attrs.evolve(data, parts=(none, data.parts[0], none, data.parts[1], none))
    with_out, with_them = opened(RayRows(), data), opened(RayRows(), with_none)
    assert with_them.sha256 == with_out.sha256 == table.sha256()
    tree = tree_of(with_out)
    assert tree_of(with_them) == tree
    seen = [
        MergedRows.of(tree, parts, store.objects, store.store.shift, visit=store.visit)
        for parts, store in ((data, with_out), (with_none, with_them))
    ]
    assert seen[0].objects.count.tolist() == seen[1].objects.count.tolist()
    assert seen[0].objects.count.sum() == 30
    with_out.release()
    with_them.release()


@attrs.frozen(eq=False)
class OtherPart(TablePart):
    """One whose file has other values where it is loaded as a whole."""

    def load(self) -> Table:
        """The rows in another order."""
        return self.table.take(np.arange(self.n_rows)[::-1])


def by_value(local_ray):
    """Let the classes of this file travel."""
    local_ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])


def test_a_node_that_has_another_file_is_named_and_so_is_the_part(local_ray):
    by_value(local_ray)
    data = table_in_parts(toy_table(0, n_rows=30), (12,))
    other = OtherPart(data.parts[1].table, data.parts[1].name)
    with pytest.raises(DataError, match=r"^node \S+: part 1 of .* holds other values here[^\n]*$"):
        opened(RayRows(), attrs.evolve(data, parts=(data.parts[0], other)))


def test_more_actors_than_processors_or_parts_are_fewer_with_a_note():
    data = table_in_parts(toy_table(0, n_rows=30), (5,) * 6)
    found = opened(RayRows(actors=9), data)
    assert len(found.store.actors.held) == 4
    found.store.totals([0])
    found.store.tables([0])
    assert "4 actors (9 asked for: no more processors or parts) on 1 node" in found.notes()[0]
    assert "growth sent 8 messages" in found.notes()[0] and "8.0 messages" in found.notes()[0]
    found.release()


def test_a_cluster_without_room_is_refused_in_time(local_ray):
    data = table_in_parts(toy_table(0, n_rows=30), (12,))
    busy = local_ray.remote(num_cpus=3)(Sleeper).remote()
    local_ray.get(busy.ready.remote())
    began = time.monotonic()
    with pytest.raises(StoreError, match=r"room for 1 of 2 actors within 4 s \(4 processors, 0 fr"):
        opened(RayRows(timeout=4), data)
    assert time.monotonic() - began < 20
    local_ray.kill(busy)
    wait_until(lambda: local_ray.available_resources().get("CPU") == 4)
    opened(RayRows(timeout=30), data).release()


class Sleeper:
    def ready(self):
        return True


def wait_until(there):
    until = time.monotonic() + 30
    while not there():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_nothing_is_held_after_a_failure_or_a_release(local_ray):
    by_value(local_ray)
    data = table_in_parts(toy_table(0, n_rows=30), (12,))
    found = opened(RayRows(), data)
    found.release()
    found.release()
    other = OtherPart(data.parts[1].table, data.parts[1].name)
    with pytest.raises(DataError):
        opened(RayRows(), attrs.evolve(data, parts=(other,)))
    wait_until(lambda: local_ray.available_resources().get("CPU") == 4)
