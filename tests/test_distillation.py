"""Losses from their definitions in loops, gradients by sympy and by differences, fusion by hand."""

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from vitbias.distillation import (
    DIRECTIONS,
    cross_entropy,
    distillation,
    fuse_mean_logits,
    fuse_sum_softmax,
    hard_distillation,
    logit_matching_limit,
    smooth_label,
    soft_distillation,
    soft_weight,
)
from vitbias.errors import GeometryError, ShapeError, UnknownNameError, ValuesError

FORWARD, BACKWARD = DIRECTIONS
Z, T = (np.array(sympy.symbols(f"{name}:3", real=True), dtype=object) for name in "zt")
TAU = sympy.Symbol("tau", positive=True)
LOGITS = st.lists(st.floats(-9, 9), min_size=5, max_size=5)


def is_zero(expression):
    """A quotient of sums of exponentials vanishes; quicker than simplify."""
    return sympy.cancel(sympy.together(expression)) == 0


def loop_softmax(logits, tau=1):
    powers = [exp(z / tau) for z in logits]
    return [power / sum(powers) for power in powers]


def loop_kl(p, q):
    return sum(a * log(a / b) for a, b in zip(p, q, strict=True))


def loop_soft(student, teacher, tau, direction):
    p, q = loop_softmax(student, tau), loop_softmax(teacher, tau)
    return tau**2 * (loop_kl(q, p) if direction == FORWARD else loop_kl(p, q))


def differences(function, point, step=1e-5):
    eye = step * np.eye(len(point))
    return np.array([(function(point + e) - function(point - e)) / (2 * step) for e in eye])


@given(LOGITS, LOGITS, st.floats(0.7, 20), st.sampled_from(DIRECTIONS))
def test_soft_against_the_loop_and_differences(student, teacher, tau, direction):
    loss = soft_distillation(student, teacher, temperature=tau, direction=direction)
    expected = loop_soft(student, teacher, tau, direction)
    assert loss.value == pytest.approx(expected, rel=1e-9, abs=1e-10)
    slope = differences(lambda z: loop_soft(z, teacher, tau, direction), np.array(student))
    assert loss.gradient == pytest.approx(slope, rel=1e-5, abs=1e-6)
    assert loss.value > -1e-12
    assert abs(loss.gradient.sum()) < 1e-10 * tau**2


@given(LOGITS, st.integers(0, 4), st.integers(0, 4), st.floats(0, 1))
def test_hard_against_the_loop_and_differences(student, label, told, smoothing):
    def loop(z):
        p = loop_softmax(z)
        true = (1 - smoothing) * log(p[label]) + smoothing / 5 * sum(map(log, p))
        return -true / 2 - log(p[told]) / 2

    loss = hard_distillation(student, label, told, smoothing=smoothing)
    assert loss.value == pytest.approx(loop(student), rel=1e-9)
    assert loss.gradient == pytest.approx(differences(loop, np.array(student)), rel=1e-5, abs=1e-6)
    if smoothing == 0 and label != told:
        assert loss.value > log(2)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_gradients_are_derivatives_for_all_logits(direction):
    loss = soft_distillation(Z, T, temperature=TAU, direction=direction)
    for z, slope in zip(Z, loss.gradient, strict=True):
        assert is_zero(sympy.diff(loss.value, z) - slope)
    inverse = sympy.Symbol("u", positive=True)
    for slope, limit in zip(loss.gradient, logit_matching_limit(Z, T), strict=True):
        small = slope.subs(TAU, 1 / inverse) * inverse  # 0 at u = 0; its slope is the limit
        assert small.subs(inverse, 0) == 0
        assert sympy.expand(sympy.diff(small, inverse).subs(inverse, 0) - limit) == 0


def test_hard_gradient_is_the_derivative_for_all_logits():
    epsilon = sympy.Symbol("epsilon", positive=True)
    loss = hard_distillation(Z, 2, 0, smoothing=epsilon)
    for z, slope in zip(Z, loss.gradient, strict=True):
        assert is_zero(sympy.diff(loss.value, z) - slope)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_symbols_and_floats_are_one_formula(direction, rng):
    loss = soft_distillation(Z, T, temperature=TAU, direction=direction)
    compute = sympy.lambdify([*Z, *T, TAU], [loss.value, *loss.gradient])
    for _ in range(5):
        z, t, tau = rng.normal(size=3), rng.normal(size=3), rng.uniform(0.5, 7)
        floats = soft_distillation(z, t, temperature=tau, direction=direction)
        assert np.allclose(compute(*z, *t, tau), [floats.value, *floats.gradient], atol=1e-12)


def test_the_limit_is_approached_and_exact(rng):
    z, t = rng.integers(-9, 10, (2, 4, 7))
    limit = logit_matching_limit(z, t)
    assert limit.tolist() == [
        [Fraction(int(7 * a - sum(r) - 7 * b + sum(s)), 49) for a, b in zip(r, s, strict=True)]
        for r, s in zip(z, t, strict=True)
    ]
    assert np.array_equal(limit.astype(float), logit_matching_limit(z, t * 1.0)) or np.allclose(
        limit.astype(float), logit_matching_limit(z, t * 1.0)
    )
    for direction in DIRECTIONS:
        found = soft_distillation(z, t, temperature=1e5, direction=direction).gradient
        assert np.allclose(found, limit.astype(float), atol=1e-3)


def test_logits_and_temperature_scale_together(rng):
    z, t = rng.normal(size=(2, 7))
    for direction in DIRECTIONS:
        one = soft_distillation(z, t, temperature=2, direction=direction)
        ten = soft_distillation(10 * z, 10 * t, temperature=20, direction=direction)
        assert np.allclose(ten.gradient, 10 * one.gradient)
        assert np.allclose(ten.value, 100 * one.value)


def test_the_two_directions_differ_but_vanish_together(rng):
    z, t = rng.normal(size=(2, 3, 5))
    one, two = (soft_distillation(z, t, direction=d) for d in DIRECTIONS)
    assert (abs(one.value - two.value) > 1e-4).all()
    for direction in DIRECTIONS:
        same = soft_distillation(t + 3, t, temperature=2, direction=direction)
        assert abs(same.value).max() < 1e-12
        assert abs(same.gradient).max() < 1e-12


def test_large_logits_do_not_overflow():
    for direction in DIRECTIONS:
        loss = soft_distillation([1e4, 0, -1e4], [0, 1e4, 2], direction=direction)
        assert loss.value == pytest.approx(1e4)
        assert np.isfinite(loss.gradient).all()
    assert cross_entropy([1e300, 0], [0, 1]).value == 1e300
    assert fuse_sum_softmax([1e300, 0], [0, -1e300]).tolist() == [2, 0]
    assert fuse_mean_logits([1.7e308, 0], [1.7e308, 0.0])[0] == 1.7e308
    tiny = soft_distillation([1e-300, 0], [0, 1e-300], temperature=1e-300)
    assert tiny.gradient[0] == pytest.approx(1e-300 * (exp(1) - 1) / (exp(1) + 1))


@pytest.mark.parametrize("shared", ["all", "others"])
def test_smoothed_labels(shared):
    tenth = Fraction(1, 10)
    exact = smooth_label([[0, 3], [2, 2]], 5, tenth, shared=shared)
    assert exact.shape == (2, 2, 5)
    assert {sum(row) for row in exact.reshape(4, 5)} == {1}
    others, own = (tenth / 5, 1 - 4 * tenth / 5) if shared == "all" else (tenth / 4, 1 - tenth)
    assert sorted(exact[0, 1].tolist()) == [others] * 4 + [own]
    assert exact[0, 1, 3] == own
    floats = smooth_label([[0, 3], [2, 2]], 5, 0.1, shared=shared)
    assert floats.dtype == float
    assert np.allclose(floats, exact.astype(float))
    assert smooth_label(1, 3).tolist() == [0, 1, 0]
    assert smooth_label(1, 2, sympy.Symbol("e"), shared=shared).sum().equals(1)


def test_the_half_and_half_label():
    loss = hard_distillation(Z, 0, 1)
    p = np.array([sympy.exp(z) / sum(sympy.exp(w) for w in Z) for z in Z])
    half = sympy.Rational(1, 2)
    assert all(map(is_zero, loss.gradient - p + np.array([half, half, 0], object)))
    assert hard_distillation([0.0, 0.0], 0, 1).value == pytest.approx(log(2), abs=1e-15)
    assert hard_distillation([40.0, 40.0, 0.0], 0, 1).value == pytest.approx(log(2))
    assert hard_distillation([40.0, 0.0, 0.0], 0, 0).value < 1e-15
    batch = hard_distillation(np.zeros((2, 3, 5)), np.zeros((2, 3), int), np.ones((2, 3), int))
    assert batch.value.shape == (2, 3)
    assert batch.gradient.shape == (2, 3, 5)


def test_the_released_normalisation(rng):
    z, t = rng.normal(size=(2, 11, 7))
    target = smooth_label(rng.integers(0, 7, 11), 7, 0.1)
    options = dict(temperature=3, weight=Fraction(1, 10))
    usual = distillation(z, target, t, **options)
    released = distillation(z, target, t, **options, divide_by_classes=True)
    plain, soft = cross_entropy(z, target), soft_distillation(z, t, temperature=3)
    assert np.allclose(usual.value, 0.9 * plain.value + 0.1 * soft.value)
    assert np.allclose(usual.gradient, 0.9 * plain.gradient + 0.1 * soft.gradient)
    # the released sum over the batch and the classes, divided by their product
    p, q = (np.array([loop_softmax(row, 3) for row in x]) for x in (z, t))
    total = 9 * (q * np.log(q / p)).sum() / z.size
    assert released.value.mean() == pytest.approx(0.9 * plain.value.mean() + 0.1 * total)
    assert np.allclose(released.gradient, 0.9 * plain.gradient + 0.1 * soft.gradient / 7)
    weight = sympy.Symbol("lam", positive=True)
    mixed = distillation(Z, smooth_label(0, 3), T, weight=weight)
    one, two = cross_entropy(Z, smooth_label(0, 3)), soft_distillation(Z, T)
    assert sympy.expand(mixed.value - (1 - weight) * one.value - weight * two.value) == 0
    assert distillation(z, target, t, weight=weight).gradient.shape == (11, 7)


def test_weights_of_the_soft_term():
    lam, classes = sympy.symbols("lam K", positive=True)
    assert soft_weight(lam, TAU, classes) == lam * TAU**2 / classes
    assert soft_weight(Fraction(1, 10), 3) == Fraction(9, 10)
    assert soft_weight(sympy.Rational(1, 10), 3, 1000) == Fraction(9, 10_000)
    assert soft_weight(0.1, 3, 1000) == pytest.approx(0.0009)
    assert soft_weight(1, 1) == 1
    with pytest.raises(ValuesError, match="soft weight: expected a result within the range"):
        soft_weight(0.5, 10**300, 10**400)
    with pytest.raises(ValuesError, match="soft weight: expected a result within the range"):
        soft_weight(1.0, 1e300)


def test_fusions_can_disagree():
    heads = [5, 4, 0], [0, 4, Fraction(9, 2)]
    mean = fuse_mean_logits(*heads)
    assert mean.tolist() == [Fraction(5, 2), 4, Fraction(9, 4)]
    shares = fuse_sum_softmax(*heads)
    loops = np.add(loop_softmax([5, 4, 0]), loop_softmax([0, 4, 4.5]))
    assert np.allclose(shares, loops)
    assert (mean.argmax(), shares.argmax()) == (1, 0)
    exact = fuse_sum_softmax(*(np.array(head, dtype=object) for head in heads))
    assert np.allclose(exact.astype(float), shares)
    assert np.allclose(fuse_mean_logits(heads[0], [0, 4, 4.5]), [2.5, 4, 2.25])
    assert is_zero(fuse_sum_softmax(Z, T).sum() - 2)


def test_kinds_of_numbers():
    """Symbols win over floats, floats over exact numbers; integers are exact in rational functions."""
    assert soft_distillation([1, 2], [2, 1]).gradient.dtype == float
    assert soft_distillation([1, 2.0], [Fraction(1), 2]).gradient.dtype == float
    assert isinstance(soft_distillation(Z, [1.0, 2, 3]).value, sympy.Expr)
    assert isinstance(soft_distillation([1.0, 2, 3], [1, 2, 4], temperature=TAU).value, sympy.Expr)
    exact = soft_distillation([Fraction(1), 2], [Fraction(1, 2), 2], temperature=Fraction(1, 2))
    assert isinstance(exact.value, sympy.Expr)
    assert float(exact.value) == pytest.approx(loop_soft([1, 2], [0.5, 2], 0.5, FORWARD))
    assert logit_matching_limit([1, 2], [Fraction(1), 2]).tolist() == [0, 0]
    assert logit_matching_limit([1, 2], [1.0, 3]).dtype == float
    assert float(soft_distillation([sympy.pi, 1], [1.0, 1]).value) > 0


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: soft_distillation([1.0], [1.0]), GeometryError, "classes: expected an integer >="),
        (lambda: smooth_label(0, 1), GeometryError, "classes: expected an integer >= 2, got 1"),
        (lambda: smooth_label(0, 2**21), GeometryError, "classes: expected at most 1,048,576"),
        (lambda: smooth_label(3, 3), ValuesError, "label: expected values in 0 to 2, got 3"),
        (lambda: smooth_label(-1, 3), ValuesError, "label: expected values in 0 to 2, got -1"),
        (lambda: smooth_label(0, 3, 1.1), ValuesError, "smoothing: expected a number in 0 to 1"),
        (lambda: smooth_label(0, 3, shared="some"), UnknownNameError, "shared: expected one of"),
        (
            lambda: smooth_label(0, 3, -sympy.Symbol("e", positive=True)),
            ValuesError,
            "smoothing: expected a number in 0 to 1",
        ),
        (
            lambda: smooth_label(0, 3, sympy.Symbol("e", imaginary=True)),
            ValuesError,
            "smoothing: expected a finite number",
        ),
        (lambda: hard_distillation([1.0, 2], 0, 2), ValuesError, "label: expected values in 0"),
        (lambda: hard_distillation([1.0, 2], [0], 1), ShapeError, "label: expected shape ()"),
        (lambda: hard_distillation([1.0, 2], 0, [1]), ShapeError, "teacher_label: expected shape"),
        (
            lambda: soft_distillation(Z, T[:2]),
            ShapeError,
            "student and teacher: expected one shape",
        ),
        (lambda: soft_distillation(1.0, 2.0), ShapeError, "student: expected axes"),
        (lambda: soft_distillation(TAU, TAU), ShapeError, "student: expected axes"),
        (
            lambda: soft_distillation([1.0, np.nan], [1, 2]),
            ValuesError,
            "student: expected finite numbers, got nan at index (1,)",
        ),
        (
            lambda: soft_distillation([1, 2], [sympy.oo, 2]),
            ValuesError,
            "teacher: expected finite integers, fractions, floats or scalar expressions",
        ),
        (lambda: soft_distillation([1, 2], [sympy.I, 2]), ValuesError, "teacher: expected finite"),
        (lambda: soft_distillation([1, 2], [sympy.nan, 2]), ValuesError, "teacher: expected"),
        (
            lambda: soft_distillation([1.0, 2], [sympy.Function("f")(1), 2]),
            ValuesError,
            "teacher: expected finite numbers",
        ),
        (lambda: soft_distillation([1, 2], ["a", TAU]), ValuesError, "teacher: expected"),
        (
            lambda: soft_distillation([1.0, 2], [10**400, Fraction(1)]),
            ValuesError,
            "teacher: expected finite numbers",
        ),
        (
            lambda: soft_distillation([1e308, -1e308], [1.0, 2]),
            ValuesError,
            "student logits over the temperature: expected finite numbers",
        ),
        (
            lambda: soft_distillation([0, 1e200], [1.0, 2], temperature=1e200),
            ValuesError,
            "loss: expected a result within the range of floats",
        ),
        (
            lambda: logit_matching_limit([1.7e308, -1.7e308], [-1.7e308, 1.7e308]),
            ValuesError,
            "limit: expected a result within the range of floats",
        ),
        (
            lambda: soft_distillation([1.0, 2], [1, 2], temperature=0),
            ValuesError,
            "temperature: expected a number > 0, got 0",
        ),
        (
            lambda: soft_distillation(Z, T, temperature=-TAU),
            ValuesError,
            "temperature: expected a number > 0",
        ),
        (
            lambda: soft_distillation([1.0, 2], [1, 2], temperature=Fraction(1, 10**400)),
            ValuesError,
            "temperature: expected a number > 0",
        ),
        (
            lambda: soft_distillation([1.0, 2], [1, 2], direction="both"),
            UnknownNameError,
            "direction: expected one of 'student-teacher', 'teacher-student'",
        ),
        (lambda: cross_entropy([1.0, 2], [0.5, 0.6]), ValuesError, "target: expected shares"),
        (lambda: cross_entropy([1.0, 2], [-0.5, 1.5]), ValuesError, "target: expected shares"),
        (lambda: soft_weight(1.5, 1), ValuesError, "weight: expected a number in 0 to 1, got 1.5"),
        (lambda: soft_weight(1, 1, 0), GeometryError, "classes: expected an integer >= 1, got 0"),
        (
            lambda: distillation([1.0, 2], [0, 1], [1, 2], weight=-0.1),
            ValuesError,
            "weight: expected a number in 0 to 1, got -0.1",
        ),
        (
            lambda: distillation([1.0, 2], [0, 1], [1, 2], weight=1, divide_by_classes=1),
            ValuesError,
            "divide_by_classes: expected True or False, got 1",
        ),
    ],
)
def test_what_is_refused(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value).startswith(message)


def test_inputs_are_left_alone():
    z = np.array([1, Fraction(1, 2)], dtype=object)
    soft_distillation(z, z)
    assert z.tolist() == [1, Fraction(1, 2)]
    assert type(z[0]) is int


HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


@pytest.mark.parametrize("target", [[HALF, THIRD], [3 * HALF, -HALF], [0, 0], [2, -1]])
@pytest.mark.parametrize("kind", [float, Fraction, sympy.sympify])
def test_targets_that_are_no_shares_are_refused_in_every_arithmetic(target, kind):
    logits = [kind(0), kind(1)]
    with pytest.raises(ValuesError, match=r"^target: expected shares that are >= 0 and sum to 1"):
        cross_entropy(logits, [kind(share) for share in target])


def test_symbols_leave_shares_open_or_rule_them_out():
    a, low = sympy.symbols("a"), sympy.Symbol("low", negative=True)
    logits = [sympy.Integer(0), sympy.Integer(1)]
    for open_target in ([a, 1 - a], [a, a]):
        assert cross_entropy(logits, open_target).value.has(a)
    for target in ([low, 1 - low], [a, sympy.Rational(1, 3) - a]):
        with pytest.raises(ValuesError, match=r"^target: expected shares"):
            cross_entropy(logits, target)


def test_large_exact_logits_give_expressions_without_a_warning():
    large = np.full((5, 3), 10**400, dtype=object)
    result = distillation(large, np.full((5, 3), 1 / 3), large, weight=0.1, temperature=3)
    assert result.value.shape == (5,)
    assert cross_entropy(large, [[1, 0, 0]] * 5).value.dtype == object


def test_an_infinite_symbol_is_no_share_and_no_temperature():
    endless = sympy.Symbol("n", infinite=True)
    for arguments in ((endless, 3), (HALF, endless)):
        with pytest.raises(ValuesError, match=r": expected a finite number, got n"):
            soft_weight(*arguments)
    with pytest.raises(ValuesError, match=r"^smoothing: expected a finite number"):
        smooth_label(0, 3, endless)
