"""Conformance of exports: in which form does a tree leave?"""

from __future__ import annotations

import pytest

from arboretum.errors import CapabilityError
from arboretum.testing.oracles import build_tree, slow_greedy
from arboretum.testing.suites.base import ComponentSuite, kind_of_table
from arboretum.testing.tables import SEEDS, toy_objects, toy_table


class ExportSuite(ComponentSuite):
    """The same text or bytes for the same tree; a form that cannot hold a tree says so."""

    kind = "export"

    @pytest.fixture(params=SEEDS)
    def grown(self, request, component):
        objects = toy_objects(toy_table(request.param, kind=kind_of_table(component)))
        return build_tree(objects, slow_greedy(objects))

    def test_its_files_have_an_ending(self, component):
        assert component.suffix.startswith(".") and len(component.suffix) > 1

    def test_a_tree_leaves_as_text_or_bytes_twice_the_same(self, component, grown):
        before = grown.to_json()
        try:
            once = component.write(grown)
        except CapabilityError as error:
            pytest.skip(f"refused, with a reason: {error}")
        assert isinstance(once, str | bytes) and once
        assert component.write(grown) == once
        assert grown.to_json() == before

    def test_a_leaf_alone_leaves_too(self, component, grown):
        try:
            assert component.write(grown.cut([0]))
        except CapabilityError as error:
            pytest.skip(f"refused, with a reason: {error}")
