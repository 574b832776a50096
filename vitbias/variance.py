"""What a projection loses of data, and whether a linear read-out notices.

Notation: X a raw patch of D values, centred, with covariance S; Z = E X its token of d values; w a
direction: the label is w·X. A⁺ is the pseudoinverse.

    residual of w = wᵀ(S - S Eᵀ (E S Eᵀ)⁺ E S) w, the mean squared error of the best affine guess from Z

Convention: best *affine* guess. Where E[X | Z] is affine in Z, for instance for Gaussian X, no guess at all
does better; in general the residual is an upper bound only, for uncorrelated is not irrelevant. It is 0
exactly if w lies in row(E) + ker S. S may be singular.

Source: orthogonal projection in L²; Eckart and Young, Psychometrika 1 (1936), for the bound on all E.
"""

from typing import Any

import numpy as np

from vitbias.arrays import Array, require_alike, require_array, require_float64
from vitbias.errors import GeometryError, Literal, ShapeError, ValuesError, describe, require_size

__all__ = [
    "integer_covariance",
    "linear_residual",
    "pca_bound",
    "pca_curve",
    "retained_variance",
]

EXACT_FLOATS = 2**53
LARGEST = 2.0**500  # of a covariance in floats, whose eigenvalues are summed


def linear_residual(covariance: Any, projection: Any, direction: Any) -> Any:
    """wᵀ(S - S Eᵀ (E S Eᵀ)⁺ E S) w, what the best affine guess of w·X from E X misses on average.

    A ``Fraction`` without rounding if no argument holds a float, else float64.

    Parameters
    ----------
    covariance : (D, D) symmetric, no negative eigenvalue
    projection : (d, D); direction : (D,)

    Raises
    ------
    ShapeError : sizes that do not fit each other
    ValuesError : no covariance matrix; values that are no numbers
    """
    covariance, projection, direction = require_alike(
        ("covariance", covariance, "raw raw"),
        ("projection", projection, "width raw"),
        ("direction", direction, "raw"),
    )
    _require_fit(covariance, projection)
    if len(direction) != len(covariance):
        expected = f"{len(covariance)} values"
        raise ShapeError("direction", expected=expected, got=len(direction))
    lost = _lost(covariance, projection)
    if lost.dtype == object:
        return direction @ lost @ direction
    with np.errstate(all="ignore"):
        residual = _square(direction @ lost)
    if not np.isfinite(residual):
        expected = "values whose residual is within the range of floats"
        raise ValuesError("direction", expected=expected, got=Literal("larger ones"))
    return residual


def retained_variance(covariance: Any, projection: Any) -> Any:
    """1 - tr(S - S Eᵀ (E S Eᵀ)⁺ E S) / tr S, the share of the variance that a linear decoder recovers.

    It depends on the row space of E only. A ``Fraction`` if no argument holds a float, else float64.

    Parameters
    ----------
    covariance : (D, D) symmetric, no negative eigenvalue, not 0; projection : (d, D)

    Raises
    ------
    ShapeError : sizes that do not fit each other
    ValuesError : no covariance matrix, or one without variance
    """
    covariance, projection = require_alike(
        ("covariance", covariance, "raw raw"), ("projection", projection, "width raw")
    )
    _require_fit(covariance, projection)
    lost = _lost(covariance, projection)
    total = np.trace(covariance)
    _require_some(total)
    return 1 - (np.trace(lost) if lost.dtype == object else _square(lost)) / total


def pca_curve(covariance: Any) -> Array:
    """The largest retained variance of any d x D projection, for d = 1 … D: shares of eigenvalues.

    Entry d - 1 is (λ₁ + … + λ_d) / tr S, attained exactly by the projections whose row space (plus ker S)
    holds d leading eigenvectors.

    Raises
    ------
    ShapeError
    ValuesError : no covariance matrix, or one without variance
    """
    eigenvalues, _ = _spectrum(require_float64("covariance", covariance, "raw raw"))
    sums = np.cumsum(eigenvalues[::-1])
    _require_some(sums[-1])
    return np.asarray(sums / sums[-1])


def pca_bound(covariance: Any, width: int) -> float:
    """The largest share of variance that d values retain: entry d - 1 of ``pca_curve``.

    >>> pca_bound([[3, 0], [0, 1]], 1)
    0.75

    Raises
    ------
    GeometryError : no width in 1 … D
    ShapeError, ValuesError
    """
    curve = pca_curve(covariance)
    if require_size("width", width) > len(curve):
        raise GeometryError("width", expected=f"at most {len(curve)}", got=width)
    return float(curve[width - 1])


def integer_covariance(samples: Any) -> Array:
    """n²·S = n·Σ x xᵀ - (Σ x)(Σ x)ᵀ of n samples of integers, exactly; (D, D) int64.

    Shares of variance and ranks do not see the factor n².

    Parameters
    ----------
    samples : (n, D) integers x with n·x² below 2⁵³ and (n·x)² below 2⁶²

    Raises
    ------
    ValuesError : not integers, or too large
    ShapeError
    """
    samples = require_array("samples", samples, "samples raw")
    if samples.dtype.kind == "f":
        expected, got = "integers", Literal(f"{samples.dtype} values")
        raise ValuesError("samples", expected=expected, got=got)
    count = len(samples)
    largest = max(abs(int(samples.max())), abs(int(samples.min())))
    if count * largest**2 >= EXACT_FLOATS or (count * largest) ** 2 >= 2**62:
        expected = "n·x² below 2**53 and (n·x)² below 2**62"
        got = Literal(f"n = {describe(count)}, |x| up to {describe(largest)}")
        raise ValuesError("samples", expected=expected, got=got)
    exact = samples.astype(np.float64)  # products and sums are integers below 2^53: BLAS is exact
    products, sums = (exact.T @ exact).astype(np.int64), exact.sum(axis=0).astype(np.int64)
    return np.asarray(count * products - np.outer(sums, sums))


def _lost(covariance: Array, projection: Array) -> Array:
    """S - S Eᵀ (E S Eᵀ)⁺ E S in fractions; in floats a factor L with L Lᵀ equal to it."""
    if covariance.dtype == object:
        _eliminate(covariance, len(covariance))  # refuses what is no covariance
        width = len(projection)
        mixed = projection @ covariance
        bordered = np.block([[mixed @ projection.T, mixed], [mixed.T, covariance]])
        return _eliminate(bordered, width)[width:, width:]
    eigenvalues, vectors = _spectrum(covariance)
    factor = vectors * np.sqrt(eigenvalues)
    scale = np.abs(projection).max(axis=1, keepdims=True)
    rows = projection / np.where(scale > 0, scale, 1)
    left, singular, _ = np.linalg.svd((rows @ factor).T, full_matrices=False)
    kept = left[:, singular > singular[0] * max(rows.shape) * np.finfo(float).eps]
    return np.asarray(factor - factor @ kept @ kept.T)


def _eliminate(matrix: Array, steps: int) -> Array:
    """Schur complement of the leading block of a symmetric matrix; refuses negative directions met."""
    matrix = matrix.copy()
    for step in range(steps):
        row, pivot = matrix[step].copy(), matrix[step, step]
        if pivot > 0:
            matrix = matrix - np.outer(row, row) / pivot
        elif row.any():
            _refuse("a negative eigenvalue")
    return matrix


def _spectrum(covariance: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and eigenvectors; negative ones of the size of rounding become 0."""
    _require_symmetric(covariance)
    if (largest := np.abs(covariance).max()) > LARGEST:
        got = Literal(f"an entry of magnitude {largest:.3g}")
        raise ValuesError("covariance", expected="floats of at most 2**500", got=got)
    eigenvalues, vectors = np.linalg.eigh(covariance)
    rounding = len(covariance) * np.finfo(float).eps * np.abs(eigenvalues).max()
    if eigenvalues[0] < -rounding:
        _refuse(f"the eigenvalue {eigenvalues[0]:.3g}")
    return np.maximum(eigenvalues, 0), vectors


def _require_fit(covariance: Array, projection: Array) -> None:
    _require_symmetric(covariance)
    if projection.shape[1] != len(covariance):
        expected = f"rows of {len(covariance)} values, as the covariance"
        got = Literal(f"shape {projection.shape}")
        raise ShapeError("projection", expected=expected, got=got)


def _require_symmetric(covariance: Array) -> None:
    if covariance.shape[0] != covariance.shape[1]:
        got = Literal(f"shape {covariance.shape}")
        raise ShapeError("covariance", expected="a square matrix", got=got)
    if not (covariance == covariance.T).all():
        _refuse("an entry that differs from its mirror image")


def _require_some(total: Any) -> None:
    if not total > 0:
        _refuse("no variance at all")


def _refuse(what: str) -> None:
    expected = "a symmetric matrix without negative eigenvalues, not 0"
    raise ValuesError("covariance", expected=expected, got=Literal(what))


def _square(values: Array) -> float:
    return float((values * values).sum())
