"""Vector code for kernels: a small writer of LLVM instructions inside numba's intrinsics.

numba widens uint16 to int64 and leaves loops over few features as scalar code; the kernels of the
searches count all pairs of features, so that these two things decide how fast they are.  Here **the
lanes of a vector are features**: a *word* holds one bit of 16 (or 32) rows for one feature, and one
load takes the words of 32 (or 16) features at once.  The width of the lanes is that of the words in
memory: uint16 where all counts stay below 65,535, else uint32.

Vectors of 64 bytes become one register where the machine has AVX-512, two with AVX2, four with
NEON.  A kernel is written with loops whose rounds hand values to the next; here the sum of all
words of each feature::

    @lanes_kernel()
    def sum_words(lanes, words, stride, n_words, out):
        with lanes.loop(lanes.index(0), stride, step=lanes.count) as part:
            with lanes.loop(lanes.index(0), n_words, [lanes.all(0)]) as row:
                at = lanes.builder.add(lanes.builder.mul(row.i, stride), part.i)
                row.next = [lanes.builder.add(row.now[0], lanes.load(words, at))]
            lanes.store(row.after[0], out, part.i)

Invariants:

- ``lanes.count`` follows from the elements of the first array among the arguments.
- ``load`` and ``store`` move whole vectors and check no index, so arrays reach to the end of their
  last vector.  Elements need no alignment beyond their own.
- ``loop.next`` has as many values as were carried in, of the same types; ``loop.after`` is valid
  behind the loop, even where it had no round.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba.core import cgutils, config, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

if TYPE_CHECKING:
    from llvmlite.ir import IntType, IRBuilder, Value
    from numba.core.base import BaseContext
    from numba.core.typing.templates import Signature


VECTOR_BYTES = 64
INDEX = ir.IntType(64)


@cache
def _features() -> Mapping[str, bool]:
    """What this machine's processor can do."""
    found: Mapping[str, bool] = get_host_cpu_features()
    return found


def _width(kind: types.Type) -> int:
    """Bits of an array's elements, of the first array of a named tuple; 0 for anything else."""
    if isinstance(kind, types.BaseNamedTuple):
        return next((bits for each in kind.types if (bits := _width(each))), 0)
    return kind.dtype.bitwidth if isinstance(kind, types.Array) else 0


class Lanes:
    """Writes the body of one intrinsic.

    args : pointers for arrays, values for numbers, in the order of the signature.
    kinds : their numba types.
    count : lanes of a vector, as wide as the elements of the first array; vectors of other
        ``words`` (the elements of each array) have as many lanes, and take more registers.
    counts_lanes : whether one instruction counts the bits of every lane; else of every byte.
    """

    def __init__(
        self, context: BaseContext, builder: IRBuilder, signature: Signature, args: Sequence[Value]
    ) -> None:
        self.builder, self.kinds = builder, signature.args
        bits = next(map(_width, filter(_width, signature.args)), 64)
        self.word = ir.IntType(bits)
        self.count = VECTOR_BYTES * 8 // bits
        self.vector = ir.VectorType(self.word, self.count)
        self.wide_logic = not config.CPU_NAME and _features().get("avx512f", False)
        counts = "avx512bitalg" if bits < 32 else "avx512vpopcntdq"
        self.counts_lanes = not config.CPU_NAME and _features().get(counts, False)
        self.words = [
            ir.IntType(kind.dtype.bitwidth) if isinstance(kind, types.Array) else None
            for kind in signature.args
        ]

        def readable(kind: types.Type, value: Value) -> Value:
            """Return an argument as a kernel's instructions read it: of an array its pointer, of a
            named tuple one of such values.
            """
            if isinstance(kind, types.BaseNamedTuple):
                values = cgutils.unpack_tuple(builder, value)
                return kind.instance_class(
                    *(readable(*each) for each in zip(kind.types, values, strict=True))
                )
            return (
                make_array(kind)(context, builder, value).data
                if isinstance(kind, types.Array)
                else value
            )

        self.args = [
            readable(kind, value) for kind, value in zip(signature.args, args, strict=True)
        ]

    def index(self, number: int) -> ir.Constant:
        """The constant ``number`` as an integer of 64 bits, as places and counters are."""
        return ir.Constant(INDEX, number)

    def all(self, number: int, word: IntType | None = None) -> ir.Constant:
        """The vector that has a number in every lane."""
        return ir.Constant(ir.VectorType(word or self.word, self.count), [number] * self.count)

    def element(self, pointer: Value, at: Value) -> Value:
        """The number that stands at place ``at`` of an array."""
        return self.builder.load(self.builder.gep(pointer, [at]))

    def put(self, value: Value, pointer: Value, at: Value) -> None:
        """Write a number to place ``at`` of an array."""
        self.builder.store(value, self.builder.gep(pointer, [at]))

    def load(self, pointer: Value, at: Value, word: IntType | None = None) -> Value:
        """Return the vector that begins at an element; no alignment beyond that of elements is
        asked for.
        """
        vector = ir.VectorType(word or self.word, self.count)
        found = self.builder.load(
            self.builder.bitcast(self.builder.gep(pointer, [at]), vector.as_pointer())
        )
        found.align = vector.element.width // 8
        return found

    def store(self, value: Value, pointer: Value, at: Value) -> None:
        """Write a vector to the elements from ``at`` on; no alignment beyond that of elements is
        asked for.
        """
        to = self.builder.bitcast(self.builder.gep(pointer, [at]), value.type.as_pointer())
        self.builder.store(value, to).align = value.type.element.width // 8

    def spread(self, value: Value, word: IntType | None = None) -> Value:
        """Return a number in every lane; wider numbers are cut."""
        vector = ir.VectorType(word or self.word, self.count)
        if value.type.width > vector.element.width:
            value = self.builder.trunc(value, vector.element)
        elif value.type.width < vector.element.width:
            value = self.builder.zext(value, vector.element)
        nothing = ir.Constant(vector, ir.Undefined)
        one = self.builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
        return self.builder.shuffle_vector(
            one, nothing, ir.Constant(ir.VectorType(ir.IntType(32), self.count), [0] * self.count)
        )

    def call(self, name: str, *vectors: Value) -> Value:
        """Return an instruction's result lane by lane: "ctpop", "umin", "umax", "smin", "smax",
        "uadd.sat", "sadd.sat" …
        """
        kind = vectors[0].type
        lanes = f"llvm.{name}.v{kind.count}i{kind.element.width}"
        function = cgutils.get_or_insert_function(
            self.builder.module, ir.FunctionType(kind, [kind] * len(vectors)), lanes
        )
        return self.builder.call(function, vectors)

    def logic(self, table: int, *vectors: Value) -> Value:
        """Any function of three bits in one instruction.

        table : bit 4 · x + 2 · y + z is its value; only where ``wide_logic``.
        """
        kind = ir.VectorType(INDEX, VECTOR_BYTES // 8)
        number = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            self.builder.module,
            ir.FunctionType(kind, [kind] * 3 + [number]),
            "llvm.x86.avx512.pternlog.q.512",
        )
        found = self.builder.call(
            function,
            [*(self.builder.bitcast(each, kind) for each in vectors), ir.Constant(number, table)],
        )
        return self.builder.bitcast(found, vectors[0].type)

    def append(self, vector: Value, mask: Value, pointer: Value, at: Value) -> None:
        """Write the lanes of a mask, one behind the other, from an element on.  What lies behind
        them, up to a whole vector, may be overwritten; alignment as of ``load``.

        mask : a bit per lane, of as many lanes as the vector has.
        """
        kind, place = vector.type, self.builder.gep(pointer, [at])
        lanes = f"v{kind.count}i{kind.element.width}"
        if self.wide_logic:  # in a register: to memory AMD's processors take ten times as long
            function = cgutils.get_or_insert_function(
                self.builder.module,
                ir.FunctionType(kind, [kind, mask.type, kind]),
                f"llvm.experimental.vector.compress.{lanes}",
            )
            found = self.builder.call(function, [vector, mask, ir.Constant(kind, ir.Undefined)])
            to = self.builder.bitcast(place, kind.as_pointer())
            self.builder.store(found, to).align = kind.element.width // 8
            return
        function = cgutils.get_or_insert_function(
            self.builder.module,
            ir.FunctionType(ir.VoidType(), [kind, kind.element.as_pointer(), mask.type]),
            f"llvm.masked.compressstore.{lanes}",
        )
        self.builder.call(function, [vector, place, mask])

    def reduce(self, name: str, vector: Value) -> Value:
        """Return one number of all lanes: "umin", "umax", "smin", "smax", "add"."""
        kind = vector.type
        full = f"llvm.vector.reduce.{name}.v{kind.count}i{kind.element.width}"
        function = cgutils.get_or_insert_function(
            self.builder.module, ir.FunctionType(kind.element, [kind]), full
        )
        return self.builder.call(function, [vector])

    @contextmanager
    def loop(
        self, low: Value, high: Value, carried: Sequence[Value] = (), step: int = 1
    ) -> Iterator[Loop]:
        """``for i in range(low, high, step)`` with values that each round hands to the next
        (``loop.next``).
        """
        loop = Loop(self, low, high, carried, step)
        yield loop
        loop.close()


class Loop:
    """A loop while its body is written.

    i : the counter.
    now : the carried values at the start of a round.
    next : to be set to those at its end.
    after : they are the carried values after the loop.
    """

    def __init__(
        self, lanes: Lanes, low: Value, high: Value, carried: Sequence[Value], step: int
    ) -> None:
        self._builder, self._step = lanes.builder, step
        before = self._builder.block
        self._head, body, self._exit = (
            self._builder.append_basic_block(name) for name in ("head", "body", "exit")
        )
        self._builder.branch(self._head)
        self._builder.position_at_end(self._head)
        self.i = self._builder.phi(INDEX)
        self.i.add_incoming(low, before)
        self.now = [self._builder.phi(value.type) for value in carried]
        for phi, value in zip(self.now, carried, strict=True):
            phi.add_incoming(value, before)
        self.next: Sequence[Value] = ()
        self.after = self.now
        self._builder.cbranch(self._builder.icmp_signed("<", self.i, high), body, self._exit)
        self._builder.position_at_end(body)

    def close(self) -> None:
        """End the body: add ``step`` to the counter, hand ``next`` to the next round, and go on
        writing behind the loop.
        """
        following = self._builder.add(self.i, ir.Constant(INDEX, self._step))
        block = self._builder.block
        self.i.add_incoming(following, block)
        for phi, value in zip(self.now, self.next, strict=True):
            phi.add_incoming(value, block)
        self._builder.branch(self._head)
        self._builder.position_at_end(self._exit)


def lanes_kernel(
    returns: types.Type = types.void,
) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """Decorate ``write(lanes, *args)``, which writes a kernel's instructions and returns its
    result, if it has one.

    returns : numba type.

    Arguments: C-contiguous arrays of one dimension, integers, which arrive as 64 bits, and named
    tuples of int64 and such arrays.
    """

    def wrap(write: Callable[..., Value]) -> Callable[..., Value]:
        """Make a numba intrinsic of what writes the instructions, with its name, docstring and
        parameters.
        """

        def typed(typing: object, *kinds: types.Type) -> tuple[Signature, Callable[..., Value]]:
            """Return the signature for arguments of these types (numbers as int64), and the
            generator.
            """
            taken = [
                kind if isinstance(kind, types.Array | types.BaseNamedTuple) else types.int64
                for kind in kinds
            ]

            def generate(
                context: BaseContext,
                builder: IRBuilder,
                signature: Signature,
                args: Sequence[Value],
            ) -> Value:
                """Write the instructions of one call, and return their result."""
                lanes = Lanes(context, builder, signature, args)
                found = write(lanes, *lanes.args)
                return context.get_dummy_value() if found is None else found

            return returns(*taken), generate

        typed.__name__ = write.__name__
        typed.__qualname__ = write.__qualname__
        typed.__module__ = write.__module__
        typed.__doc__ = write.__doc__
        _, *rest = inspect.signature(write).parameters.values()
        typed.__signature__ = inspect.Signature(
            [inspect.Parameter("typing", inspect.Parameter.POSITIONAL_OR_KEYWORD), *rest]
        )
        kernel = intrinsic(typed)
        kernel.define = typed  # for an intrinsic that imports numba late
        return kernel

    return wrap
