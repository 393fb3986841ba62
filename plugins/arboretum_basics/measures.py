"""Numbers of finished runs by which methods are compared, besides their metrics."""

from __future__ import annotations

import attrs

from arboretum.api import Record, param


@attrs.frozen
class CertifiedRatio:
    """How far a certified tree is, at most, from the proven minimum of a complexity: 1 is optimal
    (``certify=true``).
    """

    kind, name, paper, capabilities = "measure", "certified_ratio", "", ()

    higher_is_better = False

    complexity: str = param("expected_cost", "which; one of the certificate's")

    @property
    def words(self) -> str:
        """ "expected cost ÷ proven bound"."""
        return f"{self.complexity.removeprefix('n_').replace('_', ' ')} ÷ proven bound"

    def of(self, record: Record) -> float | None:
        """The ratio; None without a certificate, or where no ratio is defined."""
        found = record.certificate.complexities if record.certificate is not None else {}
        return found[self.complexity].ratio if self.complexity in found else None


@attrs.frozen
class TotalCost:
    """What a prediction costs on the rows that judge: the tests that are asked, and a price for
    each error.
    """

    kind, name, paper, capabilities = "measure", "total_cost", "", ()

    higher_is_better = False

    error_price: float = param(10.0, "of an error, in the unit of the tests' prices", ge=0)

    @property
    def words(self) -> str:
        """ "cost of tests + 10 per error"."""
        return f"cost of tests + {self.error_price:g} per error"

    def of(self, record: Record) -> float | None:
        """The sum; None where the run has no rows that judge, or no classes."""
        known = record.metrics
        if "test_error" not in known or "test_expected_cost" not in known:
            return None
        return known["test_expected_cost"] + self.error_price * known["test_error"]
