"""Time to optimality (I.8, Figure 18): the best objective and the bound over time on eight data
sets, λ = 0.005.
"""

import itertools
from collections.abc import Mapping

from arboretum.api import (
    Axis,
    Claim,
    Facts,
    Judgement,
    Key,
    Keyed,
    Line,
    LineChart,
    Panels,
    Piece,
    Plain,
    Services,
    csv_text,
)
from arboretum_gosdt.paper.reproduction import GosdtStudy
from arboretum_gosdt.paper.study import (
    CALLED,
    COLOURS,
    is_installed,
    load_released,
    majority,
    published,
    run,
)

DATA = (
    "bar-7",
    "tic-tac-toe",
    "car-gosdt",
    "compas-binary",
    "fico-binary",
    "monk1",
    "monk2",
    "monk3",
)
METHODS = ("gosdt_reference", "gosdt", "pygosdt", "rank", "osdt")
SHARP = 0.5
"""A drop is sharp where a single step makes so much of the whole way from the first objective to
the last.
"""
LATE = 0.5
"""And the objective is held high where that step comes after so much of the time."""
MOST = 200
"""Points of a curve that are kept."""


def pieces(paper: GosdtStudy) -> list[Piece]:
    """Return a piece for every method on every wanted data set of Figure 18."""
    return [
        Piece(
            {"chapter": "progress", "dataset": name, "method": method, "seconds": paper.seconds},
            (0.1 if method == "gosdt" else 0.7) * paper.seconds,
        )
        for name in DATA
        if paper.wants(name)
        for method in METHODS
    ]


def work(key: Key, seed: int, services: Services) -> Facts:
    """Return ``curve``, rows of [seconds, bound, value], as they changed, at most MOST; and
    whether, when and after how much work the run ended.

    A run that is finished ends with bound and value equal.  The bound never falls along the curve,
    the value never rises.
    """
    if not is_installed(services, key["method"]):
        return {"absent": True}
    table = load_released(services, key["dataset"])
    found = run(
        services,
        table,
        key["method"],
        {"objective.lam": published()["time_to_optimality_lambda"]},
        key["seconds"],
    )
    start = (
        1
        - max((table.target.codes == k).mean() for k in range(table.n_classes))
        + published()["time_to_optimality_lambda"]
    )
    curve = [[0.0, 0.0, float(start)]]
    for seconds, bound, value in found.curve:
        bound, value = max(bound, curve[-1][1], 0.0), min(value, curve[-1][2])
        if [bound, value] != curve[-1][1:]:
            curve.append([seconds, bound, value])
    curve.append([found.seconds, max(found.bound, curve[-1][1]), min(found.value, curve[-1][2])])
    step = -(-len(curve) // MOST)
    kept = curve[::step] if curve[-1] in curve[::step] else [*curve[::step], curve[-1]]
    return {"curve": kept, "finished": found.finished, "seconds": found.seconds, "work": found.work}


def judge(results: Keyed) -> Judgement:
    """Claims of I.8 and I.10 about who proves first and whose gap closes; bound and objective over
    time as tables and panels (Figure 18).  Empty without results.
    """
    found: dict[str, Facts] = {}
    for key, one in results:
        if "absent" not in one:
            found.setdefault(key["dataset"], {})[key["method"]] = one
    found = {name: found[name] for name in DATA if name in found}
    if not found:
        return Judgement()
    claims = [
        *_judge_before_osdt(found),
        *_judge_first_on_tic_tac_toe(found),
        *_judge_late_drop(found),
        *_judge_alike(found),
        *_judge_gaps(found),
    ]
    rows = [
        [name, m, *point]
        for name, own in found.items()
        for m, one in own.items()
        for point in one["curve"]
    ]
    ends = [
        [name, m, one["finished"], one["seconds"], one["work"], *one["curve"][-1][1:]]
        for name, own in found.items()
        for m, one in own.items()
    ]
    tables = {
        "progress.csv": csv_text([["dataset", "method", "seconds", "bound", "objective"], *rows]),
        "progress_ends.csv": csv_text(
            [["dataset", "method", "finished", "seconds", "work", "bound", "objective"], *ends]
        ),
    }
    metrics = {
        f"finished/{m}": float(sum(one[m]["finished"] for one in found.values() if m in one))
        for m in METHODS
    }
    return Judgement.of_chapter(
        "time to optimality",
        {"lambda": 0.005},
        metrics,
        claims=claims,
        tables=tables,
        pictures={"progress": _draw_curves(found)},
    )


def _seconds_to_finish(one: Plain) -> float:
    return one["seconds"] if one["finished"] else float("inf")


def _describe_end(one: Plain) -> str:
    return f"{one['seconds']:.3g} s" if one["finished"] else f"not in {one['seconds']:.3g} s"


def _gap_left(one: Plain) -> float:
    return 0.0 if one["finished"] else one["curve"][-1][2] - one["curve"][-1][1]


def _judge_before_osdt(found: Mapping[str, Plain]) -> list[Claim]:
    """Judge for both implementations of GOSDT whether they complete their certificate before OSDT
    on more data sets than after it; open unless all data sets were run and some tell them apart.
    """
    claims = []
    for method in ("gosdt_reference", "pygosdt"):
        both = {name: own for name, own in found.items() if {method, "osdt"} <= set(own)}
        cases = [
            (
                None
                if _seconds_to_finish(own[method]) == _seconds_to_finish(own["osdt"])
                else _seconds_to_finish(own[method]) < _seconds_to_finish(own["osdt"]),
                f"{name} {_describe_end(own[method])}, OSDT {_describe_end(own['osdt'])}",
            )
            for name, own in both.items()
        ]
        claims += majority(
            f"I.8: {CALLED[method]} completes its certificate before OSDT, in general",
            cases,
            "first on {yes}, later on {no}: {each}",
            any(ahead is not None for ahead, _ in cases) and set(DATA) <= set(both),
        )
    return claims


def _judge_first_on_tic_tac_toe(found: Mapping[str, Plain]) -> list[Claim]:
    """Judge whether PyGOSDT finishes before GOSDT and OSDT on tic-tac-toe; open where none
    finishes.
    """
    own = found.get("tic-tac-toe", {})
    if not {"pygosdt", "gosdt_reference", "osdt"} <= set(own):
        return []
    others = min(_seconds_to_finish(own["gosdt_reference"]), _seconds_to_finish(own["osdt"]))
    holds = (
        None
        if _seconds_to_finish(own["pygosdt"]) == others == float("inf")
        else _seconds_to_finish(own["pygosdt"]) < others
    )
    reported = "; ".join(f"{CALLED[m]} {_describe_end(own[m])}" for m in METHODS if m in own)
    return [Claim.judged("I.8: PyGOSDT is the first to finish on tic-tac-toe", holds, reported)]


def _judge_late_drop(found: Mapping[str, Plain]) -> list[Claim]:
    """Judge whether the largest step of PyGOSDT's objective is sharp and late on more data sets
    than not, of those that it finished.
    """
    cases = []
    for name, own in found.items():
        if "pygosdt" in own and own["pygosdt"]["finished"]:
            curve = own["pygosdt"]["curve"]
            drops = [(a[2] - b[2], b[0]) for a, b in itertools.pairwise(curve)]
            whole, (largest, at) = curve[0][2] - curve[-1][2], max(drops)
            if whole > 0:
                share, late = largest / whole, at / max(own["pygosdt"]["seconds"], 1e-9)
                said = f"{name} {share:.0%} at {late:.0%} of the time"
                cases.append((share >= SHARP and late >= LATE, said))
    return majority(
        "I.8: PyGOSDT holds a high objective and then drops sharply",
        cases,
        "largest step of the objective and when: {each} (sharp and late: "
        f"{SHARP:.0%} after {LATE:.0%}) on {{yes}}, not on {{no}}",
    )


def _mean_excess(one: Plain, until: float) -> float:
    """Return by how much the objective is above its end, on average over the time, as a share of
    the whole way.

    one : a run, with its ``curve``.
    until : seconds over which the mean is taken.
    """
    curve = one["curve"]
    start, end = curve[0][2], curve[-1][2]
    if start <= end or until <= 0:
        return 0.0
    times = [min(point[0], until) for point in curve] + [until]
    found: float = (
        sum(
            (b - a) * (point[2] - end) for a, b, point in zip(times, times[1:], curve, strict=False)
        )
        / until
        / (start - end)
    )
    return found


def _judge_alike(found: Mapping[str, Plain]) -> list[Claim]:
    """Judge whether GOSDT's objective falls as early as OSDT's, nearer to it than to PyGOSDT's,
    over the time that the first of the three took; open unless all data sets were run.
    """
    cases = []
    for name, own in found.items():
        if {"gosdt_reference", "pygosdt", "osdt"} <= set(own):
            until = min(own[m]["seconds"] for m in ("gosdt_reference", "pygosdt", "osdt"))
            gosdt, late, osdt = (
                _mean_excess(own[m], until) for m in ("gosdt_reference", "pygosdt", "osdt")
            )
            nearer = abs(gosdt - osdt) < abs(gosdt - late)
            cases.append((nearer, f"{name} {gosdt:.2f}, {osdt:.2f}, {late:.2f}"))
    return majority(
        "I.8: GOSDT behaves similarly to OSDT: both lower the best objective aggressively",
        cases,
        "mean height of the objective above its end, share of the way, of GOSDT, OSDT and PyGOSDT "
        "over the time of the first to end: {each} (GOSDT nearer to OSDT on {yes}, not on {no})",
        len(cases) == len(DATA),
    )


def _judge_gaps(found: Mapping[str, Plain]) -> list[Claim]:
    """Judge whether GOSDT has its proof before OSDT and PyGOSDT, or where none has one the smaller
    gap, on most data sets; open unless all were run.
    """
    cases = []
    for name, own in found.items():
        others = [own[m] for m in ("pygosdt", "osdt") if m in own]
        if "gosdt_reference" in own and others:
            keys = [
                (_seconds_to_finish(one), _gap_left(one))
                for one in (own["gosdt_reference"], *others)
            ]
            ahead = all(keys[0] < key for key in keys[1:])
            gaps = ", ".join(
                f"{CALLED[m]} {_describe_end(own[m])}, gap {_gap_left(own[m]):.4f}"
                for m in ("gosdt_reference", "pygosdt", "osdt")
                if m in own
            )
            cases.append((ahead, f"{name} {gaps}"))
    return majority(
        "I.10: GOSDT outpaces OSDT and PyGOSDT in closing the gap (on most data sets)",
        cases,
        f"on {{yes}} of {len(cases)}: {{each}}",
        len(cases) == len(DATA),
    )


def _draw_curves(found: Mapping[str, Plain]) -> Panels:
    """Draw for every data set each method's best objective by seconds, and dashed its bound."""
    charts = []
    for name, own in found.items():
        lines = []
        for method, one in ((m, own[m]) for m in METHODS if m in own):
            x = [max(point[0], 1e-4) for point in one["curve"]]
            lines.append(
                Line(
                    CALLED[method],
                    x,
                    [point[2] for point in one["curve"]],
                    colour=COLOURS[method],
                    marked=False,
                    stairs=True,
                )
            )
            lines.append(
                Line(
                    CALLED[method],
                    x,
                    [point[1] for point in one["curve"]],
                    colour=COLOURS[method],
                    marked=False,
                    dashed=True,
                    quiet=True,
                    stairs=True,
                )
            )
        charts.append(
            LineChart(name, lines, Axis("seconds", log=True), Axis("errors / n + λ · leaves"))
        )
    return Panels(
        "Time to optimality",
        charts,
        2,
        "λ = 0.005; lines: the best tree so far, dashed: what is proven of every tree",
    )
