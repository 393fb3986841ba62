"""Play-tennis: gains, gain ratios and the tree; and what a column of many values does to information gain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.api import Axis, Claim, House, Judgement, Line, LineChart, Piece, Table, csv_text
from arboretum_classic.lecture import nominal, published, rounded, run, table_of

DIGITS = 1e-6
"""Last digit of the published gains."""
CRITERIA = {"information gain": "reduction", "gain ratio": "gain_ratio", "C4.5 (gain ratio above the average gain)": "c45_textbook"}
VALUES = (2, 4, 8, 16, 32, 64)
"""Numbers of values of the column that knows nothing of the class."""
ROWS, TRUE = 100, 0.75
"""Rows of a drawn table, and how often its column of two values agrees with the class."""


def pieces(paper: Any) -> list[Piece]:
    return [Piece({"chapter": "play_tennis"}, 0.1), *(Piece({"chapter": "play_tennis", "values": k, "draws": paper.draws}, 0.02 * paper.draws) for k in VALUES)]


def work(key: Mapping[str, Any], seed: int, house: House) -> dict[str, Any]:
    return _bias(house, key["values"], key["draws"], seed) if "values" in key else _tennis(house)


def _tennis(house: House) -> dict[str, Any]:
    table = house.component("dataset", "play-tennis").load(0)
    day = nominal("day", np.arange(table.n_rows), [f"D{k + 1}" for k in range(table.n_rows)])
    found: dict[str, Any] = {name: {} for name in ("information gain", "gain ratio", "gini gain")}
    for column in (*table.columns, day):
        alone = Table(column.name, (column,), table.target)
        for name, choices in zip(found, ({}, {"criterion": "gain_ratio"}, {"impurity": "gini"}), strict=True):
            found[name][column.name] = float(run(house, alone, "id3", {"stopping.standard.max_depth": 1}, **choices).tree.score[0])
    with_day = attrs.evolve(table, columns=(*table.columns, day))
    grown = {
        "ID3": run(house, table, "id3"), "C4.5": run(house, table, "c45"), "ID3 with the day": run(house, with_day, "id3"),
        "gain ratio with the day": run(house, with_day, "id3", criterion="gain_ratio"), "C4.5 with the day": run(house, with_day, "c45"),
    }  # fmt: skip
    trees = {name: {"root": one.tree.rule(0).columns[0], "leaves": one.tree.n_leaves, "errors": one.metrics["train_error"]} for name, one in grown.items()}
    return {"scores": found, "trees": trees, "svg": grown["ID3"].tree.to_svg(title="Shall we play tennis?")}


def _bias(house: House, values: int, draws: int, seed: int) -> dict[str, int]:
    """Criterion → how often the column that knows nothing is chosen."""
    draw, chosen = np.random.default_rng([seed, values]), dict.fromkeys(CRITERIA, 0)
    for _ in range(draws):
        label = draw.integers(2, size=ROWS)
        informed = np.where(draw.random(ROWS) < TRUE, label, 1 - label)
        _, blind = np.unique(draw.integers(values, size=ROWS), return_inverse=True)
        table = table_of("drawn", [nominal("informed", informed), nominal("blind", blind)], label)
        for name, criterion in CRITERIA.items():
            tree = run(house, table, "id3", {"stopping.standard.max_depth": 1}, criterion=criterion).tree
            chosen[name] += tree.n_nodes > 1 and tree.rule(0).columns[0] == "blind"
    return chosen


def judge(results: Sequence[tuple[Mapping[str, Any], Any]]) -> Judgement:
    bias = {key["values"]: {name: n / key["draws"] for name, n in one.items()} for key, one in results if "values" in key}
    parts = [_judged(one) for key, one in results if "values" not in key]
    return Judgement.joined([*parts, *([_judged_bias(dict(sorted(bias.items())))] if bias else [])])


def _judged(found: Mapping[str, Any]) -> Judgement:
    paper, scores, trees = published()["play_tennis"], found["scores"], found["trees"]
    ours = {**scores, "split information": {name: gain / scores["gain ratio"][name] for name, gain in scores["information gain"].items()}}
    cells = [rounded("play-tennis at the root", column, what, paper[what][column], ours[what][column], DIGITS) for what in ours for column in paper[what]]
    cells.sort(key=lambda cell: list(paper["p"]).index(cell.row))
    cells.append(rounded("play-tennis at the root", "the tree of ID3", "leaves", paper["leaves"], trees["ID3"]["leaves"], 1.0))
    told = {name: f"{name}: {one['root']} at the root, {one['leaves']} leaves" for name, one in trees.items()}
    claims = [
        Claim.judged("Figure: the tree asks for the outlook first", trees["ID3"]["root"] == "outlook", told["ID3"]),
        Claim.judged(
            "information gain is biased towards attributes with many values: ID3 prefers the number of the day to all others", trees["ID3 with the day"]["root"] == "day",
            f"{told['ID3 with the day']}; gain {scores['information gain']['day']:.4f}, of outlook {scores['information gain']['outlook']:.4f}",
        ),
        Claim.judged(
            "gain ratio corrects the bias on play-tennis with the day", trees["gain ratio with the day"]["root"] != "day",
            f"{told['gain ratio with the day']}; gain ratio {scores['gain ratio']['day']:.4f}, of outlook {scores['gain ratio']['outlook']:.4f}",
            "on 14 rows the ratio falls to a quarter of the gain and is still the largest; that C4.5 wants two branches of two rows refuses the day",
        ),
        Claim.judged("C4.5 does not ask for the day", trees["C4.5 with the day"]["root"] == "outlook", told["C4.5 with the day"]),
    ]  # fmt: skip
    header = ["attribute", *ours]
    rows = [[column, *(f"{ours[what][column]:.6f}" for what in ours)] for column in scores["gain ratio"]]
    metrics = {f"leaves/{name}": float(one["leaves"]) for name, one in trees.items()}
    return Judgement.of_chapter(
        "play-tennis", {"dataset": "play-tennis"}, metrics, cells=cells, claims=claims, tables={"play_tennis.csv": csv_text([header, *rows])},
        pictures={"figure_play_tennis_tree": found["svg"]},
    )  # fmt: skip


def _judged_bias(shares: Mapping[int, Mapping[str, float]]) -> Judgement:
    most = max(shares)
    at = {name: [one[name] for one in shares.values()] for name in CRITERIA}
    words = "; ".join(f"{name} " + ", ".join(f"{x:.0%}" for x in values) for name, values in at.items())
    evidence = f"chosen at {', '.join(map(str, shares))} values: {words}"
    gain, ratio = at["information gain"], at["gain ratio"]
    whole = most == VALUES[-1]
    claims = [
        Claim.judged(
            f"information gain comes to prefer a column that knows nothing to one that is right on {TRUE:.0%} of the rows, as its values become many",
            gain[-1] > 0.5 and gain[-1] > gain[0] if whole else None, evidence,
        ),
        Claim.judged("gain ratio answers: it is misled less often wherever the two differ", all(r <= g for r, g in zip(ratio, gain, strict=True)) if whole else None, evidence),
    ]  # fmt: skip
    lines = [Line(name, list(range(len(shares))), [100.0 * x for x in values], dashed=name.startswith("C4.5")) for name, values in at.items()]
    chart = LineChart(
        "Which column is asked first?", lines, Axis("values of the column that knows nothing of the class", names=[str(k) for k in shares]),
        Axis("how often it is chosen, %"), f"{ROWS} rows; the other column has two values and is right on {TRUE:.0%} of them",
        ("Of two columns only the one of larger gain is above their average: there C4.5's filter chooses by gain.",),
    )  # fmt: skip
    rows = [["values", *CRITERIA], *([k, *(f"{x:.4f}" for x in one.values())] for k, one in shares.items())]
    metrics = {f"misled_at_{most}/{name}": values[-1] for name, values in at.items()}
    return Judgement.of_chapter("many-valued attributes", {"rows": ROWS}, metrics, claims=claims, tables={"many_values.csv": csv_text(rows)}, pictures={"many_values": chart})
