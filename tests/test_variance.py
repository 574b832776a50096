"""Variance that a projection keeps: exact against floats, formula against least squares, the bound."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vitbias.errors import GeometryError, ShapeError, ValuesError
from vitbias.interface import null_vectors
from vitbias.photographs import photograph
from vitbias.rank import certified_rank, exact_rank
from vitbias.variance import (
    integer_covariance,
    linear_residual,
    pca_bound,
    pca_curve,
    retained_variance,
)

SMALL = st.integers(-4, 4)


@given(
    arrays(int, (5, 7), elements=SMALL),
    arrays(int, (3, 5), elements=SMALL),
    arrays(int, 5, elements=SMALL),
)
def test_the_residual_is_the_error_of_least_squares(samples, projection, direction):
    samples = samples.T
    covariance = integer_covariance(samples)
    exact = linear_residual(covariance, projection, direction)
    table = np.column_stack([samples @ projection.T, np.ones(7)])
    label = samples @ direction
    guess = table @ np.linalg.lstsq(table, label, rcond=None)[0]
    measured = ((label - guess) ** 2).mean()
    assert type(exact) is Fraction and exact >= 0
    assert float(exact) / 49 == pytest.approx(measured, abs=1e-8)
    assert linear_residual(covariance.astype(float), projection, direction) == pytest.approx(
        float(exact), abs=1e-7
    )


@given(
    arrays(int, (5, 3), elements=SMALL),
    arrays(int, (2, 5), elements=SMALL),
    arrays(int, 5, elements=SMALL),
)
def test_zero_exactly_in_the_row_space_plus_the_kernel(root, projection, direction):
    covariance = root @ root.T
    seen = projection @ covariance
    inside = exact_rank(np.vstack([seen, direction @ covariance])).rank == exact_rank(seen).rank
    assert (linear_residual(covariance, projection, direction) == 0) == inside


def test_a_row_or_a_direction_of_the_kernel_is_without_loss(rng):
    root = rng.integers(-4, 5, (7, 3))
    covariance, projection = root @ root.T, rng.integers(-4, 5, (2, 7))
    kernel = null_vectors(covariance)
    assert len(kernel) == 4
    inside = 3 * projection[0] - projection[1] + kernel[2]
    assert linear_residual(covariance, projection, inside) == 0
    assert linear_residual(covariance, projection, rng.integers(1, 9, 7)) > 0


def test_uncorrelated_is_not_irrelevant():
    """The label is the square of what the token keeps."""
    kept = [Fraction(-1), Fraction(0), Fraction(1)]
    squares = [a * a - Fraction(2, 3) for a in kept]
    assert sum(a * b for a, b in zip(kept, squares, strict=True)) == 0
    spread = [[Fraction(2, 3), 0], [0, sum(b * b for b in squares) / 3]]
    assert linear_residual(spread, [[1, 0]], [0, 1]) == Fraction(2, 9)
    # standard normal: E[(A² - 1)²] = 2
    assert linear_residual([[1, 0], [0, 2]], [[1, 0]], [0, 1]) == 2


def test_a_singular_covariance_ties_directions_together():
    assert linear_residual([[1, 1], [1, 1]], [[1, 0]], [0, 1]) == 0
    assert linear_residual([[1.0, 1], [1, 1]], [[1, 0]], [0, 1]) == pytest.approx(0, abs=1e-15)
    assert linear_residual([[1, 1], [1, 2]], [[1, 0]], [0, 1]) == 1


def test_rows_that_say_nothing_change_nothing(rng):
    root = rng.integers(-4, 5, (5, 5))
    covariance, row, w = root @ root.T, rng.integers(1, 5, (1, 5)), rng.integers(-4, 5, 5)
    expected = linear_residual(covariance, row, w)
    for rows in (np.vstack([row, 2 * row]), np.vstack([0 * row, row])):
        assert linear_residual(covariance, rows, w) == expected
        assert linear_residual(covariance * 1.0, rows, w) == pytest.approx(float(expected))
    # rows of other sizes by many orders: the rank of the rows decides, not their lengths
    pair = np.vstack([row, rng.integers(1, 5, (1, 5))])
    scaled = pair * np.array([[1e-150], [1e150]])
    assert linear_residual(covariance * 1.0, scaled, w) == pytest.approx(
        float(linear_residual(covariance, pair, w))
    )
    assert linear_residual(covariance * 1.0, 0.0 * row, w) == pytest.approx(w @ covariance @ w)


def test_retained_variance_depends_on_the_row_space_only(rng):
    root, projection = rng.integers(-4, 5, (7, 7)), rng.integers(-4, 5, (3, 7))
    covariance, change = root @ root.T, np.array([[1, 2, 0], [0, 1, 5], [0, 0, 3]])
    share = retained_variance(covariance, projection)
    assert type(share) is Fraction and 0 < share < 1
    assert retained_variance(covariance, change @ projection) == share
    assert retained_variance(covariance / 1, projection) == pytest.approx(float(share))
    assert retained_variance(covariance, np.eye(7, dtype=int)) == 1


def test_no_projection_passes_the_bound_and_eigenvectors_attain_it(rng):
    root = rng.normal(size=(11, 13))
    covariance = root @ root.T
    covariance = (covariance + covariance.T) / 2
    vectors = np.linalg.eigh(covariance)[1][:, ::-1].T
    for width in range(1, 12):
        bound = pca_bound(covariance, width)
        assert retained_variance(covariance, vectors[:width]) == pytest.approx(bound)
        for _ in range(5):
            share = retained_variance(covariance, rng.normal(size=(width, 11)))
            assert share <= bound + 1e-12
    singular = np.linalg.svd(root, compute_uv=False) ** 2
    assert pca_curve(covariance) == pytest.approx(np.cumsum(singular) / singular.sum())
    assert pca_curve(covariance)[-1] == 1


def test_integer_covariance_is_exact(rng):
    samples = rng.integers(0, 256, (29, 5)).astype(np.uint8)
    plain = samples.astype(object)
    expected = [
        [
            29 * sum(plain[:, i] * plain[:, j]) - sum(plain[:, i]) * sum(plain[:, j])
            for j in range(5)
        ]
        for i in range(5)
    ]
    assert integer_covariance(samples).tolist() == expected
    assert integer_covariance(samples).dtype == np.int64
    largest = integer_covariance(np.full((2, 1), 2**25))
    assert largest.tolist() == [[0]]


def test_photographs_fill_the_patches_and_a_quarter_of_the_width_holds_most():
    tiles = np.concatenate(
        [
            np.lib.stride_tricks.sliding_window_view(photograph(name).pixels, (8, 8, 3))
            .squeeze(2)[::8, ::8]
            .reshape(-1, 192)
            for name in ("china", "flower")
        ]
    )
    covariance = integer_covariance(tiles)
    assert certified_rank(covariance).certificate == "modular"
    assert pca_bound(covariance, 48) > 0.95


TWO = [[2, 1], [1, 2]]


@pytest.mark.parametrize(
    ("call", "error", "field"),
    [
        (lambda: linear_residual([[1, 2, 3]], [[1]], [1]), ShapeError, "covariance"),
        (lambda: linear_residual(TWO, [[1, 0, 0]], [1, 0]), ShapeError, "projection"),
        (lambda: linear_residual(TWO, [[1, 0]], [1, 0, 0]), ShapeError, "direction"),
        (lambda: linear_residual([[1, 2], [3, 4]], [[1, 0]], [1, 0]), ValuesError, "covariance"),
        (lambda: linear_residual([[1, 2], [2, 1]], [[1, 0]], [1, 0]), ValuesError, "covariance"),
        (lambda: linear_residual([[0, 1], [1, 1]], [[1, 0]], [1, 0]), ValuesError, "covariance"),
        (lambda: linear_residual([[1.0, 2], [2, 1]], [[1, 0]], [1, 0]), ValuesError, "covariance"),
        (lambda: linear_residual([[np.nan]], [[1]], [1]), ValuesError, "covariance"),
        (lambda: retained_variance([[0, 0], [0, 0]], [[1, 0]]), ValuesError, "covariance"),
        (lambda: retained_variance([[0.0]], [[1.0]]), ValuesError, "covariance"),
        (lambda: pca_curve([[0]]), ValuesError, "covariance"),
        (lambda: pca_curve([[1, 2]]), ShapeError, "covariance"),
        (lambda: pca_bound(TWO, 3), GeometryError, "width"),
        (lambda: pca_bound(TWO, 0), GeometryError, "width"),
        (lambda: integer_covariance([[1.0]]), ValuesError, "samples"),
        (lambda: integer_covariance([[2**60]]), ValuesError, "samples"),
        (lambda: integer_covariance([[2**31]] * 2), ValuesError, "samples"),
        (lambda: integer_covariance([[2**24]] * 300), ValuesError, "samples"),
        (lambda: integer_covariance([1, 2]), ShapeError, "samples"),
    ],
)
def test_errors(call, error, field):
    with pytest.raises(error, match=f"^{field}"):
        call()


def test_values_beyond_floats_are_refused() -> None:
    huge = [[1e308, 1e308], [1e308, 1e308]]
    with pytest.raises(ValuesError, match="covariance"):
        pca_curve(huge)
    with pytest.raises(ValuesError, match="covariance"):
        retained_variance(huge, [[1, 0]])
    with pytest.raises(ValuesError, match="direction"):
        linear_residual([[1.0, 0], [0, 1]], [[1, 0]], [1, 1e308])
