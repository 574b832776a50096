"""The kernel lattice is the whole one, its basis is reduced, and collisions are exact."""

from fractions import Fraction
from itertools import combinations, pairwise, product
from math import gcd

import numpy as np
import pytest
import sympy
from flint import fmpz_mat
from hypothesis import given
from hypothesis import strategies as st

from vitbias import lattice
from vitbias.errors import GeometryError, ShapeError, ValuesError
from vitbias.interface import null_vectors
from vitbias.lattice import collide, integer_product, kernel_lattice
from vitbias.rank import exact_rank

WEIGHTS = [
    [[2, 3]],
    [[6, 10, 15]],
    [[1, 2, 3, 5], [7, 11, 13, 17]],
    [[2, 4, 6, 8, 10]],
    [[0, 0, 0]],
    [[1, 0, 0, 0], [0, 1, 0, 0]],
    [[3, 1, 4, 1, 5, 9, 2], [2, 7, 1, 8, 2, 8, 1], [5, 8, 5, 9, 7, 17, 3]],
    [[2**80, 3, -(2**80)]],
]


def dot(first, second):
    return sum(a * b for a, b in zip(first, second, strict=True))


def gram_schmidt(basis):
    stars, mus = [], []
    for vector in basis:
        star, row = [Fraction(x) for x in vector], []
        for other in stars:
            row.append(Fraction(dot(vector, other)) / dot(other, other))
            star = [s - row[-1] * o for s, o in zip(star, other, strict=True)]
        stars.append(star)
        mus.append(row)
    return stars, mus


def is_kernel_lattice(weight, basis):
    """In the kernel, of full rank, and saturated: all elementary divisors are 1."""
    weight, basis = [[*map(int, row)] for row in weight], [[*map(int, row)] for row in basis]
    inside = all(dot(row, vector) == 0 for row in weight for vector in basis)
    nullity = len(weight[0]) - sympy.Matrix(weight).rank()
    divisors = fmpz_mat(basis).snf()
    return (
        inside and len(basis) == nullity and all(int(divisors[i, i]) == 1 for i in range(nullity))
    )


@pytest.mark.parametrize("weight", WEIGHTS)
def test_the_lattice_is_full(weight):
    basis = kernel_lattice(weight)
    assert basis.dtype == object
    assert all(type(entry) is int for entry in basis.flat)
    assert basis.shape == (exact_rank(weight).nullity, len(weight[0]))
    assert is_kernel_lattice(weight, basis.tolist())


@pytest.mark.parametrize("weight", WEIGHTS[:-1])
def test_index_one_by_the_minors(weight):
    """The gcd of the maximal minors is the index of the lattice in its saturation."""
    basis = sympy.Matrix(kernel_lattice(weight).tolist())
    minors = [
        int(basis[:, list(columns)].det())
        for columns in combinations(range(basis.cols), basis.rows)
    ]
    assert gcd(*minors) == 1


def test_the_oracle_sees_a_lattice_that_is_too_small():
    weight = [[1, 2, 3, 5], [7, 11, 13, 17]]
    basis = kernel_lattice(weight).tolist()
    assert not is_kernel_lattice(weight, [[2 * x for x in basis[0]], *basis[1:]])
    assert not is_kernel_lattice(weight, basis[:1])
    assert not is_kernel_lattice(weight, [[x + 1 for x in basis[0]], *basis[1:]])


@pytest.mark.parametrize("weight", WEIGHTS[:6])
def test_every_small_null_vector_is_an_integer_combination(weight):
    raw, reach = len(weight[0]), 3
    basis = sympy.Matrix(kernel_lattice(weight).tolist())
    gram = (basis * basis.T).inv()
    found = 0
    for vector in product(range(-reach, reach + 1), repeat=raw):
        if all(dot(row, vector) == 0 for row in weight):
            found += 1
            if found % 7 == 1:
                coordinates = gram * basis * sympy.Matrix(vector)
                assert all(c.is_integer for c in coordinates)
                assert basis.T * coordinates == sympy.Matrix(vector)
    assert found > 1


@pytest.mark.parametrize("weight", WEIGHTS)
def test_the_basis_is_reduced(weight):
    basis = kernel_lattice(weight).tolist()
    stars, mus = gram_schmidt(basis)
    norms = [dot(star, star) for star in stars]
    assert all(abs(mu) <= Fraction(51, 100) for row in mus for mu in row)
    for k in range(1, len(basis)):
        assert norms[k] >= (Fraction(3, 4) - mus[k][k - 1] ** 2) * norms[k - 1]
    first = dot(basis[0], basis[0])
    shortest = min(dot(v, v) for v in null_vectors(weight).tolist())
    assert first <= 2 ** (len(basis) - 1) * shortest


@pytest.mark.parametrize("bits", [1, 2, 3])
@pytest.mark.parametrize("weight", WEIGHTS)
def test_a_scale_that_is_too_small_is_doubled(weight, bits, monkeypatch):
    monkeypatch.setattr(lattice, "FIRST_SCALE_BITS", bits)
    assert is_kernel_lattice(weight, kernel_lattice(weight).tolist())


def test_the_scale_must_grow_for_entries_that_hide_at_first(monkeypatch):
    """With B = 2 the head 2·(2·1 - 1·1) of a short combination is shorter than its null vector."""
    scales = []
    monkeypatch.setattr(lattice, "FIRST_SCALE_BITS", 1)
    weight = np.array([[1009, 1013]])
    original = np.concatenate

    def spy(arrays, axis):
        scales.append(int(abs(arrays[0]).max()) // 1013)
        return original(arrays, axis=axis)

    monkeypatch.setattr(lattice.np, "concatenate", spy)
    assert abs(kernel_lattice(weight)).tolist() == [[1013, 1009]]
    assert scales[0] == 2
    assert len(scales) > 1
    assert all(later == earlier**2 for earlier, later in pairwise(scales))


@given(
    st.integers(1, 3).flatmap(
        lambda width: st.integers(width + 1, 6).flatmap(
            lambda raw: st.lists(
                st.lists(st.integers(-9, 9), min_size=raw, max_size=raw),
                min_size=width,
                max_size=width,
            )
        )
    )
)
def test_random_lattices_are_full(weight):
    assert is_kernel_lattice(weight, kernel_lattice(weight).tolist())


def test_injective_projections_have_no_lattice():
    for weight in ([[1, 0], [0, 1]], [[3]], [[1, 2], [3, 5], [7, 11]]):
        with pytest.raises(GeometryError) as caught:
            kernel_lattice(weight)
        message = "weight: expected a projection with a null space, got nullity 0"
        assert str(caught.value) == message
        with pytest.raises(GeometryError, match="got nullity 0"):
            collide(weight, [[0] * len(weight[0])], [[1] * len(weight[0])])


def nearest_plane(basis, wish):
    """Babai in fractions: the lattice vector, from the last basis vector to the first."""
    stars, _ = gram_schmidt(basis)
    rest, vector = [Fraction(x) for x in wish], [0] * len(wish)
    for star, basis_vector in zip(reversed(stars), reversed(basis), strict=True):
        coefficient = round(Fraction(dot(rest, star)) / dot(star, star))
        rest = [r - coefficient * b for r, b in zip(rest, basis_vector, strict=True)]
        vector = [v + coefficient * b for v, b in zip(vector, basis_vector, strict=True)]
    return vector


@pytest.mark.parametrize(
    ("width", "raw", "steps", "low", "high"),
    [(1, 3, 7, 0, 255), (2, 5, 20, 0, 255), (3, 7, 5, -11, 13), (5, 11, 3, 0, 30), (2, 7, 1, 0, 9)],
)
def test_collisions_against_babai_in_fractions(rng, width, raw, steps, low, high):
    weight = rng.integers(-3, 4, (width, raw))
    patches, targets = rng.integers(low, high + 1, (2, 13, raw))
    found = collide(weight, patches, targets, low=low, high=high, steps=steps)
    assert np.array_equal(found.first, patches)
    assert found.reached.dtype == np.float64
    basis = kernel_lattice(weight).tolist()
    moved = 0
    for x, t, second, token, reached in zip(
        patches.tolist(), targets.tolist(), found.second, found.tokens, found.reached, strict=True
    ):
        expected, share = x, Fraction(0)
        for step in range(steps, 0, -1):
            wish = [Fraction(step, steps) * (b - a) for a, b in zip(x, t, strict=True)]
            candidate = [a + v for a, v in zip(x, nearest_plane(basis, wish), strict=True)]
            if low <= min(candidate) and max(candidate) <= high:
                expected, share = candidate, Fraction(step, steps)
                break
        assert second.tolist() == expected
        assert reached == float(share)
        assert low <= min(second) and max(second) <= high
        for row, value in zip(weight.tolist(), token, strict=True):
            assert dot(row, second) == dot(row, x) == value
        assert all(type(entry) is int for entry in (*second, *token))
        moved += second.tolist() != x
    assert moved >= 3


def test_a_target_on_the_lattice_is_reached(rng):
    weight = rng.integers(-3, 4, (2, 7))
    basis = kernel_lattice(weight)
    patches = rng.integers(100, 156, (11, 7))
    targets = patches + rng.integers(-1, 2, (11, len(basis))) @ basis
    found = collide(weight, patches, targets)
    assert np.array_equal(found.second, targets)
    assert (found.reached == 1).all()


@pytest.mark.parametrize("noise", [-1e-13, 0, 1e-13])
def test_ties_go_to_the_even_side_whatever_the_last_bits(noise):
    """Half of (1, -1) lies between two lattice points; so does half of (3, -3)."""
    basis = np.array([[1, -1]], dtype=object)
    halves = np.array([[0.5, -0.5], [1.5, -1.5], [2.5, -2.5]]) * (1 + noise)
    assert lattice._nearest_plane(basis, halves).tolist() == [[0], [2], [2]]


def test_what_cannot_move_stays():
    found = collide([[1, 1]], [[0, 0], [255, 255], [5, 7]], [[255, 255], [0, 0], [7, 5]])
    assert found.second.tolist() == [[0, 0], [255, 255], [7, 5]]
    assert found.tokens.tolist() == [[0], [510], [12]]
    assert found.reached[2] == 1
    tight = collide([[1, 1]], [[0, 3]], [[3, 3]], low=0, high=3, steps=3)
    assert tight.second.tolist() in ([[1, 2]], [[2, 1]])
    stuck = collide([[1, 1000]], [[7, 7]], [[200, 9]])
    assert stuck.second.tolist() == [[7, 7]]
    blocked = collide([[1, -10]], [[0, 0]], [[9, 0]], low=-9, high=9, steps=2)
    assert (blocked.second.tolist(), blocked.reached.tolist()) == ([[0, 0]], [0.5])


def test_results_are_frozen():
    with pytest.raises(AttributeError):
        collide([[1, 1]], [[0, 3]], [[3, 3]]).second = None


def test_no_step_fits():
    """The nearest lattice point of every share overshoots: the patch itself, share 0."""
    found = collide([[1, 1]], [[0, 0]], [[3, 0]], low=0, high=3, steps=1)
    assert found.second.tolist() == [[0, 0]]
    assert found.reached.tolist() == [0.0]


def test_coefficients_beyond_64_bits_do_not_wrap():
    """A float chooses the lattice point, so it is near; the collision is exact all the same."""
    found = collide([[1, 1]], [[0, 2**80]], [[2**80, 0]], high=2**81)
    (first, second) = found.second[0].tolist()
    assert first + second == 2**80
    assert abs(first - 2**80) < 2**80 * 1e-14
    assert found.tokens.tolist() == [[2**80]]
    assert found.reached.tolist() == [1.0]


@pytest.mark.parametrize("sign", [1, -1])
def test_coefficients_at_the_edge_of_64_bits_stay_integers(sign):
    """NumPy would make floats of 2^63 + 2^40 beside -3; the basis may have either sign."""
    far = 2**63 + 2**40
    patches, targets = [[0, far], [5, 2]], [[far, 0], [2, 5]]
    found = collide([[1, 1]], *((patches, targets)[::sign]), high=2 * far)
    assert found.second[1].tolist() == ([2, 5], [5, 2])[sign < 0]
    assert sum(found.second[0]) == far
    assert all(type(entry) is int for entry in found.second.flat)


def test_lattices_beyond_the_range_of_floats_are_refused():
    weight = [[1, 2**2000]]
    assert abs(kernel_lattice(weight)).tolist() == [[2**2000, 1]]
    with pytest.raises(ValuesError) as caught:
        collide(weight, [[1, 1]], [[2, 0]])
    assert str(caught.value) == (
        "weight: expected a lattice within the range of floats, got a basis vector of 2001 bits"
    )


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"weight": [[1.5, 1]]}, ValuesError, "weight: expected integers, got float64 values"),
        ({"weight": [1, 1]}, ShapeError, "weight: expected axes (width, raw), got shape (2,)"),
        ({"patches": [[1, 256]]}, ValuesError, "patches: expected values in 0 to 255, got 256"),
        ({"targets": [[1, -1]]}, ValuesError, "targets: expected values in 0 to 255, got -1"),
        ({"patches": [1, 2]}, ShapeError, "patches: expected axes (patches, 2), got shape (2,)"),
        ({"patches": [[1, 2, 3]]}, ShapeError, "patches: expected axes (patches, 2), got shape"),
        ({"targets": [[1, 2]] * 2}, ShapeError, "targets: expected shape (1, 2), got shape (2, 2)"),
        ({"steps": 0}, GeometryError, "steps: expected an integer >= 1, got 0"),
        ({"steps": 2.0}, GeometryError, "steps: expected an integer >= 1, got 2.0; write 2"),
        ({"low": 0.0}, ValuesError, "low: expected integers, got 0.0"),
        ({"high": "255"}, ValuesError, "high: expected integers, got '255'"),
        ({"low": 3, "high": 2}, ValuesError, "patches: expected values in 3 to 2, got 1 at index"),
    ],
)
def test_collide_refuses(changes, kind, message):
    arguments = {"weight": [[1, 1]], "patches": [[1, 2]], "targets": [[2, 1]]} | changes
    with pytest.raises(kind) as caught:
        collide(**arguments)
    assert str(caught.value).startswith(message)


def test_shares_are_twentieths_unless_told(rng):
    weight = rng.integers(-2, 3, (5, 48))
    patches, targets = rng.integers(0, 256, (2, 7, 48))
    twentieths = collide(weight, patches, targets).reached * 20
    assert np.allclose(twentieths, np.rint(twentieths), atol=1e-12)
    assert ((twentieths > 0) & (twentieths < 20)).any()


def test_the_photographic_case_in_small(rng):
    """48 values, 5 of them fixed by the token: every patch gets far, all tokens stay."""
    weight = rng.integers(-2, 3, (5, 48))
    patches, targets = rng.integers(60, 196, (2, 7, 48))
    found = collide(weight, patches, targets)
    assert np.array_equal(found.second @ weight.T, patches @ weight.T)
    assert (found.reached > 0.5).all()
    distance = abs(found.second - targets).mean()
    assert distance < abs(patches - targets).mean() / 2


@pytest.mark.parametrize("size", [9, 2**20, 2**26, 2**27, 2**80])
def test_integer_products_at_any_size(rng, size):
    left = [[int(x) * size + 1 for x in row] for row in rng.integers(-9, 10, (3, 5))]
    right = [[int(x) * size - 1 for x in row] for row in rng.integers(-9, 10, (5, 2))]
    found = integer_product(left, right)
    expected = [[dot(row, column) for column in zip(*right, strict=True)] for row in left]
    assert found.tolist() == expected
    assert all(type(entry) is int for entry in found.flat)


@pytest.mark.parametrize("flint", [False, True])
def test_products_just_below_2_to_53_stay_in_floats(monkeypatch, flint):
    """2^53 - 1 passes through float64, 2^53 + 1 would not."""
    monkeypatch.setattr(lattice, "flint_matrix", None)
    if flint:
        with pytest.raises(TypeError):
            integer_product([[2**53 + 1]], [[1]])
    else:
        assert integer_product([[2**53 - 1]], [[1]]).tolist() == [[2**53 - 1]]


def test_nothing_times_a_number_beyond_floats():
    assert integer_product([[0]], [[10**400]]).tolist() == [[0]]
    assert integer_product([[10**400]], [[0]]).tolist() == [[0]]


def test_integer_product_refuses():
    with pytest.raises(
        ShapeError, match=r"^right: expected axes \(2, columns\), got shape \(1, 2\)"
    ):
        integer_product([[1, 2]], [[1, 2]])
    with pytest.raises(ValuesError, match=r"^left: expected integers"):
        integer_product([[1.0]], [[1]])


def test_what_would_overflow_or_not_end_is_refused() -> None:
    with pytest.raises(ValuesError, match="high"):
        collide([[1, 2]], [[10**400, 1]], [[1, 1]], high=10**401)
    with pytest.raises(GeometryError, match="steps"):
        collide([[1, 2]], [[9, 9]], [[1, 1]], steps=2**63)
