"""A run with rows=chunks is the run with rows=memory: data, tree, measures; what cannot be is named
before any work, and what is broken is named, and no tree.
"""

import datetime
import errno
import gzip
import os
import pickle
import re
import subprocess
import sys

import attrs
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import arboretum
from arboretum.errors import (
    CapabilityError,
    ContractError,
    DataError,
    StoreError,
    VerificationError,
)
from arboretum.rows import mapped
from arboretum_data.file import FileDataset
from arboretum_data.reading import groups
from arboretum_data.rows import ChunkRows
from arboretum_data.splits import Holdout
from arboretum_gosdt.problem.greedy import CostReduction
from arboretum_gosdt.problem.objectives import InstanceCost
from arboretum_survival.log_rank import LogRank

N, GROUP = 900, 200


@pytest.fixture
def drawn():
    draw = np.random.default_rng(5)

    def some_missing(values, share=0.1):
        return [None if gone else v for v, gone in zip(values, draw.random(N) < share, strict=True)]

    few = draw.integers(0, 9, N)
    grade = (few > 4) + 1 * (draw.random(N) < 0.2)
    day = datetime.date(2020, 1, 1)
    return {
        "few": some_missing((few / 2).tolist()),
        "colour": some_missing(np.array(["red", "green", "blue"])[draw.integers(0, 3, N)].tolist()),
        "late": ["same"] * (N - 5) + ["seldom"] * 5,
        "written": [str(v) for v in draw.integers(0, 12, N)],
        "bits": draw.integers(0, 2, N).astype(bool).tolist(),
        "day": [day + datetime.timedelta(int(k)) for k in draw.integers(0, 30, N)],
        "whole": draw.integers(0, 40, N).tolist(),
        "constant": [1.0] * N,
        "weight": (draw.integers(1, 9, N) / 4).tolist(),
        "label": np.array(["no", "yes", "maybe"])[grade].tolist(),
        "grade": grade.tolist(),
        "cost": (few * 3.1 + draw.normal(size=N)).tolist(),
    }


@pytest.fixture
def file(tmp_path, drawn):
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table(drawn), path, row_group_size=GROUP)
    return path


def overrides(path, target, rows, *more):
    targets = {"label", "grade", "cost"} - {target}
    ignore = [*targets, *(["weight"] if not any("weight" in one for one in more) else [])]
    return [
        "dataset=file",
        f"dataset.path={path}",
        f"dataset.target={target}",
        f"dataset.ignore=[{','.join(sorted(ignore))}]",
        "split=none",
        "encoder=midpoints",
        "method=cart",
        "stopping.standard.max_depth=5",
        "tracker=none",
        f"rows={rows}",
        *more,
    ]


RUNS = {
    "classes": ("label", ()),
    "weights": ("label", ("dataset.weight=weight",)),
    "numbers as classes": ("grade", ()),
    "regression": ("cost", ()),
    "regression with weights": ("cost", ("dataset.weight=weight",)),
    "one against the rest": ("label", ("dataset.positive=yes",)),
    "kinds": ("label", ("dataset.kinds={whole: categorical}",)),
    "order": ("label", ("dataset.orders={colour: [blue, red, green]}",)),
    "multiway": (
        "label",
        ("criterion=gain_ratio", "impurity=entropy", "encoder.categorical=multiway"),
    ),
    "missing as a category": ("label", ("encoder.missing=category",)),
    "majority": ("label", ("missing=majority", "dataset.weight=weight")),
    "numbers by majority": ("cost", ("missing=majority", "dataset.weight=weight")),
    "own category": ("label", ("missing=own_category", "encoder.categorical=multiway")),
    "left out": ("label", ("missing=ignore",)),
    "rows that stop": ("label", ("missing=stops", "split=holdout")),
    "numbers that stop": ("cost", ("missing=stops", "dataset.weight=weight")),
    "no gaps": ("label", ("missing=majority", "dataset.ignore=[few,colour,cost,grade,weight]")),
    "prices": ("label", ("cost=random", "criterion=eg2", "stopping.standard.min_leaf=5")),
}


@pytest.mark.parametrize("name", RUNS)
def test_the_run_is_that_of_rows_in_memory(name, file):
    target, more = RUNS[name]
    ours, known = (
        arboretum.run(overrides(file, target, rows, *more)) for rows in ("chunks", "memory")
    )
    assert ours.data == known.data
    assert ours.tree == known.tree and ours.tree.n_leaves > 4
    assert ours.tree.to_text() == known.tree.to_text()
    assert ours.notes == known.notes
    assert ours.metrics.keys() == known.metrics.keys()
    for metric, value in known.metrics.items():
        assert ours.metrics[metric] == pytest.approx(value, rel=1e-9, abs=1e-12), metric
    assert (
        ours.verified
        and ours.checked[
            "weights, counts, prices" if target == "cost" else "weights, counts, labels, prices"
        ]
        == "every node"
    )


def test_rows_without_a_target_are_left_out_alike(tmp_path, drawn):
    drawn["label"] = [None if k % 7 == 0 or k < GROUP else v for k, v in enumerate(drawn["label"])]
    path = tmp_path / "gaps.parquet"
    parquet.write_table(pa.table(drawn), path, row_group_size=GROUP)
    ours, known = (arboretum.run(overrides(path, "label", rows)) for rows in ("chunks", "memory"))
    assert ours.data == known.data and ours.tree == known.tree and ours.notes == known.notes


def test_a_column_of_many_values_is_cut_at_quantiles_and_a_note_says_how_well(tmp_path):
    draw = np.random.default_rng(1)
    x = draw.normal(size=30_000)
    path = tmp_path / "many.parquet"
    table = {"x": x, "y": np.where(x + draw.normal(size=len(x)) > 0.3, "up", "down")}
    parquet.write_table(pa.table(table), path, row_group_size=7_000)
    run = ["dataset=file", f"dataset.path={path}", "dataset.target=y", "split=none", "tracker=none"]
    run += ["encoder=midpoints", "stopping.standard.max_depth=4"]
    ours = arboretum.run([*run, "rows=chunks"])
    (note,) = [note for note in ours.notes if "more than 255 values" in note]
    assert "within 0.21% of its rank" in note
    best = arboretum.run([*run, "rows=memory", "stopping.standard.max_depth=1"])
    root = arboretum.run([*run, "rows=chunks", "stopping.standard.max_depth=1"])
    assert abs(best.metrics["train_error"] - root.metrics["train_error"]) < 0.002


REFUSED = {
    "method=oblivious": "method level_by_level looks at objects",
    "pruner=cost_complexity": "pruner cost_complexity",
    "class_weight=balanced": "class_weight needs the table",
    "train_fraction=0.5": "train_fraction needs the table",
    "missing=fractional": "missing 'fractional'.*in shares",
    "missing=surrogates": "missing 'surrogates'.*row by row",
    "encoder=bins": "encoder 'bins'.*numeric=quantile counts rows",
    "encoder=raw": "encoder 'raw'.*raw columns",
    "encoder.coalesce=sum": "coalesce=sum merges rows",
}


@pytest.mark.parametrize("override", REFUSED)
def test_what_needs_the_table_is_refused_by_name_before_a_row_is_coded(override, file, monkeypatch):
    def reads(*_):
        raise AssertionError("rows are read")

    monkeypatch.setattr(mapped.ColumnReader, "take_in", reads)
    with pytest.raises(CapabilityError, match=REFUSED[override]):
        arboretum.run([*overrides(file, "label", "chunks"), override])


def test_a_component_that_reads_roles_is_refused_by_name(file, monkeypatch):
    times = [*overrides(file, "cost", "chunks"), "method=greedy", "criterion=log_rank"]
    monkeypatch.setattr(LogRank, "by_value", False)
    with pytest.raises(CapabilityError, match=r"criterion log_rank reads the event .*rows=memory"):
        arboretum.run(times)
    monkeypatch.undo()
    with pytest.raises(DataError, match=r"does not say the event of its rows; say dataset\.event"):
        arboretum.run(times)


def without_roles(monkeypatch):
    """Let rows in chunks keep none."""
    monkeypatch.setattr(ChunkRows, "keeps_roles", False)


def test_what_rows_say_besides_is_left_out_with_a_note_where_a_store_keeps_none(monkeypatch):
    words = ["dataset=trial", "split=none", "method=cart", "encoder=midpoints"]
    known, ours = arboretum.run(words), arboretum.run([*words, "rows=chunks"])
    assert ours.tree == known.tree and ours.data == known.data
    without_roles(monkeypatch)
    run = arboretum.run([*words, "rows=chunks"])
    (note,) = (note for note in run.notes if "loaded at once" in note)
    assert note.endswith("say besides (outcome, propensity) is left out of its checksum")
    assert run.tree == known.tree and run.data["sha256"] != known.data["sha256"]


COSTS = ("few_cost", "some_cost", "gain")


@pytest.fixture
def costly(tmp_path, drawn):
    """Costs of three labels, which follow the columns a little; some are below 0."""
    draw = np.random.default_rng(6)
    few = np.array([0.0 if v is None else v for v in drawn["few"]])
    for k, name in enumerate(COSTS):
        dear = [1.5 * (few > 2), 1.5 * (few <= 2), few / 4][k]
        drawn[name] = (draw.random(N) * 2 + dear - 0.4).round(2).tolist()
    drawn["yes"] = np.array(["yes", "no"])[draw.integers(0, 2, N)].tolist()
    path = tmp_path / "costs.parquet"
    parquet.write_table(pa.table(drawn), path, row_group_size=GROUP)
    return path


def of_costs(path, rows, *more):
    named = ", ".join(f"{a}: {b}" for a, b in zip(("no", "yes", "maybe"), COSTS, strict=True))
    chosen = ["method=greedy", "criterion=cost_reduction", "objective=instance_cost"]
    chosen += ["stopping=[standard]", "stopping.standard.max_depth=4"]
    given = overrides(path, "label", rows, f"dataset.costs={{{named}}}", *chosen, *more)
    return [one for one in given if one != "method=cart" and "max_depth=5" not in one]


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("dataset.weight=weight",),
        ("split=holdout", "seed=3"),
        ("dataset.weight=weight", "split=holdout"),
        ("criterion=reduction", "impurity=gini"),
        ("dataset.roles={own: whole}",),
        ("stopping.standard.min_leaf=30", "encoder.categorical=multiway"),
    ],
    ids=str,
)
def test_costs_of_rows_make_the_tree_of_rows_in_memory(more, costly):
    ours, known = (arboretum.run(of_costs(costly, rows, *more)) for rows in ("chunks", "memory"))
    noted = [note for note in known.notes if "grown node by node" not in note]
    assert ours.data == known.data and list(ours.notes) == noted
    assert ours.tree == known.tree and ours.tree.n_leaves > 4
    assert len(set(ours.tree.label[ours.tree.is_leaf].tolist())) > 1
    # how far rows lie from their mean is not known of rows that are one object
    lost = {name for name in known.metrics if name.endswith("_mean_cost_error")}
    assert lost and ours.metrics.keys() == known.metrics.keys() - lost
    for metric, value in ours.metrics.items():
        assert known.metrics[metric] == pytest.approx(value, rel=1e-9, abs=1e-12), metric
    assert "train_mean_cost" in ours.metrics and ours.verified


def test_roles_are_read_of_each_row_group_and_refused_by_name(costly, drawn, monkeypatch):
    dataset = {"path": str(costly), "target": "label", "ignore": ("cost", "weight")}
    one = FileDataset(**dataset, roles={"own": "whole"}, event="yes", event_value="no")
    whole, data = one.load(0), one.in_parts(0)
    parts = [part.load() for part in data.parts]
    assert len(parts) == 5 and sorted(data.schema.roles) == ["event", "own"]
    for role, values in whole.roles.items():
        found = np.concatenate([part.roles[role] for part in parts])
        assert found.tolist() == values.tolist()
        assert np.concatenate([p.role(role) for p in data.parts]).tolist() == values.tolist()
    without_roles(monkeypatch)
    way = (
        r"objective instance_cost reads the costs .*: it keeps no roles; use rows=chunks, or rows=m"
    )
    with pytest.raises(CapabilityError, match=way):
        arboretum.run(of_costs(costly, "chunks"))
    with pytest.raises(CapabilityError, match=r"rows=chunks keeps no cost of no.*dataset\.costs"):
        arboretum.run([*of_costs(costly, "chunks"), "criterion=reduction", "objective=null"])
    monkeypatch.undo()
    monkeypatch.setattr(groups, "LOOK", 100)  # numbers behind are read with their group
    drawn["gain"][700] = None
    parquet.write_table(pa.table(drawn), costly, row_group_size=GROUP)
    with pytest.raises(DataError, match=r"row group 3 of .*dataset.costs: column 'gain' must hold"):
        arboretum.run(of_costs(costly, "chunks"))


def test_costs_that_are_not_linear_in_the_roles_are_found_out(costly, monkeypatch):
    def bent(self, problem):
        return np.minimum(problem.objects.role("costs"), 0.7)

    monkeypatch.setattr(InstanceCost, "costs", bent)
    with pytest.raises(ContractError, match="instance_cost states linear_in_roles = True, but"):
        arboretum.run(of_costs(costly, "chunks"))
    monkeypatch.setattr(InstanceCost, "linear_in_roles", False)
    with pytest.raises(CapabilityError, match="objective instance_cost reads the costs"):
        arboretum.run(of_costs(costly, "chunks"))


def test_columns_of_a_criterion_that_are_no_costs_are_refused(costly, monkeypatch):
    monkeypatch.delattr(CostReduction, "columns_are_costs")
    with pytest.raises(CapabilityError, match="adds up columns of its own"):
        arboretum.run(of_costs(costly, "chunks"))


def test_a_split_that_cannot_be_made_part_by_part_is_refused_by_name(file, monkeypatch):
    divided = [*overrides(file, "label", "chunks"), "split=holdout"]
    with pytest.raises(CapabilityError, match=r"encoder midpoints.*encoder.fit_on=train"):
        arboretum.run([*divided, "encoder.fit_on=all"])
    with pytest.raises(CapabilityError, match=r"split holdout keeps rows of one group.*dataset"):
        arboretum.run([*divided, "dataset.group=whole"])
    monkeypatch.delattr(Holdout, "assign_rows")
    with pytest.raises(CapabilityError, match=r"split holdout divides a table.*split=none"):
        arboretum.run(divided)


@pytest.mark.parametrize(
    ("subsets", "said"),
    [
        (np.zeros(N), r"must return uint8\[900\]"),
        (np.zeros(N - 1, np.uint8), r"must return uint8\[900\]"),
        (np.full(N, 3, np.uint8), r"must return uint8\[900\]"),
        (np.full(N, 2, np.uint8), "leaves no row to learn from"),
    ],
)
def test_an_assignment_of_another_form_is_refused(subsets, said, file, monkeypatch):
    monkeypatch.setattr(Holdout, "assign_rows", lambda *_: subsets)
    with pytest.raises(ContractError, match=f"split holdout: assign_rows {said}"):
        arboretum.run([*overrides(file, "label", "chunks"), "split=holdout"])


def test_a_store_is_handed_the_rows_that_train_and_no_others(file, monkeypatch):
    """So that no sketch, encoder or growth sees the rest: what is not there cannot leak."""
    seen = []
    given = ChunkRows.open

    def looked_at(self, data, *more):
        seen.append(np.concatenate([part.load().target.codes for part in data.parts]))
        return given(self, data, *more)

    monkeypatch.setattr(ChunkRows, "open", looked_at)
    run = arboretum.run([*overrides(file, "label", "chunks"), "split=holdout"])
    table = FileDataset(path=str(file), target="label").load(0)
    trains = Holdout().divide(table, 0).train
    assert run.data["n_train"] == len(trains)
    assert [each.tolist() for each in seen] == [table.target.codes[trains].tolist()]


def test_another_format_is_refused_with_a_way_out(tmp_path):
    (tmp_path / "rows.csv").write_text("x,label\n1,a\n2,b\n")
    with pytest.raises(CapabilityError, match=r"only Parquet.*rows=memory"):
        arboretum.run(overrides(tmp_path / "rows.csv", "label", "chunks"))


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv"])
@pytest.mark.parametrize("target", ["label", "cost"])
def test_the_command_that_a_refusal_names_makes_the_same_table_of_text(
    target, ending, tmp_path, drawn
):
    path = tmp_path / f"rows.{ending}"
    sign = "\t" if ending == "tsv" else ","
    with (gzip.open if ending.endswith("gz") else open)(path, "wt") as out:
        print(*drawn, sep=sign, file=out)
        for row in zip(*drawn.values(), strict=True):
            print(*("" if cell is None else cell for cell in row), sep=sign, file=out)
    with pytest.raises(CapabilityError) as refused:
        arboretum.run(overrides(path, target, "chunks"))
    (command,) = re.findall(r'python -c "(.*)"', str(refused.value))
    subprocess.run([sys.executable, "-c", command], check=True)
    ours = arboretum.run(overrides(tmp_path / "rows.parquet", target, "chunks"))
    known = arboretum.run(overrides(path, target, "memory"))
    assert ours.data == known.data and ours.tree == known.tree


def test_a_corrupt_row_group_is_named_and_there_is_no_tree(file, tmp_path):
    metadata = parquet.ParquetFile(file).metadata
    chunk = metadata.row_group(2).column(metadata.schema.names.index("whole"))
    with file.open("r+b") as held:
        held.seek(chunk.dictionary_page_offset or chunk.data_page_offset)
        held.write(b"\xff" * 24)
    with pytest.raises(DataError, match=r"row group 2 of .*: column 'whole' cannot be read"):
        arboretum.run([*overrides(file, "label", "chunks"), f"hydra.run.dir={tmp_path / 'run'}"])
    assert not (tmp_path / "run" / "tree.json").exists()


def test_a_file_that_changes_meanwhile_is_named(file, monkeypatch):
    given = mapped.ColumnReader.take_in

    def touched(self, column, start):
        os.utime(file)
        given(self, column, start)

    monkeypatch.setattr(mapped.ColumnReader, "take_in", touched)
    with pytest.raises(DataError, match=r"row group \d of .*the file has changed"):
        arboretum.run(overrides(file, "label", "chunks"))


def test_a_full_disk_is_named_and_leaves_nothing(file, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    there = tmp_path / "codes"
    there.mkdir()
    with pytest.raises(StoreError, match=r"No space left on device.*rows.folder"):
        arboretum.run([*overrides(file, "label", "chunks"), f"rows.folder={there}"])
    assert list(there.iterdir()) == []


def test_files_go_with_the_run(file, tmp_path):
    there = tmp_path / "codes"
    there.mkdir()
    arboretum.run([*overrides(file, "label", "chunks"), f"rows.folder={there}"])
    assert list(there.iterdir()) == []


SPLITS = {
    "holdout": ("label", ("split=holdout",)),
    "not stratified": ("label", ("split=holdout", "split.stratify=false", "seed=3")),
    "no validation rows": (
        "label",
        ("split=holdout", "split.train=0.5", "split.valid=0", "split.test=0.5", "seed=1"),
    ),
    "few test rows": (
        "label",
        ("split=holdout", "split.train=0.99", "split.valid=0", "split.test=0.01"),
    ),
    "few training rows": (
        "label",
        ("split=holdout", "split.train=0.1", "split.valid=0.45", "split.test=0.45", "seed=2"),
    ),
    "weights": ("label", ("split=holdout", "dataset.weight=weight", "seed=4")),
    "regression": ("cost", ("split=holdout", "seed=5")),
    "regression with weights": ("cost", ("split=holdout", "dataset.weight=weight")),
    "one against the rest": ("label", ("split=holdout", "dataset.positive=yes")),
    "missing as a category": ("label", ("split=holdout", "encoder.missing=category")),
    "fold": ("label", ("split=kfold", "split.folds=4", "split.fold=2", "split.valid=0.2")),
    "fold of a later repeat": ("cost", ("split=kfold", "split.repeats=2", "split.fold=13")),
    "a stretch of rows": ("label", ("split=contiguous", "split.folds=3", "split.fold=1")),
}


@pytest.mark.parametrize("group", [GROUP, 7, N])
@pytest.mark.parametrize("name", SPLITS)
def test_rows_of_a_split_are_those_of_rows_in_memory(name, group, tmp_path, drawn):
    """Parts of seven rows, some with no row that trains or none that judges, among them."""
    target, more = SPLITS[name]
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table(drawn), path, row_group_size=group)
    ours, known = (
        arboretum.run(overrides(path, target, rows, *more)) for rows in ("chunks", "memory")
    )
    assert ours.data == known.data and 0 < ours.data["n_test"] < N
    assert ours.tree == known.tree and ours.tree.n_leaves > 4
    assert ours.notes == known.notes
    assert ours.metrics.keys() == known.metrics.keys() and "test_expected_cost" in known.metrics
    for metric, value in known.metrics.items():
        assert ours.metrics[metric] == pytest.approx(value, rel=1e-9, abs=1e-12), metric
    assert ours.verified


@pytest.mark.parametrize("split", ["none", "holdout"])
def test_a_store_may_verify_where_its_rows_lie_and_add_notes(file, monkeypatch, split):
    given, asked = ChunkRows.open, []

    def visit(function, items):
        for item in items:
            asked.append(item)
            there, part = pickle.loads(pickle.dumps((function, item)))
            yield pickle.loads(pickle.dumps(there(part)))

    def elsewhere(self, *words):
        opened = given(self, *words)
        return attrs.evolve(opened, visit=visit, notes=lambda: (f"{len(asked)} visits",))

    known = arboretum.run([*overrides(file, "cost", "chunks"), f"split={split}"])
    monkeypatch.setattr(ChunkRows, "open", elsewhere)
    found = arboretum.run([*overrides(file, "cost", "chunks"), f"split={split}"])
    assert found.tree == known.tree and found.metrics == known.metrics
    assert found.notes == (*known.notes, "5 visits")
    assert found.checked["data"] == "read again, part by part, where its rows lie"


def test_a_store_that_loses_rows_of_a_part_is_found_out(file, monkeypatch):
    given = ChunkRows.open

    def forgetful(function, items):
        for item in items:
            found = function(item)
            few = {k: attrs.evolve(one, count=one.count // 2) for k, one in found.subsets.items()}
            yield attrs.evolve(found, subsets=few)

    def elsewhere(self, *words):
        return attrs.evolve(given(self, *words), visit=forgetful)

    monkeypatch.setattr(ChunkRows, "open", elsewhere)
    with pytest.raises(VerificationError, match=r"row group 0 of .*: all of its 200 rows come to"):
        arboretum.run(overrides(file, "label", "chunks"))


def test_a_part_that_is_pickled_reads_a_copy_of_the_file_and_no_other(file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = {"target": "label", "ignore": ("cost", "grade", "weight")}
    data = FileDataset(path=file.name, **words).in_parts(0)  # by a relative path
    sent, known = pickle.dumps(data.parts[1]), data.parts[1].load()
    content = file.read_bytes()
    os.utime(file, (1, 1))
    monkeypatch.chdir("/")
    assert pickle.loads(sent).load().columns[0].values.tolist() == pytest.approx(
        known.columns[0].values.tolist(), nan_ok=True
    )
    for other in (content + b"x", content[:-60] + bytes(52) + content[-8:]):
        file.write_bytes(other)
        with pytest.raises(
            DataError, match=r"row group 1 of .*not the one that the run began with"
        ):
            pickle.loads(sent).load()
    file.unlink()
    with pytest.raises(DataError, match="rows.parquet"):
        pickle.loads(sent).load()
