"""``arboretum completion SHELL``: words that may come next, by Hydra's own completion where a
run is configured.
"""

import os
import re
import sys
from collections.abc import Sequence
from typing import Any

from arboretum.cli import terminal
from arboretum.cli.main import VERBS
from arboretum.cli.terminal import Parser
from arboretum.plugin.discovery import load_registry

DESCRIPTION = """\
Print a script by which a shell completes verbs, groups, options, keys and values:
  bash   eval "$(arboretum completion bash)"      in ~/.bashrc
  zsh    eval "$(arboretum completion zsh)"       in ~/.zshrc
  fish   arboretum completion fish | source       in ~/.config/fish/config.fish"""

BASH = """\
_arboretum() {
  local IFS=$'\\n'
  COMPREPLY=($(COMP_LINE="${COMP_LINE:0:$COMP_POINT}" arboretum completion words 2>/dev/null))
}
COMP_WORDBREAKS=${COMP_WORDBREAKS//=}
complete -o nospace -o default -F _arboretum arboretum"""
SCRIPTS = {
    "bash": BASH,
    "zsh": f"autoload -U +X compinit bashcompinit && compinit && bashcompinit\n{BASH}",
    "fish": """\
function __arboretum_words
  COMP_LINE=(commandline -cp) arboretum completion words 2>/dev/null
end
complete -c arboretum -a '(__arboretum_words)'""",
}
"""Shell → its script.  The words so far reach the command as COMP_LINE."""


def main(argv: list[str]) -> int:
    """Print a script, or (``words``) what may come next, a line each."""
    parser = Parser("completion", DESCRIPTION)
    parser.add_argument(
        "shell", choices=(*SCRIPTS, "words"), metavar="SHELL", help=f"one of {', '.join(SCRIPTS)}"
    )
    shell = parser.parse_args(argv).shell
    if shell in SCRIPTS:
        terminal.say(SCRIPTS[shell])
    else:
        sys.stdout.writelines(f"{word}\n" for word in next_words(os.environ.get("COMP_LINE", "")))
    return 0


def next_words(line: str) -> list[str]:
    """What the last word of a command line may become; nothing where files are asked for."""
    words = line.split()[1:]
    word = words.pop() if words and not line[-1:].isspace() else ""
    if not words:
        return [f"{verb} " for verb in VERBS if verb.startswith(word)]
    verb, *before = words
    if verb == "run":
        return _next_overrides(before, word)
    if verb == "explain":
        return [
            name
            for entry in load_registry().entries()
            if (name := f"{entry.kind}.{entry.name}").startswith(word)
        ]
    if verb == "export" and before[-1:] == ["--to"]:
        return [name for name in load_registry().names("export") if name.startswith(word)]
    if verb == "reproduce":
        return [name for name in load_registry().names("reproduction") if name.startswith(word)]
    return [shell for shell in SCRIPTS if verb == "completion" and shell.startswith(word)]


def _next_overrides(before: Sequence[str], word: str) -> list[str]:
    """What an option or override of a run may become, as :func:`next_words`; of several values
    after a comma the last one is completed.

    before : words of the line before it.   word : the last one, "" where a new one begins.
    """
    from hydra.plugins.completion_plugin import DefaultCompletionPlugin

    from arboretum.cli.run import parser
    from arboretum.config.bridge import PRIMARY, hold_nodes, start_in
    from arboretum.config.compose import Loader, search_path
    from arboretum.lab import current

    if word.startswith("-"):
        return sorted(
            {
                option
                for option in re.findall(r"(?<=[\s\[,])--?[a-z][a-z-]*", parser().format_help())
                if option.startswith(word)
            }
        )
    registry, lab = load_registry(), current()
    key, sign, value = word.partition("=")
    head, comma, last = value.rpartition(",")
    said = [text for text in before if "=" in text and "," not in text]
    if not any(text.startswith("dataset=") for text in said):  # a run cannot be composed without
        said.append(f"dataset={registry.names('dataset')[0]}")
    with hold_nodes(registry, start_in(lab, said)):
        loader: Any = Loader(search_path(lab.conf), registry)
        # errors in Hydra's own words, by which it knows that there is nothing to complete
        loader.registry = None
        found = DefaultCompletionPlugin(loader)._query(
            PRIMARY, " ".join([*said, f"{key}{sign}{last}"]) + " " * (not word)
        )
    return [
        f"{key}{sign}{head}{comma}{text.partition('=')[2]}" if comma else text
        for text in found
        if not text.startswith("hydra")
    ]
