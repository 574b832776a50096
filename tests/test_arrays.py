"""Checks of arrays: what passes is the same numbers, and what does not is named."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vitbias.arrays import (
    as_array,
    require_alike,
    require_array,
    require_float64,
    require_floats,
    require_fractions,
    require_in_range,
    require_integers,
    require_numbers,
)
from vitbias.errors import ShapeError, ValuesError

REAL_TYPES = [*"bBhHiIlLqQ", "e", "f", "d", "g", ">i4", ">f8", "<f4"]
EVERY_CHECK = {
    "array": lambda value: require_array("x", value, "rows columns"),
    "floats": lambda value: require_floats("x", value, "rows columns"),
    "integers": lambda value: require_integers("x", value, "rows columns"),
    "fractions": lambda value: require_fractions("x", value, "rows columns"),
    "dyadic": lambda value: require_fractions("x", value, "rows columns", floats=True),
    "range": lambda value: require_in_range("x", value, "rows columns", -9, 9),
}


@pytest.fixture(params=EVERY_CHECK)
def check(request):
    return EVERY_CHECK[request.param]


@pytest.mark.parametrize("code", REAL_TYPES)
def test_numbers_pass_in_their_own_type_without_a_copy(code):
    array = np.array([[2, 3, 5], [7, 11, 13]], dtype=code)
    passed = require_array("x", array, "rows columns")
    assert passed is array
    assert require_array("x", [[1.5]], "rows columns").dtype == np.float64


@pytest.mark.parametrize("code", REAL_TYPES)
def test_floats_are_floats(code):
    array = np.array([[2, 3, 5], [7, 11, 13]], dtype=code)
    floats = require_floats("x", array, "rows columns")
    assert floats.dtype == (np.float64 if array.dtype.kind in "iu" else array.dtype)
    assert floats.tolist() == [[2, 3, 5], [7, 11, 13]]


@pytest.mark.parametrize(
    ("value", "axes"),
    [
        (np.ones((2, 3)), "rows columns"),
        (np.ones((2, 3)), "rows 3"),
        (np.ones((2, 3)), "2 3"),
        (np.ones((2, 3)), "... rows 3"),
        (np.ones((5, 7, 2, 3)), "... rows 3"),
        (np.ones((5, 7, 2, 3)), "..."),
        (np.ones(3), "... 3"),
        (np.float64(1), "..."),
        (1.5, ""),
    ],
)
def test_axes_that_fit(value, axes):
    assert require_array("x", value, axes).shape == np.shape(value)


@pytest.mark.parametrize(
    ("value", "axes", "message"),
    [
        (np.ones(3), "rows columns", "x: expected axes (rows, columns), got shape (3,)"),
        (np.ones((2, 3, 5)), "rows columns", "x: expected axes (rows, columns), got shape"),
        (np.ones((2, 3)), "rows 5", "x: expected axes (rows, 5), got shape (2, 3)"),
        (np.ones((2, 3)), "3 2", "x: expected axes (3, 2), got shape (2, 3)"),
        (np.ones(3), "... rows 3", "x: expected axes (..., rows, 3), got shape (3,)"),
        (np.ones((5, 2, 3)), "... rows 7", "x: expected axes (..., rows, 7), got shape (5, 2, 3)"),
        (np.float64(1), "... rows", "x: expected axes (..., rows), got shape ()"),
        (np.ones(3), "", "x: expected axes (), got shape (3,)"),
        (np.ones((2, 0)), "rows columns", "x: expected axes (rows, columns), got shape (2, 0)"),
        (np.ones((0, 2, 3)), "... rows 3", "x: expected axes (..., rows, 3), got shape (0, 2, 3)"),
        ([], "rows", "x: expected axes (rows), got shape (0,)"),
        ([[1], [1, 2]], "rows columns", "x: expected rows of equal length, got [[1], [1, 2]]"),
        ([np.ones((2, 3)), np.ones((2, 2))], "a b c", "x: expected rows of equal length, got "),
    ],
)
def test_axes_that_do_not_fit(value, axes, message):
    with pytest.raises(ShapeError) as caught:
        require_array("x", value, axes)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("value", "got"),
    [
        ([["a"]], "<U1 values"),
        ([[1j]], "complex128 values"),
        ([[True]], "bool values"),
        ([[None]], "object values"),
        ([[2**80]], "object values"),
        (np.array([["2020"]], "M8[D]"), "datetime64[D] values"),
        (np.array([[1]], "m8[s]"), "timedelta64[s] values"),
        ("text", "'text'"),
        (None, "None"),
        (True, "True"),
        ({1: 2}, "{1: 2} (dict)"),
    ],
)
def test_what_is_no_array_of_numbers(value, got):
    with pytest.raises(ValuesError) as caught:
        require_array("x", value, "rows columns")
    assert str(caught.value) == f"x: expected integers or floats, got {got}"


@pytest.mark.parametrize(("bad", "text"), [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble])
def test_the_first_number_that_is_not_finite_is_named(bad, text, kind):
    array = np.zeros((3, 5), kind)
    array[2, 1] = array[1, 4] = bad
    for function in (require_array, require_floats):
        with pytest.raises(ValuesError) as caught:
            function("x", array, "rows columns")
        assert str(caught.value) == f"x: expected finite numbers, got {text} at index (1, 4)"


def test_masks_are_refused_everywhere(check):
    masked = np.ma.array([[1, 2]], mask=[[True, False]])
    for value in (masked, masked.astype(object), np.ma.array([[1, 2]])):
        with pytest.raises(ValuesError, match=r"^x: expected an array without a mask"):
            check(value)
    with pytest.raises(ValuesError, match="without a mask"):
        as_array("x", masked)


def test_what_no_check_lets_through(check):
    for value in ([["a"]], [[1j]], [[None]], [[True, False]], None, "x", object()):
        with pytest.raises(ValuesError, match=r"^x: expected "):
            check(value)
    for value in ([], 3, [1, 2], [[1], [1, 2]], [[[1]]], np.zeros((0, 2), int)):
        with pytest.raises(ShapeError, match=r"^x: expected "):
            check(value)


def test_memory_order_stride_and_write_protection_do_not_matter(check, rng):
    plain = rng.integers(-9, 10, (5, 7))
    wide = np.zeros((10, 14), int)
    wide[::2, ::2] = plain
    locked = plain.copy()
    locked.flags.writeable = False
    with_matrix = plain.view(np.matrix)
    for value in (plain.tolist(), np.asfortranarray(plain), wide[::2, ::2], locked, with_matrix):
        assert np.array_equal(check(value), check(plain))
        assert type(check(value)) is np.ndarray


INTEGERS = st.integers(-(2**80), 2**80)


@given(st.lists(st.tuples(INTEGERS, INTEGERS, INTEGERS), min_size=1, max_size=5))
def test_integers_stay_exact(rows):
    for value in (rows, np.array(rows, dtype=object)):
        exact = require_integers("x", value, "rows 3")
        assert exact.dtype == object
        assert exact.tolist() == [list(row) for row in rows]
        assert all(type(item) is int for item in exact.flat)


@given(
    st.lists(st.tuples(st.fractions(), INTEGERS, st.floats(-1e300, 1e300)), min_size=1, max_size=5)
)
def test_fractions_stay_exact(rows):
    exact = require_fractions("x", rows, "rows 3", floats=True)
    assert exact.tolist() == [[Fraction(item) for item in row] for row in rows]
    assert all(type(item) is Fraction for item in exact.flat)
    with pytest.raises(ValuesError, match=r"^x: expected integers or fractions, got "):
        require_fractions("x", rows, "rows 3")


def test_where_numpy_would_round_or_convert():
    assert require_integers("x", [2**63, -1], "n").tolist() == [2**63, -1]
    assert require_fractions("x", [2**64 - 1, -1], "n").tolist() == [2**64 - 1, -1]
    for value in (
        [True, 2],
        [2, np.True_],
        [1, 2.0],
        np.array([1.0]),
        [Fraction(2)],
        [np.float32(2)],
    ):
        with pytest.raises(ValuesError, match=r"^x: expected integers, got "):
            require_integers("x", value, "n")
    with pytest.raises(ValuesError, match=r"got 2\.0$"):
        require_integers("x", 2.0, "")
    with pytest.raises(ValuesError, match=r"^x: expected integers or fractions, got "):
        require_fractions("x", [True, Fraction(1, 2)], "n")


@pytest.mark.parametrize("code", REAL_TYPES[:10])
def test_numpy_integers_are_integers(code):
    item = np.array(13, code)[()]
    for value in ([item, 2**80], np.array([item, 2**80], dtype=object)):
        for check in (require_integers, require_fractions):
            exact = check("x", value, "n")
            assert exact.tolist() == [13, 2**80]
            assert type(exact[0]) is not type(item)


def test_numpy_floats_are_dyadic_fractions():
    value = [np.float64(0.1), np.float32(0.1), np.float16(0.1), 0.1]
    exact = require_fractions("x", value, "n", floats=True)
    assert exact[0] == exact[3] == Fraction(3602879701896397, 36028797018963968)
    assert exact[1] == Fraction(13421773, 2**27)
    assert exact[2] == Fraction(1638, 2**14)
    for kind in (np.float16, np.float32, np.float64, ">f8"):
        array = np.array([0.1, 5], kind)
        assert require_fractions("x", array, "n", floats=True).tolist() == [
            Fraction(item) for item in array.tolist()
        ]
    with pytest.raises(ValuesError, match=r"^x: expected integers, fractions or floats, got "):
        require_fractions("x", np.ones(2, np.longdouble), "n", floats=True)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_fractions_of_what_is_not_finite(bad):
    with pytest.raises(ValuesError) as caught:
        require_fractions("x", [[0.5, 1], [2, bad]], "rows columns", floats=True)
    assert str(caught.value) == f"x: expected finite numbers, got {bad} at index (1, 1)"


@pytest.mark.parametrize("kind", ["m8[ns]", "M8[ns]"])
def test_times_are_no_integers(kind):
    """NumPy hands out nanoseconds as Python integers."""
    times = np.array([2, 3], kind)
    assert type(times.astype(object)[0]) is int
    for check in (require_integers, require_fractions):
        with pytest.raises(ValuesError, match=r"^x: expected integers"):
            check("x", times, "n")


def test_exact_checks_return_a_copy():
    for value in (np.array([[1, 2]]), np.array([[1, 2]], dtype=object)):
        for name, check in EVERY_CHECK.items():
            if name in ("array", "floats"):
                continue
            exact = check(value)
            exact[0, 0] = 7
            assert value.tolist() == [[1, 2]]


@pytest.mark.parametrize(("low", "high"), [(0, 255), (-5, 5), (7, 7), (2**80, 2**80 + 1)])
def test_the_range_holds_both_ends_and_nothing_beyond(low, high):
    inside = [[low, high], [high, low]]
    assert require_in_range("x", inside, "rows 2", low, high).tolist() == inside
    for outside in (low - 1, high + 1):
        with pytest.raises(ValuesError) as caught:
            require_in_range("x", [[low, high], [low, outside]], "rows 2", low, high)
        assert str(caught.value) == (
            f"x: expected values in {low} to {high}, got {outside} at index (1, 1)"
        )


def test_an_empty_range_holds_nothing():
    with pytest.raises(ValuesError, match=r"^x: expected values in 3 to 2, got 2 at index"):
        require_in_range("x", [[2]], "rows 1", 3, 2)


@pytest.mark.parametrize("limit", [0.0, "0", None, True, float("nan"), Fraction(1)])
@pytest.mark.parametrize("name", ["low", "high"])
def test_limits_are_integers(name, limit):
    limits = {"low": 0, "high": 9, name: limit}
    with pytest.raises(ValuesError, match=rf"^{name}: expected integers, got "):
        require_in_range("x", [[2]], "rows 1", **limits)


def test_numpy_limits_do_not_wrap():
    assert require_in_range("x", [[2]], "rows 1", np.int8(-128), np.uint8(255)).tolist() == [[2]]
    with pytest.raises(ValuesError, match="got 2000000 at index"):
        require_in_range("x", [[2000000]], "rows 1", np.int8(-128), np.uint8(255))


def test_messages_with_numbers_too_long_to_write():
    huge = 10**5000
    with pytest.raises(ValuesError, match="to an integer of more than 4,300 digits, got -1 at"):
        require_in_range("x", [[-1]], "rows 1", 0, huge)
    with pytest.raises(ValuesError, match="got an integer of more than 4,300 digits at"):
        require_in_range("x", [[huge]], "rows 1", 0, 1)


@pytest.mark.parametrize("code", REAL_TYPES)
def test_one_kind_of_float(code):
    floats = require_float64("x", np.array([[2, 3]], dtype=code), "rows columns")
    assert floats.dtype == np.float64
    assert floats.tolist() == [[2, 3]]


def test_a_longer_float_that_does_not_fit_is_refused():
    huge = np.array([np.longdouble(2) ** 5000])
    if np.isfinite(huge).all():  # some platforms have no longer floats
        with pytest.raises(
            ValuesError, match=r"^x: expected finite numbers, got inf at index \(0,\)"
        ):
            require_float64("x", huge, "raw")


def test_arguments_of_one_computation_are_of_one_kind():
    exact = require_alike(("a", [[1, 2**80]], "rows columns"), ("b", Fraction(1, 3), ""))
    assert [type(array.flat[0]) for array in exact] == [Fraction, Fraction]
    assert exact[0][0, 1] == 2**80
    floats = require_alike(("a", [[1, 2]], "rows columns"), ("b", 0.5, ""))
    assert [array.dtype for array in floats] == [np.float64, np.float64]
    with pytest.raises(ValuesError, match=r"^b: expected integers or floats, got object values"):
        require_alike(("a", [0.5], "raw"), ("b", [Fraction(1, 3)], "raw"))
    with pytest.raises(ShapeError, match=r"^b: expected axes \(raw\), got shape \(1, 1\)"):
        require_alike(("a", [1], "raw"), ("b", [[2]], "raw"))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble, ">f4", ">f8"])
def test_finite_values_pass_however_large_and_others_do_not(kind):
    most = np.finfo(kind).max
    for values in ([[-0.0, 0.0]], [[most, most]], [[most, -most]], [[np.finfo(kind).tiny, 1]]):
        array = np.array(values, dtype=kind)
        for same in (array, array.T.copy().T, array[:, ::-1]):
            kept = require_array("x", same, "rows columns")
            assert kept is same and np.array_equal(np.signbit(kept), np.signbit(same))
    for bad, name in ((np.nan, "nan"), (np.inf, "inf"), (-np.inf, "-inf")):
        array = np.ones((3, 5), kind)
        array[1, 2] = bad
        array[2, 4] = -bad
        for same in (array, np.asfortranarray(array), array[::-1][::-1]):
            with pytest.raises(ValuesError, match=rf"got {name} at index \(1, 2\)$"):
                require_array("x", same, "rows columns")


def test_numbers_are_not_read():
    assert np.isnan(require_numbers("x", [[np.nan]], "rows columns")).all()
    with pytest.raises(ShapeError):
        require_numbers("x", [np.nan], "rows columns")
    with pytest.raises(ValuesError):
        require_numbers("x", [[True]], "rows columns")
