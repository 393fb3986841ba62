"""How the work on a study stands."""

from __future__ import annotations

import pytest

from arboretum.runs.pieces import LEAST_SECONDS, Work


def test_what_is_left_is_judged_from_the_pieces_not_from_the_start_of_processes():
    work = Work(16, ended=4, cost=4.0, total_cost=16.0, seconds=60.0, begun=50.0)
    assert work.left == pytest.approx(10.0 / 4.0 * 12.0)


def test_there_is_no_estimate_before_pieces_were_done_for_a_while():
    assert Work(16, total_cost=16.0, seconds=60.0).left is None
    assert (
        Work(
            16, ended=1, cost=1.0, total_cost=16.0, seconds=60.0, begun=60.0 - LEAST_SECONDS / 2
        ).left
        is None
    )
    assert Work(16, ended=1, cost=0.0, total_cost=16.0, seconds=60.0, begun=0.0).left is None, (
        "pieces that cost nothing"
    )
