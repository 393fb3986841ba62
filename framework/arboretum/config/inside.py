"""What Hydra has no public name for: the only module that imports from ``hydra._internal``, tried
with Hydra 1.3.8 and 1.4.

A composition that checks before it executes needs Hydra's own loader; a launcher of Hydra's needs
its callbacks.
"""

from collections.abc import Sequence
from typing import Any

from hydra import __version__
from omegaconf import DictConfig

from arboretum.errors import ConfigError

try:
    from hydra._internal.callbacks import Callbacks
    from hydra._internal.config_loader_impl import ConfigLoaderImpl
    from hydra._internal.utils import create_config_search_path
except ImportError as error:
    raise ConfigError(
        f"Hydra {__version__} lacks what compositions need ({error.name}); install "
        "hydra-core>=1.3.8,<1.5"
    ) from error

__all__ = [
    "TOLD_ITS_BASE",
    "Callbacks",
    "ConfigLoaderImpl",
    "create_config_search_path",
    "name_after",
]

TOLD_ITS_BASE = __version__.startswith("1.3.")
"""Whether Hydra wants to be told as which version it shall behave; 1.4 warns of it."""


def name_after(task: Sequence[Any], config: DictConfig) -> None:
    """State what a job's folder may be named after: ``hydra.job.override_dirname``, which Hydra 1.4
    finds when it is asked for.

    task : overrides of the job, as Hydra has parsed them.
    """
    words = config.hydra.job.config.override_dirname
    said = sorted(
        override.input_line for override in task if override.key_or_group not in words.exclude_keys
    )
    config.hydra.job.override_dirname = words.item_sep.join(said).replace("=", words.kv_sep)
