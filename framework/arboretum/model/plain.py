"""Plain values by name, as JSON, YAML and the command line have them."""

from collections.abc import Mapping, Sequence
from typing import Any

Plain = Mapping[str, Any]
"""Name → plain value, to be read."""
Facts = dict[str, Any]
"""Name → plain value, to be put together."""
Key = Mapping[str, Any]
"""Plain values that say, with the seed, everything the result of a piece of work depends on."""
Keyed = Sequence[tuple[Key, Any]]
"""Results of pieces of work, each with its key."""
