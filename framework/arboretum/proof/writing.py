"""Writes a proof log; its form stands in :mod:`arboretum.proof.format`."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import struct
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import attrs
import numpy as np
from numpy.typing import ArrayLike

from arboretum import __version__
from arboretum.errors import StoreError, sure
from arboretum.interfaces.method import Problem
from arboretum.model.files import file_for
from arboretum.model.tree import Tree
from arboretum.plugin.build import configuration
from arboretum.proof.asked import refuse_unknown
from arboretum.proof.format import MAGIC, Header, data_of


class ProofWriter:
    """Writes a log beside its place and puts it there when it is closed; left unclosed (``with``,
    an error) it leaves nothing.

    ``append`` takes whole records as kernels fill them in, ``record`` a single one.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        problem: Problem,
        *,
        tests: Sequence[ArrayLike],
        unit: Fraction,
        shape: str = "",
        seed: int = 0,
    ) -> None:
        """Raises StoreError where the file cannot be written, or is no proof, CapabilityError for a
        run that asks what no checker knows.

        tests : see the module.
        unit : of bounds.
        shape : by whose rules they follow; nothing: the objective's own.
        """
        self.path, self.problem, self.records = self.place(path), problem, 0
        self._part = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}")
        self._digest = hashlib.sha256()
        own = getattr(problem.parts.objective, "shape", "additive")
        self.header: Header = {
            "version": __version__,
            "solver": sure(problem.parts.solver).name,
            "shape": shape or getattr(own, "value", own),
            "seed": seed,
            "data": data_of(problem),
            "config": {"seed": seed, **configuration(attrs.evolve(problem.parts, tracker=None))},
            "unit": str(unit),
            "tests": [np.array(test, np.int64).tolist() for test in tests],
        }
        refuse_unknown(problem, self.header["shape"])
        try:
            self._file = self._part.open("xb")
        except OSError as error:
            raise self._trouble(error) from error
        header = json.dumps(self.header, ensure_ascii=False, default=str)
        self._write(MAGIC + header.encode() + b"\n")

    @staticmethod
    def place(path: str | os.PathLike[str]) -> Path:
        """Where a proof is written: a new file, or in place of a proof.  Raises StoreError; a
        solver asks before its search.
        """
        with suppress(OSError):  # why there is no such folder is told of the file
            Path(path).expanduser().parent.mkdir(parents=True, exist_ok=True)
        return file_for(path, "solver.proof", MAGIC.partition(b"/")[0].decode())

    def append(self, words: np.ndarray, records: int) -> None:
        """Add int32 words, contiguous, that hold so many whole records."""
        self._write(np.ascontiguousarray(words, "<i4").data)
        self.records += records

    def record(
        self, path: Sequence[tuple[int, int]], bound: float, depth: int = -1, leaves: int = -1
    ) -> int:
        """Add one record; returns its number.

        path : (test of the log, outcome) from the root on.
        bound : a float for a complexity, else an integer.
        depth, leaves : limits of the trees that it is about; −1: any.
        """
        bits = struct.pack("<d" if isinstance(bound, float) else "<q", bound)
        words = [
            len(path),
            depth,
            leaves,
            *struct.unpack("<2i", bits),
            *(word for literal in path for word in literal),
        ]
        self.append(np.array(words, np.int32), 1)
        return self.records - 1

    def close(self, bound: float, value: float | None, tree: Tree | None, **more: object) -> None:
        """End the log.

        bound, value : proven of the root, and that of the tree, in units of the log.
        value, tree : None where no tree goes with the bound.
        more : what the rules of its shape ask of the end besides.

        Raises StoreError where the file cannot be written.
        """
        drawn = None if tree is None else json.loads(tree.to_json())
        end = json.dumps(
            {"bound": bound, "value": value, "records": self.records, "tree": drawn, **more},
            ensure_ascii=False,
        ).encode()
        self._write(struct.pack("<2i", -1, len(end)) + end)
        self._write(self._digest.digest())
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._part.replace(self.path)
        except OSError as error:
            raise self._trouble(error) from error

    def __enter__(self) -> ProofWriter:
        return self

    def __exit__(self, *raised: object) -> None:
        with suppress(OSError):  # of a full disk: what could not be written is not wanted either
            self._file.close()
        with suppress(OSError):
            self._part.unlink()

    def _write(self, data: bytes | memoryview) -> None:
        """Append to the file and to its checksum; raises what ``_trouble`` makes of an OSError."""
        self._digest.update(data)
        try:
            self._file.write(data)
        except OSError as error:
            raise self._trouble(error) from error

    def _trouble(self, error: OSError) -> StoreError:
        return StoreError(f"the proof {str(self.path)!r} cannot be written ({error.strerror})")
