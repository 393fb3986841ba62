"""``arboretum reproduce records``: optima that papers and their systems print, each proven again or
refuted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import attrs

from arboretum.api import (
    Chaptered,
    Claim,
    ConfigError,
    DataError,
    Judgement,
    Key,
    Keyed,
    Piece,
    Plain,
    Services,
    csv_text,
    param,
    unknown,
)

if TYPE_CHECKING:
    from arboretum_peers.paper.published import Record

SOURCES = ("pydl85", "murtree", "blossom", "pytrees", "codt", "quantbnb", "branches", "streed")
"""Where the numbers stand; ``published.json`` has what each is."""
HEADINGS = (
    "source",
    "table",
    "depth",
    "lambda",
    "rows_per_leaf",
    "unit",
    "printed",
    "printed_as_optimum",
    "ours",
    "bound",
    "proven",
    "leaves",
    "seconds",
    "verdict",
    "how",
)


def _expected(described: Plain, depth: int | None) -> float:
    """Return roughly the seconds that a problem takes; fitted by eye to what some did."""
    rows, columns = described["rows"], described["columns"]
    if depth is None:
        return 1.0
    if described["encoding"] == "numbers":
        return float(0.02 + rows * columns * (4e-7 if depth == 2 else 1.2e-5 * columns))
    return float(0.02 + 5e-12 * rows * columns ** (depth - 1))


@attrs.frozen
class Records:
    """Printed optima (errors within a depth, accuracy − λ · splits), proven again by solver=gosdt
    and replayed over the rows.

    A verdict each: confirmed, the same to the decimals that are printed, improved (it was the best
    known when their time ran out), refuted, not proven within the budget; or the table differs, or
    is not at hand.  ``records.csv`` has all of them.
    """

    kind = "reproduction"
    name = "records"
    paper = (
        "Aglin, Nijssen & Schaus 2020; Demirović et al. 2022; Mazumder, Meng & Wang 2022; "
        "Demirović, Hebrard & Jean 2023; Chaouki, Read & Bifet 2025: printed optima"
    )
    capabilities = ()

    sources: tuple[str, ...] = param(
        SOURCES, "whose numbers: " + ", ".join(SOURCES), converter=Chaptered.listed
    )
    datasets: tuple[str, ...] = param(
        (), "tables to study, by the name they have there; none: all", converter=Chaptered.listed
    )
    seconds: float = param(60.0, "for each problem", gt=0.0, unit="s")
    peers: tuple[str, ...] = param(
        (),
        "solvers of others that say what they find, too (peer_pystreed, peer_pycontree, …)",
        converter=Chaptered.listed,
    )

    def __attrs_post_init__(self) -> None:
        """Raise ConfigError for an unknown source, or none at all."""
        for source in self.sources:
            if source not in SOURCES:
                raise ConfigError("reproduction.sources: " + unknown("source", source, SOURCES))
        if not self.sources:
            raise ConfigError(
                f"reproduction.sources must name at least one of {', '.join(SOURCES)}"
            )

    def _wanted(self) -> Iterator[tuple[Record, Plain]]:
        """Yield (record, how a piece is known that answers it), of the sources and tables that are
        asked for.
        """
        from arboretum_peers.paper.published import records

        for record in records():
            named = not self.datasets or record.table in self.datasets
            if record.source in self.sources and named:
                asked = {"table": record.table, **attrs.asdict(record.question)}
                yield record, {**asked, "seconds": self.seconds, "peers": list(self.peers)}

    def pieces(self, fraction: float) -> Sequence[Piece]:
        """Return a piece for every problem that a record at hand is about, the cheapest first.
        Raises ConfigError where there is none.
        """
        from arboretum_peers.paper.published import published

        tables, found = published()["tables"], {}
        for _, key in self._wanted():
            if described := tables.get(key["table"]):
                found[str(key)] = Piece(key, min(self.seconds, _expected(described, key["depth"])))
        if not found:
            raise ConfigError(
                f"none of the tables {', '.join(self.datasets) or 'of these sources'} is one that "
                f"could be had; at hand are {', '.join(tables)}"
            )
        ordered = sorted(found.values(), key=lambda piece: piece.cost)
        return ordered[: max(1, round(fraction * len(ordered)))]

    def work(self, key: Key, seed: int, services: Services) -> Plain:
        """Return what is found of a problem (see :func:`.tables.solve`) with the table's ``rows``;
        ``differs``: in what the table at hand is another; or ``absent``: why there is none.
        """
        from arboretum_peers.paper.published import difference, published
        from arboretum_peers.paper.tables import Question, ask_peer, load_table, solve

        described = published()["tables"][key["table"]]
        try:
            table = load_table(services, described)
        except DataError as error:
            return {"absent": str(error).partition("\n")[0]}
        if how := difference(table, described):
            return {"differs": how}
        question = Question(key["depth"], key["lam"], key["least"])
        found = solve(services, table, "gosdt", question, key["seconds"])
        said = {
            peer: ask_peer(services, table, peer, question, key["seconds"]) for peer in key["peers"]
        }
        return {**found, "rows": table.n_rows, "peers": said}

    def judge(self, results: Keyed) -> Judgement:
        """Return a cell per record that was looked into, and an open claim per source for what
        could not be; ``records.csv`` has a row for each.
        """
        if not results:
            return Judgement()
        from arboretum_peers.paper.published import published
        from arboretum_peers.paper.verdicts import claims_of_peers, judge_source

        known = {str(dict(key)): result for key, result in results}
        asked = [(record, known.get(str(key))) for record, key in self._wanted()]
        parts, rows = [], []
        for source in self.sources:
            own = [(record, found) for record, found in asked if record.source == source]
            part, written = judge_source(source, own)
            parts.append(part)
            rows += written
        nothing = [
            Claim.judged(f"{paper}: nothing to hold ours against", None, why)
            for paper, why in published()["nothing_found"].items()
        ]
        table = {"records.csv": csv_text([HEADINGS, *rows])}
        claims = [*claims_of_peers(results), *nothing]
        return Judgement.joined([*parts, Judgement(claims=claims, tables=table)])
