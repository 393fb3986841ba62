"""
An oblivious tree
=================

An oblivious tree asks the same test at all nodes of a level, so that it is a decision table: every
combination of answers is one leaf (Kohavi 1994).
"""

from pathlib import Path

import arboretum

record = arboretum.run(
    ["dataset=wine", "method=oblivious", "stopping.standard.max_depth=3", "seed=1"]
)
print(arboretum.exported(record.tree, "decision_table"))

Path("oblivious.svg").write_text(record.tree.to_svg(title="wine, one test per level"))
