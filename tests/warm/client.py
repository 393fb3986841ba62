"""In the place of an interpreter: the copy of a warmed-up process does what is asked, or this one
becomes the interpreter.

It starts in 0.03 s; one that imports numba, Hydra or MLflow takes 1 to 8 s of processor time.
"""

from __future__ import annotations

import marshal
import os
import signal
import socket
import sys

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
READ_AT_START = ("NUMBA_", "PYTHON", "LC_", "LANG", "OMP_", "OPENBLAS_")
FREE = ("PYTHONPATH", "PYTHONWARNINGS")
SERVED = (["-m", "arboretum.cli"], ["-P", "-m", "arboretum_mlflow.worker"])


def settings() -> dict[str, str]:
    """Variables that an interpreter or a library reads once: where one differs, nothing warmed
    up can serve.
    """
    return {
        name: text
        for name, text in os.environ.items()
        if name.startswith(READ_AT_START) and name not in FREE
    }


def main(address: str, python: str, served: dict[str, str]) -> None:
    """Do what ``python`` would do with this process's arguments.

    address, served : of the server, its settings.
    """
    words = sys.argv[1:]
    ours = any(words[: len(each)] == each for each in SERVED) or (
        words and os.path.basename(words[0]) == "arboretum"
    )
    if not ours or settings() != served:
        os.execv(python, [python, *words])
    ignored = [int(each) for each in ENDING if signal.getsignal(each) == signal.SIG_IGN]
    request = marshal.dumps((sys.argv, python, os.getcwd(), dict(os.environb), ignored))
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        socket.send_fds(line, [len(request).to_bytes(8, "big")], [0, 1, 2])
        line.sendall(request)
        for each in set(ENDING) - set(ignored):
            signal.signal(each, lambda number, frame: line.send(bytes([number])))
        status = int(line.recv(8) or -signal.SIGKILL)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)
