"""Tables by loops, indices by their definition, ranks by elimination."""

from fractions import Fraction
from math import cos, sin

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from vitbias.errors import GeometryError, ShapeError, ValuesError
from vitbias.positions import (
    grid_table,
    learned_table,
    relative_bias,
    relative_index,
    require_origin,
    row_column_rank,
    row_column_sum,
    row_column_table,
    sine_cosine_line,
    sine_cosine_table,
)
from vitbias.rank import exact_rank

SIDES = st.integers(1, 13)


def test_a_learned_table_is_what_its_generator_gives(rng):
    table = learned_table(197, 31, np.random.default_rng(5), scale=0.5)
    assert table.shape == (197, 31)
    assert np.array_equal(table, 0.5 * np.random.default_rng(5).standard_normal((197, 31)))
    assert abs(learned_table(997, 101, rng).std() / 0.02 - 1) < 0.02
    assert not learned_table(3, 2, rng, scale=0).any()


def test_rows_and_columns_against_the_loop():
    rows, columns = np.arange(6).reshape(3, 2), np.arange(20).reshape(5, 4) + 100
    table = row_column_table(rows, columns)
    assert table.shape == (15, 6)
    assert all(
        table[5 * i + j].tolist() == [*rows[i], *columns[j]] for i in range(3) for j in range(5)
    )
    half = np.array([[Fraction(1, 2)]], dtype=object)
    assert row_column_table(half, [[3]])[0].tolist() == [Fraction(1, 2), 3]


def test_a_grid_of_vectors_is_a_table():
    grid = np.arange(30).reshape(3, 5, 2)
    table = grid_table(grid)
    assert table.shape == (15, 2)
    assert all((table[5 * i + j] == grid[i, j]).all() for i in range(3) for j in range(5))
    table[0] = -1
    assert grid[0, 0].tolist() == [0, 1]  # a copy
    assert grid_table([[[Fraction(1, 2)]]]).tolist() == [[Fraction(1, 2)]]


def test_sums_of_rows_and_columns_against_the_loop(rng):
    rows, columns = rng.normal(size=(3, 4)), rng.normal(size=(5, 4))
    table = row_column_sum(rows, columns)
    assert table.shape == (15, 4)
    assert all(
        np.array_equal(table[5 * i + j], rows[i] + columns[j]) for i in range(3) for j in range(5)
    )
    assert row_column_sum(np.uint8([[200]]), np.uint8([[100]])).tolist() == [[300]]
    assert row_column_sum([[Fraction(1, 2)]], [[1]]).tolist() == [[Fraction(3, 2)]]
    assert row_column_sum([[1]], [[0.5]]).tolist() == [[1.5]]


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 9), st.integers(0, 2**32))
def test_ranks_of_row_column_tables(rows, columns, width, seed):
    rng = np.random.default_rng(seed)
    by_row, by_column = (
        rng.integers(-99, 100, (rows, width)),
        rng.integers(-99, 100, (columns, width)),
    )
    bound = row_column_rank(rows, columns, width)
    assert bound == min(width, rows + columns - 1)
    assert exact_rank(row_column_sum(by_row, by_column)).rank == bound
    beside = exact_rank(row_column_table(by_row, by_column)).rank
    halves = min(rows, width) + min(columns, width) - (rows <= width and columns <= width)
    assert beside == halves <= row_column_rank(rows, columns, 2 * width)
    if rows == columns:
        assert beside == row_column_rank(rows, columns, 2 * width)


def test_the_bound_takes_symbols():
    rows, columns, d = sympy.symbols("h w d", positive=True, integer=True)
    bound = row_column_rank(rows, columns, d)
    assert bound.subs({rows: 14, columns: 14, d: 768}) == 27


def test_an_origin_moves_the_rows_of_a_longer_line():
    line = sine_cosine_line(20, 6)
    assert np.array_equal(sine_cosine_line(5, 6, origin=3), line[3:8])
    moved = sine_cosine_table(2, 3, 8, origin=(4, -1))
    down, right = sine_cosine_line(2, 4, origin=4), sine_cosine_line(3, 4, origin=-1)
    assert np.array_equal(moved, np.roll(row_column_table(down, right), 4, axis=1))
    # inner products know offsets only
    here = sine_cosine_table(2, 3, 8)
    assert np.allclose(moved @ moved.T, here @ here.T)
    assert require_origin(np.array([2, -3])) == (2, -3)


@pytest.mark.parametrize(("height", "width", "d"), [(3, 5, 12), (2, 2, 4), (1, 7, 8)])
def test_sines_and_cosines_against_the_loop(height, width, d):
    line, table = sine_cosine_line(7, 6), sine_cosine_table(height, width, d)
    for n in range(7):
        angles = [n * 10_000 ** (-k / 3) for k in range(3)]
        assert np.allclose(line[n], [*map(sin, angles), *map(cos, angles)], rtol=0, atol=1e-14)
    assert table.shape == (height * width, d)
    for i in range(height):
        for j in range(width):
            parts = [f(p * 10_000 ** (-k / (d // 4))) for p in (j, i) for f in (sin, cos)
                     for k in range(d // 4)]  # fmt: skip
            assert np.allclose(table[i * width + j], parts, rtol=0, atol=1e-14)


def test_a_temperature_of_one_has_one_frequency():
    line = sine_cosine_line(5, 8, temperature=1)
    assert np.array_equal(line[:, :4], np.sin(np.arange(5))[:, None].repeat(4, axis=1))


@pytest.mark.parametrize(("height", "width"), [(1, 1), (2, 3), (5, 2), (7, 7), (1, 4)])
def test_the_index_names_each_offset_once(height, width):
    index, torus = relative_index(height, width), relative_index(height, width, torus=True)
    tokens = [(i, j) for i in range(height) for j in range(width)]
    names, rolled = {}, {}
    for a, (i, j) in enumerate(tokens):
        for b, (k, m) in enumerate(tokens):
            names.setdefault((i - k, j - m), set()).add(int(index[a, b]))
            rolled.setdefault(((i - k) % height, (j - m) % width), set()).add(int(torus[a, b]))
    for found, size in ((names, (2 * height - 1) * (2 * width - 1)), (rolled, height * width)):
        assert sorted(n for entry in found.values() for n in entry) == list(range(size))
    # Swin's order: rows slowest, from the most negative offset
    assert [names[key] for key in sorted(names)] == [{n} for n in range(len(names))]


def test_the_bias_reads_its_table(rng):
    table = rng.normal(size=(15, 3))
    bias = relative_bias(table, 2, 3)
    assert bias.shape == (3, 6, 6)
    assert bias[2, 0, 5] == table[0, 2]  # offset (-1, -2)
    assert bias[1, 5, 0] == table[14, 1]
    assert bias[0, 4, 4] == table[7, 0]
    whole = relative_bias(np.arange(6, dtype=np.uint8)[:, None], 2, 3, torus=True)
    assert whole.dtype == np.uint8
    assert whole[0, 0].tolist() == [0, 2, 1, 3, 5, 4]
    exact = relative_bias([[Fraction(1, 3)]], 1, 1)
    assert exact.item() == Fraction(1, 3)


def swin_index(side):
    """The released construction, written with stacked coordinates."""
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij")).reshape(2, -1)
    offset = grid[:, :, None] - grid[:, None, :] + side - 1
    return offset[0] * (2 * side - 1) + offset[1]


@pytest.mark.parametrize("side", [1, 2, 7, 12])
def test_the_index_of_a_square_window(side):
    index = relative_index(side, side)
    assert np.array_equal(index, swin_index(side))
    used = np.bincount(index.ravel())
    wanted = np.outer(*[side - abs(np.arange(1 - side, side))] * 2).ravel()
    assert np.array_equal(used, wanted)
    assert len(used) == (2 * side - 1) ** 2
    assert used.sum() == side**4


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: relative_index(0, 2), GeometryError, "rows: expected an integer >= 1, got 0"),
        (lambda: relative_index(2, 2.0), GeometryError, "columns: expected an integer >= 1"),
        (lambda: relative_index(64, 65), GeometryError, "rows x columns: expected at most 4,096"),
        (
            lambda: relative_bias(np.ones((9, 1)), 2, 2, torus=True),
            ShapeError,
            "table: expected 4 rows, one for each offset, got 9 rows",
        ),
        (lambda: relative_bias(np.ones(9), 2, 2), ShapeError, "table: expected axes (offsets, h"),
        (lambda: sine_cosine_line(3, 5), GeometryError, "width: expected a multiple of 2, got 5"),
        (lambda: sine_cosine_table(3, 3, 6), GeometryError, "width: expected a multiple of 4, got"),
        (
            lambda: sine_cosine_line(3, 4, temperature=0.5),
            ValuesError,
            "temperature: expected a number >= 1, got 0.5",
        ),
        (
            lambda: row_column_table(np.ones(3), np.ones((2, 2))),
            ShapeError,
            "by_row: expected axes",
        ),
        (lambda: grid_table(np.ones((3, 2))), ShapeError, "grid: expected axes (rows, columns, w"),
        (lambda: grid_table(np.full((1, 1, 1), np.nan)), ValuesError, "grid: expected finite"),
        (
            lambda: row_column_sum(np.ones((2, 3)), np.ones((2, 4))),
            ShapeError,
            "by_column: expected width 3, to be summed, got width 4",
        ),
        (
            lambda: row_column_sum([[1.7e308]], [[1.7e308]]),
            ValuesError,
            "by_row + by_column: expected values far from the limit of floats",
        ),
        (lambda: row_column_sum([[np.nan]], [[1.0]]), ValuesError, "by_row: expected finite"),
        (lambda: row_column_rank(0, 3, 4), GeometryError, "rows: expected an integer >= 1"),
        (lambda: sine_cosine_line(3, 4, origin=0.5), GeometryError, "origin: expected an integer"),
        (
            lambda: sine_cosine_table(3, 3, 4, origin=(0, 2**41)),
            GeometryError,
            "origin: expected a place between -2^40 and 2^40",
        ),
        (lambda: require_origin(3), ShapeError, "origin: expected a sequence"),
        (
            lambda: require_origin((1, 2, 3)),
            ShapeError,
            "origin: expected a pair (row, column), got 3",
        ),
        (
            lambda: learned_table(2**20, 2**20, np.random.default_rng(1)),
            GeometryError,
            "tokens x width: expected at most 67,108,864 entries, got 1099511627776",
        ),
        (lambda: learned_table(2, 2, 7), ValuesError, "rng: expected an instance of Generator"),
        (
            lambda: learned_table(2, 2, np.random.default_rng(1), scale=-1),
            ValuesError,
            "scale: expected a number in 0 to 1e+300, got -1",
        ),
    ],
)
def test_what_is_refused(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value).startswith(message)
