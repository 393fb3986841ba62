"""What studies get from the laboratory: components of any plugin, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arboretum.interfaces.method import Parts
from arboretum.model.record import Record
from arboretum.plugin.assemble import assemble
from arboretum.plugin.build import build
from arboretum.plugin.registry import Registry


class RegistryFactory:
    """The :class:`~arboretum.interfaces.results.House` of a registry."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry

    def component(self, kind: str, name: str, values: Mapping[str, Any] | None = None) -> Any:
        """Build an installed component.  Raises ConfigError."""
        return build(self.registry.get(kind, name), values or {})

    def parts(self, choices: Mapping[str, Any], values: Mapping[str, Any] | Sequence[str] = ()) -> Parts:
        """Put together the parts of a run; nobody keeps its record.  Raises ConfigError."""
        return assemble(self.registry, choices, values, without=("tracker",))

    def run(self, choices: Mapping[str, Any], values: Mapping[str, Any] | Sequence[str] = (), seed: int = 0) -> Record:
        """Do one run, verified, and return its record with its tree; nobody keeps it.  Raises ArboretumError."""
        from arboretum.engine.run import Request, run

        return run(Request(parts=self.parts(choices, values), seed=seed))
