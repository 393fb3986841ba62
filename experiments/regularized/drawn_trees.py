"""The drawn trees (Figures 1 and 16 to 30): C4.5, EC4.5 and ASR with small trees, beside the numbers in the captions.

    ARBORETUM_DATA=DATA_HOME python experiments/regularized/drawn_trees.py [--seeds 5] [--pictures FOLDER]

No branch below 1 % of the data set (``stopping.standard.min_mass``; the paper's "minimum leaf size"), unit prices, λ = 100 for
EC4.5 (the first value of the tuning rule).  Prints test AUC and expected height, mean ± standard deviation over the seeds, with
the caption's numbers, each of one tree.  ``--pictures`` draws the trees of the first seed there as SVG.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import arboretum

CAPTIONS = {
    ("spambase", "asr"): (0.839, 5.8),
    ("speed-dating", "c45_ig"): (0.779, 5.9),
    ("speed-dating", "ec45"): (0.790, 4.9),
    ("speed-dating", "asr"): (0.569, 5.0),
}
DATASETS, METHODS = ("shoppers", "breast-w", "obesity", "spambase", "speed-dating"), ("c45_ig", "ec45", "asr")
LEAF, TAUGHT = 0.01, 0.7
"""Least leaf as a share of the data set, and the share of it that teaches."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--pictures", type=Path)
    arguments = parser.parse_args()
    print(f"{'data set':13} {'method':7} {'test AUC':>15} {'expected height':>16} {'leaves':>7}  caption")
    for name in DATASETS:
        for method in METHODS:
            records = [grown(name, method, seed) for seed in range(1, arguments.seeds + 1)]
            auc, height, leaves = (
                np.array([record.metrics[metric] for record in records])
                for metric in ("test_roc_auc", "average_depth", "n_leaves")
            )
            caption = CAPTIONS.get((name, method))
            printed = f"AUC {caption[0]:.3f}, height {caption[1]:.1f}" if caption else "no numbers"
            print(f"{name:13} {method:7} {auc.mean():7.3f} ± {auc.std(ddof=1):.3f} {height.mean():9.2f} ± {height.std(ddof=1):.2f}"
                  f" {leaves.mean():7.1f}  {printed}", flush=True)  # fmt: skip
            if arguments.pictures:
                arguments.pictures.mkdir(parents=True, exist_ok=True)
                picture = arguments.pictures / f"{name}_{method}.svg"
                picture.write_text(records[0].tree.to_svg(), encoding="utf-8")


def grown(name: str, method: str, seed: int) -> arboretum.Record:
    """One verified run."""
    overrides = [
        f"dataset={name}", f"method={method}", f"seed={seed}", "stopping=[mass,standard]", "theta=0.005",
        f"stopping.standard.min_mass={LEAF / TAUGHT:.6f}",
    ]  # fmt: skip
    return arboretum.run(overrides + (["criterion=regularized_ec45"] if method == "ec45" else []))


if __name__ == "__main__":
    main()
