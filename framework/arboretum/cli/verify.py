"""``arboretum verify PATH``: replay a proof against the table, with nothing of the solver that
wrote it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from arboretum.cli import terminal
from arboretum.cli.progress import Line, RunProgress
from arboretum.cli.show import prepare_again
from arboretum.cli.terminal import Parser, duration
from arboretum.errors import ConfigError, DataError, VerificationError, sure
from arboretum.interfaces.constraints import constraints_of
from arboretum.interfaces.method import Problem
from arboretum.model.reading import SHOWN, brief
from arboretum.model.shown import visible
from arboretum.plugin.build import component_values
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import Registry, plugin_files

if TYPE_CHECKING:
    from arboretum.engine.progress import Progress
    from arboretum.proof.check import Accepted
    from arboretum.proof.format import Proof

DESCRIPTION = """\
Check the proof that a solver wrote (solver.proof=PATH).  The table is loaded and encoded again as
the log's configuration says, the objective is brought to integers again, and every bound has to
follow from the bounds before it by counting alone.
Exit status 0: accepted; 1: rejected, with the first record that does not follow, or not
checked at all."""
GREEK = {"lam": "λ ", "mu": "μ "}
PLACES = ("dataset", "encoder")
"""Groups whose values may be given anew: where the table is now.  The table itself has to be the
one of the proof.
"""


def main(argv: list[str]) -> int:
    """Print what is proven; raises VerificationError for a proof that is none."""
    parser = Parser("verify", DESCRIPTION, plugin="a one-file plugin that the run used")
    parser.add_argument("path", metavar="PATH", help="the proof")
    parser.add_argument(
        "overrides",
        nargs="*",
        metavar="KEY=VALUE",
        help="where the table is now: dataset.path=FILE",
    )
    arguments = parser.parse_intermixed_args(argv)
    from arboretum.proof.check import check
    from arboretum.proof.format import read

    proof, line = read(arguments.path), Line()
    progress = RunProgress(line)
    with line.shows(progress):
        problem = problem_of(
            proof, arguments.overrides, load_registry(plugin_files(arguments.plugin)), progress
        )
        start = time.monotonic()
        try:
            found = check(proof, problem, progress)
        except VerificationError as error:
            raise VerificationError(f"rejected: {error}") from None
    terminal.say(describe_accepted(proof, problem, found, duration(time.monotonic() - start)))
    return 0


def describe_accepted(proof: Proof, problem: Problem, found: Accepted, seconds: str) -> str:
    """What is shown, of which table and under what; and which words are the header's, of which
    nothing was checked.

    seconds : as they are said, "0.4 s".
    """
    from arboretum.proof.asked import asked_of

    parts, table, header = problem.parts, problem.objects.table, proof.header
    value = "" if found.value is None else f", the tree's value is {found.value:.6g}"
    optimal = " (optimal)" if found.value is not None and found.lower_bound >= found.value else ""
    least = sure(parts.complexity or parts.objective)
    fields = ", ".join(
        f"{GREEK.get(name, '')}{name}={_word(value)}"
        for name, value in component_values(least).items()
    )
    constraints = constraints_of(parts.solver)
    kept = constraints.said if constraints else ""
    asked = ", ".join(f"{name}={value:g}" for name, value in asked_of(problem).items())
    unchecked = {
        "solver": header["solver"],
        "version": header["version"],
        "table": header["data"].get("name", ""),
    }
    return "\n".join(
        (
            f"accepted: {found.records:,} records of {_word(header['solver'])} checked in "
            f"{seconds}",
            f"minimised: {least.name}{f' ({fields})' * bool(fields)}, limits: {asked or 'none'}",
            f"table: {_word(table.name)}, {table.n_rows:,} training rows, sha256 {table.sha256()}",
            "said by the header alone: "
            f"{', '.join(f'{name} {_word(word)}' for name, word in unchecked.items())}",
            *([f"constraints: {visible(kept)}"] if kept else []),
            *([f"taken on trust: {found.assumed}"] if found.assumed else []),
            f"no tree is below {found.lower_bound:.6g} ({least.name} on "
            f"{_word(table.name)}){value}{optimal}",
        )
    )


def _word(value: object) -> str:
    """A value of a log on one line, cut at SHOWN characters; none that a terminal obeys."""
    text = (
        brief(value)
        if not isinstance(value, str)
        else value
        if len(value) <= SHOWN
        else f"{value[:SHOWN]}…"
    )
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def problem_of(
    proof: Proof, overrides: list[str], registry: Registry, progress: Progress
) -> Problem:
    """The problem that the log is about, made again from the data set.  Raises ArboretumError.

    overrides : KEY=VALUE, of the groups in PLACES.
    """
    from arboretum.config.bridge import start_from
    from arboretum.config.compose import compose_and_resolve
    from arboretum.engine import run as engine

    for text in overrides:
        if text.partition("=")[0].partition(".")[0] not in PLACES:
            raise ConfigError(
                f"{text!r} would be another proof; only "
                f"{' and '.join(f'{name}.…' for name in PLACES)} may be given"
            )
    if not isinstance(proof.config.get("dataset"), dict):
        raise DataError(
            "the proof does not say of which data set it is (its run was not given one); "
            "check it from Python"
        )
    said = ["tracker=none", *overrides]
    _, resolved = compose_and_resolve(said, registry, start=start_from(proof, said, registry))
    request = engine.Request(resolved.parts, proof.header["seed"])
    table = prepare_again(request, progress).table
    problem = engine.pose(resolved.parts, table, proof.header["seed"], progress=progress).problem
    own = getattr(problem.parts.solver, "problem_of_proof", None)
    return problem if own is None else own(problem)
