"""What tells the runs of a sweep apart, besides seed and fold?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arboretum.cli.showing import flatten
from arboretum.model.record import Record
from arboretum.report.table import spell_cell

HIDDEN = ("seed", "tracker", "plugins", "goal", "skip_finished")
ANY_TABLE = ("file", "openml")
"""Options of ``dataset`` that say where a table comes from, not which it is."""


def varied_keys(records: Sequence[Record]) -> dict[str, Any]:
    """Column → how to read it: method, data set, and every other choice or parameter that differs, but the seed and folds."""
    flat = [dict(flatten(record.config)) for record in records]
    columns: dict[str, Any] = {
        "method": lambda record: str(record.config.get("choices", {}).get("method", "")),
        "dataset": data_set_of,
    }
    for key in sorted({key for one in flat for key in one}, key=lambda key: (not key.startswith("choices."), key)):
        name = key.removeprefix("choices.")  # which criterion comes before its parameters
        group, _, rest = name.partition(".")
        if name in columns or group in HIDDEN or key == "split.fold" or rest == "name":
            continue  # a component's own name says no more than the choice
        if _varies_within(key, flat, records):
            columns[name] = lambda record, key=key: _spelled(dict(flatten(record.config)).get(key))
    return columns


def _spelled(value: Any) -> str:
    """A choice or a value: "gain_ratio", "pure+mass", "none"."""
    if isinstance(value, list | tuple):
        return "+".join(map(str, value)) or "none"
    if isinstance(value, float) and float(spell_cell(value)) != value:  # in full: two values never look, and count, as one
        return repr(value)
    return spell_cell(value, "none")


def data_set_of(record: Record) -> str:
    """The data set's option, or the table's own name where the option says only where it comes from."""
    chosen = str(record.config.get("choices", {}).get("dataset", ""))
    return str(record.data.get("name", chosen)) if chosen in ANY_TABLE else chosen


def _varies_within(key: str, flat: Sequence[Mapping[str, Any]], records: Sequence[Record]) -> bool:
    """Whether one method (for parameters of a data set: one data set) shows several values.

    What differs only because the method, or the data set, differs needs no column.
    """
    owner = data_set_of if key.startswith("dataset.") else lambda record: str(record.config.get("choices", {}).get("method"))
    seen: dict[str, set[str]] = {}
    for one, record in zip(flat, records, strict=True):
        seen.setdefault(owner(record), set()).add(repr(one.get(key)))
    return any(len(values) > 1 for values in seen.values())
