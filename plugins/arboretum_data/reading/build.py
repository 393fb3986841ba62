"""From cells to a checked table: kinds inferred or given, target, weights, groups; every refusal
in one place.
"""

import enum
from collections.abc import Mapping, Sequence
from functools import partial

import attrs
import numpy as np

from arboretum.api import (
    EVENT,
    MISSING,
    Column,
    ColumnKind,
    DataError,
    Table,
    Target,
    Task,
    by_code,
    check_role,
    check_row_weights,
    cost_role,
    field_of_role,
    param,
    positions,
    speller,
    spelling,
    unknown,
)
from arboretum_data.reading.cells import Cells, interpret, natural_order, no_number, parse_numbers

WORDING = "column → how a person is asked for its value, as in “How old are you?”"
mapping_param = partial(param, attrs.Factory(dict), converter=dict)
"""Declares a field that maps names, empty unless it is given, by its line of meaning."""
FEW = 20
"""A numeric target with at most this many distinct values, all whole numbers, is taken as
classes.
"""


class TaskChoice(enum.Enum):
    """What the target is; ``auto`` decides by its values."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


@attrs.frozen
class Schema:
    """What is known of a table besides its cells.

    target : column name.
    kinds : column → continuous | ordinal | categorical, the rest is inferred (or ``default``).
    orders : column → values from low to high.
    ignore, weight, group : columns that are not attributes.
    roles : what else is known of each row → its column (:attr:`arboretum.api.Table.roles`); no
        attributes either.
    event_value : the value of the event's column that says that it came; None: 1, or true.
    decimal : the sign before decimals, "." or ",", None to infer it.
    """

    target: str
    kinds: Mapping[str, str] = attrs.field(factory=dict)
    orders: Mapping[str, Sequence[str]] = attrs.field(factory=dict)
    default: str | None = None
    ignore: tuple[str, ...] = ()
    weight: str | None = None
    group: str | None = None
    task: TaskChoice = TaskChoice.auto
    decimal: str | None = None
    roles: Mapping[str, str] = attrs.field(factory=dict)
    event_value: str | None = None


def build_table(name: str, cells: Sequence[Cells], schema: Schema) -> Table:
    """Assemble the table of these columns, as ``schema`` says what they are; raises DataError (one
    line) where it is unusable.
    """
    by_name = {c.name: c for c in cells}
    _check_names(schema, by_name)
    cells, notes = interpret(
        cells,
        schema.decimal,
        _text_columns(schema, cells),
        {schema.target, schema.weight or schema.target, *schema.roles.values()},
    )
    by_name = {c.name: c for c in cells}
    target = build_target(by_name[schema.target], schema)
    reserved = {
        schema.target,
        schema.weight,
        schema.group,
        *schema.ignore,
        *schema.roles.values(),
    }
    columns = [build_column(c, schema) for c in cells if c.name not in reserved]
    if not columns:
        raise DataError(f"{name}: no column is left besides the target {schema.target!r}")
    notes |= _spelt_anew(
        [
            *(by_name[c.name] for c in columns if c.categories),
            *([by_name[target.name]] if target.classes else []),
        ],
        schema,
    )
    notes |= _costs_without_rows(schema, target)
    table = Table(
        name,
        tuple(columns),
        target,
        weights=None if schema.weight is None else _read_weights(by_name[schema.weight]),
        groups=None
        if schema.group is None
        else by_name[schema.group].as_text().codes.astype(np.int64),
        notes=notes,
        roles={role: _read_role(role, by_name[c], schema) for role, c in schema.roles.items()},
    )
    return check_table(_drop_rows_without_target(table))


def _spelt_anew(cells: Sequence[Cells], schema: Schema) -> dict[str, str]:
    """Return a note for each column of which several spellings are one value."""
    notes = {}
    for c in cells:
        text, _ = _in_order(c, schema)
        if c.numbers is None and len(text.values) < len(c.values):
            spell, one = speller(c.values), dict[str, str]()
            pair = next((one[s], v) for v in c.values if one.setdefault(s := spell(v), v) != v)
            notes[f"spelling {c.name}"] = (
                f"column {c.name!r}: {pair[0]!r} and {pair[1]!r} are one value, {spell(pair[0])!r}"
            )
    return notes


def _costs_without_rows(schema: Schema, target: Target) -> dict[str, str]:
    """Return a note for each label that has costs, and no row."""
    start = cost_role("")
    named = [role.removeprefix(start) for role in schema.roles if role.startswith(start)]
    return {
        cost_role(label): f"no row of {target.name!r} is {label!r}: it is no answer, and what "
        "dataset.costs says of it is not read"
        for label in named
        if target.classes and label not in target.classes
    }


def _text_columns(schema: Schema, cells: Sequence[Cells]) -> set[str]:
    """Return the columns that stay text: where kinds or orders say so, and where the column is no
    attribute.
    """
    kinds = {c.name: schema.kinds.get(c.name, schema.default) for c in cells}
    text = {name for name, kind in kinds.items() if kind not in (None, ColumnKind.continuous.value)}
    text |= {*schema.orders, *schema.ignore, *([schema.group] if schema.group else [])}
    text -= set(schema.roles.values())
    return text | {schema.target} if schema.task is TaskChoice.classification else text


def _check_names(schema: Schema, by_name: Mapping[str, Cells]) -> None:
    """Raise DataError for a name in ``schema`` that is no column, a column that is given two
    parts, or an order of one that is to be numbers.
    """
    asked = [
        ("target", schema.target),
        *(("kinds", k) for k in schema.kinds),
        *(("orders", k) for k in schema.orders),
    ]
    asked += [("ignore", k) for k in schema.ignore]
    asked += [
        (word, value)
        for word, value in (("weight", schema.weight), ("group", schema.group))
        if value
    ]
    asked += [(field_of_role(role), column) for role, column in schema.roles.items()]
    for field, column in asked:
        if column not in by_name:
            msg = f"dataset.{field}: {unknown('column', column, by_name)}"
            raise DataError(_short(msg))
    if schema.target == schema.weight:
        raise DataError(
            f"dataset.weight: {schema.target!r} is the target; name another column, or leave it out"
        )
    if schema.target in schema.ignore:
        learnt = f"{schema.target!r} is the target, which is learnt and never an attribute"
        raise DataError(f"dataset.ignore: {learnt}; leave it out of dataset.ignore")
    for role, column in schema.roles.items():
        if column == schema.target:
            raise DataError(
                f"dataset.{field_of_role(role)}: {column!r} is the target; name another column"
            )
    words = [kind.value for kind in ColumnKind]
    for column, kind in schema.kinds.items():
        if kind not in words:
            raise DataError(f"dataset.kinds.{column}: {unknown('kind', kind, words)}")
        if kind == ColumnKind.continuous.value and column in schema.orders:
            raise DataError(
                f"dataset.orders: {column!r} is continuous by dataset.kinds, and numbers have "
                "their own order; leave one of them out"
            )


def _short(message: str, limit: int = 400) -> str:
    """A table may have thousands of columns; an error is one readable line."""
    return message if len(message) <= limit else message[:limit] + " …"


def kind_of(cells: Cells, schema: Schema) -> ColumnKind:
    """Return a column's kind: the one given in ``schema``, else ordinal where an order is given,
    else continuous for numbers and categorical for text.
    """
    if cells.name in schema.kinds:
        return ColumnKind(schema.kinds[cells.name])
    if cells.name in schema.orders:
        return ColumnKind.ordinal
    if schema.default is not None:
        return ColumnKind(schema.default)
    if cells.declared:
        return ColumnKind.categorical
    return ColumnKind.categorical if cells.as_numbers() is None else ColumnKind.continuous


def build_column(cells: Cells, schema: Schema) -> Column:
    """Return one attribute of the table; raises DataError for text that is to be a number, or a
    value that the order does not list.
    """
    kind = kind_of(cells, schema)
    if kind is ColumnKind.continuous:
        values = cells.exact_numbers()
        if values is None:
            bad, way = no_number(cells)
            raise DataError(
                f"column {cells.name!r} is to be continuous, but {bad!r} is not a number{way}"
            )
        return Column(cells.name, kind, values, unit=cells.unit)
    text, order = _in_order(cells, schema)
    return Column(cells.name, kind, recode(text, order), tuple(order))


def _in_order(cells: Cells, schema: Schema) -> tuple[Cells, list[str]]:
    """Return the column in canonical spellings, and its values in the order given, else as the file
    declares, else by size or spelling.  Raises DataError for an order that names a value twice.
    """
    given = [spelling(v) for v in schema.orders.get(cells.name, ())]
    if twice := [value for value in given if given.count(value) > 1]:
        raise DataError(f"dataset.orders.{cells.name} names {twice[0]!r} twice; say it once")
    text = cells.as_text(given)
    if given and text is not cells:
        given = [*map(speller(text.values), given)]
    return text, given or list(text.declared) or natural_order(text.values)


def recode(cells: Cells, order: Sequence[str]) -> np.ndarray:
    """Return int32[n_rows]: the column's codes into ``order``, MISSING without a value; raises
    DataError on a value that the order does not list.
    """
    position = {value: i for i, value in enumerate(order)}
    for value in cells.values:
        if value not in position:
            msg = (
                f"column {cells.name!r}: {unknown('value', value, position)} (its order does not "
                "list it)"
            )
            raise DataError(_short(msg))
    place = [position[value] for value in cells.values]
    return by_code(place, cells.codes, MISSING, dtype=np.int32)


def build_target(cells: Cells, schema: Schema) -> Target:
    """Return the target, classes or numbers; the rule for a numeric target is that of :data:`FEW`,
    unless task, kinds or an event of ``schema`` say otherwise.
    """
    if target_task(cells, schema) is Task.regression:
        values = cells.exact_numbers()
        if values is None:
            why = "dataset.task=regression"
            if schema.task is TaskChoice.auto:
                kind = f"dataset.kinds={{{cells.name}: continuous}}"
                event = f"dataset.event={schema.roles.get(EVENT)} says that the target is a time"
                why = kind if cells.name in schema.kinds else event
            raise DataError(
                f"{why}, but the target {cells.name!r} holds text{_first_text(cells)}; leave it "
                "out, or name a target of numbers"
            )
        return Target(cells.name, Task.regression, values=values)
    text, order = _in_order(cells, schema)
    return Target(cells.name, Task.classification, codes=recode(text, order), classes=tuple(order))


def target_task(cells: Cells, schema: Schema) -> Task:
    """Return whether the target holds classes or numbers, see :func:`build_target`."""
    if schema.task is not TaskChoice.auto:
        return Task(schema.task.value)
    if cells.name in schema.kinds:
        return Task.regression if schema.kinds[cells.name] == "continuous" else Task.classification
    values = None if cells.declared else cells.as_numbers()
    if values is None:
        timed = EVENT in schema.roles and not cells.declared
        some = timed and any(parse_numbers((one,)) is not None for one in cells.values)
        return Task.regression if some else Task.classification
    if EVENT in schema.roles:  # a time, however few there are
        return Task.regression
    distinct = np.unique(values[~np.isnan(values)])
    whole = bool(np.all(distinct == np.floor(distinct)))
    n = len(distinct if cells.numbers is not None else cells.as_text().values)
    return Task.classification if whole and n <= FEW else Task.regression


def _first_text(cells: Cells) -> str:
    """Return which row of a column is the first that holds no number; "" where each is one."""
    try:
        bad, way = no_number(cells)
    except StopIteration:  # they are declared to be something else
        return ""
    row = int(np.argmax(cells.codes == cells.values.index(bad))) + 1
    return f": row {row} has {bad!r}{way}"


def _read_weights(cells: Cells) -> np.ndarray:
    """Return float64[n_rows], the weights of rows; raises DataError, naming column and row, where
    one is not above 0.
    """
    return check_row_weights(_each(cells), f"dataset.weight: column {cells.name!r}")


def _each(cells: Cells) -> np.ndarray:
    """The numbers of a column, or each row's text where one is no number; None: none."""
    numbers = cells.as_numbers()
    return by_code(cells.values, cells.codes, None, dtype=object) if numbers is None else numbers


def _read_role(role: str, cells: Cells, schema: Schema) -> np.ndarray:
    """Return float64[n_rows], what a role's column says of each row; raises DataError, naming
    column and row, where it is no number of its kind.
    """
    what = f"dataset.{field_of_role(role)}: column {cells.name!r}"
    if role == EVENT and schema.event_value is not None:
        return check_role(role, _is_value(cells, schema.event_value), what)
    try:
        return check_role(role, _each(cells), what)
    except DataError as error:
        if role != EVENT or cells.as_numbers() is not None:
            raise
        names = ", ".join(cells.values[:5])
        way = f"; dataset.event_value=VALUE says which of {names} is the event"
        raise DataError(_short(f"{error}{way}")) from None


def _is_value(cells: Cells, value: str) -> np.ndarray:
    """Return float64[n_rows], 1 where a column has the value, 0 where another, NaN where none."""
    text = cells.as_text()
    (place,) = positions([spelling(value)], text.values, -1)
    if place < 0:
        raise DataError(_short(f"dataset.event_value: {unknown('value', value, text.values)}"))
    return np.where(text.codes < 0, np.nan, text.codes == place)


def _drop_rows_without_target(table: Table) -> Table:
    """Return the table without the rows that lack the target, with a note on them; raises DataError
    where all do.
    """
    target, missing = table.target, table.target.missing
    if missing.all():
        raise DataError(f"{table.name}: the target {target.name!r} is missing in every row")
    if not missing.any():
        return table
    kept = table.take(~missing)
    note = (
        f"{int(missing.sum())} of {len(missing)} rows are left out: no value of the target "
        f"{target.name!r}"
    )
    return attrs.evolve(kept, notes={**table.notes, "target": note})


def check_table(table: Table) -> Table:
    """Return the table; raises DataError on infinite values."""
    for column in table.columns:
        if column.is_continuous:
            check_finite(column.name, column.values)
    if table.is_regression:
        check_finite(table.target.name, table.target.values)
    return table


def check_finite(name: str, values: np.ndarray) -> None:
    """Raise DataError, naming column and row, where a value is infinite."""
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise DataError(
            f"column {name!r} holds an infinite value in row {infinite[0] + 1}; leave the cell "
            "empty if it is missing"
        )


def one_against_rest(table: Table, positive: str | None) -> Table:
    """Return the same rows with two classes: ``positive`` (code 1) and the rest (code 0); None: as
    they are.

    With two classes both keep their names, so only the order can change.
    """
    if positive is None:
        return table
    target = table.target
    if target.is_regression:
        raise DataError(
            f"dataset.positive={positive}: the target {target.name!r} holds numbers, not classes"
        )
    (place,) = positions([spelling(positive)], target.classes, -1)
    if place < 0:
        msg = f"dataset.positive: {unknown('class', positive, target.classes)}"
        raise DataError(_short(msg))
    positive, codes = target.classes[place], (target.codes == place).astype(np.int32)
    others = [c for c in target.classes if c != positive]
    rest = others[0] if len(others) == 1 else ("rest" if positive != "rest" else "others")
    return attrs.evolve(table, target=attrs.evolve(target, codes=codes, classes=(rest, positive)))


@attrs.frozen
class Overrides:
    """What is said of a table in place of its own words.

    kinds : column → kind, instead of its own.   ignore : columns to leave out.
    target : column to predict instead of the table's own target; None: that.
    classes : whether that target holds classes, whatever its values.
    roles : role → column that says it, and is no attribute any more.
    event_value : see :class:`Schema`.
    """

    kinds: Mapping[str, str] = attrs.field(factory=dict)
    ignore: Sequence[str] = ()
    target: str | None = None
    classes: bool = False
    roles: Mapping[str, str] = attrs.field(factory=dict)
    event_value: str | None = None


def described_anew(table: Table, overrides: Overrides) -> Table:
    """Return the table built again from its cells, as these say; raises DataError as
    :func:`build_table`.
    """
    target, kinds = table.target, overrides.kinds
    if not (kinds or overrides.ignore or overrides.roles) and overrides.target in (
        None,
        target.name,
    ):
        return table
    classes = (
        Column(target.name, ColumnKind.categorical, target.codes, target.classes)
        if target.codes is not None
        else None
    )
    columns = [*table.columns, classes or Column(target.name, ColumnKind.continuous, target.values)]
    own, task = {c.name: c.kind.value for c in columns}, TaskChoice(table.task.value)
    if overrides.target not in (None, target.name):
        own.pop(overrides.target, None)
        task = TaskChoice.classification if overrides.classes else TaskChoice.auto
    known = {f"{_KNOWN}{role}": values for role, values in table.roles.items()}
    schema = Schema(
        overrides.target or target.name,
        {**own, **kinds},
        {
            c.name: c.categories
            for c in columns
            if c.categories and kinds.get(c.name) != ColumnKind.continuous.value
        },
        ignore=tuple(overrides.ignore),
        task=task,
        roles={**{name.removeprefix(_KNOWN): name for name in known}, **overrides.roles},
        event_value=overrides.event_value,
    )
    cells = [*map(_cells_of, columns), *(Cells(name, numbers=one) for name, one in known.items())]
    built = build_table(table.name, cells, schema)
    return attrs.evolve(built, notes={**table.notes, **built.notes})


_KNOWN = "\0"
"""Before the names of roles that a table has already, which no column of a file has."""


def worded(table: Table, questions: Mapping[str, str]) -> Table:
    """Return the table with words for asking a person for the value of some columns, column →
    question; raises DataError for a column that it does not have.
    """
    names = [column.name for column in table.columns]
    if wrong := next((name for name in questions if name not in names), None):
        raise DataError(_short(f"dataset.questions: {unknown('column', wrong, names)}"))
    columns = (
        attrs.evolve(column, question=questions.get(column.name, column.question))
        for column in table.columns
    )
    return attrs.evolve(table, columns=tuple(columns)) if questions else table


def _cells_of(column: Column) -> Cells:
    if column.is_continuous:
        return Cells(column.name, numbers=column.values, unit=column.unit)
    return Cells(column.name, column.categories, column.values)
