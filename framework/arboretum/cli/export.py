"""``arboretum export RUN --to NAME``: the tree of a run in another form."""

from __future__ import annotations

import sys

from arboretum.cli import terminal
from arboretum.cli.finding import OVERRIDES_HELP, find_tree, run_parser, write_out
from arboretum.errors import ConfigError
from arboretum.plugin.assemble import read_assignment
from arboretum.plugin.build import build

DESCRIPTION = """\
The tree of a run in the form NAME (arboretum plugins --kind export lists them), on standard output or in a file."""
OWN = "export."


def main(argv: list[str]) -> int:
    """Write the tree."""
    parser = run_parser("export", DESCRIPTION)
    parser.add_argument("--to", required=True, metavar="NAME", help="the form: text, svg, png, graphviz, sql, json, sklearn, or a plugin's")
    parser.add_argument("--out", metavar="FILE", help="write here instead of standard output")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help=f"{OWN}FIELD=VALUE; {OVERRIDES_HELP}")
    arguments = parser.parse_intermixed_args(argv)
    fields = dict(read_assignment(word.removeprefix(OWN)) for word in arguments.overrides if word.startswith(OWN))
    others = [word for word in arguments.overrides if not word.startswith(OWN)]
    record, registry = find_tree(arguments.run, others, arguments.plugin)
    export = build(registry.get("export", arguments.to), fields)
    written = export.write(record.tree)
    if arguments.out is not None:
        write_out(arguments.out, written)
    elif isinstance(written, str):
        terminal.say(written.rstrip("\n"))
    elif terminal.is_terminal():
        raise ConfigError(f"the form {arguments.to!r} is no text: name a file, --out tree{export.suffix}")
    else:
        sys.stdout.buffer.write(written)
    return 0
