"""The hooks a plugin may implement (pluggy).  An unknown ``arboretum_…`` function in a plugin is
an error at start.
"""

import pluggy

PROJECT = "arboretum"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def arboretum_components() -> list[type]:  # type: ignore[empty-body]
    """Return the component classes of this plugin.

    Called once per command, at start; the module that holds the hook must import neither numba nor
    mlflow. A class of kind ``hydra.sweeper`` is no part of a run; ``hydra/sweeper=NAME`` lets it
    choose a sweep's jobs instead of running every combination.  ``sweep(jobs)`` is handed a
    :class:`~arboretum.config.launch.Jobs`.  Its fields are ``hydra.sweeper.FIELD``, among them
    ``goals``, metrics that jobs return (default: the run's goal), and ``params``, key → values, of
    a file of choices (or None).

    Every ``*.yaml`` in ``presets/<kind>/`` beside the plugin's package is registered as a preset
    besides.
    """
