"""Design choices of the slides: five kinds of predicate, four strategies for missing values, cost
complexity, importance by level.

The slides list the predicates and the strategies and claim little of them.  So a predicate is tried
where it should help, on rows whose class is a predicate of its kind; a strategy where cells are
empty; a pruner where labels are false.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from arboretum.api import (
    Axis,
    BarChart,
    Claim,
    Column,
    ColumnKind,
    Facts,
    Judgement,
    Key,
    Keyed,
    Panels,
    Piece,
    Plain,
    Services,
    Table,
    csv_text,
    importances,
)
from arboretum_classic.paper.reproduction import Lecture
from arboretum_classic.paper.study import (
    claim_on_most,
    grow,
    mean_and_error,
    share_of_errors,
    split_rows,
    table_of,
    with_noise,
)

ROWS, COLUMNS = 200, 4
"""Of a drawn table, uniform between 0 and 1; as many rows again are for testing."""
KINDS: Mapping[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "threshold": ("x ≥ b", lambda x: x[:, 0] >= 0.6),
    "interval": ("a ≤ x ≤ b", lambda x: (x[:, 0] >= 0.3) & (x[:, 0] <= 0.7)),
    "m_of_n": (
        "Σ [a ≤ x ≤ b] ≤ d",
        lambda x: ((x[:, :3] >= 0.25) & (x[:, :3] <= 0.85)).sum(axis=1) <= 1,
    ),
    "oblique": ("Σ w x ≥ w₀", lambda x: x[:, 0] + x[:, 1] >= 1.0),
    "ball": ("ρ(x, x₀) ≤ w₀", lambda x: ((x[:, :COLUMNS] - 0.5) ** 2).sum(axis=1) <= 0.3),
}
"""Kind of predicate → as the slide writes it, and a class that is one (some 30 % to 60 % of the
rows).
"""
STRATEGIES = {
    "ignore": "ignore features with missing values",
    "own_category": "a category of its own",
    "fractional": "all children",
    "majority": "the majority branch",
}
"""Rule for missing values → the strategy on the slide."""
EMPTY = 0.2
"""Share of the cells that are empty, in every column but the last, of the rows for training and
of those for testing.
"""
FALSE_LABELS = 0.2
TOLERANCES = (0.0, 0.01, 0.02, 0.05)
"""Values of α at which both readings of the slide prune."""
HELD = {"split.train": 0.75, "split.valid": 0.25, "split.test": 0.0}


def pieces(paper: Lecture) -> list[Piece]:
    """Return one piece per kind of predicate, and one per question of :data:`WORK` and small data
    set.
    """
    key = {"chapter": "choices", "seeds": paper.seeds}
    drawn = [Piece({**key, "predicate": kind}, 0.2 * paper.seeds) for kind in KINDS]
    return [
        *drawn,
        *(
            Piece({**key, "about": about, "dataset": name}, 0.1 * paper.seeds)
            for about in WORK
            for name in paper.small
        ),
    ]


def work(key: Key, seed: int, services: Services) -> Any:
    """Return a list of what is measured, per division or drawn table, seeds from ``seed`` on."""
    one = _measure_predicate if "predicate" in key else WORK[key["about"]]
    return [one(services, key, s) for s in range(seed, seed + key["seeds"])]


def _measure_predicate(services: Services, key: Key, seed: int) -> list[float]:
    """Return the errors on new rows of one test of its kind, and of a whole tree of thresholds;
    leaves of that tree: in this order, as a file of results holds them.
    """
    x = np.random.default_rng([seed, list(KINDS).index(key["predicate"])]).random(
        (2 * ROWS, COLUMNS)
    )
    columns = [Column(f"x{j + 1}", ColumnKind.continuous, x[:, j]) for j in range(COLUMNS)]
    whole = table_of("drawn", columns, KINDS[key["predicate"]][1](x))
    train, test = (whole.take(rows) for rows in np.split(np.arange(2 * ROWS), 2))
    one = grow(
        services, train, "cart", {"stopping.standard.max_depth": 1}, predicate=[key["predicate"]]
    )
    tree = grow(services, train, "cart")
    return [share_of_errors(one, test), share_of_errors(tree, test), tree.n_leaves]


def _measure_gaps(services: Services, key: Key, seed: int) -> dict[str, float]:
    """Return strategy → share of errors on new rows with as many gaps; "complete": of the rows
    without gaps; "guess": of the majority class.
    """
    train, test = split_rows(services, key["dataset"], seed)
    draw = np.random.default_rng([seed, 2])
    holed, asked = _empty_cells(train, draw), _empty_cells(test, draw)
    nominal = any(column.kind is ColumnKind.categorical for column in train.columns)
    # a test of one category has no branch for rows without a value
    forms = {"own_category": "multiway"} if nominal else {}
    found = {
        rule: share_of_errors(
            grow(services, holed, "cart", encoder=forms.get(rule, "auto"), missing=rule),
            asked,
        )
        for rule in STRATEGIES
    }
    most = np.bincount(train.target.codes).argmax()
    return {
        **found,
        "complete": share_of_errors(grow(services, train, "cart"), test),
        "guess": float(np.mean(test.target.codes != most)),
    }


def _empty_cells(table: Table, draw: np.random.Generator) -> Table:
    """Return the table with a share EMPTY of its cells taken away; the last column stays, so that
    the strategy that ignores columns has one.
    """
    columns = []
    for column in table.columns[:-1]:
        empty = draw.random(table.n_rows) < EMPTY
        if column.is_continuous:
            columns.append(
                attrs.evolve(column, values=np.where(empty, np.nan, column.values.astype(float)))
            )
        else:
            columns.append(
                attrs.evolve(column, values=np.where(empty, np.int32(-1), column.values))
            )
    return attrs.evolve(table, columns=(*columns, table.columns[-1]))


def _measure_pruning(services: Services, key: Key, seed: int) -> Facts:
    """Return [leaves, share of errors] of the tree that is "whole" and of that whose α validation
    rows have "chosen"; "readings": of both readings of the slide, at every α of TOLERANCES.
    """
    train, test = split_rows(services, key["dataset"], seed)
    noisy = with_noise(train, "label", FALSE_LABELS, np.random.default_rng([seed, 1]))

    def grown(pruner: str = "", **fields: Any) -> list[float]:
        """Return [leaves, share of errors].   pruner : its name, with its fields; "": whole."""
        values = {**HELD, **{f"pruner.{name}": value for name, value in fields.items()}}
        tree = grow(
            services,
            noisy,
            "cart",
            values,
            split="holdout",
            **({"pruner": pruner} if pruner else {}),
        )
        return [tree.n_leaves, share_of_errors(tree, test)]

    readings = [
        [
            grown("reduced_error", tolerance=a),
            grown("cost_complexity", risk="error", alpha=a),
        ]
        for a in TOLERANCES
    ]
    return {
        "whole": grown(),
        "chosen": grown("cost_complexity", path=True),
        "readings": readings,
    }


def _measure_levels(services: Services, key: Key, seed: int) -> Facts:
    """Measure an oblivious tree of depth 4.

    Returns "attributes": how many each level asks for; "by_level": column → share of the decrease
    of impurity of its levels; "told": column → its importance.
    """
    train, _test = split_rows(services, key["dataset"], seed)
    tree = grow(services, train, "oblivious", {"stopping.standard.max_depth": 4})
    levels: dict[int, set[str]] = {}
    for node in tree.inner.tolist():
        levels.setdefault(int(tree.depth_of[node]), set()).add(
            " and ".join(tree.rule(node).columns)
        )
    below = np.zeros(tree.n_nodes)
    np.add.at(below, tree.parent[1:], tree.mass[1:] * tree.impurity[1:])
    lost = np.where(tree.is_leaf, 0.0, tree.mass * tree.impurity - below)
    by_level = [float(lost[tree.depth_of == d].sum()) for d in levels]
    by_column: dict[str, float] = {}
    for names, x in zip(levels.values(), by_level, strict=True):
        by_column[min(names)] = by_column.get(min(names), 0.0) + x / (sum(by_level) or 1.0)
    return {
        "attributes": [len(names) for names in levels.values()],
        "by_level": by_column,
        "told": {one["column"]: one["decrease"] for one in importances(tree)},
    }


WORK: Mapping[str, Callable[..., Any]] = {
    "gaps": _measure_gaps,
    "complexity": _measure_pruning,
    "levels": _measure_levels,
}


def judge(results: Keyed) -> Judgement:
    """Return the claims on predicates, missing values, cost complexity and importance by level.

    Each has a table (CSV), the first two a picture; one without results is left out.
    """
    drawn = {key["predicate"]: np.array(one) for key, one in results if "predicate" in key}
    by = {
        about: {key["dataset"]: one for key, one in results if key.get("about") == about}
        for about in WORK
    }
    ways: tuple[tuple[Callable[..., Judgement], Facts], ...] = (
        (_claims_on_predicates, drawn),
        (_claims_on_missing_values, by["gaps"]),
        (_claims_on_pruning, by["complexity"]),
        (_claims_on_levels, by["levels"]),
    )
    return Judgement.joined([judged(found) for judged, found in ways if found])


def _claims_on_predicates(drawn: Mapping[str, np.ndarray]) -> Judgement:
    """Return the claims on kinds of predicate, with a table and a picture.

    drawn : kind → float64[tables, 3], as :func:`_measure_predicate` returns one.
    """
    claims = []
    rows = [
        [
            "predicate",
            "written",
            "error of one test",
            "error of a tree of thresholds",
            "its leaves",
        ]
    ]
    for kind, found in drawn.items():
        own, whole, leaves = found.mean(axis=0)
        rows.append([kind, KINDS[kind][0], *(f"{x:.5f}" for x in (own, whole)), f"{leaves:.1f}"])
        fewer = found[:, 0] <= found[:, 1]
        reported = (
            f"errors on new rows {own:.1%} by one test, {whole:.1%} by a whole tree of "
            f"thresholds with {leaves:.1f} leaves; no more on {fewer.sum()} of {len(found)} "
            "tables"
        )
        sentence = (
            f"the type of predicate is a design choice: where the class is [{KINDS[kind][0]}], "
            "one test of that kind errs no more than a whole tree of thresholds"
        )
        claims.append(Claim.judged(sentence, bool(2 * fewer.sum() > len(found)), reported))
    bars = [[100 * x for x in found.mean(axis=0)[:2]] for found in drawn.values()]
    picture = Panels.of_bars(
        "One test of its kind, or a tree of thresholds",
        list(drawn),
        ["one test", "thresholds"],
        bars,
        Axis("test rows in error, %"),
        own_scales=True,
    )
    return Judgement.of_chapter(
        "predicates",
        {"rows": ROWS},
        {},
        claims=claims,
        tables={"predicates.csv": csv_text(rows)},
        pictures={"predicates": picture},
    )


def _claims_on_missing_values(found: Mapping[str, Sequence[Mapping[str, float]]]) -> Judgement:
    """Return the claims on strategies for missing values, with a table and a picture.

    found : data set → what :func:`_measure_gaps` returns, per division.
    """
    means = {
        name: {rule: mean_and_error([one[rule] for one in seeds]) for rule in seeds[0]}
        for name, seeds in found.items()
    }
    rows = [["data set", "strategy", "test error", "std. error"]]
    rows += [
        [name, STRATEGIES.get(rule, rule), f"{x:.5f}", f"{error:.5f}"]
        for name, one in means.items()
        for rule, (x, error) in one.items()
    ]
    claims = []
    for rule, words in STRATEGIES.items():
        better = {name: one[rule][0] < one["guess"][0] for name, one in means.items()}
        reported = ", ".join(
            f"{name} {one[rule][0]:.1%} (guess {one['guess'][0]:.1%}, complete rows "
            f"{one['complete'][0]:.1%})"
            for name, one in means.items()
        )
        claims.append(
            claim_on_most(
                f"trees handle missing values: by {words} ({EMPTY:.0%} of the cells empty) "
                "they err less than a guess",
                better,
                reported,
            )
        )
    mean = {
        rule: 100 * float(np.mean([one[rule][0] for one in means.values()]))
        for rule in (*STRATEGIES, "complete")
    }
    picture = BarChart(
        "Four strategies for missing values",
        [*STRATEGIES.values(), "no cell is empty"],
        list(mean.values()),
        Axis("test rows in error, mean over data sets, %"),
    )
    metrics = {f"error/{rule}": x for rule, x in mean.items()}
    return Judgement.of_chapter(
        "missing values",
        {"empty": EMPTY},
        metrics,
        claims=claims,
        tables={"missing.csv": csv_text(rows)},
        pictures={"missing": picture},
    )


def _claims_on_pruning(found: Mapping[str, Sequence[Plain]]) -> Judgement:
    """Return the claims on cost complexity, with a table.

    found : data set → what :func:`_measure_pruning` returns, per division.
    """
    both = {
        name: [np.mean([one[way] for one in seeds], axis=0) for way in ("whole", "chosen")]
        for name, seeds in found.items()
    }
    better = {name: bool(chosen[1] <= whole[1]) for name, (whole, chosen) in both.items()}
    reported = ", ".join(
        f"{name} {w[0]:.0f} leaves {w[1]:.1%}, {c[0]:.0f} leaves {c[1]:.1%}"
        for name, (w, c) in both.items()
    )
    pairs = [
        (one[0][0], one[1][0])
        for seeds in found.values()
        for seed in seeds
        for one in seed["readings"]
    ]
    same = sum(a == b for a, b in pairs)
    claims = [
        claim_on_most(
            "the smaller the complexity, the better it generalises: α chosen on validation "
            f"rows, {FALSE_LABELS:.0%} false labels, no more errors than the whole tree",
            better,
            reported,
        ),
        Claim.judged(
            "cost complexity: accepting a rise of the validation error by α is, in other "
            "words, to minimise error + α · size",
            same == len(pairs),
            f"both readings keep as many leaves in {same} of {len(pairs)} trees (α = "
            f"{', '.join(map(str, TOLERANCES))})",
        ),
    ]
    rows = [["data set", "tree", "leaves", "test error"]]
    rows += [
        [name, way, f"{leaves:.2f}", f"{x:.5f}"]
        for name, one in both.items()
        for way, (leaves, x) in zip(("whole", "chosen on validation rows"), one, strict=True)
    ]
    return Judgement.of_chapter(
        "cost complexity",
        {"false_labels": FALSE_LABELS},
        {},
        claims=claims,
        tables={"cost_complexity.csv": csv_text(rows)},
    )


def _claims_on_levels(found: Mapping[str, Sequence[Plain]]) -> Judgement:
    """Return the claims on oblivious trees, with a table.

    found : data set → what :func:`_measure_levels` returns, per division.
    """
    every = [(name, one) for name, seeds in found.items() for one in seeds]
    single = [max(one["attributes"], default=1) == 1 for _, one in every]
    apart = [
        max(
            (abs(one["by_level"].get(column, 0.0) - x) for column, x in one["told"].items()),
            default=0.0,
        )
        for _, one in every
    ]
    claims = [
        Claim.judged(
            "oblivious: there is the same attribute in each branch within one level",
            all(single),
            f"in {sum(single)} of {len(single)} trees",
        ),
        Claim.judged(
            "oblivious: feature importance by design: what a level decreases the impurity by "
            "is its attribute's importance",
            max(apart) < 1e-9,
            f"levels against importances of columns, {len(apart)} trees: apart by "
            f"{max(apart):.1e} at most",
        ),
    ]
    rows: list[list[object]] = [["data set", "division", "attribute", "importance"]]
    rows += [
        [name, k, column, f"{x:.5f}"]
        for name, seeds in found.items()
        for k, one in enumerate(seeds)
        for column, x in one["told"].items()
    ]
    return Judgement.of_chapter(
        "importance by level",
        {"depth": 4},
        {},
        claims=claims,
        tables={"levels.csv": csv_text(rows)},
    )
