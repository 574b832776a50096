"""Rank, null vectors and collisions, against elimination in fractions, sympy, and enumeration."""

from fractions import Fraction
from itertools import product
from math import gcd

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from vitbias.errors import GeometryError, ShapeError, ValuesError
from vitbias.interface import collision, fold_normalisation, min_nullity, null_vector, null_vectors
from vitbias.rank import (
    LARGEST_PRIME,
    certified_rank,
    exact_rank,
    integer_rows,
    numerical_rank,
    primes_below,
)

SMALL = st.integers(-3, 3)


def matrices(entries=SMALL, most=5):
    return st.tuples(st.integers(1, most), st.integers(1, most)).flatmap(
        lambda shape: st.lists(
            st.lists(entries, min_size=shape[1], max_size=shape[1]),
            min_size=shape[0],
            max_size=shape[0],
        )
    )


def plain_rank(rows):
    return sympy.Matrix(rows).rank()


def in_span(vectors, vector):
    return plain_rank([*vectors, vector]) == plain_rank(vectors)


@pytest.mark.parametrize(("raw", "width"), [*product([1, 2, 3, 5, 48], [0, 1, 2, 3, 5, 7, 48, 64])])
def test_min_nullity_is_attained_and_never_beaten(raw, width):
    least = min_nullity(raw, width)
    assert type(least) is int
    assert least == max(0, raw - width)
    if width:
        assert exact_rank(np.eye(width, raw, dtype=int)).nullity == least
        assert exact_rank(np.arange(width * raw).reshape(width, raw)).nullity >= least


def test_min_nullity_in_symbols():
    D, d = sympy.symbols("D d", positive=True, integer=True)
    formal = min_nullity(D, d)
    assert formal == sympy.Max(0, D - d)
    for raw, width in product([1, 2, 3, 768], [1, 2, 5, 192, 1024]):
        assert formal.subs({D: raw, d: width}) == min_nullity(raw, width)
        assert min_nullity(D, width).subs(D, raw) == min_nullity(raw, width)
    assert min_nullity(2**80, 3) == 2**80 - 3


@pytest.mark.parametrize(
    ("raw", "width", "field"),
    [(0, 1, "raw"), (4, -1, "width"), (4.0, 2, "raw"), (4, True, "width"), ("4", 2, "raw")],
)
def test_min_nullity_wants_sizes(raw, width, field):
    with pytest.raises(GeometryError, match=rf"^{field}: expected an integer >= "):
        min_nullity(raw, width)


@given(matrices())
def test_null_vectors_are_a_primitive_basis(rows):
    vectors = null_vectors(rows)
    nullity = len(rows[0]) - plain_rank(rows)
    assert vectors.shape == (nullity, len(rows[0]))
    assert vectors.dtype == object
    for vector in vectors.tolist():
        assert all(type(entry) is int for entry in vector)
        assert all(sum(a * b for a, b in zip(row, vector, strict=True)) == 0 for row in rows)
        assert gcd(*vector) == 1
        assert next(entry for entry in vector if entry) > 0
    if nullity:
        assert plain_rank(vectors.tolist()) == nullity
        for column in sympy.Matrix(rows).nullspace():
            assert in_span(vectors.tolist(), [Fraction(int(e.p), int(e.q)) for e in column])


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int8, np.uint64, ">f4"])
def test_types_of_numpy(kind):
    matrix = np.array([[1, 2, 3, 5], [7, 11, 13, 17], [8, 13, 16, 22]], kind)
    assert exact_rank(matrix).rank == 2
    assert null_vectors(matrix).shape == (2, 4)
    assert integer_rows(matrix).tolist() == matrix.tolist()
    assert numerical_rank(matrix).rank == 2


def test_huge_and_tiny_entries_are_exact():
    huge = 2**80
    assert exact_rank([[huge, huge + 1], [huge + 1, huge + 2]]).rank == 2
    assert exact_rank([[huge, 2 * huge], [1, 2]]).rank == 1
    assert null_vectors([[huge, 1]]).tolist() == [[1, -huge]]
    assert exact_rank([[5e-324, 1e308], [0.0, 5e-324]]).rank == 2
    assert integer_rows([[5e-324, -0.0]]).tolist() == [[1, 0]]


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 5), st.integers(0, 2**32 - 1))
def test_product_of_factors_has_the_rank_of_the_waist(width, raw, waist, seed):
    """Unit triangular factors: rank d x r times r x D is min(r, d, D) by construction."""
    draw = np.random.default_rng(seed)
    lower = np.tril(draw.integers(-3, 4, (width, width)), -1) + np.eye(width, dtype=int)
    upper = np.triu(draw.integers(-3, 4, (raw, raw)), 1) + np.eye(raw, dtype=int)
    middle = np.zeros((width, raw), int)
    rank = min(width, raw, waist)
    middle[range(rank), range(rank)] = 1
    matrix = lower @ middle @ upper
    assert exact_rank(matrix).rank == rank
    assert numerical_rank(matrix.astype(float)).rank == rank
    assert len(null_vectors(matrix)) == raw - rank


@given(matrices())
def test_one_null_vector_is_one_of_the_basis_span(rows):
    basis = null_vectors(rows)
    if not len(basis):
        with pytest.raises(GeometryError, match="a projection with a null space, got nullity 0"):
            null_vector(rows)
        return
    vector = null_vector(rows).tolist()
    assert all(type(entry) is int for entry in vector)
    assert all(sum(a * b for a, b in zip(row, vector, strict=True)) == 0 for row in rows)
    assert gcd(*vector) == 1 and next(entry for entry in vector if entry) > 0
    assert in_span(basis.tolist(), vector)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int8, object])
def test_one_null_vector_of_a_wide_matrix(rng, kind):
    weight = rng.integers(-100, 101, (7, 23)).astype(kind)
    vector = null_vector(weight)
    assert not (integer_rows(weight) @ vector).any() and vector.any()


def test_a_prime_that_hides_a_row_is_noticed():
    """Both rows agree modulo the first prime that is tried; the null vector still obeys both."""
    prime = next(iter(primes_below(LARGEST_PRIME)))
    weight = np.array([[1, 2, 3], [1, 2 + prime, 3 - 2 * prime]], dtype=object)
    assert not (weight @ null_vector(weight)).any()


def test_an_injective_map_has_no_null_vectors():
    vectors = null_vectors([[2, 0], [0, 3], [5, 7]])
    assert vectors.shape == (0, 2)
    assert vectors.dtype == object
    assert null_vectors([[0, 0, 0]]).tolist() != []
    assert exact_rank(np.zeros((3, 5))) == exact_rank(np.zeros((3, 5), int))
    assert exact_rank([[0.0, 0.0]]).nullity == 2


def test_composition_never_shrinks_the_null_space(rng):
    for width, raw in [(3, 7), (5, 11), (7, 5)]:
        first = rng.integers(-3, 4, (width, raw))
        second = rng.integers(-3, 4, (2, width))
        assert exact_rank(second @ first).nullity >= exact_rank(first).nullity
        assert not (second @ first @ null_vectors(first).T).any()


def loop_collides(weight, first, second):
    tokens = [
        [sum(int(w) * int(x) for w, x in zip(row, patch, strict=True)) for row in weight]
        for patch in (first, second)
    ]
    return tokens[0] == tokens[1]


def test_the_collision_of_the_book():
    found = collision([[1, 0, 0, 0], [0, 1, 0, 0]], [1, 2, 3, 4])
    assert loop_collides([[1, 0, 0, 0], [0, 1, 0, 0]], [1, 2, 3, 4], [1, 2, 4, 3])
    assert found.first.tolist() == [1, 2, 3, 4]
    assert found.second.tolist() != [1, 2, 3, 4]
    assert found.second[:2].tolist() == found.token.tolist() == [1, 2]


@given(matrices(SMALL, 4), st.data())
def test_collisions_are_exact_and_in_range_or_refused_with_reason(weight, data):
    raw = len(weight[0])
    low = data.draw(st.integers(-3, 3))
    high = low + data.draw(st.integers(0, 4))
    patch = data.draw(st.lists(st.integers(low, high), min_size=raw, max_size=raw))
    moves = [v for vector in null_vectors(weight).tolist() for v in (vector, [-e for e in vector])]
    seconds = [[a + b for a, b in zip(patch, move, strict=True)] for move in moves]
    fitting = [s for s in seconds if low <= min(s) and max(s) <= high]
    if fitting:
        found = collision(weight, patch, low=low, high=high)
        assert found.first.tolist() == patch
        assert found.second.tolist() == fitting[0] != patch
        assert loop_collides(weight, patch, fitting[0])
        assert found.token.tolist() == [
            sum(w * x for w, x in zip(row, patch, strict=True)) for row in weight
        ]
        assert all(type(entry) is int for entry in (*found.second, *found.token))
        return
    with pytest.raises(GeometryError) as caught:
        collision(weight, patch, low=low, high=high)
    got = f"{len(moves) // 2} null vectors, none of which fits" if moves else "nullity 0"
    assert str(caught.value) == (
        f"weight: expected a null vector that stays in {low} to {high} around the patch, got {got}"
    )


def test_only_collisions_exist_where_one_is_found():
    """Enumeration of all patches with values 0 to 3: each token class has its second member."""
    weight = [[1, 2, 3], [0, 1, 1]]
    classes = {}
    for patch in product(range(4), repeat=3):
        token = tuple(sum(w * x for w, x in zip(row, patch, strict=True)) for row in weight)
        classes.setdefault(token, set()).add(patch)
    for patches in classes.values():
        for patch in patches:
            if len(patches) == 1:
                with pytest.raises(GeometryError):
                    collision(weight, patch, low=0, high=3)
            else:
                second = tuple(collision(weight, patch, low=0, high=3).second)
                assert second in patches - {patch}


def test_default_range_is_8_bits():
    assert collision([[1, 1]], [0, 255]).second.tolist() == [1, 254]
    assert collision([[1, 1]], [255, 0]).second.tolist() == [254, 1]
    with pytest.raises(GeometryError, match=r"stays in 0 to 255 around the patch, got 1 null"):
        collision([[1, 1]], [0, 0])
    assert collision([[1, -(2**80)]], [2**80, 0], high=2**81).second.tolist() == [2**81, 1]


@pytest.mark.parametrize(
    ("weight", "patch", "limits", "kind", "message"),
    [
        ([[1.0, 1]], [1, 1], {}, ValuesError, "weight: expected integers, got float64 values"),
        ([[1, 1]], [1, 1, 1], {}, ShapeError, "patch: expected axes (2), got shape (3,)"),
        ([[1, 1]], [[1, 1]], {}, ShapeError, "patch: expected axes (2), got shape (1, 2)"),
        ([1, 1], [1, 1], {}, ShapeError, "weight: expected axes (width, raw), got shape (2,)"),
        ([[1, 1]], [1, 256], {}, ValuesError, "patch: expected values in 0 to 255, got 256 at"),
        ([[1, 1]], [-1, 5], {}, ValuesError, "patch: expected values in 0 to 255, got -1 at"),
        ([[1, 1]], [1, 5.0], {}, ValuesError, "patch: expected integers, got float64 values"),
        ([[1, 1]], [1, 5], {"low": 0.5}, ValuesError, "low: expected integers, got 0.5"),
        ([[1, 1]], [1, 5], {"high": None}, ValuesError, "high: expected integers, got None"),
    ],
)
def test_collision_refuses(weight, patch, limits, kind, message):
    with pytest.raises(kind) as caught:
        collision(weight, patch, **limits)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "function",
    [exact_rank, certified_rank, null_vector, null_vectors, integer_rows, numerical_rank],
)
@pytest.mark.parametrize(
    ("weight", "kind"),
    [
        ([1, 2], ShapeError),
        (5, ShapeError),
        ([[]], ShapeError),
        ([[1], [1, 2]], ShapeError),
        (np.zeros((2, 3, 5)), ShapeError),
        ([[1, float("nan")]], ValuesError),
        ([[1, float("inf")]], ValuesError),
        ([["1", 2]], ValuesError),
        ([[True, False]], ValuesError),
        ([[1j]], ValuesError),
        (np.ma.array([[1, 2]], mask=[[0, 1]]), ValuesError),
    ],
)
def test_matrices_that_are_none(function, weight, kind):
    with pytest.raises(kind, match=r"^weight: expected "):
        function(weight)


MEAN = [Fraction(m, 1000) for m in (485, 456, 406)]
STD = [Fraction(s, 1000) for s in (229, 224, 225)]


def test_folding_is_exact_for_every_pixel_of_a_patch(rng):
    """Entry by entry in fractions, with the channel of each place written out."""
    weight, bias = rng.integers(-9, 10, (5, 12)), rng.integers(-9, 10, 5)
    folded, shifted = fold_normalisation(weight, bias, MEAN, STD)
    assert all(type(entry) is Fraction for entry in (*folded.flat, *shifted))
    for patch in rng.integers(0, 256, (7, 12)).tolist():
        normal = [(Fraction(x, 255) - MEAN[k % 3]) / STD[k % 3] for k, x in enumerate(patch)]
        for row, b, new, c in zip(weight.tolist(), bias.tolist(), folded, shifted, strict=True):
            first = sum(w * x for w, x in zip(row, normal, strict=True)) + b
            assert sum(w * x for w, x in zip(new, patch, strict=True)) + c == first


def test_folding_in_two_symbols():
    e, b, m, x = sympy.symbols("e b m x")
    s = sympy.Symbol("s", positive=True)
    assert sympy.expand(e * (x / 255 - m) / s + b - (e / (255 * s) * x + b - e * m / s)) == 0


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_floats_fold_as_dyadic_rationals(rng, kind):
    weight, bias = rng.normal(size=(3, 6)).astype(kind), rng.normal(size=3).astype(kind)
    folded, shifted = fold_normalisation(weight, bias, [0.5, 0.25, 0.125], [0.5, 1.0, 2.0])
    for k in range(6):
        spread = (Fraction(1, 2), 1, 2)[k % 3]
        assert [entry * 255 * spread for entry in folded[:, k]] == [
            Fraction(w) for w in weight[:, k].tolist()
        ]
    picture = rng.integers(0, 256, 6)
    normal = (picture / 255 - np.tile([0.5, 0.25, 0.125], 2)) / np.tile([0.5, 1, 2], 2)
    assert np.allclose(
        (folded @ picture + shifted).astype(float), weight @ normal + bias, atol=1e-6
    )


def test_one_channel_and_no_normalisation():
    folded, shifted = fold_normalisation([[255, 510]], [7], [0], [1])
    assert (folded.tolist(), shifted.tolist()) == ([[1, 2]], [7])


def test_folding_keeps_the_null_space_up_to_the_spread(rng):
    """E' v = 0 exactly when E (v/std) = 0."""
    weight = rng.integers(-9, 10, (3, 6))
    folded, _ = fold_normalisation(weight, [0, 0, 0], MEAN, STD)
    vectors = null_vectors(folded)
    assert len(vectors) == 3
    for vector in vectors:
        assert not (weight @ np.array([v / s for v, s in zip(vector, STD * 2, strict=True)])).any()


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"weight": [1, 2]}, ShapeError, "weight: expected axes (width, raw), got shape (2,)"),
        ({"bias": [1, 2]}, ShapeError, "bias: expected axes (1), got shape (2,)"),
        ({"mean": 0.5}, ShapeError, "mean: expected axes (channels), got shape ()"),
        ({"std": [1]}, ShapeError, "std: expected axes (2), got shape (1,)"),
        ({"std": [1, 0]}, ValuesError, "std: expected numbers > 0, got "),
        ({"std": [1, -1.0]}, ValuesError, "std: expected numbers > 0, got "),
        ({"mean": [1, float("inf")]}, ValuesError, "mean: expected finite numbers, got inf"),
        ({"mean": [1] * 3, "std": [1] * 3}, GeometryError, "raw: expected a multiple of 3, got 4"),
    ],
)
def test_folding_refuses(changes, kind, message):
    arguments = {"weight": [[1, 2, 3, 4]], "bias": [1], "mean": [0, 1], "std": [1, 2]} | changes
    with pytest.raises(kind) as caught:
        fold_normalisation(**arguments)
    assert str(caught.value).startswith(message)
