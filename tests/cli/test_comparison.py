"""The table that ends a sweep: never an average over choices that differ."""

from __future__ import annotations

import attrs
import pytest

from arboretum.cli.comparison import Comparison
from arboretum.model.record import Checked, Record, Solution, Status
from arboretum.report.charts import chart_svg


def record(
    method: str, criterion: str, seed: int, error: float, depth: int | None = None
) -> Record:
    config = {
        "choices": {
            "method": method,
            "dataset": "iris",
            "criterion": criterion,
            "stopping": ["standard"],
        },
        "criterion": {"name": criterion},
        "stopping": {"standard": {"max_depth": depth}},
        "seed": seed,
    }
    return Record(
        config,
        seed,
        {},
        {"name": "iris"},
        {"fit": 0.5},
        {"test_error": error, "test_accuracy": 1 - error},
        None,
        True,
        None,
    )


def comparison(records: list[Record], width: int | None = None) -> str:
    return Comparison.of(records).text(width)


def rows_of(table: str) -> list[list[str]]:
    return [line.split() for line in table.splitlines() if line.startswith(("cart", "id3"))]


def test_two_criteria_have_a_row_each():
    table = comparison(
        [
            record("cart", c, s, e)
            for c, e in (("gain_ratio", 0.5), ("reduction", 0.25))
            for s in (1, 2)
        ]
    )
    assert table.splitlines()[0].split()[:6] == [
        "method",
        "dataset",
        "criterion",
        "best",
        "test",
        "error",
    ]
    assert [row[:7] for row in rows_of(table)] == [
        ["cart", "iris", "reduction", "best", "0.2500", "±", "0"],
        ["cart", "iris", "gain_ratio", "0.5000", "±", "0", "–"],
    ]


def test_a_choice_that_follows_from_the_method_needs_no_column():
    table = comparison([record("cart", "reduction", 1, 0.1), record("id3", "gain_ratio", 1, 0.2)])
    assert "criterion" not in table
    assert [row[:3] for row in rows_of(table)] == [
        ["cart", "iris", "best"],
        ["id3", "iris", "0.2000"],
    ]


def test_a_parameter_that_differs_has_a_column_and_seeds_are_averaged():
    table = comparison(
        [record("cart", "reduction", s, 0.1 * s, depth=d) for d in (2, 3) for s in (1, 3)]
    )
    assert table.splitlines()[0].split()[2] == "max_depth"
    # the standard error of 0.1 and 0.3: s / sqrt(2) = 0.1414 / 1.414
    assert [row[2:7] for row in rows_of(table)] == [
        [d, p, "0.2000", "±", "0.1000"] for d, p in (("2", "best"), ("3", "tied"))
    ]


def test_values_that_look_alike_are_not_averaged():
    base = record("cart", "reduction", 1, 0.25)
    table = comparison([changed(base, criterion={"lam": lam}) for lam in (0.123456, 0.123457)])
    assert [row[2] for row in rows_of(table)] == ["0.123456", "0.123457"]


def test_the_best_setting_has_the_best_mean_and_not_the_luckiest_run():
    errors = {"lucky": (0.0, 0.5, 0.4), "steady": (0.2, 0.2, 0.2), "worse": (0.21, 0.22, 0.23)}
    found = Comparison.of(
        [record("cart", name, seed, e) for name, es in errors.items() for seed, e in enumerate(es)]
    )
    placed = [(setting.names["criterion"], setting.place) for setting in found.settings]
    assert placed == [("steady", "best"), ("worse", "tied"), ("lucky", "tied")]
    assert found.best[0].metrics()["test_error"] == pytest.approx(0.2)
    assert "tied: not worse at 95%" in found.text()


def test_one_run_per_setting_ties_nothing_and_the_table_says_so():
    table = comparison([record("cart", c, 1, e) for c, e in (("a", 0.1), ("b", 0.2))])
    assert "tied" not in table and "fewer than 3 runs per setting" in table


def test_each_data_set_has_its_own_best_and_a_high_goal_is_good():
    runs = [
        changed(record("cart", c, s, e + s / 100), choices={"dataset": d})
        for d, c, e in (
            ("iris", "a", 0.1),
            ("iris", "b", 0.2),
            ("wine", "a", 0.4),
            ("wine", "b", 0.3),
        )
        for s in (1, 2)
    ]
    found = Comparison.of(runs, "test_accuracy")
    assert [(s.dataset, s.names["criterion"], s.place) for s in found.settings] == [
        ("iris", "a", "best"),
        ("iris", "b", ""),
        ("wine", "b", "best"),
        ("wine", "a", ""),
    ]


def test_the_csv_has_every_number_in_full_and_the_error_in_a_column_of_its_own():
    found = Comparison.of(
        [record("cart", c, s, e * s) for c, e in (("a", 0.1), ("b", 0.2)) for s in (1, 2)]
    )
    head, first, _ = found.csv().splitlines()
    assert head.startswith("method,dataset,criterion,best,test error,standard error,expected cost")
    assert first.split(",")[:5] == ["cart", "iris", "a", "best", "0.15000000000000002"]
    assert float(first.split(",")[5]) == pytest.approx(0.05)


def test_every_setting_is_drawn_as_a_row():
    base = record("cart", "reduction", 1, 0.25)
    chart = Comparison.of([changed(base, criterion={"lam": lam}) for lam in (1, 2, 3)]).chart(
        "sweep"
    )
    (panel,) = chart.charts
    assert chart_svg(chart).startswith("<svg") and [name.split()[1] for name in panel.y.names] == [
        "lam=3",
        "lam=2",
        "lam=1",
    ]


def changed(one: Record, data: str = "iris", **groups: dict) -> Record:
    """The record with other values in some groups."""
    config = {
        **one.config,
        **{kind: {**one.config.get(kind, {}), **more} for kind, more in groups.items()},
    }
    return attrs.evolve(one, config=config, data={"name": data})


def test_a_parameter_of_the_method_has_a_column():
    base = record("cart", "reduction", 1, 0.25)
    table = comparison(
        [
            changed(base, method={"name": "greedy", "order": order})
            for order in ("best", "breadth", "depth")
        ]
    )
    assert table.splitlines()[0].split()[:4] == ["method", "dataset", "order", "best"]
    assert [row[2] for row in rows_of(table)] == ["best", "breadth", "depth"]


def test_tables_from_files_are_named_and_those_of_one_name_are_told_apart_by_their_paths():
    base = record("cart", "reduction", 1, 0.25)

    def of(*paths: str) -> list[list[str]]:
        names = [path.rpartition("/")[2].removesuffix(".csv") for path in paths]
        return rows_of(
            comparison(
                [
                    changed(
                        base,
                        name,
                        choices={"dataset": "file"},
                        dataset={"name": "file", "path": path},
                    )
                    for name, path in zip(names, paths, strict=True)
                ]
            )
        )

    assert [row[:3] for row in of("a.csv", "b.csv")] == [
        ["cart", "a", "0.2500"],
        ["cart", "b", "0.2500"],
    ]
    assert [row[:4] for row in of("x/a.csv", "y/a.csv")] == [
        ["cart", "a", "x/a.csv", "best"],
        ["cart", "a", "y/a.csv", "tied"],
    ]


def test_a_parameter_of_a_named_data_set_has_a_column():
    base = record("cart", "reduction", 1, 0.25)
    table = comparison(
        [changed(base, dataset={"name": "xor", "noise": noise}) for noise in (0.125, 0.25)]
    )
    assert table.splitlines()[0].split()[:3] == ["method", "dataset", "noise"]
    assert len(rows_of(table)) == 2


def test_lists_of_rules_are_spelled_with_a_plus():
    base = record("cart", "reduction", 1, 0.25)
    table = comparison(
        [
            changed(base, choices={"stopping": rules})
            for rules in (["pure", "mass"], ["standard"], [])
        ]
    )
    assert [row[2] for row in rows_of(table)] == ["none", "pure+mass", "standard"]


LONG = [f"a_long_common_beginning_of_a_name_{end}" for end in ("one", "two")]


@pytest.mark.parametrize("width", [80, None])
def test_what_tells_rows_apart_is_never_cut(width):
    base = record("cart", "reduction", 1, 0.25)
    table = comparison([changed(base, choices={"criterion": name}) for name in LONG], width)
    seen = [row[2] for row in rows_of(table)]
    assert len(set(seen)) == 2
    assert all(long in table for long in LONG) or width
    assert ("expected cost" in table) is not bool(width), "headings of numbers give way first"


def test_values_that_tuners_and_pruners_kept_have_columns_and_are_not_averaged():
    kept = lambda lam, alpha: {"kept_lam": lam, "kept_alpha": alpha}
    base = record("cart", "reduction", 1, 0.25)
    tuned = [
        attrs.evolve(base, metrics={**base.metrics, **kept(lam, 1e-5)})
        for lam in (10.0, 1.0, 10.0, 0.01)
    ]
    table = comparison([*tuned, record("id3", "reduction", 1, 0.25)])
    head, _, *rows = [line.split("  ") for line in table.splitlines() if line.strip()]
    names = [cell.strip() for cell in head if cell.strip()]
    assert names[2:6] == ["best", "test error", "kept alpha", "kept lam"]
    assert [[cell.strip() for cell in row if cell.strip()][3:6] for row in rows[:2]] == [
        ["0.2500 ± 0", "1e-05", "10, 0.01, 1"],
        ["0.2500", "–", "–"],
    ]


def test_many_kept_values_are_cut_short():
    base = record("cart", "reduction", 1, 0.25)
    table = comparison(
        [attrs.evolve(base, metrics={**base.metrics, "kept_lam": float(i)}) for i in range(6)]
    )
    assert "0, 1, 2, 3 …" in table


def solved(
    solver: str, value: float, bound: float, seed: int = 0, lam: float = 0.01, **fields
) -> Record:
    """A run of a solver."""
    base = record("exact", "none", seed, 0.25)
    status = Status.optimal if value == bound else Status.feasible
    chosen = changed(
        base,
        choices={"solver": solver, "objective": "accuracy"},
        solver=fields,
        objective={"lam": lam},
    )
    return attrs.evolve(chosen, solution=Solution(None, value, bound, status))


def test_solvers_show_what_they_found_and_proved():
    found = [
        solved("ours", 0.5, 0.5),
        solved("theirs", 0.5, 0.5),
        solved("theirs", 0.75, 0.25, seed=1),
        solved("slow", 0.75, 0.0),
    ]
    lines = [line.split() for line in comparison(found).splitlines()]
    assert lines[0][-6:] == ["value", "bound", "status", "runs", "fit", "s"]
    cells = {line[2]: " ".join(line[3:]) for line in lines if line[:1] == ["exact"]}
    assert cells["ours"].endswith("0.5000 0.5000 optimal 1 0.5000")
    assert cells["slow"].endswith("0.7500 0 feasible 1 0.5000")
    assert cells["theirs"].endswith("0.6250 0.3750 1 of 2 optimal 2 0.5000")
    assert "status" not in comparison([record("cart", c, 1, 0.1) for c in ("a", "b")])


def test_what_is_only_claimed_is_said_to_be():
    found = [solved("ours", 0.5, 0.5), *(solved("theirs", 0.5, 0.5, seed=seed) for seed in (0, 1))]
    told = [Checked.verified, Checked.claimed, Checked.verified]
    found = [
        attrs.evolve(one, solution=attrs.evolve(one.solution, checked=checked))
        for one, checked in zip(found, told, strict=True)
    ]
    cells = {
        line.split()[2]: line for line in comparison(found).splitlines() if line.startswith("exact")
    }
    assert " optimal  " in cells["ours"] and " 2 of 2 optimal, 1 claimed  " in cells["theirs"]
    assert " optimal (claimed)  " in comparison(found[:2])


def test_a_parameter_of_one_solver_needs_no_column_unless_it_varies():
    alone = comparison([solved("ours", 0.5, 0.5, threads=2), solved("theirs", 0.5, 0.5)])
    assert "threads" not in alone
    varied = comparison(
        [
            solved("ours", 0.5, 0.5, threads=2),
            solved("ours", 0.5, 0.5, threads=1),
            solved("theirs", 0.5, 0.5),
        ]
    )
    assert "threads" in varied.splitlines()[0]
