"""Finite alphabets: when pictures of 8 bits must collide, by counting.

Notation: q values a pixel can take; D values of a patch; d numbers in a token; b bits of a float, m of them
stored for the mantissa; A the largest magnitude in an integer projection E (d x D) with rows e_i.

    pigeonhole   values^d < q^D
    Siegel       floor((D A)^(d/(D - d))) <= q - 1
    entropy      sum_i log2(2πe(|e_i|²(q² - 1)/12 + 1/12))/2 < D log2 q

Each is sufficient for two patches with one token. None is necessary: "not guaranteed" is not "injective".

Convention: values are counted, not bit patterns: 0 and -0 are one value, and so are all NaN.
The last two are about unbounded integers: the accumulator of a layer that reads raw pixels, before any
rescaling.

Sources: IEEE 754-2019, section 3.4; Siegel, Abh. Preuß. Akad. (1929); Cover and Thomas, Elements of
Information Theory, section 8.6 and problem 8.7 (the entropy of an integer by its variance).
"""

from dataclasses import dataclass
from math import log2
from typing import Any

from vitbias.arrays import require_integers
from vitbias.errors import (
    GeometryError,
    Literal,
    ValuesError,
    describe,
    require_choice,
    require_size,
)

__all__ = [
    "FORMATS",
    "Count",
    "entropy_bound",
    "exact_digits",
    "float_values",
    "pigeonhole",
    "siegel_bound",
]

# bits of the whole and of the stored mantissa
FORMATS = {"bf16": (16, 7), "fp16": (16, 10), "fp32": (32, 23), "fp64": (64, 52)}
PRECISION = 256  # bits of the balls in which logarithms are compared
MOST_BITS = 2**22  # of a number that is formed whole


@dataclass(frozen=True)
class Count:
    """Two numbers of bits and what they prove.

    needed : bits of all patches, D log2 q; held : bits that a token can hold at most, by the bound
    guaranteed : held < needed, proved: then two patches share a token

    After ``pigeonhole`` there are at most 2^held tokens, so 2^(needed - held) patches share one on the
    average. ``entropy_bound`` bounds the entropy of the token and not the number of tokens.
    """

    needed: float
    held: float
    guaranteed: bool

    @property
    def spare(self) -> float:
        """needed - held: bits of a uniformly random patch that its token cannot hold [bits]."""
        return self.needed - self.held


def float_values(bits: int, mantissa: int) -> int:
    """2^b - 2^(m + 1) + 2, the different values of a binary float: finite ones, two infinities, one NaN.

    >>> float_values(16, 7)
    65282

    Raises
    ------
    GeometryError : no room for a sign and at least one bit of exponent
    """
    bits, mantissa = require_size("bits", bits), require_size("mantissa", mantissa)
    _require_formable("bits", bits)
    if bits < mantissa + 2:
        expected = f"at least {describe(mantissa + 2)}: sign, exponent and mantissa"
        raise GeometryError("bits", expected=expected, got=bits)
    return int(2**bits - 2 ** (mantissa + 1) + 2)


def exact_digits(name: str) -> int:
    """The most digits in base 256 that a float of this format holds: floor((m + 1)/8).

    For this many pixels the map (1, 256, 256², …) stays injective; for one more it does not.

    >>> exact_digits("fp32"), exact_digits("fp64")
    (3, 6)

    Raises
    ------
    UnknownNameError : no key of ``FORMATS``
    """
    _, mantissa = FORMATS[require_choice("name", name, FORMATS)]
    return (mantissa + 1) // 8


def pigeonhole(raw: int, width: int, values: int, *, pixel_values: int = 256) -> Count:
    """Are there fewer tokens, values^d, than patches, q^D? Compared as integers.

    Parameters
    ----------
    values : how many values a coordinate of the token can take, as ``float_values(16, 7)``

    Raises
    ------
    GeometryError : a size below 1, or an alphabet of fewer than two letters
    """
    raw, width = require_size("raw", raw), require_size("width", width)
    values = require_size("values", values, minimum=2)
    pixels = require_size("pixel_values", pixel_values, minimum=2)
    _require_formable("raw", raw * pixels.bit_length())
    _require_formable("width", width * values.bit_length())
    return Count(log2(pixels) * raw, log2(values) * width, values**width < pixels**raw)


def siegel_bound(raw: int, width: int, largest: int) -> int:
    """floor((D A)^(d/(D - d))): some nonzero integer null vector has no larger entry.

    If it is at most q - 1, two patches with values 0…q - 1 share a token: the positive and the negative part
    of the vector. The root is exact.

    >>> siegel_bound(768, 192, 127), siegel_bound(3072, 1024, 127)
    (46, 624)

    Raises
    ------
    GeometryError : d >= D, or a size below 1
    """
    from flint import fmpz

    raw, width = require_size("raw", raw), require_size("width", width)
    largest = require_size("largest", largest)
    if width >= raw:
        raise GeometryError("width", expected=f"less than raw, {describe(raw)}", got=width)
    bits = width * (raw * largest).bit_length()
    _require_formable("width", bits)
    if raw - width > bits:
        return 1  # a power of 2 with this exponent would be larger
    return int(fmpz((raw * largest) ** width).root(raw - width))


def entropy_bound(squared_lengths: Any, raw: int, *, pixel_values: int = 256) -> Count:
    """Can the tokens of uniform patches carry D log2 q bits? Decided in balls, so never by rounding.

    A uniform patch has D log2 q bits; if no two patches shared a token, the token would have as many. Its
    integer coordinates have at most log2(2πe(variance + 1/12))/2 bits each.

    Parameters
    ----------
    squared_lengths : (d,) integers, |e_i|² for the rows of E; at worst D·A²
    raw : D

    Raises
    ------
    GeometryError, ShapeError
    ValuesError : a negative length, or no integers
    """
    from flint import arb, ctx

    lengths = require_integers("squared_lengths", squared_lengths, "width").tolist()
    if min(lengths) < 0:
        raise ValuesError("squared_lengths", expected="integers >= 0", got=min(lengths))
    raw = require_size("raw", raw)
    pixels = require_size("pixel_values", pixel_values, minimum=2)
    _require_formable("raw", raw * pixels.bit_length())
    with ctx.workprec(PRECISION):
        factor = arb.pi() * arb.const_e() / 6
        # the variance plus 1/12 is (|e|²(q² - 1) + 1)/12
        held = sum((_log2(factor * (n * (pixels**2 - 1) + 1)) for n in lengths), arb(0)) / 2
        needed = _log2(arb(pixels)) * raw
        return Count(float(needed), float(held), bool(held < needed))


def _require_formable(field: str, bits: int) -> None:
    if bits > MOST_BITS:
        expected = f"numbers of at most {MOST_BITS:,} bits"
        raise GeometryError(field, expected=expected, got=Literal(f"{describe(bits)} bits"))


def _log2(ball: Any) -> Any:
    """In a ball that contains the logarithm; comparisons of balls are true only where they are proved."""
    return ball.log() / ball.const_log2()
