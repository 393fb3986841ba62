"""``arboretum run``: a Hydra application with its own words for what goes wrong."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import attrs

from arboretum import __version__
from arboretum.cli import terminal
from arboretum.cli.finding import find_run, installed, plugin_files, require_plugins
from arboretum.cli.signals import TRACKER_FAILED
from arboretum.config.entry import named_plugins
from arboretum.errors import ConfigError, unknown

if TYPE_CHECKING:
    from arboretum.config.execute import Outcome

TREE_LEAVES = 40
"""A tree with more leaves is not drawn after a run; ``arboretum show RUN`` does."""


@attrs.frozen
class Options:
    """What is not Hydra's: one-file plugins, the run to repeat.   rest : for Hydra."""

    plugins: tuple[str, ...]
    repeat: str
    rest: tuple[str, ...]


def main(argv: list[str]) -> int:
    """Run once or sweep; returns the exit status."""
    options = read_options(argv)
    if "--version" in options.rest:
        terminal.say(f"arboretum {__version__}")
        return 0
    if "--help" in options.rest or "-h" in options.rest:
        from arboretum.cli.run_help import help_text

        terminal.say(help_text(installed(options.plugins)))
        return 0
    return Application(options).run()


def read_options(argv: Sequence[str]) -> Options:
    """Take our options out of the arguments; raises ConfigError when a value is missing."""
    plugins, repeat, rest = [], "", []
    words = iter(argv)
    for word in words:
        name, sign, value = word.partition("=")
        if name not in ("--plugin", "--from"):
            rest.append(word)
            continue
        value = value if sign else next(words, "")
        if not value:
            raise ConfigError(f"{name} needs a value: {name} {'FILE' if name == '--plugin' else 'RUN'}")
        if name == "--plugin":
            plugins.append(value)
        else:
            repeat = value
    return Options((*plugins, *named_plugins(rest)), repeat, tuple(rest))


class Application:
    """One call of the command: registry, Hydra, and what is done with its result."""

    def __init__(self, options: Options) -> None:
        from arboretum.config.bridge import Start
        from arboretum.config.execute import Session
        from arboretum.config.repeat import start_from

        files = plugin_files(options.plugins)
        record = None
        if options.repeat:
            record, _ = find_run(options.repeat, plugins=files)
        self.files = tuple(files)
        self.registry = installed(self.files)
        if record is not None:
            require_plugins(record, self.registry.owners)
        start = Start() if record is None else start_from(record, options.rest, self.registry)
        self.start = attrs.evolve(start, values={**start.values, "plugins": files}) if files else start
        self.session = Session(self.registry)
        self.arguments = _parse(options.rest)

    def run(self) -> int:
        """Compose, check, and hand over to Hydra."""
        from hydra._internal.hydra import Hydra
        from hydra.core.global_hydra import GlobalHydra

        from arboretum.config.bridge import PRIMARY, stored
        from arboretum.config.compose import Loader, search_path

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

        from arboretum.config.bridge import PRIMARY

        arguments = self.arguments
        if arguments.hydra_help or arguments.cfg or arguments.info or arguments.shell_completion:
            return _show(hydra, arguments, PRIMARY)
        mode = RunMode.MULTIRUN if arguments.multirun else RunMode.RUN
        base = loader.compose_once(PRIMARY, list(arguments.overrides), mode)
        for key, folder in (("hydra.run.dir", base.hydra.run.dir), ("hydra.sweep.dir", base.hydra.sweep.dir)):
            if not str(folder).strip():
                raise ConfigError(f"{key} names no folder; say {key}=FOLDER ({key}=. is the folder you are in)")
        if arguments.multirun or base.hydra.mode == RunMode.MULTIRUN:
            from arboretum.cli.sweep import sweep

            if not arguments.multirun:
                base = loader.compose_once(PRIMARY, list(arguments.overrides), RunMode.MULTIRUN)
            return sweep(self, hydra, loader, base)
        return self._once(hydra, base)

    def _once(self, hydra: Any, base: Any) -> int:
        from arboretum.cli.job import Job
        from arboretum.cli.progress import LOOK_SECONDS, Line, RunProgress, every
        from arboretum.config.bridge import PRIMARY
        from arboretum.config.compose import Composed
        from arboretum.config.resolve import resolve
        from arboretum.engine.check import check_goal
        from arboretum.runs.folder import unwritable
        from arboretum.runs.index import default_root

        composed = Composed(base)
        check_goal(resolve(composed.task, composed.choices, self.registry).settings.goal)

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
    """Hydra's own arguments; raises ConfigError for an unknown option."""
    from hydra._internal.utils import get_args_parser

    from arboretum.config.guard import quote_home
    from arboretum.config.secrets import concealed

    parser = get_args_parser()
    parser.prog, parser.error = "arboretum run", _misused
    known = {option for action in parser._actions for option in action.option_strings}
    for word in words:
        option = word.partition("=")[0]
        if option.startswith("-") and option not in known:
            raise ConfigError(unknown("option", option, sorted({*known, "--plugin", "--from"})))
    arguments = parser.parse_intermixed_args(list(words))  # "run dataset=iris -m seed=1,2": options anywhere
    for name, way in INSTEAD.items():
        if getattr(arguments, name, None):
            raise ConfigError(f"--{name.replace('_', '-')} has no place here: {way}")
    arguments.overrides = [concealed(quote_home(text)) for text in arguments.overrides]
    return arguments


INSTEAD = {
    "config_name": "a run has one configuration; options of your own lie in a folder: --config-dir FOLDER +GROUP=NAME",
    "config_path": "a run has one configuration; options of your own lie in a folder: --config-dir FOLDER +GROUP=NAME",
    "experimental_rerun": "--from RUN repeats a run",
}
"""Options of Hydra that would change nothing here, and what does what they are for."""


def _misused(message: str) -> NoReturn:
    raise ConfigError(f"{message.removeprefix('argument ')}; arboretum run --help says how")


def _show(hydra: Any, arguments: Any, name: str) -> int:
    """Hydra's own reports: --cfg, --info, --hydra-help, shell completion."""
    from hydra._internal.utils import get_args_parser

    overrides = arguments.overrides
    with redirect_stdout(io.StringIO()) as said:
        if arguments.hydra_help:
            hydra.hydra_help(config_name=None, args_parser=get_args_parser(), args=arguments)
        elif arguments.cfg:
            hydra.show_cfg(name, overrides, arguments.cfg, arguments.package, arguments.resolve)
        elif arguments.info:
            hydra.show_info(arguments.info, config_name=name, overrides=overrides)
        else:
            hydra.shell_completion(config_name=name, overrides=overrides)
    terminal.say(said.getvalue().removesuffix("\n"))
    return 0


def present(outcome: Outcome) -> int:
    """Print a finished run: numbers, tree, where it is; returns the exit status."""
    from arboretum.cli.showing import numbers_of, tree_of

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
