"""Rational attention: every identity holds exactly, checked in fractions and in sympy."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from vitbias.errors import ShapeError, ValuesError
from vitbias.exact_attention import exact_attention, exact_softmax, fractions


def loop_softmax(row, allowed=None):
    allowed = [True] * len(row) if allowed is None else allowed
    powers = [
        Fraction(2) ** int(s) if ok else Fraction(0) for s, ok in zip(row, allowed, strict=True)
    ]
    return [p / sum(powers) for p in powers]


def loop_attention(query, key, value, mask=None):
    output = []
    for i, q in enumerate(query):
        row = [sum(int(a) * int(b) for a, b in zip(q, k, strict=True)) for k in key]
        share = loop_softmax(row, None if mask is None else mask[i])
        output.append(
            [
                sum(s * Fraction(v[c]) for s, v in zip(share, value, strict=True))
                for c in range(len(value[0]))
            ]
        )
    return output


def rows_of(entries, columns):
    return st.lists(st.tuples(*[entries] * columns), min_size=1, max_size=5)


@given(st.integers(1, 5).flatmap(lambda keys: rows_of(st.integers(-40, 40), keys)), st.integers())
def test_softmax_laws_hold_exactly(scores, shift):
    weights = exact_softmax(scores)
    assert all(type(p) is Fraction for p in weights.flat)
    assert weights.tolist() == [loop_softmax(row) for row in scores]
    assert all(sum(row) == 1 for row in weights)
    assert all(p > 0 for p in weights.flat)
    shifted = [[s + shift for s in row] for row in scores]
    assert exact_softmax(shifted).tolist() == weights.tolist()
    backwards = [row[::-1] for row in scores]
    assert exact_softmax(backwards).tolist() == weights[:, ::-1].tolist()
    for row, share in zip(scores, weights, strict=True):
        for s, p in zip(row, share, strict=True):
            assert p / share[0] == Fraction(2) ** (s - row[0])


def test_softmax_in_sympy():
    scores = [[2, 3, 5], [-7, 0, 11]]
    powers = sympy.Matrix(scores).applyfunc(lambda s: sympy.Integer(2) ** s)
    for i, row in enumerate(exact_softmax(scores)):
        for j, p in enumerate(row):
            assert powers[i, j] / sum(powers[i, :]) == sympy.Rational(p.numerator, p.denominator)
    assert exact_softmax([[7]]).tolist() == [[1]]
    assert exact_softmax([[0, 1]]).tolist() == [[Fraction(1, 3), Fraction(2, 3)]]


@pytest.mark.parametrize(
    "mask", [np.tri(3, dtype=bool), np.eye(3, dtype=bool)[::-1], [[True, False, True]] * 3]
)
def test_masks_forbid_exactly(mask):
    scores = [[2, 3, 5], [7, -11, 13], [0, 2**70, 1]]
    if np.asarray(mask)[2, 1]:
        scores[2][1] = 4
    weights = exact_softmax(scores, mask=mask)
    assert weights.tolist() == [
        loop_softmax([min(s, 99) for s in row], may) for row, may in zip(scores, mask, strict=True)
    ]
    assert (weights != 0).tolist() == np.asarray(mask).tolist()
    x = [[1, 2], [3, 5], [-1, 0]]
    value = [[Fraction(1, 3)], [Fraction(2, 7)], [5]]
    expected = loop_attention(x, x, value, mask)
    assert exact_attention(x, x, value, mask=mask).tolist() == expected


@given(
    rows_of(st.integers(-3, 3), 2),
    rows_of(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.fractions(max_denominator=9)), 1),
)
def test_attention_against_the_loop(query, rows):
    key, value = [row[0][:2] for row in rows], [[row[0][2], row[0][0]] for row in rows]
    output = exact_attention(query, key, value)
    assert output.tolist() == loop_attention(query, key, value)
    assert all(type(entry) is Fraction for entry in output.flat)
    for column, values in zip(output.T, zip(*value, strict=True), strict=True):
        assert min(values) <= min(column)
        assert max(column) <= max(values)


def test_all_24_permutations_of_four_tokens_exactly(rng):
    x = np.array([[1, 2, 0], [-1, 3, 1], [2, 0, -2], [0, -1, 3]])
    maps = np.eye(3, dtype=int) + rng.integers(-1, 2, (3, 3, 3))

    def layer(tokens):
        return exact_attention(*(tokens @ m for m in maps))

    plain = layer(x)
    seen = set()
    for perm in permutations(range(4)):
        moved = layer(x[list(perm)])
        assert moved.tolist() == plain[list(perm)].tolist()
        assert sum(moved).tolist() == sum(plain).tolist()
        seen.add(tuple(map(tuple, moved)))
    assert len(seen) == 24, "the tokens differ, so the statement is not empty"


def test_a_causal_mask_breaks_it(rng):
    x, mask = rng.integers(-3, 4, (4, 3)), np.tri(4, dtype=bool)
    plain = exact_attention(x, x, x, mask=mask)
    moved = exact_attention(x[::-1], x[::-1], x[::-1], mask=mask)
    assert moved.tolist() != plain[::-1].tolist()


def test_integers_beyond_64_bits():
    huge = 2**80
    assert exact_softmax([[huge, huge + 1]]).tolist() == [[Fraction(1, 3), Fraction(2, 3)]]
    assert exact_attention([[huge]], [[1], [1]], [[huge], [3]]).tolist() == [
        [Fraction(huge + 3, 2)]
    ]
    small = np.array([[100, 100]], np.int8)
    assert exact_attention(small, np.vstack([small, small]), [[1], [3]]).tolist() == [[2]]


def test_powers_stay_in_memory():
    small, large = exact_softmax([[0, 2**20]])[0]
    assert large / small == 2**2**20


@pytest.mark.parametrize("spread", [2**20 + 1, 2**80, 10**5000], ids=["least", "much", "long"])
def test_powers_that_would_fill_the_memory_are_refused(spread):
    with pytest.raises(ValuesError) as caught:
        exact_softmax([[1, 2], [-spread, 0]])
    message = "scores: expected differences of at most 1,048,576 within a row, got "
    assert str(caught.value).startswith(message)
    with pytest.raises(ValuesError, match=r"^scores: expected differences"):
        exact_attention([[spread]], [[0], [1]], [[1], [2]])


@given(rows_of(st.integers() | st.fractions(), 3))
def test_fractions_are_the_same_numbers(rows):
    exact = fractions(rows)
    assert exact.tolist() == [[Fraction(x) for x in row] for row in rows]
    assert all(type(x) is Fraction for x in exact.flat)
    assert fractions(exact).tolist() == exact.tolist()


@pytest.mark.parametrize("kind", [np.int8, np.uint64, object])
def test_fractions_of_arrays(kind):
    exact = fractions(np.array([[2, 3, 5], [7, 11, 13]], kind))
    assert exact.tolist() == [[2, 3, 5], [7, 11, 13]]
    assert all(type(x) is Fraction for x in exact.flat)


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        ([[0.5]], ValuesError, "integers or fractions, got float64 values"),
        ([[0.5, Fraction(1, 2)]], ValuesError, "integers or fractions, got object values"),
        ([[True]], ValuesError, "integers or fractions, got bool values"),
        ([["1/2"]], ValuesError, "integers or fractions, got <U3 values"),
        (None, ValuesError, "integers or fractions, got None"),
        ([1, 2], ShapeError, "axes (rows, columns), got shape (2,)"),
        ([[]], ShapeError, "axes (rows, columns), got shape (1, 0)"),
        ([[1], [1, 2]], ShapeError, "rows of equal length, got [[1], [1, 2]]"),
        (np.ma.ones((1, 1), int), ValuesError, "an array without a mask, got int64 array"),
    ],
)
def test_values_that_are_none(value, kind, message):
    for call in (lambda: fractions(value), lambda: exact_attention([[1]], [[1]], value)):
        with pytest.raises(kind) as caught:
            call()
        assert str(caught.value).startswith(f"value: expected {message}")


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"query": [[1.0, 2]]}, ValuesError, "query: expected integers, got float64 values"),
        ({"key": [[Fraction(1), 2]]}, ValuesError, "key: expected integers, got object values"),
        ({"key": [[1, 2, 3]]}, ShapeError, "key: expected axes (keys, 2), got shape (1, 3)"),
        ({"query": [1, 2]}, ShapeError, "query: expected axes (queries, width), got shape (2,)"),
        (
            {"value": [[1], [2]]},
            ShapeError,
            "key and value: expected one number of tokens, got 1 and 2",
        ),
        ({"mask": [[True, True]]}, ShapeError, "mask: expected shape (1, 1), got shape (1, 2)"),
    ],
)
def test_attention_refuses(changes, kind, message):
    with pytest.raises(kind) as caught:
        exact_attention(**({"query": [[1, 2]], "key": [[3, 5]], "value": [[7]]} | changes))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("scores", "kind"), [([[0.0, 1]], ValuesError), ([1, 2], ShapeError), ([[True]], ValuesError)]
)
def test_scores_that_are_none(scores, kind):
    with pytest.raises(kind, match=r"^scores: expected "):
        exact_softmax(scores)
