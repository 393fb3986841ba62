"""The contract of every kind, by name: what a class must have, and what it may have besides."""

from collections.abc import Mapping
from importlib import import_module

from arboretum.interfaces.component import EVERY_KIND

_ROOMS = {kind: vars(import_module(f"arboretum.interfaces.{kind}")) for kind in EVERY_KIND}

REQUIRED: Mapping[str, type] = {kind: room[kind.capitalize()] for kind, room in _ROOMS.items()}
"""Kind → the protocol whose methods a component has."""

OPTIONAL: Mapping[str, list[type]] = {
    kind: [
        one
        for name, one in room.items()
        if name.startswith(kind.capitalize()) and one is not REQUIRED[kind]
    ]
    for kind, room in _ROOMS.items()
}
"""Kind → protocols, named after the kind, whose methods have the contract's form where a
component has them.
"""

INSTEAD: Mapping[str, list[type]] = {"impurity": OPTIONAL["impurity"]}
"""Kind → protocols of which one may stand in for the required one."""

KERNELS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "criterion": {
        "score": ("criterion", "score(weights, counts, price, extra, node) -> float"),
        "column": ("column", "column(weight, label, node) -> float"),
    },
    "impurity": {
        "kernel": ("impurity", "kernel(weights) -> float"),
        "prefix": ("prefix", "prefix(y, weight, out)"),
    },
    "complexity": {"node": ("complexity", "node(mass, price, children) -> float")},
}
"""Kind → method → (mark, signature) of the static methods that are, or may be, kernels."""
