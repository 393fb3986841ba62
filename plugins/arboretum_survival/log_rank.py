"""The log-rank statistic of the two sides of a test."""

from __future__ import annotations

import attrs
import numpy as np

from arboretum.api import EVENT, DataError, Encoded, Node, Problem, Table, Tables, param
from arboretum_survival.hazards import Followed


@attrs.frozen
class LogRank:
    """(events of a side − events expected of it)² / their variance, over the times of events.

    Beyond ``times`` times of events their quantiles are looked at.  A side needs ``least_events``
    events.
    """

    kind = "criterion"
    name = "log_rank"
    paper = "Segal 1988; Ciampi, Thiffault, Nakache & Asselain 1986"
    capabilities = ("regression", "weights", "thresholds")
    own_unit = True
    reads = (EVENT,)
    by_value = True
    example = "dataset=lifetimes method=greedy objective=survival"

    times: int = param(100, "of events that are looked at, at most", ge=1)
    least_events: int = param(1, "of a side", ge=0)

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        """Return float64[tests]: without a problem, whose events are not known, the squares of the
        times between the sides.
        """
        weight, total = tables.weights[..., 0], tables.weights[..., 1]
        mean = total.sum(axis=1) / weight.sum(axis=1)
        means = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0)
        return np.asarray((weight * (means - mean[:, None]) ** 2).sum(axis=1))

    def for_problem(self, problem: Problem) -> LogRank:
        """Return the criterion with the times of the problem's rows."""
        objects = problem.objects
        followed = Followed.of(objects.table)
        known = self.times_of(followed)
        # an event counts at the first time looked at from its own on
        at_risk = followed.time[:, None] >= known
        place = np.searchsorted(known, followed.time, side="left")
        happens = (place[:, None] == np.arange(len(known))) & (followed.event[:, None] == 1)
        both = np.concatenate([at_risk | happens, happens], axis=1)
        columns = objects.mean_of_rows(both.astype(np.float64)) * objects.weight[:, None]
        return OfTimes(self.times, self.least_events, columns=columns)

    def times_of(self, followed: Followed) -> np.ndarray:
        """Return float64[k], the times of events that are looked at."""
        known = np.unique(followed.time[followed.event == 1])
        if len(known) > self.times:
            known = np.unique(np.quantile(known, np.linspace(0, 1, self.times), method="lower"))
        return np.asarray(known)

    def fitted(self, table: Table) -> LogRank:
        """Return the criterion with the times of these rows, whichever are asked about.  Raises
        DataError where none of them is that of an event.
        """
        known = self.times_of(Followed.of(table, merged=True))
        if not len(known):
            raise DataError(f"{table.name}: no row to learn from has an event; there is no tree")
        return AtTimes(self.times, self.least_events, known=known)


@attrs.frozen(eq=False)
class AtTimes(LogRank):
    """With times.   known : float64[k], those of events."""

    known: np.ndarray = attrs.field(default=None, kw_only=True)

    def times_of(self, followed: Followed) -> np.ndarray:
        """Return the known ones."""
        return self.known


@attrs.frozen(eq=False)
class OfTimes(LogRank):
    """With times.   columns : float64[n_objects, 2 · times], weight at risk and of events."""

    own: np.ndarray = attrs.field(default=None, alias="columns", kw_only=True)

    def columns(self, node: Node, objects: Encoded, rows: np.ndarray) -> np.ndarray:
        """Return float64[len(rows), 2 · times]."""
        return np.asarray(self.own[rows])

    def score(self, tables: Tables, node: Node) -> np.ndarray:
        """Return float64[tests], the statistic; −∞ where a side has too few events."""
        k = tables.extra.shape[2] // 2
        risk, events = tables.extra[:, 0, :k], tables.extra[:, 0, k:]
        all_risk, all_events = (
            tables.extra.sum(axis=1)[:, part] for part in (slice(k), slice(k, None))
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(all_risk > 0, risk / all_risk, 0.0)
            rest = np.where(all_risk > 1, (all_risk - all_events) / (all_risk - 1), 0.0)
        variance = (all_events * share * (1 - share) * np.maximum(rest, 0.0)).sum(axis=1)
        off = (events - all_events * share).sum(axis=1)
        found = np.where(variance > 0, off**2 / np.where(variance > 0, variance, 1.0), 0.0)
        least = tables.extra[:, :, k:].sum(axis=2).min(axis=1)
        return np.where(least >= self.least_events, found, -np.inf)
