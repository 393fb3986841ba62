"""What passes the suite of its kind in another form, too, than the one that tests/conformance
makes of every component.
"""

from __future__ import annotations

import pytest

from arboretum.testing import CriterionSuite
from arboretum_classic.criteria.criteria import Reduction
from arboretum_classic.criteria.impurities import Entropy


class TestReductionOfEntropy(CriterionSuite):
    scale_free = True
    component = Reduction()
    impurity = pytest.fixture(lambda self: Entropy())
