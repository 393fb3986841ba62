"""The one family of errors.

Every message is one line that names the rule, the value that broke it, and the way out.  What is wrong with what was given is a
ValueError, too, which is what scikit-learn's tools know.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ArboretumError(Exception):
    """Root of every error the laboratory raises on purpose."""


class ConfigError(ArboretumError, ValueError):
    """What the user asked for cannot be understood: unknown name, wrong type, value out of bounds."""


class PluginError(ArboretumError):
    """A plugin cannot be used: it fails to import, breaks a contract, or claims a name that is taken."""


class DataError(ArboretumError, ValueError):
    """The table is unusable: missing file, ragged rows, absent target, one class, infinite values."""


class CapabilityError(ArboretumError, ValueError):
    """The parts are fine but do not fit together (an impurity for classes on a regression target)."""


class ContractError(ArboretumError):
    """A component returned something its contract forbids (a NaN score, a table of the wrong shape)."""


class VerificationError(ArboretumError):
    """The slow reference disagrees with what the run reported."""


class BudgetError(ArboretumError):
    """A budget of seconds or bytes ran out before there was anything to return."""


class TrackerError(ArboretumError):
    """The run is finished and kept, but the tracker could not store it."""


class StoreError(ArboretumError):
    """A run folder or a store cannot be read or written."""


SHORTEST_PART = 3
"""Letters of a name that is looked for within longer ones."""


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate most similar to ``name``, or None when nothing comes near; capitals count for little.

    Where nothing is alike, the shortest candidate that holds the name as a part ("ec45" in "regularized_ec45").
    """
    names, key = list(candidates), name.casefold()
    if name in names:
        return name
    folded = {candidate.casefold(): candidate for candidate in reversed(names)}  # of those that differ in capitals the first
    found = [folded[key]] if key in folded else difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    found = found or [folded[near] for near in difflib.get_close_matches(key, [*map(str.casefold, names)], n=1, cutoff=0.5)]
    if found:
        return found[0]
    holding = [one for one in folded if len(name) >= SHORTEST_PART and key in one]
    return folded[min(holding, key=len)] if holding else None


MOST_NAMES = 24
"""Names that a message lists; of more it shows those that come nearest, and their number."""


def listed(name: str, candidates: Iterable[str]) -> str:
    """The candidates in one short line: all in alphabetical order, or the six nearest and how many more there are."""
    names = sorted(candidates)
    if len(names) <= MOST_NAMES:
        return ", ".join(names) if names else "none"
    near = difflib.get_close_matches(name, names, n=6, cutoff=0.0)
    return f"{', '.join(near)} and {len(names) - len(near)} more"


def unknown(what: str, name: str, candidates: Iterable[str]) -> str:
    """Compose "unknown criterion 'ginii'; did you mean 'gini'? known: …" (one line)."""
    names = sorted(candidates)
    near = closest(name, names)
    hint = f"; did you mean {near!r}?" if near else ";"
    return f"unknown {what} {name!r}{hint} known: {listed(name, names)}"
