"""The command, as the framework's own tests have it; and Ray on this machine, once for a file."""

from __future__ import annotations

import logging
import os

import pytest

from tests.cli.conftest import call, command, here


@pytest.fixture(scope="module")
def local_ray():
    """A cluster of this machine's own, with four processors whatever the machine has."""
    ray = pytest.importorskip("ray", reason="Ray is not installed (make test-ray)")
    quiet = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in quiet.items():
            patch.setitem(os.environ, name, value)
        ray.init(
            address="local",
            num_cpus=4,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            object_store_memory=100_000_000,
        )
        yield ray
        ray.shutdown()
