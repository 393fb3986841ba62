"""Table 2: rows and encoded binary features of the eighteen data sets."""

from arboretum.api import Cell, Judgement, Key, Keyed, Known, Piece, Services, csv_text
from arboretum_gosdt.paper.reproduction import GosdtStudy
from arboretum_gosdt.paper.study import binary_table, load_table, published

LARGE = ("coupon", "compas", "compas-2016", "fico-1000", "fico-binary", "compas-binary")


def pieces(paper: GosdtStudy) -> list[Piece]:
    """Return a piece for every wanted data set of Table 2."""
    return [
        Piece({"chapter": "table_2", "dataset": name}, 1.0 if name in LARGE else 0.1)
        for name in published()["table_2"]
        if paper.wants(name)
    ]


def work(key: Key, seed: int, services: Services) -> dict[str, int]:
    """Return the rows and the numbers of what a data set is counted by.

    tests : thresholds between neighbouring values, and a test per category but the last.
    values : different values of all columns; several : of those that have more than one.
    """
    table, tests, values, several = load_table(services, key["dataset"]), 0, 0, 0
    whole = all(not column.is_continuous for column in table.columns) and key["dataset"] != "coupon"
    for column in table.columns:
        seen = len(set(column.values[~column.missing].tolist()))
        tests, values, several = tests + seen - 1, values + seen, several + seen * (seen > 1)
    tests = len(binary_table(table).columns) if whole else tests
    return {"rows": table.n_rows, "tests": tests, "values": values, "several": several}


def judge(results: Keyed) -> Judgement:
    """Two cells per data set, samples and encoded binary features.

    A difference is KNOWN where the print counts a header line as a row, or values in place of the
    thresholds between them.
    """
    order, cells = list(published()["table_2"]), []
    results = sorted(results, key=lambda one: order.index(one[0]["dataset"]))
    for key, one in results:
        paper = published()["table_2"][key["dataset"]]
        header = Known(
            "a header line is counted as a row",
            one["rows"] + 1,
            one["rows"] + 1,
            "rows of the table and one",
        )
        values = Known(
            "it counts values, one more per column than there are thresholds between them",
            one["several"],
            one["values"],
            "values of all columns, without and with those of a single one",
        )
        cells.append(
            Cell.judged(
                "Table 2",
                key["dataset"],
                "samples",
                paper["samples"],
                one["rows"],
                0.0,
                known=header,
            )
        )
        cells.append(
            Cell.judged(
                "Table 2",
                key["dataset"],
                "encoded binary features",
                paper["encoded"],
                one["tests"],
                0.0,
                known=values,
            )
        )
    rows = [
        [key["dataset"], *one.values(), *published()["table_2"][key["dataset"]].values()]
        for key, one in results
    ]
    tables = {
        "table_2.csv": csv_text(
            [
                [
                    "dataset",
                    "rows",
                    "tests",
                    "values",
                    "values_of_several",
                    "samples_printed",
                    "encoded_printed",
                ],
                *rows,
            ]
        )
    }
    return Judgement.of_chapter(
        "Table 2",
        {},
        {f"tests/{key['dataset']}": float(one["tests"]) for key, one in results},
        cells=cells,
        tables=tables,
    )
