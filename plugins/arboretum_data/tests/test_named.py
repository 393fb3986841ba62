"""Named data sets: one canonical content per name, wherever it comes from."""

from __future__ import annotations

import gzip
import json
import shutil

import numpy as np
import pytest

from arboretum.api import Column, ColumnKind, DataError, Table, Target, Task
from arboretum.testing import DatasetSuite
from arboretum_data import generated
from arboretum_data.file import DfepDataset, RandomTableDataset
from arboretum_data.home import (
    ENTRIES,
    data_home as home_in_use,
    home_names,
    load_from_home,
    user_cache,
)
from arboretum_data.named import LOCAL, ONE_AGAINST_REST, canonical, component_of, named_components
from arboretum_data.plugin import arboretum_components
from arboretum_data.reading.build import Overrides, described_anew

SMALL = ["play-tennis", "iris-setosa", "balance-scale", "diabetes"]


@pytest.mark.parametrize(
    "component", [component_of(name)() for name in SMALL], ids=lambda c: c.name
)
class TestNamedSets(DatasetSuite):
    """Sets that come without a file."""


@pytest.mark.parametrize("name", sorted(LOCAL))
def test_bundled_and_generated_sets_have_the_canonical_content(no_home, name):
    table = LOCAL[name]()
    entry = ENTRIES.get(name)
    assert (table.n_rows, table.sha256()) == (entry.rows, entry.sha256)
    assert canonical(name).sha256() == entry.sha256


def test_the_data_homes_copies_equal_bundled_and_generated_ones(data_home):
    both = set(LOCAL) & set(home_names(data_home))
    assert len(both) == 9
    for name in both:
        here, there = LOCAL[name](), load_from_home(data_home, name)
        assert here.sha256() == there.sha256()
        assert here.target.classes == there.target.classes
        assert [c.categories for c in here.columns] == [c.categories for c in there.columns]


def test_every_set_of_the_manifest_is_a_registered_name(data_home):
    manifest = json.loads((data_home / "manifest.json").read_text())["datasets"]
    names = {c.name for c in arboretum_components() if c.kind == "dataset"}
    assert len(manifest) == 54
    assert {entry["name"] for entry in manifest} <= names


@pytest.mark.slow
def test_every_set_of_the_manifest_loads_as_it_says(data_home):
    """Rows, columns, kinds, classes, missing cells of all 54 sets."""
    for entry in json.loads((data_home / "manifest.json").read_text())["datasets"]:
        table = component_of(entry["name"])().load(0)
        kinds = {kind.value: sum(c.kind is kind for c in table.columns) for kind in ColumnKind}
        assert (table.n_rows, len(table.columns), table.task.value) == (
            entry["rows"],
            entry["columns"],
            entry["task"],
        )
        assert {k: n for k, n in kinds.items() if n} == entry["feature_kinds"]["counts"], entry[
            "name"
        ]
        assert sum(int(c.missing.sum()) for c in table.columns) == entry["missing_cells"], entry[
            "name"
        ]
        if table.task is Task.classification:
            counts = np.bincount(table.target.codes, minlength=table.n_classes).tolist()
            assert dict(zip(table.target.classes, counts, strict=True)) == entry["class_counts"]
        for column, order in entry.get("orders", {}).items():
            assert list(table.column(column).categories) == [str(v) for v in order]


class TestTheDataHome:
    """A folder of NAME.csv.gz."""

    def write(self, home, name, text, manifest=None):
        home.mkdir(exist_ok=True)
        (home / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
        if manifest is not None:
            (home / "manifest.json").write_text(json.dumps({"datasets": [manifest]}))

    def test_any_file_there_becomes_an_option(self, no_home):
        self.write(no_home, "my-set", "a,b,c\n1,2,u\n3,4,v\n")
        (found,) = [c for c in named_components(no_home) if c.name == "my-set"]
        table = found().load(0)
        assert table.target.name == "c"
        assert table.name == "my-set"

    def test_without_a_manifest_the_column_named_target_is_the_target(self, no_home):
        self.write(no_home, "x", "target,b\nu,2\nv,4\n")
        assert component_of("x")().load(0).target.name == "target"

    def test_kinds_and_orders_come_from_the_manifest(self, no_home):
        kinds = {"default": "continuous", "ordinal": ["b"]}
        entry = {
            "name": "x",
            "feature_kinds": kinds,
            "orders": {"b": [2, 1]},
            "task": "classification",
        }
        self.write(no_home, "x", "a,b,target\n1,2,0.5\n3,1,0.7\n", entry)
        table = component_of("x")().load(0)
        assert [c.kind.value for c in table.columns] == ["continuous", "ordinal"]
        assert table.column("b").categories == ("2", "1")
        assert table.target.classes == ("0.5", "0.7")

    def test_names_that_cannot_be_options_are_passed_over(self, no_home):
        for name in ("none", "a b", "1st", "good"):
            self.write(no_home, name, "a,target\n1,u\n2,v\n")
        assert home_names(no_home) == ["good"]

    def test_a_file_does_not_shadow_another_component(self, no_home):
        self.write(no_home, "file", "a,target\n1,u\n2,v\n")
        names = [c.name for c in arboretum_components() if c.kind == "dataset"]
        assert len(names) == len(set(names))

    def test_another_content_under_a_known_name_is_refused(self, no_home):
        self.write(no_home, "iris", "a,target\n1,u\n2,v\n")
        with pytest.raises(
            DataError, match=r"data set 'iris': the data home .* holds another content \(2 rows"
        ):
            component_of("iris")().load(0)

    def test_a_broken_manifest_is_named(self, no_home):
        self.write(no_home, "x", "a,target\n1,u\n2,v\n")
        (no_home / "manifest.json").write_text("{")
        with pytest.raises(DataError, match=r"manifest.json: not a manifest"):
            component_of("x")().load(0)

    def test_its_place_is_the_environment_variable_or_the_users_cache(self, monkeypatch, tmp_path):
        monkeypatch.setenv("ARBORETUM_DATA", str(tmp_path))
        assert home_in_use() == tmp_path
        monkeypatch.delenv("ARBORETUM_DATA")
        assert home_in_use() == user_cache()
        assert user_cache().parts[-2:] == ("arboretum", "data")


def test_a_set_that_is_nowhere_says_why_and_what_to_do(no_home):
    with pytest.raises(DataError) as caught:
        component_of("fico-1000")().load(0)
    message = str(caught.value)
    assert (
        "not in the data home" in message
        and "is not fetched" in message
        and "ARBORETUM_DATA" in message
    )


def test_one_class_against_the_rest(no_home):
    for name, (_, species) in ONE_AGAINST_REST.items():
        table = component_of(name)().load(0)
        assert table.target.classes == ("rest", species)
        assert np.bincount(table.target.codes).tolist() == [100, 50]
    assert (
        component_of("iris")(positive="setosa").load(0).sha256()
        == component_of("iris-setosa")().load(0).sha256()
    )
    with pytest.raises(DataError, match="unknown class 'setosaa'; did you mean 'setosa'"):
        component_of("iris")(positive="setosaa").load(0)


def test_columns_can_be_left_out(no_home):
    table = component_of("iris")(ignore=["petal_width", "petal_length"]).load(0)
    assert [c.name for c in table.columns] == ["sepal_length", "sepal_width"]
    with pytest.raises(DataError, match="dataset.ignore: unknown column 'petal'"):
        component_of("iris")(ignore=["petal"]).load(0)
    with pytest.raises(DataError, match="no column is left besides the target 'target'"):
        component_of("iris")(ignore=[c.name for c in canonical("iris").columns]).load(0)


def test_the_catalogue_has_one_entry_per_name_and_says_why_a_set_is_not_fetched():
    names = [entry.name for entry in ENTRIES.values()]
    assert len(set(names)) == len(names) == 61
    assert [
        e.name
        for e in ENTRIES.values()
        if not (e.openml or e.unfetched or e.address) and e.name not in LOCAL
    ] == []
    forms = generated.Path(generated.__file__).with_name("canonical.json")
    described = set(json.loads(forms.read_text()))
    assert described == {
        e.name for e in ENTRIES.values() if e.openml and not e.unfetched and e.name not in LOCAL
    }


class TestGenerators:
    """Made by rule; their content is pinned by the checksums above, these say what it is."""

    def test_tic_tac_toe_ends_are_those_of_playing_every_game(self):
        found = set()

        def won(board):
            return any(board[a] == board[b] == board[c] != "b" for a, b, c in generated.LINES)

        def play(board, player):
            for square in (i for i in range(9) if board[i] == "b"):
                after = (*board[:square], player, *board[square + 1 :])
                if won(after) or "b" not in after:
                    found.add(after)
                else:
                    play(after, "o" if player == "x" else "x")

        # one corner, one edge and the centre stand for all openings …
        play(("x", *"bbbbbbbb"), "o")
        play(("b", "x", *"bbbbbbb"), "o")
        play((*"bbbb", "x", *"bbbb"), "o")
        boards = set(generated.end_boards())
        assert len(boards) == 958
        turned = {tuple(board[i] for i in (6, 3, 0, 7, 4, 1, 8, 5, 2)) for board in boards}
        assert turned == boards, "… because a quarter turn of an end board is an end board"
        assert found <= boards
        rotations = set(found)
        for _ in range(3):
            rotations |= {
                tuple(board[i] for i in (6, 3, 0, 7, 4, 1, 8, 5, 2)) for board in rotations
            }
        assert rotations == boards

    def test_the_monk_concepts_have_their_known_sizes(self):
        sizes = [int(generated.monk_domain(p).target.codes.sum()) for p in (1, 2, 3)]
        assert sizes == [216, 142, 228]

    def test_random_tables_merge_equal_rows_to_their_most_common_decision(self):
        """Two binary columns and 60 rows: at most four objects; counted here row by row from the
        same draw.
        """
        table = generated.random_table(60, 2, 2, 3, seed=5)
        draw = np.random.Generator(np.random.PCG64(5))
        cells, decisions = draw.integers(2, size=(60, 2)), draw.integers(3, size=60)
        votes: dict[tuple, list[int]] = {}
        for row, decision in zip(cells.tolist(), decisions.tolist(), strict=True):
            votes.setdefault(tuple(row), [0, 0, 0])[decision] += 1
        expected = [(*map(str, row), str(int(np.argmax(n)))) for row, n in votes.items()]
        columns = [[c.categories[k] for k in c.values] for c in table.columns]
        target = [table.target.classes[k] for k in table.target.codes]
        assert list(zip(*columns, target, strict=True)) == expected

    @pytest.mark.parametrize(
        "shape", [(50, 10, 3, 3), (40, 3, 2, 4), (12, 41, 3, 2), (9, 2, 5, 2), (5, 1, 1, 2)]
    )
    def test_the_numbers_of_a_random_table_are_its_cells(self, shape):
        """Row by row as a literal reading has them; 41 columns of three values do not fit into
        one number.
        """
        n_rows, n_columns, n_values, n_classes = shape
        for seed in range(20):
            draw = np.random.Generator(np.random.PCG64(seed))
            rows = draw.integers(n_values, size=(n_rows, n_columns)).tolist()
            votes: dict[tuple, list[int]] = {}
            for row, decision in zip(
                rows, draw.integers(n_classes, size=n_rows).tolist(), strict=True
            ):
                votes.setdefault(tuple(row), [0] * n_classes)[decision] += 1
            cells, decisions = RandomTableDataset(n_rows, n_columns, n_values, n_classes).cells(
                seed
            )
            assert [tuple(row) for row in cells.tolist()] == list(votes)
            assert decisions.tolist() == [int(np.argmax(n)) for n in votes.values()]

    def test_random_tables_follow_the_seed(self):
        sums = [generated.random_table(50, 10, 3, 3, seed=seed).sha256() for seed in (1, 1, 2)]
        assert sums[0] == sums[1] != sums[2]

    def test_ten_bits_give_the_published_objects_with_outliers(self):
        """Labels by quarter, but objects 0, 256, 512, 768, of the next class: the rows of
        dfep-synthetic.
        """
        made, stored = DfepDataset(bits=10).load(0), canonical("dfep-synthetic")
        assert (made.target.codes == stored.target.codes).all()
        assert all(
            (a.values == b.values).all() and a.name == b.name
            for a, b in zip(made.columns, stored.columns, strict=True)
        )

    @pytest.mark.parametrize("bits", [3, 4, 7])
    def test_the_first_object_of_a_quarter_is_of_the_next_class(self, bits):
        table = DfepDataset(bits=bits).load(0)
        number = sum(
            column.values.astype(int) << (bits - 1 - place)
            for place, column in enumerate(table.columns)
        )
        assert sorted(number.tolist()) == list(range(2**bits)), "every word once"
        quarter, place = divmod(number, 2 ** (bits - 2))
        assert (table.target.codes == np.where(place == 0, (quarter + 1) % 4, quarter)).all()


def test_starting_up_is_light():
    """The command lists components at every start: what takes long to load is not among what
    that needs.
    """
    import subprocess
    import sys

    code = (
        "import sys; from arboretum_data.plugin import arboretum_components as hook\nhook()\n"
        "print([m for m in ('pandas', 'sklearn', 'scipy', 'pyarrow', 'numba', 'mlflow') if m "
        "in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )


def test_the_readers_do_not_change_a_table_on_disk(data_home, tmp_path, monkeypatch):
    """A copy of the file gives the same content: nothing depends on the path."""
    shutil.copy(data_home / "car.csv.gz", tmp_path / "car.csv.gz")
    shutil.copy(data_home / "manifest.json", tmp_path / "manifest.json")
    assert load_from_home(tmp_path, "car").sha256() == ENTRIES["car"].sha256


def test_columns_can_be_taken_as_another_kind():
    table = component_of("play-tennis")(kinds={"outlook": "categorical"}).load(0)
    assert table.column("outlook").kind is ColumnKind.categorical
    iris = component_of("iris")(kinds={"petal_width": "categorical"}).load(0)
    width, own = iris.column("petal_width"), canonical("iris").column("petal_width")
    assert [float(width.categories[i]) for i in width.values] == own.values.tolist()
    back = described_anew(iris, Overrides({"petal_width": "continuous"}))
    assert back.column("petal_width").values.tolist() == own.values.tolist()


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"petal": "categorical"}, "dataset.kinds: unknown column 'petal'"),
        ({"petal_width": "number"}, "dataset.kinds.petal_width: unknown kind 'number'"),
    ],
)
def test_a_kind_that_makes_no_sense_is_refused(kinds, message):
    with pytest.raises(DataError, match=message):
        component_of("iris")(kinds=kinds).load(0)


def test_text_is_no_number():
    with pytest.raises(
        DataError, match="column 'outlook' is to be continuous, but '.*' is not a number"
    ):
        component_of("play-tennis")(kinds={"outlook": "continuous"}).load(0)


def test_a_missing_value_stays_missing_in_another_kind():
    column = Column("x", ColumnKind.continuous, np.array([2.0, np.nan, 1.5]))
    table = Table(
        "t", (column,), Target("y", Task.classification, np.array([0, 1, 0], np.int32), ("a", "b"))
    )
    taken = described_anew(table, Overrides({"x": "categorical"}))
    assert taken.columns[0].values.tolist() == [1, -1, 0]
    assert taken.columns[0].categories == ("1.5", "2")
    back = described_anew(taken, Overrides({"x": "continuous"})).columns[0].values
    assert np.array_equal(back, column.values, equal_nan=True)
