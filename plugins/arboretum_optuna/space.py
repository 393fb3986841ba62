"""What a command searches: which keys vary and how, and which jobs a setting is made of."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from arboretum.api import ConfigError, Facts, Plain

if TYPE_CHECKING:
    from types import ModuleType

    from hydra.core.override_parser.types import Override
    from optuna.distributions import BaseDistribution

NAME = "arboretum_optuna"
REPEATED = ("seed", "split.fold")  # keys whose values are no settings: every trial runs them all


@attrs.frozen
class Tried:
    """One key of the search.

    kind : Optuna's distribution of its values.

    ends : values that are composed before anything is run: all choices, or the ends of a range and
        a value that is not round.
    """

    key: str
    said: str
    kind: BaseDistribution
    ends: Sequence[str | float]

    @staticmethod
    def of(override: Any, kinds: ModuleType) -> Tried:
        """Read ``interval(a,b)``, ``range(a,b)``, ``choice(a,b)`` or ``a,b``, with ``tag(log, …)``
        and ``int(…)``.

        override : as Hydra has parsed it.
        kinds : ``optuna.distributions``.   Raises ConfigError.
        """
        key, said, value = override.get_key_element(), override.input_line, override.value()
        if not override.is_interval_sweep() and not override.is_range_sweep():
            values = tuple(override.sweep_string_iterator())
            return Tried(key, said, kinds.CategoricalDistribution(values), values)
        more: Facts = {"log": "log" in value.tags}
        if override.is_interval_sweep():
            low, high = value.start, value.end
        else:
            numbers = sorted(override.sweep_iterator())
            if not numbers:
                raise ConfigError(f"{said} holds no value")
            low, high = numbers[0], numbers[-1]
            more |= {} if more["log"] else {"step": abs(value.step)}
        whole = isinstance(low, int) and isinstance(high, int)
        try:
            kind = (kinds.IntDistribution if whole else kinds.FloatDistribution)(low, high, **more)
        except ValueError as error:
            raise ConfigError(f"{said}: {' '.join(str(error).split())}") from None
        within = () if override.is_range_sweep() or whole else (low + (high - low) / math.pi,)
        return Tried(key, said, kind, (low, *within, high))


@attrs.frozen
class Space:
    """What a command searches.

    fixed : overrides of every job.
    repeats : those of each job of a trial.
    """

    fixed: tuple[str, ...]
    tried: tuple[Tried, ...]
    repeats: tuple[tuple[str, ...], ...]

    @staticmethod
    def of(overrides: Sequence[Override], kinds: ModuleType) -> Space:
        """Sort the overrides; raises ConfigError where there is nothing to search, or several data
        sets.

        kinds : of values.
        """
        last = {override.get_key_element(): override for override in overrides}
        swept = {key: override for key, override in last.items() if override.is_sweep_override()}
        repeated = [
            override
            for key, override in swept.items()
            if key in REPEATED and override.is_discrete_sweep()
        ]
        if "dataset" in swept:
            raise ConfigError(
                f"{swept['dataset'].input_line}: errors on two data sets cannot be compared; "
                "search on one at a time"
            )
        tried = tuple(
            Tried.of(override, kinds) for override in swept.values() if override not in repeated
        )
        if not tried:
            examples = (
                "'stopping.standard.max_depth=range(1,10)', 'criterion.lam=tag(log, "
                "interval(0.1,100))'"
            )
            raise ConfigError(
                f"hydra/sweeper={NAME} has nothing to search; give a key several values: {examples}"
            )
        products = itertools.product(
            *([f"{o.get_key_element()}={v}" for v in o.sweep_string_iterator()] for o in repeated)
        )
        fixed = (
            f"{key}={o.get_value_element_as_str()}" for key, o in last.items() if key not in swept
        )
        return Space(tuple(fixed), tried, tuple(products))

    def jobs(self, setting: Plain) -> list[list[str]]:
        """The overrides of each job of a setting."""
        chosen = [f"{one.key}={setting[one.key]}" for one in self.tried]
        return [[*self.fixed, *chosen, *repeat] for repeat in self.repeats]

    def samples(self) -> Iterator[list[str]]:
        """A job with each end of each key, the others at their first."""
        first = {one.key: one.ends[0] for one in self.tried}
        seen = [{**first, one.key: value} for one in self.tried for value in one.ends]
        yield from (
            self.jobs(setting)[0] for i, setting in enumerate(seen) if setting not in seen[:i]
        )
