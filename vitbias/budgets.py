"""Budgets of a training run: one width for one budget, one count in several conventions, one ledger.

Notation: T tokens in attention, extra tokens counted; d width; L blocks; a budget is an integer that grows
with the width: parameters, multiply-accumulates, bytes.

Convention: counting tools answer in different units. A ``Convention`` says how many operations one
multiply-accumulate (mac) is, whether the two products of attention are among them, and how many operations
each value of a normalisation adds. ``macs`` of ``vitbias.counts`` is the convention "macs": 1, yes, 0.

A ledger holds counts only. Seconds, images per second and energy are measurements and have no place in it.

Source: the review that this book accompanies, section 10; Dosovitskiy et al., ICLR 2021
(arXiv:2010.11929v2), table 6.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from vitbias.counts import flops, training_flops
from vitbias.errors import (
    GeometryError,
    Literal,
    ValuesError,
    describe,
    require_choice,
    require_instance,
    require_size,
)
from vitbias.formula import Size, as_size, exact_quotient

__all__ = [
    "CONVENTIONS",
    "Convention",
    "Ledger",
    "Match",
    "convert",
    "ledger",
    "match_width",
    "normalised_values",
    "ratios",
]

LAST_BATCH_RULES = ("drop", "keep")
MOST_WIDTH = 2**24


@dataclass(frozen=True)
class Convention:
    """What a count of operations counts.

    per_mac : operations of one multiply-accumulate, 1 or 2
    products : are the two products of attention, scores and weighted sums, counted
    per_normalised : operations for each value that a normalisation puts out, 0 for none
    """

    per_mac: int
    products: bool
    per_normalised: int = 0


# named by what they count; which tool counts what is the matter of a test, not of a name
CONVENTIONS = {
    "macs": Convention(1, True),
    "flops": Convention(2, True),
    "macs without products": Convention(1, False),
    "flops without products": Convention(2, False),
    "macs and norms": Convention(1, True, 5),
    "macs and norms without products": Convention(1, False, 5),
}


@dataclass(frozen=True)
class Match:
    """The width whose count comes nearest to a target, and that count."""

    width: int
    count: int
    target: int

    @property
    def ratio(self) -> Fraction:
        """count / target."""
        return Fraction(self.count, self.target)


@dataclass(frozen=True)
class Ledger:
    """What one run spends, by count.

    params : of the student
    attention_bytes : of the score maps of one picture, if they are kept
    steps : optimiser steps
    images : pictures seen, repetitions counted
    tokens : tokens seen in attention, ``images`` times T
    student_flops : forward and backward passes, 6 operations a mac
    teacher_flops : forward passes only, 2 operations a mac; 0 without a teacher

    Raises
    ------
    GeometryError : a count that is not a positive integer; only ``teacher_flops`` may be 0
    """

    params: int
    attention_bytes: int
    steps: int
    images: int
    tokens: int
    student_flops: int
    teacher_flops: int

    def __post_init__(self) -> None:
        for field in fields(self):
            least = 0 if field.name == "teacher_flops" else 1
            value = require_size(field.name, getattr(self, field.name), minimum=least)
            object.__setattr__(self, field.name, value)

    @property
    def total_flops(self) -> int:
        """Student and teacher."""
        return self.student_flops + self.teacher_flops

    @property
    def teacher_share(self) -> Fraction:
        """The teacher's part of all operations."""
        return Fraction(self.teacher_flops, self.total_flops)


def match_width(function: Callable[[int], int], target: int, *, step: int = 1) -> Match:
    """The multiple of ``step`` whose count comes nearest to the target; of two equally near the smaller.

    The function has to grow strictly with the width; by bisection, about 2·log₂(d) calls.

    >>> match_width(lambda d: 12 * d**2, 7_000_000).width
    764

    Parameters
    ----------
    function : width to a positive integer, a count
    target : the budget
    step : 1, or the width of a head times the number of heads

    Raises
    ------
    GeometryError : no sizes, or a target below the count of the narrowest width
    ValuesError : no function, or one that does not grow where it was called, or no width up to 2²⁴ reaches
        the target
    """
    if not callable(function):
        raise ValuesError("function", expected="a function of a width", got=function)
    target, step = require_size("target", target), require_size("step", step)
    low, of_low = step, require_size("count", function(step))
    if target < of_low:
        expected = f"at least the count at width {describe(step)}, {describe(of_low)}"
        raise GeometryError("target", expected=expected, got=target)
    high, of_high = low, of_low
    while of_high < target:
        if high >= MOST_WIDTH:
            got = Literal(f"{describe(of_high)} at width {describe(high)}")
            raise ValuesError("count", expected=f"to reach {describe(target)}", got=got)
        low, of_low = high, of_high
        high, of_high = 2 * high, _grown(function, 2 * high, of_high)
    while high - low > step:
        middle = (low // step + high // step) // 2 * step
        of_middle = _grown(function, middle, of_low)
        if of_middle < target:
            low, of_low = middle, of_middle
        else:
            high, of_high = middle, of_middle
    near = (low, of_low) if target - of_low <= of_high - target else (high, of_high)
    return Match(*near, target)


def normalised_values(tokens: Size, width: Size, depth: Size) -> Any:
    """(2L + 1)·T·d: two normalisations in each block and one behind the last, over all tokens.

    Raises
    ------
    GeometryError
    """
    tokens, width = as_size("tokens", tokens), as_size("width", width)
    return (2 * as_size("depth", depth) + 1) * tokens * width


def convert(
    count: Size, source: str, target: str, *, products: Size = 0, normalised: Size = 0
) -> Any:
    """``count`` of one convention in another one of ``CONVENTIONS``.

    count / per_mac, without or with the products and the normalisations, as the conventions say.

    >>> convert(17_563_828_224, "macs", "flops without products", products=715_327_488)
    33697001472

    Parameters
    ----------
    products : macs of the products of attention, as in ``counts.macs(model).pairs``
    normalised : values put out by normalisations, from ``normalised_values``

    Raises
    ------
    GeometryError : no sizes, or a count that the source convention cannot have
    UnknownNameError : an unknown convention
    """
    old = CONVENTIONS[require_choice("source", source, CONVENTIONS)]
    new = CONVENTIONS[require_choice("target", target, CONVENTIONS)]
    products = as_size("products", products, minimum=0)
    normalised = as_size("normalised", normalised, minimum=0)
    linear = as_size("count", count) - old.per_normalised * normalised
    linear = exact_quotient("count without norms", linear, old.per_mac)
    linear -= products if old.products else 0
    linear = as_size("count without norms and products", linear, minimum=0)
    linear += products if new.products else 0
    return new.per_mac * linear + new.per_normalised * normalised


def ledger(
    *,
    params: int,
    macs: int,
    tokens: int,
    attention_bytes: int,
    images: int,
    epochs: int,
    batch: int,
    last_batch: str = "drop",
    teacher_macs: int = 0,
) -> Ledger:
    """The ledger of a run.

    steps = epochs·⌊images / batch⌋, and the pictures of an incomplete batch are not seen; with
    ``last_batch="keep"`` epochs·⌈images / batch⌉, and all are.

    Parameters
    ----------
    macs, tokens, attention_bytes : of the student, for one picture
    images : in one epoch
    teacher_macs : of the teacher's forward pass for one picture; 0 without a teacher

    Raises
    ------
    GeometryError : no sizes; also a batch of more pictures than an epoch has, when it is dropped
    UnknownNameError : an unknown rule for the last batch
    """
    images, batch = require_size("images", images), require_size("batch", batch)
    epochs, tokens = require_size("epochs", epochs), require_size("tokens", tokens)
    macs, teacher_macs = (
        require_size("macs", macs),
        require_size("teacher_macs", teacher_macs, minimum=0),
    )
    if require_choice("last_batch", last_batch, LAST_BATCH_RULES) == "drop":
        if batch > images:
            raise GeometryError("batch", expected=f"at most {describe(images)}", got=batch)
        steps, seen = images // batch, images // batch * batch
    else:
        steps, seen = -(-images // batch), images
    return Ledger(
        params=require_size("params", params),
        attention_bytes=require_size("attention_bytes", attention_bytes),
        steps=epochs * steps,
        images=epochs * seen,
        tokens=epochs * seen * tokens,
        student_flops=training_flops(macs, epochs * seen),
        teacher_flops=flops(teacher_macs) * epochs * seen,
    )


def ratios(first: Ledger, second: Ledger) -> dict[str, Fraction]:
    """first / second for every budget of a ledger; the teacher stands in ``total_flops`` only.

    Raises
    ------
    ValuesError : no ledgers
    """
    require_instance("first", first, Ledger)
    require_instance("second", second, Ledger)
    names = [field.name for field in fields(Ledger) if field.name != "teacher_flops"]
    return {
        name: Fraction(getattr(first, name), getattr(second, name))
        for name in [*names, "total_flops"]
    }


def _grown(function: Callable[[int], int], width: int, less: int) -> int:
    """The count at ``width``, if it is more than that at a smaller width."""
    value = require_size("count", function(width))
    if value <= less:
        got = Literal(f"{describe(value)} at width {describe(width)}")
        raise ValuesError(
            "count", expected=f"more than {describe(less)}, of a smaller width", got=got
        )
    return value
