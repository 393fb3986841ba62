"""Which columns of a table say what is known of rows besides attributes and target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from arboretum.api import (
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

OWN = "roles"
"""The field of roles that components name themselves."""


@attrs.frozen
class RoleColumns:
    """The fields of a data set that name columns of roles: what data sets of columns inherit."""

    event: str | None = param(
        None, "column of 1 where the target is the time of an event, 0 where of the last look"
    )
    event_value: str | None = param(
        None, "value of that column that says that the event came; 1, or true, when not given"
    )
    treatment: str | None = param(
        None, "column of the action that was taken, which is the target then"
    )
    outcome: str | None = param(None, "column of what came of that action, more is better")
    propensity: str | None = param(None, "column of how likely that action was, above 0")
    costs: dict[str, str] = mapping_param(
        "label → column of what each row costs where it is given the label"
    )
    roles: dict[str, str] = mapping_param(
        "name → column of numbers of rows, no attribute, that a component reads by that name"
    )

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

    def column_to_predict(self, target: str | None) -> str | None:
        """Return the column to predict: ``target``, or the treatment.  Raises ConfigError where
        these are two.
        """
        if self.treatment and target not in (None, "", self.treatment):
            raise ConfigError(
                f"dataset.treatment={self.treatment} is the target; leave dataset.target={target} "
                "out"
            )
        return self.treatment or target


def roles_last(cls: type, fields: list[attrs.Attribute[Any]]) -> list[attrs.Attribute[Any]]:
    """Return the fields of a data set, those that name roles behind its own."""
    del cls
    known = attrs.fields_dict(RoleColumns)
    return sorted(fields, key=lambda field: field.name in known)
