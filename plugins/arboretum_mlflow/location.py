"""Where is the store?  A tracking URI read once: absolute, fit to be shown, with the place of
the artifacts; and what is wrong with it.
"""

import re
from pathlib import Path
from urllib.parse import urlsplit

import attrs

from arboretum.api import TrackerError, masked

SQL_SCHEMES = ("sqlite", "postgresql", "mysql", "mssql")
SERVER_SCHEMES = ("http", "https", "databricks")
ARTIFACTS_FOLDER = "mlruns"
LONG = 4.0
"""Times ``timeout`` that two rare actions may take: making or migrating a schema (a fresh SQLite
store: 2 to 5 s, and longer where many commands start at once), and the summary of a sweep (3 s per
1,000 runs).
"""


@attrs.frozen
class Location:
    """A store.

    uri : as MLflow takes it, a SQLite path made absolute.
    shown : the same without its secrets, for messages.
    database : file of a SQLite store, else None.
    artifacts : URI of the folder for artifacts of a new experiment; "" where the server decides.
    """

    uri: str
    shown: str
    database: Path | None = attrs.field(converter=attrs.converters.optional(Path))
    artifacts: str

    @property
    def is_server(self) -> bool:
        """Whether an MLflow server answers there (rather than a database)."""
        return self.uri.split(":", 1)[0] in SERVER_SCHEMES

    @property
    def sidecar(self) -> Path | None:
        """Hidden file beside a SQLite store: lock while its schema is made, then the note that
        it is made.
        """
        return (
            None
            if self.database is None
            else self.database.with_name(f".{self.database.name}.arboretum")
        )


def locate(uri: str, experiment: str, artifacts: str = "", here: Path | None = None) -> Location:
    """Read a tracking URI.

    here : folder that relative paths start from (default: the working folder).

    Raises TrackerError on a URI that names no store.
    """
    here = Path.cwd() if here is None else here
    scheme, sign, rest = uri.partition(":")
    dialect = scheme.split("+", 1)[0].lower()
    if dialect not in SQL_SCHEMES + SERVER_SCHEMES or (not sign and dialect != "databricks"):
        raise TrackerError(
            "tracker.uri must be sqlite:///PATH, postgresql://…, or http(s)://…; got "
            f"{masked(uri)!r}"
            " (MLflow no longer keeps runs in plain folders)"
        )
    database = None
    if dialect == "sqlite":
        path, _, query = rest.removeprefix("///").partition("?")
        if not rest.startswith("///") or path in ("", ":memory:"):
            msg = (
                "tracker.uri must name a file, such as sqlite:///mlflow.db; got "
                f"'sqlite:{rest}', which keeps nothing"
            )
            raise TrackerError(msg)
        database = (here / path).absolute()
        uri = f"sqlite:///{database}" + (f"?{query}" if query else "")
    if artifacts:
        place = (
            artifacts.rstrip("/")
            if urlsplit(artifacts).scheme
            else (here / artifacts).absolute().as_uri()
        )
    else:
        beside = database.parent if database else here
        place = "" if dialect in SERVER_SCHEMES else (beside / ARTIFACTS_FOLDER).absolute().as_uri()
    folder = re.sub(r"[^\w.-]+", "_", experiment).strip("._") or "experiment"
    return Location(uri, masked(uri), database, f"{place}/{folder}" if place else "")


WAY_OUT = "or choose another store (tracker.uri=sqlite:///PATH.db), or none (tracker=none)"

CAUSES: tuple[tuple[str, str], ...] = (
    (
        "database is locked",
        "is locked by another process; end it (a stopped sweep? a database browser?)",
    ),
    ("file is not a database", "is not a SQLite database; move that file away"),
    ("malformed", "is a damaged SQLite database; move that file away or restore it"),
    ("readonly database", "cannot be written; check who owns the file and its folder"),
    ("disk is full", "has no space left on its disk; make room"),
    ("no space left", "has no space left on its disk; make room"),
    ("disk i/o error", "cannot be read or written (disk I/O error); check the disk"),
    (
        "unable to open database file",
        "cannot be opened; check that its folder exists and can be written",
    ),
    ("permission denied", "cannot be written; check who owns the folder"),
    (
        "no module named 'psycopg",
        "needs a driver; pip install 'psycopg[binary]' and write postgresql+psycopg://…",
    ),
    ("no module named", "needs a database driver that is not installed; install it"),
    ("starting up", "is starting; wait a moment"),
    ("not yet accepting connections", "is starting; wait a moment"),
    ("server closed the connection", "went away while it worked; start it again"),
    ("terminating connection", "went away while it worked; start it again"),
    ("connection refused", "does not answer (connection refused); start it"),
    ("name or service not known", "does not answer (its host is unknown); check the address"),
    ("max retries exceeded", "does not answer; start it"),
    ("timed out", "does not answer in time; check it"),
    ("401", "refuses these credentials; set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"),
)
"""Words in the message of SQLite, SQLAlchemy, requests or the operating system → what it means."""


def explain(shown: str, text: str) -> str:
    """Compose the line.

    shown : the store's URI without a password.
    text : what the library said.
    """
    words = masked(" ".join(text.split()))
    for sign, meaning in CAUSES:
        if sign in words.lower():
            return f"MLflow store {shown} {meaning}, {WAY_OUT}"
    return f"MLflow store {shown} failed: {words[:300]}; mend it, {WAY_OUT}"
