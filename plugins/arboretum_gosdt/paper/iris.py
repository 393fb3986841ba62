"""One-against-rest iris with every threshold, and the same optimum with several cores."""

from arboretum.api import Claim, Facts, Judgement, Key, Keyed, Piece, Services, csv_text
from arboretum_gosdt.paper.reproduction import GosdtStudy
from arboretum_gosdt.paper.study import load_released, load_table, run

DATA = ("iris-setosa", "iris-versicolor", "iris-virginica")
LAM = 0.01
CORES = {"dataset": "tic-tac-toe", "lam": 0.005, "threads": 2}


def pieces(paper: GosdtStudy) -> list[Piece]:
    """Return a piece per wanted data set of one class of iris against the rest, and one that solves
    tic-tac-toe with one thread and with two.
    """
    own = [
        Piece({"chapter": "iris", "dataset": name, "seconds": paper.seconds}, 0.7 * paper.seconds)
        for name in DATA
        if paper.wants(name)
    ]
    return [
        *own,
        *(
            [Piece({"chapter": "iris", "threads": CORES["threads"]}, 2.0)]
            if paper.wants(str(CORES["dataset"]))
            else []
        ),
    ]


def work(key: Key, seed: int, services: Services) -> Facts:
    """Return what GOSDT proves on a data set (errors, leaves, value), and value and proof of the
    printed algorithms.

    With ``threads`` in the key the values on tic-tac-toe with 1 thread and with so many, and
    whether each is proven.
    """
    if "threads" in key:
        table = load_released(services, CORES["dataset"])
        values = [
            run(
                services,
                table,
                "gosdt",
                {"objective.lam": CORES["lam"], "solver.threads": n},
                300.0,
            )
            for n in (1, key["threads"])
        ]
        return {"values": [one.value for one in values], "proven": [one.finished for one in values]}
    found = run(
        services, load_table(services, key["dataset"]), "gosdt", {"objective.lam": LAM}, 300.0
    )
    reference = run(
        services,
        load_table(services, key["dataset"]),
        "gosdt_reference",
        {"objective.lam": LAM},
        key["seconds"],
    )
    reported = {
        "errors": found.errors,
        "leaves": found.leaves,
        "proven": found.finished,
        "value": found.value,
    }
    return reported | {"printed_value": reference.value, "printed_proven": reference.finished}


def judge(results: Keyed) -> Judgement:
    """Two claims, as far as there are results: every one-against-rest problem is proven, with the
    value of the printed algorithms (I.2); several cores find the same optimum (Table A).
    """
    claims, rows = [], []
    for key, one in results:
        if "threads" in key:
            reported = (
                f"value {one['values'][0]:.6f} with 1 thread, {one['values'][1]:.6f} with "
                f"{key['threads']}, on {CORES['dataset']}"
            )
            claims.append(
                Claim.judged(
                    "Table A: GOSDT can use several cores, and finds the same optimum",
                    one["values"][0] == one["values"][1] and all(one["proven"]),
                    reported,
                )
            )
        else:
            rows.append(
                [
                    key["dataset"],
                    one["errors"],
                    one["leaves"],
                    one["proven"],
                    f"{one['value']:.6f}",
                    f"{one['printed_value']:.6f}",
                    one["printed_proven"],
                ]
            )
    if rows:
        own = [one for key, one in results if "threads" not in key]
        same = all(
            abs(one["value"] - one["printed_value"]) < 1e-9 for one in own if one["printed_proven"]
        )
        reported = "; ".join(f"{row[0]}: {row[1]} errors, {row[2]} leaves" for row in rows)
        holds = all(one["proven"] for one in own) and same
        claims.insert(
            0,
            Claim.judged(
                "I.2: iris is three problems of one class against the rest, each solved over "
                "all its thresholds",
                holds,
                f"{reported}; λ = {LAM:g}",
            ),
        )
    header = [
        "dataset",
        "errors",
        "leaves",
        "proven",
        "value",
        "value_of_the_printed_algorithms",
        "proven_by_them",
    ]
    tables = {"iris.csv": csv_text([header, *rows])} if rows else {}
    return (
        Judgement.of_chapter("one against rest", {"lambda": LAM}, {}, claims=claims, tables=tables)
        if claims
        else Judgement()
    )
