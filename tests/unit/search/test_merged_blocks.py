"""NumPy criteria see the tests of many columns in one batch, in the order of the raw table."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from arboretum.engine import run as engine
from arboretum.engine.search import coded, raw
from arboretum.plugin.assemble import assemble
from arboretum.plugin.discovery import load_registry


@attrs.frozen
class Counts:
    """Remembers how many tests it is asked at once."""

    kind, name, paper, capabilities = "criterion", "counts", "", ()
    seen: list = attrs.Factory(list)

    def score(self, tables, node):
        again = node.depth == 0 and any(
            np.array_equal(tables.test, tests) for _, tests in self.seen
        )
        # the first tables of a growth are scored twice, to see that a criterion does not draw
        if not again:
            self.seen.append((node.depth, tables.test.copy()))
        return tables.weights.max(axis=2).sum(axis=1) / node.mass


def grown(criterion, **choices):
    parts = assemble(
        load_registry(), {"dataset": "wine", "method": "greedy", "tracker": "none", **choices}
    )
    parts = attrs.evolve(parts, criterion=criterion)
    return engine.fit(parts, engine.prepare(engine.Request(parts, 1)).table, 1).solution.tree


@pytest.mark.parametrize("encoder", ["auto", "multiway", "onehot"])
def test_blocks_are_merged_and_the_tree_stays_the_same(encoder, monkeypatch):
    merged, single = Counts(), Counts()
    tree = grown(merged, encoder=encoder)
    monkeypatch.setattr(raw, "LISTED_ENTRIES", 0)
    monkeypatch.setattr(coded, "BLOCK_ENTRIES", 1)  # a test at a time
    assert grown(single, encoder=encoder) == tree
    assert len(merged.seen) <= len(single.seen)
    for found in (merged, single):
        assert sum(len(tests) for _, tests in found.seen) == sum(
            len(tests) for _, tests in merged.seen
        )
        root = np.concatenate([tests for depth, tests in found.seen if depth == 0])
        assert sorted(root) == list(range(len(root))), "every test once"
    if encoder == "auto":
        assert len(merged.seen) < len(single.seen) / 4, "13 columns, a block each"
        assert all((np.diff(tests) == 1).all() for _, tests in merged.seen), "numbered through"
