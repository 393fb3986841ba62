"""Pieces of a reproduction on the launchers that sweeps have."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from arboretum.cli.collector import explain_loss, share
from arboretum.cli.worker import Command, at_work
from arboretum.config.bridge import hold_nodes
from arboretum.config.compose import Loader, search_path
from arboretum.config.launch import error_of, start_launcher
from arboretum.errors import ArboretumError, StoreError
from arboretum.lab import current
from arboretum.plugin.registry import Registry
from arboretum.runs.pieces import Attempt, Done, Job, attempt
from arboretum.runs.sweeps import Notes


@attrs.frozen(eq=False)
class PieceJob:
    """What a worker calls with a message of pieces.

    job : what all pieces have in common.
    command : the command that it works for.
    folder : where pieces are kept, absolute; a worker need not see it.
    """

    job: Job
    command: Command
    folder: Path

    def __call__(self, config: DictConfig) -> list[Attempt]:
        """Do the pieces of a message; those that the folder can take are kept there at once."""
        with at_work(self.command, str(HydraConfig.get().runtime.output_dir)):
            return [self._do(int(place), key) for place, key in json.loads(str(config.message))]

    def _do(self, place: int, key: str) -> Attempt:
        """Do one piece.   place : among the pieces.   key : of it, as JSON."""
        found = attempt(self.job, place, key)
        if not found.error and self.command.notes.is_seen():
            self.job.keep(self.folder, Done(json.loads(key), found.result, found.seconds))
        return found


def launch_pieces(
    job: Job, folder: Path, registry: Registry, words: Sequence[str], waiting: Mapping[int, str]
) -> Iterator[Attempt]:
    """Let the launcher that words of Hydra choose do pieces; yield what came home of each.

    folder : where pieces are kept.   waiting : place → key, as JSON.   Raises ConfigError, and
    StoreError where not all come home.
    """
    with hold_nodes(registry):
        loader = Loader(search_path(current().conf), registry)
        said = [*words, f"hydra.sweep.dir='{folder}'"]
        config = loader.load_command(said, RunMode.MULTIRUN)
        notes = Notes.open(folder)
        try:
            work = PieceJob(job, Command.current(notes), folder.absolute())
            launcher = start_launcher(config, work)
            items, size = list(waiting.items()), share(len(waiting), type(launcher).__name__)
            messages = [json.dumps(items[i : i + size]) for i in range(0, len(items), size)]
            try:
                returns = launcher.launch([[text] for text in messages], initial_job_idx=0)
            except ArboretumError:
                raise
            except Exception as error:  # a worker was killed, a cluster went away
                raise _lost(error) from error
        finally:
            notes.close()
    for one in returns:
        if (raised := error_of(one)) is not None:
            raise _lost(raised) from raised
        yield from one.return_value


def _lost(error: Exception) -> StoreError:
    """Return the error of a launcher that broke before all pieces came home."""
    again = "what is finished is kept: say the same again"
    return StoreError(f"{explain_loss('pieces', error)}; {again}")
