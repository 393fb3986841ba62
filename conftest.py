"""What every test relies on, wherever it is started from."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

# Steady profiles say the same of the same code every time, also on a busy machine; `make explore` draws new examples, and more.
# `make test` is brief: fewer examples, and tables of one dtype where every other dtype is compiled for itself.
CALM = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("steady", max_examples=60, derandomize=True, **CALM)
settings.register_profile("brief", max_examples=25, derandomize=True, **CALM)
settings.register_profile("explore", derandomize=False, max_examples=300, print_blob=True, **CALM)
settings.load_profile("steady")


def pytest_configure(config) -> None:
    """Commands that tests start obey Ctrl-C and a closed terminal, also where this process was told to ignore them.

    A shell starts what runs in its background so, and ``nohup`` does; what is ignored stays ignored in children.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
