"""The command ``arboretum``: a table of verbs, each in a module that is imported when it is called."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence

import attrs

from arboretum import __version__
from arboretum.cli.signals import FAILED, ending_like_ctrl_c, status_of, word_of
from arboretum.cli.terminal import report_error, say, tell
from arboretum.errors import ConfigError, closest


@attrs.frozen
class Verb:
    """One verb: where its ``main(argv) -> status`` is, and one line of meaning.

    light : it only reads declarations; NumPy then starts no threads, which saves a fifth of the half second it may take.
    """

    module: str
    summary: str
    light: bool = False

    def load(self) -> Callable[[list[str]], int]:
        if self.light:
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        return importlib.import_module(self.module).main


VERBS: dict[str, Verb] = {
    "run": Verb("arboretum.cli.run", "grow one tree, or with -m a sweep of them"),
    "reproduce": Verb("arboretum.cli.reproduce", "a paper's numbers beside ours, with a verdict each"),
    "plugins": Verb("arboretum.cli.plugins", "what is installed: a bibliography with capabilities and commands", light=True),
    "explain": Verb("arboretum.cli.explain", "one component: paper, parameters with units and bounds, capabilities", light=True),
    "show": Verb("arboretum.cli.show", "a finished run: its numbers and its tree"),
    "why": Verb("arboretum.cli.why", "why this test at that node: every candidate's table, score and terms"),
    "predict": Verb("arboretum.cli.predict", "rows of a file through the tree of a run"),
    "export": Verb("arboretum.cli.export", "the tree of a run in another form: text, picture, SQL, scikit-learn"),
    "new": Verb("arboretum.cli.new", "write a complete plugin that passes its own tests", light=True),
    "ui": Verb("arboretum.cli.ui", "open the tracker's user interface"),
    "sync": Verb("arboretum.cli.sync", "send runs to the tracker that never reached it"),
}
"""In the order of a user's day."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status: 0 done, 1 failed, 3 done but not tracked, 130 interrupted, 143 SIGTERM."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with ending_like_ctrl_c():
            return _dispatch(arguments)
    except KeyboardInterrupt as error:
        tell(f"arboretum: {word_of(error)}")
        return status_of(error)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone; so do we, without a word
        return FAILED
    except Exception as error:
        report_error(error)
        return FAILED


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        say(usage())
        return 0
    if arguments[0] in ("-V", "--version"):
        say(f"arboretum {__version__}")
        return 0
    name, *rest = arguments
    if name not in VERBS:
        near = closest(name, VERBS)
        hint = f"did you mean {near!r}? " if near else ""
        raise ConfigError(f"unknown verb {name!r}; {hint}known: {', '.join(VERBS)}")
    return VERBS[name].load()(rest)


def usage() -> str:
    """The text of ``arboretum --help``."""
    widest = max(map(len, VERBS))
    lines = [
        "Arboretum: a laboratory for decision-tree construction",
        "",
        "usage: arboretum VERB …",
        "",
        *(f"  {name:<{widest}}  {verb.summary}" for name, verb in VERBS.items()),
        "",
        "first steps:",
        "  arboretum run dataset=iris method=cart",
        "  arboretum run -m method=cart,id3 dataset=iris,wine seed=1,2",
        "  arboretum VERB --help",
    ]
    return "\n".join(lines)
