"""Small tables that need no memory.

An array made here lies on the stack.  Where its shape is known at compile time and its entries are
reached through loops of known length, LLVM keeps the entries in registers, so that a contingency
table of two or three classes is never written::

    float_table(rows, columns): ROOM entries on the stack, seen as [rows, columns] in C order

Invariants: rows · columns ≤ ROOM, which nobody checks; entries are not initialised; the array owns
no memory and must not outlive the call of the function that made it.
"""

from collections.abc import Callable

import numpy as np

from arboretum.kernels.lazy import LazyIntrinsic

ROOM = 16  # entries that such a table may have


def _table(name: str) -> Callable:
    """An intrinsic (rows, columns) → uninitialised entries[rows, columns] of the type that numba
    and NumPy name so; rows · columns ≤ ROOM, which the caller sees to.

    It must not leave the function that made it.
    """

    def table(typingctx, rows, columns):
        from numba import types
        from numba.core import cgutils

        dtype = getattr(types, name)
        array_type = types.Array(dtype, 2, "C")

        def codegen(context, builder, signature, args):
            data = cgutils.alloca_once(builder, context.get_data_type(dtype), size=ROOM)
            word = context.get_value_type(types.intp)
            entry = word(dtype.bitwidth // 8)
            array = context.make_array(array_type)(context, builder)
            strides = [builder.mul(args[1], entry), entry]
            context.populate_array(
                array, data=data, shape=list(args), strides=strides, itemsize=entry, meminfo=None
            )
            return array._getvalue()

        return array_type(types.intp, types.intp), codegen

    return LazyIntrinsic(table, lambda rows, columns: np.empty((rows, columns), name))


float_table, int_table = _table("float64"), _table("int64")
