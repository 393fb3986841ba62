"""What a reader is shown of a comparison, as data: sections of sentences, tables and pictures;
``arboretum.report.document`` writes it as text, Markdown and LaTeX, ``arboretum.report.page`` as a
page.
"""

import math
from collections.abc import Mapping, Sequence

import attrs

from arboretum.model.charts import Chart


@attrs.frozen
class Estimate:
    """A mean with its standard error.

    value : NaN where there is none.
    error : NaN where it is not known.
    best : no other of its row is better.
    """

    value: float
    error: float = math.nan
    best: bool = False

    def __float__(self) -> float:
        return self.value


Cell = str | float | bool | Estimate | None


@attrs.frozen
class Listing:
    """A table.

    name : of its file, without ending; letters, digits and ``_``.
    caption : a sentence that says what the rows are.
    rows : column → cell.
    headings : column → what stands above it, in order; {}: the columns of the rows.
    """

    name: str
    caption: str
    rows: Sequence[Mapping[str, Cell]]
    headings: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def columns(self) -> dict[str, str]:
        """Column → heading, in order."""
        return dict(self.headings) or {name: name for row in self.rows for name in row}


@attrs.frozen
class Section:
    """What one question is answered by.

    sentences : the answer.
    tables, pictures : file name without ending → chart.
    notes : what limits it.
    drawings : SVG documents of another kind than charts, which a page shows before its tables.
    """

    title: str
    sentences: Sequence[str] = ()
    tables: Sequence[Listing] = ()
    pictures: Mapping[str, Chart] = attrs.field(factory=dict)
    notes: Sequence[str] = ()
    drawings: Sequence[str] = ()


@attrs.frozen
class Chapter:
    """Sections under one heading."""

    title: str
    sections: Sequence[Section]
    sentences: Sequence[str] = ()


@attrs.frozen
class Document:
    """All of it.   sentences : what stands first."""

    title: str
    chapters: Sequence[Chapter]
    sentences: Sequence[str] = ()

    @property
    def sections(self) -> list[Section]:
        """Of all chapters, in order."""
        return [section for chapter in self.chapters for section in chapter.sections]

    @property
    def tables(self) -> list[Listing]:
        """Of all sections, in order."""
        return [table for section in self.sections for table in section.tables]

    @property
    def pictures(self) -> dict[str, Chart]:
        """Of all sections, file name without ending → chart."""
        return {name: chart for one in self.sections for name, chart in one.pictures.items()}
