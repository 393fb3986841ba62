"""
A questionnaire
===============

A tree leaves as one HTML page that asks a person its tests, one after the other. The page needs no
network. Try it below the picture.
"""

import html
from pathlib import Path

import arboretum

record = arboretum.run(["dataset=play-tennis", "method=id3", "split=none"])
Path("tennis.svg").write_text(record.tree.to_svg(title="Do we play tennis?"))

# %%
# ``arboretum export RUN --to questionnaire`` writes this page:


class Page:
    """What a notebook shows."""

    def _repr_html_(self) -> str:
        page = arboretum.exported(record.tree, "questionnaire", title="Do we play tennis?")
        return f'<iframe title="questionnaire" srcdoc="{html.escape(page)}"></iframe>'


Page()
