"""``arboretum compare WHAT…``: which of several methods is best, by how much, how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

from arboretum.cli import terminal
from arboretum.cli.compared import Measure, Question, compose, measure_of, usual_measures
from arboretum.cli.progress import say_waiting
from arboretum.cli.show import OVERRIDES_HELP, PLUGIN_HELP, tracker_from
from arboretum.cli.terminal import Parser
from arboretum.errors import ConfigError
from arboretum.interfaces.comparison import Terms
from arboretum.model.document import Document
from arboretum.model.plain import Facts
from arboretum.model.shown import masked
from arboretum.plugin.assemble import read_assignment
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import Registry, plugin_files
from arboretum.report.charts import chart_svg
from arboretum.report.document import (
    csv_listing,
    csv_of,
    latex_listing,
    latex_of,
    markdown_of,
    text_of,
)
from arboretum.report.page import page_of
from arboretum.runs.folder import study_folder, write_files
from arboretum.runs.gather import Gathered, gather, gather_from
from arboretum.runs.grouping import Grouping

DESCRIPTION = """\
Which of several methods is best, by how much, and how sure that is: means with standard errors,
average ranks, tests over data sets and data set by data set, trade-offs, what is proven, what is
missing.  WHAT is a run's folder, a sweep's, a study's, or any folder above them; --experiment reads
a tracker instead.  Methods are what --by tells apart; data sets, seeds and folds repeat them."""
FORMS = ("text", "csv", "latex", "markdown", "html")
PAGE = "comparison.html"
OUT = "--out FOLDER"
FIELD = "comparison."
OWN = "measure."  # how a field of a measure begins


def main(argv: list[str]) -> int:
    """Print or write what is found."""
    parser = Parser("compare", DESCRIPTION, plugin=PLUGIN_HELP)
    parser.add_argument(
        "words",
        nargs="*",
        metavar="WHAT",
        help=f"folders; {FIELD}NAME.FIELD=VALUE for a test, {OWN}… for a measure; {OVERRIDES_HELP}",
    )
    parser.add_argument(
        "--experiment", metavar="NAME", help="runs that the tracker keeps under this name"
    )
    parser.add_argument(
        "--by",
        default="method",
        metavar="KEY,…",
        help="what is compared: method, criterion, stopping.standard.max_depth, … (default method)",
    )
    parser.add_argument(
        "--measure",
        metavar="NAME,…",
        help=(
            "metrics, timing.fit, or measures of plugins (default: test error; trade-offs hold it "
            "against costs)"
        ),
    )
    parser.add_argument(
        "--control", default="", metavar="METHOD", help="hold the others against this one"
    )
    parser.add_argument(
        "--rope",
        default="",
        metavar="WIDTH",
        help=(
            "differences up to this count as practically alike; MEASURE=WIDTH,… for one each "
            "(default 0.01 for errors and the like, none for costs and times)"
        ),
    )
    parser.add_argument(
        "--alpha", type=float, default=0.05, help="level of significance (default 0.05)"
    )
    parser.add_argument(
        "--test",
        metavar="NAME,…",
        help="these tests alone (arboretum plugins comparison lists them)",
    )
    parser.add_argument(
        "--out", metavar="FOLDER", help="write tables, pictures and the report there, too"
    )
    parser.add_argument(
        "--format", default="text", choices=FORMS, help="of what is printed (default text)"
    )
    arguments = parser.parse_intermixed_args(argv)
    overrides = [word for word in arguments.words if "=" in word and not Path(word).exists()]
    folders = [word for word in arguments.words if word not in overrides]
    registry = load_registry(plugin_files(arguments.plugin))
    fields, own = (
        _fields_of([word for word in overrides if word.startswith(prefix)], prefix)
        for prefix in (FIELD, OWN)
    )
    gathered = records_of_words(
        folders,
        arguments.experiment,
        [word for word in overrides if not word.startswith((FIELD, OWN))],
        registry,
    )
    terminal.warn_left_out(gathered.damaged, "the report names them")
    asked = Asked(
        arguments.by,
        arguments.measure or "",
        arguments.control,
        arguments.rope,
        arguments.alpha,
        arguments.test or "",
        fields,
        own,
    )
    document = document_of(gathered, asked, registry)
    if arguments.format != "text":
        terminal.as_data()
    terminal.say(written(document, arguments.format).rstrip("\n"))
    if arguments.out is not None:
        folder = Path(arguments.out).expanduser()
        write_files(folder, files_of(document), OUT)
        terminal.report(f"kept in {folder}: {PAGE}, tables and pictures")
    return 0


@attrs.frozen
class Asked:
    """What a comparison is asked for, as the command's options have it.

    by, measure, test : words between commas; "" : the usual ones.
    control : a method, "" for none.
    rope : a width, or MEASURE=WIDTH between commas.
    fields, own : name of a test, of a measure → its fields.
    """

    by: str = "method"
    measure: str = ""
    control: str = ""
    rope: str = ""
    alpha: float = 0.05
    test: str = ""
    fields: Mapping[str, Facts] = attrs.field(factory=dict)
    own: Mapping[str, Facts] = attrs.field(factory=dict)


def document_of(gathered: Gathered, asked: Asked, registry: Registry) -> Document:
    """Return all that is said of runs.  Raises ConfigError and DataError."""
    names = listed(asked.measure) or usual_measures(gathered.records)
    measures = [measure_of(name, gathered.records, registry, asked.own) for name in names]
    if not 0.0 < asked.alpha < 1.0:
        raise ConfigError(
            f"--alpha {asked.alpha:g} is no level of significance: choose one in (0, 1), such "
            "as 0.05"
        )
    question = Question(
        measures,
        Terms(asked.alpha, control=asked.control),
        _ropes(asked.rope, measures),
        listed(asked.test) or None,
        asked.fields,
    )
    grouping = Grouping.of(gathered.records, listed(asked.by))
    return compose(grouping, gathered, question, registry)


def records_of_words(
    folders: Sequence[str], experiment: str | None, overrides: Sequence[str], registry: Registry
) -> Gathered:
    """Return the runs that a command line names: in folders, or kept by a tracker under a name.

    overrides : ``tracker.…``, which store.   Raises ConfigError where it names nothing, or both.
    """
    if bool(folders) == bool(experiment):
        raise ConfigError(
            "name the folders of runs, or --experiment NAME of a tracker"
            + (", not both" if folders else ": arboretum compare multirun")
        )
    if not experiment:
        if overrides:
            raise ConfigError(f"{overrides[0]!r} is for --experiment; {OVERRIDES_HELP}")
        return gather([str(folder_of_study(word)) for word in folders])
    tracker = tracker_from([*overrides, f"tracker.experiment={experiment}"], registry)
    if tracker is None:
        raise ConfigError("tracker=none keeps nothing; name a folder")
    with say_waiting(f"asking tracker {tracker.name}"):
        return gather_from(tracker)


def folder_of_study(word: str) -> Path:
    """Return the folder that a word names: itself, or that of a study of this name."""
    folder = study_folder(word)
    return folder if "/" not in word and not Path(word).exists() and folder.is_dir() else Path(word)


def listed(text: str | None) -> list[str]:
    """Return the words between commas, each once."""
    return list(dict.fromkeys(word.strip() for word in (text or "").split(",") if word.strip()))


def _fields_of(words: Sequence[str], prefix: str) -> dict[str, Facts]:
    """Return the fields of components by their names.   prefix : of the words."""
    found: dict[str, Facts] = {}
    for word in words:
        key, value = read_assignment(word.removeprefix(prefix))
        name, dot, field = key.partition(".")
        if not dot:
            raise ConfigError(f"{word}: say {prefix}NAME.FIELD=VALUE")
        found.setdefault(name, {})[field] = value
    return found


def _ropes(text: str, measures: Sequence[Measure]) -> Mapping[str, float]:
    """Return the region of practical equivalence by measure, "" for all others."""
    found = {}
    names = [measure.name for measure in measures]
    for word in listed(text):
        name, sign, value = word.rpartition("=")
        if sign and name not in names:
            raise ConfigError(
                f"--rope {word}: {name!r} is not compared; compared are {', '.join(names)}"
            )
        try:
            found[name] = float(value)
        except ValueError:
            raise ConfigError(
                f"--rope {word}: {value!r} is no number; say a width such as 0.01"
            ) from None
        if not 0.0 <= found[name] < float("inf"):
            raise ConfigError(f"--rope {word}: a width is 0 or more")
    return found


def written(document: Document, form: str) -> str:
    """Return it in one of :data:`FORMS`."""
    if form == "html":
        return page_of(document)
    if form == "text":
        return text_of(document, terminal.width() if terminal.is_terminal() else None)
    return {"csv": csv_of, "latex": latex_of, "markdown": markdown_of}[form](document)


def files_of(document: Document) -> dict[str, str]:
    """File name → text of everything: the report as a page and as Markdown and text, each table as
    CSV and LaTeX, each picture.
    """
    pictures = {name: chart_svg(chart) for name, chart in document.pictures.items()}
    tables = document.tables
    files = {
        **{f"{one.name}.csv": csv_listing(one) for one in tables},
        **{f"{one.name}.tex": latex_listing(one) for one in tables},
        **{f"{name}.svg": text for name, text in pictures.items()},
        "comparison.txt": text_of(document),
        "comparison.md": markdown_of(document),
        PAGE: page_of(document, pictures),
    }
    return {name: masked(text) for name, text in files.items()}  # an error may name a password
