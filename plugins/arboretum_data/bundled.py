"""Data sets that come with scikit-learn, read from its data folder without importing it (which takes a second)."""

from __future__ import annotations

import csv
import gzip
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from arboretum.api import Column, ColumnKind, DataError, Table, Target, Task

WDBC_MEASURES = (
    "radius", "texture", "perimeter", "area", "smoothness",
    "compactness", "concavity", "concave_points", "symmetry", "fractal_dimension",
)  # fmt: skip
WINE_COLUMNS = (
    "alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium", "total_phenols", "flavanoids",
    "nonflavanoid_phenols", "proanthocyanins", "color_intensity", "hue", "od280_od315_of_diluted_wines", "proline",
)  # fmt: skip
DIABETES_COLUMNS = ("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6")


def _path(file: str) -> Path:
    spec = find_spec("sklearn")
    if spec is None or spec.origin is None:
        raise DataError(f"the bundled data set needs scikit-learn's file {file}; install scikit-learn")
    path = Path(spec.origin).parent / "datasets" / "data" / file
    if not path.exists():
        msg = f"the installed scikit-learn does not hold {file}; set ARBORETUM_DATA to a folder that holds the data set"
        raise DataError(msg)
    return path


def _numbers(file: str, *, header: bool) -> tuple[np.ndarray, list[str]]:
    """float64[rows, columns] of one of scikit-learn's CSVs, and its first line where that is a header."""
    raw = _path(file).read_bytes()
    text = (gzip.decompress(raw) if file.endswith(".gz") else raw).decode()
    rows = list(csv.reader(text.splitlines(), delimiter="," if "," in text else " "))
    first = rows.pop(0) if header else []
    return np.array(rows, dtype=np.float64), first


def _classification(name: str, values: np.ndarray, columns, codes: np.ndarray, classes: tuple[str, ...]) -> Table:
    attributes = tuple(Column(n, ColumnKind.continuous, values[:, i]) for i, n in enumerate(columns))
    target = Target("target", Task.classification, codes=codes.astype(np.int32), classes=classes)
    return Table(name, attributes, target)


def iris() -> Table:
    """Fisher's irises, the copy with the two known errors corrected."""
    values, first = _numbers("iris.csv", header=True)
    columns = ("sepal_length", "sepal_width", "petal_length", "petal_width")
    return _classification("iris", values, columns, values[:, -1], tuple(first[2:]))


def wine() -> Table:
    """178 wines of three cultivars (Forina et al.)."""
    values, first = _numbers("wine_data.csv", header=True)
    return _classification("wine", values, WINE_COLUMNS, values[:, -1], tuple(first[2:]))


def wdbc() -> Table:
    """Breast cancer Wisconsin (diagnostic): 569 × 30."""
    values, first = _numbers("breast_cancer.csv", header=True)
    columns = [f"{part}_{m}" for part in ("mean", "worst") for m in WDBC_MEASURES]
    columns[10:10] = [f"{m}_error" for m in WDBC_MEASURES]
    names = first[2:]  # malignant is 0 there; classes are kept in alphabetical order here
    order = sorted(range(2), key=lambda i: names[i])
    codes = np.argsort(order)[values[:, -1].astype(int)]
    return _classification("wdbc", values, columns, codes, tuple(names[i] for i in order))


def digits() -> Table:
    """1797 handwritten digits of 8 × 8 pixels, each 0 to 16."""
    values, _ = _numbers("digits.csv.gz", header=False)
    columns = [f"pixel_{row}_{column}" for row in range(8) for column in range(8)]
    return _classification("digits", values, columns, values[:, -1], tuple(map(str, range(10))))


def diabetes() -> Table:
    """442 patients, ten measurements as taken (not scaled), the progress of the disease a year later (Efron et al.)."""
    values, _ = _numbers("diabetes_data_raw.csv.gz", header=False)
    target, _ = _numbers("diabetes_target.csv.gz", header=False)
    attributes = tuple(Column(n, ColumnKind.continuous, values[:, i]) for i, n in enumerate(DIABETES_COLUMNS))
    return Table("diabetes", attributes, Target("progression", Task.regression, values=target[:, 0]))
