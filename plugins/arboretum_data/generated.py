"""Data sets that need no download: made by a rule, with the rows, order and spelling of the copies
in circulation; or read from scikit-learn's data folder, without importing it (which takes a
second).
"""

import csv
import gzip
import itertools
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from arboretum.api import Column, ColumnKind, DataError, Table, Target, Task
from arboretum_data.reading.build import Schema, TaskChoice, build_table
from arboretum_data.reading.cells import factorise

Row = tuple[str, ...]


def table_of(
    name: str,
    header: Sequence[str],
    rows: Sequence[Row],
    *,
    kind: str = "categorical",
    orders: dict[str, tuple[str, ...]] | None = None,
) -> Table:
    """Return a classification table from spelled-out rows whose last cell is the class.

    header : names of all columns, the class last.
    kind : of columns without an order; orders : name → its values, ascending, of ordinal columns.
    """
    columns = [
        factorise(n, column, ("",))
        for n, column in zip(header, zip(*rows, strict=True), strict=True)
    ]
    schema = Schema(header[-1], default=kind, orders=orders or {}, task=TaskChoice.classification)
    return build_table(name, columns, schema)


# -- the monks problems (Thrun et al. 1991) --------------------------------------------------------

MONK_VALUES = (3, 3, 2, 3, 4, 2)
MONK_CONCEPTS: dict[int, Callable[[Sequence[int]], bool]] = {
    1: lambda a: a[0] == a[1] or a[4] == 1,
    2: lambda a: sum(v == 1 for v in a) == 2,
    3: lambda a: (a[4] == 3 and a[3] == 1) or (a[4] != 4 and a[1] != 3),
}
"""Problem → whether the robot with the attribute values a[0] … a[5] (counted from 1) belongs to
the class.
"""


def monk_domain(problem: int) -> Table:
    """Return all 432 robots in lexicographic order, labelled by the concept without noise."""
    concept = MONK_CONCEPTS[problem]
    robots = itertools.product(*(range(1, n + 1) for n in MONK_VALUES))
    rows = [(*map(str, robot), str(int(concept(robot)))) for robot in robots]
    return table_of(f"monk{problem}-full", [*(f"a{i}" for i in range(1, 7)), "target"], rows)


# -- tic-tac-toe (Aha 1991) ------------------------------------------------------------------------

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
SQUARES = [
    f"{row}_{column}_square"
    for row in ("top", "middle", "bottom")
    for column in ("left", "middle", "right")
]


def tic_tac_toe() -> Table:
    """Return the 958 end boards; positive where x has won.  Wins of x first, then of o, then
    draws.
    """
    rows = [
        (*board, "positive" if winner == "x" else "negative")
        for board, winner in end_boards().items()
    ]
    return table_of("tic-tac-toe", [*SQUARES, "target"], rows)


def end_boards() -> dict[Row, str]:
    """Return every board at which a game that x opens can end, found among all 3⁹ fillings → who
    has won: "x", "o", or "".

    A filling is an end board when one side has won and moved last, or nobody has won and no square
    is blank.
    """
    found = {}
    for board in itertools.product("xob", repeat=9):
        ahead = board.count("x") - board.count("o")  # 1 after a move of x, 0 after one of o
        won = {board[a] for a, b, c in LINES if board[a] == board[b] == board[c] != "b"}
        if (won, ahead) in (({"x"}, 1), ({"o"}, 0)) or (
            not won and ahead == 1 and "b" not in board
        ):
            found[board] = next(iter(won), "")
    # stable: product runs x, o, b
    return dict(sorted(found.items(), key=lambda item: ("x", "o", "").index(item[1])))


# -- small teaching sets ---------------------------------------------------------------------------


def balance_scale() -> Table:
    """Return all 625 settings of a balance: does it tip left, right, or stay (Siegler 1976)?"""
    rows = []
    for lw, ld, rw, rd in itertools.product(range(1, 6), repeat=4):
        tip = lw * ld - rw * rd
        rows.append((*map(str, (lw, ld, rw, rd)), "L" if tip > 0 else "R" if tip < 0 else "B"))
    header = ["left_weight", "left_distance", "right_weight", "right_distance", "target"]
    return table_of("balance-scale", header, rows, kind="ordinal")


def play_tennis() -> Table:
    """Quinlan's 14 Saturday mornings."""
    outlook = (
        "sunny sunny overcast rainy rainy rainy overcast sunny sunny rainy sunny overcast "
        "overcast rainy"
    )
    temperature = "hot hot hot mild cool cool cool mild cool mild mild mild hot mild"
    humidity = "high high high high normal normal normal high normal normal normal high normal high"
    windy = "false true false false false true true false false false true true false true"
    play = "no no yes yes yes no yes no yes yes yes yes yes no"
    rows = list(
        zip(*(text.split() for text in (outlook, temperature, humidity, windy, play)), strict=True)
    )
    orders: dict[str, tuple[str, ...]] = {"temperature": ("cool", "mild", "hot")}
    return table_of(
        "play-tennis",
        ["outlook", "temperature", "humidity", "windy", "target"],
        rows,
        orders=orders,
    )


def dfep(bits: int, name: str = "dfep") -> Table:
    """Return 2^bits objects, all words of so many bits: four classes, a quarter each, and the first
    object of a quarter is of the next class.

    Two tests classify all but these four outliers; to tell one of them from its quarter takes all
    the others, too.
    """
    rows, quarter = [], 1 << (bits - 2)
    for number in range(4 * quarter):
        block, place = divmod(number, quarter)
        label = block + 1 if place else (block + 1) % 4 + 1
        rows.append((*f"{number:0{bits}b}", str(label)))
    return table_of(name, [*(f"t{i}" for i in range(1, bits + 1)), "target"], rows)


def dfep_synthetic() -> Table:
    """Return the 1024 objects of Nan, Wang & Saligrama: ten bits, four classes of 256, one outlier
    per class.
    """
    return dfep(10, "dfep-synthetic")


# -- random decision tables (Alkhalid, Chikalov & Moshkov) -----------------------------------------


def random_cells(
    n_rows: int, n_columns: int, n_values: int, n_classes: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of :func:`random_table` as numbers: int64[rows, n_columns] values and
    int64[rows] decisions.

    n_rows : drawn; equal ones become one.
    Rows stay in the order in which they were drawn.
    """
    draw = np.random.Generator(np.random.PCG64(seed))
    cells = draw.integers(n_values, size=(n_rows, n_columns))
    decisions = draw.integers(n_classes, size=n_rows)
    # one number per row is sorted ten times as fast as a row
    if n_columns * np.log2(n_values) < 63:
        keys = cells @ n_values ** np.arange(n_columns)
        ordered = np.sort(keys)
        if (ordered[1:] != ordered[:-1]).all():
            return cells, decisions
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    else:
        _, first, inverse = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    votes = np.zeros((len(first), n_classes), np.int64)
    np.add.at(votes, (inverse.ravel(), decisions), 1)
    order = np.argsort(first)
    return cells[first[order]], votes[order].argmax(axis=1)


def random_table(n_rows: int, n_columns: int, n_values: int, n_classes: int, seed: int) -> Table:
    """Return n_rows rows and decisions drawn uniformly of n_values and n_classes; equal rows become
    one with their most common decision (ties: smallest).
    """
    cells, decisions = random_cells(n_rows, n_columns, n_values, n_classes, seed)
    rows = [
        (*map(str, row), str(d)) for row, d in zip(cells.tolist(), decisions.tolist(), strict=True)
    ]
    return table_of("random_table", [*(f"f{i}" for i in range(1, n_columns + 1)), "decision"], rows)


# -- what comes with scikit-learn ------------------------------------------------------------------

WDBC_MEASURES = (
    "radius",
    "texture",
    "perimeter",
    "area",
    "smoothness",
    "compactness",
    "concavity",
    "concave_points",
    "symmetry",
    "fractal_dimension",
)
WINE_COLUMNS = (
    "alcohol",
    "malic_acid",
    "ash",
    "alcalinity_of_ash",
    "magnesium",
    "total_phenols",
    "flavanoids",
    "nonflavanoid_phenols",
    "proanthocyanins",
    "color_intensity",
    "hue",
    "od280_od315_of_diluted_wines",
    "proline",
)
DIABETES_COLUMNS = ("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6")


def _path_of_file(file: str) -> Path:
    """Return where scikit-learn keeps a bundled file; raises DataError where it has none."""
    spec = find_spec("sklearn")
    if spec is None or spec.origin is None:
        raise DataError(
            f"the bundled data set needs scikit-learn's file {file}; install scikit-learn"
        )
    path = Path(spec.origin).parent / "datasets" / "data" / file
    if not path.exists():
        raise DataError(
            f"the installed scikit-learn does not hold {file}; set ARBORETUM_DATA to a folder "
            "that holds the data set"
        )
    return path


def _read_numbers(file: str, *, header: bool) -> tuple[np.ndarray, list[str]]:
    """Return float64[rows, columns] of one of scikit-learn's CSVs, packed or not, and its first
    line where that is a header.
    """
    raw = _path_of_file(file).read_bytes()
    text = (gzip.decompress(raw) if file.endswith(".gz") else raw).decode()
    rows = list(csv.reader(text.splitlines(), delimiter="," if "," in text else " "))
    first = rows.pop(0) if header else []
    return np.array(rows, dtype=float), first


def _classification_table(
    name: str,
    values: np.ndarray,
    columns: Sequence[str],
    codes: np.ndarray,
    classes: tuple[str, ...],
) -> Table:
    """Return a table of numbers, float64[rows, columns], with classes: codes int[rows] of
    ``classes``.
    """
    attributes = tuple(
        Column(n, ColumnKind.continuous, values[:, i]) for i, n in enumerate(columns)
    )
    target = Target("target", Task.classification, codes=codes.astype(np.int32), classes=classes)
    return Table(name, attributes, target)


def iris() -> Table:
    """Fisher's irises, the copy with the two known errors corrected."""
    values, first = _read_numbers("iris.csv", header=True)
    columns = ("sepal_length", "sepal_width", "petal_length", "petal_width")
    return _classification_table("iris", values, columns, values[:, -1], tuple(first[2:]))


def wine() -> Table:
    """Return 178 wines of three cultivars (Forina et al.)."""
    values, first = _read_numbers("wine_data.csv", header=True)
    return _classification_table("wine", values, WINE_COLUMNS, values[:, -1], tuple(first[2:]))


def wdbc() -> Table:
    """Breast cancer Wisconsin (diagnostic): 569 × 30."""
    values, first = _read_numbers("breast_cancer.csv", header=True)
    columns = [f"{part}_{m}" for part in ("mean", "worst") for m in WDBC_MEASURES]
    columns[10:10] = [f"{m}_error" for m in WDBC_MEASURES]
    names = first[2:]  # malignant is 0 there; classes are kept in alphabetical order here
    order = sorted(range(2), key=lambda i: names[i])
    codes = np.argsort(order)[values[:, -1].astype(int)]
    return _classification_table("wdbc", values, columns, codes, tuple(names[i] for i in order))


def digits() -> Table:
    """Return 1797 handwritten digits of 8 × 8 pixels, each 0 to 16."""
    values, _ = _read_numbers("digits.csv.gz", header=False)
    columns = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
    return _classification_table(
        "digits", values, columns, values[:, -1], tuple(map(str, range(10)))
    )


def diabetes() -> Table:
    """Return 442 patients, ten measurements as taken (not scaled), the progress of the disease a
    year later (Efron et al.).
    """
    values, _ = _read_numbers("diabetes_data_raw.csv.gz", header=False)
    target, _ = _read_numbers("diabetes_target.csv.gz", header=False)
    attributes = tuple(
        Column(n, ColumnKind.continuous, values[:, i]) for i, n in enumerate(DIABETES_COLUMNS)
    )
    return Table(
        "diabetes", attributes, Target("progression", Task.regression, values=target[:, 0])
    )
