"""The command ``arboretum``: a table of verbs, each in a module that is imported when it is
called.
"""

import atexit
import gc
import os
import pkgutil
import sys
from collections.abc import Callable, Sequence

from arboretum import __version__
from arboretum.cli.terminal import (
    FAILED_STATUS,
    aligned,
    close_output,
    ending_like_ctrl_c,
    open_output,
    report,
    report_error,
    say,
    status_of,
    word_of,
)
from arboretum.errors import ConfigError, closest

VERBS: dict[str, tuple[str, str]] = {
    "run": ("run:main", "grow one tree, or with -m a sweep of them"),
    "reproduce": ("reproduce:main", "a paper's numbers beside ours, with a verdict each"),
    "plugins": ("plugins:main", "what is installed: a bibliography with capabilities and commands"),
    "explain": (
        "plugins:explain_main",
        "one component: paper, parameters with units and bounds, capabilities",
    ),
    "show": ("show:main", "a finished run: its numbers and its tree"),
    "list": ("list:main", "runs of folders or of the tracker that meet a condition, as a table"),
    "diff": (
        "diff:main",
        "two trees side by side: where they part, rows they answer differently, measures",
    ),
    "study": ("study:main", "the runs of a study's file, as one sweep, with a report"),
    "compare": (
        "compare:main",
        "which method is best, by how much, how sure that is: tests, pictures, a report",
    ),
    "curves": ("curves:main", "measures per class; ROC, precision-recall and calibration curves"),
    "importances": (
        "curves:importances_main",
        "columns by impurity decrease, by price, and by what is lost without them",
    ),
    "why": (
        "show:why_main",
        "why this test at that node: every candidate's table, score and terms",
    ),
    "predict": ("export:predict_main", "rows of a file through the tree of a run"),
    "export": (
        "export:main",
        "the tree of a run in another form: text, picture, SQL, scikit-learn",
    ),
    "verify": ("verify:main", "a solver's proof, replayed against the table: accepted or rejected"),
    "lint": (
        "lint:main",
        "the axioms of an impurity or a coverage: counterexamples, false claims, theorems",
    ),
    "new": ("new:main", "write a complete plugin that passes its own tests, or a lab"),
    "trust": (
        "trust:main",
        "let the lab of this folder (arboretum.yaml) choose plugins, data and defaults",
    ),
    "completion": ("completion:main", "a script by which your shell completes what you type"),
    "ui": ("sync:ui_main", "open the tracker's user interface"),
    "sync": ("sync:main", "send runs to the tracker that never reached it"),
}
"""Verb → its function ``argv -> status`` and one line of meaning, in the order of a user's day."""
LIGHT = ("plugins", "explain", "new", "trust")
"""They only read declarations; NumPy then starts no threads, which saves a fifth of the half
second they may take.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status: 0 done, 1 failed, 3 done but not tracked, 130
    interrupted, 143 SIGTERM.
    """
    if argv is None:
        _collect_rarely()
    arguments = list(sys.argv[1:] if argv is None else argv)
    open_output()
    try:
        with ending_like_ctrl_c():
            status = _dispatch(arguments)
        # what cannot be written is known here, and not when the interpreter has ended
        sys.stdout.flush()
        return status
    except KeyboardInterrupt as error:
        report(f"arboretum: {word_of(error)}")
        return status_of(error)
    except BrokenPipeError:
        close_output()  # the reader of our output has gone; so do we, without a word
        return FAILED_STATUS
    except SystemExit:
        raise
    except BaseException as error:  # a plugin may have one of its own
        report_error(error)
        close_output()
        return FAILED_STATUS


def _collect_rarely() -> None:
    """Let Python look for garbage once in 100,000 new objects instead of 700, and not at the end.

    What is imported is none: without it 1.06 s of ``run dataset=iris method=cart tracker=none``
    were 1.26 s.
    """
    gc.set_threshold(100_000, 10, 10)
    atexit.register(gc.freeze)


def _dispatch(arguments: list[str]) -> int:
    """Call the verb that the first argument names, with the others; returns its exit status. Raises
    ConfigError for an unknown one.
    """
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
    if name in LIGHT:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    verb: Callable[[list[str]], int] = pkgutil.resolve_name(f"arboretum.cli.{VERBS[name][0]}")
    return verb(rest)


def usage() -> str:
    """The command's help: every verb with its meaning, then the first steps."""
    verbs = aligned([(f"  {name}", meaning) for name, (_, meaning) in VERBS.items()])
    return f"""\
Arboretum: a laboratory for decision-tree construction

usage: arboretum VERB …

{verbs}

first steps:
  arboretum run dataset=iris method=cart
  arboretum run -m method=cart,id3 dataset=iris,wine seed=1,2
  arboretum VERB --help"""
