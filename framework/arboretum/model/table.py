"""The raw table: named columns of a known kind, a target, weights.

A :class:`Table` is what a ``dataset`` component returns.  Continuous columns hold floats with NaN
for a missing value; ordinal and categorical columns hold codes into their ``categories``
(:mod:`arboretum.model.missing`).
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import attrs
import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from arboretum.errors import DataError, unknown
from arboretum.model.missing import MISSING, UNSEEN, by_code
from arboretum.model.roles import COSTS, cost_role, spell_field
from arboretum.model.spelling import positions

Given = TypeVar("Given", np.ndarray, np.ndarray | None)


class ColumnKind(enum.Enum):
    """How the values of a column relate to each other; the words are those of a data home's
    manifest.
    """

    continuous = "continuous"
    ordinal = "ordinal"
    categorical = "categorical"


class Task(enum.Enum):
    """What the target is."""

    classification = "classification"
    regression = "regression"


class HasTask:
    """What is of one task."""

    __slots__ = ()

    @property
    def task(self) -> Task:
        """Its task."""
        raise NotImplementedError

    @property
    def is_classification(self) -> bool:
        """Whether there are classes."""
        return self.task is Task.classification

    @property
    def is_regression(self) -> bool:
        """Whether there are numbers in place of classes."""
        return self.task is Task.regression


def frozen_array(values: ArrayLike, dtype: DTypeLike | None = None) -> np.ndarray:
    """Return ``values`` as a C-contiguous read-only array (a view where possible).

    dtype : None: as it is.
    """
    array = np.ascontiguousarray(values, dtype=dtype)
    if array.flags.writeable:
        array = array.view()
        array.setflags(write=False)
    return array


def _taken(array: Given, rows: np.ndarray) -> Given:
    """The array on some rows, read-only; None of None."""
    return None if array is None else frozen_array(array[rows])


def array_field(dtype: type, **options: Any) -> Any:
    """Return a field of an attrs class that holds a read-only array of the type, or None."""

    def converter(values: ArrayLike | None) -> np.ndarray | None:
        return None if values is None else frozen_array(values, dtype)

    return attrs.field(converter=converter, metadata={"dtype": dtype}, **options)


def recode(
    codes: np.ndarray, known: Sequence[str], wanted: Sequence[str], unseen: int = UNSEEN
) -> np.ndarray:
    """Return int32[n]: codes into ``known`` as codes into ``wanted``, by value; ``unseen`` for what
    is not among them.
    """
    return by_code(positions(known, wanted, unseen), codes, MISSING, unseen, np.int32)


@attrs.frozen
class ColumnSpec:
    """What the tree must know of a raw column to read rows: its name, kind, categories, and the
    unit of dates.

    missing : whether a training row had no value there; pictures then say where such rows go.
    question : see :class:`Column`.
    """

    name: str
    kind: ColumnKind = attrs.field(converter=ColumnKind)
    categories: tuple[str, ...] = ()
    unit: str = ""
    missing: bool = False
    question: str = ""

    @property
    def is_continuous(self) -> bool:
        """Whether its values are numbers."""
        return self.kind is ColumnKind.continuous

    def to_json(self) -> dict[str, object]:
        """Return the fields that say something; name and categories always."""
        fields = {
            "name": self.name,
            "kind": self.kind.value,
            "categories": list(self.categories),
            "unit": self.unit,
            "missing": self.missing,
            "question": self.question,
        }
        return {
            key: value for key, value in fields.items() if value or key in ("name", "categories")
        }

    @staticmethod
    def of(column: Column) -> ColumnSpec:
        """Return the specification of a table's column."""
        return column.spec


@attrs.frozen(eq=False)
class Column:
    """One attribute of the table.

    values : float64[n_rows] (or float32) with NaN = missing for ``continuous``; int32[n_rows] codes
        into ``categories`` with MISSING for ``ordinal`` and ``categorical``.
    categories : the spelled-out values, in their order for ``ordinal``; empty for ``continuous``.
    unit : "" for plain numbers; "days", "seconds", … (since 1970-01-01,
        :mod:`arboretum.model.dates`) for dates, which tests then read aloud.
    question : how a person is asked for the value; no part of the content, so no checksum has it.
    """

    name: str
    kind: ColumnKind
    values: np.ndarray
    categories: tuple[str, ...] = ()
    unit: str = ""
    question: str = ""

    def __attrs_post_init__(self) -> None:
        dtype = None if self.is_continuous else np.int32
        object.__setattr__(self, "values", frozen_array(self.values, dtype))

    @property
    def is_continuous(self) -> bool:
        """Whether its values are numbers."""
        return self.kind is ColumnKind.continuous

    @property
    def missing(self) -> np.ndarray:
        """bool[n_rows]: which values are missing."""
        return _missing(self.values, coded=not self.is_continuous)

    @cached_property
    def has_missing(self) -> bool:
        """Whether any is."""
        return bool(np.count_nonzero(self.missing))

    @cached_property
    def spec(self) -> ColumnSpec:
        """What trees know of the column."""
        return ColumnSpec(
            self.name, self.kind, self.categories, self.unit, self.has_missing, self.question
        )

    def as_numbers(self) -> np.ndarray:
        """Return float[n_rows]: the values, or the codes, as numbers, NaN = missing."""
        coded = not self.is_continuous
        return np.where(self.values < 0, np.nan, self.values) if coded else self.values

    def take(self, rows: np.ndarray) -> Column:
        """Return the same column on some rows."""
        return attrs.evolve(self, values=self.values[rows])


@attrs.frozen(eq=False)
class Target(HasTask):
    """What is to be predicted.

    codes : int32[n_rows], index into ``classes`` (classification; every class of the data set is
        listed, also one that the rows at hand do not show).
    values : float64[n_rows] (regression).  Of codes and values one is None, by the task.
    """

    name: str
    task: Task
    codes: np.ndarray = attrs.field(default=None)
    classes: tuple[str, ...] = ()
    values: np.ndarray = attrs.field(default=None)

    @property
    def missing(self) -> np.ndarray:
        """bool[n_rows]: which rows have no class, or no number."""
        coded = self.is_classification
        return _missing(self.codes if coded else self.values, coded)

    def take(self, rows: np.ndarray) -> Target:
        """Return the same target on some rows."""
        return attrs.evolve(self, codes=_taken(self.codes, rows), values=_taken(self.values, rows))


def _frozen_roles(roles: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: frozen_array(values, np.float64) for name, values in roles.items()}


@attrs.frozen(eq=False)
class Table(HasTask):
    """A decision table: rows are objects, columns are attributes, one target.

    weights : float64[n_rows] > 0, or None for weight 1 each.
    groups : int64[n_rows] or None; rows of one group stay on one side of a split.
    roles : what is known of each row besides, which no test asks: role → float64[n_rows], as
        "event", "outcome" or a name of a component's own; a cost of each label is the role
        ``cost_role(LABEL)``.
    """

    name: str
    columns: tuple[Column, ...]
    target: Target
    weights: np.ndarray | None = None
    groups: np.ndarray | None = None
    notes: Mapping[str, str] = attrs.field(factory=dict)
    roles: Mapping[str, np.ndarray] = attrs.field(factory=dict, converter=_frozen_roles)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        target = self.target
        return len(target.codes if target.is_classification else target.values)

    @property
    def task(self) -> Task:
        """The target's task: classification or regression."""
        return self.target.task

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 for regression."""
        return len(self.target.classes)

    def column(self, name: str) -> Column:
        """Return the column of that name; raises DataError with the closest match."""
        for column in self.columns:
            if column.name == name:
                return column
        raise DataError(unknown("column", name, [c.name for c in self.columns]))

    def role(self, name: str) -> np.ndarray:
        """Return float64[n_rows] of a role, of ``costs`` float64[n_rows, classes], by the label
        that the row is given.  Raises DataError where the table does not say it.
        """
        if lacking := self.lacking(name):
            raise DataError(
                f"{self.name} does not say the {lacking[0]} of its rows; say "
                f"dataset.{spell_field(name)}"
            )
        if name == COSTS:
            return np.stack([self.roles[cost_role(c)] for c in self.target.classes], axis=1)
        return self.roles[name]

    def lacking(self, role: str) -> list[str]:
        """Return what the table does not say of a role: itself, or costs of labels."""
        wanted = [cost_role(c) for c in self.target.classes] if role == COSTS else [role]
        return [one for one in wanted if one not in self.roles]

    def row_weights(self) -> np.ndarray:
        """Return float64[n_rows]: the weights, ones when none are given."""
        return np.ones(self.n_rows) if self.weights is None else self.weights

    def take(self, rows: np.ndarray) -> Table:
        """Return the table on some rows (int64 indices or a bool mask)."""
        return attrs.evolve(
            self,
            columns=tuple(column.take(rows) for column in self.columns),
            target=self.target.take(rows),
            weights=_taken(self.weights, rows),
            groups=_taken(self.groups, rows),
            roles={name: values[rows] for name, values in self.roles.items()},
        )

    def sha256(self) -> str:
        """Canonical checksum of the content: names, kinds, spelled-out values, target, weights; not
        storage.

        Floats are hashed as little-endian ``float64``, codes through the sorted categories, so that
        neither the order in which categories were met nor the file format changes the sum.  The
        name of the table is not part of it.
        """
        digest = Checksum()
        for column in self.columns:
            digest.begin(column)
            digest.add(column.values)
        digest.begin(self.target)
        target = self.target
        digest.add(target.codes if target.is_classification else target.values)
        if self.weights is not None:
            digest.begin(None)
            digest.add(self.weights)
        for name in sorted(self.roles):
            digest.begin(Column(name, ColumnKind.continuous, self.roles[name]))
            digest.add(self.roles[name])
        return digest.sha256


class Checksum:
    """The canonical checksum of a table (``Table.sha256``), whose rows may come in parts: column
    after column, then the target, then the weights, of each all parts in their order.
    """

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._place: np.ndarray | None = None

    def begin(self, what: Column | Target | None) -> None:
        """Begin with a column of the schema, its target, or its weights (None)."""
        add, self._place = self._digest.update, None
        if what is None:
            return
        if isinstance(what, Column):
            add(f"{what.name}\0{what.kind.value}{what.unit}\0".encode())
            if what.kind is ColumnKind.ordinal:
                add("\1".join(what.categories).encode())
            coded, words = not what.is_continuous, what.categories
        else:
            add(f"{what.name}\0{what.task.value}\0".encode())
            coded, words = what.is_classification, what.classes
        if coded:
            order = sorted(range(len(words)), key=words.__getitem__)
            add("\1".join([words[i] for i in order]).encode())
            # codes that stand for none count from the end
            self._place = np.full(len(words) + 2, MISSING, "<i4")
            self._place[order] = range(len(words))

    def add(self, values: np.ndarray) -> None:
        """Take in some rows' numbers, or codes into the schema's categories."""
        if self._place is None:
            _hash_floats(self._digest.update, values)
        else:
            # through a table that does not depend on the order of the categories
            self._digest.update(self._place.take(values).data)

    @property
    def sha256(self) -> str:
        """Return the checksum of all that was taken in."""
        return self._digest.hexdigest()


def _missing(values: np.ndarray, coded: bool) -> np.ndarray:
    """bool[n]: which codes (``coded``) or numbers are missing."""
    gone: np.ndarray = values == MISSING if coded else np.isnan(values)
    return gone


def _hash_floats(add: Callable[[bytes], None], values: np.ndarray) -> None:
    """Hash floats by value: one NaN, one zero, little-endian float64.   add : takes the bytes."""
    flat = np.array(values, dtype="<f8")
    flat[np.isnan(flat)] = np.nan
    flat += 0.0  # −0.0 becomes 0.0
    add(flat.tobytes())
