"""Columns of a role: what is known of rows besides attributes and target."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from arboretum.api import (
    COSTS,
    EVENT,
    OUTCOME,
    PROPENSITY,
    ConfigError,
    DataError,
    cost_role,
)
from arboretum_data.file import FileDataset
from arboretum_data.named import component_of
from arboretum_data.reading.build import TaskChoice

HEADER = "x,drug,got,chance,seen,time,a,b\n"
ROWS = ["1,p,0.5,0.25,1,3.5,0,2", "2,q,-1,1,0,0.5,1.5,0", "3,p,2,0.5,1,4,0,-1"]


def written(tmp_path, *rows):
    path = tmp_path / "rows.csv"
    path.write_text(HEADER + "\n".join(rows or ROWS) + "\n")
    return str(path)


def test_roles_are_read_and_are_no_attributes(tmp_path):
    path = written(tmp_path)
    table = FileDataset(
        path=path,
        treatment="drug",
        outcome="got",
        propensity="chance",
        ignore=["seen", "time"],
        costs={"p": "a", "q": "b"},
    ).load(0)
    assert [column.name for column in table.columns] == ["x"]
    assert table.target.name == "drug" and table.target.classes == ("p", "q")
    np.testing.assert_array_equal(table.role(OUTCOME), [0.5, -1, 2])
    np.testing.assert_array_equal(table.role(PROPENSITY), [0.25, 1, 0.5])
    np.testing.assert_array_equal(table.role(COSTS), [[0, 2], [1.5, 0], [0, -1]])
    np.testing.assert_array_equal(table.take(np.array([2])).role(OUTCOME), [2])


def test_events_stand_beside_times(tmp_path):
    table = FileDataset(
        path=written(tmp_path), target="time", event="seen", task=TaskChoice.regression
    ).load(0)
    np.testing.assert_array_equal(table.role(EVENT), [1, 0, 1])


def test_few_whole_times_of_events_are_numbers(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,months,seen\n1,3,1\n2,5,0\n3,3,1\n")
    table = FileDataset(path=str(path), target="months", event="seen").load(0)
    assert table.target.values.tolist() == [3, 5, 3]
    said = FileDataset(
        path=str(path), target="months", event="seen", task=TaskChoice.classification
    )
    assert said.load(0).target.classes == ("3", "5")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"event": "seen"}, "dataset.event=seen says that the target is a time, but the target"),
        ({"kinds": {"months": "continuous"}}, r"dataset.kinds=\{months: continuous\}, but"),
        ({"task": TaskChoice.regression}, "dataset.task=regression, but"),
    ],
)
def test_a_time_of_text_is_refused_by_row(tmp_path, words, said):
    path = tmp_path / "times.csv"
    path.write_text("a,months,seen\n1,1,1\n2,soon,1\n3,2,0\n")
    with pytest.raises(DataError, match=f"{said}.*'months' holds text: row 2 has 'soon'"):
        FileDataset(path=str(path), target="months", **words).load(0)


def test_the_word_of_the_event_is_said(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,months,end\n1,3,dead\n2,5,lost\n3,8,dead\n4,9,moved\n")
    table = FileDataset(path=str(path), target="months", event="end", event_value="dead").load(0)
    assert table.role(EVENT).tolist() == [1, 0, 1, 0]
    assert [column.name for column in table.columns] == ["x"]
    with pytest.raises(DataError, match=r"row 1 has 'dead'; dataset.event_value=VALUE says which"):
        FileDataset(path=str(path), target="months", event="end").load(0)
    with pytest.raises(DataError, match="event_value: unknown value 'daed'; did you mean 'dead'"):
        FileDataset(path=str(path), target="months", event="end", event_value="daed").load(0)
    with pytest.raises(ConfigError, match="event_value=dead is a value of dataset.event=COLUMN"):
        FileDataset(path=str(path), target="months", event_value="dead").load(0)
    path.write_text("x,months,end\n1,3,2\n2,5,1\n3,8,\n4,9,2\n")
    with pytest.raises(DataError, match="row 3 has nan"):
        FileDataset(path=str(path), target="months", event="end", event_value="2").load(0)
    path.write_text("x,months,end\n1,3,2\n2,5,1\n4,9,2\n")
    coded = FileDataset(path=str(path), target="months", event="end", event_value="2").load(0)
    assert coded.role(EVENT).tolist() == [1, 0, 1]


def test_a_role_of_a_component_s_own_is_read_by_its_name(tmp_path):
    path = written(tmp_path)
    table = FileDataset(path=path, target="drug", roles={"amount": "got", "fee": "got"}).load(0)
    assert "got" not in [column.name for column in table.columns]
    np.testing.assert_array_equal(table.role("amount"), [0.5, -1, 2])
    np.testing.assert_array_equal(table.role("fee"), table.role("amount"))
    with pytest.raises(DataError, match=r"say dataset.roles=\{tax: COLUMN\}"):
        table.role("tax")
    with pytest.raises(DataError, match=r"dataset.roles.amount: unknown column 'gott'"):
        FileDataset(path=path, target="drug", roles={"amount": "gott"}).load(0)
    with pytest.raises(DataError, match=r"dataset.roles.amount: column 'drug' must hold a finite"):
        FileDataset(path=path, target="time", roles={"amount": "drug"}).load(0)


@pytest.mark.parametrize("role", [EVENT, OUTCOME, PROPENSITY, COSTS, cost_role("p")])
def test_a_role_with_a_field_of_its_own_is_said_by_that(tmp_path, role):
    field = "costs" if role.startswith("cost") else role
    with pytest.raises(ConfigError, match=rf"say it by dataset\.{field}"):
        FileDataset(path=written(tmp_path), target="drug", roles={role: "got"}).load(0)


def test_roles_are_part_of_the_checksum(tmp_path):
    plain = FileDataset(path=written(tmp_path), target="time", ignore=["seen"]).load(0)
    with_events = FileDataset(path=written(tmp_path), target="time", event="seen").load(0)
    other = [row.replace(",1,3.5", ",0,3.5") for row in ROWS]
    changed = FileDataset(path=written(tmp_path, *other), target="time", event="seen").load(0)
    assert len({one.sha256() for one in (plain, with_events, changed)}) == 3


@pytest.mark.parametrize(
    "field, column, row, words",
    [
        ("propensity", "chance", "1,p,0.5,0,1,3.5,0,2", "a probability above 0, up to 1, .* has 0"),
        ("propensity", "chance", "1,p,0.5,1.5,1,3.5,0,2", "row 4 has 1.5"),
        ("event", "seen", "1,p,0.5,0.5,2,3.5,0,2", r"0 \(censored\) or 1 .* row 4 has 2"),
        ("event", "seen", "1,p,0.5,0.5,,3.5,0,2", "row 4 has nan"),
        ("outcome", "got", "1,p,,0.5,1,3.5,0,2", "a finite number in every row; row 4 has nan"),
    ],
)
def test_numbers_that_a_role_cannot_have_are_refused_by_row(tmp_path, field, column, row, words):
    path = written(tmp_path, *ROWS, row)
    with pytest.raises(DataError, match=rf"dataset.{field}: column '{column}' must hold .*{words}"):
        FileDataset(path=path, target="drug", **{field: column}).load(0)


def test_text_where_a_number_belongs_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"dataset.outcome: column 'drug' must hold"):
        FileDataset(path=written(tmp_path), target="time", outcome="drug").load(0)


def test_the_row_of_a_word_among_numbers_is_named(tmp_path):
    rows = [*ROWS, "4,p,much,0.5,1,3.5,0,2"]
    with pytest.raises(DataError, match=r"a finite number in every row; row 4 has 'much'"):
        FileDataset(path=written(tmp_path, *rows), target="drug", outcome="got").load(0)


def test_what_does_not_go_together_is_refused_with_the_way_out(tmp_path):
    path = written(tmp_path)
    with pytest.raises(ConfigError, match=r"dataset.treatment=drug is the target; leave"):
        FileDataset(path=path, target="time", treatment="drug").load(0)
    with pytest.raises(DataError, match=r"dataset.outcome: 'time' is the target"):
        FileDataset(path=path, target="time", outcome="time").load(0)
    with pytest.raises(DataError, match=r"dataset.costs: unknown column 'c'"):
        FileDataset(path=path, target="drug", costs={"p": "c"}).load(0)
    table = FileDataset(path=path, target="drug", costs={"p": "a"}).load(0)
    assert cost_role("p") in table.roles
    with pytest.raises(DataError, match=r"does not say the cost of q of its rows"):
        table.role(COSTS)


def test_rows_in_parts_say_their_roles(tmp_path):
    import pandas

    path = tmp_path / "rows.parquet"
    pandas.read_csv(written(tmp_path)).to_parquet(path, row_group_size=2)
    dataset = FileDataset(path=str(path), target="time", event="seen")
    table, data = dataset.load(0), dataset.in_parts(0)
    assert [column.name for column in data.schema.columns] == [c.name for c in table.columns]
    found = [part.role("event") for part in data.parts]
    assert len(found) == 2 and np.concatenate(found).tolist() == table.role("event").tolist()


@pytest.fixture
def stored(no_home):
    """A set of a data home, without a manifest, and its component."""
    no_home.mkdir()
    rows = [f"{row},{target}" for row, target in zip(ROWS, "ynn", strict=True)]
    text = HEADER.strip() + ",target\n" + "\n".join(rows) + "\n"
    (no_home / "mine.csv.gz").write_bytes(gzip.compress(text.encode()))
    return component_of("mine")


def test_a_named_set_says_roles_by_its_columns(stored):
    ignored = ("seen", "time", "a", "b", "target")
    table = stored(treatment="drug", outcome="got", propensity="chance", ignore=ignored).load(0)
    assert [column.name for column in table.columns] == ["x"]
    assert table.target.classes == ("p", "q") and table.target.codes.tolist() == [0, 1, 0]
    assert table.role(OUTCOME).tolist() == [0.5, -1, 2]
    assert table.role(PROPENSITY).tolist() == [0.25, 1, 0.5]
    table = stored(costs={"y": "a", "n": "b"}, roles={"fee": "got"}, ignore=("time",)).load(0)
    assert table.target.name == "target"
    assert [column.name for column in table.columns] == ["x", "drug", "chance", "seen"]
    assert table.role(COSTS).tolist() == [[2, 0], [0, 1.5], [-1, 0]]
    assert table.role("fee").tolist() == [0.5, -1, 2]


def test_costs_of_a_label_that_no_row_has_are_not_read_and_a_note_says_so(tmp_path):
    (tmp_path / "t.csv").write_text("x,y,a,b,c\n1,p,0,1,2\n2,q,1,0,2\n")
    costs = {"p": "a", "q": "b", "r": "c"}
    table = FileDataset(path=str(tmp_path / "t.csv"), target="y", costs=costs).load(0)
    assert table.role(COSTS).tolist() == [[0, 1], [1, 0]]
    (note,) = table.notes.values()
    assert note.startswith("no row of 'y' is 'r'") and "dataset.costs" in note


def test_a_named_set_predicts_another_column_and_keeps_its_own_target_as_one(stored):
    table = stored(target="time", event="seen").load(0)
    assert table.is_regression and table.target.values.tolist() == [3.5, 0.5, 4]
    assert table.role(EVENT).tolist() == [1, 0, 1]
    assert table.columns[-1].name == "target" and table.columns[-1].categories == ("n", "y")
    # whole numbers that are few are classes, as of a file
    assert stored(target="seen").load(0).target.classes == ("0", "1")
    table = stored(target="time", event="target", event_value="y").load(0)
    assert table.role(EVENT).tolist() == [1, 0, 0]
    with pytest.raises(DataError, match="dataset.event: unknown column 'sen'"):
        stored(target="time", event="sen").load(0)
    with pytest.raises(ConfigError, match="dataset.treatment=drug is the target; leave"):
        stored(treatment="drug", target="time").load(0)


def test_roles_of_the_manifest_are_those_of_the_set(stored, no_home):
    entry = {"name": "mine", "target": "time", "task": "regression", "event": "seen"}
    entry |= {"costs": {"p": "a"}, "roles": {"fee": "got"}}
    (no_home / "manifest.json").write_text(json.dumps({"datasets": [entry]}))
    table = stored().load(0)
    assert sorted(table.roles) == [cost_role("p"), "event", "fee"]
    entry |= {"event": "drug", "event_value": "q"}
    (no_home / "manifest.json").write_text(json.dumps({"datasets": [entry]}))
    assert stored().load(0).role(EVENT).tolist() == [0, 1, 0]
    (no_home / "manifest.json").write_text(
        json.dumps({"datasets": [{**entry, "event": "seen", "event_value": 1}]})
    )
    # what is said besides is added, and what is left out takes no role away
    table = stored(ignore=("x",), propensity="chance").load(0)
    assert sorted(table.roles) == [cost_role("p"), "event", "fee", "propensity"]
    assert [column.name for column in table.columns] == ["drug", "b", "target"]
    assert table.role("fee").tolist() == [0.5, -1, 2]
    # rows without a value of another target go, and take what is known of them along
    (no_home / "mine.csv.gz").write_bytes(
        gzip.compress(b"x,time,seen,got,a,kind\n1,2,1,5,0,u\n2,3,0,6,0,\n3,4,1,7,0,v\n")
    )
    assert stored(target="kind").load(0).role("fee").tolist() == [5, 7]
