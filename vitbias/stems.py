"""A convolutional stem as an interface: what a kernel k at stride S lets through of a whole picture.

Notation: picture H x W px with C channels, S | H and S | W; kernel side k [px], stride S [px], d values of
a token (``embed``); grid H/S x W/S, N tokens.

    token[i, j] = sum over a, b < k of weight[:, a, b, :] · picture[S·i + a - p, S·j + b - p, :]

Convention: the picture wraps round (``"circular"``, p = 0: an offset would only move it), or zeros stand
around it (``padding=p``), so border tokens meet fewer pixels. Weights are (d, k, k, C).

On the torus the matrix falls apart by frequency: the weights, cut into S x S cells, have one Fourier sum
for each of the N frequencies, the symbol, d x S²C. The rank of the whole is the sum of their ranks.
Frequencies (f, g) and (u·f, u·g), u a unit, are exchanged by an automorphism of the roots of unity, so their
symbols have one rank over the rationals; one of them is computed for all. Modulo a prime that is 1 modulo
lcm(H/S, W/S) the roots of unity are integers, and every rank is exact there: never more than the true one.

Floats decide nothing here: zero-padded matrices can be ill-conditioned exponentially in the side.

Source: R. M. Gray, Toeplitz and Circulant Matrices (2006), for the decomposition by frequency.
"""

from collections.abc import Iterator
from math import gcd, lcm
from typing import Any

import numpy as np

from vitbias.arrays import Array, as_array, require_alike, require_integers
from vitbias.errors import (
    GeometryError,
    Literal,
    ShapeError,
    describe,
    require_choice,
    require_size,
)
from vitbias.formula import Size, as_size, exact_quotient, is_symbolic, minimum
from vitbias.rank import RankReport, integer_rows

__all__ = ["frequency_classes", "stem_matrix", "stem_nullity", "stem_rank", "stem_symbols"]

AXES = "embed kernel kernel channels"
PADDINGS = ("circular",)
MOST_ENTRIES = 2**24
MOST_TOKENS = 2**16


def stem_nullity(
    height: Size,
    width: Size,
    stride: Size,
    channels: Size,
    kernel: Size,
    embed: Size,
    *,
    padding: int | str = "circular",
) -> Any:
    """(HW/S²)(S²C - min(d, min(k, S)²C)), the nullity for almost all weights; none has a smaller one.

    With zeros around the picture the same value holds where p + S <= k and the grid is H/S x W/S; other
    paddings are refused. With symbols among k, S and p this stays a hypothesis of the derivation.

    >>> stem_nullity(224, 224, 16, 3, 16, 192), stem_nullity(224, 224, 8, 3, 16, 192)
    (112896, 0)

    Raises
    ------
    GeometryError : a size that is neither an integer >= 1 nor a symbol; a stride that does not divide the
        sides; a padding that the formula does not cover
    UnknownNameError : an unknown padding
    """
    rows, columns = (
        exact_quotient(name, as_size(name, side), stride)
        for name, side in (("height", height), ("width", width))
    )
    values = as_size("stride", stride) ** 2 * as_size("channels", channels)
    used = minimum(as_size("kernel", kernel), stride) ** 2 * channels
    if isinstance(padding, str):
        require_choice("padding", padding, PADDINGS)
    else:
        _require_covered(as_size("padding", padding, minimum=0), kernel, stride)
    return rows * columns * (values - minimum(as_size("embed", embed), used))


def stem_matrix(
    weight: Any, height: int, width: int, stride: int, *, padding: int | str = "circular"
) -> Array:
    """The stem as one matrix, (N·d, H·W·C), rows by token and then by value; for small pictures.

    Fractions for weights without floats, float64 otherwise.

    Parameters
    ----------
    weight : (d, k, k, C) integers, fractions or floats
    padding : ``"circular"``, or the number of zeros on each side [px]

    Raises
    ------
    GeometryError : a stride that does not divide the sides (circular), a kernel that does not fit, or more
        than 2²⁴ entries
    ShapeError, ValuesError, UnknownNameError
    """
    weight = _weight(weight)
    embed, kernel, _, channels = weight.shape
    sides = [require_size("height", height), require_size("width", width)]
    stride = require_size("stride", stride)
    if isinstance(padding, str):
        require_choice("padding", padding, PADDINGS)
        before = 0
        grid = _grid(sides[0], sides[1], stride)
    else:
        before = require_size("padding", padding, minimum=0)
        if kernel > min(sides) + 2 * before:
            expected = f"at most {describe(min(sides) + 2 * before)}, the padded side"
            raise GeometryError("kernel", expected=expected, got=kernel)
        rows, columns = ((side + 2 * before - kernel) // stride + 1 for side in sides)
        grid = (rows, columns)
    shape = (*grid, embed, *sides, channels)
    _require_few("matrix", *shape)
    matrix = np.zeros(shape, dtype=weight.dtype)
    for a in range(kernel):
        for b in range(kernel):
            lines = [
                np.arange(n) * stride + offset - before
                for n, offset in zip(grid, (a, b), strict=True)
            ]
            if isinstance(padding, str):
                lines = [line % side for line, side in zip(lines, sides, strict=True)]
            inside = [
                np.flatnonzero((line >= 0) & (line < side))
                for line, side in zip(lines, sides, strict=True)
            ]
            i, j = inside[0][:, None], inside[1][None, :]
            matrix[i, j, :, lines[0][i], lines[1][j], :] += weight[:, a, b, :]
    return matrix.reshape(grid[0] * grid[1] * embed, -1)


def frequency_classes(rows: int, columns: int) -> tuple[Array, Array]:
    """One frequency of each class, (classes, 2), and how many frequencies the class has.

    (f, g) and (u·f mod rows, u·g mod columns) belong together for every unit u modulo lcm(rows, columns).

    >>> len(frequency_classes(28, 28)[0])
    90

    Raises
    ------
    GeometryError : a size that is not an integer >= 1, or more than 2¹⁶ frequencies
    """
    rows, columns = require_size("rows", rows), require_size("columns", columns)
    if rows * columns > MOST_TOKENS:
        expected = f"at most {MOST_TOKENS:,} frequencies"
        raise GeometryError("frequencies", expected=expected, got=rows * columns)
    f, g = np.divmod(np.arange(rows * columns), columns)
    order = lcm(rows, columns)
    least, group = np.arange(rows * columns), {1}
    for unit in range(2, order):
        if gcd(unit, order) > 1 or unit in group:
            continue
        powers = [1]
        while (power := powers[-1] * unit % order) not in group:
            powers.append(power)
        group = {power * known % order for power in powers for known in group}
        turned = unit * f % rows * columns + unit * g % columns
        for _ in range(len(powers).bit_length()):  # by doubling: 1, 2, 4, … powers of the unit
            least, turned = np.minimum(least, least[turned]), turned[turned]
    first, counts = np.unique(least, return_counts=True)
    return np.stack([f[first], g[first]], axis=1), counts


def stem_symbols(
    weight: Any, height: int, width: int, stride: int, prime: int, frequencies: Any = None
) -> Array:
    """The block of each frequency modulo a prime, (frequencies, d, S²C) int64; columns as a raw patch.

    symbol(f, g) = sum over m, n of cell[m, n] · z^(f·m·L/rows + g·n·L/columns), z a root of unity of order
    L = lcm(rows, columns), cell[m, n] the S x S weights at S·m, S·n. Each row of weights first takes its
    common denominator, which no rank sees.

    Parameters
    ----------
    weight : (d, k, k, C) integers, fractions or floats (taken as dyadic rationals)
    prime : below 2³¹, 1 modulo L
    frequencies : (count, 2) integers, modulo the grid; all, row by row, if None

    Raises
    ------
    GeometryError : a stride that does not divide the sides; no such prime; more than 2²⁴ entries
    ShapeError, ValuesError
    """
    rows, columns = _grid(height, width, stride)
    cells = _cells(weight, stride)
    if frequencies is None:
        frequencies = np.stack(np.divmod(np.arange(rows * columns), columns), axis=1)
    chosen = require_integers("frequencies", frequencies, "count 2") % [rows, columns]
    _require_few("symbols", len(chosen), *cells.shape[2:])
    powers = _roots(prime, lcm(rows, columns))
    return np.stack(list(_symbols(cells, rows, columns, prime, powers, chosen.astype(np.int64))))


def stem_rank(weight: Any, height: int, width: int, stride: int) -> RankReport:
    """Rank over the rationals of the stem on a picture that wraps round, frequency by frequency.

    Certificate ``"modular"`` where one prime reaches the bound N·min(d, min(k, S)²C), and the rank is
    proved; else ``"three primes"``, with both bounds. One class of frequencies after the other, so large
    pictures pass.

    Parameters
    ----------
    weight : (d, k, k, C) integers, fractions or floats (taken as dyadic rationals)

    Raises
    ------
    GeometryError : a stride that does not divide the sides; more than 2¹⁶ tokens
    ShapeError, ValuesError
    """
    from flint import nmod_mat

    rows, columns = _grid(height, width, stride)
    cells = _cells(weight, stride)
    embed, values = cells.shape[2:]
    chosen, counts = frequency_classes(rows, columns)
    kernel, channels = as_array("weight", weight).shape[2:]
    raw = rows * columns * values
    most = raw - stem_nullity(height, width, stride, channels, kernel, embed)
    order = lcm(rows, columns)
    rank, seen, primes = -1, list[int](), _primes(order)
    while rank != most and seen.count(rank) < 3:
        prime = next(primes)
        symbols = _symbols(cells, rows, columns, prime, _roots(prime, order), chosen)
        ranks = [nmod_mat(embed, values, s.ravel().tolist(), prime).rank() for s in symbols]
        seen.append(int(np.dot(ranks, counts)))
        rank = max(seen)
    certificate = "modular" if rank == most else "three primes"
    return RankReport(rank, raw - rank, certificate, rank, most, primes=len(seen))


def _require_covered(padding: Any, kernel: Any, stride: Any) -> None:
    if is_symbolic(padding, kernel, stride):
        return
    # the second: (H + 2p - k) // S + 1 = H/S, whatever H
    if padding + stride > kernel or not 0 <= 2 * padding - kernel + stride < stride:
        expected = "padding + stride <= kernel and one token for each stride"
        sizes = [describe(size) for size in (padding, kernel, stride)]
        got = Literal("{} at kernel {}, stride {}".format(*sizes))
        raise GeometryError("padding", expected=expected, got=got)


def _weight(weight: Any) -> Array:
    (checked,) = require_alike(("weight", weight, AXES))
    if checked.shape[1] != checked.shape[2]:
        got = Literal(f"shape {checked.shape}")
        raise ShapeError("weight", expected="a square kernel (d, k, k, C)", got=got)
    return checked


def _grid(height: int, width: int, stride: int) -> tuple[int, int]:
    stride = require_size("stride", stride)
    sides = (("height", height), ("width", width))
    rows, columns = (exact_quotient(name, require_size(name, side), stride) for name, side in sides)
    if rows * columns > MOST_TOKENS:
        raise GeometryError("tokens", expected=f"at most {MOST_TOKENS:,}", got=rows * columns)
    return rows, columns


def _cells(weight: Any, stride: int) -> Array:
    """Weights in S x S cells, (m, n, d, S²C) Python integers; the last cells are filled with zeros."""
    embed, kernel, _, channels = _weight(weight).shape
    flat = as_array("weight", weight).reshape(embed, -1)
    whole = integer_rows(flat).reshape(embed, kernel, kernel, channels)
    count = -(-kernel // stride)
    _require_few("cells", embed, (count * stride) ** 2, channels)
    padded = np.zeros((embed, count * stride, count * stride, channels), dtype=object)
    padded[:, :kernel, :kernel] = whole
    split = padded.reshape(embed, count, stride, count, stride, channels)
    return split.transpose(1, 3, 0, 2, 4, 5).reshape(count, count, embed, -1)


def _symbols(
    cells: Array, rows: int, columns: int, prime: int, powers: Array, frequencies: Array
) -> Iterator[Array]:
    residues = (cells % prime).astype(np.int64)
    order, count = len(powers), len(cells)
    for f, g in frequencies.tolist():
        total = np.zeros(cells.shape[2:], dtype=np.int64)
        for m in range(count):
            for n in range(count):
                turn = f * m * (order // rows) + g * n * (order // columns)
                # residues below 2^31: a product and a sum stay inside int64
                total = (total + residues[m, n] * powers[turn % order]) % prime
        yield total


def _primes(order: int) -> Iterator[int]:
    """Primes below 2^31 that are 1 modulo ``order``, from the largest."""
    from flint import fmpz

    largest = (2**31 - 2) // order * order + 1
    return (n for n in range(largest, 2, -order) if fmpz(n).is_prime())


def _roots(prime: int, order: int) -> Array:
    """The powers of a root of unity of exactly this order modulo the prime."""
    from flint import fmpz

    prime = require_size("prime", prime, minimum=2)
    if prime >= 2**31 or not fmpz(prime).is_prime() or (prime - 1) % order:
        expected = f"a prime below 2**31 that is 1 modulo {order}"
        raise GeometryError("prime", expected=expected, got=prime)
    base, powers = 0, list[int]()
    while len(powers) != order:
        base += 1
        root, powers = pow(base, (prime - 1) // order, prime), [1]
        while (following := powers[-1] * root % prime) != 1:
            powers.append(following)
    return np.array(powers, dtype=np.int64)


def _require_few(field: str, *lengths: int) -> None:
    entries = 1
    for length in lengths:
        entries *= length
    if entries > MOST_ENTRIES:
        raise GeometryError(field, expected=f"at most {MOST_ENTRIES:,} entries", got=entries)
