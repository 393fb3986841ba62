"""The judgement of the printed optima: cells, claims and rows, source by source."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from arboretum.api import Cell, Claim, Judgement, Keyed, Plain
from arboretum_peers.paper.published import MEANING, Record, Word, published, shown

Row = list[Any]


def judge_source(
    source: str, asked: Sequence[tuple[Record, Plain | None]]
) -> tuple[Judgement, list[Row]]:
    """Return the judgement of a source, and a row of ``records.csv`` for each of its records.

    asked : (record, what was found; None where it was not looked into).
    """
    described = published()["sources"][source]
    title = f"{described['paper']}: {described['where']}"
    cells: list[Cell] = []
    rows: list[Row] = []
    without: dict[Word, list[str]] = {Word.NOT_AT_HAND: [], Word.TABLE_DIFFERS: []}
    words: Counter[Word] = Counter()
    for record, found in asked:
        at_hand = record.table in published()["tables"]
        if at_hand and found is None:
            continue
        if not at_hand or "absent" in (found or {}):
            word, how = Word.NOT_AT_HAND, (found or {}).get("absent", "")
        elif "differs" in (found or {}):
            word, how = Word.TABLE_DIFFERS, (found or {})["differs"]
        else:
            cells.append(record.cell(title, found or {}))
            word, how = record.judged(found or {}), ""
        words[word] += 1
        if word in without:
            without[word].append(f"{record.table}{f' ({how})' * bool(how)}")
            found = None
        rows.append(_row(record, found, word, how))
    claims = [
        Claim.judged(
            f"{described['paper']}: {words[word]} printed optima of {title_of_word(word)}",
            None,
            "; ".join(dict.fromkeys(tables)),
        )
        for word, tables in without.items()
        if tables
    ]
    metrics = {word.value.replace(" ", "_"): float(n) for word, n in words.items()}
    return Judgement.of_chapter(source, {}, metrics, cells=cells, claims=claims), rows


def title_of_word(word: Word) -> str:
    """Return of which tables a word is said."""
    return {
        Word.NOT_AT_HAND: "tables that are not at hand",
        Word.TABLE_DIFFERS: "tables that differ from those at hand",
    }.get(word, MEANING[word])


def _row(record: Record, found: Plain | None, word: Word, how: str) -> Row:
    """Return a record's row of ``records.csv``.   found : None: it was not looked into."""
    asked = record.question
    remark = how or published()["tables"].get(record.table, {}).get("remark", "")
    row: Row = [
        record.source,
        record.table,
        "" if asked.depth is None else asked.depth,
        f"{asked.lam:g}",
        asked.least,
        record.unit,
        shown(record.printed),
        record.proven,
    ]
    if found is None:
        return [*row, "", "", "", "", "", word.value, remark]
    value, bound = (record.in_unit(found[name], found["rows"]) for name in ("value", "bound"))
    said = "; ".join(f"{peer}: {_said(one)}" for peer, one in found.get("peers", {}).items())
    return [
        *row,
        f"{value:.10g}",
        f"{bound:.10g}",
        found["proven"],
        found["leaves"],
        f"{found['seconds']:.4g}",
        word.value,
        "; ".join(text for text in (remark, said) if text),
    ]


def _said(found: Plain) -> str:
    """Return what a peer found, in words."""
    if "refused" in found:
        return f"not asked ({found['refused']})"
    known = "proven" if found["proven"] else "not proven"
    return f"{found['errors']} errors, {found['leaves']} leaves, {known}"


def claims_of_peers(results: Keyed) -> list[Claim]:
    """Return for each peer whether its proven optima are ours, and none of its trees is below our
    bound.
    """
    names = dict.fromkeys(peer for _, found in results for peer in found.get("peers", {}))
    claims = []
    for name in names:
        both, against = 0, []
        for key, found in results:
            theirs = found.get("peers", {}).get(name)
            if theirs is None or "refused" in theirs:
                continue
            near = 1e-9 * max(1.0, found["value"])
            if found["proven"] and theirs["proven"]:
                both += 1
            wrong = theirs["value"] < found["bound"] - near or (
                theirs["proven"] and theirs["value"] > found["value"] + near
            )
            if wrong:
                against.append(
                    f"{key['table']}, depth {key['depth']}, λ = {key['lam']:g}: "
                    f"{_said(theirs)}, ours {found['errors']} errors, bound {found['bound']:.6g}"
                )
        claims.append(
            Claim.judged(
                f"{name} finds the same",
                not against if both or against else None,
                "; ".join(against) or f"both prove {both} of {len(results)} problems",
            )
        )
    return claims
