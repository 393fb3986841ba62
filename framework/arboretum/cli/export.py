"""``arboretum export RUN --to NAME``: the tree of a run in another form."""

from __future__ import annotations

import sys
from pathlib import Path

from arboretum.cli import terminal
from arboretum.cli.finding import OVERRIDES_HELP, add_plugin_option, find_run, plugin_files
from arboretum.cli.terminal import Parser
from arboretum.errors import ConfigError, StoreError
from arboretum.plugin.assemble import read_assignment
from arboretum.plugin.build import build

DESCRIPTION = """\
The tree of a run in the form NAME (arboretum plugins --kind export lists them), on standard output or in a file."""
OWN = "export."


def main(argv: list[str]) -> int:
    """Write the tree."""
    parser = Parser("export", DESCRIPTION)
    parser.add_argument("run", metavar="RUN", help="run folder or tracker run id")
    parser.add_argument("--to", required=True, metavar="NAME", help="the form: text, svg, png, graphviz, sql, json, sklearn, or a plugin's")
    parser.add_argument("--out", metavar="FILE", help="write here instead of standard output")
    add_plugin_option(parser)
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help=f"{OWN}FIELD=VALUE; {OVERRIDES_HELP}")
    arguments = parser.parse_intermixed_args(argv)
    fields = dict(read_assignment(word.removeprefix(OWN)) for word in arguments.overrides if word.startswith(OWN))
    others = [word for word in arguments.overrides if not word.startswith(OWN)]
    record, registry = find_run(arguments.run, others, plugin_files(arguments.plugin))
    if record.tree is None:
        raise StoreError(f"run {arguments.run} holds no tree")
    export = build(registry.get("export", arguments.to), fields)
    written = export.write(record.tree)
    if arguments.out is not None:
        try:
            Path(arguments.out).write_bytes(written.encode() if isinstance(written, str) else written)
        except OSError as error:
            raise StoreError(f"{arguments.out} cannot be written ({error.strerror})") from error
    elif isinstance(written, str):
        terminal.say(written.rstrip("\n"))
    elif terminal.is_terminal():
        raise ConfigError(f"the form {arguments.to!r} is no text: name a file, --out tree{export.suffix}")
    else:
        sys.stdout.buffer.write(written)
    return 0
