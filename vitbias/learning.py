"""Linear learners in closed form: one data set, and the places where a preference enters.

Notation: n samples; X inputs (n, D), one sample a row; Y targets (n, k), or (n,) for one number each;
W weights (k, D) or (D,), so that the answers to X are X W^T. X^+ is the pseudoinverse.

    plain         least squares of least norm, W^T = X^+ Y
    architecture  W restricted to the span of given matrices
    data          X and Y replaced by their orbit under a group (``vitbias.augmentation``)
    optimiser     gradient descent on ||X W^T - Y||² / 2 from an initial W; a penalty λ||W||²
    teacher       Y replaced by the answers of another W

Convention: integers and fractions are worked with exactly (matrices of rationals, python-flint) and give
fractions; a float among the arguments makes all of them floats. The loss of ``ridge`` is the mean over
samples. With the sum, a data set that is augmented m-fold would need m times the penalty.

Source: section 1 of the review; the formulas are standard linear algebra.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from vitbias.arrays import Array, require_alike, require_float64
from vitbias.errors import (
    AmbiguousRankError,
    GeometryError,
    Literal,
    ShapeError,
    ValuesError,
    describe,
    require_size,
)
from vitbias.rank import exact_rank, numerical_rank

__all__ = [
    "constrained_least_squares",
    "from_teacher",
    "gradient_descent",
    "gradient_descent_limit",
    "least_squares",
    "rate_bound",
    "ridge",
]

SAMPLES, ANY = "samples raw", "..."
MOST_STEPS = 10_000


def least_squares(inputs: Any, targets: Any) -> Array:
    """The W of least norm among those that minimise ||X W^T - Y||: W^T = X^+ Y.

    Parameters
    ----------
    inputs : (n, D); targets : (n, k) or (n,)

    Raises
    ------
    ShapeError, ValuesError
    AmbiguousRankError : floats whose rank would be an artefact of a tolerance; fractions have none
    """
    x, y = _data(inputs, targets)
    return np.asarray(_minimum_norm(x, y).T)


def ridge(inputs: Any, targets: Any, penalty: Any) -> Array:
    """The W that minimises mean_i ||W x_i - y_i||² + λ||W||²: W^T = (X^T X + nλ)^-1 X^T Y.

    Raises
    ------
    ValuesError : also for a penalty that is not positive
    ShapeError
    """
    x, y, strength = require_alike(
        ("inputs", inputs, SAMPLES), ("targets", targets, ANY), ("penalty", penalty, "")
    )
    _require_rows(x, y)
    if not strength > 0:
        hint = "without a penalty it is least_squares"
        raise ValuesError("penalty", expected="a number above 0", got=penalty, hint=hint)
    scale = len(x) * strength.item()
    if _is_exact(x):
        system = x.T @ x + scale * np.eye(x.shape[1], dtype=int)
        return np.asarray(_exact_solve(system, x.T @ y).T)
    left, singular, right = _singular(x)
    with np.errstate(all="ignore"):
        shrunk = singular / (singular**2 + scale)
        return _finite((right.T * shrunk @ (left.T @ y)).T)


def constrained_least_squares(inputs: Any, targets: Any, basis: Any) -> Array:
    """The W = sum_j c_j B_j that minimises ||X W^T - Y||, of least norm among those.

    Parameters
    ----------
    inputs : (n, D); targets : (n, k) or (n,)
    basis : (m, k, D) or (m, D), linearly independent; for example the powers of a cyclic shift, whose
        span is all that commutes with it

    Raises
    ------
    ValuesError : also for a basis that is linearly dependent
    ShapeError
    AmbiguousRankError : as ``least_squares``
    """
    x, y, span = require_alike(
        ("inputs", inputs, SAMPLES), ("targets", targets, ANY), ("basis", basis, ANY)
    )
    _require_rows(x, y)
    shape = (*y.shape[1:], x.shape[1])
    if span.shape[1:] != shape:
        expected = f"matrices of shape {shape}"
        raise ShapeError("basis", expected=expected, got=Literal(f"shape {span.shape}"))
    flat = span.reshape(len(span), -1)
    rank = exact_rank(flat).rank if _is_exact(x) else _rank("basis", flat)
    if rank < len(span):
        got = Literal(f"{len(span)} matrices of rank {rank}")
        raise ValuesError("basis", expected="linearly independent matrices", got=got)
    if _is_exact(x):
        answers = x @ np.moveaxis(span, -1, -2) if y.ndim == 2 else (x @ span.T).T
        design = answers.reshape(len(span), -1).T
        weights = _exact_minimum_norm(design, y.reshape(-1, 1), flat @ flat.T)
        return np.asarray((weights.T @ flat).reshape(shape))
    directions = np.linalg.qr(flat.T)[0].T.reshape(span.shape)
    answers = x @ np.moveaxis(directions, -1, -2) if y.ndim == 2 else (x @ directions.T).T
    with np.errstate(all="ignore"):
        # the products are rounded relative to the inputs, also where they should be zero
        scale = float(_singular(x)[1][0])
        weights = _minimum_norm(answers.reshape(len(span), -1).T, y.reshape(-1), scale)
        return _finite(np.tensordot(weights, directions, axes=1))


def rate_bound(inputs: Any) -> float:
    """2 / λ_max(X^T X): descent converges from every start for each smaller step size, and for no other.

    Raises
    ------
    ValuesError : inputs that are all zero, for which every step size will do
    ShapeError
    """
    x = require_float64("inputs", inputs, SAMPLES)
    largest = float(_singular(x)[1][0])
    if not 0 < largest**2 < np.inf:
        raise ValuesError("inputs", expected="a matrix that is not zero", got=inputs)
    return 2 / largest**2


def gradient_descent(inputs: Any, targets: Any, initial: Any, rate: Any, steps: int) -> Array:
    """W after some steps W ← W - η (X W^T - Y)^T X, the gradient of ||X W^T - Y||² / 2.

    Parameters
    ----------
    inputs : (n, D); targets : (n, k) or (n,); initial : (k, D) or (D,)
    rate : η, above 0 and below 2 / λ_max(X^T X)
    steps : 0 to 10,000; exact numbers get longer with each

    Raises
    ------
    ValuesError : also for a step size at which descent does not converge
    GeometryError, ShapeError
    """
    x, y, weights, step = require_alike(
        ("inputs", inputs, SAMPLES),
        ("targets", targets, ANY),
        ("initial", initial, ANY),
        ("rate", rate, ""),
    )
    _require_start(x, y, weights)
    steps = require_size("steps", steps, minimum=0)
    if steps > MOST_STEPS:
        raise GeometryError("steps", expected=f"at most {MOST_STEPS:,}", got=steps)
    eta = step.item()
    if not (eta > 0 and _converges(x, eta)):
        expected = f"a number above 0 and below 2 / λ_max{_bound_in_words(x)}"
        raise ValuesError("rate", expected=expected, got=rate)
    with np.errstate(all="ignore"):
        for _ in range(steps):
            weights = weights - eta * ((x @ weights.T - y).T @ x)
    return _finite(weights)


def gradient_descent_limit(inputs: Any, targets: Any, initial: Any) -> Array:
    """Where gradient descent ends: W_0 + (Y - X W_0^T)^T (X^+)^T.

    The same for every step size that converges. Directions orthogonal to all inputs keep their initial
    weights; from zero the limit is ``least_squares``.

    Raises
    ------
    ShapeError, ValuesError, AmbiguousRankError
    """
    x, y, weights = require_alike(
        ("inputs", inputs, SAMPLES), ("targets", targets, ANY), ("initial", initial, ANY)
    )
    _require_start(x, y, weights)
    with np.errstate(all="ignore"):
        rest = y - x @ weights.T
        change = _minimum_norm(x, rest if _is_exact(x) else _finite(rest)).T
        return _finite(weights + change)


def from_teacher(inputs: Any, teacher: Any) -> Array:
    """The plain learner on a linear teacher's answers: least squares with Y = X T^T.

    It is T on the span of the inputs and zero on what is orthogonal to it.

    Parameters
    ----------
    inputs : (n, D); teacher : (k, D) or (D,)

    Raises
    ------
    ShapeError, ValuesError, AmbiguousRankError
    """
    x, weights = require_alike(("inputs", inputs, SAMPLES), ("teacher", teacher, ANY))
    if weights.ndim not in (1, 2) or weights.shape[-1] != x.shape[1]:
        expected = f"axes (outputs, {x.shape[1]}) or ({x.shape[1]})"
        raise ShapeError("teacher", expected=expected, got=Literal(f"shape {weights.shape}"))
    with np.errstate(all="ignore"):
        answers = x @ weights.T
        return np.asarray(_minimum_norm(x, answers if _is_exact(x) else _finite(answers)).T)


def _is_exact(array: Array) -> bool:
    return array.dtype.kind == "O"


def _data(inputs: Any, targets: Any) -> list[Array]:
    x, y = require_alike(("inputs", inputs, SAMPLES), ("targets", targets, ANY))
    _require_rows(x, y)
    return [x, y]


def _require_rows(x: Array, y: Array) -> None:
    if y.ndim not in (1, 2) or len(y) != len(x):
        expected = f"axes ({len(x)}, outputs) or ({len(x)}), a row for each sample"
        raise ShapeError("targets", expected=expected, got=Literal(f"shape {y.shape}"))


def _require_start(x: Array, y: Array, weights: Array) -> None:
    _require_rows(x, y)
    shape = (*y.shape[1:], x.shape[1])
    if weights.shape != shape:
        got = Literal(f"shape {weights.shape}")
        raise ShapeError("initial", expected=f"weights of shape {shape}", got=got)


def _minimum_norm(design: Array, targets: Array, scale: float | None = None) -> Array:
    """design^+ targets, (D, k) or (D,); the rank of floats is relative to ``scale``, if given."""
    if _is_exact(design):
        columns = targets.reshape(len(targets), -1)
        solved = _exact_minimum_norm(design, columns)
        return solved.reshape(design.shape[1], *targets.shape[1:])
    left, singular, right = _singular(design)
    rank = _rank("inputs", design, scale)
    with np.errstate(all="ignore"):
        kept = right[:rank].T / singular[:rank]
        return _finite(kept @ (left[:, :rank].T @ targets))


def _exact_minimum_norm(design: Array, targets: Array, gram: Array | None = None) -> Array:
    """The c of least c^T G c among those that minimise ||design c - targets||; G is the identity.

    c = G^-1 R^T t for r independent rows R of the design, so t solves r normal equations.
    """
    echelon, rank = _rationals(design.T).rref()
    if rank == 0:
        return np.full((design.shape[1], targets.shape[1]), Fraction(0))
    reduced = _fractions(echelon)[:rank]
    pivots = [next(column for column, entry in enumerate(row) if entry) for row in reduced]
    half = design[pivots].T if gram is None else _exact_solve(gram, design[pivots].T)
    answers = design @ half
    return np.asarray(half @ _exact_solve(answers.T @ answers, answers.T @ targets))


def _exact_solve(system: Array, right: Array) -> Array:
    columns = right.reshape(len(right), -1)
    return _fractions(_rationals(system).solve(_rationals(columns))).reshape(right.shape)


def _rationals(matrix: Array) -> Any:
    from flint import fmpq, fmpq_mat

    rows, columns = matrix.shape
    return fmpq_mat(rows, columns, [fmpq(*Fraction(v).as_integer_ratio()) for v in matrix.flat])


def _fractions(matrix: Any) -> Array:
    rows = [[Fraction(int(v.p), int(v.q)) for v in row] for row in matrix.tolist()]
    return np.array(rows, dtype=object)


def _singular(matrix: Array) -> tuple[Array, Array, Array]:
    """Singular value decomposition, scaled by a power of 2 so that no square leaves the range."""
    _, exponent = np.frexp(np.abs(matrix).max())
    left, singular, right = np.linalg.svd(np.ldexp(matrix, -exponent), full_matrices=False)
    with np.errstate(all="ignore"):
        return left, np.ldexp(singular, exponent), right


def _rank(field: str, matrix: Array, scale: float | None = None) -> int:
    rtol = None
    if scale is not None:
        tolerance = max(matrix.shape) * np.finfo(np.float64).eps * scale
        largest = float(_singular(matrix)[1][0])
        if not largest > tolerance:
            return 0
        rtol = float(tolerance / largest)
    try:
        return numerical_rank(matrix, rtol=rtol).rank
    except AmbiguousRankError as error:
        hint = "write the numbers as fractions, which have an exact rank"
        got = Literal(describe(error.got))
        raise AmbiguousRankError(
            field, expected=error.expected, got=got, hint=hint, gap=error.gap
        ) from None


def _finite(result: Array) -> Array:
    if result.dtype.kind == "f" and not np.isfinite(result).all():
        got = Literal("numbers whose answer leaves the range of floats")
        raise ValuesError("inputs", expected="numbers of moderate size", got=got)
    return np.asarray(result)


def _converges(x: Array, eta: Any) -> bool:
    """η λ_max < 2; exactly, whether 2 - η X X^T is positive definite, by the signs of its pivots."""
    if not _is_exact(x):
        largest = float(_singular(x)[1][0])
        return bool(eta * largest**2 < 2)
    small = x if len(x) < x.shape[1] else x.T
    rest = 2 * np.eye(len(small), dtype=int) - eta * (small @ small.T)
    for pivot in range(len(rest)):
        if rest[pivot, pivot] <= 0:
            return False
        factors = rest[pivot + 1 :, pivot] / rest[pivot, pivot]
        rest[pivot + 1 :] -= np.outer(factors, rest[pivot])
    return True


def _bound_in_words(x: Array) -> str:
    try:
        return f" = {rate_bound(x.astype(np.float64)):.6g}"
    except (OverflowError, ValuesError):
        return ""
