"""The documentation site: ``make site`` builds it into build/site/html.

The source folder is a copy of the repository's folders, so that a link between two pages leads to
the same place on the site and in a checkout.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

import arboretum

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import pages  # noqa: E402

project, author = "Arboretum", "the authors of Arboretum"
version = release = arboretum.__version__
copyright = author
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
    "sphinx_copybutton",
]
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "gallery/**",
    "plugins/*/docs/*.md",
    "experiments/**/*.md",
    "conf/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
]
exclude_patterns = ["docs/gallery/**", "docs/site/**"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
bibtex_bibfiles = ["../papers/references.bib"]

autosummary_generate = ["docs/reference/python.rst"]
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "docs/gallery",
    "gallery_dirs": "gallery",
    "image_scrapers": (pages.drawn, "matplotlib"),
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "parallel": True,
    "abort_on_example_error": True,
    "write_computation_times": False,
}
suppress_warnings = ["config.cache"]  # a scraper is a function, which is not kept

html_theme = "pydata_sphinx_theme"
html_title = project
html_static_path = [str(HERE / "static")]
html_extra_path = [str(HERE / "root")]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
templates_path = [str(HERE / "templates")]
html_theme_options = {
    "navbar_start": ["navbar-logo", "version.html"],
    "header_links_before_dropdown": 8,
    "footer_start": [],
    "footer_end": [],
}

for name, page in {"python": pages.python_page, "command": pages.command_page}.items():
    (HERE.parent / "reference" / f"{name}.rst").write_text(page(), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Sphinx calls this."""
    app.add_lexer("csv", TextLexer)
    app.add_transform(pages.Anchors)
    app.connect("autodoc-process-docstring", pages.sections, priority=100)
