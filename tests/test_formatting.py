"""The one formatter: text that reads back as the number, rounded once and correctly."""

import re
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from vitbias.errors import GeometryError, ShapeError, ValuesError
from vitbias.formatting import below, fmt, table

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(st.integers() | st.integers(-(10**30), 10**30))
def test_integers_in_full_in_groups_of_three(value):
    text = fmt(value)
    assert int(text.replace(",", "")) == value
    assert re.fullmatch(r"-?\d{1,3}(,\d{3})*", text)


@given(FINITE, st.integers(1, 12))
def test_floats_are_rounded_once_half_to_even(value, digits):
    rounded = Context(prec=digits, rounding=ROUND_HALF_EVEN).plus(Decimal(value))
    text = fmt(value, digits)
    assert Decimal(text) == rounded
    assert len(re.sub(r"e.*|\D", "", text).strip("0")) <= digits
    assert fmt(-value, digits).lstrip("-") == text.lstrip("-")


@given(st.fractions())
def test_fractions_read_back(value):
    text = fmt(value)
    assert Fraction(text.replace(",", "")) == value
    assert ("/" in text) == (value.denominator != 1)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (9834496, "9,834,496"),
        (2 / 3, "0.666667"),
        (0.0, "0"),
        (-0.0, "0"),
        (1e-320, "9.99989e-321"),
        (1e6, "1e+06"),
        (16.0, "16"),
        (True, "True"),
        (np.False_, "False"),
        ("a\tb", "a\tb"),
        (np.int64(-1234), "-1,234"),
        (np.float32(0.1), "0.1"),
        (np.array(7), "7"),
        (np.array([[1, 2], [3, 4]]), "[[1, 2], [3, 4]]"),
        (np.array([0.5, 1e-9]), "[0.5, 1e-09]"),
        ((1, "x", None.__class__.__name__), "[1, x, NoneType]"),
        ([], "[]"),
        ([[1], []], "[[1], []]"),
        (Fraction(-1234567, 1000), "-1,234,567/1,000"),
        (Fraction(6, 3), "2"),
        (sympy.Rational(-3, 4), "-3/4"),
        (sympy.Integer(12345), "12,345"),
    ],
)
def test_examples(value, text):
    assert fmt(value) == text


def test_digits_reach_into_sequences():
    assert fmt([1 / 3, [2 / 3]], 2) == "[0.33, [0.67]]"
    assert fmt(np.array([1 / 3]), np.int64(3)) == "[0.333]"
    assert fmt(1 / 3, 12) == "0.333333333333"


def test_the_last_bits_of_a_float_are_not_printed():
    value = 1 / 3
    for steps in (np.nextafter(value, 0), np.nextafter(value, 1), value * (1 + 1e-14)):
        assert fmt(steps, 12) == fmt(value, 12)


@pytest.mark.parametrize(
    "value",
    [
        *(float("nan"), float("inf"), -float("inf"), np.float32("nan"), [1.0, float("nan")]),
        *(None, 1j, b"x", {1: 2}, {1}, object(), Decimal(1), np.array([1j]), np.longdouble(1)),
        *(sympy.Symbol("x"), sympy.pi, sympy.Float(0.5), sympy.oo, np.ma.array([1], mask=[True])),
        *(10**5000, -(10**5000), Fraction(1, 10**5000), Fraction(10**5000, 7), [10**5000]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_has_no_agreed_form(value):
    with pytest.raises(ValuesError, match=r"^value: expected "):
        fmt(value)


def test_sequences_are_nested_at_most_64_deep():
    deep, text = 7, "7"
    for _ in range(64):
        deep, text = [deep], f"[{text}]"
    assert fmt(deep) == text
    inside, holder = [], np.empty(1, object)
    inside.append(inside)
    holder[0] = holder
    endless = [deep]
    for _ in range(10**5):
        endless = [endless]
    for value in ([deep], inside, holder, endless):
        with pytest.raises(
            ValuesError, match=r"^value: expected a sequence nested at most 64 deep"
        ):
            fmt(value)


@pytest.mark.parametrize("digits", [0, -1, 6.0, True, None, "6"])
def test_digits_are_a_size(digits):
    with pytest.raises(GeometryError, match=r"^digits: expected an integer >= 1"):
        fmt(0.5, digits)


@pytest.mark.parametrize("digits", [13, 17, 2**80])
def test_more_digits_would_show_rounding(digits):
    with pytest.raises(ValuesError, match=rf"^digits: expected at most 12, got {digits}$"):
        fmt(0.5, digits)


@given(FINITE, FINITE)
def test_below_states_the_bound_or_refuses(value, bound):
    if abs(value) < bound:
        assert below(value, bound) == f"< {bound:g}"
    else:
        with pytest.raises(ValuesError, match=r"^value: expected a magnitude below"):
            below(value, bound)


def test_below_takes_exact_and_numpy_numbers():
    assert below(Fraction(-1, 10**20), 1e-12) == "< 1e-12"
    assert below(np.float32(0), 1) == below(0, Fraction(1)) == "< 1"


@pytest.mark.parametrize(
    ("value", "bound", "field"),
    [
        *((float("nan"), 1, "value"), (float("inf"), 1, "value"), ("a", 1, "value")),
        *((1j, 1, "value"), (np.zeros(3), 1, "value"), (True, 2, "value"), (None, 1, "value")),
        *((0, float("nan"), "bound"), (0, float("inf"), "bound"), (0, "1", "bound")),
    ],
)
def test_below_wants_finite_numbers(value, bound, field):
    with pytest.raises(ValuesError, match=rf"^{field}: expected a finite number"):
        below(value, bound)


def test_table():
    lines = table(["model", "width", "share"], [["a", 8, 1 / 3], ["long name", 1024, 1.0]], 3)
    assert lines == "model      width  share\na              8  0.333\nlong name  1,024      1"
    assert table(["n", "x"], []) == "n  x"
    assert table([], []) == ""
    assert table(("n",), iter([(7,), np.array([11])])) == " n\n 7\n11"


CELL = st.integers() | FINITE | st.text("abcxyz", max_size=9)


@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(CELL, min_size=n, max_size=n))))
def test_columns_line_up_and_read_back(rows):
    width = len(rows[0]) if rows else 3
    header = ["name", "b", "longer name", "d"][:width]
    lines = table(header, rows).split("\n")
    cells = [header, *([fmt(cell) for cell in row] for row in rows)]
    assert len(lines) == len(cells)
    assert all(line == line.rstrip() for line in lines)
    start = 0
    for column in range(width):
        end = start + max(len(row[column]) for row in cells)
        text = any(isinstance(row[column], str) for row in rows)
        for line, row in zip(lines, cells, strict=True):
            shown = line[start:end].ljust(end - start)
            assert shown.strip() == row[column]
            assert shown.startswith(row[column]) if text else shown.endswith(row[column])
            assert not line[end : end + 2].strip()
        start = end + 2


@pytest.mark.parametrize("row", [[1], [1, 2, 3], []])
def test_rows_have_the_cells_of_the_header(row):
    with pytest.raises(ShapeError) as caught:
        table(["a", "b"], [[1, 2], row])
    assert str(caught.value) == f"row: expected 2 cells, got {len(row)} cells"


@pytest.mark.parametrize(
    ("header", "rows", "kind", "message"),
    [
        (None, [], ShapeError, "header: expected a sequence, got None"),
        ("ab", [], ShapeError, "header: expected a sequence, got 'ab'"),
        ([5], [], ValuesError, "header: expected text, got 5"),
        (["a"], 5, ShapeError, "rows: expected a sequence, got 5"),
        (["a"], [5], ShapeError, "row: expected a sequence, got 5"),
        (["a"], ["b"], ShapeError, "row: expected a sequence, got 'b'"),
        (["a"], [[None]], ValuesError, "value: expected a number, text, or a sequence of them"),
    ],
)
def test_what_is_no_table(header, rows, kind, message):
    with pytest.raises(kind) as caught:
        table(header, rows)
    assert str(caught.value).startswith(message)
