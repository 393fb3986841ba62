"""Lines on the terminal: results on stdout, everything else on stderr, one line per error; and
how a command is ended.
"""

import argparse
import codecs
import io
import os
import re
import shutil
import signal
import sys
import textwrap
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from arboretum.errors import ArboretumError, ConfigError, account, closest, raised_at, said
from arboretum.model.shown import masked, visible

DEBUG = "ARBORETUM_DEBUG"
SHOWN_DAMAGED = 5  # warnings of records that cannot be read


def open_output() -> None:
    """Make stdout and stderr take whatever is printed: characters that the locale lacks are
    spelled (\\u2514), closed streams swallow.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # as long as the process
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif (
            isinstance(stream, io.TextIOWrapper) and codecs.lookup(stream.encoding).name != "utf-8"
        ):
            stream.reconfigure(errors="backslashreplace")


def close_output() -> None:
    """Forget what stdout could not take: the interpreter would try again at its end, and
    complain.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def as_data() -> None:
    """What is printed next is data: to a file or a pipe as UTF-8, whatever the locale."""
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8")


def say(text: str = "", *, painted: bool = False) -> None:
    """Print a result.

    painted : it holds colours of ours; its names were made :func:`~arboretum.model.shown.visible`
        before.
    """
    print(text if painted else fit(text))


def report(text: str) -> None:
    """Print a line beside the results (stderr)."""
    print(fit(text), file=sys.stderr)


def fit(text: str) -> str:
    """The text as it may reach a terminal or a file about a run: no passwords, no characters
    that a terminal obeys.
    """
    return visible(masked(text))


def warn(text: str) -> None:
    """Print a warning in one line beside the results (stderr)."""
    report(f"arboretum: warning: {' '.join(text.split())}")


def warn_left_out(damaged: Sequence[str], more: str) -> None:
    """Warn of records that cannot be read: of some by name, of the others by their number and what
    ``more`` says of them.
    """
    for text in damaged[:SHOWN_DAMAGED]:
        warn(f"left out: {text}")
    if (others := len(damaged) - SHOWN_DAMAGED) > 0:
        warn(f"left out: {others} more records that cannot be read; {more}")


def report_traceback(error: BaseException) -> None:
    """Print where an error was raised, if ARBORETUM_DEBUG=1 asks for it."""
    if os.environ.get(DEBUG) == "1":
        report("".join(traceback.format_exception(error)).rstrip())


def report_error(error: BaseException) -> None:
    """Print an error in one line; ARBORETUM_DEBUG=1 prints the traceback, too."""
    report_traceback(error)
    report(f"arboretum: error: {error_text(error)}")


def error_text(error: BaseException) -> str:
    """An error in one line, with its notes; what is not one of ours is named with its type, its
    place and the component.
    """
    text = fit(" ".join(str(error).split())) or type(error).__name__
    if isinstance(error, MemoryError):
        text = "out of memory; a smaller table or budget.memory_mb helps"
    elif isinstance(error, OSError):
        where = f" {str(error.filename)!r}" if error.filename else ""
        text = f"{error.strerror or text}{where} ({type(error).__name__})"
    elif not isinstance(error, ArboretumError):
        text = account(error) or f"unexpected {said(error)}{raised_at(error)}"
    return "; ".join((text, *getattr(error, "__notes__", ())))


def width() -> int:
    """Columns of the terminal, at most 120; 100 where there is none."""
    return min(shutil.get_terminal_size((100, 24)).columns, 120)


def is_terminal() -> bool:
    """Whether somebody reads stdout as it comes: what goes to a file or a pipe is not cut to a
    width.
    """
    return sys.stdout.isatty()


def colour() -> bool:
    """Whether stdout takes colours: a terminal, and nobody said NO_COLOR."""
    return (
        sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def aligned(
    rows: Sequence[Sequence[object]], header: Sequence[str] = (), right: Sequence[int] = ()
) -> str:
    """Return rows as aligned columns; a header gets a rule below it.

    right : numbers of the columns to align right, from 0 on.
    """
    table = [[str(cell) for cell in row] for row in ([header] if header else []) + list(rows)]
    sizes = [max(map(len, column)) for column in zip(*table, strict=True)]
    padded = [
        [
            cell.rjust(size) if i in right else cell.ljust(size)
            for i, (cell, size) in enumerate(zip(row, sizes, strict=True))
        ]
        for row in table
    ]
    if header:
        padded.insert(1, ["─" * size for size in sizes])
    return "\n".join("  ".join(row).rstrip() for row in padded)


def paragraph(text: str, first: str = "", rest: str | None = None) -> str:
    """The text wrapped to the terminal's width.

    first, rest : what the first line and the others begin with (``rest``: by default as wide in
        spaces).
    """
    rest = " " * len(first) if rest is None else rest
    lines = textwrap.wrap(
        text,
        width(),
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return "\n".join(lines) or first.rstrip()


def paragraphs(text: str) -> str:
    """Paragraphs, items of lists and names with what they mean, wrapped one by one; other
    indented lines stay as they are.
    """
    item = re.compile(r"^(?=[*-] |[\w, *]+ : )", re.MULTILINE)

    def wrap_block(block: str) -> str:
        if item.match(block):
            return "\n".join(
                paragraph(one, rest="  " if one[0] in "*-" else "    ")
                for one in item.split(block)
                if one
            )
        return block if block.startswith(" ") or "\n " in block else paragraph(block)

    return "\n\n".join(map(wrap_block, text.split("\n\n")))


def duration(seconds: float) -> str:
    """ "0.42 s", "37 s", "5 min", "2 h 10 min"."""
    if seconds < 99.5:
        return f"{seconds:.2g} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


class Parser(argparse.ArgumentParser):
    """An argument parser whose mistakes are ConfigErrors of one line, with the closest option."""

    def __init__(self, verb: str, description: str, *, plugin: str = "") -> None:
        """``plugin`` : what one-file plugins are for; "" where the verb takes none."""
        form = argparse.RawDescriptionHelpFormatter
        super().__init__(
            prog=f"arboretum {verb}",
            description=description,
            allow_abbrev=False,
            formatter_class=form,
        )
        if plugin:
            self.add_argument("--plugin", action="append", default=[], metavar="FILE", help=plugin)

    def add_argument(self, *names: Any, **fields: Any) -> argparse.Action:
        """The same; words of which there may be none (``nargs="*"``) are not said to be
        required.
        """
        if fields.get("nargs") == "*":
            fields.setdefault("default", [])
        return super().add_argument(*names, **fields)

    def _print_message(self, message: str, file: Any = None) -> None:  # plugins' words are in it
        super()._print_message(fit(message), file)

    def error(self, message: str) -> NoReturn:
        """Raise ConfigError in one line: the message, the closest known option, the usage."""
        known = {option for action in self._actions for option in action.option_strings}
        near = [
            closest(word, known)
            for word in message.split()
            if word.startswith("-") and known.isdisjoint(word.rstrip(":").split("/"))
        ]
        hint = f"; did you mean {near[0]!r}?" if near and near[0] else ""
        raise ConfigError(f"{message}{hint} ({self.format_usage().strip()})".replace("\n", " "))


def at_least(least: int) -> Callable[[str], int]:
    """Return what reads an option's whole number, which must not be below ``least``."""

    def read(text: str) -> int:
        """Return the number.  Raises argparse.ArgumentTypeError naming the rule."""
        if text.isascii() and text.isdigit() and int(text) >= least:
            return int(text)
        raise argparse.ArgumentTypeError(f"must be a whole number ≥ {least}; got {text}")

    return read


def add_launcher_options(parser: Parser, retries: int) -> None:
    """Add what a command says of the launcher of many runs.   retries : the default."""
    parser.add_argument(
        "--retries",
        type=at_least(0),
        default=retries,
        metavar="N",
        help="of a launcher: how often runs are tried again whose worker ended (default "
        f"{retries})",
    )
    parser.add_argument(
        "--runs-per-job",
        type=at_least(1),
        default=None,
        metavar="N",
        help="runs that a launcher is given at a time (default: so many that there are a few "
        "hundred jobs at most, and of submitit_local one job a core)",
    )


FAILED_STATUS, TRACKER_FAILED = 1, 3  # exit statuses; 0: done, 130 and 143: see :func:`status_of`
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


def status_of(error: KeyboardInterrupt) -> int:
    """Exit status as shells count it: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + int((*error.args, signal.SIGINT)[0])


def word_of(error: KeyboardInterrupt) -> str:
    """ "interrupted" for Ctrl-C, "ended by SIGTERM" for a signal."""
    return f"ended by {signal.Signals(error.args[0]).name}" if error.args else "interrupted"


@contextmanager
def ending_like_ctrl_c() -> Iterator[None]:
    """SIGTERM and SIGHUP end a command as Ctrl-C does: what is finished is kept, a sweep is closed,
    then the status says why.

    Raises KeyboardInterrupt (with the signal's number) in the main thread at the first of them;
    more do not disturb the closing.  What the caller of the command ignores (``nohup``) stays
    ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: object) -> None:
        for each in before:
            signal.signal(each, lambda number, frame: None)  # the command is ending already
        raise KeyboardInterrupt(number)

    before = {
        number: signal.getsignal(number)
        for number in ENDING
        if signal.getsignal(number) != signal.SIG_IGN
    }
    for number in before:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
