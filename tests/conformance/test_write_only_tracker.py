"""The tracker of docs/how-to/write-a-tracker.md only writes, and conforms."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from arboretum.errors import TrackerError
from arboretum.runs.tracking import load_run
from arboretum.testing import TrackerSuite

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "write-a-tracker.md"


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The module that the page shows."""
    path = tmp_path_factory.mktemp("page") / "my_tracker.py"
    path.write_text(
        re.search(
            r"```python file=my_tracker.py\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
        )[1],
        encoding="utf-8",
    )
    spec = importlib.util.spec_from_file_location("my_tracker", path)
    module = sys.modules["my_tracker"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["my_tracker"]


class TestWriteOnlyTracker(TrackerSuite):
    @pytest.fixture
    def component(self, shown, tmp_path):
        return shown.MyTracker(folder=str(tmp_path / "kept"))

    def test_its_runs_are_loaded_from_their_folders(self, component):
        assert not hasattr(component, "fetch")
        with pytest.raises(
            TrackerError,
            match=(
                "^'abc' is no run folder here, and tracker my_tracker does not give back "
                "what it keeps; name a run folder$"
            ),
        ):
            load_run("abc", component)
