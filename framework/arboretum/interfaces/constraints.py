"""Contract: what do the trees of a solver keep besides limits, so that a proof can say of which
trees its bound is?
"""

from __future__ import annotations

from typing import Protocol

import attrs

from arboretum.errors import CapabilityError


@attrs.frozen
class Constraints:
    """What predictions keep.

    sensitive : column of the groups that are compared; "": none.
    asked : whether tests may ask it.
    parity : most by which the groups' shares that are predicted the second class may differ, as a
        decimal; 1: any.
    opportunity : the same of the rows of the second class.
    increasing, decreasing : columns; of two rows that differ in one of these alone, the one with
        the greater value is predicted no earlier, or no later, class in the order of the classes.
    """

    sensitive: str = ""
    asked: bool = True
    parity: float = 1.0
    opportunity: float = 1.0
    increasing: tuple[str, ...] = ()
    decreasing: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """In words, as fields with their values; "": nothing is kept."""
        groups = [] if not self.sensitive else [f"sensitive={self.sensitive}"]
        groups += ["which no test asks"] * (bool(self.sensitive) and not self.asked)
        rates = [
            f"{name}={most:g}"
            for name, most in (("parity", self.parity), ("opportunity", self.opportunity))
            if most < 1
        ]
        columns = [
            f"{name}={'+'.join(names)}"
            for name, names in (("increasing", self.increasing), ("decreasing", self.decreasing))
            if names
        ]
        return ", ".join(groups + rates + columns)


class ConstrainedSolver(Protocol):
    """A solver with ``constrains_labels = True``: leaves say what keeps constraints rather than
    what is best for them.
    """

    def constraints(self) -> Constraints:
        """Return what every tree of the solver keeps, by its fields alone: proofs are checked
        against it.
        """


def constraints_of(solver: object) -> Constraints | None:
    """Return what a solver says that its trees keep; None: it constrains no labels.  Raises
    CapabilityError where it does, and does not say how.
    """
    if not getattr(solver, "constrains_labels", False):
        return None
    if not hasattr(solver, "constraints"):
        raise CapabilityError(
            f"solver={getattr(solver, 'name', '?')} constrains what leaves say and states no "
            "constraints(); proofs know nothing of its trees"
        )
    found: Constraints = solver.constraints()
    return found
