"""The hooks a plugin may implement (pluggy).  An unknown ``arboretum_…`` function in a plugin is an error at start."""

import pluggy

PROJECT = "arboretum"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def arboretum_components() -> list[type]:  # type: ignore[empty-body]
    """Return the component classes of this plugin.

    Called once per command, at start; the module that holds the hook must import neither numba nor mlflow.
    Every ``*.yaml`` in ``presets/<kind>/`` beside the plugin's package is registered as a preset besides.
    """
