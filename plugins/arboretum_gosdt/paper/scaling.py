"""Scalability (I.7, Figures 6 and 14 to 17): time and work by rows, by a prefix of the binary
features, and by adjacent thresholds combined.

Trees of depth 5 and at most 32 leaves, or λ = 1/32.  Sentences about growth are judged by what was
looked at (sets of rows, itemsets, leaf sets), which is exact; those about who is faster by seconds.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from arboretum.api import (
    Axis,
    BudgetError,
    Claim,
    Facts,
    Judgement,
    Key,
    Keyed,
    Line,
    LineChart,
    Panels,
    Piece,
    Services,
    Table,
    csv_text,
    sure,
)
from arboretum_gosdt.paper.reproduction import GosdtStudy
from arboretum_gosdt.paper.study import (
    CALLED,
    COLOURS,
    OURS,
    PENALISED,
    bits_of,
    is_installed,
    load_table,
    majority,
    published,
    run,
    table_of_bits,
)


class Point(NamedTuple):
    """A run of a method on a table of a size.

    size : rows, features, or how many neighbours are combined.
    work : sets, itemsets or iterations that it looked at.
    features, rows : binary columns of the table, and its different rows.
    """

    size: int
    seconds: float
    work: int
    finished: bool
    features: int
    rows: int


Curves = Mapping[tuple[str, str, str], Sequence[Point]]
"""(way, data set, method) → points."""


DATA = ("bar-7", "compas-2016", "compas", "fico-1000")
WAYS = ("samples", "features", "combined")
METHODS = ("gosdt_reference", "gosdt", "pygosdt", "rank", "osdt", "dl85", "cart")
TIMEOUTS = 3
"""Runs out of time that end a curve."""
SIZES = 9
TOGETHER = (256, 128, 64, 32, 16, 8, 4, 2, 1)
"""k, how many adjacent binary features are one."""
DOUBLED = 1.25
"""Work grows logarithmically in rows where the last doubling of the rows multiplies it by no
more; linear growth is 2.
"""
SAME = 1.1
"""What grows by no more over the last doubling is constant."""
ORDERS = 100.0
"""Several orders of magnitude, as a factor of the seconds."""
LEAST = 0.001
"""Seconds below which a run counts as that long."""
COST = {"bar-7": 0.3, "compas-2016": 2.0, "compas": 4.0, "fico-1000": 4.0}
"""What a curve takes in multiples of the seconds of a run."""


def pieces(paper: GosdtStudy) -> list[Piece]:
    """Return a curve for every wanted data set, way to grow it (rows, features, combined features)
    and method; on bar-7 also BinOCT's run and the itemsets of DL8.5.
    """
    own = [
        Piece(
            {
                "chapter": "scaling",
                "dataset": name,
                "way": way,
                "method": method,
                "seconds": paper.seconds,
            },
            (0.2 if method == "cart" else COST[name]) * paper.seconds,
        )
        for name in DATA
        if paper.wants(name)
        for way in WAYS
        for method in METHODS
    ]
    more = [
        Piece(
            {
                "chapter": "scaling",
                "dataset": "bar-7",
                "method": "binoct",
                "seconds": paper.seconds,
            },
            2 * paper.seconds,
        ),
        Piece({"chapter": "scaling", "dataset": "bar-7", "method": "dl85", "itemsets": 5}, 0.5),
    ]
    return own + (more if paper.wants("bar-7") else [])


def fields_of(method: str) -> Facts:
    """Return the fields of a run of a method, as the paper configures it."""
    paper = published()["scalability"]
    if method in PENALISED:
        return {"objective.lam": paper["lambda"]}
    if method == "cart":
        return {
            "stopping.standard.max_depth": paper["depth"],
            "stopping.standard.max_leaves": paper["leaves"],
            "method.order": "best",
        }
    return {"stopping.standard.max_depth": paper["depth"], "objective.lam": 0.0}


def work(key: Key, seed: int, services: Services) -> Facts:
    """Return a curve, or one run.

    points : rows of [size, seconds, work, finished, binary features, different rows].
    """
    name, method = key["dataset"], key["method"]
    if not is_installed(services, method):
        return {"absent": True}
    if "way" not in key:
        return _run_once(key, services)
    points, late = [], 0
    for size, table in tables_by_size(services, name, key["way"], seed):
        if late >= TIMEOUTS:
            break
        try:
            found = run(services, table, method, fields_of(method), key["seconds"])
            one = [found.seconds, found.work, found.finished]
        except BudgetError:
            one = [key["seconds"], 0, False]
        late += not one[-1]
        columns = np.array([column.values for column in table.columns])
        points.append([size, *one, len(table.columns), len(np.unique(columns, axis=1).T)])
    return {"points": points}


def _run_once(key: Key, services: Services) -> Facts:
    """Return BinOCT's run at the depth of the curves; or the itemsets of DL8.5 and the sets of rows
    that they are.
    """
    bits, names = bits_of(services, key["dataset"])
    table = table_of_bits(load_table(services, key["dataset"]), bits, names)
    if "itemsets" in key:
        found = run(services, table, "dl85", {**fields_of("dl85"), "solver.row_sets": True}, 60.0)
        return {"itemsets": found.details["itemsets"], "row_sets": found.details["row_sets"]}
    found = run(services, table, key["method"], fields_of(key["method"]), key["seconds"])
    return {"finished": found.finished, "seconds": key["seconds"], "spent": found.seconds}


def tables_by_size(
    services: Services, name: str, way: str, seed: int
) -> Iterator[tuple[int, Table]]:
    """Yield (size, table), by what grows.

    way : "samples", rows in a drawn order; "features", the first ones by column, then threshold;
        "combined", k neighbours combined by "or", from many to 1.
    seed : of the order of rows.
    """
    bits, names = bits_of(services, name)
    table, (features, rows) = load_table(services, name), bits.shape
    if way == "samples":
        order = np.random.default_rng(seed).permutation(rows)
        for n in np.unique(np.geomspace(rows / 16, rows, SIZES).astype(int)):
            some = order[:n]
            kept = [k for k in range(features) if len(np.unique(bits[k, some])) > 1]
            yield (
                int(n),
                table_of_bits(table.take(some), bits[kept][:, some], [names[k] for k in kept]),
            )
    elif way == "features":
        for m in np.unique(np.geomspace(min(4, features), features, SIZES).astype(int)):
            yield int(m), table_of_bits(table, bits[:m], names[:m])
    else:
        for k in TOGETHER:
            joined = {names[i]: bits[i : i + k].any(axis=0) for i in range(0, features, k)}
            joined = {asked: one for asked, one in joined.items() if one.any() and not one.all()}
            if len(joined) > 1:
                yield k, table_of_bits(table, np.array(list(joined.values())), list(joined))


def judge(results: Keyed) -> Judgement:
    """Claims of I.7 and §5 about how work grows and who is faster, and of §4.1 about itemsets; all
    points as a table, time and slow-down as panels per way (Figures 6 and 14 to 17).
    """
    curves: dict[tuple[str, str, str], list[Point]] = {}
    claims, notes = [], []
    for key, one in results:
        if "way" in key and "absent" not in one:
            points = [Point(*row) for row in one["points"]]
            curves[key["way"], key["dataset"], key["method"]] = points
    claims += (
        _judge_growth_by_rows(curves)
        + _judge_different_rows(curves)
        + _judge_most_features(curves)
        + _judge_growth_by_features(curves)
        + _judge_slow_down_by_thresholds(curves)
        + _judge_faster(curves)
        + _judge_advantage(curves)
        + _judge_slow_down(curves)
    )
    for _, one in results:
        if "itemsets" in one:
            reported = (
                f"{one['itemsets']:,} itemsets are {one['row_sets']:,} sets of rows (bar-7, "
                "depth 5; exact numbers)"
            )
            claims.append(
                Claim.judged(
                    "§4.1: DL8.5 meets one problem several times",
                    one["itemsets"] > one["row_sets"],
                    reported,
                )
            )
        if "finished" in one:
            holds = False if one["finished"] else True if one["seconds"] >= 300 else None
            reported = (
                f"{'finished' if one['finished'] else 'not finished'} after {one['spent']:.0f} s "
                f"of {one['seconds']:g}"
            )
            claims.append(
                Claim.judged(
                    "I.7: BinOCT finishes nowhere at depth 5 within 300 s",
                    holds,
                    f"{reported} on bar-7, its smallest table",
                )
            )
    if not curves:
        return Judgement(claims=claims)
    rows = [[*place, *point] for place, points in sorted(curves.items()) for point in points]
    header = [
        "way",
        "dataset",
        "method",
        "size",
        "seconds",
        "work",
        "finished",
        "binary_features",
        "different_rows",
    ]
    pictures = {
        f"scaling_{way}_{what}": _draw_curves(curves, way, what)
        for way in WAYS
        for what in ("time", "slow_down")
        if any(place[0] == way for place in curves)
    }
    notes.append(
        f"Scalability: {len(rows)} runs on {len(curves)} curves, "
        f"{sum(not row[6] for row in rows)} of them out of time."
    )
    tables, metrics = {"scaling.csv": csv_text([header, *rows])}, {"runs": float(len(rows))}
    return Judgement.of_chapter(
        "scalability", {}, metrics, claims=claims, tables=tables, pictures=pictures, notes=notes
    )


def finished_points(points: Sequence[Point]) -> list[Point]:
    """Return the points of a curve up to the first that is not finished."""
    found = []
    for point in points:
        if not point.finished:
            break
        found.append(point)
    return found


def _all_curves_done(curves: Curves, ways: Sequence[str], methods: Sequence[str]) -> bool:
    """Return whether all data sets have a curve of these ways and methods; before that a trend is
    open.
    """
    return all((way, name, m) in curves for way in ways for name in DATA for m in methods)


def _growth_by_doubling(points: Sequence[Point], field: str) -> float | None:
    """Return by what the last doubling of the size multiplies a field of the points, of a curve
    that got to its end; None of others.
    """
    if len(points) < 2 or not points[-1].finished or not points[-2].finished:
        return None
    before, last = points[-2:]
    grown = getattr(last, field) / max(getattr(before, field), 1)
    return float(grown ** (np.log(2) / np.log(last.size / before.size)))


def _judge_growth_by_rows(curves: Curves) -> list[Claim]:
    """Judge whether GOSDT's work grows by a factor of at most ``DOUBLED`` over the last doubling of
    the rows; open where its curve did not get to the end.
    """
    claims = []
    for name in ("bar-7", "compas-2016"):
        growth = {
            m: _growth_by_doubling(curves["samples", name, m], "work")
            for m in PENALISED
            if ("samples", name, m) in curves
        }
        if growth:
            known = {m: x for m, x in growth.items() if x is not None}
            holds = None if "gosdt_reference" not in known else known["gosdt_reference"] <= DOUBLED
            reported = (
                ", ".join(f"{CALLED[m]} × {x:.2f}" for m, x in known.items())
                or "no curve got to its end"
            )
            claims.append(
                Claim.judged(
                    f"I.7: on {name} GOSDT's time grows logarithmically with the rows",
                    holds,
                    f"work over the last doubling of the rows: {reported} (at most {DOUBLED:g})",
                )
            )
    return claims


def _judge_different_rows(curves: Curves) -> list[Claim]:
    """Judge the growth of different rows against that of work, on bar-7."""
    claims = []
    for method in ("gosdt_reference", "pygosdt"):
        points = curves.get(("samples", "bar-7", method))
        if points:
            work_, rows = (_growth_by_doubling(points, field) for field in ("work", "rows"))
            known = work_ is not None and rows is not None
            reported = (
                f"over the last doubling of the rows different rows × {rows:.2f}, work × "
                f"{work_:.2f}"
                if known
                else "the curve did not get to its end"
            )
            holds = sure(work_) <= SAME if known and sure(rows) <= SAME else None
            sentence = (
                f"I.7: {CALLED[method]}'s slow-down on bar-7 becomes constant once the "
                "equivalence classes saturate"
            )
            claims.append(Claim.judged(sentence, holds, f"{reported} (constant: at most {SAME:g})"))
    return claims


def _judge_most_features(curves: Curves) -> list[Claim]:
    """Compare the most features that each full tree method finished; a tie puts none ahead."""
    cases: list[tuple[bool | None, str]] = []
    for name in DATA:
        own = {
            m: done[-1].features if (done := finished_points(curves["features", name, m])) else 0
            for m in METHODS
            if m != "cart" and ("features", name, m) in curves
        }
        if (gosdt := own.get("gosdt_reference")) is not None:
            others = [n for m, n in own.items() if m not in ("gosdt_reference", *OURS)]
            ahead = None if all(gosdt == n for n in others) else all(gosdt >= n for n in others)
            cases.append(
                (ahead, f"{name}: " + ", ".join(f"{CALLED[m]} {n}" for m, n in own.items()))
            )
    return majority(
        "I.7: GOSDT usually has a higher limit on the binary features than the other exact methods",
        cases,
        f"ahead on {{yes}}, behind on {{no}} of {len(cases)} data sets; features finished with: "
        "{each}",
        any(ahead is not None for ahead, _ in cases)
        and _all_curves_done(curves, ("features",), ("gosdt_reference",)),
    )


def _judge_growth_by_features(curves: Curves) -> list[Claim]:
    """Judge whether GOSDT's work grows faster than any power of the features: in the logarithms of
    both the second half of the curve is steeper than the first.
    """
    cases = []
    for name in DATA:
        points = [
            point
            for point in finished_points(curves.get(("features", name, "gosdt_reference"), ()))
            if point.work > 0
        ]
        if len(points) >= 4:
            x, y = np.log([(point.features, point.work) for point in points]).T
            half = len(points) // 2
            first, second = (
                float(np.polyfit(x[part], y[part], 1)[0])
                for part in (slice(0, half + 1), slice(half, None))
            )
            cases.append((second > first, f"{name} {first:.1f} and {second:.1f}"))
    return majority(
        "I.7: the time is about factorial in the number of binary features",
        cases,
        "power of the features by which GOSDT's work grows, first and second half of the curve: "
        "{each} (factorial: rising)",
        len(cases) > 1,
    )


def _rows_and_features(curves: Curves) -> list[str]:
    """Those of the first two ways to grow a table that are there."""
    return [way for way in WAYS[:2] if any(place[0] == way for place in curves)]


def _slower_by(
    curves: Curves, ways: Sequence[str], method: str
) -> Iterator[tuple[str, str, float, float, float]]:
    """Yield (data set, way, size, time over one's own fastest of GOSDT, and of a method) at the
    largest size that both finished.

    Only where both finished two sizes or more; times below LEAST count as that.
    """
    for way in ways:
        for name in DATA:
            both = [
                finished_points(curves.get((way, name, m), ())) for m in ("gosdt_reference", method)
            ]
            n = min(map(len, both))
            if n > 1:
                own, theirs = (
                    max(one[n - 1].seconds, LEAST) / max(min(point.seconds for point in one), LEAST)
                    for one in both
                )
                yield name, way, both[0][n - 1].size, own, theirs


def _is_less(one: float, other: float) -> bool | None:
    """Return whether a number is less than another, None where neither is."""
    return None if one == other else one < other


def _judge_slow_down_by_thresholds(curves: Curves) -> list[Claim]:
    """Judge by Figure 6 whether GOSDT slows down less than DL8.5 and OSDT, where more thresholds
    are told apart: time at the largest size that both finished, over their own fastest.
    """
    return [
        claim
        for rival in ("dl85", "osdt")
        for claim in majority(
            f"§5, Figure 6: with more thresholds GOSDT slows down less than {CALLED[rival]}",
            [
                (_is_less(own, theirs), f"{name} (k = {k}) {own:.1f} against {theirs:.1f}")
                for name, _, k, own, theirs in _slower_by(curves, ("combined",), rival)
            ],
            "less on {yes}, more on {no} data sets; time over one's own fastest: {each}",
            _all_curves_done(curves, ("combined",), ("gosdt_reference", rival)),
        )
    ]


def _judge_faster(curves: Curves) -> list[Claim]:
    """Judge who is faster, and by which factor, by the seconds at the largest size that the one
    finished and the other tried, by features and by rows; what is out of time counts as its time.
    """
    claims = []
    for sentence, ahead, behind, factor in (
        (
            "I.7: GOSDT is several orders of magnitude faster than DL8.5",
            "gosdt_reference",
            "dl85",
            ORDERS,
        ),
        (
            "I.7 with the certified solver: several orders of magnitude faster than DL8.5",
            "gosdt",
            "dl85",
            ORDERS,
        ),
        (
            "I.7: GOSDT has a slight advantage over OSDT on larger data sets",
            "gosdt_reference",
            "osdt",
            1.0,
        ),
        ("I.7: OSDT is faster than PyGOSDT", "osdt", "pygosdt", 1.0),
        ("I.7: GOSDT performs better than PyGOSDT", "gosdt_reference", "pygosdt", 1.0),
    ):
        cases, ways = [], _rows_and_features(curves)
        for way in ways:
            for name in DATA:
                one = finished_points(curves.get((way, name, ahead), ()))
                other = curves.get((way, name, behind), ())
                n = min(len(one), len(other))
                if n:
                    ratio = max(other[n - 1].seconds, LEAST) / max(one[n - 1].seconds, LEAST)
                    cases.append((ratio > factor, f"{name} by {way} {ratio:.3g}"))
        claims += majority(
            sentence,
            cases,
            f"seconds of {CALLED[behind]} over those of {CALLED[ahead]} at the largest size that "
            f"the latter finished: {{each}} (above {factor:g} on {{yes}}, not on {{no}})",
            _all_curves_done(curves, ways, (ahead, behind)),
        )
    return claims


def _time_ratios(curves: Curves, way: str, name: str, method: str) -> list[float]:
    """Return the seconds of DL8.5 over those of a method, at every size that both finished,
    ascending.
    """
    own, other = (finished_points(curves.get((way, name, m), ())) for m in (method, "dl85"))
    return [
        max(theirs.seconds, LEAST) / max(ours.seconds, LEAST)
        for ours, theirs in zip(own, other, strict=False)
    ]


def _judge_advantage(curves: Curves) -> list[Claim]:
    """Judge GOSDT, PyGOSDT and OSDT against DL8.5: by rows on tables that small samples represent;
    and with growing difficulty, by rows and features.
    """
    claims, trees = [], ("gosdt_reference", "pygosdt", "osdt")
    for name in ("bar-7", "compas-2016"):
        last = {m: one[-1] for m in trees if (one := _time_ratios(curves, "samples", name, m))}
        if last:
            reported = ", ".join(f"{CALLED[m]} {x:.3g}" for m, x in last.items())
            holds = all(x > 1 for x in last.values()) if len(last) == len(trees) else None
            claims.append(
                Claim.judged(
                    f"I.7: by rows of {name} GOSDT, PyGOSDT and OSDT have a significant "
                    "advantage over DL8.5",
                    holds,
                    f"seconds of DL8.5 over theirs at the most rows that both finished: {reported}",
                )
            )
    cases, ways = [], _rows_and_features(curves)
    for way in ways:
        for name in DATA:
            for method in trees:
                found = _time_ratios(curves, way, name, method)
                if len(found) > 1:
                    change = f"{name} by {way} {found[0]:.3g} to {found[-1]:.3g}"
                    clearer = found[-1] > max(found[0], 1.0)
                    cases.append((clearer, f"{CALLED[method]} on {change}"))
    return claims + majority(
        "I.7: the advantage over DL8.5 becomes clearer on data sets of greater difficulty",
        cases,
        "seconds of DL8.5 over theirs, at the smallest and the largest size that both finished: "
        "{each} (rising, and above 1, on {yes}, not on {no})",
        _all_curves_done(curves, ways, (*trees, "dl85")),
    )


def _judge_slow_down(curves: Curves) -> list[Claim]:
    """Judge by Figures 16 and 17 the slow-down over one's own fastest run, of GOSDT and DL8.5 at
    the largest size that both finished.
    """
    ways = _rows_and_features(curves)
    return majority(
        "I.7, Figures 16 and 17: in relative slow-down, too, GOSDT scales better than DL8.5",
        [
            (_is_less(own, theirs), f"{name} by {way} {own:.3g} against {theirs:.3g}")
            for name, way, _, own, theirs in _slower_by(curves, ways, "dl85")
        ],
        "time over one's own fastest at the largest size that both finished: {each} (less on "
        "{yes}, more on {no})",
        _all_curves_done(curves, ways, ("gosdt_reference", "dl85")),
    )


def _draw_curves(curves: Curves, way: str, what: str) -> Panels:
    """Draw for every data set the seconds of each method, or with another ``what`` than "time" its
    seconds over its own fewest, by the size in one way to grow it.
    """
    charts = []
    # in every panel, so that they share a legend
    named = [m for m in METHODS if any(place[0] == way and place[2] == m for place in curves)]
    for name in DATA:
        lines = []
        for method in named if any(place[:2] == (way, name) for place in curves) else ():
            points = [point for point in curves.get((way, name, method), ()) if point.finished]
            if not points:
                lines.append(Line(CALLED[method], [1.0], [float("nan")], colour=COLOURS[method]))
            else:
                seconds = [max(point.seconds, LEAST) for point in points]
                y = seconds if what == "time" else [one / min(seconds) for one in seconds]
                lines.append(
                    Line(
                        CALLED[method],
                        [point.size if way == "samples" else point.features for point in points],
                        y,
                        colour=COLOURS[method],
                    )
                )
        if lines:
            x = Axis("rows" if way == "samples" else "binary features", log=True)
            charts.append(
                LineChart(
                    name,
                    lines,
                    x,
                    Axis("seconds" if what == "time" else "time over one's own fastest", log=True),
                )
            )
    by = {
        "samples": "rows",
        "features": "binary features, a prefix",
        "combined": "thresholds, k neighbours combined",
    }[way]
    title = f"{'Training time' if what == 'time' else 'Slow-down'} by {by}"
    return Panels(
        title,
        charts,
        2,
        "λ = 1/32, or depth 5; runs that were finished in time",
        (f"Times below {LEAST * 1000:g} ms count as that.",),
    )
