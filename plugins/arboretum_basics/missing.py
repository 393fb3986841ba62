"""What becomes of a row without a value."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np


@attrs.frozen
class BetterSide:
    """A two-way test tries them in either outcome and keeps the better; a multiway test has them in its heaviest."""

    kind = "missing"
    name = "better_side"
    paper = ""
    capabilities = ()
    counted, discounted, kernel = True, False, "better_side"

    def placements(self, known: np.ndarray) -> Sequence[int]:
        return (0, 1) if len(known) == 2 else (int(np.argmax(known)),)
