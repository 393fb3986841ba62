"""What studies get from the laboratory is what the command line gets."""

from __future__ import annotations

import functools

import attrs
import pytest

import arboretum
from arboretum.api import ConfigError
from arboretum.plugin.assemble import RegistryFactory
from arboretum.plugin.build import field_types
from arboretum.plugin.discovery import load_registry


@pytest.fixture(scope="module")
def services() -> RegistryFactory:
    return RegistryFactory(load_registry())


def test_a_component_of_any_plugin_is_built_by_name(services):
    assert services.component("stopping", "standard", {"max_depth": 3}).max_depth == 3
    with pytest.raises(ConfigError, match="did you mean 'entropy'"):
        services.component("impurity", "entropi")


def test_parts_include_presets_and_leave_out_the_tracker(services):
    parts = services.parts({"method": "id3"}, {"stopping.standard.max_depth": 2})
    assert parts.criterion is not None and parts.tracker is None and parts.dataset is None


def test_a_run_is_the_run_of_the_command(services):
    ours = services.run(
        {"dataset": "iris", "method": "cart"}, ["stopping.standard.max_depth=2"], seed=3
    )
    theirs = arboretum.run(
        ["dataset=iris", "method=cart", "stopping.standard.max_depth=2", "seed=3"]
    )
    assert ours.verified and ours.metrics == theirs.metrics and ours.tree == theirs.tree


def test_only_parameters_have_types_that_are_looked_up():
    # attrs enters the annotation of a cached property, which is only known to type checkers here
    @attrs.frozen
    class Lazy:
        rounds: int = 3

        @functools.cached_property
        def client(self) -> KnownToTypeCheckersOnly:  # noqa: F821
            return self.rounds

    assert field_types(Lazy) == {"rounds": int}
