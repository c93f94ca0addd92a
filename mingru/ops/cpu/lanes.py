"""LANES neighbouring numbers as one value in a kernel, for loops too short for the compiler to turn into vectors."""

import operator

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, overload, register_model

LANES = 16


class Lanes(types.Type):
    """The type of LANES numbers of one dtype."""

    def __init__(self, dtype: types.Float):
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, lanes):
        super().__init__(manager, lanes, ir.VectorType(manager[lanes.dtype].get_value_type(), LANES))


@intrinsic
def load(context, pointer, offset):
    """The LANES numbers from `offset` on."""

    def generate(target, builder, signature, values):
        vector = target.get_value_type(signature.return_type)
        address = builder.bitcast(builder.gep(values[0], [values[1]]), vector.as_pointer())
        return builder.load(address, align=pointer.dtype.bitwidth // 8)

    return Lanes(pointer.dtype)(pointer, offset), generate


@intrinsic
def store(context, pointer, offset, lanes):
    """Put LANES numbers from `offset` on."""

    def generate(target, builder, signature, values):
        address = builder.bitcast(builder.gep(values[0], [values[1]]), values[2].type.as_pointer())
        builder.store(values[2], address, align=pointer.dtype.bitwidth // 8)
        return target.get_dummy_value()

    return types.void(pointer, offset, lanes), generate


@intrinsic
def spread(context, number):
    """LANES times the same number."""

    def generate(target, builder, signature, values):
        vector = ir.Constant(target.get_value_type(signature.return_type), ir.Undefined)
        first = builder.insert_element(vector, values[0], ir.Constant(ir.IntType(32), 0))
        return builder.shuffle_vector(first, vector, ir.Constant(ir.VectorType(ir.IntType(32), LANES), None))

    return Lanes(number)(number), generate


@intrinsic
def total(context, lanes):
    """The sum, in a fixed order: halves are added until one number is left."""

    def generate(target, builder, signature, values):
        vector, width = values[0], LANES
        while width > 1:
            width //= 2
            halves = [
                builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(ir.IntType(32), width), list(chosen)))
                for chosen in (range(width), range(width, 2 * width))
            ]
            vector = builder.fadd(*halves)
        return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))

    return lanes.dtype(lanes), generate


def _arithmetic(symbol, instruction: str) -> None:
    @intrinsic
    def combine(context, left, right):
        def generate(target, builder, signature, values):
            return getattr(builder, instruction)(*values)

        return left(left, right), generate

    @overload(symbol)
    def overloaded(left, right):
        if isinstance(left, Lanes) and left == right:
            return lambda left, right: combine(left, right)
        return None


_arithmetic(operator.add, "fadd")
_arithmetic(operator.sub, "fsub")
_arithmetic(operator.mul, "fmul")
