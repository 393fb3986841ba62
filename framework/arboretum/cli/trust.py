"""``arboretum trust``: a lab's plugins and choices may be used from now on."""

from pathlib import Path

from arboretum.cli import terminal
from arboretum.cli.terminal import Parser, aligned
from arboretum.errors import ConfigError
from arboretum.lab import FILE, find, read

DESCRIPTION = f"""\
Trust the lab of a folder: its {FILE}, the one-file plugins and the folder of choices that it
names.  Their code runs from now on in every command in that folder and below it, until one of these
files changes."""


def main(argv: list[str]) -> int:
    """Show what is trusted, and note it."""
    parser = Parser("trust", DESCRIPTION)
    parser.add_argument(
        "folder",
        nargs="?",
        metavar="FOLDER",
        help=f"where the {FILE} is (default: here, or the nearest above)",
    )
    arguments = parser.parse_args(argv)
    folder = Path(arguments.folder).expanduser().absolute() if arguments.folder else find()
    if folder is None:
        raise ConfigError(
            f"there is no {FILE} here or above; write one (arboretum new lab NAME), or name "
            "its FOLDER"
        )
    lab = read(folder)
    before = {file: what for what, _, file in (line.partition(" ") for line in lab.changes())}
    lab.trust()
    terminal.say(f"trusted: {folder}")
    terminal.say(
        aligned(
            [
                (f"  {name}", checksum[:12], before.get(name, "as before"))
                for name, checksum in lab.checksums
            ]
        )
    )
    return 0
