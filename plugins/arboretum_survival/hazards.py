"""Hazards and survival of rows that are followed until an event (1) or the last look (0)."""

from __future__ import annotations

import attrs
import numpy as np

from arboretum.api import EVENT, DataError, Table


@attrs.frozen(eq=False)
class Followed:
    """Rows by time.   time, event, weight : float64[n]; event 1 or 0."""

    time: np.ndarray
    event: np.ndarray
    weight: np.ndarray

    @staticmethod
    def of(table: Table, *, merged: bool = False) -> Followed:
        """The rows of a table.  Raises DataError for a time that is not above 0, naming the row
        (from 1).

        merged : rows of it stand for others, whose numbers are not known.
        """
        time = table.target.values
        if (time <= 0).any():
            at = int(np.argmin(time))
            one = "one" if merged else f"that of row {at + 1}"
            raise DataError(
                f"{table.name}: times lie above 0, and {one} is {time[at]:g}; leave rows out "
                "that were never followed"
            )
        return Followed(time, table.role(EVENT), table.row_weights())

    def at_risk(self, times: np.ndarray) -> np.ndarray:
        """Return float64[k]: the weight of the rows that are followed up to each time or longer."""
        order = np.argsort(self.time, kind="stable")
        later = np.concatenate([np.cumsum(self.weight[order][::-1])[::-1], [0.0]])
        return np.asarray(later[np.searchsorted(self.time[order], times, side="left")])

    def events(self, times: np.ndarray) -> np.ndarray:
        """Return float64[k]: the weight of the events at each time."""
        order = np.argsort(self.time, kind="stable")
        summed = np.concatenate([[0.0], np.cumsum((self.weight * self.event)[order])])
        last = np.searchsorted(self.time[order], times, side="right")
        first = np.searchsorted(self.time[order], times, side="left")
        return np.asarray(summed[last] - summed[first])

    def hazard_until(self, times: np.ndarray) -> np.ndarray:
        """Return float64[k]: the cumulative hazard at each time (Nelson 1972; Aalen 1978): Σ of
        events / at risk over the times of events up to it.
        """
        known = np.unique(self.time[self.event == 1])
        steps = self.events(known) / self.at_risk(known)
        summed = np.concatenate([[0.0], np.cumsum(steps)])
        return np.asarray(summed[np.searchsorted(known, times, side="right")])

    def survival_until(self, times: np.ndarray, *, before: bool = False) -> np.ndarray:
        """Return float64[k]: the share that is free of the event after each time (Kaplan & Meier
        1958).

        before : right before it instead.
        """
        known = np.unique(self.time[self.event == 1])
        kept = np.cumprod(1 - self.events(known) / self.at_risk(known))
        passed = np.searchsorted(known, times, side="left" if before else "right")
        return np.asarray(np.concatenate([[1.0], kept])[passed])

    def censored(self) -> Followed:
        """Return the same rows with the last look as the event."""
        return attrs.evolve(self, event=1 - self.event)


def concordance(followed: Followed, risk: np.ndarray) -> float:
    """Return the share of the comparable pairs in which the row of the earlier event has the higher
    risk, ties counting half (Harrell et al. 1982); NaN without such a pair.

    risk : float64[n].  Rows last seen at the time of an event count as later.
    """
    levels, level = np.unique(risk, return_inverse=True)
    order = np.lexsort((followed.event == 0, followed.time))
    time, event, weight = (one[order] for one in attrs.astuple(followed, recurse=False))
    level = level[order]
    held = np.zeros((len(time) + 1, len(levels)))
    held[np.arange(len(time)), level] = weight
    later = np.cumsum(held[::-1], axis=0)[::-1]  # of the rows from each one on, by risk
    here = np.flatnonzero(event == 1)
    # events at the same time are no pair
    after = later[np.searchsorted(time, time[here], side="right")]
    censored = np.flatnonzero(event == 0)
    same = np.zeros_like(after)
    if len(censored):
        alone = np.zeros((len(time) + 1, len(levels)))
        alone[censored, level[censored]] = weight[censored]
        summed = np.concatenate([np.zeros((1, len(levels))), np.cumsum(alone[:-1], axis=0)])
        first = np.searchsorted(time, time[here], side="left")
        last = np.searchsorted(time, time[here], side="right")
        same = summed[last] - summed[first]
    rest, own = after + same, weight[here]
    below = np.concatenate([np.zeros((len(here), 1)), np.cumsum(rest, axis=1)], axis=1)
    at = np.arange(len(here)), level[here]
    pairs = float(own @ rest.sum(axis=1))
    return float(own @ (below[at] + 0.5 * rest[at])) / pairs if pairs else float("nan")


def integrated_brier(train: Followed, rows: Followed, ratio: np.ndarray, most: int = 100) -> float:
    """Return the mean over time of the squared error of the predicted survival exp(−ratio · H(t)),
    rows that were lost being made good by the chance to be still followed (Graf et al. 1999).

    train : rows by which hazards and that chance are estimated.
    ratio : float64[n], each row's hazard over that of all.
    most : times that are looked at: those of the events, or as many quantiles of them.  NaN where
        there is one time only.
    """
    known = np.unique(rows.time[rows.event == 1])
    if len(known) > most:
        known = np.unique(np.quantile(known, np.linspace(0, 1, most), method="lower"))
    followed = train.censored()
    known = known[followed.survival_until(known) > 0]
    if len(known) < 2:
        return float("nan")
    hazard, still = train.hazard_until(known), followed.survival_until(known)
    at_end = followed.survival_until(rows.time, before=True)
    found = np.empty(len(known))
    for k, now in enumerate(known):
        free = np.exp(-ratio * hazard[k])
        gone = (rows.time <= now) & (rows.event == 1)
        lost = np.where(gone, free**2 / np.where(gone, np.maximum(at_end, 1e-12), 1.0), 0.0)
        kept = np.where(rows.time > now, (1 - free) ** 2 / still[k], 0.0)
        found[k] = rows.weight @ (lost + kept) / rows.weight.sum()
    return float(np.trapezoid(found, known) / (known[-1] - known[0]))
