"""``arboretum run``: a Hydra application with its own words for what goes wrong."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NoReturn

import attrs

from arboretum import __version__
from arboretum.cli import terminal
from arboretum.cli.finding import find_run, require_plugins
from arboretum.cli.job import Job
from arboretum.cli.plugins import installed, plugin_files
from arboretum.cli.progress import LOOK_SECONDS, Line, RunProgress, every
from arboretum.cli.run_help import help_text
from arboretum.cli.showing import numbers_of, tree_of
from arboretum.cli.signals import TRACKER_FAILED
from arboretum.cli.sweep import sweep
from arboretum.config.bridge import PRIMARY, Start, stored
from arboretum.config.compose import Composed, Loader, search_path
from arboretum.config.entry import named_plugins
from arboretum.config.execute import Outcome, Session
from arboretum.config.guard import quote_home
from arboretum.config.repeat import start_from
from arboretum.config.secrets import concealed
from arboretum.engine.check import check_goal
from arboretum.errors import ConfigError, unknown
from arboretum.runs.folder import unwritable
from arboretum.runs.index import default_root

TREE_LEAVES = 40
"""A tree with more leaves is not drawn after a run; ``arboretum show RUN`` does."""
WAY_OUT = "a run has one configuration; options of your own lie in a folder: --config-dir FOLDER +GROUP=NAME"


def main(argv: list[str]) -> int:
    """Run once or sweep; returns the exit status."""
    if "--version" in argv:
        terminal.say(f"arboretum {__version__}")
        return 0
    arguments = _parse(argv)
    if arguments.help:
        terminal.say(help_text(installed(arguments.plugin)))
        return 0
    return Application(arguments).run()


class Application:
    """One call of the command: registry, Hydra, and what is done with its result."""

    def __init__(self, arguments: Any) -> None:
        files = plugin_files(arguments.plugin)
        record = find_run(arguments.run, plugins=arguments.plugin)[0] if arguments.run else None
        self.files, self.arguments = tuple(files), arguments
        self.registry = installed(self.files)
        self.session = Session(self.registry)
        start = Start()
        if record is not None:
            require_plugins(record, self.registry.owners)
            start = start_from(record, arguments.overrides, self.registry)
        self.start = attrs.evolve(start, values={**start.values, "plugins": files}) if files else start

    def run(self) -> int:
        """Compose, check, and hand over to Hydra."""
        from hydra._internal.hydra import Hydra
        from hydra.core.global_hydra import GlobalHydra

        path = search_path(self.arguments.config_dir)
        state = GlobalHydra.instance()
        before = state.hydra
        with stored(self.registry, self.start):
            loader = Loader(path, self.registry)
            hydra = Hydra(PRIMARY, loader)
            state.hydra = hydra
            try:
                return self._run(hydra, loader)
            finally:
                state.hydra = before

    def _run(self, hydra: Any, loader: Any) -> int:
        from hydra.types import RunMode

        arguments = self.arguments
        if arguments.hydra_help or arguments.cfg or arguments.info or arguments.shell_completion:
            return _show(hydra, arguments)
        mode = RunMode.MULTIRUN if arguments.multirun else RunMode.RUN
        base = loader.compose_once(PRIMARY, list(arguments.overrides), mode)
        for key, folder in (("hydra.run.dir", base.hydra.run.dir), ("hydra.sweep.dir", base.hydra.sweep.dir)):
            if not str(folder).strip():
                raise ConfigError(f"{key} names no folder; say {key}=FOLDER ({key}=. is the folder you are in)")
        if arguments.multirun or base.hydra.mode == RunMode.MULTIRUN:
            if not arguments.multirun:
                base = loader.compose_once(PRIMARY, list(arguments.overrides), RunMode.MULTIRUN)
            return sweep(self, hydra, loader, base)
        return self._once(hydra, base)

    def _once(self, hydra: Any, base: Any) -> int:
        check_goal(Composed(base).resolved(self.registry).settings.goal)
        line = Line()
        progress = RunProgress(line)
        job = Job(self.files, default_root(), own=self.session, progress=progress)
        try:
            with every(LOOK_SECONDS, progress.look):
                hydra.run(PRIMARY, job, list(self.arguments.overrides))
        except OSError as error:
            raise unwritable(Path(base.hydra.run.dir), error) from error
        finally:
            line.clear()
        if job.error is not None:
            raise job.error
        return present(job.outcome)


def _parse(words: Sequence[str]) -> Any:
    """Hydra's own arguments and ours: one-file plugins, the run to repeat; raises ConfigError for an unknown option."""
    from hydra._internal.utils import get_args_parser

    parser = get_args_parser()
    parser.prog, parser.error = "arboretum run", _misused
    parser.add_argument("--plugin", action="append", default=[])
    parser.add_argument("--from", dest="run", default="")
    known = sorted(option for action in parser._actions for option in action.option_strings)
    for word in words:
        option = word.partition("=")[0]
        if option.startswith("-") and option not in known:
            raise ConfigError(unknown("option", option, known))
    arguments = parser.parse_intermixed_args(list(words))  # "run dataset=iris -m seed=1,2": options anywhere
    for name, way in (("config_name", WAY_OUT), ("config_path", WAY_OUT), ("experimental_rerun", "--from RUN repeats a run")):
        if getattr(arguments, name, None):  # it would change nothing
            raise ConfigError(f"--{name.replace('_', '-')} has no place here: {way}")
    arguments.overrides = [concealed(quote_home(text)) for text in arguments.overrides]
    arguments.plugin += named_plugins(arguments.overrides)
    return arguments


def _misused(message: str) -> NoReturn:
    for option in ("--plugin", "--from"):
        message = message.replace(f"{option}: expected one argument", f"{option} needs a value")
    raise ConfigError(f"{message.removeprefix('argument ')}; arboretum run --help says how")


def _show(hydra: Any, arguments: Any) -> int:
    """Hydra's own reports: --cfg, --info, --hydra-help, shell completion."""
    from hydra._internal.utils import get_args_parser

    overrides = arguments.overrides
    with redirect_stdout(io.StringIO()) as said:
        if arguments.hydra_help:
            hydra.hydra_help(config_name=None, args_parser=get_args_parser(), args=arguments)
        elif arguments.cfg:
            hydra.show_cfg(PRIMARY, overrides, arguments.cfg, arguments.package, arguments.resolve)
        elif arguments.info:
            hydra.show_info(arguments.info, config_name=PRIMARY, overrides=overrides)
        else:
            hydra.shell_completion(config_name=PRIMARY, overrides=overrides)
    terminal.say(said.getvalue().removesuffix("\n"))
    return 0


def present(outcome: Outcome) -> int:
    """Print a finished run: numbers, tree, where it is; returns the exit status."""
    record = outcome.record
    terminal.say(numbers_of(record))
    if record.tree is not None and record.tree.n_leaves <= TREE_LEAVES:
        terminal.say(tree_of(record.tree), painted=True)
    elif record.tree is not None:
        terminal.say(f"a tree with {record.tree.n_leaves} leaves; arboretum show {outcome.folder} draws it")
    before = "finished before, not repeated; " if outcome.skipped else ""
    terminal.say(f"{before}kept in {outcome.folder}")
    for warning in outcome.warnings:
        terminal.warn(warning)
    if outcome.tracker_error:
        terminal.warn(f"kept, but not tracked: {outcome.tracker_error} (arboretum sync {outcome.folder} sends it later)")
        return TRACKER_FAILED
    return 0
