"""A launcher whose jobs inherit nothing, as those of joblib and submitit."""

from __future__ import annotations

LAUNCHER = '''
"""Runs each job in a fresh process, as joblib and submitit do: everything is pickled with
cloudpickle, nothing is inherited."""
import subprocess, sys, tempfile
import cloudpickle as pickle
from dataclasses import dataclass
from pathlib import Path
from hydra.core.config_store import ConfigStore
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, JobStatus, run_job, setup_globals
from hydra.plugins.launcher import Launcher
from omegaconf import open_dict


@dataclass
class FreshConf:
    _target_: str = "hydra_plugins.hydra_joblib_launcher.joblib_launcher.JoblibLauncher"


ConfigStore.instance().store(group="hydra/launcher", name="fresh", node=FreshConf, provider="fresh")


class JoblibLauncher(Launcher):  # a name that configurations may give
    def setup(self, *, hydra_context, task_function, config):
        self.hydra_context, self.task_function, self.config = hydra_context, task_function, config

    def launch(self, job_overrides, initial_job_idx):
        returns = []
        for i, overrides in enumerate(job_overrides):
            sweep = (self.hydra_context, self.task_function, self.config)
            job = (*sweep, list(overrides), initial_job_idx + i, Singleton.get_state())
            with tempfile.TemporaryDirectory() as folder:
                Path(folder, "job").write_bytes(pickle.dumps(job))
                code = f"from {__name__} import work; work({folder!r})"
                subprocess.run([sys.executable, "-c", code], check=True)
                value = pickle.loads(Path(folder, "value").read_bytes())
            done = JobReturn(status=JobStatus.COMPLETED)
            done.return_value = value
            returns.append(done)
        return returns


def work(folder):
    setup_globals()
    job = pickle.loads(Path(folder, "job").read_bytes())
    context, function, config, overrides, number, state = job
    Singleton.set_state(state)
    sweep_config = context.config_loader.load_sweep_config(config, overrides)
    with open_dict(sweep_config):
        sweep_config.hydra.job.id = sweep_config.hydra.job.num = number
    done = run_job(hydra_context=context, task_function=function, config=sweep_config,
                   job_dir_key="hydra.sweep.dir", job_subdir_key="hydra.sweep.subdir")
    Path(folder, "value").write_bytes(pickle.dumps(done.return_value))
'''


def fresh_launcher(here) -> dict[str, str]:
    """Install the launcher "fresh" in the working folder; returns the environment that finds it."""
    package = here / "path" / "hydra_plugins" / "hydra_joblib_launcher"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "joblib_launcher.py").write_text(LAUNCHER)
    return {"PYTHONPATH": str(here / "path")}
