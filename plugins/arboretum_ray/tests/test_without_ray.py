"""Without Ray the choice is there, and a run says what is missing before it reads anything."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from arboretum.api import CapabilityError, StoreError
from arboretum.testing import RowsSuite
from arboretum_ray import pool, rows
from arboretum_ray.rows import RayRows


def test_the_plugin_is_listed_and_loads_no_ray():
    script = (
        "import sys; from arboretum.plugin.discovery import load_registry as load; "
        "print(load().get('rows', 'ray').cls.__name__, 'ray' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert told.stdout.split() == ["RayRows", "False"], told.stderr


def test_a_run_names_the_extra_before_any_data_are_read(call, monkeypatch):
    monkeypatch.setattr(rows, "find_spec", lambda name: None)
    with pytest.raises(
        CapabilityError, match=r"needs Ray; install it \(pip install 'arboretum\[ray\]'\)"
    ):
        RayRows().check_installed()
    missing = ("dataset=file", "dataset.path=nowhere.parquet", "dataset.target=y")
    result = call("run", "rows=ray", "split=none", "tracker=none", *missing)
    assert result.status != 0
    assert result.err.strip().splitlines() == [
        "arboretum: error: rows=ray needs Ray; install it (pip install 'arboretum[ray]')"
    ]


@pytest.mark.parametrize("says", [b"", b"SSH-2.0-OpenSSH_9.6\r\n"])
def test_what_is_no_ray_cluster_is_told_apart_at_once(says):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        script = (
            "import socket, sys\n"
            f"line, _ = socket.socket(fileno={server.fileno()}).accept()\n"
            f"line.recv(99); line.sendall({says!r})"
        )
        told = rf"rows.address={address}: what answers there is no Ray cluster"
        with (
            subprocess.Popen([sys.executable, "-c", script], pass_fds=[server.fileno()]),
            pytest.raises(StoreError, match=told),
        ):
            pool.check_address(address, 30.0)


def test_an_address_where_nothing_answers_is_named_in_time():
    with socket.create_server(("127.0.0.1", 0)) as server:  # it accepts, and says nothing
        silent = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(StoreError, match=rf"{silent}: no Ray cluster answers there \(timed"):
            pool.check_address(silent, 0.2)
    with pytest.raises(StoreError, match="no Ray cluster answers there .*refused"):
        pool.check_address(silent, 5.0)
    with pytest.raises(StoreError, match="rows.address=host:port: no Ray cluster answers"):
        pool.check_address("host:port", 5.0)


class TestItsFields(RowsSuite):
    """What the suite asks of a class; what it asks of a store needs Ray (test_rows_on_ray)."""

    component = RayRows()

    def cases(self):
        pytest.skip("needs Ray")

    cases_with_roles = cases

    test_numbers_are_taken_about_what_is_asked_for = None
    test_a_part_that_cannot_be_read_and_an_encoder_that_needs_rows_are_refused_by_name = None
    test_a_column_with_more_values_than_it_keeps_is_cut_at_quantiles_and_named = None
