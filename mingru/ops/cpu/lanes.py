"""A few neighbouring numbers as one value of a kernel, for loops too short for the compiler to turn into vector code.

How many is part of the value's type, so that one kernel is compiled for each. A tuple of that length says how many.
"""

import operator
from collections.abc import Callable, Iterable

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

INDEX = ir.IntType(32)


class Lanes(types.Type):
    """The type of `width` numbers of one dtype."""

    def __init__(self, dtype: types.Float, width: int):
        self.dtype, self.width = dtype, width
        super().__init__(name=f"Lanes({dtype}, {width})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, lanes):
        super().__init__(manager, lanes, ir.VectorType(manager[lanes.dtype].get_value_type(), lanes.width))


def indices(chosen: Iterable[int]) -> ir.Constant:
    chosen = list(chosen)
    return ir.Constant(ir.VectorType(INDEX, len(chosen)), chosen)


def repeat(builder: ir.IRBuilder, number: ir.Value, kind: ir.VectorType) -> ir.Value:
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), number, INDEX(0))
    return builder.shuffle_vector(first, first, indices([0] * kind.count))


def fuse(builder: ir.IRBuilder, addend: ir.Value, factor: ir.Value, other: ir.Value) -> ir.Value:
    """addend + factor * other, with one rounding where the processor can."""
    kind = ir.FunctionType(addend.type, [addend.type] * 3)
    width = {ir.FloatType(): 32, ir.DoubleType(): 64}[addend.type.element]
    name = f"llvm.fmuladd.v{addend.type.count}f{width}"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), (factor, other, addend))


@intrinsic
def zeros(context, like, pattern):
    """As many zeros as the tuple `pattern` is long; the other functions take it as the kind of lanes that is wanted."""

    def generate(target, builder, signature, values):
        return ir.Constant(target.get_value_type(signature.return_type), None)

    return Lanes(like, pattern.count)(like, pattern), generate


@intrinsic
def load(context, pointer, offset, kind):
    """The numbers from `offset` on."""

    def generate(target, builder, signature, values):
        address = builder.bitcast(builder.gep(values[0], [values[1]]), values[2].type.as_pointer())
        return builder.load(address, align=kind.dtype.bitwidth // 8)

    return kind(pointer, offset, kind), generate


@intrinsic
def store(context, pointer, offset, lanes):
    """Put the numbers from `offset` on."""

    def generate(target, builder, signature, values):
        address = builder.bitcast(builder.gep(values[0], [values[1]]), values[2].type.as_pointer())
        builder.store(values[2], address, align=lanes.dtype.bitwidth // 8)
        return target.get_dummy_value()

    return types.void(pointer, offset, lanes), generate


@intrinsic
def spread(context, number, kind):
    """The same number everywhere."""

    def generate(target, builder, signature, values):
        return repeat(builder, values[0], values[1].type)

    return kind(number, kind), generate


@intrinsic
def total(context, lanes):
    """The sum, in a fixed order: halves are added as long as there are two, then what is left one by one."""

    def generate(target, builder, signature, values):
        vector, width = values[0], lanes.width
        while width % 2 == 0:
            width //= 2
            halves = (indices(range(width)), indices(range(width, 2 * width)))
            vector = builder.fadd(*(builder.shuffle_vector(vector, vector, half) for half in halves))
        result = builder.extract_element(vector, INDEX(0))
        for i in range(1, width):
            result = builder.fadd(result, builder.extract_element(vector, INDEX(i)))
        return result

    return lanes.dtype(lanes), generate


def _fused(negative: bool) -> Callable:
    @intrinsic
    def combine(context, base, left, right):
        def generate(target, builder, signature, values):
            addend, factor, other = values
            return fuse(builder, addend, builder.fneg(factor) if negative else factor, other)

        return base(base, left, right), generate

    return combine


# base + left * right and base - left * right, with one rounding where the processor can.
plus, minus = _fused(negative=False), _fused(negative=True)


def _shuffle(choose: Callable[[int], Iterable[int]]) -> Callable:
    @intrinsic
    def shuffle(context, first, second):
        def generate(target, builder, signature, values):
            return builder.shuffle_vector(*values, indices(choose(first.width)))

        return first(first, second), generate

    return shuffle


# Of two neighbouring lanes: what has an even place, what has an odd one; and the two lanes back from these.
evens = _shuffle(lambda width: range(0, 2 * width, 2))
odds = _shuffle(lambda width: range(1, 2 * width, 2))
lower = _shuffle(lambda width: [i // 2 + i % 2 * width for i in range(width)])
upper = _shuffle(lambda width: [i // 2 + i % 2 * width for i in range(width, 2 * width)])
# Of lanes, given twice: each number moves one place down or up, and the last one around.
down = _shuffle(lambda width: [(i + 1) % width for i in range(width)])
up = _shuffle(lambda width: [(i - 1) % width for i in range(width)])


def _arithmetic(symbol: Callable, instruction: str) -> None:
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
