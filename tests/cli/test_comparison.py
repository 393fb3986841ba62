"""The table that ends a sweep: never an average over choices that differ."""

from __future__ import annotations

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
