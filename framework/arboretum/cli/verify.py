"""``arboretum verify PATH``: replay a proof against the table, with nothing of the solver that wrote it."""

import time
from typing import Any

from arboretum.cli import terminal
from arboretum.cli.progress import Line, RunProgress
from arboretum.cli.terminal import Parser, duration
from arboretum.errors import ConfigError, DataError, VerificationError
from arboretum.plugin.discovery import load_registry
from arboretum.plugin.registry import Registry, plugin_files

DESCRIPTION = """\
Check the proof that a solver wrote (solver.proof=PATH).  The table is loaded and encoded again as the log's configuration says,
the objective is brought to integers again, and every bound has to follow from the bounds before it by counting alone.
Exit status 0: accepted; 1: rejected, with the first record that does not follow, or not checked at all."""
PLACES = ("dataset", "encoder")
"""Groups whose values may be given anew: where the table is now.  The table itself has to be the one of the proof."""


def main(argv: list[str]) -> int:
    """Print what is proven; raises VerificationError for a proof that is none."""
    parser = Parser("verify", DESCRIPTION, plugin="a one-file plugin that the run used")
    parser.add_argument("path", metavar="PATH", help="the proof")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="where the table is now: dataset.path=FILE")
    arguments = parser.parse_intermixed_args(argv)
    from arboretum.proof.check import check
    from arboretum.proof.format import read

    proof, line = read(arguments.path), Line()
    progress = RunProgress(line)
    with line.shows(progress):
        problem = problem_of(proof, arguments.overrides, load_registry(plugin_files(arguments.plugin)), progress)
        start = time.monotonic()
        try:
            found = check(proof, problem, progress)
        except VerificationError as error:
            raise VerificationError(f"rejected: {error}") from None
    seconds = duration(time.monotonic() - start)
    value = "" if found.value is None else f", the tree's value is {found.value:.6g}"
    optimal = " (optimal)" if found.value is not None and proof.end["bound"] == proof.end["value"] else ""
    least = problem.parts.complexity or problem.parts.objective
    what = f"{least.name} on {proof.header['data']['name']}"
    terminal.say(f"accepted: {found.records:,} records of {proof.header['solver']} checked in {seconds}")
    terminal.say(f"no tree is below {found.lower_bound:.6g} ({what}){value}{optimal}")
    return 0


def problem_of(proof: Any, overrides: list[str], registry: Registry, progress: Any) -> Any:
    """The problem that the log is about, made again from the data set.  Raises ArboretumError."""
    from arboretum.config.bridge import start_from
    from arboretum.config.compose import compose_and_resolve
    from arboretum.engine import run as engine

    for text in overrides:
        if text.partition("=")[0].partition(".")[0] not in PLACES:
            raise ConfigError(f"{text!r} would be another proof; only {' and '.join(f'{name}.…' for name in PLACES)} may be given")
    if not isinstance(proof.config.get("dataset"), dict):
        raise DataError("the proof does not say of which data set it is (its run was not given one); check it from Python")
    said = ["tracker=none", *overrides]
    _, resolved = compose_and_resolve(said, registry, start=start_from(proof, said, registry))
    table = engine.prepare(engine.Request(resolved.parts, proof.header["seed"]), progress).table
    return engine.pose(resolved.parts, table, proof.header["seed"], progress=progress).problem
