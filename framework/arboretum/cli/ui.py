"""``arboretum ui``: the user interface of the tracker, if it has one."""

from __future__ import annotations

from arboretum.cli import terminal
from arboretum.cli.finding import OVERRIDES_HELP, tracker_from
from arboretum.cli.parent import tidy
from arboretum.cli.terminal import Parser
from arboretum.errors import CapabilityError
from arboretum.plugin.discovery import load_registry
from arboretum.runs.tracking import guarded

DESCRIPTION = "Open the tracker's user interface on this machine; Ctrl-C ends it."


def main(argv: list[str]) -> int:
    """Serve until Ctrl-C."""
    parser = Parser("ui", DESCRIPTION)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1: this machine only)")
    parser.add_argument("--port", type=int, default=5000, help="port (default 5000)")
    parser.add_argument("overrides", nargs="*", metavar="tracker.…", help=OVERRIDES_HELP)
    arguments = parser.parse_intermixed_args(argv)
    tracker = tracker_from(arguments.overrides, load_registry())
    if tracker is None or not hasattr(tracker, "serve"):
        name = "none" if tracker is None else tracker.name
        raise CapabilityError(f"tracker {name} has no user interface; choose another with tracker=NAME")
    terminal.tell(f"starting the user interface of tracker {tracker.name}, which takes some seconds")
    try:
        tidy(tracker)
        guarded(tracker, lambda: tracker.serve(host=arguments.host, port=arguments.port))
    except KeyboardInterrupt:
        return 0
    return 0
