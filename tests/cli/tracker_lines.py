"""What the tracker ``lines`` of the tests has kept."""

from __future__ import annotations

import json


def lines_of(here) -> list[dict]:
    return [json.loads(line) for line in (here / "lines.jsonl").read_text().splitlines()]
