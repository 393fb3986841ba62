"""``arboretum run``: a Hydra application with its own words for what goes wrong."""

from argparse import Namespace
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from arboretum.cli import terminal
from arboretum.cli.jobs import explain_failure, unforeseen
from arboretum.cli.plugins import load_installed
from arboretum.cli.progress import Line, RunProgress
from arboretum.cli.show import find_run, numbers_of, require_plugins, tree_of
from arboretum.cli.sweep import refuse_vain, sweep
from arboretum.cli.terminal import (
    TRACKER_FAILED,
    Parser,
    add_launcher_options,
    aligned,
    error_text,
    paragraph,
    status_of,
)
from arboretum.config.bridge import Start, hold_nodes, start_from, start_in
from arboretum.config.compose import Loader, search_path
from arboretum.config.execute import Outcome, Session
from arboretum.config.guard import readable, without_secret
from arboretum.config.launch import asked, check_jobs, first_job
from arboretum.config.resolve import Settings, resolve
from arboretum.errors import ConfigError, StoreError
from arboretum.interfaces.budget import Budget
from arboretum.interfaces.component import KINDS, MANY
from arboretum.lab import current
from arboretum.plugin.assemble import DEFAULT_CHOICES
from arboretum.plugin.registry import NONE, SWEEPER, Registry, plugin_files
from arboretum.proof.format import Proof, is_proof, read as read_proof
from arboretum.runs.folder import (
    ERROR,
    RECORD,
    Index,
    default_root,
    free_folder,
    make_ready,
    remove_empty,
)

if TYPE_CHECKING:
    from omegaconf import DictConfig

DESCRIPTION = """\
Grow one tree, or with -m one per combination of values:
  arboretum run dataset=iris method=cart seed=1
  arboretum run dataset=file dataset.path=my.csv dataset.target=y stopping.standard.max_depth=4
  arboretum run -m method=cart,id3 dataset=iris,wine seed=1,2,3"""
FOLDERS = """\
folders: hydra.run.dir=DIR for one run, hydra.sweep.dir=DIR for a sweep; hydra/launcher=NAME runs a
sweep elsewhere; hydra/sweeper={sweepers} searches instead of running every combination.
exit status: 0 finished, verified and recorded; 1 failed; 3 finished and kept, but not tracked;
130 interrupted, 143 ended by SIGTERM (an exact search keeps its best tree).
"""


def parser() -> Parser:
    """The options; what is no option goes to Hydra."""
    found = Parser("run", DESCRIPTION, plugin="load a one-file plugin (may be given several times)")
    found.add_argument(
        "overrides", nargs="*", metavar="KEY=VALUE", help="a choice or a value, as below"
    )
    found.add_argument(
        "-m",
        "--multirun",
        action="store_true",
        help="run every combination of comma-separated values",
    )
    add_launcher_options(found, retries=0)
    found.add_argument(
        "--from",
        dest="run",
        metavar="RUN",
        help="repeat a run, its configuration is the default here; or go on with a proof's search",
    )
    found.add_argument(
        "--config-dir",
        metavar="DIR",
        help="look for choices (experiments, data sets, …) in a folder, too",
    )
    found.add_argument(
        "-c",
        "--cfg",
        choices=("job", "hydra", "all"),
        help="print the configuration instead of running it",
    )
    found.add_argument(
        "--resolve", action="store_true", help="with --cfg: interpolations as values"
    )
    return found


def help_text(registry: Registry) -> str:
    """Usage, settings, and every group with its options; the default is marked with *."""
    fields = [
        (prefix + f.name, f)
        for cls, prefix in ((Settings, ""), (Budget, "budget."))
        for f in attrs.fields(cls)
        if f.name != "budget"
    ]
    rows = [
        (f"  {key}", "null" if f.default is None else f.default, f.metadata["doc"])
        for key, f in fields
    ]
    lines = [
        parser().format_help(),
        FOLDERS.format(sweepers=",".join(registry.names(SWEEPER)) or "NAME"),
        "settings:",
        aligned(rows),
        "",
        "groups (arboretum explain GROUP.OPTION tells the parameters of an option):",
    ]
    for kind, question in KINDS.items():
        default = DEFAULT_CHOICES[kind]
        marked = set(default) if kind in MANY else {default}
        names = registry.names(kind) + ([NONE] if kind not in ("dataset", "method") else [])
        listed = ", ".join(f"{name}*" if name in marked else name for name in names)
        several = " (several: [a,b])" if kind in MANY else ""
        lines += [f"  {kind}: {question}{several}", paragraph(listed, " " * 6)]
    return "\n".join(lines)


# of a larger tree the heaviest branches are drawn after a run; ``arboretum show RUN`` draws all
TREE_LEAVES = 40


def main(argv: list[str]) -> int:
    """Run once or sweep; returns the exit status."""
    if {"-h", "--help"} & set(argv):
        given, _ = parser().parse_known_args(
            [word for word in argv if word not in ("-h", "--help")]
        )
        terminal.say(help_text(load_installed(given.plugin)))
        return 0
    # "run dataset=iris -m seed=1,2": options anywhere
    arguments = parser().parse_intermixed_args(argv)
    arguments.overrides = [without_secret(readable(text)) for text in arguments.overrides]
    return Application(arguments).run()


def go_on(proof: Proof, path: str, start: Start) -> Start:
    """Let a run that starts as the one of a proof go on from there.  Raises ConfigError where
    its solver cannot.
    """
    solver = start.values.get("solver", {})
    if "resume" not in solver:
        raise ConfigError(
            f"solver {proof.header['solver']} cannot go on from a proof; --from RUN repeats "
            "a run, from its start"
        )
    return attrs.evolve(
        start,
        values={
            **start.values,
            "solver": {**solver, "resume": str(Path(path).expanduser().absolute())},
        },
    )


class Application:
    """One call of the command: registry, Hydra's loader, and what is done with its result."""

    def __init__(self, arguments: Namespace, search: Any = None) -> None:
        """Read RUN of ``--from``, a run or a proof, and load what the command names.

        search : what lists the jobs of a sweep, instead of the sweeper that the command chooses.
        """
        self.search = search
        proof = read_proof(arguments.run) if arguments.run and is_proof(arguments.run) else None
        record = (
            find_run(arguments.run, plugins=arguments.plugin)[0]
            if arguments.run and proof is None
            else None
        )
        self.arguments, self.lab = arguments, current()
        self.files = plugin_files((*self.lab.plugins, *arguments.plugin))
        start = start_in(self.lab, arguments.overrides)
        self.registry = load_installed(self.files)
        self.session = Session(self.registry)
        if record is not None:
            require_plugins(record, self.registry.owners)
            start = start_from(record, arguments.overrides, self.registry)
        if proof is not None:
            start = go_on(
                proof, arguments.run, start_from(proof, arguments.overrides, self.registry)
            )
        if start.left_out:
            one = next(
                (word.partition("=")[0] for word in start.left_out if "=" in word), "hydra.run.dir"
            )
            terminal.report(
                f"arboretum: not taken over from {arguments.run}: {', '.join(start.left_out)}; "
                f"where something is written is for the command to say: add {one}=…"
            )
        self.start = (
            attrs.evolve(start, values={**start.values, "plugins": list(self.files)})
            if self.files
            else start
        )

    def run(self) -> int:
        """Compose, check, and run once or sweep; returns the exit status."""
        from hydra.types import RunMode

        arguments = self.arguments
        path = search_path(self.lab.conf, arguments.config_dir)
        overrides = list(arguments.overrides)
        with hold_nodes(self.registry, self.start):
            loader = Loader(path, self.registry)
            if arguments.cfg:
                return _show(loader, arguments)
            base = loader.load_command(
                overrides, RunMode.MULTIRUN if arguments.multirun else RunMode.RUN
            )
            for key, folder in (
                ("hydra.run.dir", base.hydra.run.dir),
                ("hydra.sweep.dir", base.hydra.sweep.dir),
            ):
                if not str(folder).strip():
                    raise ConfigError(
                        f"{key} names no folder; say {key}=FOLDER ({key}=. is the folder you "
                        "are in)"
                    )
            if not arguments.multirun and base.hydra.mode == RunMode.MULTIRUN:
                base, arguments.multirun = loader.load_command(overrides, RunMode.MULTIRUN), True
            if getattr(self.search, "dry", False):
                check_jobs(self.search, loader, base)
                return 0
            return sweep(self, loader, base) if arguments.multirun else self._run_once(base)

    def _run_once(self, base: "DictConfig") -> int:
        """Run once and print what came out; returns the exit status. A failed run leaves a note in
        its folder, an interrupted one what is known.
        """
        from hydra.core.utils import env_override

        resolved = resolve(base, self.registry)
        folder = Path(base.hydra.run.dir).absolute()
        line = Line()
        source = Path(self.arguments.run or "").expanduser().resolve()
        if self.arguments.run and folder.resolve() == (
            source.parent if source.name == RECORD else source
        ):
            raise StoreError(
                f"hydra.run.dir={base.hydra.run.dir} is where --from {self.arguments.run} "
                "lies; it is kept: choose another folder"
            )
        progress, index, fresh = RunProgress(line), Index(default_root()), make_ready(folder)
        try:
            with (
                line.shows(progress),
                env_override(base.hydra.job.env_set),
                chdir(folder if base.hydra.job.chdir else "."),
            ):
                outcome = self.session.execute(resolved, folder, index=index, progress=progress)
        except BaseException as error:
            if fresh:
                remove_empty(folder)
            if isinstance(error, KeyboardInterrupt) and fresh and (folder / RECORD).exists():
                terminal.report(f"arboretum: what is known is kept in {folder}")
            if isinstance(error, Exception):  # Ctrl-C ends the command at once
                self.session.fail(resolved, folder, "", error_text(error))
                if unforeseen(error):
                    folder = free_folder(folder)
                    error.add_note(
                        explain_failure(folder, error) or f"traceback in {folder / ERROR}"
                    )
            raise
        return present(outcome)


def _show(loader: Loader, arguments: Namespace) -> int:
    """Print the configuration that a run would have; of a sweep, that of its first run."""
    from hydra.types import RunMode
    from omegaconf import OmegaConf, flag_override

    config = loader.load_command(arguments.overrides, RunMode.MULTIRUN)
    if (
        arguments.multirun
        or config.hydra.mode == RunMode.MULTIRUN
        or config.hydra.sweeper.get("params")
    ):
        refuse_vain(asked(loader, config))
        first = first_job(loader, config)
        terminal.say(f"# the first run of the sweep: {' '.join(first)}")
        config = loader.load_sweep_config(config, first) if arguments.cfg != "hydra" else config
    else:
        config = loader.load_command(arguments.overrides, RunMode.RUN)
    with flag_override(config, ["struct", "readonly"], [False, False]):
        if arguments.cfg == "job":
            del config["hydra"]
        shown = OmegaConf.create({"hydra": config.hydra}) if arguments.cfg == "hydra" else config
    if arguments.resolve:
        OmegaConf.resolve(shown)
    terminal.say(OmegaConf.to_yaml(shown).removesuffix("\n"))
    return 0


def present(outcome: Outcome) -> int:
    """Print a finished run: numbers, tree, where it is; returns the exit status."""
    record = outcome.record
    terminal.say(numbers_of(record))
    if record.tree is not None:
        terminal.say(tree_of(record.tree, max_leaves=TREE_LEAVES), painted=True)
    before = "finished before, not repeated; " if outcome.skipped else ""
    terminal.say(f"{before}kept in {outcome.folder}")
    for warning in outcome.warnings:
        terminal.warn(warning)
    if outcome.tracker_error:
        terminal.warn(
            f"kept, but not tracked: {outcome.tracker_error} (arboretum sync "
            f"{outcome.folder} sends it later)"
        )
        return TRACKER_FAILED
    return (
        status_of(record.solution.interrupted)
        if record.solution is not None and record.solution.interrupted
        else 0
    )
