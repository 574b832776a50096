"""One formula for integers and symbols: both readings agree, and nothing else gets through."""

import re
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from vitbias.errors import GeometryError, UnknownNameError
from vitbias.formula import as_size, cells, exact_quotient, is_symbolic, maximum, minimum
from vitbias.patches import raw_dim

x, y = sympy.symbols("x y", integer=True)
p = sympy.Symbol("p", integer=True, positive=True)


@pytest.mark.parametrize("value", [x, x + 1, 2 * x, x / y, sympy.Max(0, x - y), sympy.sqrt(x)])
def test_scalar_expressions_with_a_free_symbol_are_symbolic(value):
    assert is_symbolic(value) is True
    assert is_symbolic(3, value) is True
    assert is_symbolic(value, "3") is True
    assert as_size("patch", value) is value


@pytest.mark.parametrize(
    "value",
    [
        *(3, 2.5, True, None, "x", [x], np.array([3]), sympy.Integer(3), sympy.pi, x - x),
        *(x > y, sympy.Eq(x, y), sympy.Interval(0, x), sympy.Matrix([[x]]), sympy.Tuple(x)),
        *(sympy.MatrixSymbol("A", x, y), sympy.Poly(x * y, x)),
    ],
)
def test_everything_else_is_not(value):
    assert is_symbolic(value) is False


def test_nothing_is_not_symbolic():
    assert is_symbolic() is False


def test_sizes_that_are_no_symbols_are_checked():
    assert as_size("patch", np.int64(7)) == 7
    assert type(as_size("patch", np.int64(7))) is int
    assert type(as_size("patch", sympy.Integer(7))) is int
    assert as_size("width", 0, minimum=0) == 0
    for value in (0, 7.0, x > y, sympy.pi, sympy.Matrix([[x]])):
        with pytest.raises(GeometryError, match=r"^patch: expected an integer >= 1"):
            as_size("patch", value)


@pytest.mark.parametrize(
    ("function", "name"), [(maximum, sympy.Max), (minimum, sympy.Min)], ids=["max", "min"]
)
def test_extrema_of_symbols_and_integers_agree(function, name):
    assert function(x, y) == name(x, y)
    assert function(3, x) == function(x, 3) == name(3, x)
    for a, b in product(range(-3, 4), repeat=2):
        larger = a if (a > b) == (function is maximum) else b
        assert function(a, b) == larger == name(x, y).subs({x: a, y: b})
        assert type(function(a, b)) is int
        assert function(x, b).subs(x, a) == larger
    assert function(2**80, 2**80 + 1) == 2**80 + (function is maximum)


@pytest.mark.parametrize("function", [maximum, minimum], ids=["max", "min"])
@pytest.mark.parametrize("value", [None, True, 2.0, float("nan"), "3", x / 2 + 0.5, sympy.I * p])
def test_extrema_are_of_integers(function, value):
    for arguments, field in (((value, 3), "first"), ((-3, value), "second")):
        with pytest.raises(
            GeometryError, match=rf"^{field}: expected an integer( or a symbol|, got)"
        ):
            function(*arguments)
    assert type(function(np.int8(-5), np.int8(-7))) is int


@pytest.mark.parametrize(
    "value",
    [
        *(sympy.I * p, -p, 1.5 * p, p + sympy.Rational(1, 2), sympy.Symbol("z", zero=True)),
        *(sympy.Symbol("k", nonpositive=True), sympy.Symbol("m", integer=False)),
    ],
)
def test_symbols_known_to_be_no_size_are_refused(value):
    with pytest.raises(GeometryError, match=r"^patch: expected an integer >= 1 or a symbol for"):
        raw_dim(value, 3)


@pytest.mark.parametrize("value", [p, p / 2, x - y, sympy.sqrt(x), sympy.Symbol("u")])
def test_symbols_that_may_be_sizes_are_allowed(value):
    assert raw_dim(value, 3) == 3 * value**2
    zero = sympy.Symbol("z", zero=True)
    assert as_size("width", zero, minimum=0) is zero
    with pytest.raises(GeometryError, match=r"^width: expected an integer >= 0 or a symbol for"):
        as_size("width", -p, minimum=0)


@given(st.integers(0, 2**80), st.integers(1, 2**40))
def test_a_multiple_divides_and_nothing_else_does(quotient, part):
    assert exact_quotient("height", quotient * part, part) == quotient
    if part > 1:
        with pytest.raises(GeometryError):
            exact_quotient("height", quotient * part + part - 1, part)


@pytest.mark.parametrize(("whole", "part"), [*product([1, 2, 3, 5, 7, 11, 13, 225], [2, 3, 5, 7])])
def test_nearest_sizes_by_enumeration(whole, part):
    multiples = [size for size in range(1, 400) if Fraction(size, part).denominator == 1]
    if whole in multiples:
        quotient = exact_quotient("height", whole, part)
        assert quotient == Fraction(whole, part)
        assert type(quotient) is int
        return
    with pytest.raises(GeometryError) as caught:
        exact_quotient("height", whole, part)
    below = [size for size in multiples if size < whole][-1:]
    above = [size for size in multiples if size > whole][:1]
    assert [int(size) for size in re.findall(r"\d+", caught.value.hint)] == below + above


def test_the_whole_message():
    with pytest.raises(GeometryError) as caught:
        exact_quotient("height", 225, 16)
    assert str(caught.value) == (
        "height: expected a multiple of 16, got 225 (remainder 1); the nearest sizes are 224 or 240"
    )


def test_numbers_too_long_to_write_still_give_the_family():
    with pytest.raises(GeometryError, match=r"^height: expected a multiple of 10, got an integer"):
        exact_quotient("height", 10**5000 + 1, 10)
    for whole in (1, 10**5000 - 1):
        with pytest.raises(
            GeometryError, match=r"^height: expected a multiple of an integer of mo"
        ):
            exact_quotient("height", whole, 10**5000)


def test_symbols_are_divided_formally():
    assert exact_quotient("height", x, y) == x / y
    assert exact_quotient("height", x, 16) == x / 16
    assert exact_quotient("height", 224, y).subs(y, 16) == exact_quotient("height", 224, 16) == 14


@pytest.mark.parametrize(
    ("whole", "part", "field"),
    [
        *((4, 0, "part"), (4, -2, "part"), (4, 2.0, "part"), (4, True, "part"), (x, 0, "part")),
        *((-4, 2, "height"), (4.0, 2, "height"), ("4", 2, "height"), (None, y, "height")),
    ],
)
def test_what_is_no_size_is_not_divided(whole, part, field):
    with pytest.raises(GeometryError, match=rf"^{field}: expected an integer"):
        exact_quotient("height", whole, part)


@given(side=st.integers(1, 60), cell=st.integers(1, 60))
def test_cells_by_listing_them(side, cell):
    starts = range(0, side, cell)
    whole = [start for start in starts if start + cell <= side]
    assert cells("side", side, cell, border="pad") == len(starts)
    if whole:
        assert cells("side", side, cell, border="drop") == len(whole)
    else:
        with pytest.raises(GeometryError, match=f"^side: expected at least {cell}, got {side}$"):
            cells("side", side, cell, border="drop")
    if len(whole) == len(starts):
        assert cells("side", side, cell) == len(whole)
    else:
        with pytest.raises(GeometryError, match=f"^side: expected a multiple of {cell}"):
            cells("side", side, cell)


def test_cells_of_symbols_and_unknown_rules():
    assert cells("side", x, 4) == x / 4
    assert cells("side", p, 4, border="drop") == sympy.floor(p / 4)
    assert cells("side", p, 4, border="pad") == -sympy.floor(-p / 4)
    with pytest.raises(UnknownNameError, match=r"^border: expected one of 'drop', 'pad'"):
        cells("side", 8, 4, border="crop")
