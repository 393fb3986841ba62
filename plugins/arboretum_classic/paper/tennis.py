"""Play-tennis: gains, gain ratios and the tree; and what a column of many values does to
information gain.
"""

from collections.abc import Mapping

import attrs
import numpy as np

from arboretum.api import (
    Axis,
    Claim,
    Facts,
    Judgement,
    Key,
    Keyed,
    Line,
    LineChart,
    Piece,
    Plain,
    Services,
    Table,
    csv_text,
)
from arboretum_classic.paper.reproduction import Lecture
from arboretum_classic.paper.study import grow, nominal_column, published, rounded_cell, table_of

TABLE, DIGITS = "play-tennis at the root", 1e-6
"""Of the gains that an independent program computed, and their last digit."""
CRITERIA = {
    "information gain": "reduction",
    "gain ratio": "gain_ratio",
    "C4.5 (gain ratio above the average gain)": "c45_textbook",
}
VALUES = (2, 4, 8, 16, 32, 64)
"""Numbers of values of the column that knows nothing of the class."""
ROWS, TRUE, OTHERS = 100, 0.75, 4
"""Rows of a drawn table; how often its column of two values agrees with the class; columns of
two values that know nothing, either.
"""


def pieces(paper: Lecture) -> list[Piece]:
    """Return one piece for play-tennis, and one of drawn tables per number of :data:`VALUES`."""
    drawn = (
        Piece({"chapter": "play_tennis", "values": k, "draws": paper.draws}, 0.02 * paper.draws)
        for k in VALUES
    )
    return [Piece({"chapter": "play_tennis"}, 0.1), *drawn]


def work(key: Key, seed: int, services: Services) -> Facts:
    """Return the scores at the root and trees of play-tennis, or who prefers a column of many
    values.

    Where ``key`` names a number of values: criterion → on how many drawn tables the column that
    knows nothing is chosen.  Else "scores": measure → column → number, "trees": name → root and
    leaves, and the tree of ID3 as "svg".
    """
    return (
        _measure_bias(services, key["values"], key["draws"], seed)
        if "values" in key
        else _measure_play_tennis(services)
    )


def _measure_play_tennis(services: Services) -> Facts:
    """Return scores at the root, also of the number of the day, and trees, as :func:`work` does."""
    table = services.component("dataset", "play-tennis").load(0)
    day = nominal_column("day", np.arange(table.n_rows))
    scores: Facts = {name: {} for name in ("information gain", "gain ratio", "gini gain")}
    for column in (*table.columns, day):
        alone = Table(column.name, (column,), table.target)
        for own, choices in zip(
            scores.values(), ({}, {"criterion": "gain_ratio"}, {"impurity": "gini"}), strict=True
        ):
            own[column.name] = float(
                grow(services, alone, "id3", {"stopping.standard.max_depth": 1}, **choices).score[0]
            )
    with_day = attrs.evolve(table, columns=(*table.columns, day))
    ways = {
        "ID3": ("id3", {}),
        "gain ratio": ("id3", {"criterion": "gain_ratio"}),
        "C4.5": ("c45", {}),
    }
    trees = {"ID3": grow(services, table, "id3")}
    trees |= {
        f"{name} with the day": grow(services, with_day, method, None, **choices)
        for name, (method, choices) in ways.items()
    }
    grown = {
        name: {"root": tree.rule(0).columns[0], "leaves": tree.n_leaves}
        for name, tree in trees.items()
    }
    return {
        "scores": scores,
        "trees": grown,
        "svg": trees["ID3"].to_svg(title="Shall we play tennis?"),
    }


def _measure_bias(services: Services, values: int, draws: int, seed: int) -> dict[str, int]:
    """Return criterion → on how many drawn tables the column that knows nothing is chosen.

    values : that this column has; draws : tables.
    """
    draw, chosen = np.random.default_rng([seed, values]), dict.fromkeys(CRITERIA, 0)
    for _ in range(draws):
        label = draw.integers(2, size=ROWS)
        informed = np.where(draw.random(ROWS) < TRUE, label, 1 - label)
        _, blind = np.unique(draw.integers(values, size=ROWS), return_inverse=True)
        others = [nominal_column(f"other {k}", draw.integers(2, size=ROWS)) for k in range(OTHERS)]
        table = table_of(
            "drawn",
            [nominal_column("informed", informed), nominal_column("blind", blind), *others],
            label,
        )
        for name, criterion in CRITERIA.items():
            tree = grow(
                services, table, "id3", {"stopping.standard.max_depth": 1}, criterion=criterion
            )
            chosen[name] += tree.n_nodes > 1 and tree.rule(0).columns[0] == "blind"
    return chosen


def judge(results: Keyed) -> Judgement:
    """Return the cells of gains and ratios at the root, and claims on the bias towards many values.

    What drawn tables show is undecided where a number of :data:`VALUES` has no result.
    """
    bias = {
        key["values"]: {name: n / key["draws"] for name, n in one.items()}
        for key, one in results
        if "values" in key
    }
    parts = [_judge_play_tennis(one) for key, one in results if "values" not in key]
    return Judgement.joined([*parts, *([_judge_bias(dict(sorted(bias.items())))] if bias else [])])


def _judge_play_tennis(found: Plain) -> Judgement:
    """Return the cells and claims of play-tennis.   found : as :func:`_measure_play_tennis`."""
    paper, scores, trees = published()["play_tennis"], found["scores"], found["trees"]
    gain, ratio = scores["information gain"], scores["gain ratio"]
    ours = {**scores, "split information": {name: gain[name] / ratio[name] for name in gain}}
    cells = [
        rounded_cell(
            TABLE, column, what, paper[what][column], ours[what][column], DIGITS, recomputed=True
        )
        for column in paper["p"]
        for what in ours
    ]
    cells.append(
        rounded_cell(
            TABLE,
            "the tree of ID3",
            "leaves",
            paper["leaves"],
            trees["ID3"]["leaves"],
            1.0,
            recomputed=True,
        )
    )
    reported = {
        name: f"{name}: {one['root']} at the root, {one['leaves']} leaves"
        for name, one in trees.items()
    }
    root = {name: one["root"] for name, one in trees.items()}
    why = (
        "the day's ratio is a quarter of its gain and still the largest; that C4.5 wants two "
        "branches of two rows refuses the day"
    )
    claims = [
        Claim.judged(
            "Figure: the tree asks for the outlook first", root["ID3"] == "outlook", reported["ID3"]
        ),
        Claim.judged(
            "information gain is biased towards attributes with many values: ID3 prefers the "
            "number of the day to all others",
            root["ID3 with the day"] == "day",
            f"{reported['ID3 with the day']}; gain {gain['day']:.4f}, "
            f"of outlook {gain['outlook']:.4f}",
        ),
        Claim.judged(
            "gain ratio corrects the bias on play-tennis with the day",
            root["gain ratio with the day"] != "day",
            f"{reported['gain ratio with the day']}; gain ratio {ratio['day']:.4f}, of outlook "
            f"{ratio['outlook']:.4f}",
            why,
        ),
        Claim.judged(
            "C4.5 does not ask for the day",
            root["C4.5 with the day"] == "outlook",
            reported["C4.5 with the day"],
        ),
    ]
    metrics = {f"leaves/{name}": float(one["leaves"]) for name, one in trees.items()}
    return Judgement.of_chapter(
        "play-tennis",
        {},
        metrics,
        cells=cells,
        claims=claims,
        pictures={"figure_play_tennis_tree": found["svg"]},
    )


def _judge_bias(shares: Mapping[int, Mapping[str, float]]) -> Judgement:
    """Return the claims on the bias towards many values, with a table and a chart.

    shares : number of values, ascending → criterion → share of the tables on which it is misled.
    """
    at = {name: [one[name] for one in shares.values()] for name in CRITERIA}
    gain, ratio, _ = at.values()
    reported = "; ".join(
        f"{name} {', '.join(f'{x:.0%}' for x in values)}" for name, values in at.items()
    )
    evidence = f"the latter is chosen at {', '.join(map(str, shares))} values: {reported}"
    sentences = {
        f"information gain comes to prefer to a column that is right on {TRUE:.0%} of the "
        "rows one of many values that knows nothing": gain[-1] > 0.5 and gain[-1] > gain[0],
        "gain ratio answers: it is misled at no number of values more often than information "
        "gain": all(np.less_equal(ratio, gain)),
    }
    claims = [
        Claim.judged(words, bool(holds) if len(shares) == len(VALUES) else None, evidence)
        for words, holds in sentences.items()
    ]
    lines = [
        Line(name, list(range(len(shares))), [100.0 * x for x in values])
        for name, values in at.items()
    ]
    axis = Axis(
        "values of a column that knows nothing of the class", names=[str(k) for k in shares]
    )
    reported = (
        f"{ROWS} rows; of the columns of two values one is right on {TRUE:.0%} of them, {OTHERS} "
        "know nothing"
    )
    chart = LineChart(
        "Is the column of many values asked first?",
        lines,
        axis,
        Axis("how often it is chosen, %"),
        reported,
    )
    rows: list[list[object]] = [
        ["values", *CRITERIA],
        *([k, *(f"{x:.4f}" for x in one.values())] for k, one in shares.items()),
    ]
    metrics = {f"misled_at_{max(shares)}/{name}": values[-1] for name, values in at.items()}
    tables, pictures = {"many_values.csv": csv_text(rows)}, {"many_values": chart}
    return Judgement.of_chapter(
        "many-valued attributes",
        {"rows": ROWS},
        metrics,
        claims=claims,
        tables=tables,
        pictures=pictures,
    )
