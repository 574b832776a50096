"""Dimensions by formula and by the rank of a derivative; changed weights and the same answers."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy

from vitbias.architecture import plain_vit
from vitbias.attention import attention, multi_head
from vitbias.errors import GeometryError, ShapeError, ValuesError
from vitbias.gauge import change_gauge, identifiable, product_jacobian, redundant_params
from vitbias.rank import exact_rank
from vitbias.vit import forward, initial_weights

MODEL = plain_vit(6, 3, 15, 2, 5, 7)
HEADS, INNER = 5, 3


def heads_maps(rng):
    return rng.normal(size=(HEADS, INNER, INNER)) + 3 * np.eye(INNER)


def changed(weights, **parts):
    blocks = [
        replace(block, attention=change_gauge(block.attention, HEADS, **parts))
        for block in weights.blocks
    ]
    return replace(weights, blocks=tuple(blocks))


@pytest.mark.parametrize(
    ("rank", "rows", "columns"),
    [(1, 2, 3), (2, 3, 5), (3, 5, 7), (3, 3, 5), (5, 5, 5), (2, 6, 5), (1, 1, 1)],
)
def test_the_rank_of_the_derivative(rank, rows, columns, rng):
    left = rng.integers(-9, 10, (rank, rows))
    right = rng.integers(-9, 10, (rank, columns))
    jacobian = product_jacobian(left, right)
    assert jacobian.shape == (rows * columns, rank * (rows + columns))
    assert exact_rank(jacobian).rank == identifiable(rows, columns, rank)
    assert exact_rank(jacobian).nullity == rank**2


def test_the_derivative_in_sympy():
    left = sympy.Matrix(2, 3, sympy.symbols("l:6"))
    right = sympy.Matrix(2, 5, sympy.symbols("r:10"))
    derivative = (left.T * right).reshape(15, 1).jacobian([*left, *right])
    at = dict(zip([*left, *right], range(-7, 9), strict=True))
    numbers = [np.array(part.subs(at).tolist(), dtype=int) for part in (left, right)]
    assert product_jacobian(*numbers).tolist() == derivative.subs(at).tolist()


def test_a_special_point_has_a_smaller_rank():
    assert exact_rank(product_jacobian(np.zeros((2, 3), int), np.zeros((2, 3), int))).rank == 0


def test_numbers_of_vit_b16():
    assert redundant_params(768, 12, 12) == 12 * 12 * 64**2 * 2 + 2 * 9216 == 1_198_080
    assert identifiable(768, 768, 64) == 2 * 768 * 64 - 64**2
    d, h, depth, k = sympy.symbols("d h L k", positive=True, integer=True)
    assert redundant_params(d, h, depth).subs({d: 768, h: 12, depth: 12}) == 1_198_080
    assert sympy.expand(identifiable(d, d, k) - (2 * d * k - k**2)) == 0


def test_redundant_dimensions_of_a_whole_attention(rng):
    """The derivative of scores (up to row constants) and of the output map, one head, with biases."""
    d, k = 5, 3
    query, key, value = (rng.integers(-9, 10, (k, d + 1)) for _ in range(3))
    output = rng.integers(-9, 10, (d, k))
    # scores but for row constants: [W_Q b_Q]^T W_K; output: W_O W_V, and b_O + W_O b_V
    scores = exact_rank(product_jacobian(query, key[:, :d])).rank
    product = product_jacobian(output.T, value)  # columns: W_O, then W_V with b_V
    bias_rows = np.zeros((d * (d + 1), d), int)
    for i in range(d):
        bias_rows[i * (d + 1) + d, i] = 1
    outputs = exact_rank(np.concatenate([product, bias_rows.astype(object)], axis=1)).rank
    stored = 3 * k * (d + 1) + d * k + d
    # one head of width k: k² twice, k key biases, k value biases
    assert stored - scores - outputs == 2 * k**2 + 2 * k == redundant_params(k, 1, 1)


def test_behind_a_norm_more_is_free(rng):
    """In fractions: a map that reads normed tokens keeps its outputs while W and b move together."""
    gain, offset, free = (
        np.array([Fraction(int(k), 7) for k in rng.integers(1, 9, n)]) for n in (5, 5, 3)
    )
    centred = np.array([[Fraction(int(k)) for k in row] for row in rng.integers(-9, 10, (11, 5))])
    centred -= centred.sum(axis=1, keepdims=True) / 5
    tokens, weight = gain * centred + offset, rng.integers(-9, 10, (3, 5))
    moved = weight + np.outer(free, 1 / gain)
    assert (tokens @ moved.T - free * (offset / gain).sum() == tokens @ weight.T).all()
    assert (tokens @ moved.T != tokens @ weight.T).all()
    # one dimension for each output: the tokens and the constant span 5 of 6 dimensions
    spanned = np.concatenate([tokens, np.ones((11, 1), dtype=int) * Fraction(1)], axis=1)
    assert exact_rank(spanned).rank == 5


PARTS = {
    "scores": lambda rng: {"scores": heads_maps(rng)},
    "values": lambda rng: {"values": heads_maps(rng)},
    "key bias": lambda rng: {"key_bias": rng.normal(size=15)},
    "value bias": lambda rng: {"value_bias": rng.normal(size=15)},
    "all": lambda rng: {
        "scores": heads_maps(rng),
        "values": heads_maps(rng),
        "key_bias": rng.normal(size=15),
        "value_bias": rng.normal(size=15),
    },
}


@pytest.mark.parametrize("name", PARTS)
def test_the_same_logits(name, rng):
    weights = initial_weights(MODEL, rng)
    pictures = rng.normal(size=(4, 6, 6, 3))
    other = changed(weights, **PARTS[name](rng))
    moved = [
        abs(getattr(a.attention, field) - getattr(b.attention, field)).max()
        for a, b in zip(weights.blocks, other.blocks, strict=True)
        for field in ("query", "key", "key_bias", "value", "value_bias", "output", "output_bias")
    ]
    assert max(moved) > 0.1
    difference = forward(pictures, weights, MODEL)[0] - forward(pictures, other, MODEL)[0]
    assert abs(difference).max() < 1e-12


def test_what_changes_the_answer(rng):
    weights = initial_weights(MODEL, rng).blocks[0].attention
    tokens = rng.normal(size=(4, 15))
    plain = multi_head(tokens, weights, HEADS)[0]
    for field in ("query", "query_bias", "output_bias"):
        part = getattr(weights, field)
        other = replace(weights, **{field: part + rng.normal(size=part.shape)})
        assert abs(multi_head(tokens, other, HEADS)[0] - plain).max() > 1e-3
    # one matrix for both: right only where it is orthogonal
    maps = heads_maps(rng)
    wrong = replace(
        weights,
        query=change_gauge(weights, HEADS, scores=maps).query,
        key=change_gauge(weights, HEADS, scores=np.linalg.inv(maps).mT).key,
    )
    assert abs(multi_head(tokens, wrong, HEADS)[0] - plain).max() > 1e-3
    turns = np.linalg.qr(maps)[0]
    same = change_gauge(weights, HEADS, scores=turns)
    assert (
        abs(same.key - change_gauge(weights, HEADS, scores=np.linalg.inv(turns).mT).key).max()
        < 1e-12
    )


def test_one_head_by_hand(rng):
    query, key, value = rng.normal(size=(3, 4, 3))
    a = rng.normal(size=(3, 3)) + 3 * np.eye(3)
    moved = attention(query @ a, key @ np.linalg.inv(a).T, value)
    assert abs(moved - attention(query, key, value)).max() < 1e-12


def test_gradient_descent_respects_rotations_only():
    """One step on |W_Q^T W_K - T|²/2, in fractions."""
    query = np.array([[1, 2, 0], [3, -1, 1]], dtype=object)
    key = np.array([[0, 1, 1], [2, 1, -1]], dtype=object)
    target = np.arange(9).reshape(3, 3)

    def step(q, k):
        error = q.T @ k - target
        q, k = q - k @ error.T / Fraction(97), k - q @ error / Fraction(97)
        return q.T @ k

    turn = np.array([[Fraction(3, 5), Fraction(4, 5)], [Fraction(-4, 5), Fraction(3, 5)]])
    assert (step(turn.T @ query, turn.T @ key) == step(query, key)).all()
    double = np.array([[2, 0], [0, 1]], dtype=object)
    half = np.array([[Fraction(1, 2), 0], [0, 1]], dtype=object)
    assert (query.T @ key == (double @ query).T @ (half @ key)).all()
    assert not (step(double @ query, half @ key) == step(query, key)).all()


@pytest.mark.parametrize(
    ("parts", "kind", "message"),
    [
        ({"scores": np.zeros((5, 3, 3))}, ValuesError, "scores: expected condition numbers up to"),
        ({"values": np.ones((5, 3, 3))}, ValuesError, "values: expected condition numbers up to"),
        ({"scores": np.ones((3, 3))}, ShapeError, "scores: expected axes (5, 3, 3)"),
        ({"values": np.ones((3, 5, 5))}, ShapeError, "values: expected axes (5, 3, 3)"),
        ({"key_bias": np.ones(3)}, ShapeError, "key_bias: expected"),
        ({"value_bias": np.full(15, np.nan)}, ValuesError, "value_bias: expected finite"),
        ({"heads": 4}, GeometryError, "width: expected a multiple of 4, got 15"),
        ({"weights": 3}, ValuesError, "weights: expected"),
    ],
)
def test_changes_that_are_refused(parts, kind, message, rng):
    arguments = {
        "weights": initial_weights(MODEL, rng).blocks[0].attention,
        "heads": HEADS,
        **parts,
    }
    with pytest.raises(kind) as caught:
        change_gauge(**arguments)
    assert str(caught.value).startswith(message)


def test_weights_that_do_not_fit_are_refused(rng):
    weights = initial_weights(MODEL, rng).blocks[0].attention
    for field in ("query_bias", "key"):
        cut = replace(weights, **{field: getattr(weights, field)[:7]})
        with pytest.raises(ShapeError, match=f"^{field}: expected 15 rows, got shape"):
            change_gauge(cut, HEADS, scores=heads_maps(rng))


def test_sizes_that_are_refused():
    with pytest.raises(GeometryError, match=r"^columns - rank: expected an integer >= 0, got -1"):
        identifiable(5, 2, 3)
    with pytest.raises(GeometryError, match=r"^width: expected a multiple of 5, got 768"):
        redundant_params(768, 5, 12)
    with pytest.raises(ShapeError, match=r"^left and right: expected one rank, got 2 and 3 rows"):
        product_jacobian(np.ones((2, 3), int), np.ones((3, 3), int))
    with pytest.raises(
        GeometryError, match=r"^left and right: expected at most 16,777,216 entries"
    ):
        product_jacobian(np.ones((9, 101), int), np.ones((9, 101), int))
