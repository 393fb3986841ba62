"""``hydra/sweeper=arboretum_optuna``: an adaptive search, whose settings Optuna proposes.

A trial is a setting; its value is the mean over the seeds and folds that the command names.  The
study lies in the sweep's folder, so that the same command goes on where it stopped.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import numpy as np

from arboretum.api import ConfigError, better, param
from arboretum_optuna.space import NAME, Space

if TYPE_CHECKING:
    from types import ModuleType

    from optuna import Study, Trial
    from optuna.trial import FrozenTrial

    from arboretum.config.launch import Jobs

STUDY = "study.db"
# keys that do not tell one search from another (a tracker's may hold a password)
KEPT_HOW = ("tracker", "skip_finished", "plugins", "goal")


@attrs.frozen
class Search:
    """Runs trials until there are ``n_trials`` in the study."""

    kind, name = "hydra.sweeper", NAME

    n_trials: int = param(20, "settings to try, those of earlier calls included", ge=1)
    n_jobs: int = param(
        1, "settings proposed at a time, for a launcher that runs jobs side by side", ge=1
    )
    sampler: str = param("tpe", "who proposes", choices=("tpe", "random"))
    seed: int = param(0, "seed of the proposals", ge=0)
    goals: tuple[str, ...] = param(
        (), "metrics to optimise, several for their trade-off; default: the run's goal"
    )
    params: dict[str, str] | None = param(None, "key → what to try, as on the command line")

    def sweep(self, jobs: Jobs) -> None:
        """Search.  Raises ConfigError: Optuna is not installed, a key cannot be searched so, the
        study is of another search.
        """
        try:
            import optuna
        except ModuleNotFoundError:
            raise ConfigError(
                f"hydra/sweeper={NAME} needs Optuna; install it with pip install "
                "'arboretum[optuna]'"
            ) from None
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        space = Space.of(jobs.overrides, optuna.distributions)
        kinds = {one.key: one.kind for one in space.tried}
        try:
            for job in space.samples():
                jobs.check(job)
        except ConfigError as error:
            hint = (
                "; int(interval(…)) proposes whole numbers" if "whole number" in str(error) else ""
            )
            raise ConfigError(f"{error}{hint}") from error
        jobs.folder.mkdir(parents=True, exist_ok=True)
        study = self._study(optuna, space, jobs.folder / STUDY)
        # one that was killed while it was proposed has not all parameters
        whole = [
            trial
            for trial in study.get_trials(deepcopy=False)
            if trial.params.keys() == kinds.keys()
        ]
        left = [trial for trial in whole if not trial.state.is_finished()]
        jobs.expect((len(left) + max(self.n_trials - len(whole), 0)) * len(space.repeats))

        def run(trials: Sequence[Trial | FrozenTrial]) -> None:
            """Launch the jobs of trials with successive numbers and tell what they returned;
            None fails a trial.
            """
            n = len(space.repeats)
            returned = jobs.launch(
                [job for trial in trials for job in space.jobs(trial.params)], trials[0].number * n
            )
            for i, trial in enumerate(trials):
                mine = returned[i * n : (i + 1) * n]
                good = all(
                    values is not None and all(map(math.isfinite, values)) for values in mine
                )
                means = (
                    [math.fsum(values) / n for values in zip(*mine, strict=True)] if good else None
                )
                study.tell(
                    trial.number, means, state=None if good else optuna.trial.TrialState.FAIL
                )

        for trial in left:  # killed while it was run
            run([trial])
        sampler = {"tpe": optuna.samplers.TPESampler, "random": optuna.samplers.RandomSampler}[
            self.sampler
        ]
        for start in range(len(whole), self.n_trials, self.n_jobs):
            batch = []
            for number in range(start, min(start + self.n_jobs, self.n_trials)):
                # a sampler for one trial, so that a search that was interrupted proposes what it
                # would have proposed
                seed = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
                study.sampler = sampler(seed=seed)
                batch.append(study.ask(kinds))
            run(batch)

    def _study(self, optuna: ModuleType, space: Space, file: Path) -> Study:
        """The study in the folder, made if it is not there.  Raises ConfigError when it is of
        another search.
        """
        from sqlalchemy import URL

        study: Study = optuna.create_study(
            storage=URL.create("sqlite", database=str(file.absolute())).render_as_string(),
            study_name=NAME,
            directions=[
                "maximize" if better(goal, 1.0, 0.0) else "minimize" for goal in self.goals
            ],
            load_if_exists=True,
        )
        fixed = [
            text
            for text in space.fixed
            if text.lstrip("+~").partition("=")[0].partition(".")[0] not in KEPT_HOW
        ]
        asked = json.dumps([[one.said for one in space.tried], self.goals, fixed, space.repeats])
        if study.user_attrs.setdefault("search", asked) != asked:
            raise ConfigError(
                f"{str(file)!r} holds another search; it is kept: choose another folder with "
                "hydra.sweep.dir=FOLDER"
            )
        study.set_user_attr("search", asked)
        return study
