"""Tables by loops, indices by their definition, resizing against released code and by another route."""

from fractions import Fraction
from math import cos, sin
from pathlib import Path

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from vitbias.errors import GeometryError, ShapeError, UnknownNameError, ValuesError
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
from vitbias.resizing import METHODS, resize_operator, resize_table

RECORDED = np.load(Path(__file__).parent / "data" / "resized_positions.npz")
VIT, HALF, DEIT = "align-corners linear", "half-pixel linear", "half-pixel cubic"
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


CODE = {
    "torch64_bicubic_aa0": "half-pixel cubic",
    "torch64_bicubic_aa1": "antialiased cubic",
    "torch64_bilinear_aa0": "half-pixel linear",
    "torch64_bilinear_aa1": "antialiased linear",
    "torch64_bicubic_alignTrue": "align-corners cubic",
    "hfvit": "half-pixel cubic",
    "hfdinov2reg": "antialiased cubic",
    "timm_vit_dynamic": "antialiased cubic",
}


HATS = {"half-pixel linear", "antialiased linear"}


@pytest.mark.parametrize("name", CODE)
@pytest.mark.parametrize(("old", "new"), [(4, 6), (14, 24), (14, 7)])
def test_resizing_as_released_code_does(old, new, name):
    table = RECORDED[f"{old} to {new} in"].astype(float)
    wanted = RECORDED[f"{old} to {new} {name}"]
    resized = resize_table(table, old, new, CODE[name], kept=1)
    grid = name.startswith("torch64")
    error = abs(resized[1:] - wanted if grid else resized - wanted).max()
    assert error < (2e-14 if grid else 1e-5)
    others = [
        abs(resize_table(table, old, new, method, kept=1)[1:] - wanted[0 if grid else 1 :]).max()
        for method in METHODS
        # upwards, antialiasing changes the cubic only: the hat keeps its width
        if method != CODE[name] and not (old < new and {method, CODE[name]} == HATS)
    ]
    assert min(others) > 1e-3


@given(SIDES, SIDES, st.integers(0, 2**32))
def test_linear_with_corners_is_interpolation(old, new, seed):
    values = np.random.default_rng(seed).normal(size=old)
    at = np.linspace(0, old - 1, new) if new > 1 else [0]
    wanted = np.interp(at, np.arange(old), values)
    assert np.allclose(resize_operator(old, new, VIT).astype(float) @ values, wanted, atol=1e-14)


@given(SIDES, SIDES, st.sampled_from(METHODS))
def test_what_every_operator_has(old, new, method):
    operator = resize_operator(old, new, method)
    assert operator.shape == (new, old)
    assert all(type(entry) is Fraction for entry in operator.flat)
    assert all(row.sum() == 1 for row in operator)
    if (old, new) != (old, 1) or not method.startswith("align"):
        assert np.array_equal(operator[::-1, ::-1], operator)  # left and right are alike
    if old == new:
        assert np.array_equal(operator, np.eye(old, dtype=int))
    if "linear" in method:
        assert all(0 <= entry <= 1 for entry in operator.flat)
    assert exact_rank(operator).rank == min(old, new)


@pytest.mark.parametrize("a", [Fraction(-3, 4), Fraction(-1, 2)])
def test_the_cubic_is_the_one_that_sympy_derives(a):
    """Keys' two pieces from their conditions: values, slopes, and the slope a at distance 1."""
    x = sympy.Symbol("x")
    c = sympy.symbols("c0:8")
    near = sum(c[k] * x**k for k in range(4))
    far = sum(c[4 + k] * x**k for k in range(4))
    conditions = [
        *(near.subs(x, 0) - 1, near.diff(x).subs(x, 0), near.subs(x, 1), far.subs(x, 1)),
        *(far.subs(x, 2), far.diff(x).subs(x, 2)),
        *(near.diff(x).subs(x, 1) - a, far.diff(x).subs(x, 1) - a),
    ]
    solution = sympy.solve(conditions, c)
    t = Fraction(1, 4) if a == Fraction(-3, 4) else Fraction(1, 6)
    values = [piece.subs(solution).subs(x, sympy.Rational(d.numerator, d.denominator))
              for piece, d in ((far, 1 + t), (near, t), (near, 1 - t), (far, 2 - t))]  # fmt: skip
    wanted = [Fraction(int(v.p), int(v.q)) for v in values]
    # 4 to 8 slots sit at quarters; 4 to 12 at sixths: 1/6, 1/2 and 5/6 of thirds' halves
    if a == Fraction(-3, 4):
        found = resize_operator(4, 8, DEIT)[3]  # at 1 + 1/4
    else:
        found = resize_operator(4, 12, "antialiased cubic")[4]  # at 1
        wanted = [0, 1, 0, 0]
    assert found.tolist() == wanted


def test_the_sharper_cubic_of_antialiasing():
    found = resize_operator(4, 8, "antialiased cubic")[3]
    t, a = Fraction(1, 4), Fraction(-1, 2)
    far = [a * (d**3 - 5 * d**2 + 8 * d - 4) for d in (1 + t, 2 - t)]
    near = [(a + 2) * d**3 - (a + 3) * d**2 + 1 for d in (t, 1 - t)]
    assert found.tolist() == [far[0], near[0], near[1], far[1]]
    # halved: the hat is two nodes wide and loses its end at the border
    assert resize_operator(4, 2, "antialiased linear")[0].tolist() == [
        Fraction(3, 7),
        Fraction(3, 7),
        Fraction(1, 7),
        0,
    ]


@given(st.integers(1, 5), st.integers(1, 6), st.sampled_from(METHODS), st.integers(0, 3))
def test_a_table_is_resized_along_both_axes(old, new, method, kept):
    rng = np.random.default_rng(old + 10 * new)
    table = rng.integers(-9, 10, (kept + old**2, 2))
    operator = resize_operator(old, new, method)
    wanted = np.kron(operator, operator) @ table[kept:]
    exact = resize_table(table, old, new, method, kept=kept)
    assert np.array_equal(exact, np.concatenate([table[:kept], wanted]))
    assert all(type(entry) is Fraction for entry in exact.flat)
    floats = resize_table(table.astype(float), old, new, method, kept=kept)
    assert floats.dtype == np.float64
    assert np.allclose(floats, exact.astype(float), atol=1e-12)


def test_a_kept_row_keeps_its_bits(rng):
    table = rng.normal(size=(198, 3))
    resized = resize_table(table, 14, 24, DEIT, kept=2)
    assert resized.shape == (578, 3)
    assert np.array_equal(resized[:2], table[:2])


def spectral(method, old, new):
    up = resize_operator(old, new, method).astype(float)
    down = resize_operator(new, old, method).astype(float)
    return np.linalg.norm(down @ up - np.eye(old), 2)


@pytest.mark.parametrize(("method", "wanted"), [(VIT, 0.4432), (HALF, 0.4379), (DEIT, 0.0845)])
def test_round_trips_from_fourteen_to_twenty_four(method, wanted):
    assert abs(spectral(method, 14, 24) - wanted) < 5e-5


@pytest.mark.parametrize("method", METHODS[:4])
def test_which_round_trips_lose_nothing(method):
    """Exact for all grids of 3 to 6 slots and refinements up to 18."""
    for old in range(3, 7):
        for new in range(old, 19):
            there = resize_operator(old, new, method)
            back = resize_operator(new, old, method)
            lossless = np.array_equal(back @ there, np.eye(old, dtype=int))
            if method.startswith("align"):
                wanted = (new - 1) % (old - 1) == 0
            else:
                wanted = new % old == 0 and new // old % 2 == 1
            assert lossless == wanted, (old, new)


@pytest.mark.parametrize("method", METHODS)
def test_published_sizes_have_full_rank(method):
    for new in (7, 16, 24, 27, 32, 42):
        assert exact_rank(resize_operator(14, new, method)).rank == min(14, new)


TABLE = np.ones((17, 2))


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: resize_operator(0, 3, VIT), GeometryError, "old: expected an integer >= 1, got 0"),
        (lambda: resize_operator(3, -1, VIT), GeometryError, "new: expected an integer >= 1"),
        (lambda: resize_operator(3, 1025, VIT), GeometryError, "new: expected at most 1,024 slots"),
        (
            lambda: resize_operator(3, 4, "half-pixel cubik"),
            UnknownNameError,
            "method: expected one of 'align-corners cubic', 'align-corners linear'",
        ),
        (lambda: resize_table(TABLE, 4, 6, "cubic"), UnknownNameError, "method: expected one of"),
        (
            lambda: resize_table(TABLE, 4, 6, DEIT),
            ShapeError,
            "table: expected 0 + 4² rows, got 17 rows; a class token's row is named by kept",
        ),
        (
            lambda: resize_table(TABLE, 3, 6, DEIT, kept=1),
            ShapeError,
            "table: expected 1 + 3² rows, got 17 rows",
        ),
        (
            lambda: resize_table(TABLE[:16], 4, 6, DEIT, kept=1),
            ShapeError,
            "table: expected 1 + 4² rows, got 16 rows",
        ),
        (lambda: resize_table(TABLE, 4, 6, DEIT, kept=-1), GeometryError, "kept: expected an int"),
        (lambda: resize_table(TABLE[0], 1, 6, DEIT), ShapeError, "table: expected axes (tokens, w"),
        (
            lambda: resize_table(TABLE * np.nan, 4, 6, DEIT, kept=1),
            ValuesError,
            "table: expected f",
        ),
        (
            lambda: resize_table([[1.7e308], [-1.7e308], [-1.7e308], [1.7e308]], 2, 5, DEIT),
            ValuesError,
            "table: expected values far from the limit of floats",
        ),
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


def test_exact_tables_of_many_slots_take_the_entries_that_are_not_zero_only(monkeypatch):
    calls = []
    product = np.tensordot
    monkeypatch.setattr(
        np, "tensordot", lambda w, g, n: (calls.append(len(w)), product(w, g, n))[1]
    )
    table = np.arange(128**2)[:, None]
    assert (resize_table(table, 128, 128, "half-pixel cubic") == table).all()
    assert calls == [1] * 256
    calls.clear()
    resize_table(table, 128, 130, "half-pixel cubic")
    assert max(calls) <= 4
    sizes = resize_operator(1024, 1024, "antialiased cubic")
    assert (sizes == np.eye(1024, dtype=int)).all()
