"""Closed forms against sympy's pseudoinverse, against enumeration, and against the descent itself."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from vitbias.errors import AmbiguousRankError, GeometryError, ShapeError, ValuesError
from vitbias.learning import (
    constrained_least_squares,
    from_teacher,
    gradient_descent,
    gradient_descent_limit,
    least_squares,
    rate_bound,
    ridge,
)

SEEDS = st.integers(0, 2**32 - 1)
FEW = settings(max_examples=20)


def problem(seed):
    """Inputs (n, D), targets (n, k), weights (k, D): small fractions, now and then of lower rank."""
    rng = np.random.default_rng(seed)
    samples, raw, outputs = rng.integers(1, [5, 6, 4])
    shapes = (samples, raw), (samples, outputs), (outputs, raw)
    inputs, targets, weights = (
        rng.integers(-3, 4, shape) * Fraction(1, int(rng.integers(1, 5))) for shape in shapes
    )
    if rng.random() < 0.3:
        inputs[-1] = 2 * inputs[0]
    return inputs, targets, weights


X = np.array([[1, 2, 0, 1, 3], [0, 1, 1, -1, 2], [1, 3, 1, 0, 5]])  # the third is the sum
Y = np.array([[1, 0], [2, 5], [-1, 3]])
START = np.arange(10).reshape(2, 5)
HALF = Fraction(1, 2)


def pinv(matrix):
    return np.array(sympy.Matrix(matrix).pinv())


def sympy_of(matrix):
    return sympy.Matrix(
        [[sympy.Rational(*Fraction(v).as_integer_ratio()) for v in r] for r in matrix]
    )


@FEW
@given(SEEDS)
def test_least_squares_is_the_pseudoinverse(seed):
    inputs, targets, _ = problem(seed)
    found = least_squares(inputs, targets)
    expected = (sympy_of(inputs).pinv() * sympy_of(targets)).T
    assert sympy_of(found.tolist()) == expected
    assert all(type(entry) is Fraction for entry in found.flat)


@FEW
@given(SEEDS)
def test_floats_agree_with_fractions(seed):
    inputs, targets, start = problem(seed)
    exact = gradient_descent_limit(inputs, targets, start).astype(float)
    found = gradient_descent_limit(*(m.astype(float) for m in (inputs, targets, start)))
    assert np.allclose(found, exact, rtol=1e-9, atol=1e-9)
    assert found.dtype == np.float64


def test_one_number_a_sample_and_one_row_a_sample_agree():
    matrix, vector = least_squares(X, Y[:, :1]), least_squares(X, Y[:, 0])
    assert vector.shape == (5,)
    assert (matrix[0] == vector).all()
    basis = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 0, 2]])
    for kind in (int, float):
        one = constrained_least_squares(X, Y[:, 0], basis.astype(kind))
        row = constrained_least_squares(X, Y[:, :1], basis[:, None].astype(kind))
        assert one.shape == (5,)
        assert np.allclose(row[0].astype(float), one.astype(float), atol=1e-12)
        assert ridge(X, Y[:, 0], kind(2)).shape == (5,)
        assert gradient_descent_limit(X, Y[:, 0], np.zeros(5, kind)).shape == (5,)


@FEW
@given(SEEDS, st.sampled_from([Fraction(1, 9), Fraction(5, 7), Fraction(4)]))
def test_ridge_solves_its_normal_equations(seed, penalty):
    inputs, targets, _ = problem(seed)
    weights = ridge(inputs, targets, penalty)
    gradient = (inputs @ weights.T - targets).T @ inputs + len(inputs) * penalty * weights
    assert not gradient.any()
    floats = ridge(inputs.astype(float), targets.astype(float), float(penalty))
    assert np.allclose(floats, weights.astype(float), atol=1e-9)


def test_ridge_tends_to_least_norm_and_counts_samples():
    plain = least_squares(X, Y)
    gaps = [abs(ridge(X, Y, Fraction(1, 10**k)) - plain).max() for k in (2, 4, 6)]
    assert gaps[0] > 50 * gaps[1] > 2500 * gaps[2] > 0
    assert (ridge([*X, *X], [*Y, *Y], 3) == ridge(X, Y, 3)).all()


@FEW
@given(st.integers(1, 3), st.integers(1, 6), SEEDS, st.booleans())
def test_constrained_least_squares_against_the_projection(count, dimension, seed, deficient):
    """P_V is the projection on the span: the answer is the pseudoinverse of the design times P_V."""
    rng = np.random.default_rng(seed)
    inputs, targets = rng.integers(-2, 3, (count, 3)), rng.integers(-2, 3, (count, 2))
    basis = rng.integers(-2, 3, (dimension, 2, 3))
    flat = basis.reshape(dimension, -1)
    if deficient:
        inputs[:] = inputs[:1]
    if np.linalg.matrix_rank(flat) < dimension:
        with pytest.raises(ValuesError, match=r"^basis: expected linearly independent matrices"):
            constrained_least_squares(inputs, targets, basis)
        return
    span = sympy.Matrix(flat.tolist())
    design = np.kron(np.eye(2, dtype=int), inputs)
    onto = span.T * (span * span.T).inv() * span
    expected = (sympy.Matrix(design) * onto).pinv() * sympy.Matrix(targets.T.ravel())
    exact = constrained_least_squares(inputs, targets, basis)
    assert sympy_of(exact.reshape(-1, 1).tolist()) == expected
    floats = constrained_least_squares(inputs * 1.0, targets, basis)
    assert np.allclose(floats, exact.astype(float), atol=1e-9)


def test_a_basis_that_the_inputs_cannot_see_gives_zero_in_floats_too():
    inputs = np.array([[1, 1, -1]] * 3)
    basis = np.array([[[2, -1, 1], [1, 3, 4]], [[-1, 3, 2], [0, -2, -2]]])
    assert not (inputs @ np.swapaxes(basis, 1, 2)).any()
    for kind in (int, float):
        weights = constrained_least_squares(inputs.astype(kind), [[1, 2]] * 3, basis)
        assert not weights.any() or abs(weights).max() < 1e-12


def test_the_whole_space_is_no_constraint():
    basis = np.eye(10, dtype=int).reshape(10, 2, 5)
    assert (constrained_least_squares(X, Y, basis) == least_squares(X, Y)).all()


@FEW
@given(SEEDS)
def test_descent_tends_to_its_limit_and_stays_in_the_span(seed):
    inputs, targets, start = problem(seed)
    rate = Fraction(1, 1 + int((inputs**2).sum()))
    limit = gradient_descent_limit(inputs, targets, start)
    residual = (inputs @ limit.T - targets).T @ inputs
    assert not residual.any()  # stationary
    gaps = [
        ((gradient_descent(inputs, targets, start, rate, steps) - limit) ** 2).sum()
        for steps in (0, 1, 4)
    ]
    assert gaps[0] >= gaps[1] >= gaps[2]
    assert (gaps[0] > gaps[2]) == (gaps[0] > 0)
    outside = sympy_of(inputs.tolist()).nullspace()
    for vector in outside:
        assert sympy_of((limit - start).tolist()) * vector == sympy.zeros(len(start), 1)


def test_descent_from_zero_and_step_by_step():
    zero = np.zeros((2, 5), dtype=int)
    assert (gradient_descent_limit(X, Y, zero) == least_squares(X, Y)).all()
    rate = Fraction(1, 30)
    weights = START
    for steps in range(4):
        assert (gradient_descent(X, Y, START, rate, steps) == weights).all()
        weights = weights - rate * (X @ weights.T - Y).T @ X
    floats = gradient_descent(X, Y, START, 1 / 30, 3)
    exact = gradient_descent(X, Y, START, rate, 3).astype(float)
    assert np.allclose(floats, exact, rtol=1e-12)


def test_the_bound_is_where_descent_stops_to_converge():
    inputs = np.array([[3, 0], [0, 1]])  # λ_max = 9
    assert rate_bound(inputs) == pytest.approx(2 / 9, rel=1e-14)
    edge, start = Fraction(2, 9), [[1, 1]]
    for rate in (edge, edge * 2, float(edge) * (1 + 1e-9), 0, -1, 0.0):
        with pytest.raises(ValuesError) as caught:
            gradient_descent(inputs, [[0], [0]], start, rate, 1)
        text = str(caught.value)
        assert text.startswith(
            "rate: expected a number above 0 and below 2 / λ_max = 0.222222, got"
        )
    below = edge - Fraction(1, 10**30)  # no float could tell
    moved = gradient_descent(inputs, [[0], [0]], start, below, 1)
    assert 1 - abs(moved[0, 0]) == 9 * Fraction(1, 10**30)
    gradient_descent(inputs.T[:1], [[0]], start, below, 1)  # fewer samples than values


def test_inputs_without_a_direction():
    zero = np.zeros((2, 3), dtype=int)
    assert not least_squares(zero, [1, 2]).any()
    assert not least_squares(zero * 1.0, [1, 2]).any()
    assert (gradient_descent(zero, [1, 2], [3, 4, 5], 10**9, 2) == [3, 4, 5]).all()
    assert not constrained_least_squares(zero, [1, 2], [[1, 1, 1]]).any()
    with pytest.raises(ValuesError, match=r"^inputs: expected a matrix that is not zero"):
        rate_bound(zero)


def test_huge_numbers_in_a_refused_rate_need_no_float():
    with pytest.raises(
        ValuesError, match=r"^rate: expected a number above 0 and below 2 / λ_max, got"
    ):
        gradient_descent([[10**400]], [1], [1], 1, 1)


def test_a_student_is_its_teacher_on_the_span():
    teacher = np.array([[1, 2, 3, 5, 7], [0, 1, 0, 1, 0]])
    student = from_teacher(X, teacher)
    projection = pinv(X) @ X
    assert sympy.Matrix(student) == sympy.Matrix(teacher @ projection)
    assert (from_teacher(X, teacher[0]) == student[0]).all()
    assert (from_teacher(np.eye(5, dtype=int), teacher) == teacher).all()
    assert np.allclose(from_teacher(X * 1.0, teacher), student.astype(float), atol=1e-12)


def test_a_long_matrix_of_floats(rng):
    inputs = rng.normal(size=(23, 1009))
    targets = rng.normal(size=(23, 2))
    weights = least_squares(inputs, targets)
    assert np.allclose(inputs @ weights.T, targets)
    assert np.allclose(weights.T, np.linalg.pinv(inputs) @ targets)


def test_exact_where_floats_have_no_rank():
    nearly = [[1, 1], [1, 1 + Fraction(1, 10**13)]]
    assert least_squares(nearly, [2, 2]).tolist() == [2, 0]
    with pytest.raises(AmbiguousRankError) as caught:
        least_squares(np.array(nearly, dtype=float), [2, 2])
    assert str(caught.value).startswith("inputs: expected singular values below the tolerance")
    assert str(caught.value).endswith("write the numbers as fractions, which have an exact rank")
    with pytest.raises(AmbiguousRankError, match=r"^basis: expected singular values"):
        constrained_least_squares([[1.0, 0]], [2], np.array(nearly, dtype=float))


CALLS = {
    "least": lambda x=X, y=Y: least_squares(x, y),
    "ridge": lambda x=X, y=Y, penalty=HALF: ridge(x, y, penalty),
    "constrained": lambda x=X, y=Y, basis=START[None]: constrained_least_squares(x, y, basis),
    "limit": lambda x=X, y=Y, start=START: gradient_descent_limit(x, y, start),
    "descent": lambda x=X, y=Y, start=START, rate=Fraction(1, 99), steps=2: gradient_descent(
        x, y, start, rate, steps
    ),
    "teacher": lambda x=X, teacher=START: from_teacher(x, teacher),
}
BAD = [
    (name, {"y": value}, ShapeError, "targets: expected axes (3, outputs) or (3), a row for each")
    for name, value in product(["least", "ridge", "constrained", "limit"], [Y[:2], Y[None], 5])
]


@pytest.mark.parametrize(
    ("name", "changed", "kind", "message"),
    [
        *BAD,
        ("least", {"x": X[0]}, ShapeError, "inputs: expected axes (samples, raw), got shape (5,)"),
        ("least", {"x": [["a"]]}, ValuesError, "inputs: expected integers or floats"),
        ("least", {"x": [[True] * 5] * 3}, ValuesError, "inputs: expected integers or floats"),
        ("least", {"x": X * np.nan}, ValuesError, "inputs: expected finite numbers, got nan"),
        ("least", {"y": [HALF, 1.5, 1]}, ValuesError, "targets: expected integers or fractions"),
        ("least", {"x": X * 1.0, "y": [HALF, 1, 1]}, ValuesError, "targets: expected integers or"),
        (
            "ridge",
            {"penalty": 0},
            ValuesError,
            "penalty: expected a number above 0, got 0; without",
        ),
        (
            "ridge",
            {"penalty": -HALF},
            ValuesError,
            "penalty: expected a number above 0, got Fraction",
        ),
        ("ridge", {"penalty": -0.5}, ValuesError, "penalty: expected a number above 0, got -0.5"),
        ("ridge", {"penalty": [1, 2]}, ShapeError, "penalty: expected axes (), got shape (2,)"),
        ("constrained", {"basis": X}, ShapeError, "basis: expected matrices of shape (2, 5), got"),
        ("constrained", {"basis": [START] * 2}, ValuesError, "got 2 matrices of rank 1"),
        ("constrained", {"basis": [START * 1.0] * 2}, ValuesError, "got 2 matrices of rank 1"),
        ("constrained", {"basis": [START * 0]}, ValuesError, "got 1 matrices of rank 0"),
        ("limit", {"start": START.T}, ShapeError, "initial: expected weights of shape (2, 5), got"),
        ("descent", {"start": START[0]}, ShapeError, "initial: expected weights of shape (2, 5)"),
        ("descent", {"steps": -1}, GeometryError, "steps: expected an integer >= 0, got -1"),
        ("descent", {"steps": 10_001}, GeometryError, "steps: expected at most 10,000, got 10001"),
        ("descent", {"rate": "1"}, ValuesError, "rate: expected integers or floats, got '1'"),
        ("descent", {"rate": 1}, ValuesError, "below 2 / λ_max = 0.0"),
        (
            "teacher",
            {"teacher": X.T},
            ShapeError,
            "teacher: expected axes (outputs, 5) or (5), got",
        ),
        ("teacher", {"teacher": 5}, ShapeError, "teacher: expected axes (outputs, 5) or (5), got"),
        ("limit", {"x": X * 1e-300, "y": Y * 1e300}, ValuesError, "inputs: expected numbers of"),
        (
            "limit",
            {"start": np.full((2, 5), np.inf)},
            ValuesError,
            "initial: expected finite numbers",
        ),
        ("limit", {"x": X * 1e300, "start": START * 1e200}, ValuesError, "of moderate size, got"),
        ("teacher", {"x": X * 1e300, "teacher": START * 1e200}, ValuesError, "of moderate size"),
    ],
)
def test_what_is_refused(name, changed, kind, message):
    with np.errstate(all="ignore"), pytest.raises(kind) as caught:
        CALLS[name](**changed)
    assert message in str(caught.value)
