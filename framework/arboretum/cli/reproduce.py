"""``arboretum reproduce PAPER``: a paper's numbers beside ours, with a verdict each."""

import argparse
import json
import platform
import shlex
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

import attrs
import yaml

from arboretum.cli import terminal
from arboretum.cli.progress import QUIET_SECONDS, Line, counts
from arboretum.cli.show import tracker_from
from arboretum.cli.terminal import (
    FAILED_STATUS,
    TRACKER_FAILED,
    Parser,
    duration,
    paragraph,
    status_of,
)
from arboretum.config.execute import Session, tracker_fields
from arboretum.errors import ConfigError, StoreError
from arboretum.interfaces.tracker import Tracker
from arboretum.lab import current
from arboretum.model.judgement import Cell, Claim, Judgement, Verdict
from arboretum.model.plain import Facts, Plain
from arboretum.plugin.build import build, component_values, default_of
from arboretum.plugin.discovery import PluginFile, load_registry
from arboretum.plugin.registry import Entry, Registry, plugin_files
from arboretum.report.charts import chart_svg
from arboretum.runs.folder import default_root, make_ready, write_files
from arboretum.runs.pieces import OUT, Job, Launch, Work, code_of, perform
from arboretum.runs.tracking import SUMMARY, VerdictFacts, track_verdict

DESCRIPTION = """\
Do a paper's study again and print its numbers beside ours, with standard errors and a verdict:
PASS, FAIL, KNOWN (explained: a difference that lies where its reason predicts it) or OPEN (not
shown).  Finished pieces are kept: the same command goes on where it was interrupted.  Exit status 1
when anything fails.  Without PAPER: what can be reproduced."""

MEANING = {Verdict.KNOWN: " (explained)", Verdict.OPEN: " (not shown)"}
HEADER = ("", "", "published", "ours", "std. error", "deviation", "verdict", "")

JOBLIB, JOBLIB_PACKAGE = "joblib", "hydra_plugins.hydra_joblib_launcher"
PIECES = "pieces"  # where finished ones are kept, below the folder


def judgement_text(facts: VerdictFacts, *, brief: bool = False) -> str:
    """The whole text: tables of cells, claims, reasons, notes, counts and verdict.

    brief : of the cells only those that do not pass.
    """
    judged, summary = facts.judgement, facts.facts
    scaled = "" if summary["fraction"] == 1.0 else f", fraction {summary['fraction']:g}"
    blocks = [paragraph(f"{summary['name']}: {summary['paper']}{scaled}", "")]
    for (table, _), cells in groupby(judged.cells, key=lambda cell: (cell.table, cell.recomputed)):
        shown = [cell for cell in cells if not brief or cell.verdict is not Verdict.PASS]
        if shown:
            blocks.append(cell_table(table, shown))
    if judged.claims:
        lines = ["claims"]
        for claim in judged.claims:
            lines.append(paragraph(f"{claim.verdict.value:<5} {claim.sentence}", "  ", "        "))
            lines += [
                paragraph(text, "        ")
                for text in (claim.evidence, f"known: {claim.reason}" * bool(claim.reason))
                if text
            ]
        blocks.append("\n".join(lines))
    reasons = dict.fromkeys(
        f"{cell.table}, {cell.row} {cell.column}: {cell.reason}"
        for cell in judged.cells
        if cell.reason
    )
    if reasons:
        blocks.append(
            "\n".join(
                ["differences and their reasons", *(paragraph(reason, "  ") for reason in reasons)]
            )
        )
    blocks += [
        "\n".join(map(paragraph, lines))
        for lines in (judged.notes, counts_and_verdict(facts))
        if lines
    ]
    return "\n\n".join(blocks)


def judgement_note(facts: VerdictFacts) -> str:
    """Markdown for a page of its own: the verdict first, then what does not simply pass, as it
    is printed.
    """
    *counts, verdict = counts_and_verdict(facts)
    blocks = [
        f"**{verdict}**",
        "\n".join(f"- {line}" for line in counts),
        "Every number is in the artifacts verdict.txt and cells.csv.",
    ]
    return "\n\n".join([*blocks, f"```\n{judgement_text(facts, brief=True)}\n```"])


def cell_table(table: str, cells: Sequence[Cell]) -> str:
    """One table of the paper; a row's name stands once."""
    rows = []
    for cell, before in zip(cells, (None, *cells), strict=False):
        name = "" if before is not None and cell.row == before.row else cell.row
        numbers = (
            *(f"{x:.6f}" for x in (cell.published, cell.ours, cell.error)),
            f"{cell.deviation:+.2f}".replace("inf", "∞"),
        )
        rows.append((f"  {name}", cell.column, *numbers, cell.verdict.value, cell.aside))
    shown, (first, *_) = len(HEADER) - (not any(cell.aside for cell in cells)), cells
    header = [*HEADER[:2], "recomputed" if first.recomputed else "published", *HEADER[3:shown]]
    return f"{table}\n" + terminal.aligned(
        [row[:shown] for row in rows], header, right=(2, 3, 4, 5)
    )


def counts_and_verdict(facts: VerdictFacts) -> list[str]:
    """Counts, the largest deviation without a reason, and the verdict: of how much, where it is
    not of the whole study.
    """
    judged, asked = facts.judgement, facts.facts
    if not judged.cells and not judged.claims:
        return ["nothing can be judged yet: no piece is finished, or the fraction is too small"]
    lines = []
    if judged.cells:
        printed, own = (
            [cell for cell in judged.cells if cell.recomputed is reported]
            for reported in (False, True)
        )
        lines = [
            _count_verdicts(what, cells)
            for what, cells in (("cell", printed), ("recomputed number", own))
            if cells
        ]
        # exact numbers have none
        if measured := [cell for cell in judged.cells if cell.error > 0.0 and not cell.reason]:
            far = max(measured, key=lambda cell: abs(cell.deviation))
            lines[0] += (
                f"; largest unexplained deviation {abs(far.deviation):.2f} standard errors "
                f"({far.table}, {far.row} {far.column})"
            )
    if judged.claims:
        lines.append(_count_verdicts("claim", judged.claims))
    return [*lines, f"verdict: {judged.verdict.value}{_part_judged(judged, asked)}"]


def _part_judged(judged: Judgement, asked: Plain) -> str:
    """What the verdict leaves out: pieces of the study that nobody asked for, or what is not
    shown; "" where it is of everything.
    """
    finished, planned, fraction = asked["finished"], asked["planned"], asked["fraction"]
    if finished < planned or fraction < 1.0:
        part = f", fraction {fraction:g}" if fraction < 1.0 else ""
        return f" of what was asked ({finished} of {planned} pieces{part})"
    every, unseen = len(judged.cells) + len(judged.claims), judged.count(Verdict.OPEN)
    return (
        f" of what is shown ({every - unseen} of {every} cells and claims)"
        if 0 < unseen < every
        else ""
    )


def _count_verdicts(what: str, judged: Sequence[Cell | Claim]) -> str:
    """Return how many cells or claims there are, and how many have each verdict, as a sentence.

    what : "cell", "claim": what they are, for one.
    """
    found = ", ".join(
        f"{n} {v.value}{MEANING.get(v, '')}"
        for v in Verdict
        if (n := sum(one.verdict is v for one in judged))
    )
    return f"{len(judged)} {what}{'s' * (len(judged) > 1)}: {found}"


def main(argv: list[str]) -> int:
    """Reproduce; returns 0 (nothing fails), 1 (something does), 3 (all is kept, but the tracker
    failed), 130 (Ctrl-C).
    """
    parser = Parser("reproduce", DESCRIPTION, plugin="a one-file plugin, too")
    parser.add_argument(
        "words",
        nargs="*",
        metavar="PAPER tracker.…",
        help="what to reproduce; tracker=none, tracker.uri=URI",
    )
    parser.add_argument(
        "--fraction",
        type=float,
        default=1.0,
        metavar="F",
        help="of the planned work, of every chapter its cheapest pieces (default 1)",
    )
    parser.add_argument(
        "--workers", type=int, default=None, metavar="N", help="processes (default: one per core)"
    )
    parser.add_argument(
        "--launcher",
        metavar="NAME",
        help="who does the work, as hydra/launcher of a sweep (default joblib; hydra.launcher.… "
        "sets it)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of everything drawn at random (default 0)"
    )
    parser.add_argument(
        "--out", metavar="FOLDER", help="where results are kept (default outputs/reproduce/PAPER)"
    )
    parser.add_argument("--fresh", action="store_true", help="do finished pieces again")
    parser.add_argument(
        "--brief", action="store_true", help="print only the cells that do not pass"
    )
    known, _ = parser.parse_known_intermixed_args(
        [word for word in argv if word not in ("-h", "--help")]
    )
    registry = load_registry(known.plugin)
    papers = [word for word in known.words if "=" not in word]
    entry = registry.get("reproduction", papers[0]) if papers else None
    if entry is not None:
        _add_fields(parser, entry)
    if "-h" in argv or "--help" in argv:
        parser.parse_args(["--help"])
    arguments = parser.parse_intermixed_args(argv)  # an unknown option is refused in any case
    if entry is None:
        said = (
            f"{e.name}\n  {e.paper}\n  {e.summary}\n  arboretum reproduce {e.name}"
            for e in registry.entries("reproduction")
        )
        terminal.say("\n\n".join(said) or "no reproduction is installed")
        return 0
    if len(papers) > 1:
        raise ConfigError(f"one paper at a time; got {papers[0]} and {papers[1]}")
    for name, fine, rule in (
        ("fraction", 0.0 < arguments.fraction <= 1.0, "> 0 and ≤ 1"),
        ("workers", arguments.workers is None or arguments.workers >= 1, "≥ 1"),
        ("seed", arguments.seed >= 0, "≥ 0"),
    ):
        if not fine:
            raise ConfigError(f"--{name} must be {rule}; got {getattr(arguments, name):g}")
    said = (word for word in argv if word != "--fresh" and not word.startswith("tracker"))
    arguments.command = shlex.join(["arboretum", "reproduce", *said])
    return reproduce(entry, registry, arguments)


def _add_fields(parser: Parser, entry: Entry) -> None:
    """Add an option for each field of a reproduction; raises ConfigError where one has the name of
    an option of the command.
    """
    group = parser.add_argument_group(f"options of {entry.name}")
    for field in attrs.fields(entry.cls):
        default = default_of(field)
        shown = (
            ",".join(map(str, default)) or "all"
            if isinstance(default, tuple | list)
            else str(default) or "none"
        )
        words = f"{field.metadata.get('doc', '')} (default {shown})".replace("%", "%%")
        try:
            group.add_argument(
                f"--{field.alias.replace('_', '-')}",
                dest=f"field {field.alias}",
                metavar="VALUE",
                help=words,
            )
        except argparse.ArgumentError as error:
            raise ConfigError(
                f"reproduction {entry.name!r} ({entry.owner.plugin}) has a field {field.alias!r}, "
                "which is an option of the command"
            ) from error


def _given_fields(entry: Entry, arguments: argparse.Namespace) -> Facts:
    """Field → value of the options that were given; where the field is a list, "a,b" is one of
    two, "a" of one.

    Raises ConfigError for a value that is no YAML.
    """
    found = {}
    for field in attrs.fields(entry.cls):
        text = getattr(arguments, f"field {field.alias}")
        if text is not None:
            listed = isinstance(default_of(field), tuple | list) and not text.startswith("[")
            try:
                found[field.alias] = yaml.safe_load(f"[{text}]" if listed else text)
            except yaml.YAMLError:
                raise ConfigError(
                    f"--{field.alias.replace('_', '-')} cannot be read: {text!r}"
                ) from None
    return found


def reproduce(entry: Entry, registry: Registry, arguments: argparse.Namespace) -> int:
    """Do the work, judge, print, keep, track; returns the exit status.

    arguments : of the parser of :func:`main`, and ``command``, which does the same again.
    """
    fields = _given_fields(entry, arguments)
    component = build(entry, fields)
    tracker = tracker_from(
        [
            word
            for word in arguments.words
            if "=" in word and not word.startswith("hydra.launcher.")
        ],
        registry,
    )
    folder = _folder_of_study(entry, arguments.out)
    session = Session(registry)
    trouble = (
        "" if tracker is None else session.ask(tracker, lambda: session.prepare_tracker(tracker))
    )
    files = plugin_files((*current().plugins, *arguments.plugin))
    job = Job(
        entry.name,
        arguments.seed,
        json.dumps(fields),
        tuple(map(PluginFile.read, files)),
        code_of(registry),
    )
    pieces = list(component.pieces(arguments.fraction))
    line = Line()
    words = _launcher_words(arguments, len(pieces))
    work = perform(
        job,
        pieces,
        folder / PIECES,
        launch=_launch_with(words, job, folder / PIECES, registry),
        fresh=arguments.fresh,
        watch=partial(_show_work, line),
    )
    line.clear()
    if work.interrupted:
        kept = f"{len(work.found)} of {len(pieces)} pieces are finished and kept in {folder}"
        again = " (without --fresh)" if arguments.fresh else ""
        terminal.report(
            f"arboretum: interrupted; {kept}; the same command goes on from there{again}"
        )
        return status_of(KeyboardInterrupt())
    judged = component.judge(work.results)
    pictures = {
        name: p if isinstance(p, str) else chart_svg(p) for name, p in judged.pictures.items()
    }
    failures = [failure for _, failure in sorted(work.failures.items())]
    summary = {
        "name": entry.name,
        "paper": entry.paper,
        "fields": component_values(component),
        "seed": job.seed,
        "fraction": arguments.fraction,
        "pieces": work.total,
        "reused": work.reused,
        "finished": len(work.found),
        "planned": len(build(entry, {}).pieces(1.0)),
        "failures": [{"piece": dict(key), "error": text} for key, text in failures],
        "seconds": round(work.seconds, 2),
        "processor_seconds": round(work.busy, 2),
        "workers": _spell_workers(words),
        "machine": platform.machine(),
        "code": job.code,
        "versions": dict(session.versions),
        "tracker": None if tracker is None else tracker.name,
        "command": arguments.command,
    }
    facts = VerdictFacts(summary, judged, pictures)
    terminal.say(judgement_text(facts, brief=arguments.brief))
    write_files(folder, facts.files(), OUT)
    _report_work(work, failures, _spell_workers(words), folder)
    if tracker is not None and not trouble and (judged.cells or judged.claims):
        trouble = session.ask(tracker, lambda: _send_verdict(tracker, facts, folder))
    if trouble:
        terminal.report(
            f"arboretum: error: {trouble}; everything is kept in {folder}, the same command "
            "sends it again"
        )
    if work.failures or judged.verdict is Verdict.FAIL:
        return FAILED_STATUS
    return TRACKER_FAILED if trouble else 0


def _launcher_words(arguments: argparse.Namespace, n_pieces: int) -> list[str]:
    """Return the words that choose a launcher in Hydra's language; none: this process works.

    n_pieces : of the study; for one, none is started.
    """
    given = [word for word in arguments.words if word.startswith("hydra.launcher.")]
    if arguments.launcher is not None:
        if arguments.workers is not None and arguments.launcher != JOBLIB:
            raise ConfigError(
                f"--workers is joblib's; launcher {arguments.launcher} takes what it has "
                "(hydra.launcher.… sets it)"
            )
    elif arguments.workers == 1 or n_pieces <= 1 or not _is_installed(JOBLIB_PACKAGE):
        if (arguments.workers or 1) > 1 and n_pieces > 1:
            raise ConfigError(
                "--workers above 1 needs joblib's launcher; pip install 'arboretum[joblib]' brings "
                "it"
            )
        return []
    launcher = arguments.launcher or JOBLIB
    words = [f"hydra/launcher={launcher}", *given]
    if launcher == JOBLIB and not any(word.startswith("hydra.launcher.n_jobs=") for word in given):
        words.append(f"hydra.launcher.n_jobs={arguments.workers or _count_cores()}")
    return words


def _is_installed(module: str) -> bool:
    """Return whether ``module`` can be found; one whose own parent is missing cannot."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _launch_with(words: Sequence[str], job: Job, folder: Path, registry: Registry) -> Launch | None:
    """Return what does the pieces of a study, None for this process.

    words : of :func:`_launcher_words`.   folder : where pieces are kept.
    """
    if not words:
        return None
    from arboretum.cli.pieces import launch_pieces

    return partial(launch_pieces, job, folder, registry, words)


def _spell_workers(words: Sequence[str]) -> str:
    """Return who did the pieces: "1 worker", "2 workers", "launcher ray"."""
    if not words:
        return "1 worker"
    launcher = words[0].partition("=")[2]
    if launcher != JOBLIB:
        return f"launcher {launcher}"
    number = next(word.partition("=")[2] for word in words if "n_jobs=" in word)
    return f"{number} worker{'s' * (number != '1')}"


def _count_cores() -> int:
    """Return the cores that this process may use."""
    from joblib import cpu_count

    return int(cpu_count())


def _show_work(line: Line, work: Work) -> None:
    """Show how far the work is, once that takes QUIET_SECONDS."""
    if work.seconds >= QUIET_SECONDS:
        ended, failed = work.reused + work.ended, len(work.failures)
        line.show(counts(ended, work.total, work.left, failed, work.reused, " pieces"))


def _folder_of_study(entry: Entry, out: str | None) -> Path:
    """The folder that results are kept in, ready to be written: ``out``, or one of the
    reproduction's own.  Raises StoreError where it holds something else.
    """
    folder = Path(out).expanduser() if out else default_root() / "reproduce" / entry.name
    if (
        folder.is_dir()
        and any(folder.iterdir())
        and not any((folder / name).exists() for name in (SUMMARY, PIECES))
    ):
        raise StoreError(
            f"{str(folder)!r} holds other things than a study, which might be overwritten; "
            f"choose another with {OUT}"
        )
    make_ready(folder, OUT)
    return folder


def _report_work(
    work: Work, failures: Sequence[tuple[Plain, str]], workers: str, folder: Path
) -> None:
    """One line per reason of a failure, with the first piece that failed for it; then what was
    done.

    failures : (key of the piece, its error in one line).   workers : who worked, as text.
    """
    pieces: dict[str, list[Plain]] = {}
    for key, text in failures:
        pieces.setdefault(text, []).append(key)
    for text, (first, *others) in pieces.items():
        more = f" and {len(others)} more" if others else ""
        terminal.report(f"arboretum: error: piece {json.dumps(first)}{more}: {text}")
    words = (
        f"{work.total - work.reused} of {work.total} pieces in {duration(work.seconds)}, {workers}"
    )
    before = f", {work.reused} finished before" if work.reused else ""
    terminal.say(
        f"{words}{before} ({duration(work.busy)} of processor time in all)\nkept: {folder}"
    )


def _send_verdict(tracker: Tracker, facts: VerdictFacts, folder: Path) -> None:
    """Send the chapters.  Raises TrackerError."""
    fields, text = tracker_fields(tracker), judgement_text(facts) + "\n"
    run_id = track_verdict(tracker, facts, folder, fields, note=judgement_note(facts), text=text)
    terminal.say(
        f"tracked: {tracker.name} {run_id}" if run_id else f"tracked: {tracker.name} has it already"
    )
