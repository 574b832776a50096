"""Distillation: what a student's logits are told by labels and by a teacher, as losses and gradients.

Notation: z_s, z_t logits of student and teacher, K classes on the last axis; τ temperature; λ weight of the
teacher; p = softmax(z / τ); e_y the one-hot label. All gradients are with respect to z_s.

    soft, "teacher-student"   τ² KL(p_t ‖ p_s)     gradient  τ (p_s - p_t)
    soft, "student-teacher"   τ² KL(p_s ‖ p_t)     gradient  τ p_s (r - Σ p_s r),  r = log(p_s / p_t)
    hard                      ½ CE(p, e_y) + ½ CE(p, e_t)  gradient  p - (e_y + e_t) / 2,  at τ = 1

Convention: equation 2 of the paper writes KL(student, teacher) with a comma; the released code computes
KL(teacher ‖ student). Both are here, by name. The code also divides by batch times classes, not by the batch.

The functions take floats, or exact entries: sympy expressions and fractions in a list or an object array,
for which they return sympy expressions. A symbol anywhere makes all exact; without one the student's logits
decide. Floats go through log-sum-exp, so large logits do not overflow.

Sources: Hinton, Vinyals, Dean, arXiv:1503.02531, section 2.1; DeiT (ICML 2021), section 4, equations 2 and 3;
the released code of DeiT, losses.py and models.py.
"""

from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

from vitbias.arrays import Array, as_array, require_array, require_floats, require_in_range
from vitbias.errors import (
    GeometryError,
    Literal,
    ShapeError,
    ValuesError,
    require_choice,
    require_number,
    require_size,
)
from vitbias.formula import as_size, is_symbolic

__all__ = [
    "DIRECTIONS",
    "Loss",
    "cross_entropy",
    "distillation",
    "fuse_mean_logits",
    "fuse_sum_softmax",
    "hard_distillation",
    "logit_matching_limit",
    "smooth_label",
    "soft_distillation",
    "soft_weight",
]

DIRECTIONS = ("teacher-student", "student-teacher")
SHARED = ("all", "others")
LARGEST_SUM_ERROR = 1e-6
MOST_CLASSES = 2**20
PLAIN = {int, float, Fraction}
# floats that left the range are refused by the check of the result; big expressions only set the flags
QUIET = np.errstate(over="ignore", invalid="ignore")


@dataclass(frozen=True)
class Loss:
    """One loss for each example, (...,), and its gradient with respect to the student's logits, (..., K)."""

    value: Any
    gradient: Array


def smooth_label(label: Any, classes: int, smoothing: Any = 0, *, shared: str = "all") -> Array:
    """(1 - ε) e_y + ε u: the one-hot label with ε = ``smoothing`` shared out, (..., K).

    u is uniform on "all" K classes, the usual code, or on the K - 1 "others", the words of DeiT.
    Exact unless ε is a float: objects (integers, fractions, expressions).

    Parameters
    ----------
    label : (...) integers in 0…K-1
    smoothing : in [0, 1]; DeiT uses 0.1 for true labels and 0 for the teacher's

    Raises
    ------
    ShapeError, ValuesError : also for a label that is no class
    GeometryError : fewer than two classes
    UnknownNameError
    """
    classes = _require_classes(classes)
    labels = require_in_range("label", label, "...", 0, classes - 1).astype(np.int64)
    smoothing = _require_share("smoothing", smoothing)
    hot = np.arange(classes) == labels[..., None]
    if require_choice("shared", shared, SHARED) == "all":
        low = smoothing / classes
        high = 1 - smoothing + low
    else:
        low, high = smoothing / (classes - 1), 1 - smoothing
    kind = float if isinstance(smoothing, float) else object
    return np.where(hot, np.array(high, dtype=kind), np.array(low, dtype=kind))


@QUIET
def cross_entropy(student: Any, target: Any) -> Loss:
    """CE(p, q) = -Σ q log p with p = softmax(z_s); gradient p - q.

    Parameters
    ----------
    student : (..., K) logits
    target : (..., K), each row non-negative with sum 1; of symbols, what they leave open is allowed

    Raises
    ------
    ShapeError, ValuesError
    GeometryError : fewer than two classes
    """
    student, target = _pair("student", student, "target", target)
    if not _are_shares(target):
        raise ValuesError("target", expected="shares that are >= 0 and sum to 1", got=target)
    logs = _log_softmax("student", student, 1)
    return _loss(-(target * logs).sum(axis=-1), _exp(logs) - target)


@QUIET
def soft_distillation(
    student: Any, teacher: Any, *, temperature: Any = 1, direction: str = DIRECTIONS[0]
) -> Loss:
    """τ² KL between the softened outputs; for the formulas see the head of the module.

    The factor τ² keeps the gradient of one size when τ grows: see ``logit_matching_limit``.

    Parameters
    ----------
    student, teacher : (..., K) logits
    temperature : τ > 0
    direction : "teacher-student" is KL(teacher ‖ student), as released; "student-teacher" the reverse

    Raises
    ------
    ShapeError, ValuesError : also for results beyond the range of floats
    GeometryError : fewer than two classes
    UnknownNameError
    """
    tau = _require_temperature(temperature)
    student, teacher = _pair("student", student, "teacher", teacher, scalar=tau)
    tau = _scalar(tau, student)
    forward = require_choice("direction", direction, DIRECTIONS) == DIRECTIONS[0]
    logs, teacher_logs = (
        _log_softmax(name, logits, tau)
        for name, logits in (("student", student), ("teacher", teacher))
    )
    p, q = _exp(logs), _exp(teacher_logs)
    ratio = logs - teacher_logs
    mean = (p * ratio).sum(axis=-1)
    if forward:
        return _loss(-tau * tau * (q * ratio).sum(axis=-1), tau * (p - q))
    return _loss(tau * tau * mean, tau * p * (ratio - np.asarray(mean)[..., None]))


def hard_distillation(student: Any, label: Any, teacher_label: Any, *, smoothing: Any = 0) -> Loss:
    """½ CE(p, e_y) + ½ CE(p, e_t) on one softmax: cross-entropy to the half-and-half label.

    Where y ≠ t its infimum is ln 2; with K > 2 it is not attained. DeiT's two heads take one half each and
    have no such bound. ``smoothing`` applies to e_y alone, on all classes.

    Parameters
    ----------
    student : (..., K) logits; label, teacher_label : (...) integers in 0…K-1

    Raises
    ------
    ShapeError, ValuesError : also for a label that is no class
    GeometryError : fewer than two classes
    """
    logits = _logits("student", student)
    half: Any = Fraction(1, 2)
    smoothing = _require_share("smoothing", smoothing)
    if logits.dtype != object and not is_symbolic(smoothing):
        smoothing, half = float(smoothing), 0.5
    targets = {
        "label": smooth_label(label, logits.shape[-1], smoothing),
        "teacher_label": smooth_label(teacher_label, logits.shape[-1], 0 * smoothing),
    }
    for name, target in targets.items():
        if target.shape != logits.shape:
            got = Literal(f"shape {target.shape[:-1]}")
            raise ShapeError(name, expected=f"shape {logits.shape[:-1]}", got=got)
    return cross_entropy(logits, targets["label"] * half + targets["teacher_label"] * half)


def soft_weight(weight: Any, temperature: Any, classes: Any = 1) -> Any:
    """λ τ² / K, what stands in front of one example's KL; K = 1 is the usual mean over the batch.

    >>> soft_weight(Fraction(1, 10), 3), soft_weight(Fraction(1, 10), 3, 1000)
    (Fraction(9, 10), Fraction(9, 10000))

    Raises
    ------
    ValuesError, GeometryError
    """
    share, tau = _require_share("weight", weight), _require_temperature(temperature)
    divisor = as_size("classes", classes)
    try:
        return _checked("soft weight", share * tau * tau / divisor)
    except OverflowError:
        expected = "a result within the range of floats"
        raise ValuesError("soft weight", expected=expected, got=(share, tau, divisor)) from None


@QUIET
def distillation(
    student: Any,
    target: Any,
    teacher: Any,
    *,
    temperature: Any = 1,
    weight: Any,
    direction: str = DIRECTIONS[0],
    divide_by_classes: bool = False,
) -> Loss:
    """(1 - λ) CE(softmax(z_s), q) + λ τ² KL, equation 2 of DeiT, for each example.

    With ``divide_by_classes`` the second term is divided by K, as the released code has it: there the sum
    of the KL over the batch is divided by batch times classes. The mean over the batch is the caller's.

    Parameters
    ----------
    student, teacher : (..., K) logits; target : (..., K) shares
    weight : λ in [0, 1]

    Raises
    ------
    ShapeError, ValuesError, GeometryError, UnknownNameError : as the two terms
    """
    share = _require_share("weight", weight)
    if not isinstance(divide_by_classes, bool):
        raise ValuesError("divide_by_classes", expected="True or False", got=divide_by_classes)
    label = cross_entropy(student, target)
    soft = soft_distillation(student, teacher, temperature=temperature, direction=direction)
    one, two = _scalar(1 - share, label.gradient), _scalar(share, soft.gradient)
    if divide_by_classes:
        two = two / label.gradient.shape[-1]
    return _loss(one * label.value + two * soft.value, one * label.gradient + two * soft.gradient)


def logit_matching_limit(student: Any, teacher: Any) -> Array:
    """(z_s - mean z_s - z_t + mean z_t) / K: both soft gradients tend to it as τ grows.

    Exact for integers, fractions and expressions.

    Raises
    ------
    ShapeError, ValuesError
    GeometryError : fewer than two classes
    """
    student, teacher = _pair("student", student, "teacher", teacher, rational=True)
    classes = student.shape[-1]
    with np.errstate(over="ignore", invalid="ignore"):
        centred = [z - z.sum(axis=-1, keepdims=True) / classes for z in (student, teacher)]
        return np.asarray(_checked("limit", (centred[0] - centred[1]) / classes))


def fuse_mean_logits(first: Any, second: Any) -> Array:
    """(z_1 + z_2) / 2, the fusion of two heads in the released code, (..., K).

    Exact for integers, fractions and expressions.

    Raises
    ------
    ShapeError, ValuesError, GeometryError
    """
    first, second = _pair("first", first, "second", second, rational=True)
    return np.asarray(first / 2 + second / 2)


def fuse_sum_softmax(first: Any, second: Any) -> Array:
    """softmax(z_1) + softmax(z_2), the fusion that the paper describes, (..., K); each row sums to 2.

    Raises
    ------
    ShapeError, ValuesError, GeometryError
    """
    first, second = _pair("first", first, "second", second)
    shares = [_exp(_log_softmax(name, z, 1)) for name, z in (("first", first), ("second", second))]
    return np.asarray(shares[0] + shares[1])


def _logits(field: str, value: Any) -> Array:
    """(..., K) as finite numbers, or as an object array of Python numbers or of sympy expressions."""
    array = as_array(field, value)
    if array.dtype != object:
        array = require_array(field, array, "... classes")
    elif array.ndim == 0 or 0 in array.shape:
        got = Literal(f"shape {array.shape}")
        raise ShapeError(field, expected="axes (..., classes)", got=got)
    elif not set(map(type, array.flat)) <= PLAIN:
        array = _symbolic(field, array)
    _require_classes(array.shape[-1])
    return array


def _are_shares(target: Array) -> bool:
    """No negative entry, and rows that sum to 1; what symbols leave open counts as such."""
    if target.dtype != object:
        inside = target.min() >= 0 and target.max() <= 2  # so that the sum cannot overflow
        return bool(inside and abs(target.sum(axis=-1) - 1).max() <= LARGEST_SUM_ERROR)
    if any(entry.is_negative for entry in target.flat):
        return False
    sums = np.asarray(target.sum(axis=-1)).flat
    return all(total.free_symbols or abs(total - 1) <= LARGEST_SUM_ERROR for total in sums)


def _symbolic(field: str, array: Array) -> Array:
    from sympy import Expr, nan, sympify

    exact = np.empty(array.shape, dtype=object)
    for index, item in np.ndenumerate(array):
        if type(item) in (int, float, Fraction) or isinstance(item, np.integer | np.floating):
            item = sympify(item)
        usable = isinstance(item, Expr) and item.is_scalar is not False and item != nan
        # infinities and imaginary numbers are expressions too; what sympy leaves open is allowed
        if not usable or item.is_finite is False or item.is_extended_real is False:
            expected = "finite integers, fractions, floats or scalar expressions"
            raise ValuesError(field, expected=expected, got=array)
        exact[index] = item
    return exact


def _pair(
    one_name: str, one: Any, two_name: str, two: Any, *, scalar: Any = 0, rational: bool = False
) -> tuple[Array, Array]:
    """Both arrays, of one shape, both as floats or both as expressions.

    Expressions where a symbol is among them or in ``scalar``; without one the first array decides, by
    being exact or not. Of a rational function integers are exact, and one float makes all floats.
    """
    arrays = {one_name: _logits(one_name, one), two_name: _logits(two_name, two)}
    first, second = arrays.values()
    if first.shape != second.shape:
        got = Literal(f"shapes {first.shape} and {second.shape}")
        raise ShapeError(f"{one_name} and {two_name}", expected="one shape", got=got)
    exact = "f" not in (first.dtype.kind, second.dtype.kind) if rational else first.dtype == object
    if (
        exact
        or is_symbolic(scalar)
        or any(a.dtype == object and _has_symbols(a) for a in (first, second))
    ):
        return _symbolic(one_name, arrays[one_name]), _symbolic(two_name, arrays[two_name])
    return _floats(one_name, arrays[one_name]), _floats(two_name, arrays[two_name])


def _has_symbols(array: Array) -> bool:
    return type(array.flat[0]) not in PLAIN and is_symbolic(*array.flat)


def _floats(field: str, array: Array) -> Array:
    try:
        with np.errstate(over="ignore"):
            floats = array.astype(np.float64)
    except (TypeError, OverflowError):
        floats = np.full(array.shape, np.inf)
    return require_floats(field, floats, "... classes")


def _scalar(value: Any, like: Array) -> Any:
    """A number in the arithmetic of an array: a fraction times a float array would be objects."""
    if is_symbolic(value):
        return value
    if like.dtype != object:
        return float(value)
    return _symbolic("number", np.array(value, dtype=object)).item()


def _log_softmax(field: str, logits: Array, temperature: Any) -> Array:
    """z/τ - log Σ exp(z/τ); floats are shifted by their maximum first, which changes nothing else."""
    if logits.dtype == object:
        from sympy import log

        scaled = logits / temperature
        total = _exp(scaled).sum(axis=-1, keepdims=True)
        return np.asarray(scaled - np.vectorize(log, otypes=[object])(total))
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = logits / float(temperature)
        scaled = scaled - scaled.max(axis=-1, keepdims=True)
    scaled = require_array(f"{field} logits over the temperature", scaled, "... classes")
    return np.asarray(scaled - np.log(np.exp(scaled).sum(axis=-1, keepdims=True)))


def _exp(values: Array) -> Array:
    if values.dtype == object:
        from sympy import exp

        return np.asarray(np.vectorize(exp, otypes=[object])(values))
    return np.asarray(np.exp(values))


def _loss(value: Any, gradient: Array) -> Loss:
    return Loss(_checked("loss", value), np.asarray(_checked("gradient", gradient)))


def _checked(field: str, value: Any) -> Any:
    """Floats that left the range of floats are refused; expressions pass."""
    array = np.asarray(value)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValuesError(field, expected="a result within the range of floats", got=array)
    return value


def _require_classes(classes: Any) -> int:
    number = require_size("classes", classes, minimum=2)
    if number > MOST_CLASSES:
        raise GeometryError("classes", expected=f"at most {MOST_CLASSES:,}", got=number)
    return number


def _require_temperature(temperature: Any) -> Any:
    tau = _number("temperature", temperature)
    if tau.is_positive is False if is_symbolic(tau) else not float(tau) > 0:
        raise ValuesError("temperature", expected="a number > 0", got=temperature)
    return tau


def _require_share(field: str, value: Any) -> Any:
    share = _number(field, value)
    symbolic = is_symbolic(share)
    outside = (share.is_negative or (1 - share).is_negative) if symbolic else not 0 <= share <= 1
    if outside:
        raise ValuesError(field, expected="a number in 0 to 1", got=value)
    return share


def _number(field: str, value: Any) -> Any:
    """A real symbol as it is, an exact number as a fraction, anything else as a float."""
    if is_symbolic(value) and value.is_extended_real is not False and value.is_finite is not False:
        return value
    number = require_number(field, value)
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    return number
