"""The family of errors: what is refused, what the message says, and that nothing else comes out."""

import operator
import string
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from vitbias import errors
from vitbias.errors import (
    AmbiguousRankError,
    GeometryError,
    Literal,
    MissingExtraError,
    ShapeError,
    UnknownNameError,
    ValuesError,
    VitbiasError,
    describe,
    require_choice,
    require_number,
    require_sequence,
    require_size,
)

FAMILY = (
    AmbiguousRankError,
    GeometryError,
    MissingExtraError,
    ShapeError,
    UnknownNameError,
    ValuesError,
)
PRINTABLE = set(string.printable) - set("\t\n\r\v\f")


def kind_of(value):
    return type(value).__name__


@pytest.mark.parametrize("kind", FAMILY)
def test_each_error_is_of_the_family_and_a_value_error(kind):
    assert issubclass(kind, VitbiasError)
    assert issubclass(kind, ValueError)
    assert kind.__doc__
    more = {"gap": 7.0} if kind is AmbiguousRankError else {}
    error = kind("patch", expected="an integer >= 1", got=16.0, hint="write 16", **more)
    assert all(getattr(error, name) == value for name, value in more.items())
    assert str(error) == "patch: expected an integer >= 1, got 16.0; write 16"
    assert (error.field, error.expected, error.got) == ("patch", "an integer >= 1", 16.0)
    assert error.hint == "write 16"
    assert str(kind("a", expected="b", got=Literal("c d"), **more)) == "a: expected b, got c d"


def test_the_family_is_complete():
    found = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, VitbiasError)
    }
    assert found == {kind.__name__ for kind in FAMILY} | {"VitbiasError"}
    assert found <= set(errors.__all__)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        (16.5, "16.5"),
        (True, "True"),
        (None, "None"),
        ("a'b", '"a\'b"'),
        ("\x1b[0m\n\u2028é", "'\\x1b[0m\\n\\u2028\\xe9'"),
        ([1, "x"], "[1, 'x']"),
        ((1,), "(1,)"),
        (Fraction(1, 2), "Fraction(1, 2) (Fraction)"),
        (1j, "1j (complex)"),
        (b"x", "b'x' (bytes)"),
        (np.zeros((2, 3)), "float64 array of shape (2, 3)"),
        (np.zeros((0, 3), np.uint8), "uint8 array of shape (0, 3)"),
        (np.array(5), "array(5) (ndarray)"),
        (sympy.Symbol("x"), "x (Symbol)"),
        (Literal("3 patches"), "3 patches"),
        (10**5000, "an integer of more than 4,300 digits"),
        ([10**5000], "an integer of more than 4,300 digits"),
        ("a" * 78, repr("a" * 78)),
        ("a" * 79, "'" + "a" * 76 + "..."),
    ],
    ids=kind_of,
)
def test_describe(value, text):
    assert describe(value) == text
    assert len(text) <= 80


PLAIN = st.none() | st.integers() | st.floats() | st.text(max_size=90) | st.binary(max_size=90)


@given(PLAIN | st.lists(PLAIN, max_size=9) | st.tuples(PLAIN) | st.dictionaries(PLAIN, PLAIN))
def test_descriptions_are_short_and_printable(value):
    text = describe(value).removesuffix(f" ({type(value).__name__})")
    assert len(text) <= 80
    assert set(text) <= PRINTABLE


INTEGER_KINDS = [np.dtype(code).type for code in "bBhHiIlLqQ"]


@pytest.mark.parametrize(
    "value",
    [
        13,
        sympy.Integer(13),
        np.array(13),
        type("Index", (), {"__index__": lambda self: 13})(),
        *(kind(13) for kind in INTEGER_KINDS),
    ],
)
def test_integers_of_every_kind_are_sizes(value):
    size = require_size("patch", value)
    assert size == 13 == operator.index(value)
    assert type(size) is int


def test_sizes_are_exact_at_any_length():
    for value in (2**63, 2**64, 2**80, 10**5000):
        assert require_size("width", value) == value


@pytest.mark.parametrize("minimum", [-5, 0, 1, 7])
def test_the_minimum_is_allowed_and_nothing_below(minimum):
    assert require_size("width", minimum, minimum=minimum) == minimum
    with pytest.raises(GeometryError) as caught:
        require_size("width", minimum - 1, minimum=minimum)
    assert str(caught.value) == f"width: expected an integer >= {minimum}, got {minimum - 1}"


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (True, "True"),
        (False, "False"),
        (np.True_, "np.True_ (bool)"),
        (16.5, "16.5"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (np.float32(16), "np.float32(16.0) (float32)"),
        ("16", "'16'"),
        (b"16", "b'16' (bytes)"),
        (None, "None"),
        ([16, 16], "[16, 16]"),
        (np.array([16]), "int64 array of shape (1,)"),
        (np.array(16.0), "array(16.) (ndarray)"),
        (np.array(True), "array(True) (ndarray)"),
        (Fraction(16), "Fraction(16, 1) (Fraction)"),
        (16 + 0j, "(16+0j) (complex)"),
        (sympy.Symbol("P"), "P (Symbol)"),
        (sympy.Rational(1, 2), "1/2 (Half)"),
        (-(10**5000), "an integer of more than 4,300 digits"),
    ],
    ids=kind_of,
)
def test_what_is_no_size(value, got):
    with pytest.raises(GeometryError) as caught:
        require_size("patch", value)
    assert str(caught.value) == f"patch: expected an integer >= 1, got {got}"


@pytest.mark.parametrize(("value", "hint"), [(16.0, "write 16"), (np.float64(-2.0), "write -2")])
def test_a_whole_float_is_refused_with_the_integer_to_write(value, hint):
    with pytest.raises(GeometryError, match=f"; {hint}$"):
        require_size("patch", value, minimum=-9)


@pytest.mark.parametrize(
    "value", [0, -3, 2**80, 0.25, -1e308, 5e-324, np.float32(0.5), np.int8(3), Fraction(1, 4)]
)
def test_numbers_become_floats(value):
    number = require_number("scale", value)
    assert type(number) is float
    assert Fraction(number) == Fraction(float(value))


@pytest.mark.parametrize(
    "value",
    [
        *(float("nan"), float("inf"), -float("inf"), np.float32("nan")),
        *(True, np.False_, None, "1", 1j, [1.0], np.array(1.0), 10**400, -(10**5000)),
        Fraction(10**400),
    ],
    ids=kind_of,
)
def test_what_is_no_finite_number(value):
    with pytest.raises(ValuesError, match=r"^scale: expected a finite number, got "):
        require_number("scale", value)


@pytest.mark.parametrize(
    "value", [[2, 3], (2, 3), range(2, 4), np.array([2, 3]), iter([2, 3]), (i for i in (2, 3))]
)
def test_sequences_become_lists(value):
    items = require_sequence("perm", value)
    assert items == [2, 3]
    assert type(items) is list


@pytest.mark.parametrize("value", [5, None, "23", b"23", {2, 3}, frozenset(), {2: 3}, np.array(2)])
def test_what_is_no_sequence(value):
    with pytest.raises(ShapeError, match=r"^perm: expected a sequence, got "):
        require_sequence("perm", value)


def test_an_error_inside_a_generator_is_not_swallowed():
    def broken():
        yield 1
        raise TypeError("from the caller's own code")

    with pytest.raises(TypeError, match="own code"):
        require_sequence("rows", broken())


def test_known_names_pass():
    for name in ("drop", np.str_("pad")):
        assert require_choice("border", name, iter(["pad", "drop"])) == name


@pytest.mark.parametrize(
    ("value", "rest"),
    [
        ("dorp", "'dorp'; did you mean 'drop'?"),
        ("dad", "'dad'; did you mean 'pad'?"),
        ("dxxp", "'dxxp'; did you mean 'drop'?"),
        ("dxxxp", "'dxxxp'"),
        ("DROP", "'DROP'"),
        ("", "''"),
        ("zebra", "'zebra'"),
        (None, "None"),
        (3, "3"),
        (["drop"], "['drop']"),
    ],
)
def test_unknown_names_get_the_nearest_known_ones(value, rest):
    with pytest.raises(UnknownNameError) as caught:
        require_choice("border", value, ("pad", "drop"))
    assert str(caught.value) == f"border: expected one of 'drop', 'pad', got {rest}"


def test_near_names_are_at_most_three_and_ordered_by_nearness():
    with pytest.raises(UnknownNameError) as caught:
        require_choice("model", "abcd", ["abce", "abcf", "abcdx", "abcg", "zz"])
    assert caught.value.hint.startswith("did you mean 'abcdx' or ")
    assert caught.value.hint.count("'") == 6


@pytest.mark.parametrize(("count", "shown"), [(12, 12), (13, 12)])
def test_long_lists_of_names_are_cut(count, shown):
    names = [f"{letter * 9}" for letter in string.ascii_lowercase[:count]]
    with pytest.raises(UnknownNameError) as caught:
        require_choice("model", "?", names)
    assert caught.value.expected.count("'") == 2 * shown
    assert caught.value.expected.endswith(", ...") == (count > shown)
