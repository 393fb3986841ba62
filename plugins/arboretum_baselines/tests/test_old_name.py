"""The package's old name works for one version, and says so."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import warnings
warnings.simplefilter("error")
try:
    import arboretum_rivals
except DeprecationWarning as warning:
    print(warning)
warnings.simplefilter("ignore")
from arboretum_baselines.osdt import solver
from arboretum_rivals import binoct
from arboretum_rivals.rank import Osdt
assert Osdt is solver.Osdt and binoct.BinOct.name == "binoct"
try:
    import arboretum_rivals.nothing
except ModuleNotFoundError as error:
    print(error)
"""


@pytest.mark.cold
def test_the_old_name_warns_and_leads_to_the_same_classes():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said, missing = done.stdout.splitlines()
    assert said.startswith("arboretum_rivals is called arboretum_baselines")
    assert missing == "No module named 'arboretum_rivals.nothing'"
