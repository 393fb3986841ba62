"""A process that has imported what commands need, and run nothing: a copy of it (fork) does what is
asked.

A request brings what is its own: arguments, folder, environment, standard streams, signals that are
ignored, and the interpreter in whose place it is served, which may be that of a virtual environment
on top of this one.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import marshal
import os
import pkgutil
import runpy
import select
import signal
import site
import socket
import sys
import sysconfig
import threading
import warnings
from pathlib import Path

from client import ENDING

OURS = ("basics", "data", "classic", "decision_tables", "regularized", "gosdt", "mlflow")
HOUSE = ("arboretum", *(f"arboretum_{name}" for name in OURS))
OTHERS = (
    "hydra.main",
    "sklearn.tree",
    "pandas",
    "matplotlib.backends.backend_agg",
    "mlflow.store.tracking.sqlalchemy_store",
)
"""What the house imports where it is needed first."""
STATUS: list[object] = []
"""With which a copy ends."""
# MLflow's server changes what imports it
NOT_RUN = {"tests", "templates", "testing", "__main__", "page"}


def main(address: str) -> None:
    """Serve until standard input ends."""
    atexit.register(leave)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who keep a copy
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        print("ready", flush=True)
        while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
            line, _ = listener.accept()
            if "numba" not in sys.modules:
                warm_up()
            if os.fork() == 0:
                listener.close()
                return keep(line)
            line.close()


def warm_up() -> None:
    """Import; no thread is left behind."""
    os.environ.update(OPENBLAS_NUM_THREADS="1", JE_ARROW_MALLOC_CONF="background_thread:false")
    from arboretum_mlflow.environment import ENVIRONMENT

    os.environ.update(ENVIRONMENT)
    with warnings.catch_warnings(action="ignore"):
        for name in OTHERS:
            importlib.import_module(name)
        for package in map(importlib.import_module, HOUSE):
            for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                if NOT_RUN.isdisjoint(module.name.split(".")):
                    importlib.import_module(module.name)
    import numba

    # the first compilation fills numba's tables of types
    numba.njit("int64(int64)")(lambda number: number)
    assert len(os.listdir("/proc/self/task")) == 1 == threading.active_count()
    gc.collect()
    gc.freeze()


def keep(line: socket.socket) -> None:
    """Let a copy do what is asked: hand it signals, say its status, end it when nobody listens
    any more.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, streams, _, _ = socket.recv_fds(line, 8, 3)
    # our own client's
    request = marshal.loads(line.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
    child = os.fork()
    if child == 0:
        line.close()
        return become(streams, *request)
    for each in streams:
        os.close(each)
    end = os.pidfd_open(child)
    while end not in select.select([line, end], [], [])[0]:
        asked = line.recv(1)
        os.kill(child, asked[0] if asked else signal.SIGKILL)
        if not asked:
            os._exit(0)
    line.sendall(b"%d" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os._exit(0)


def become(
    streams: list[int],
    words: list[str],
    python: str,
    folder: str,
    environment: dict[bytes, bytes],
    ignored: list[int],
) -> None:
    """Do what ``python`` started with these words, there, in this environment, does."""
    for number, each in enumerate(streams):
        os.dup2(each, number)
        os.close(each)
    sys.stdout.reconfigure(line_buffering=os.isatty(1))
    for each in ENDING:
        usual = signal.default_int_handler if each == signal.SIGINT else signal.SIG_DFL
        signal.signal(each, signal.SIG_IGN if each in ignored else usual)
    os.chdir(folder)
    os.environb.clear()
    os.environb.update(environment)
    if "PYTHONWARNINGS" in os.environ:
        warnings.simplefilter(os.environ["PYTHONWARNINGS"])
    sys.modules["numpy.random"].seed()  # other modules see to that themselves
    sys.executable, *words = words
    safe = words[0] == "-P"
    sys.argv = words[safe:]
    is_module = sys.argv[0] == "-m"
    search_path(
        Path(python).parents[1],
        first="" if safe else folder if is_module else os.path.dirname(sys.argv[0]),
    )
    try:
        if is_module:
            del sys.argv[0]
            sys.modules.pop(sys.argv[0], None)
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        STATUS.append(end.code)
        raise


def search_path(prefix: Path, first: str) -> None:
    """Where modules are found: ``first``, as the environment says, and in a virtual environment
    before the one it lies in.
    """
    given = [first, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    found = sys.path[1:]  # the server's own folder
    if str(prefix) != sys.prefix:
        site.addsitedir(sysconfig.get_path("purelib", vars={"base": str(prefix)}))
        outer = next(i for i, path in enumerate(found) if path.endswith("site-packages"))
        found[outer:outer] = sys.path[1 + len(found) :]
        sys.prefix = sys.exec_prefix = str(prefix)
    sys.path[:] = dict.fromkeys([*filter(None, given), *found])


def leave() -> None:
    """The last thing that is called: taking all modules apart would take longer than most
    requests.
    """
    if STATUS and isinstance(STATUS[0], int):
        sys.stdout.flush()
        os._exit(STATUS[0])


if __name__ == "__main__":
    main(sys.argv[1])
