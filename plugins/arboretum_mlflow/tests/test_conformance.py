"""The tracker keeps the contract, against a real SQLite store."""

from __future__ import annotations

import pytest

from arboretum.testing import TrackerSuite


class TestMLflowTracker(TrackerSuite):
    @pytest.fixture
    def component(self, mlflow_tracker):
        return mlflow_tracker
