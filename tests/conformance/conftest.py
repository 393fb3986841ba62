"""Lets the tests of this folder share their faults, and the coverage of the tests of searches."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "property" / "search"))
