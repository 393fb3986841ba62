"""The rows of a run that teach: a share of those that the split lets train, weighed by their class;
some of them may only fill leaves.
"""

from __future__ import annotations

import attrs

from arboretum.engine import check
from arboretum.engine.class_weights import weigh_classes, weights_of_classes
from arboretum.engine.monotone import asked_of
from arboretum.engine.scale import Scale, check_range
from arboretum.engine.train_fraction import (
    divide_honest,
    draw_fraction,
    note_fraction,
    note_honest,
)
from arboretum.errors import CapabilityError, DataError, sure
from arboretum.interfaces.method import Parts
from arboretum.interfaces.objective import Shape, shape_of
from arboretum.interfaces.split import Division
from arboretum.model.encoded import Encoded
from arboretum.model.table import Table


@attrs.frozen(eq=False)
class Training:
    """Training rows, and validation rows where any weigh something, with the weights of their
    classes.

    division : that they are of.
    honest : the training rows that only fill leaves, which are none of ``train``; None: nobody
        asks for such.
    """

    division: Division
    train: Table
    valid: Table | None
    honest: Table | None


def training_rows(parts: Parts, table: Table, division: Division, seed: int) -> Training:
    """Draw the run's share of the training rows, set those apart that only fill leaves, and weigh
    each part by its classes.  Raises ConfigError, CapabilityError or DataError by name.
    """
    said: dict[str, str] = {}
    honest = None
    drawn = draw_fraction(table, division, parts.train_fraction, seed, parts.split)
    if drawn is not division:
        said["train_fraction"], division = note_fraction(division, drawn), drawn
    if parts.honest:
        check_honest(parts)
        division, rows = divide_honest(table, division, parts.honest, seed, parts.split)
        said["honest"], honest = note_honest(division, rows), table.take(rows)
    train = table if len(division.train) == table.n_rows else table.take(division.train)
    if said:
        train = attrs.evolve(train, notes={**train.notes, **said})
    valid = table.take(division.valid) if len(division.valid) else None
    if parts.class_weight is not None:
        by_class = weights_of_classes(parts.class_weight, train.target)
        division = attrs.evolve(division, train=division.train[by_class[train.target.codes] > 0])
        train = check_range(weigh_classes(train, by_class), Scale())
        if valid is not None:  # none of its rows may weigh anything, and only some parts ask
            heavy = by_class[valid.target.codes].any()
            valid = weigh_classes(valid, by_class) if heavy else None
        if honest is not None:  # balanced by its own rows: what leaves say is theirs alone
            own = weights_of_classes(parts.class_weight, honest.target)
            if not own[honest.target.codes].any():
                raise DataError(
                    "every row that fills leaves weighs 0 by its class_weight; leave honest out, "
                    "or weigh their classes"
                )
            honest = check_range(weigh_classes(honest, own), Scale())
    return Training(division, train, valid, honest)


def check_honest(parts: Parts) -> None:
    """Raise CapabilityError, naming the part, where other rows cannot say what leaves predict."""
    if any(asked_of(parts)):
        raise CapabilityError(
            "method.increasing and method.decreasing order what the rows that grow the tree say, "
            "and honest leaves say what other rows do; leave honest, or these, out"
        )
    if getattr(parts.solver, "constrains_labels", False):
        raise CapabilityError(
            f"{check.label(parts.solver)} chooses labels that keep its constraints on the rows "
            "that grow the tree, and other rows would change them; leave honest out"
        )
    if shape_of(parts.objective) is Shape.confusion:
        raise CapabilityError(
            f"{check.label(parts.objective)} chooses the labels of all leaves together, and honest "
            "leaves choose each its own; leave honest out, or use objective=accuracy or balanced"
        )


def one_value(rows: Table, parts: Parts) -> tuple[str, ...]:
    """A note where all rows have one class, or one number: what any tree says is known before it
    grows, unless the run asks rows for more than that.
    """
    if _asks_rows_for_more(parts, rows):
        return ()
    target = rows.target
    values = target.codes if rows.is_classification else target.values
    if (values != values[0]).any():
        return ()
    said = (
        f"one class, {target.classes[values[0]]!r}"
        if rows.is_classification
        else f"one value, {values[0]:g}"
    )
    return (
        f"the training rows show {said}, of {target.name!r}: there is nothing to tell apart, "
        "and a leaf says it",
    )


def _asks_rows_for_more(parts: Parts, rows: Table) -> bool:
    """Whether rows of one class, or number, may differ in what the run minimises: by roles that a
    component states, by an author's numbers of rows that have roles, or by costs of each row.
    """
    stated = any(True for _ in check.roles_read(parts))
    own = hasattr(parts.objective, "moments") and bool(rows.roles)
    return stated or own or hasattr(parts.objective, "costs")


def merged_rows(objects: Encoded, parts: Parts) -> tuple[str, ...]:
    """A note where a solver's objective is about objects that hold rows of several classes, or
    numbers: what it says of objects is not what it is of rows.
    """
    rows, target = objects.object_of_row, objects.table.target
    shape = shape_of(parts.objective)
    if parts.solver is None or parts.objective is None or shape is Shape.complexity:
        return ()
    if objects.n_objects == len(rows) or len(rows) != objects.table.n_rows:
        return ()
    own, held = (
        (target.codes, objects.label)
        if objects.label is not None
        else (target.values, sure(objects.y))
    )
    other = int((held[rows] != own).sum())
    if not other:
        return ()
    what = "class" if objects.label is not None else "number"
    return (
        f"value and bound are of {objects.n_objects} objects that {len(rows)} rows were merged to "
        f"(rows of another {what} than their object: {other}); with encoder.coalesce=none they are "
        "of rows",
    )
