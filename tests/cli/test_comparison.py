"""The table that ends a sweep: never an average over choices that differ."""

from __future__ import annotations

import attrs
import pytest

from arboretum.cli import terminal
from arboretum.cli.showing import comparison
from arboretum.model.record import Record


def record(method: str, criterion: str, seed: int, error: float, depth: int | None = None) -> Record:
    config = {
        "choices": {"method": method, "dataset": "iris", "criterion": criterion, "stopping": ["standard"]},
        "criterion": {"name": criterion},
        "stopping": {"standard": {"max_depth": depth}},
        "seed": seed,
    }
    return Record(config, seed, {}, {"name": "iris"}, {"fit": 0.5}, {"test_error": error, "test_accuracy": 1 - error},
                  None, True, None)  # fmt: skip


def rows_of(table: str) -> list[list[str]]:
    return [line.split() for line in table.splitlines() if line.startswith(("cart", "id3"))]


def test_two_criteria_have_a_row_each():
    table = comparison([record("cart", c, s, e) for c, e in (("gain_ratio", 0.5), ("reduction", 0.25)) for s in (1, 2)])
    assert table.splitlines()[0].split()[:4] == ["method", "dataset", "criterion", "runs"]
    assert [row[:5] for row in rows_of(table)] == [
        ["cart", "iris", "gain_ratio", "2", "0.5000"],
        ["cart", "iris", "reduction", "2", "0.7500"],
    ]


def test_a_choice_that_follows_from_the_method_needs_no_column():
    table = comparison([record("cart", "reduction", 1, 0.1), record("id3", "gain_ratio", 1, 0.2)])
    assert "criterion" not in table
    assert [row[:3] for row in rows_of(table)] == [["cart", "iris", "1"], ["id3", "iris", "1"]]


def test_a_parameter_that_differs_has_a_column_and_seeds_are_averaged():
    table = comparison([record("cart", "reduction", s, 0.1 * s, depth=d) for d in (2, 3) for s in (1, 3)])
    assert table.splitlines()[0].split()[2] == "max_depth"
    assert [row[2:6] for row in rows_of(table)] == [["2", "2", "0.8000", "0.2000"], ["3", "2", "0.8000", "0.2000"]]


def changed(one: Record, data: str = "iris", **groups: dict) -> Record:
    """The record with other values in some groups."""
    config = {**one.config, **{kind: {**one.config.get(kind, {}), **more} for kind, more in groups.items()}}
    return attrs.evolve(one, config=config, data={"name": data})


def test_a_parameter_of_the_method_has_a_column():
    base = record("cart", "reduction", 1, 0.25)
    table = comparison([changed(base, method={"name": "greedy", "order": order}) for order in ("best", "breadth", "depth")])
    assert table.splitlines()[0].split()[:4] == ["method", "dataset", "order", "runs"]
    assert [row[2] for row in rows_of(table)] == ["best", "breadth", "depth"]


def test_tables_from_files_are_named_and_those_of_one_name_are_told_apart_by_their_paths():
    base = record("cart", "reduction", 1, 0.25)

    def of(*paths: str) -> list[list[str]]:
        names = [path.rpartition("/")[2].removesuffix(".csv") for path in paths]
        return rows_of(comparison([
            changed(base, name, choices={"dataset": "file"}, dataset={"name": "file", "path": path})
            for name, path in zip(names, paths, strict=True)
        ]))  # fmt: skip

    assert [row[:3] for row in of("a.csv", "b.csv")] == [["cart", "a", "1"], ["cart", "b", "1"]]
    assert [row[:4] for row in of("x/a.csv", "y/a.csv")] == [["cart", "a", "x/a.csv", "1"], ["cart", "a", "y/a.csv", "1"]]


def test_a_parameter_of_a_named_data_set_has_a_column():
    base = record("cart", "reduction", 1, 0.25)
    table = comparison([changed(base, dataset={"name": "xor", "noise": noise}) for noise in (0.125, 0.25)])
    assert table.splitlines()[0].split()[:3] == ["method", "dataset", "noise"]
    assert len(rows_of(table)) == 2


def test_lists_of_rules_are_spelled_with_a_plus():
    base = record("cart", "reduction", 1, 0.25)
    table = comparison([changed(base, choices={"stopping": rules}) for rules in (["pure", "mass"], ["standard"], [])])
    assert [row[2] for row in rows_of(table)] == ["none", "pure+mass", "standard"]


LONG = [f"a_long_common_beginning_of_a_name_{end}" for end in ("one", "two")]


@pytest.mark.parametrize("somebody_looks", [True, False])
def test_what_tells_rows_apart_is_never_cut(somebody_looks, monkeypatch):
    monkeypatch.setattr(terminal, "width", lambda: 80)
    monkeypatch.setattr(terminal, "is_terminal", lambda: somebody_looks)
    base = record("cart", "reduction", 1, 0.25)
    table = comparison([changed(base, choices={"criterion": name}) for name in LONG])
    seen = [row[2] for row in rows_of(table)]
    assert len(set(seen)) == 2
    assert all(long in table for long in LONG) or somebody_looks
    assert ("test accuracy" in table) is not somebody_looks, "headings of numbers give way first"


def test_values_that_tuners_and_pruners_kept_have_columns_and_are_not_averaged():
    kept = lambda lam, alpha: {"kept_lam": lam, "kept_alpha": alpha}  # noqa: E731
    base = record("cart", "reduction", 1, 0.25)
    tuned = [attrs.evolve(base, metrics={**base.metrics, **kept(lam, 1e-5)}) for lam in (10.0, 1.0, 10.0, 0.01)]
    table = comparison([*tuned, record("id3", "reduction", 1, 0.25)])
    head, _, *rows = [line.split("  ") for line in table.splitlines() if line.strip()]
    names = [cell.strip() for cell in head if cell.strip()]
    assert names[2:5] == ["runs", "kept alpha", "kept lam"]
    assert [[cell.strip() for cell in row if cell.strip()][2:5] for row in rows] == [["4", "1e-05", "10, 0.01, 1"], ["1", "–", "–"]]


def test_many_kept_values_are_cut_short():
    base = record("cart", "reduction", 1, 0.25)
    table = comparison([attrs.evolve(base, metrics={**base.metrics, "kept_lam": float(i)}) for i in range(6)])
    assert "0, 1, 2, 3 …" in table
