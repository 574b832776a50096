"""Bounds on finite sets against enumeration of the sets."""

from fractions import Fraction
from itertools import product
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vitbias.alphabets import (
    FORMATS,
    Count,
    entropy_bound,
    exact_digits,
    float_values,
    pigeonhole,
    siegel_bound,
)
from vitbias.errors import GeometryError, ShapeError, UnknownNameError, ValuesError

# raw, width
MODELS = {
    "DeiT-Ti": (768, 192),
    "DeiT-S": (768, 384),
    "B/32": (3072, 768),
    "L/32": (3072, 1024),
    "B/16": (768, 768),
    "H/14": (588, 1280),
    "Swin-T": (48, 96),
}


def test_every_pattern_of_16_bits_is_read():
    """float16 by NumPy, bf16 as the upper half of a float32; NaN is one value, 0 and -0 are one."""
    patterns = np.arange(2**16, dtype=np.uint32)
    bf16 = (patterns << 16).astype(np.uint32).view(np.float32)
    read = {
        "fp16": patterns.astype(np.uint16).view(np.float16).astype(float),
        "bf16": bf16[~np.isnan(bf16)].astype(float),
    }
    for name, values in read.items():
        distinct = len(set(values[~np.isnan(values)].tolist())) + 1
        assert distinct == float_values(*FORMATS[name])
    assert float_values(16, 7) == 65282
    assert float_values(16, 10) == 63490


def test_formats_are_those_of_numpy():
    for name, kind in (("fp16", np.float16), ("fp32", np.float32), ("fp64", np.float64)):
        info = np.finfo(kind)
        assert FORMATS[name] == (info.bits, info.nmant)


def test_a_float_of_5_bits_is_written_out():
    """1 sign, 2 exponent, 2 mantissa bits: 8 + 8 + 8 finite patterns a sign hold 23 values with -0 = 0."""
    finite = {
        sign * ((4 if exponent else 0) + mantissa) * Fraction(2) ** max(exponent - 1, 0)
        for sign in (1, -1)
        for exponent in range(3)
        for mantissa in range(4)
    }
    assert len(finite) + 3 == float_values(5, 2)


@pytest.mark.parametrize(("kind", "name"), [(np.float32, "fp32"), (np.float64, "fp64")])
def test_digits_in_floats(kind, name):
    digits = exact_digits(name)
    top = kind(256**digits - 1)
    assert int(top) == 256**digits - 1 and int(top - kind(1)) == 256**digits - 2
    over = 256 ** (digits + 1)
    assert kind(over - 1) == kind(over)  # rounded up: not even a number of that many digits
    low = [kind(over // 2 + k) for k in range(8)]
    assert len({float(x) for x in low}) < 8
    assert (exact_digits("bf16"), exact_digits("fp16")) == (1, 1)


@pytest.mark.parametrize("mantissa", [1, 2, 3, 5])
def test_digits_by_enumeration_in_a_toy(mantissa):
    """In base 2 the map is injective exactly up to m + 1 digits, by rounding all numbers."""

    def rounded(number):
        shift = max(number.bit_length() - mantissa - 1, 0)
        return round(Fraction(number, 2**shift)) * 2**shift

    for digits in range(1, 8):
        images = {rounded(n) for n in range(2**digits)}
        assert (len(images) == 2**digits) == (digits <= mantissa + 1)


GUARANTEED = {
    "bf16": {"DeiT-Ti": 3073.1, "DeiT-S": 2.15, "B/32": 12292.3, "L/32": 8197.7},
    "fp16": {"DeiT-Ti": 3080.8, "DeiT-S": 17.6, "B/32": 12323.1, "L/32": 8238.9},
    "fp32": {"DeiT-Ti": 1.08, "B/32": 4.34},
}


@pytest.mark.parametrize("name", GUARANTEED)
@pytest.mark.parametrize("model", MODELS)
def test_published_geometries(name, model):
    raw, width = MODELS[model]
    values = float_values(*FORMATS[name])
    count = pigeonhole(raw, width, values)
    assert count.guaranteed == (model in GUARANTEED[name]) == (values**width < 256**raw)
    assert count.needed == 8 * raw
    if count.guaranteed:
        digits = 1 if GUARANTEED[name][model] > 10 else 2
        assert round(count.spare, digits) == pytest.approx(GUARANTEED[name][model], abs=1e-9)
        # the mean fibre as an integer: 2^floor(spare)·tokens <= patches < 2^ceil(spare)·tokens
        whole = int(count.spare)
        assert 2**whole * values**width <= 256**raw < 2 ** (whole + 1) * values**width
    else:
        assert count.spare <= 0


@given(st.integers(2, 5), st.integers(1, 4), st.integers(1, 3), st.integers(2, 60))
def test_pigeonhole_is_a_count_of_two_sets(pixels, raw, width, values):
    patches, tokens = pixels**raw, values**width
    count = pigeonhole(raw, width, values, pixel_values=pixels)
    assert count.guaranteed == (tokens < patches)
    assert count.spare == pytest.approx(log2(patches / tokens), abs=1e-9)


def test_equality_guarantees_nothing():
    assert not pigeonhole(4, 1, 256**4).guaranteed
    assert pigeonhole(4, 1, 256**4 - 1).guaranteed
    assert pigeonhole(2048, 1024, 2**16).spare == 0


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 40))
def test_siegel_root_is_exact(width, more, largest):
    raw = width + more
    bound = siegel_bound(raw, width, largest)
    assert bound**more <= (raw * largest) ** width < (bound + 1) ** more


@pytest.mark.parametrize(
    ("model", "bound"), [("DeiT-Ti", 46), ("B/32", 73), ("DeiT-S", 97536), ("L/32", 624)]
)
def test_siegel_of_published_geometries(model, bound):
    raw, width = MODELS[model]
    assert siegel_bound(raw, width, 127) == bound


def test_siegel_where_the_root_is_deep():
    assert siegel_bound(10**6, 2, 127) == siegel_bound(60, 2, 127) == 1
    assert (54 * 127) ** 2 < 2**52 and siegel_bound(20, 2, 127) == 2


def nonzero_null_vector_within(weight, bound):
    """By a dictionary of all boxes {0..bound}^D: two of them with one token differ by a null vector."""
    box = np.array(list(product(range(bound + 1), repeat=weight.shape[1])))
    return len({tuple(token) for token in (box @ weight.T).tolist()}) < len(box)


def test_siegel_by_enumeration(rng):
    tight = 0
    for _ in range(60):
        width, raw = [(1, 2), (1, 3), (2, 5), (2, 6)][rng.integers(4)]
        largest = int(rng.integers(1, 4))
        weight = rng.integers(-largest, largest + 1, (width, raw))
        bound = siegel_bound(raw, width, largest)
        assert nonzero_null_vector_within(weight, bound)
        tight += not nonzero_null_vector_within(weight, max(bound // 3, 0))
    assert tight > 5


def test_entropy_by_enumeration(rng):
    triggered = 0
    for _ in range(200):
        width, raw, pixels = 1, int(rng.integers(2, 7)), int(rng.integers(2, 5))
        weight = rng.integers(-3, 4, (width, raw))
        lengths = (weight**2).sum(axis=1)
        count = entropy_bound(lengths, raw, pixel_values=pixels)
        patches = np.array(list(product(range(pixels), repeat=raw)))
        tokens, many = np.unique(patches @ weight[0], return_counts=True)
        share = many / many.sum()
        entropy = -(share * np.log2(share)).sum()
        assert entropy <= count.held + 1e-9
        if count.guaranteed:
            triggered += 1
            assert len(tokens) < len(patches)
    assert 50 < triggered < 200


def test_entropy_formula_in_floats(rng):
    lengths = rng.integers(0, 10**6, 7)
    count = entropy_bound(lengths, 11, pixel_values=19)
    by_hand = sum(log2(2 * np.pi * np.e * (n * (19**2 - 1) / 12 + 1 / 12)) / 2 for n in lengths)
    assert count.held == pytest.approx(by_hand, rel=1e-13)
    assert count.needed == pytest.approx(11 * log2(19), rel=1e-13)
    assert count.guaranteed == (by_hand < 11 * log2(19))


@pytest.mark.parametrize(
    ("model", "held", "guaranteed"),
    [
        ("DeiT-Ti", 3847, True),
        ("B/32", 16155, True),
        ("L/32", 21541, True),
        ("DeiT-S", 7694, False),
    ],
)
def test_entropy_of_int8_in_published_geometries(model, held, guaranteed):
    raw, width = MODELS[model]
    count = entropy_bound([raw * 127**2] * width, raw)
    assert (round(count.held), count.guaranteed) == (held, guaranteed)
    assert count.needed == 8 * raw


def test_the_entropy_bound_turns_where_it_must():
    """DeiT-S: the largest |e|² that still guarantees, found by bisection in integers."""
    low, high = 0, 768 * 127**2
    while high - low > 1:
        middle = (low + high) // 2
        if entropy_bound([middle] * 384, 768).guaranteed:
            low = middle
        else:
            high = middle
    assert round((low / 768) ** 0.5, 1) == 7.7  # per weight, root mean square


def test_the_counterexample():
    """(1, 256, 256², 256³) has a null space and no collision; no bound claims one."""
    weight = [[1, 256, 256**2, 256**3]]
    assert not entropy_bound([sum(x * x for x in weight[0])], 4).guaranteed
    assert siegel_bound(4, 1, 256**3) == 406 > 255
    assert not pigeonhole(4, 1, 256**4).guaranteed


def test_bounds_that_ask_for_more():
    assert Count(10.0, 7.5, True).spare == 2.5
    with pytest.raises(AttributeError):
        Count(1.0, 2.0, False).held = 0.0


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: float_values(8, 7),
            GeometryError,
            "bits: expected at least 9: sign, exponent and",
        ),
        (lambda: float_values(8.0, 3), GeometryError, "bits: expected an integer >= 1, got 8.0"),
        (
            lambda: float_values(2**23, 7),
            GeometryError,
            "bits: expected numbers of at most 4,194,304",
        ),
        (lambda: pigeonhole(2**20, 1, 2), GeometryError, "raw: expected numbers of at most"),
        (lambda: pigeonhole(1, 2**23, 2), GeometryError, "width: expected numbers of at most"),
        (lambda: siegel_bound(2**23, 2**22, 1), GeometryError, "width: expected numbers of at"),
        (lambda: entropy_bound([1], 2**20), GeometryError, "raw: expected numbers of at most"),
        (lambda: exact_digits("fp31"), UnknownNameError, "name: expected "),
        (lambda: pigeonhole(0, 1, 2), GeometryError, "raw: expected an integer >= 1, got 0"),
        (lambda: pigeonhole(1, 0, 2), GeometryError, "width: expected an integer >= 1, got 0"),
        (lambda: pigeonhole(1, 1, 1), GeometryError, "values: expected an integer >= 2, got 1"),
        (
            lambda: pigeonhole(1, 1, 2, pixel_values=1),
            GeometryError,
            "pixel_values: expected an integer >= 2, got 1",
        ),
        (lambda: siegel_bound(5, 5, 1), GeometryError, "width: expected less than raw, 5, got 5"),
        (lambda: siegel_bound(5, 2, 0), GeometryError, "largest: expected an integer >= 1, got 0"),
        (lambda: entropy_bound([-1], 2), ValuesError, "squared_lengths: expected integers >= 0"),
        (lambda: entropy_bound([1.5], 2), ValuesError, "squared_lengths: expected integers, got"),
        (lambda: entropy_bound([], 2), ShapeError, "squared_lengths: expected axes (width)"),
        (lambda: entropy_bound([1], 0), GeometryError, "raw: expected an integer >= 1, got 0"),
    ],
)
def test_refusals(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value).startswith(message)
