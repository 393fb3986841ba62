"""One tree on many rows: rows in chunks against rows in memory, and against LightGBM.

Run from the repository:

    python experiments/benchmarks/rows_in_chunks.py [--rows 5000000] [--depth 8] [--min-leaf 1]
        [--folder FOLDER] [--whole] [--lightgbm PYTHON]

Writes a Parquet file of so many rows (20 columns of 64 values, 3 classes by a hidden tree, 10 %
noise), and grows one tree on it by each way in a process of its own, from the file to the tree.
Prints processor seconds per step and per million rows, the peak of memory, and whether trees are
the same.  Kernels are compiled before.  ``--whole`` runs the commands instead, which also take the
checksum, verify and measure.

``--lightgbm`` names an interpreter with lightgbm and pyarrow: one tree of as many leaves on one
class against the rest (a third of the tables of three classes), on one thread, its table handed
over as NumPy arrays and as Arrow columns.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

GROUP = 500_000
COLUMNS = 20
WAYS = ("chunks", "memory")

LIGHTGBM = """
import sys, time, resource
import numpy as np, lightgbm as lgb, pyarrow.parquet as pq
path, how, leaves, depth = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
begin = time.process_time()
table = pq.read_table(path)
y = (table["y"].to_numpy() == "a").astype(np.float32)
x = table.drop_columns(["y"])
if how == "numpy":
    x = np.column_stack([x.column(i).to_numpy() for i in range(x.num_columns)])
read = time.process_time()
given = dict(objective="binary", num_leaves=leaves, max_depth=depth, max_bin=255,
             min_data_in_leaf=1, min_sum_hessian_in_leaf=0, verbose=-1, num_threads=1)
data = lgb.Dataset(x, label=y, params=given).construct()
built = time.process_time()
lgb.train(given, data, num_boost_round=1)
print(read - begin, built - read, time.process_time() - built,
      resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
"""


def write_rows(rows: int, path: Path) -> None:
    """Write the drawn table, a row group at a time."""
    import pyarrow as pa
    from pyarrow import parquet

    hidden = np.random.default_rng(7)
    column, cut = hidden.integers(0, COLUMNS, 127), hidden.integers(16, 48, 127)
    label = hidden.integers(0, 3, 128)
    writer = None
    for start in range(0, rows, GROUP):
        draw, n = np.random.default_rng([1, start]), min(GROUP, rows - start)
        x = draw.integers(0, 64, (COLUMNS, n), dtype=np.uint8)
        at = np.zeros(n, np.int64)
        for _ in range(7):
            at = 2 * at + 1 + (x[column[at], np.arange(n)] > cut[at])
        y = label[at - 127]
        noisy = draw.random(n) < 0.1
        y[noisy] = draw.integers(0, 3, noisy.sum())
        cells = {f"x{i}": pa.array(x[i].astype(np.float32)) for i in range(COLUMNS)}
        table = pa.table({**cells, "y": np.array(["a", "b", "c"])[y]})
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=GROUP)
    if writer is not None:
        writer.close()


def peak() -> float:
    """Largest resident size of the process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def grow_once(
    path: Path, way: str, depth: int, folder: str, min_leaf: int = 1
) -> dict[str, object]:
    """From the file to the tree: processor seconds of each step, peak, a hash of the tree."""
    from arboretum.api import Context, Parts, Problem, grow
    from arboretum.plugin.discovery import load_registry

    registry = load_registry()

    def part(kind: str, name: str, **fields: object) -> object:
        return registry.get(kind, name).cls(**fields)

    encoder, dataset = (
        part("encoder", "midpoints"),
        part("dataset", "file", path=str(path), target="y"),
    )
    began = time.process_time()
    store = None
    if way == "memory":
        table = dataset.load(0)
        read = time.process_time()
        objects = encoder.encode(table, table, raw_thresholds=False, seed=0)
    else:
        data = dataset.in_parts(0)
        read = time.process_time()
        opened = part("rows", "chunks", folder=folder).open(data, encoder, 0, None, lambda *_: None)
        objects, store = opened.objects, opened.store
    coded = time.process_time()
    chosen = Parts(
        None,
        criterion=part("criterion", "reduction"),
        impurity=part("impurity", "gini"),
        stopping=(part("stopping", "standard", max_depth=depth, min_leaf=min_leaf),),
    )
    prices = part("cost", "unit").price_list(objects, 0)
    tree = grow(Problem(objects, prices, chosen, store=store), Context(), order="breadth").tree
    grown = time.process_time()
    return {
        "read": read - began,
        "code": coded - read,
        "grow": grown - coded,
        "peak": peak(),
        "leaves": tree.n_leaves,
        "tree": tree.to_json(),
    }


def run_once(path: Path, way: str, depth: int, folder: str, min_leaf: int = 1) -> dict[str, object]:
    """The command: read, checksum, code, grow, verify, measure."""
    import arboretum

    began = time.process_time()
    record = arboretum.run(
        [
            "dataset=file",
            f"dataset.path={path}",
            "dataset.target=y",
            "split=none",
            "encoder=midpoints",
            "method=cart",
            f"stopping.standard.max_depth={depth}",
            f"stopping.standard.min_leaf={min_leaf}",
            f"rows={way}",
            *([f"rows.folder={folder}"] if way == "chunks" else []),
            "tracker=none",
        ]
    )
    spent = time.process_time() - began
    known = {"run": spent, "peak": peak(), "leaves": record.tree.n_leaves}
    return {**known, "tree": record.tree.to_json() + record.data["sha256"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--min-leaf", type=int, default=1)
    parser.add_argument("--folder", default=tempfile.gettempdir())
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--lightgbm", metavar="PYTHON")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way:
        once = run_once if given.whole else grow_once
        print(json.dumps(once(given.file, given.way, given.depth, given.folder, given.min_leaf)))
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        small, file = Path(folder) / "small.parquet", Path(folder) / "rows.parquet"
        write_rows(100_000, small)
        write_rows(given.rows, file)
        found = {}
        for way in WAYS:
            for path in (small, file):  # the first run compiles
                words = [sys.executable, __file__, "--way", way, "--file", str(path)]
                words += ["--folder", folder, "--depth", str(given.depth)]
                words += ["--min-leaf", str(given.min_leaf)]
                words += ["--whole"] * given.whole
                done = subprocess.run(words, check=True, capture_output=True, text=True)
                found[way] = json.loads(done.stdout.splitlines()[-1])
            print(line(f"rows={way}", found[way], given.rows))
        same = found["chunks"]["tree"] == found["memory"]["tree"]
        print(f"trees{' and checksums' * given.whole} the same: {same}")
        for how in ("numpy", "arrow") if given.lightgbm else ():
            words = [given.lightgbm, "-c", LIGHTGBM, str(file), how]
            words += [str(found["chunks"]["leaves"]), str(given.depth)]
            done = subprocess.run(words, check=True, capture_output=True, text=True)
            names = ("read", "code", "grow", "peak")
            seconds = dict(zip(names, map(float, done.stdout.split()[-4:]), strict=True))
            print(line(f"lightgbm, {how}", seconds, given.rows))


def line(way: str, found: dict[str, object], rows: int) -> str:
    """A row of the table that is printed."""
    seconds = {k: float(v) for k, v in found.items() if k in ("read", "code", "grow", "run")}
    total = sum(seconds.values())
    steps = "  ".join(f"{name} {value:6.2f}" for name, value in seconds.items())
    each = f"{total:7.2f} s, {total / rows * 1e6:.3f} s per million rows"
    return f"{way:16} {steps}  = {each}, {float(found['peak']):,.0f} MB"


if __name__ == "__main__":
    main()
