"""Contract: in which form does a tree leave?"""

from typing import Protocol

from arboretum.interfaces.component import Component
from arboretum.model.tree import Tree


class Export(Component, Protocol):
    """A form of a tree, for other programs or for eyes.  ``arboretum export RUN --to NAME --out
    FILE`` writes it.

    suffix : of its files, with the dot (".sql").
    """

    @property
    def suffix(self) -> str:
        """Of its files, with the dot."""

    def write(self, tree: Tree) -> str | bytes:
        """Return the tree in this form: text, or bytes for what is none.  Called once per export,
        outside any clock; changes nothing.

        Raises CapabilityError for a tree that the form cannot hold.
        """
