"""Stems: the formula against matrices, frequencies against matrices, and where floats are wrong."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import gcd, lcm

import numpy as np
import pytest
import sympy

from vitbias import stems
from vitbias.errors import GeometryError, ShapeError, UnknownNameError, ValuesError
from vitbias.rank import certified_rank, exact_rank
from vitbias.stems import frequency_classes, stem_matrix, stem_nullity, stem_rank, stem_symbols

SIZES = [
    (stride, kernel, channels, embed)
    for stride, kernel, channels, embed in product((1, 2, 3), (1, 2, 3, 4, 5), (1, 2), (1, 3, 7))
]


def slide(weight, picture, stride, padding=0, wrap=True):
    """The definition: one window after the other."""
    kernel = weight.shape[1]
    around = [(padding, padding)] * 2 + [(0, 0)]
    picture = picture if wrap else np.pad(picture, around)
    height, width, _ = picture.shape
    last = [side - 1 if wrap else side - kernel for side in (height, width)]
    tokens = []
    for i in range(0, last[0] + 1, stride):
        for j in range(0, last[1] + 1, stride):
            for output in weight:
                total = 0
                for a, b, c in np.ndindex(output.shape):
                    total += output[a, b, c] * picture[(i + a) % height, (j + b) % width, c]
                tokens.append(total)
    return tokens


@pytest.mark.parametrize(("padding", "wrap"), [("circular", True), (0, False), (2, False)])
def test_the_matrix_is_the_sliding_window(rng, padding, wrap):
    weight = rng.integers(-9, 10, (2, 3, 3, 2))
    picture = rng.integers(-9, 10, (4, 6, 2))
    matrix = stem_matrix(weight, 4, 6, 2, padding=padding)
    expected = slide(weight, picture, 2, 0 if wrap else padding, wrap)
    assert (matrix @ picture.ravel()).tolist() == expected


def test_a_kernel_larger_than_the_torus_wraps_onto_itself(rng):
    weight, picture = rng.integers(-9, 10, (2, 5, 5, 1)), rng.integers(-9, 10, (2, 4, 1))
    assert (stem_matrix(weight, 2, 4, 2) @ picture.ravel()).tolist() == slide(weight, picture, 2)


@pytest.mark.parametrize(("stride", "kernel", "channels", "embed"), SIZES)
def test_formula_matrix_and_frequencies_agree(rng, stride, kernel, channels, embed):
    weight = rng.integers(-9, 10, (embed, kernel, kernel, channels))
    height, width = 2 * stride, 3 * stride
    whole = exact_rank(stem_matrix(weight, height, width, stride))
    report = stem_rank(weight, height, width, stride)
    assert report.nullity == whole.nullity and report.rank == whole.rank
    assert report.proved and report.certificate == "modular"
    assert whole.nullity == stem_nullity(height, width, stride, channels, kernel, embed)


@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "side"),
    [(7, 4, 3, 8), (3, 2, 1, 6), (3, 1, 1, 5), (5, 5, 0, 10), (5, 2, 2, 6), (5, 2, 1, 4)],
)
@pytest.mark.parametrize("embed", [1, 5, 13])
def test_zero_padding_changes_nothing_where_each_stride_fits(
    rng, kernel, stride, padding, side, embed
):
    if kernel == 5 and stride == 2 and padding == 1:
        with pytest.raises(GeometryError, match="padding"):  # one token too few
            stem_nullity(side, side, stride, 1, kernel, embed, padding=padding)
        return
    weight = rng.integers(-9, 10, (embed, kernel, kernel, 1))
    found = exact_rank(stem_matrix(weight, side, side, stride, padding=padding))
    assert found.nullity == stem_nullity(side, side, stride, 1, kernel, embed, padding=padding)


def test_padding_that_leaves_the_last_pixels_out_is_refused_and_does_lose(rng):
    weight = rng.integers(-9, 10, (9, 3, 3, 1))
    assert exact_rank(stem_matrix(weight, 9, 9, 3, padding=1)).nullity > 0
    assert stem_nullity(9, 9, 3, 1, 3, 9) == 0
    with pytest.raises(GeometryError, match=r"padding .*<= kernel|padding: expected padding"):
        stem_nullity(9, 9, 3, 1, 3, 9, padding=1)


def test_the_patch_projection_is_the_case_of_equal_kernel_and_stride(rng):
    weight = rng.integers(-9, 10, (2, 3)) @ rng.integers(-9, 10, (3, 27))
    weight[1] = 2 * weight[0]  # rank 1
    stem = weight.reshape(2, 3, 3, 3)
    assert exact_rank(stem_matrix(stem, 6, 9, 3)).nullity == 6 * (27 - 1)
    report = stem_rank(stem, 6, 9, 3)
    assert (report.rank, report.at_least, report.at_most) == (6, 6, 12)
    assert report.certificate == "three primes" and report.primes == 3 and not report.proved


def test_symbols_have_the_rank_of_the_matrix_modulo_the_prime(rng):
    from flint import nmod_mat

    for prime in (7, 13, next(stems._primes(6))):
        weight = rng.integers(-9, 10, (3, 4, 4, 1))
        blocks = stem_symbols(weight, 4, 6, 2, prime)
        assert blocks.shape == (6, 3, 4)
        ranks = [nmod_mat(3, 4, block.ravel().tolist(), prime).rank() for block in blocks]
        whole = stem_matrix(weight, 4, 6, 2)
        entries = [int(entry) % prime for entry in whole.ravel()]
        assert sum(ranks) == nmod_mat(*whole.shape, entries, prime).rank()


def test_symbols_are_the_fourier_sums_of_the_cells(rng):
    weight = rng.integers(-9, 10, (2, 5, 5, 1))
    prime, stride = 13, 2  # 1 modulo 6
    root = next(
        r
        for r in range(2, prime)
        if len({pow(r, n, prime) for n in range(6)}) == 6 and pow(r, 6, prime) == 1
    )
    found = stem_symbols(weight, 4, 6, stride, prime, [[1, 2], [0, 0], [3, -1]])
    padded = np.pad(weight, [(0, 0), (0, 1), (0, 1), (0, 0)])
    options = []
    for generator in (root, pow(root, 5, prime)):  # either root of order 6 is allowed
        expected = np.zeros_like(found)
        for index, (f, g) in enumerate([(1, 2), (0, 0), (3, -1)]):
            for m, n, u, v in product(range(3), range(3), range(2), range(2)):
                turn = pow(generator, (f * m * 3 + g * n * 2) % 6, prime)
                expected[index, :, 2 * u + v] += padded[:, 2 * m + u, 2 * n + v, 0] * turn
        options.append((expected % prime == found).all())
    assert any(options)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 3), (5, 5), (4, 6), (7, 14)])
def test_classes_of_frequencies_are_orbits_of_the_units(rows, columns):
    order = np.lcm(rows, columns)
    units = [u for u in range(order) if gcd(u, int(order)) == 1]
    orbits = {
        frozenset((u * f % rows, u * g % columns) for u in units)
        for f, g in product(range(rows), range(columns))
    }
    chosen, counts = frequency_classes(rows, columns)
    expected = Counter(len(orbit) for orbit in orbits)
    assert Counter(counts.tolist()) == expected
    assert counts.sum() == rows * columns
    for pair, count in zip(chosen.tolist(), counts.tolist(), strict=True):
        assert len(next(orbit for orbit in orbits if tuple(pair) in orbit)) == count


def test_ranks_are_constant_on_classes_over_the_rationals(rng):
    """A stem that loses the frequencies of one class and no others."""
    weight = np.zeros((1, 3, 3, 1), dtype=int)
    weight[0, :, 0, 0] = 1  # 1 + z + z² is 0 at the two primitive cube roots of unity
    report = stem_rank(weight, 3, 5, 1)
    assert report.rank == exact_rank(stem_matrix(weight, 3, 5, 1)).rank == 5
    assert (report.at_least, report.at_most) == (5, 15)


def test_an_unlucky_prime_is_followed_by_another(monkeypatch):
    first = next(stems._primes(2))
    weight = np.full((1, 1, 1, 1), first)
    report = stem_rank(weight, 2, 2, 1)
    assert report.proved and report.rank == 4 and report.primes == 2


def test_deit_tiny_at_full_size(rng):
    assert stem_nullity(224, 224, 16, 3, 16, 192) == 196 * 576 == 112896
    assert stem_nullity(224, 224, 8, 3, 16, 192) == 0
    weight = rng.normal(size=(192, 16, 16, 3)).astype(np.float32)
    report = stem_rank(weight, 56, 56, 8)
    assert report.proved and (report.rank, report.nullity) == (56 * 56 * 3, 0)


def test_symbols_carry_the_formula():
    height, width, stride, channels, kernel, embed = sympy.symbols("H W S C k d", positive=True)
    formula = stem_nullity(height, width, stride, channels, kernel, embed, padding=1)
    sizes = {height: 14, width: 21, stride: 7, channels: 3, kernel: 5, embed: 11}
    assert formula.subs(sizes) == stem_nullity(14, 21, 7, 3, 5, 11) == 6 * (147 - 11)
    wide = {**sizes, embed: 1009}
    assert formula.subs(wide) == stem_nullity(14, 21, 7, 3, 5, 1009) == 6 * (147 - 75)


def test_singular_values_are_wrong_where_the_padding_makes_them_decay():
    weight = np.zeros((1, 3, 3, 1), dtype=int)
    weight[0, 1, 1, 0], weight[0, 1, 0, 0] = 1, 9
    matrix = stem_matrix(weight, 17, 17, 1, padding=1)
    assert certified_rank(matrix).rank == 289
    assert np.linalg.matrix_rank(matrix.astype(float)) < 289
    around = stem_matrix(weight, 17, 17, 1)
    assert np.linalg.matrix_rank(around.astype(float)) == 289


def test_kinds_of_weights(rng):
    weight = rng.integers(-9, 10, (3, 2, 2, 1))
    halves = np.array([Fraction(int(w), 2) for w in weight.ravel()], dtype=object)
    for other in (weight.tolist(), weight / 8, halves.reshape(weight.shape)):
        assert stem_rank(other, 4, 6, 2) == stem_rank(weight, 4, 6, 2)
    assert stem_matrix(weight / 8, 4, 6, 2).dtype == float
    assert (stem_matrix(weight, 4, 6, 2) == 8 * stem_matrix(weight / 8, 4, 6, 2)).all()


GOOD = np.ones((2, 2, 2, 1), dtype=int)


@pytest.mark.parametrize(
    ("call", "error", "field"),
    [
        (lambda: stem_nullity(7, 4, 2, 1, 2, 1), GeometryError, "height"),
        (lambda: stem_nullity(4, 7, 2, 1, 2, 1), GeometryError, "width"),
        (lambda: stem_nullity(4, 4, 2, 0, 2, 1), GeometryError, "channels"),
        (lambda: stem_nullity(4, 4, 2, 1, 2, 1, padding="zero"), UnknownNameError, "padding"),
        (lambda: stem_nullity(4, 4, 2, 1, 2, 1, padding=-1), GeometryError, "padding"),
        (lambda: stem_nullity(4, 4, 2, 1, 1, 1, padding=0), GeometryError, "padding"),
        (lambda: stem_matrix(np.ones((2, 2, 3, 1)), 6, 6, 2), ShapeError, "weight"),
        (lambda: stem_matrix(GOOD[0], 6, 6, 2), ShapeError, "weight"),
        (lambda: stem_matrix(GOOD * np.nan, 6, 6, 2), ValuesError, "weight"),
        (lambda: stem_matrix(GOOD, 5, 6, 2), GeometryError, "height"),
        (lambda: stem_matrix(GOOD, 1, 6, 2, padding=0), GeometryError, "kernel"),
        (lambda: stem_matrix(GOOD, 1000, 1000, 2), GeometryError, "tokens"),
        (lambda: stem_matrix(GOOD, 200, 200, 2), GeometryError, "matrix"),
        (lambda: stem_matrix(GOOD, 4, 4, 2, padding="same"), UnknownNameError, "padding"),
        (lambda: stem_rank(GOOD, 6, 5, 2), GeometryError, "width"),
        (lambda: stem_rank(GOOD, 2**15, 2**15, 2**14), GeometryError, "cells"),
        (lambda: stem_symbols(GOOD, 6, 6, 2, 5), GeometryError, "prime"),
        (lambda: stem_symbols(GOOD, 6, 6, 2, 25), GeometryError, "prime"),
        (lambda: stem_symbols(GOOD, 6, 6, 2, 2**31 + 11), GeometryError, "prime"),
        (lambda: stem_symbols(GOOD, 6, 6, 2, 7, [[0.5, 1]]), ValuesError, "frequencies"),
        (lambda: stem_symbols(GOOD, 6, 6, 2, 7, [[0, 1, 2]]), ShapeError, "frequencies"),
        (lambda: frequency_classes(257, 257), GeometryError, "frequencies"),
        (lambda: frequency_classes(0, 2), GeometryError, "rows"),
    ],
)
def test_errors(call, error, field):
    with pytest.raises(error, match=f"^{field}"):
        call()


@pytest.mark.parametrize("sizes", [(1, 1), (1, 16), (5, 7), (8, 12), (9, 15), (28, 28)])
def test_classes_are_the_orbits_of_all_units(sizes: tuple[int, int]) -> None:
    rows, columns = sizes
    units = [u for u in range(1, lcm(*sizes) + 1) if gcd(u, lcm(*sizes)) == 1]
    orbits = {
        frozenset((u * f % rows, u * g % columns) for u in units)
        for f in range(rows)
        for g in range(columns)
    }
    found, counts = frequency_classes(rows, columns)
    assert {tuple(pair) for pair in found.tolist()} == {min(orbit) for orbit in orbits}
    assert sorted(counts.tolist()) == sorted(map(len, orbits))


def test_the_largest_grids_have_classes_at_once() -> None:
    assert len(frequency_classes(1, 2**16)[0]) == 17  # one for each divisor
    assert frequency_classes(255, 256)[1].sum() == 255 * 256
