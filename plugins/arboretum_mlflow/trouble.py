"""What went wrong with a store, in one line with the way out."""

from __future__ import annotations

from arboretum.api import masked

WAY_OUT = "or choose another store (tracker.uri=sqlite:///PATH.db), or none (tracker=none)"

CAUSES: tuple[tuple[str, str], ...] = (
    ("database is locked", "is locked by another process; end it (a stopped sweep? a database browser?)"),
    ("file is not a database", "is not a SQLite database; move that file away"),
    ("malformed", "is a damaged SQLite database; move that file away or restore it"),
    ("readonly database", "cannot be written; check who owns the file and its folder"),
    ("disk is full", "has no space left on its disk; make room"),
    ("no space left", "has no space left on its disk; make room"),
    ("disk i/o error", "cannot be read or written (disk I/O error); check the disk"),
    ("unable to open database file", "cannot be opened; check that its folder exists and can be written"),
    ("permission denied", "cannot be written; check who owns the folder"),
    ("no module named 'psycopg", "needs a driver; pip install 'psycopg[binary]' and write postgresql+psycopg://…"),
    ("no module named", "needs a database driver that is not installed; install it"),
    ("connection refused", "does not answer (connection refused); start it"),
    ("name or service not known", "does not answer (its host is unknown); check the address"),
    ("max retries exceeded", "does not answer; start it"),
    ("timed out", "does not answer in time; check it"),
    ("401", "refuses these credentials; set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"),
)
"""Words in the message of SQLite, SQLAlchemy, requests or the operating system → what it means."""


def explain(shown: str, text: str) -> str:
    """Compose the line.   shown : the store's URI without a password.   text : what the library said."""
    words = masked(" ".join(text.split()))
    for sign, meaning in CAUSES:
        if sign in words.lower():
            return f"MLflow store {shown} {meaning}, {WAY_OUT}"
    return f"MLflow store {shown} failed: {words[:300]}; mend it, {WAY_OUT}"
