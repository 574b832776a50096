"""Softmax attention against loops, closed forms, exact arithmetic, and its own laws."""

from dataclasses import replace
from itertools import permutations, product
from math import exp, fsum, log, log2, sqrt

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vitbias.attention import (
    HeadWeights,
    affine,
    attend,
    attention,
    multi_head,
    require_mask,
    softmax,
)
from vitbias.errors import GeometryError, ShapeError, ValuesError
from vitbias.exact_attention import exact_attention, exact_softmax

EPS = 2.0**-52
SCORES = st.integers(1, 7).flatmap(
    lambda keys: st.lists(
        st.lists(st.floats(-700, 700), min_size=keys, max_size=keys), min_size=1, max_size=4
    )
)


def loop_softmax(row, allowed=None):
    """The definition in 50 digits."""
    allowed = [True] * len(row) if allowed is None else allowed
    with mpmath.workdps(50):
        powers = [mpmath.exp(s) if ok else 0 for s, ok in zip(row, allowed, strict=True)]
        return [float(p / mpmath.fsum(powers)) for p in powers]


def loop_attention(query, key, value, mask=None, scale=None):
    """Plain loops over one head."""
    query, key, value = (np.asarray(a, float).tolist() for a in (query, key, value))
    scale = 1 / sqrt(len(query[0])) if scale is None else float(scale)
    output, weights = [], []
    for i, q in enumerate(query):
        row = [fsum(a * b for a, b in zip(q, k, strict=True)) * scale for k in key]
        may = [True] * len(key) if mask is None else list(mask[i])
        top = max(s for s, ok in zip(row, may, strict=True) if ok)
        powers = [exp(s - top) if ok else 0.0 for s, ok in zip(row, may, strict=True)]
        share = [p / fsum(powers) for p in powers]
        weights.append(share)
        output.append(
            [
                fsum(a * v[c] for a, v in zip(share, value, strict=True))
                for c in range(len(value[0]))
            ]
        )
    return np.array(output), np.array(weights)


def close(one, other, tolerance=1e-13):
    return np.allclose(one, other, rtol=tolerance, atol=tolerance)


@given(SCORES)
def test_softmax_against_50_digits(scores):
    weights = softmax(scores)
    assert close(weights, [loop_softmax(row) for row in scores], 1e-12)


@given(SCORES, st.integers(-300, 300))
def test_softmax_laws(scores, shift):
    weights = softmax(scores)
    keys = len(scores[0])
    assert ((weights >= 0) & (weights <= 1)).all()
    assert abs(weights.sum(axis=-1) - 1).max() <= keys * EPS
    assert close(softmax(np.array(scores) + shift), weights, 1e-11)
    order = np.roll(np.arange(keys)[::-1], 1)
    assert close(softmax(np.array(scores)[:, order]), weights[:, order], 4 * keys * EPS)
    for row, share in zip(scores, weights, strict=True):
        assert share[int(np.argmax(row))] >= 1 / keys - EPS


def test_softmax_shifts_by_integers_exactly():
    """Small integers are exact in floats, so the shifted rows are equal to the last bit."""
    scores = np.array([[2.0, 3, 5, 7], [11, 13, 2, 0]])
    assert np.array_equal(softmax(scores), softmax(scores + 1000))
    assert np.array_equal(softmax(scores), softmax(scores + np.array([[7], [-5]])))


def test_two_keys_are_the_logistic_function():
    for difference in (-30, -2.5, 0, 1, 3, 36):
        one = 1 / (1 + exp(-difference))
        assert close(softmax([[difference, 0.0]]), [[one, 1 - one]], 4 * EPS)


def test_equal_scores_give_equal_shares_and_full_entropy():
    for keys in (1, 2, 3, 5, 7, 11, 13):
        shares = softmax(np.full((3, keys), -7.5))
        assert close(shares, 1 / keys, EPS)
        entropy = -fsum(p * log2(p) for p in shares[0])
        assert abs(entropy - log2(keys)) < 1e-14
    assert softmax([[123.0]]).tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("scores", "shares"),
    [
        ([1e308, -1e308], [1, 0]),
        ([-1e308, -1e308], [0.5, 0.5]),
        ([1.7e308, 1.7e308, -1.7e308], [0.5, 0.5, 0]),
        ([0, 1e308], [0, 1]),
        ([5e-324, -5e-324], [0.5, 0.5]),
        ([800, 0], [1, exp(-745) * exp(-55)]),
    ],
)
def test_the_ends_of_the_range(scores, shares):
    assert close(softmax([scores]), [shares], EPS)
    for mask, expected in (
        ([True] * len(scores), shares),
        ([True] + [False] * (len(scores) - 1), [1]),
    ):
        masked = softmax([scores], mask=[mask])
        assert close(masked[0, : len(expected)], expected, EPS)


@pytest.mark.parametrize(
    ("kind", "out"),
    [("e", "e"), ("f", "f"), ("d", "d"), ("i8", "d"), ("u1", "d"), (">f4", "f"), ("g", "g")],
)
def test_types(kind, out):
    weights = softmax(np.array([[2, 3, 5], [7, 1, 0]], kind))
    assert weights.dtype == np.dtype(out)
    tolerance = 4 * float(np.finfo(out).eps)
    expected = [loop_softmax(row) for row in ([2, 3, 5], [7, 1, 0])]
    assert close(weights.astype(float), expected, max(tolerance, 1e-15))


@pytest.mark.parametrize("largest", [np.finfo(np.float16).max, np.finfo(np.float32).max])
def test_short_floats_at_the_ends_of_their_range(largest):
    scores = np.array([[largest, -largest], [-largest, -largest]])
    assert scores.dtype.itemsize < 8
    assert softmax(scores).tolist() == [[1, 0], [0.5, 0.5]]


def test_float32_follows_float64(rng):
    query, key, value = rng.normal(size=(3, 7, 5))
    single, shares = attend(*(a.astype(np.float32) for a in (query, key, value)))
    assert single.dtype == shares.dtype == np.float32
    assert close(single, attention(query, key, value), 20 * 2.0**-23)


def masks(queries, keys):
    """All masks in which every row allows a key."""
    rows = [row for row in product([False, True], repeat=keys) if any(row)]
    return product(rows, repeat=queries)


def test_every_mask_of_two_queries_and_three_keys(rng):
    scores = rng.normal(size=(2, 3)) * 5
    query, key, value = rng.normal(size=(2, 5)), rng.normal(size=(3, 5)), rng.normal(size=(3, 7))
    count = 0
    for mask in masks(2, 3):
        count += 1
        weights = softmax(scores, mask=mask)
        output, shares = attend(query, key, value, mask=mask)
        expected, expected_shares = loop_attention(query, key, value, mask)
        assert close(output, expected)
        assert close(shares, expected_shares)
        for row, score, share, may in zip(weights, scores, shares, mask, strict=True):
            assert close(row, loop_softmax(score, may))
            for one in (row, share):
                assert [p == 0 for p in one] == [not ok for ok in may]
            alone = softmax(score[None, list(may)])
            assert np.array_equal(row[list(may)], alone[0])
    assert count == 49


def test_a_forbidden_score_has_no_influence():
    mask = [[True, False, True]]
    one = softmax([[2.0, 3.0, 5.0]], mask=mask)
    for other in (-1e308, 0.0, 1e308):
        assert np.array_equal(softmax([[2.0, other, 5.0]], mask=mask), one)


@pytest.mark.parametrize(
    ("queries", "keys", "width", "values"),
    [(2, 3, 5, 7), (7, 1, 2, 3), (1, 11, 1, 1), (5, 5, 13, 2)],
)
@pytest.mark.parametrize("scale", [None, 0.3, -2, 0, np.float32(0.5)])
def test_attention_against_the_loop(rng, queries, keys, width, values, scale):
    query = rng.normal(size=(queries, width))
    key, value = rng.normal(size=(keys, width)), rng.normal(size=(keys, values))
    mask = rng.random((queries, keys)) < 0.6
    mask[:, 0] = True
    for may in (None, mask):
        output, weights = attend(query, key, value, mask=may, scale=scale)
        expected, shares = loop_attention(query, key, value, may, scale)
        assert close(output, expected)
        assert close(weights, shares)
        assert np.array_equal(attention(query, key, value, mask=may, scale=scale), output)
        assert output.min() >= value.min() - 1e-12
        assert output.max() <= value.max() + 1e-12


def test_attention_with_scale_ln_2_is_exact_attention(rng):
    query, key, value = rng.integers(-2, 3, (3, 5, 3))
    mask = np.tri(5, dtype=bool)
    for may in (None, mask):
        exact = exact_attention(query, key, value, mask=may).astype(float)
        assert close(attention(query, key, value, mask=may, scale=log(2)), exact)
        scores = query @ key.T
        assert close(
            softmax(scores * log(2), mask=may), exact_softmax(scores, mask=may).astype(float)
        )


def test_batch_axes_are_taken_one_by_one(rng):
    query, key = rng.normal(size=(2, 1, 5, 3)), rng.normal(size=(7, 11, 3))
    value = rng.normal(size=(2, 7, 11, 13))
    mask = rng.random((5, 11)) < 0.7
    mask[:, 3] = True
    output, weights = attend(query, key, value, mask=mask)
    assert output.shape == (2, 7, 5, 13)
    assert weights.shape == (2, 7, 5, 11)
    for i, j in product(range(2), range(7)):
        alone, shares = loop_attention(query[i, 0], key[j], value[i, j], mask)
        assert close(output[i, j], alone)
        assert close(weights[i, j], shares)


def test_permuting_tokens_permutes_the_output(rng):
    x = rng.normal(size=(4, 3))
    plain = attention(x, x, x)
    for perm in permutations(range(4)):
        moved = x[list(perm)]
        assert close(attention(moved, moved, moved), plain[list(perm)], 1e-14)
        assert close(attention(x, moved, moved), plain, 1e-14)


def test_integers_do_not_wrap():
    bytes_ = np.array([[200, 3], [100, 7]], np.uint8)
    big = np.array([[2**40, 0], [0, 2**40]])
    for array in (bytes_, big, bytes_.astype(np.int16)):
        same = attention(array.astype(float), array.astype(float), array.astype(float))
        assert np.array_equal(attention(array, array, array), same)


def weights_of(rng, width):
    parts = [rng.normal(size=s) for _ in range(4) for s in ((width, width), (width,))]
    return HeadWeights(*parts)


def loop_multi_head(tokens, weights, heads, mask=None):
    """Head by head with explicit slices; x W^T + b in loops."""
    count, width = tokens.shape
    part = width // heads

    def mapped(x, matrix, bias):
        return np.array(
            [
                [
                    fsum([bias[o], *(matrix[o, i] * row[i] for i in range(width))])
                    for o in range(width)
                ]
                for row in x
            ]
        )

    query = mapped(tokens, weights.query, weights.query_bias)
    key = mapped(tokens, weights.key, weights.key_bias)
    value = mapped(tokens, weights.value, weights.value_bias)
    joined, shares = np.zeros((count, width)), []
    for head in range(heads):
        span = slice(head * part, (head + 1) * part)
        joined[:, span], share = loop_attention(query[:, span], key[:, span], value[:, span], mask)
        shares.append(share)
    return mapped(joined, weights.output, weights.output_bias), np.array(shares)


@pytest.mark.parametrize(("heads", "width", "count"), [(1, 5, 3), (2, 6, 5), (3, 6, 2), (7, 7, 1)])
def test_multi_head_against_the_loop(rng, heads, width, count):
    tokens, weights = rng.normal(size=(count, width)), weights_of(rng, width)
    for mask in (None, np.tri(count, dtype=bool)):
        output, shares = multi_head(tokens, weights, heads, mask=mask)
        expected, expected_shares = loop_multi_head(tokens, weights, heads, mask)
        assert shares.shape == (heads, count, count)
        assert close(output, expected, 1e-12)
        assert close(shares, expected_shares, 1e-12)
    batch = np.stack([tokens, 2 * tokens, -tokens])[:, None]
    output, shares = multi_head(batch, weights, np.int8(heads))
    assert shares.shape == (3, 1, heads, count, count)
    for one, alone in zip(output[:, 0], batch[:, 0], strict=True):
        assert close(one, loop_multi_head(alone, weights, heads)[0], 1e-12)


def test_permuting_heads_changes_nothing(rng):
    heads, width = 3, 6
    tokens, weights = rng.normal(size=(5, width)), weights_of(rng, width)
    output, shares = multi_head(tokens, weights, heads)
    for perm in permutations(range(heads)):
        rows = np.arange(width).reshape(heads, -1)[list(perm)].ravel()
        moved = replace(
            weights,
            output=weights.output[:, rows],
            **{
                name: getattr(weights, name)[rows]
                for kind in ("query", "key", "value")
                for name in (kind, f"{kind}_bias")
            },
        )
        again, moved_shares = multi_head(tokens, moved, heads)
        assert close(again, output)
        assert close(moved_shares, shares[list(perm)])


def test_affine_against_the_loop(rng):
    tokens, weight, bias = rng.normal(size=(2, 3, 5)), rng.normal(size=(7, 5)), rng.normal(size=7)
    mapped = affine("map", tokens, weight, bias, 7)
    assert mapped.shape == (2, 3, 7)
    for i, j, o in product(range(2), range(3), range(7)):
        expected = fsum([bias[o], *(weight[o, k] * tokens[i, j, k] for k in range(5))])
        assert abs(mapped[i, j, o] - expected) < 1e-14
    assert np.array_equal(affine("map", tokens[0, 0], weight, bias, 7).shape, (7,))
    whole = np.array([[100, 100]], np.int8)
    assert affine("map", whole, np.array([[100, 100]], np.int8), [1], 1).tolist() == [[20001.0]]


def test_head_weights_are_frozen(rng):
    with pytest.raises(AttributeError):
        weights_of(rng, 2).query = None


@pytest.mark.parametrize(
    ("tokens", "weight", "bias", "kind", "message"),
    [
        (np.ones((2, 3)), np.ones((5, 2)), np.ones(5), ShapeError, "map: expected axes (5, 3)"),
        (np.ones((2, 3)), np.ones((3, 5)), np.ones(5), ShapeError, "map: expected axes (5, 3)"),
        (np.ones((2, 3)), np.ones((5, 3)), np.ones(3), ShapeError, "map_bias: expected axes (5)"),
        (np.ones((2, 3)), np.ones((5, 3)), 1.0, ShapeError, "map_bias: expected axes (5)"),
        (1.0, np.ones((5, 3)), np.ones(5), ShapeError, "tokens: expected axes (..., width)"),
        (np.ones((2, 3)), np.full((5, 3), np.nan), np.ones(5), ValuesError, "map: expected finite"),
        (np.ones((2, 3)), np.ones((5, 3)), np.full(5, np.inf), ValuesError, "map_bias: expected"),
        (
            [[1e308, -1e308, 0]],
            np.full((5, 3), 1e10),
            np.ones(5),
            ValuesError,
            "tokens after map: expected finite numbers, got ",
        ),
        (
            np.full((2, 3), 1e308),
            np.ones((5, 3)),
            np.ones(5),
            ValuesError,
            "tokens after map: expected finite numbers, got inf at index (0, 0)",
        ),
    ],
)
def test_affine_refuses(tokens, weight, bias, kind, message):
    with pytest.raises(kind) as caught:
        affine("map", tokens, weight, bias, 5)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("rows", [None, True, 1.5, 0, "5", np.ones(2), 2**80, -(2**80)])
def test_rows_are_a_size(rows):
    with pytest.raises(GeometryError, match=r"^rows: expected "):
        affine("map", np.ones((2, 3)), np.ones((1, 3)), np.ones(1), rows)


@pytest.mark.parametrize("count", [None, True, 2.0, 0, "2", np.ones(2)])
def test_queries_and_keys_are_sizes(count):
    with pytest.raises(GeometryError, match=r"^queries: expected an integer >= 1"):
        require_mask(np.ones((2, 2), bool), count, 2)
    with pytest.raises(GeometryError, match=r"^keys: expected an integer >= 1"):
        require_mask(np.ones((2, 2), bool), 2, count)


@pytest.mark.parametrize("weights", [None, (), "weights", HeadWeights, np.ones((6, 6))])
def test_weights_of_another_class(weights):
    with pytest.raises(ValuesError, match=r"^weights: expected an instance of HeadWeights, got "):
        multi_head(np.ones((2, 6)), weights, 2)


def test_masks_pass_as_booleans():
    assert require_mask([[True, False], [True, True]], 2, 2).tolist() == [[1, 0], [1, 1]]
    mask = np.ones((2, 3), bool)
    assert require_mask(mask, 2, 3) is mask


@pytest.mark.parametrize(
    ("mask", "kind", "message"),
    [
        ([[1, 0], [1, 1]], ValuesError, "booleans, True = allowed, got int64 values"),
        ([[True, None], [True, True]], ValuesError, "booleans, True = allowed, got object values"),
        (1.0, ValuesError, "booleans, True = allowed, got float64 values"),
        (True, ShapeError, "shape (2, 2), got shape ()"),
        ([[True, True]], ShapeError, "shape (2, 2), got shape (1, 2)"),
        (np.ones((1, 2, 2), bool), ShapeError, "shape (2, 2), got shape (1, 2, 2)"),
        ([[True], [True, False]], ShapeError, "rows of equal length, got [[True], [True, False]]"),
        (
            [[True, False], [False, False]],
            ValuesError,
            "an allowed key in every row, got none in row 1",
        ),
        (np.zeros((2, 2), bool), ValuesError, "an allowed key in every row, got none in row 0"),
        (np.ma.ones((2, 2), bool), ValuesError, "an array without a mask, got bool array"),
    ],
)
def test_masks_that_are_none(mask, kind, message):
    value = np.eye(2)
    for call in (
        lambda: require_mask(mask, 2, 2),
        lambda: softmax(value, mask=mask),
        lambda: attention(value, value, value, mask=mask),
        lambda: exact_softmax(value.astype(int), mask=mask),
    ):
        with pytest.raises(kind) as caught:
            call()
        assert str(caught.value).startswith(f"mask: expected {message}")


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"key": np.ones((3, 7))}, ShapeError, "query and key: expected one width, got 5 and 7"),
        (
            {"value": np.ones((2, 5))},
            ShapeError,
            "key and value: expected one number of tokens, got 3 and 2",
        ),
        (
            {"query": np.ones((2, 3, 5)), "key": np.ones((7, 3, 5))},
            ShapeError,
            "query, key, value: expected batch axes that fit, got (2,), (7,), ()",
        ),
        (
            {"value": np.ones((7, 3, 5)), "key": np.ones((2, 3, 5))},
            ShapeError,
            "query, key, value: expected batch axes that fit, got (), (2,), (7,)",
        ),
        ({"query": np.ones(5)}, ShapeError, "query: expected axes (..., queries, width), got"),
        ({"key": np.ones(5)}, ShapeError, "key: expected axes (..., keys, width), got"),
        ({"value": np.ones(5)}, ShapeError, "value: expected axes (..., keys, values), got"),
        (
            {"query": np.full((2, 5), np.nan)},
            ValuesError,
            "query: expected finite numbers, got nan",
        ),
        (
            {"query": np.full((2, 5), 1e308), "scale": 0},
            ValuesError,
            "scores: expected finite numbers, got nan",
        ),
        (
            {"query": np.ones((2, 3, 7)), "key": np.ones((2, 11, 5))},
            ShapeError,
            "query and key: expected one width, got 7 and 5",
        ),
        (
            {"key": np.ones((2, 11, 5)), "value": np.ones((2, 13, 7))},
            ShapeError,
            "key and value: expected one number of tokens, got 11 and 13",
        ),
        (
            {"query": np.full((2, 5), 1e308)},
            ValuesError,
            "scores: expected finite numbers, got inf",
        ),
        ({"scale": np.nan}, ValuesError, "scale: expected a finite number, got nan"),
        ({"scale": "1"}, ValuesError, "scale: expected a finite number, got '1'"),
        ({"scale": True}, ValuesError, "scale: expected a finite number, got True"),
        ({"scale": 1.7e308}, ValuesError, "scores: expected finite numbers, got inf"),
    ],
)
def test_attention_refuses(changes, kind, message):
    arguments = {"query": np.ones((2, 5)), "key": np.ones((3, 5)), "value": np.ones((3, 5))}
    for function in (attend, attention):
        with pytest.raises(kind) as caught:
            function(**(arguments | changes))
        assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("scores", "kind", "message"),
    [
        ([1.0, 2], ShapeError, "axes (..., queries, keys), got shape (2,)"),
        ([[]], ShapeError, "axes (..., queries, keys), got shape (1, 0)"),
        ([[1, np.inf]], ValuesError, "finite numbers, got inf at index (0, 1)"),
        ([[1j]], ValuesError, "integers or floats, got complex128 values"),
    ],
)
def test_scores_that_are_none(scores, kind, message):
    with pytest.raises(kind) as caught:
        softmax(scores)
    assert str(caught.value) == f"scores: expected {message}"


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        (4, "heads: expected a divisor of the width 6 (1, 2, 3, 6), got 4"),
        (7, "heads: expected a divisor of the width 6 (1, 2, 3, 6), got 7"),
        (0, "heads: expected an integer >= 1, got 0"),
        (2.0, "heads: expected an integer >= 1, got 2.0; write 2"),
        (True, "heads: expected an integer >= 1, got True"),
    ],
)
def test_heads_divide_the_width(rng, heads, message):
    with pytest.raises(GeometryError) as caught:
        multi_head(rng.normal(size=(2, 6)), weights_of(rng, 6), heads)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", list(HeadWeights.__dataclass_fields__))
def test_every_head_weight_is_checked(rng, name):
    tokens, weights = rng.normal(size=(3, 6)), weights_of(rng, 6)
    part = getattr(weights, name)
    for bad, kind in (
        (part[..., :5], ShapeError),
        (part.sum(), ShapeError),
        (part[None], ShapeError),
        (part * np.nan, ValuesError),
        (part * 1j, ValuesError),
        (None, ValuesError),
    ):
        with pytest.raises(kind, match=rf"^{name}: expected "):
            multi_head(tokens, replace(weights, **{name: bad}), 2)


def test_every_head_weight_matters(rng):
    """But for the key bias, which adds the same to a whole row of scores."""
    tokens, weights = rng.normal(size=(3, 6)), weights_of(rng, 6)
    output, _ = multi_head(tokens, weights, 2)
    for name in HeadWeights.__dataclass_fields__:
        changed, _ = multi_head(tokens, replace(weights, **{name: getattr(weights, name) + 0.1}), 2)
        assert close(changed, output, 1e-12) == (name == "key_bias")
