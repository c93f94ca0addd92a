"""Lanes below each other, a small matrix, as one value of a kernel: it stays in registers as far as there are any.

How many rows it has is part of the value's type, as with lanes, so the loops over rows are unrolled. Vectors with a number
for each row are read from memory.
"""

from collections.abc import Callable

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from mingru.ops.cpu.lanes import INDEX, Lanes, fuse, indices, repeat

# A sum over rows runs in as many strands, so that it needn't wait for each of its additions.
STRANDS = 4


class Rows(types.Type):
    """The type of `height` lanes of one kind."""

    def __init__(self, lanes: Lanes, height: int):
        self.lanes, self.height = lanes, height
        super().__init__(name=f"Rows({lanes}, {height})")


@register_model(Rows)
class _RowsModel(models.PrimitiveModel):
    def __init__(self, manager, rows):
        super().__init__(manager, rows, ir.ArrayType(manager[rows.lanes].get_value_type(), rows.height))


def _row_of(builder, rows, i: int):
    return builder.extract_value(rows, i)


def _from_rows(builder, kind, made: list):
    result = ir.Constant(kind, ir.Undefined)
    for i, row in enumerate(made):
        result = builder.insert_value(result, row, i)
    return result


def _row_pointer(builder, pointer, pitch, i: int, kind):
    at = builder.gep(pointer, [builder.mul(pitch, ir.Constant(pitch.type, i))])
    return builder.bitcast(at, kind.as_pointer())


def _weight(builder, vector, i: int, kind):
    """The i-th number of a vector in memory, everywhere."""
    return repeat(builder, builder.load(builder.gep(vector, [INDEX(i)])), kind)


@intrinsic
def load_rows(context, pointer, pitch, kind, height):
    """As many rows as the tuple `height` is long, each `pitch` numbers after the one above, of lanes like `kind`."""

    def generate(target, builder, signature, values):
        whole = target.get_value_type(signature.return_type)
        places = [_row_pointer(builder, *values[:2], i, whole.element) for i in range(whole.count)]
        return _from_rows(builder, whole, [builder.load(place, align=kind.dtype.bitwidth // 8) for place in places])

    return Rows(kind, height.count)(pointer, pitch, kind, height), generate


@intrinsic
def store_rows(context, pointer, pitch, rows):
    """Put each row `pitch` numbers after the one above."""

    def generate(target, builder, signature, values):
        for i in range(rows.height):
            row = _row_of(builder, values[2], i)
            builder.store(row, _row_pointer(builder, *values[:2], i, row.type), align=rows.lanes.dtype.bitwidth // 8)
        return target.get_dummy_value()

    return types.void(pointer, pitch, rows), generate


def _sum(builder, terms: list):
    while len(terms) > 1:
        terms = [builder.fadd(*terms[i : i + 2]) if i + 1 < len(terms) else terms[i] for i in range(0, len(terms), 2)]
    return terms[0]


@intrinsic
def product(context, vector, rows):
    """vector^T rows, the sum of the rows weighted with the numbers of a vector: lanes."""

    def generate(target, builder, signature, values):
        strands = []
        for i in range(rows.height):
            row = _row_of(builder, values[1], i)
            weight = _weight(builder, values[0], i, row.type)
            if i < STRANDS:
                strands.append(builder.fmul(weight, row))
            else:
                strands[i % STRANDS] = fuse(builder, strands[i % STRANDS], weight, row)
        return _sum(builder, strands)

    return rows.lanes(vector, rows), generate


@intrinsic
def add_outer(context, rows, vector, lanes):
    """rows + vector lanes^T."""

    def generate(target, builder, signature, values):
        made = []
        for i in range(rows.height):
            weight = _weight(builder, values[1], i, values[2].type)
            made.append(fuse(builder, _row_of(builder, values[0], i), weight, values[2]))
        return _from_rows(builder, values[0].type, made)

    return rows(rows, vector, lanes), generate


@intrinsic
def scaled(context, rows, lanes):
    """Each row times the lanes."""

    def generate(target, builder, signature, values):
        made = [builder.fmul(_row_of(builder, values[0], i), values[1]) for i in range(rows.height)]
        return _from_rows(builder, values[0].type, made)

    return rows(rows, lanes), generate


@intrinsic
def overlap(context, rows, others):
    """The sum over rows of the products of two matrices' entries, in each column: lanes."""

    def generate(target, builder, signature, values):
        strands = []
        for i in range(rows.height):
            row, other = (_row_of(builder, value, i) for value in values)
            if i < STRANDS:
                strands.append(builder.fmul(row, other))
            else:
                strands[i % STRANDS] = fuse(builder, strands[i % STRANDS], row, other)
        return _sum(builder, strands)

    return rows.lanes(rows, others), generate


def _fold(builder, row: Callable[[int], ir.Value], width: int, first: int = 0, distance: int = 1) -> ir.Value:
    """Lanes with the total of the i-th row in place i, for as many rows as there are lanes.

    Two values become one: a lane in whose place the bit `distance` is 0 goes on with the first, else with the second, and
    takes in the lane `distance` away. Every total adds halves, then quarters, and so on. A row is made when it is needed.
    """
    if distance == width:
        return row(first)
    pair = [_fold(builder, row, width, at, 2 * distance) for at in (first, first + distance)]
    own = [i if i & distance == 0 else i + width for i in range(width)]
    return builder.fadd(*(builder.shuffle_vector(*pair, indices(chosen)) for chosen in (own, [i ^ distance for i in own])))


def _side_by_side(builder, row: Callable[[int], ir.Value], height: int, whole: ir.ArrayType) -> ir.Value:
    width, nothing = whole.element.count, ir.Constant(whole.element, None)
    groups = [_fold(builder, lambda i, at=at: row(at + i) if at + i < height else nothing, width) for at in range(0, height, width)]
    return _from_rows(builder, whole, groups)


def _totals_type(rows: Rows) -> Rows:
    return Rows(rows.lanes, -(-rows.height // rows.lanes.width))


@intrinsic
def totals(context, rows, lanes):
    """rows lanes, the total of each row's products, side by side in one row of lanes or several, filled up with zeros."""

    def generate(target, builder, signature, values):
        def row(i):
            return builder.fmul(_row_of(builder, values[0], i), values[1])

        return _side_by_side(builder, row, rows.height, target.get_value_type(signature.return_type))

    return _totals_type(rows)(rows, lanes), generate


@intrinsic
def totals_of_difference(context, rows, lanes, others, factors):
    """rows lanes - others factors, as `totals` gives them."""

    def generate(target, builder, signature, values):
        negative = builder.fneg(values[3])

        def row(i):
            own, other = (_row_of(builder, values[at], i) for at in (0, 2))
            return fuse(builder, builder.fmul(own, values[1]), other, negative)

        return _side_by_side(builder, row, rows.height, target.get_value_type(signature.return_type))

    return _totals_type(rows)(rows, lanes, others, factors), generate
