"""
A certified tree
================

``method=gosdt`` searches all trees for the one of least training error plus λ per leaf. The record
holds the tree, its value and a proven lower bound. Where both are equal no tree is better.
"""

from pathlib import Path

import arboretum

record = arboretum.run(["dataset=monk1-full", "method=gosdt", "objective.lam=0.02", "split=none"])
solution = record.solution
print(f"value {solution.value:g}, proven lower bound {solution.lower_bound:g}, {solution.status}")

Path("tree.svg").write_text(record.tree.to_svg(title="The best tree for monk1 at λ = 0.02"))
