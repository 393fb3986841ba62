"""Which columns of a table say what is known of rows besides attributes and target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from arboretum.api import (
    COSTS,
    EVENT,
    OUTCOME,
    PROPENSITY,
    ConfigError,
    cost_role,
    field_of_role,
    param,
    spelling,
)
from arboretum_data.reading.build import mapping_param

TREATMENT, OWN, EVENT_VALUE = "treatment", "roles", "event_value"
MEANING = {
    EVENT: "column of 1 where the target is the time of an event, 0 where of the last look",
    EVENT_VALUE: "value of that column that says that the event came; 1, or true, when not given",
    TREATMENT: "column of the action that was taken, which is the target then",
    OUTCOME: "column of what came of that action, more is better",
    PROPENSITY: "column of how likely that action was, above 0",
    COSTS: "label → column of what each row costs where it is given the label",
    OWN: "name → column of numbers of rows, no attribute, that a component reads by that name",
}
"""Field of a data set → what it says."""


def role_param(field: str) -> Any:
    """Declare a data set's field that says a role, or several."""
    return (mapping_param if field in (COSTS, OWN) else _column_param)(MEANING[field])


def _column_param(meaning: str) -> Any:
    return param(None, meaning)


@attrs.frozen
class RoleColumns:
    """The fields of a data set that name columns of roles; see :data:`MEANING`."""

    event: str | None = None
    event_value: str | None = None
    outcome: str | None = None
    propensity: str | None = None
    costs: Mapping[str, str] = attrs.field(factory=dict)
    roles: Mapping[str, str] = attrs.field(factory=dict)

    @staticmethod
    def of(dataset: Any) -> RoleColumns:
        """Those of a data set that has these fields."""
        return RoleColumns(**{f.name: getattr(dataset, f.name) for f in attrs.fields(RoleColumns)})

    @staticmethod
    def named_in(said: Mapping[str, Any]) -> RoleColumns:
        """Those that a mapping has."""
        known = attrs.fields_dict(RoleColumns)
        return RoleColumns(**{name: value for name, value in said.items() if name in known})

    def by_role(self) -> dict[str, str]:
        """Return role → column.  Raises ConfigError where ``roles`` says one that has a field, and
        for a value of no column.
        """
        if self.event_value is not None and not self.event:
            raise ConfigError(
                f"dataset.event_value={self.event_value} is a value of dataset.event=COLUMN; say "
                "that, too, or leave it out"
            )
        for role in self.roles:
            if not (field := field_of_role(role)).startswith(f"{OWN}."):
                raise ConfigError(
                    f"dataset.roles: {role!r} has a field of its own; say it by dataset.{field}"
                )
        named = {EVENT: self.event, OUTCOME: self.outcome, PROPENSITY: self.propensity}
        by_label = {cost_role(spelling(label)): column for label, column in self.costs.items()}
        return (
            {role: column for role, column in named.items() if column} | by_label | {**self.roles}
        )


def target_of(target: str | None, treatment: str | None) -> str | None:
    """Return the column to predict, of the two fields that may say it.  Raises ConfigError where
    they say two.
    """
    if treatment and target not in (None, "", treatment):
        raise ConfigError(
            f"dataset.treatment={treatment} is the target; leave dataset.target={target} out"
        )
    return treatment or target
