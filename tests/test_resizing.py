"""Resizing against released code, by its definition, and by known values."""

from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from vitbias.errors import GeometryError, ShapeError, UnknownNameError, ValuesError
from vitbias.rank import exact_rank
from vitbias.recordings import recorded
from vitbias.resizing import (
    METHODS,
    RELEASES,
    resize_operator,
    resize_table,
    round_trip,
    white_energy,
)

VIT, HALF, DEIT = "align-corners linear", "half-pixel linear", "half-pixel cubic"
SIDES = st.integers(1, 13)
KERNELS = {"bicubic": "cubic", "bilinear": "linear"}
ALIGNMENTS = {"aa0": "half-pixel", "aa1": "antialiased", "alignTrue": "align-corners"}
# recorded calls of whole models, by what they have to be
MODELS = {
    "hfvit": RELEASES["transformers ViT"],
    "hfdeit": RELEASES["transformers DeiT"],
    "hfdinov2": RELEASES["transformers DINOv2"],
    "hfdinov2reg": RELEASES["transformers DINOv2 with registers"],
    "timm_vit_dynamic": RELEASES["timm"],
}


def method_of(call):
    if call in MODELS:
        return MODELS[call]
    _, kernel, alignment = call.split("_")
    return f"{ALIGNMENTS[alignment]} {KERNELS[kernel]}"


def released():
    """(recording, key of the table, old grid, new grid, kept rows, call) for each recorded output."""
    for name in ("resizing", "resizing rectangular"):
        for key in recorded(name).arrays:
            sizes, call = key.split("__")
            if call == "in":
                continue
            before, _, after = sizes.partition("_to_")
            after, _, kept = after.partition("_p")
            grids = [tuple(map(int, grid.split("x"))) for grid in (before, after)]
            yield name, sizes, *grids, int(kept or 1), call


@pytest.mark.parametrize(("name", "sizes", "old", "new", "kept", "call"), [*released()])
def test_resizing_as_released_code_does(name, sizes, old, new, kept, call):
    arrays = recorded(name).arrays
    wanted, table = arrays[f"{sizes}__{call}"], arrays[f"{sizes}__in"].astype(float)
    if call.startswith("op64"):
        down, across = (
            resize_operator(a, b, method_of(call)).astype(float)
            for a, b in zip(old, new, strict=True)
        )
        assert abs(np.kron(down, across) - wanted).max() < 1e-12
        return
    resized = resize_table(table, old, new, method_of(call), kept=kept)
    if len(wanted) < len(resized):  # torch was given the grid alone
        resized = resized[kept:]
    elif kept:
        assert np.array_equal(resized[:kept], wanted[:kept])
    assert resized.shape == wanted.shape
    error = abs(resized - wanted)
    if wanted.dtype == np.float64:
        assert error.max() < 1e-12
    else:  # rounded on the way, mostly in the places of the samples
        assert np.linalg.norm(error) < 1e-6 * np.linalg.norm(wanted)
        assert error.max() < 4e-6


def test_another_method_is_noticed():
    """No method but the recorded one comes near, where they differ at all."""
    found = 0
    for name, sizes, old, new, kept, call in released():
        if name == "resizing rectangular" or old == new or "64" not in call or call[:2] == "op":
            continue
        arrays = recorded(name).arrays
        table, wanted = arrays[f"{sizes}__in"].astype(float), arrays[f"{sizes}__{call}"]
        for method in METHODS:
            # upwards, antialiasing changes the cubic only: the hat keeps its width
            twins = old < new and {method, method_of(call)} == {HALF, "antialiased linear"}
            if method != method_of(call) and not twins:
                other = resize_table(table, old, new, method, kept=kept)[kept:]
                assert abs(other - wanted).max() > 1e-3
                found += 1
    assert found > 50


@given(SIDES, SIDES, SIDES, SIDES, st.sampled_from(METHODS), st.integers(0, 5))
def test_rectangles_and_kept_rows(rows, columns, more, others, method, kept):
    rng = np.random.default_rng(rows + 17 * columns)
    table = rng.normal(size=(kept + rows * columns, 2))
    resized = resize_table(table, (rows, columns), (more, others), method, kept=kept)
    assert np.array_equal(resized[:kept], table[:kept])
    down, across = (
        resize_operator(*sides, method).astype(float) for sides in ((rows, more), (columns, others))
    )
    grid = table[kept:].reshape(rows, columns, 2)
    wanted = np.einsum("ir,jc,rcd->ijd", down, across, grid).reshape(-1, 2)
    assert np.allclose(resized[kept:], wanted, atol=1e-12)


def test_a_square_needs_no_grid(rng):
    table = rng.normal(size=(5 + 49, 3))
    assert np.array_equal(
        resize_table(table, None, 11, DEIT, kept=5), resize_table(table, 7, (11, 11), DEIT, kept=5)
    )


@pytest.mark.parametrize("grid", [[7, 7], np.array([7, 7]), np.int64(7), np.array(7)])
def test_a_grid_in_other_words(grid, rng):
    table = rng.normal(size=(49, 3))
    wanted = resize_table(table, (7, 7), (3, 5), DEIT)
    assert np.array_equal(resize_table(table, grid, (3, 5), DEIT), wanted)


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
    return np.linalg.norm(round_trip(old, new, method).astype(float) - np.eye(old), 2)


@pytest.mark.parametrize(("method", "wanted"), [(VIT, 0.4432), (HALF, 0.4379), (DEIT, 0.0845)])
def test_round_trips_from_fourteen_to_twenty_four(method, wanted):
    assert abs(spectral(method, 14, 24) - wanted) < 5e-5


@pytest.mark.parametrize(
    ("method", "spectral_norm", "frobenius"),
    [(VIT, 0.6884, 0.3760), (HALF, 0.6803, 0.3753), (DEIT, 0.1428, 0.0618)],
)
def test_round_trips_of_a_whole_table(method, spectral_norm, frobenius):
    axis = round_trip(14, 24, method).astype(float)
    both = np.kron(axis, axis) - np.eye(196)
    assert abs(np.linalg.norm(both, 2) - spectral_norm) < 5e-5
    assert abs(np.linalg.norm(both) / 14 - frobenius) < 5e-5


@pytest.mark.parametrize(("method", "wanted"), [(VIT, 0.464), (HALF, 0.480), (DEIT, 0.758)])
def test_energy_of_unrelated_entries(method, wanted, rng):
    energy = white_energy(14, 24, method)
    assert abs(float(energy) ** 2 - wanted) < 5e-4
    tables = rng.normal(size=(196, 4001))
    measured = (resize_table(tables, 14, 24, method) ** 2).mean()
    assert abs(measured / float(energy) ** 2 - 1) < 0.02


def test_energy_of_a_smooth_table():
    """Gaussian correlation of length 4 along both axes keeps nearly all of its mean square."""
    offset = np.subtract.outer(np.arange(14), np.arange(14))
    for method, wanted in ((VIT, 0.9805), (DEIT, 1.0063)):
        operator = resize_operator(14, 24, method).astype(float)
        kernel = np.exp(-(offset**2) / (2 * 4**2))
        kept = np.einsum("jk,kl,jl->j", operator, kernel, operator).mean() ** 2
        assert abs(kept - wanted) < 6e-5


def test_edges_and_slopes():
    """Half-pixel samples beyond the border are clamped to it; the cubic of -3/4 bends a slope."""
    for method, wanted in ((HALF, 5 / 24), (VIT, 0)):
        ends = resize_operator(14, 24, method) @ np.arange(14)
        at = [Fraction((2 * j + 1) * 14 - 24, 48) for j in range(24)]
        if method == VIT:
            at = [Fraction(j * 13, 23) for j in range(24)]
        assert abs(max(abs(a - e) for a, e in zip(at, ends, strict=True)) - wanted) < 1e-12
    operator = resize_operator(14, 24, DEIT) @ np.arange(14)
    inside = [abs(operator[j] - Fraction((2 * j + 1) * 14 - 24, 48)) for j in range(5, 19)]
    assert 0 < max(inside) <= 0.0482
    worst = max(abs((t * (t - 1) * (2 * t - 1)) / 2) for t in np.linspace(0, 1, 100_001))
    assert abs(worst - 0.0481) < 5e-5


@pytest.mark.parametrize("method", METHODS)
def test_which_round_trips_lose_nothing(method):
    """Exact for grids of 2 to 6 slots, smaller and larger ones, up to 18."""
    found = 0
    for old in range(2, 7):
        for new in range(1, 19):
            back = round_trip(old, new, method)
            lossless = np.array_equal(back, np.eye(old, dtype=int))
            if method.startswith("align"):
                wanted = new > 1 and (new - 1) % (old - 1) == 0
            elif method.startswith("half"):
                wanted = new % old == 0 and new // old % 2 == 1
            else:
                wanted = new == old
            assert lossless == wanted, (old, new)
            found += lossless
    assert found >= 5


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
            "table: expected 0 + 4 x 4 rows, got 17 rows; a class token's row is named by kept",
        ),
        (
            lambda: resize_table(TABLE, 3, 6, DEIT, kept=1),
            ShapeError,
            "table: expected 1 + 3 x 3 rows, got 17 rows",
        ),
        (
            lambda: resize_table(TABLE[:16], 4, 6, DEIT, kept=1),
            ShapeError,
            "table: expected 1 + 4 x 4 rows, got 16 rows",
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
        (
            lambda: resize_table(np.ones((198, 2)), None, 24, DEIT, kept=1),
            ShapeError,
            "table: expected 1 + a square number of rows, got 198 rows; name the old grid, or another",
        ),
        (
            lambda: resize_table(TABLE, None, 6, DEIT, kept=17),
            ShapeError,
            "table: expected 17 + a square number of rows, got 17 rows",
        ),
        (
            lambda: resize_table(TABLE, (4, 4), 0, DEIT, kept=1),
            GeometryError,
            "new: expected an int",
        ),
        (lambda: resize_table(TABLE, (4, 4), (6, 0), DEIT, kept=1), GeometryError, "new: expected"),
        (
            lambda: resize_table(TABLE, (4, 2, 2), 6, DEIT, kept=1),
            ShapeError,
            "old: expected one side or (rows, columns), got (4, 2, 2)",
        ),
        (
            lambda: resize_table(TABLE, (2, 8), 6, DEIT),
            ShapeError,
            "table: expected 0 + 2 x 8 rows, got 17 rows; a class token's row is named by kept",
        ),
        (lambda: round_trip(0, 3, VIT), GeometryError, "old: expected an integer >= 1"),
        (lambda: white_energy(3, 0, VIT), GeometryError, "new: expected an integer >= 1"),
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


@pytest.mark.parametrize("sides", [(([[1, 2], 3]), 2), (2, [[1, 2], 3])])
def test_ragged_sides_are_refused(sides):
    with pytest.raises(GeometryError, match="an integer >= 1"):
        resize_table(np.ones((4, 2)), *sides, METHODS[0])
