"""A base for reproductions of several chapters: it lists, does and judges what its chapters do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from arboretum.errors import ConfigError
from arboretum.model.judgement import Judgement


class Chaptered:
    """Base of reproductions whose work falls into chapters, each with pieces and a judgement of its own."""

    kind: ClassVar[str] = "reproduction"
    capabilities: ClassVar[tuple] = ()

    def parts(self) -> Mapping[str, Any]:
        """Chapter → ``pieces(paper)``, paper being ``self``, a list; ``work(key, seed, house)``; and ``judge(results)`` of its own results.

        Modules will do; a key that names no ``chapter`` is of the first one.
        """
        raise NotImplementedError

    def pieces(self, fraction: float) -> Sequence[Any]:
        """Those of all chapters, cheapest first, ``fraction`` of them; raises ConfigError where the fields leave none."""
        found = sorted((piece for part in self.parts().values() for piece in part.pieces(self)), key=lambda piece: piece.cost)
        if not found:
            raise ConfigError(f"nothing to do: these fields leave no piece of {', '.join(self.parts())}; choose others")
        return found[: max(1, round(fraction * len(found)))]

    def work(self, key: Mapping[str, Any], seed: int, house: Any) -> Any:
        """What the chapter of the piece does."""
        parts = self.parts()
        return parts[key.get("chapter", next(iter(parts)))].work(key, seed, house)

    def judge(self, results: Sequence[tuple[Mapping[str, Any], Any]]) -> Judgement:
        """What the chapters with results say, one after the other."""
        parts = self.parts()
        own: dict[str, list[tuple[Mapping[str, Any], Any]]] = {name: [] for name in parts}
        for key, result in results:
            own[key.get("chapter", next(iter(parts)))].append((key, result))
        return Judgement.joined([part.judge(own[name]) for name, part in parts.items() if own[name]])
