"""Contract: how do raw columns become tests?"""

from typing import Protocol

from arboretum.interfaces.component import Component
from arboretum.model.encoded import Encoded
from arboretum.model.table import Table


class Encoder(Component, Protocol):
    """A rule that fixes tests before growth, or leaves columns raw for thresholds found at the
    node.
    """

    def encode(self, table: Table, whole: Table, *, raw_thresholds: bool, seed: int) -> Encoded:
        """Encode the training rows.  Called once per run.

        table : the training rows.
        whole : all rows, for encoders that place bins on the whole data set.
        raw_thresholds : the method can search raw columns (``encoder=auto`` then leaves numeric
            columns raw).
        seed : the run's, for encoders that draw (k-means).
        Raises DataError when no usable column is left.
        """


class EncoderInParts(Protocol):
    """Optional: it can code columns whose rows are read part by part."""

    def needs_rows(self, schema: Table) -> str:
        """Say why its features are no matter of which values each column has: because it counts
        them, or looks at their classes; "" where they are no more than that.  Then its features
        code columns of other rows, too (``Feature.codes``).

        schema : the table without rows.
        """

    @property
    def reads_all_rows(self) -> bool:
        """Optional: whether features are made of rows that do not train, too (``whole``), so that
        it is refused where only some rows train; False if not there.
        """
