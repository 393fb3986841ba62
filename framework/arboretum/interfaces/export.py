"""Contract: in which form does a tree leave?"""

from typing import Protocol

from arboretum.interfaces.component import Component
from arboretum.model.tree import Tree


class Export(Component, Protocol):
    """A form of a tree, for other programs or for eyes.  ``arboretum export RUN --to NAME --out
    FILE`` writes it.

    suffix : of its files, with the dot (".sql").

    A form that is a folder has ``files(tree)``, name → text (subfolders with "/"), too; ``write``
    then returns it as an archive.  A form that shows what else might have been asked has a field
    ``alternatives`` (tests per node, 0: none) and ``write_explained(tree, alternatives)``, which
    the command calls where the field is above 0, with node → "tests", a list of (words, score,
    taken), and "of", their whole number.
    """

    @property
    def suffix(self) -> str:
        """Of its files, with the dot."""

    def write(self, tree: Tree) -> str | bytes:
        """Return the tree in this form: text, or bytes for what is none.  Called once per export,
        outside any clock; changes nothing.

        Raises CapabilityError for a tree that the form cannot hold.
        """
