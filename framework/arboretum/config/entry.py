"""The command's work as two Python functions: ``arboretum.run`` and ``arboretum.load``."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arboretum.errors import ArboretumError, ConfigError, TrackerError, raised_at, said
from arboretum.lab import Lab, current
from arboretum.model.record import Record
from arboretum.plugin.assemble import DEFAULT_CHOICES, tracker_of
from arboretum.plugin.discovery import DISABLE, load_registry
from arboretum.plugin.registry import NONE, plugin_files
from arboretum.runs.tracking import load_run

if TYPE_CHECKING:
    from arboretum.config.compose import Loader
    from arboretum.config.execute import Session


def run(overrides: Sequence[str], *, plugins: Sequence[str | Path] = ()) -> Record:
    """Do one run and return its verified record.

    overrides : as on the command line, ["dataset=iris", "method=cart", "seed=1"].
    plugins : one-file plugins.

    Writes no folder and tracks nothing unless asked (``hydra.run.dir=FOLDER``, ``tracker=mlflow``).
    Hydra's global state is left alone, so it works inside notebooks, threads and other Hydra
    applications.  Choices are composed once (0.1 s); a call that differs in values alone takes the
    time of its run and some milliseconds.

    Raises ArboretumError, also for what goes wrong inside a plugin (the exception itself is its
    ``__cause__``); TrackerError when all is done and kept but for a tracker that was asked for.
    """
    from arboretum.config.resolve import resolve

    if isinstance(overrides, str):
        raise ConfigError(
            'overrides is a list of texts, one per KEY=VALUE; say run(["dataset=iris"]), '
            f"not run({overrides!r})"
        )
    try:
        session, loader = _composer(
            *_surroundings([str(file) for file in plugins]),
            lab := current(),
            _chosen_anew(lab, overrides),
        )
        config = loader.load_run(list(overrides))
        asked = any(text.startswith("hydra.run.dir=") for text in overrides)
        folder = Path(config.hydra.run.dir) if asked else None
        outcome = session.again().execute(resolve(config, session.registry), folder)
    except (ArboretumError, MemoryError):
        raise
    except Exception as error:
        raise ArboretumError(f"unexpected {said(error)}{raised_at(error)}") from error
    if outcome.tracker_error:
        raise TrackerError(outcome.tracker_error)
    return outcome.record


def _surroundings(files: Sequence[str]) -> tuple[object, ...]:
    """Return what a composition depends on besides its overrides: plugin files and their content,
    installed packages, the folder.
    """
    packages = [path for path in sys.path if path.endswith("-packages")]
    stamps = [
        path.stat().st_mtime_ns if path.exists() else 0 for path in map(Path, (*packages, *files))
    ]
    return tuple(files), os.getcwd(), os.environ.get(DISABLE, ""), (*sys.path, *stamps)


def _chosen_anew(lab: Lab, overrides: Sequence[str]) -> tuple[str, ...]:
    """Return the overrides that choose options, by which a lab's defaults may be forgotten; none
    where it has no defaults.
    """
    from arboretum.config.guard import chosen_options

    return tuple(text for text in overrides if chosen_options([text])) if lab.folder else ()


@functools.lru_cache(maxsize=4)
def _composer(files: tuple[str, ...], *surroundings: Any) -> tuple[Session, Loader]:
    """Return what the calls of one process share, found anew when anything around them changes.

    surroundings : their last two are the lab and the overrides that choose options.
    """
    from arboretum.config.bridge import start_in
    from arboretum.config.compose import Loader, search_path
    from arboretum.config.execute import Session

    *_, lab, anew = surroundings
    registry = load_registry(files, lab=lab)
    start = start_in(lab, anew, {**DEFAULT_CHOICES, "tracker": NONE}, tracked=False)
    start.values["plugins"] = list(plugin_files((*lab.plugins, *files)))
    return Session(registry), Loader(search_path(lab.conf), registry, start)


def load(run: str | Path, *, tracker: str = "", plugins: Sequence[str | Path] = ()) -> Record:
    """Return the record of a finished run, with its tree.

    run : a run folder, or a run id of the tracker (default: the one that runs use).
    plugins : one-file plugins that its tree needs; those that the record names are not loaded by
        themselves.   Raises PluginError, StoreError, TrackerError.
    """
    in_folder = Path(run).expanduser().exists() or "/" in str(run)
    if in_folder:
        if plugins:
            load_registry(plugins)
        return load_run(run)
    return load_run(run, tracker_of(load_registry(plugins), tracker))
