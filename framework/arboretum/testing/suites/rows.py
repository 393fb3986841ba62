"""Conformance of row stores: where do the rows of one growth lie?"""

import attrs
import numpy as np
import pytest

from arboretum.api import (
    CapabilityError,
    Column,
    Context,
    DataError,
    Encoded,
    Parts,
    Problem,
    Table,
    Task,
    grow,
)
from arboretum.interfaces.rows import NodeSplit
from arboretum.model.roles import EVENT, OUTCOME
from arboretum.rows.parts import TablePart, table_in_parts
from arboretum.rows.reference import ReferenceRows
from arboretum.testing.suites.base import ComponentSuite, skip_if
from arboretum.testing.tables import (
    SEEDS,
    ToyGini,
    ToyReduction,
    ToyVariance,
    TreeParts,
    prices_of,
    toy_objects,
    toy_table,
)

CLOSE = 1e-12
"""Of sums that round, relative: a store may add up in an order of its own."""
KINDS = (
    TreeParts(weighted=False),
    TreeParts(weighted=False, missing=True),
    TreeParts(missing=True),
    TreeParts(task=Task.regression),
    TreeParts(task=Task.regression, missing=True),
)


@attrs.frozen(eq=False)
class BrokenPart(TablePart):
    """One that cannot be read."""

    def column(self, name: str) -> Column:
        """Raise DataError."""
        raise DataError(f"{self.name}: column {name!r} cannot be read")

    def load(self) -> Table:
        """Raise DataError."""
        return self.table.take(np.arange(len(self.column("").values)))


@attrs.frozen
class ToyEncoder:
    """All midpoints, and a test with an outcome per category; for tables read in parts, too."""

    kind, name, paper, capabilities = "encoder", "toy_encoder", "", ()

    def encode(self, table: Table, whole: Table, *, raw_thresholds: bool, seed: int) -> Encoded:
        """Encode a table, or what stands in for it."""
        return toy_objects(table)

    def needs_rows(self, schema: Table) -> str:
        """Nothing does."""
        return ""


@attrs.frozen
class AboutZero(ToyVariance):
    """The variance, from moments about 0."""

    about = 0.0


def outcomes_and_events(table: Table, share: np.ndarray) -> np.ndarray:
    """Return float64[n, 2], columns of a criterion, of a table that shows no attribute."""
    outcome = table.role(OUTCOME)
    columns = np.stack([outcome, table.role(EVENT) - 2 * outcome], axis=1)
    return np.asarray(columns * share[:, None])


class RowsSuite(ComponentSuite):
    """The three answers are those of plain NumPy, however the rows are parted; so is the tree."""

    kind = "rows"

    def cases(self):
        """Yield (table, its objects, the store opened on it in parts)."""
        for seed in list(SEEDS)[:3]:
            for kind in KINDS:
                # rows in parts say no roles
                table = attrs.evolve(toy_table(seed, n_rows=40, kind=kind), roles={})
                if table.is_regression:
                    halves = np.rint(table.target.values * 2) / 2
                    table = attrs.evolve(table, target=attrs.evolve(table.target, values=halves))
                for sizes in ((), (13,), (1, 20)):
                    yield table, table_in_parts(table, sizes)

    def cases_with_roles(self):
        """Yield (table, its rows in parts)."""
        for seed in list(SEEDS)[:3]:
            for kind in KINDS:
                table = toy_table(seed, n_rows=40, kind=kind)
                for sizes in ((), (13,), (1, 20)):
                    yield table, table_in_parts(table, sizes)

    def open(self, component, data, about=None):
        """Open the component's store."""
        return component.open(data, ToyEncoder(), 0, about, lambda done, total, message: None)

    def test_features_checksum_and_size_are_those_of_the_table(self, component):
        for table, data in self.cases():
            opened = self.open(component, data)
            assert opened.objects.features == toy_objects(table).features
            assert opened.sha256 == table.sha256()
            assert opened.store.n_rows == table.n_rows and not opened.approximate
            assert np.isclose(opened.store.total_weight, table.row_weights().sum(), rtol=CLOSE)
            opened.release()

    def test_totals_tables_and_splits_are_those_of_plain_numpy(self, component):
        for table, data in self.cases():
            opened = self.open(component, data)
            self.compare(opened.store, ReferenceRows.of(toy_objects(table)))
            opened.release()

    def compare(self, store, plain):
        """Ask both the same, down three levels of tests."""
        features, level, last = plain.objects.features, [0], 0
        for depth in range(3):
            ours, known = store.totals(level), plain.totals(level)
            assert ours.counts.tolist() == known.counts.tolist()
            for name in ("weights", "low", "high"):
                self.equal(store, getattr(ours, name), getattr(known, name))
            ours, known = store.tables(level), plain.tables(level)
            assert ours.counts.tolist() == known.counts.tolist()
            assert (ours.weights is None) == (known.weights is None)
            if known.weights is not None:
                self.equal(store, ours.weights, known.weights)
            if known.columns is not None:
                np.testing.assert_allclose(ours.columns, known.columns, rtol=CLOSE, atol=CLOSE)
            splits = []
            for node in level[:: 2 if depth else 1]:  # some nodes stay leaves
                f = (node + depth) % len(features)
                below = tuple(range(last + 1, last + 1 + features[f].arity))
                last = below[-1]
                index = node % features[f].n_tests
                splits.append(NodeSplit(node, f, index, 1, below))
            store.split(splits)
            plain.split(splits)
            level = [child for one in splits for child in one.children]

    def test_it_keeps_roles_and_adds_up_the_columns_that_are_made_of_them(self, component):
        skip_if(not getattr(component, "keeps_roles", False), "keeps no roles")
        for table, data in self.cases_with_roles():
            opened = self.open(component, attrs.evolve(data, columns=outcomes_and_events))
            assert opened.sha256 == table.sha256()
            share = table.row_weights() / table.row_weights().sum()
            plain = ReferenceRows.of(toy_objects(table))
            plain.columns = outcomes_and_events(table, share)
            self.compare(opened.store, plain)
            opened.release()

    def test_rows_without_a_value_stay_or_have_a_node_of_their_own(self, component):
        """As rules for missing values have it: −1 and the number of outcomes as a ``side``."""
        for table, data in self.cases():
            plain = ReferenceRows.of(toy_objects(table))
            for own in (False, True):
                opened = self.open(component, data)
                plain.node[:] = 0
                features = plain.objects.features
                for f in [f for f, feature in enumerate(features) if feature.has_missing][:1]:
                    arity = features[f].arity
                    below = tuple(range(1, 1 + arity + own))
                    one = NodeSplit(0, f, 0, arity if own else -1, below)
                    for store in (opened.store, plain):
                        store.split([one])
                    ours, known = (store.totals(below) for store in (opened.store, plain))
                    assert ours.counts.tolist() == known.counts.tolist()
                    assert (int(known.counts.sum()) == plain.n_rows) == own
                opened.release()

    def equal(self, store, ours, known):
        """Bit by bit where sums are exact, else but for rounding."""
        if store.exact and store.shift == 0.0:
            assert ours.tolist() == known.tolist()
        else:
            scale = np.abs(known[np.isfinite(known)]).max(initial=1.0)
            assert np.allclose(ours, known, rtol=CLOSE, atol=CLOSE * scale)

    def test_the_tree_is_that_of_rows_in_memory(self, component):
        """Equal in every field: weights and targets are whole quarters here, so that sums do not
        round, in whatever order they are taken.
        """
        for table, data in self.cases():
            opened, objects = self.open(component, data, about=0.0), toy_objects(table)
            impurity = AboutZero() if table.is_regression else ToyGini()
            parts = Parts(None, criterion=ToyReduction(), impurity=impurity)
            prices, context = prices_of(objects), Context()
            known = grow(Problem(objects, prices, parts), context, order="breadth").tree
            there = Problem(opened.objects, prices, parts, store=opened.store)
            assert grow(there, context, order="breadth").tree == known
            opened.release()

    def test_numbers_are_taken_about_what_is_asked_for(self, component):
        table = toy_table(0, kind=TreeParts(task=Task.regression))
        opened = self.open(component, table_in_parts(table, (7,)), about=2.0)
        assert opened.store.shift == 2.0
        assert np.isclose(opened.store.totals([0]).low[0], table.target.values.min() - 2.0)
        opened.release()

    def test_a_part_that_cannot_be_read_and_an_encoder_that_needs_rows_are_refused_by_name(
        self, component
    ):
        table = toy_table(0)
        with pytest.raises(DataError, match="part 1"):
            first, second = (data := table_in_parts(table, (9,))).parts
            broken = BrokenPart(second.load(), second.name)
            self.open(component, attrs.evolve(data, parts=(first, broken)))

        class Counts(ToyEncoder):
            def needs_rows(self, schema):
                return "it counts rows"

        with pytest.raises(CapabilityError, match="it counts rows"):
            component.open(table_in_parts(table, (9,)), Counts(), 0, None, lambda *_: None)

    def test_a_column_with_more_values_than_it_keeps_is_cut_at_quantiles_and_named(self, component):
        skip_if(not hasattr(component, "most_values"), "keeps all values, or says not how many")
        few = attrs.evolve(component, most_values=4)
        table = toy_table(1, n_rows=60)
        opened = self.open(few, table_in_parts(table, (20, 20)))
        assert "height" in opened.approximate
        cut = next(f for f in opened.objects.features if f.column == "height")
        assert cut.n_bins <= 4
        found = opened.store.tables([0]).counts.sum(axis=(0, 2))
        assert found.sum() == len(opened.objects.features) * table.n_rows
        opened.release()
