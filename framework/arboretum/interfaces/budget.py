"""What a run may spend."""

import time
from collections.abc import Callable

import attrs

from arboretum.interfaces.component import param
from arboretum.interfaces.method import Context


@attrs.frozen
class Budget:
    """What a run may spend on growing or solving, and again on its certificate (the group of keys
    ``budget.…``).

    seconds : 0: a solver returns its best leaf and what it knows without a search.
    memory_mb : megabytes of their own arrays; a growth that is estimated to need more is refused
        before it starts.
    """

    kind = "budget"

    seconds: float | None = param(
        None,
        "wall clock for growing or solving; 0: what is known without any work",
        ge=0.0,
        unit="s",
    )
    memory_mb: int | None = param(
        None,
        "what growing or solving allocates, at most; a smaller budget than needed is refused",
        gt=0,
        unit="MB",
    )

    def context(self, seed: int, progress: Callable[[float, float | None, str], None]) -> Context:
        """Return the budget from now on.   progress : of the context."""
        deadline = None if self.seconds is None else time.monotonic() + self.seconds
        return Context(
            seed, deadline, None if self.memory_mb is None else self.memory_mb * 1_000_000, progress
        )
