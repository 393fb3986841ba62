"""
C4.5 and its rules
==================

``method=j48`` grows the trees of Weka's J48; with ``missing=better_side`` no row goes down two
branches. The export ``rules`` says of each class which rows it has, in the shortest lines.
"""

from pathlib import Path

import arboretum

record = arboretum.run(["dataset=iris", "method=j48", "missing=better_side", "split=none"])
print(arboretum.exported(record.tree, "rules"))

Path("j48.svg").write_text(record.tree.to_svg(title="iris by C4.5"))
