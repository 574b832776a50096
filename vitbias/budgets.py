"""Budgets of a training run: the size that meets one, the ledger of a run, what two ledgers license.

Notation: T tokens in attention, extra tokens counted; d width; L blocks; a budget is an integer that grows
with the width: parameters, multiply-accumulates, bytes.

A ledger holds counts only. Seconds, images per second and energy are measurements and have no place in it.

Source: the review that this book accompanies, section 10; Dosovitskiy et al., ICLR 2021
(arXiv:2010.11929v2), table 6.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from math import lcm
from types import MappingProxyType

from vitbias.architecture import Architecture
from vitbias.conventions import CONVENTIONS, operations
from vitbias.counts import flops, params, training_flops
from vitbias.errors import (
    GeometryError,
    Literal,
    ValuesError,
    describe,
    require_choice,
    require_instance,
    require_size,
)

__all__ = [
    "Comparison",
    "Fit",
    "Ledger",
    "Match",
    "compare",
    "fit",
    "ledger",
    "match_depth",
    "match_width",
    "ratios",
]

LAST_BATCH_RULES = ("drop", "keep")
MOST_WIDTH, MOST_DEPTH = 2**24, 2**16
# budgets of a ledger, and what a sentence calls them
SPOKEN = {
    "params": "parameters",
    "attention_bytes": "bytes of score maps",
    "steps": "optimiser steps",
    "images": "pictures seen",
    "tokens": "tokens seen",
    "student_flops": "the student's operations",
    "total_flops": "operations with the teacher's",
}


@dataclass(frozen=True)
class Match:
    """The size, a width or a depth, whose count comes nearest to a target, and that count."""

    size: int
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


@dataclass(frozen=True)
class Fit:
    """A model that was scaled to a budget, and how near it comes."""

    architecture: Architecture
    match: Match


@dataclass(frozen=True)
class Comparison:
    """Two ledgers, budget by budget: ``ratios`` are first / second, matched up to 1 + ``tolerance``."""

    ratios: Mapping[str, Fraction]
    tolerance: Fraction

    @property
    def matched(self) -> tuple[str, ...]:
        """The budgets that agree: 1/(1 + t) <= first / second <= 1 + t."""
        most = 1 + self.tolerance
        return tuple(name for name, ratio in self.ratios.items() if 1 / most <= ratio <= most)

    @property
    def unmatched(self) -> tuple[str, ...]:
        """All others."""
        return tuple(name for name in self.ratios if name not in self.matched)

    def sentence(self, first: str, second: str) -> str:
        """What a different outcome of the two runs may be called, and what may be behind it.

        Raises
        ------
        ValuesError : names that are no text
        """
        for field, name in (("first", first), ("second", second)):
            if not isinstance(name, str) or not name.strip():
                raise ValuesError(field, expected="a name", got=name)
        within = f"within {float(100 * self.tolerance):.4g} %" if self.tolerance else "exactly"
        equal = _listed([SPOKEN[name] for name in self.matched])
        factors = [f"{SPOKEN[n]} ({float(self.ratios[n]):.4g} to 1)" for n in self.unmatched]
        if not factors:
            return (
                f"{first} and {second} agree {within} in {equal}: "
                "none of these explains a different outcome."
            )
        start = (
            f"A different outcome of {first} and {second} is one at equal {equal}, {within}; "
            if equal
            else f"{first} and {second} agree {within} in no budget; a different outcome "
        )
        joint = "it may come from" if equal else "may come from"
        return f"{start}{joint} {_listed(factors)}."


def match_width(function: Callable[[int], int], target: int, *, step: int = 1) -> Match:
    """The multiple of ``step`` whose count comes nearest to the target; of two equally near the smaller.

    The function has to grow strictly with the width; by bisection, about 2·log₂(d) calls.

    >>> match_width(lambda d: 12 * d**2, 7_000_000).size
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
    return _match(function, target, require_size("step", step), "width", MOST_WIDTH)


def match_depth(function: Callable[[int], int], target: int) -> Match:
    """The number of blocks whose count comes nearest to the target; of two equally near the smaller.

    >>> match_depth(lambda blocks: 5 + 7 * blocks, 90).size
    12

    Parameters
    ----------
    function : blocks to a positive integer, a count that grows strictly
    target : the budget

    Raises
    ------
    GeometryError : no sizes, or a target below the count of one block
    ValuesError : as ``match_width``, up to 2¹⁶ blocks
    """
    return _match(function, target, 1, "depth", MOST_DEPTH)


def fit(architecture: Architecture, budget: str, target: int, *, by: str = "width") -> Fit:
    """The model with another width or depth that comes nearest to a budget; heads and all else stay.

    A width is one that every stage's heads divide and that makes hidden widths whole; stages keep their
    ratios. The number of blocks is changed in models of one stage.

    >>> from vitbias.readers.catalogue import published
    >>> found = fit(published("ViT-B/32"), "macs", 17_563_828_224, by="depth")
    >>> found.match.size, found.architecture.depth
    (49, 49)

    Parameters
    ----------
    budget : "params", or a convention of ``vitbias.conventions``, such as "macs"
    by : "width" or "depth"

    Raises
    ------
    GeometryError : a target that is no size or below the smallest model's count
    UnknownNameError : an unknown budget, or another size than width and depth
    ValuesError : no ``Architecture``; several stages by depth; a budget that does not grow with the size, or
        is not reached
    """
    model = require_instance("architecture", architecture, Architecture)
    name = require_choice("budget", budget, ("params", *CONVENTIONS))
    wide = require_choice("by", by, ("width", "depth")) == "width"
    if not wide and len(model.stages) > 1:
        got = Literal(f"{len(model.stages)} stages")
        raise ValuesError("architecture", expected="one stage, to be fitted by depth", got=got)
    scaled = _widened if wide else _deepened

    def count(size: int) -> int:
        one = scaled(model, size)
        return params(one).total if name == "params" else operations(one, name)

    found = (
        match_width(count, target, step=_width_step(model)) if wide else match_depth(count, target)
    )
    return Fit(scaled(model, found.size), found)


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


def compare(first: Ledger, second: Ledger, *, tolerance: Fraction | int) -> Comparison:
    """Which budgets of two runs match, and what a different outcome may be called.

    Parameters
    ----------
    tolerance : t >= 0, exact: a ratio r matches if 1/(1 + t) <= r <= 1 + t

    Raises
    ------
    ValuesError : no ledgers; a tolerance that is no ``Fraction`` and no integer, or negative
    """
    given = ratios(first, second)
    if isinstance(tolerance, bool) or not isinstance(tolerance, Fraction | int) or tolerance < 0:
        raise ValuesError("tolerance", expected="a fraction or an integer >= 0", got=tolerance)
    return Comparison(MappingProxyType(given), Fraction(tolerance))


def _match(function: Callable[[int], int], target: int, step: int, what: str, most: int) -> Match:
    if not callable(function):
        raise ValuesError("function", expected=f"a function of a {what}", got=function)
    target = require_size("target", target)
    low, of_low = step, require_size("count", function(step))
    if target < of_low:
        expected = f"at least the count at {what} {describe(step)}, {describe(of_low)}"
        raise GeometryError("target", expected=expected, got=target)
    high, of_high = low, of_low
    while of_high < target:
        if high >= most:
            got = Literal(f"{describe(of_high)} at {what} {describe(high)}")
            raise ValuesError("count", expected=f"to reach {describe(target)}", got=got)
        low, of_low = high, of_high
        high, of_high = 2 * high, _grown(function, 2 * high, of_high, what)
    while high - low > step:
        middle = (low // step + high // step) // 2 * step
        of_middle = _grown(function, middle, of_low, what)
        if of_middle < target:
            low, of_low = middle, of_middle
        else:
            high, of_high = middle, of_middle
    near = (low, of_low) if target - of_low <= of_high - target else (high, of_high)
    return Match(*near, target)


def _grown(function: Callable[[int], int], size: int, less: int, what: str) -> int:
    """The count at ``size``, if it is more than that at a smaller one."""
    value = require_size("count", function(size))
    if value <= less:
        got = Literal(f"{describe(value)} at {what} {describe(size)}")
        raise ValuesError(
            "count", expected=f"more than {describe(less)}, of a smaller {what}", got=got
        )
    return value


def _width_step(model: Architecture) -> int:
    """The smallest first width of which every multiple divides into heads and hidden widths."""
    first = model.width
    steps = []
    for stage in model.stages:
        for divisor, times in (
            (stage.heads, Fraction(stage.width)),
            (1, Fraction(stage.mlp_ratio) * stage.width),
        ):
            # size · times / first is a multiple of divisor
            part = times / (first * divisor)
            steps.append(part.denominator)
    return lcm(*steps)


def _widened(model: Architecture, width: int) -> Architecture:
    stages = tuple(
        replace(stage, width=width * stage.width // model.width) for stage in model.stages
    )
    return replace(model, stages=stages)


def _deepened(model: Architecture, depth: int) -> Architecture:
    return replace(model, stages=(replace(model.stages[0], depth=depth),))


def _listed(parts: list[str]) -> str:
    """Parts with commas and an "and"; nothing for none."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
