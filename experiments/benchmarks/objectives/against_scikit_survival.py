"""Survival trees of the same depth: concordance and Brier score beside scikit-survival's.

    ARBORETUM_SKSURV=…/bin/python \\
        python experiments/benchmarks/objectives/against_scikit_survival.py

An interpreter of its own has scikit-survival (0.28 here), whose package brings three of the tables;
one is drawn (``dataset=lifetimes``).  Five folds, shuffled, events alike; depths 2 and
3, at least 15 rows in a leaf.  Ours: the proven least deviance + λ · leaves over ten quantiles of a
column (``survival_tree``, λ = 0.01, the default), and growth by the log-rank statistic over all
cuts (``survival_greedy``); a leaf has one ratio to the hazard of all rows.  Theirs: SurvivalTree,
grown by log-rank over all cuts, a Kaplan–Meier curve (and Nelson–Aalen, summed up as the risk) in
each leaf.  Both measures are scikit-survival's, of the rows of the fold: Harrell's concordance (1
is best), the integrated Brier score over fifteen times from the tenth to the eightieth percentile
of the fold's (0 is best).  Means of the folds ± their standard errors; milliseconds of the
processor of fit, ours with compiled kernels, without loading them.  The table is
against_scikit_survival.md beside this file.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import attrs
import numpy as np
import pandas as pd

HERE = Path(__file__).parent
TABLES = ("whas500", "gbsg2", "veterans_lung_cancer", "lifetimes")
DEPTHS, FOLDS, LEAST = (2, 3), 5, 15
METHODS = ("survival_tree", "survival_greedy")
THEIRS = "scikit-survival"

TELL = r"""
import sys
from pathlib import Path

import pandas as pd
from sksurv import datasets

for name in ("whas500", "gbsg2", "veterans_lung_cancer"):
    x, y = getattr(datasets, f"load_{name}")()
    event, moment = y.dtype.names
    rows = x.assign(event=y[event].astype(int), time=y[moment].astype(float))
    rows.to_csv(Path(sys.argv[1]) / f"{name}.csv", index=False)
"""

JUDGE = r"""
import json
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sksurv.column import encode_categorical
from sksurv.metrics import concordance_index_censored, integrated_brier_score
from sksurv.tree import SurvivalTree
from sksurv.util import Surv

folder, least = Path(sys.argv[1]), int(sys.argv[2])
answers = []
for case in json.loads((folder / "cases.json").read_text()):
    rows = pd.read_csv(folder / f"{case['table']}.csv")
    y = Surv.from_arrays(rows["event"].astype(bool), rows["time"])
    x = rows.drop(columns=["event", "time"])
    words = x.select_dtypes(exclude="number").columns
    x = encode_categorical(x.astype({word: "category" for word in words}))
    test = np.zeros(len(rows), bool)
    test[case["test"]] = True
    tree = SurvivalTree(max_depth=case["depth"], min_samples_leaf=least, random_state=0)
    started = time.process_time()
    tree.fit(x[~test], y[~test])
    seconds, times = time.process_time() - started, np.array(case["times"])
    # what comes after the last time changes no score, and it wants none after the training rows'
    cap = times[-1] * 1.0001
    seen = Surv.from_arrays(y["event"] & (y["time"] <= cap), np.minimum(y["time"], cap))
    curves = [curve(times) for curve in tree.predict_survival_function(x[test])]
    said = {"scikit-survival": {"risk": tree.predict(x[test]), "curves": curves}, **case["said"]}
    for method, one in said.items():
        risk, curves = np.array(one["risk"]), np.array(one["curves"])
        answers.append(
            {
                "table": case["table"],
                "depth": case["depth"],
                "method": method,
                "seconds": one.get("seconds", seconds),
                "concordance": concordance_index_censored(
                    rows["event"][test].astype(bool), rows["time"][test], risk
                )[0],
                "brier": integrated_brier_score(y[~test], seen[test], curves, times),
                "leaves": one.get("leaves", int((tree.tree_.children_left < 0).sum())),
            }
        )
print(json.dumps(answers))
"""


@attrs.frozen(eq=False)
class Fold:
    """Rows that train, rows that judge, and the times at which they do."""

    train: pd.DataFrame
    test: pd.DataFrame
    places: np.ndarray

    @property
    def times(self) -> np.ndarray:
        """Fifteen times, between the tenth and the eightieth percentile of those that judge."""
        low, high = np.quantile(self.test["time"], [0.1, 0.8])
        return np.linspace(low, high, 15)


def folds_of(rows: pd.DataFrame) -> Iterator[Fold]:
    """Five folds, drawn from a fixed seed; events and censored rows go round by themselves."""
    drawn, fold = np.random.default_rng(0), np.zeros(len(rows), int)
    for event in (0, 1):
        places = drawn.permutation(np.flatnonzero(rows["event"] == event))
        fold[places] = np.arange(len(places)) % FOLDS
    for k in range(FOLDS):
        yield Fold(rows[fold != k], rows[fold == k], np.flatnonzero(fold == k))


def told(fold: Fold, method: str, depth: int) -> dict:
    """What one of our trees says of the rows that judge: risks, and curves of survival."""
    from arboretum import TreeRegressor
    from arboretum_survival.hazards import Followed

    own = {"encoder": "bins"} if method == "survival_tree" else {}
    model = TreeRegressor(method, max_depth=depth, min_samples_leaf=LEAST, **own)
    x = fold.train.drop(columns=["event", "time"])
    y, event = fold.train["time"], fold.train["event"]
    model.fit(x, y, event=event)  # loads the kernels
    started = time.process_time()
    model.fit(x, y, event=event)
    seconds = time.process_time() - started
    followed = Followed(y.to_numpy(float), event.to_numpy(float), np.ones(len(y)))
    ratio = model.predict(fold.test.drop(columns=["event", "time"]))
    curves = np.exp(-ratio[:, None] * followed.hazard_until(fold.times))
    return {
        "seconds": seconds,
        "risk": ratio.tolist(),
        "curves": curves.tolist(),
        "leaves": model.get_n_leaves(),
    }


def drawn_rows() -> pd.DataFrame:
    """The rows of ``dataset=lifetimes``."""
    from arboretum.api import EVENT
    from arboretum_survival.lifetimes import Lifetimes

    table = Lifetimes(n_rows=600).load(0)
    columns = {
        c.name: c.values if c.is_continuous else np.array(c.categories)[c.values]
        for c in table.columns
    }
    return pd.DataFrame({**columns, "event": table.role(EVENT).astype(int)}).assign(
        time=table.target.values
    )


def asked(peer: str, code: str, *words: str) -> str:
    """What the other interpreter prints."""
    command = [peer, "-W", "ignore", "-c", code, *words]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


MEASURES = {"concordance": max, "brier": min}


def table_of(answers: list[dict]) -> str:
    """The table, in Markdown: means of the folds, with the standard errors of these."""
    found, best = defaultdict(list), defaultdict(int)
    for one in answers:
        found[one["table"], one["depth"], one["method"]].append(one)
    head = ["table", "depth", "tree", "concordance", "Brier score", "leaves", "ms"]
    lines = [head, ["---"] * len(head)]
    for name, depth in itertools.product(TABLES, DEPTHS):
        mean: dict[str, dict[str, float]] = {what: {} for what in MEASURES}
        for method in (*METHODS, THEIRS):
            folds = found[name, depth, method]
            cells = [name, str(depth), method]
            for what in MEASURES:
                each = np.array([one[what] for one in folds])
                mean[what][method] = each.mean()
                cells.append(f"{each.mean():.3f} ± {each.std(ddof=1) / len(each) ** 0.5:.3f}")
            cells.append(f"{np.mean([one['leaves'] for one in folds]):.1f}")
            cells.append(f"{1000 * np.mean([one['seconds'] for one in folds]):.1f}")
            lines.append(cells)
        for what, choose in MEASURES.items():
            best[what, choose(mean[what], key=mean[what].__getitem__)] += 1
    counted = "; ".join(
        f"{what}: " + ", ".join(f"{method} {best[what, method]}" for method in (*METHODS, THEIRS))
        for what in MEASURES
    )
    rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{rows}\n\nBest mean, of {len(TABLES) * len(DEPTHS)} (table, depth): {counted}.\n"


def main() -> None:
    """Race, and write the table."""
    peer = os.environ.get("ARBORETUM_SKSURV")
    if not peer:
        sys.exit("ARBORETUM_SKSURV=PYTHON names an interpreter that has scikit-survival")
    os.environ["ARBORETUM_KERNELS"] = "compiled"  # else fits as small as these are interpreted
    with tempfile.TemporaryDirectory() as named:
        folder = Path(named)
        asked(peer, TELL, named)
        drawn_rows().to_csv(folder / "lifetimes.csv", index=False)
        cases = []
        for name in TABLES:
            rows = pd.read_csv(folder / f"{name}.csv")
            for depth in DEPTHS:
                for fold in folds_of(rows):
                    said = {method: told(fold, method, depth) for method in METHODS}
                    places, times = fold.places.tolist(), fold.times.tolist()
                    case = {"table": name, "depth": depth, "test": places, "times": times}
                    cases.append({**case, "said": said})
        (folder / "cases.json").write_text(json.dumps(cases))
        answers = json.loads(asked(peer, JUDGE, named, str(LEAST)))
    said = "\n\n".join((__doc__ or "").strip().split("\n\n")[2:])
    title = "# Survival trees beside scikit-survival's"
    text = f"{title}\n\n{said}\n\n{table_of(answers)}"
    (HERE / "against_scikit_survival.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
