"""A process that does pieces of a study: reads keys from its standard input, line by line, and answers each with a line.

A process of our own and not one of :mod:`multiprocessing`, which would import the user's main script again, and leaves a
worker that is in the middle of a piece no way to be ended.
"""

from __future__ import annotations

import json
import os
import sys

import attrs

from arboretum.runs.pieces import Job


def first_line(job: Job) -> str:
    """What a new worker is told: where to find modules, and what it works on."""
    return json.dumps({"path": sys.path, "job": attrs.asdict(job)}) + "\n"


def main() -> None:
    """Serve until standard input ends, that is until the command is over, however it ended."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # a library that prints must not break the protocol
    first = json.loads(sys.stdin.readline())
    sys.path[:] = first["path"]
    job = Job(**{**first["job"], "plugins": tuple(first["job"]["plugins"])})
    from arboretum.runs.labour import attempt

    for key in sys.stdin:
        answers.write(json.dumps(attempt(job, key)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
