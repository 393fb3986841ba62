"""The contract of every kind, by name: what a class must have, and what it may have besides."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from arboretum.interfaces.component import EVERY_KIND


def _protocols(kind: str) -> list[type]:
    """The protocols of a kind's file: that of the kind's name first (required), then those whose names begin with it."""
    found = vars(importlib.import_module(f"arboretum.interfaces.{kind}"))
    return [found[kind.capitalize()], *(one for name, one in found.items() if name.startswith(kind.capitalize()) and name != kind.capitalize())]


REQUIRED: Mapping[str, type] = {kind: _protocols(kind)[0] for kind in EVERY_KIND}
"""Kind → the protocol whose methods a component has."""

OPTIONAL: Mapping[str, list[type]] = {kind: _protocols(kind)[1:] for kind in EVERY_KIND}
"""Kind → protocols whose methods have the contract's form where a component has them."""

INSTEAD: Mapping[str, list[type]] = {"impurity": OPTIONAL["impurity"]}
"""Kind → protocols of which one may stand in for the required one."""

KERNELS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "criterion": {
        "score": ("criterion", "score(weights, counts, price, extra, node) -> float"),
        "column": ("column", "column(weight, label, node) -> float"),
    },
    "impurity": {"kernel": ("impurity", "kernel(weights) -> float"), "prefix": ("prefix", "prefix(y, weight, out)")},
    "complexity": {"node": ("complexity", "node(mass, price, children) -> float")},
}
"""Kind → method → (mark, signature) of the static methods that are, or may be, kernels."""
