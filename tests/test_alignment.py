"""Segments and boxes on the patch grid, against every phase and every placement."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from vitbias.alignment import (
    box_law,
    change,
    contained_share,
    expected_patches,
    patches_met,
    patches_met_law,
)
from vitbias.errors import GeometryError, ShapeError, ValuesError

LENGTHS, PATCHES = st.integers(1, 40), st.integers(1, 17)


def met(first, length, patch):
    return len({pixel // patch for pixel in range(first, first + length)})


@given(LENGTHS, PATCHES, st.integers(-50, 50))
def test_patches_met_against_the_pixels(length, patch, first):
    assert patches_met(length, patch, first) == met(first, length, patch)


@given(LENGTHS, PATCHES)
def test_the_law_against_every_phase(length, patch):
    counts = Counter(met(phase, length, patch) for phase in range(patch))
    law = {n: Fraction(times, patch) for n, times in sorted(counts.items())}
    assert patches_met_law(length, patch) == law
    assert expected_patches(length, patch) == sum(n * share for n, share in law.items())
    assert contained_share(length, patch) == law.get(1, 0)


@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 6))
def test_a_box_against_every_pair_of_phases(height, width, patch):
    counts = Counter(
        met(i, height, patch) * met(j, width, patch) for i, j in product(range(patch), repeat=2)
    )
    law = box_law(height, width, patch)
    assert law == {n: Fraction(times, patch**2) for n, times in counts.items()}
    assert list(law) == sorted(law)
    mean = sum(n * share for n, share in law.items())
    assert mean == expected_patches(height, patch) * expected_patches(width, patch)
    assert law.get(1, 0) == contained_share(height, patch) * contained_share(width, patch)


@given(st.integers(1, 6), st.integers(1, 13), st.data())
def test_a_picture_against_every_placement(grid, patch, data):
    length, side = data.draw(st.integers(1, patch)), grid * patch
    counts = [met(first, length, patch) for first in range(side - length + 1)]
    assert expected_patches(length, patch, side) == Fraction(sum(counts), len(counts))
    assert contained_share(length, patch, side) == Fraction(counts.count(1), len(counts))


def test_the_numbers_of_the_chapter():
    assert contained_share(8, 16) == Fraction(9, 16)
    assert contained_share(8, 16, 224) == Fraction(18, 31)
    assert round(float(contained_share(8, 16, 224)), 4) == 0.5806
    assert expected_patches(8, 16) == Fraction(23, 16)
    assert expected_patches(8, 16, continuous=True) == Fraction(3, 2)
    boxes = {a: (box_law(a, a, 16)[1], expected_patches(a, 16) ** 2) for a in (4, 8, 16)}
    rounded = [(round(float(p), 4), round(float(e), 2)) for p, e in boxes.values()]
    assert rounded == [(0.6602, 1.41), (0.3164, 2.07), (0.0039, 3.75)]


def test_symbols():
    a, patch, side = sympy.symbols("a P H", positive=True, integer=True)
    assert sympy.simplify(expected_patches(a, patch) - (patch + a - 1) / patch) == 0
    assert sympy.simplify(expected_patches(a, patch, continuous=True) - (patch + a) / patch) == 0
    share = contained_share(a, patch, side)
    assert (
        sympy.limit(share, side, sympy.oo) == contained_share(a, patch) == (patch - a + 1) / patch
    )
    mean = expected_patches(a, patch, side)
    assert sympy.simplify(sympy.limit(mean, side, sympy.oo) - expected_patches(a, patch)) == 0
    # one or two patches: the mean is 2 minus the share
    assert sympy.simplify(mean + share - 2) == 0
    assert patches_met(a, patch, 0).subs({a: 33, patch: 16}) == 3


def test_a_continuous_phase(rng):
    ends = rng.uniform(0, 16, 200_000)
    mean = (np.floor((ends + 8) / 16) + 1).mean()
    assert abs(mean - float(expected_patches(8, 16, continuous=True))) < 0.005


def mean_square(first, second):
    return np.mean([(a - b) @ (a - b) for a, b in zip(first, second, strict=True)])


def test_a_change_against_the_loop(rng):
    before, after, other = rng.normal(size=(3, 7, 5))
    pairs = np.mean([(a - b) @ (a - b) for a, b in product(before, repeat=2)])
    assert np.isclose(change(before, after), mean_square(before, after) / pairs)
    pairs = np.mean([(a - b) @ (a - b) for a, b in product(other[:3], repeat=2)])
    assert np.isclose(change(before, after, other[:3]), mean_square(before, after) / pairs)
    assert np.isclose(change(before + 1e9, after + 1e9), change(before, after), rtol=1e-5)


def test_a_change_of_integers_is_exact(rng):
    before, after = rng.integers(0, 256, (2, 11, 3), dtype=np.uint8)
    wide = [array.astype(object) for array in (before, after)]
    moved = sum((wide[1] - wide[0]).ravel() ** 2)
    pairs = sum(((a - b) ** 2).sum() for a, b in product(wide[0], repeat=2))
    found = change(before, after)
    assert type(found) is Fraction
    assert found == Fraction(int(moved) * 11, int(pairs))
    huge = [array.astype(np.int64) * 2**40 for array in (before, after)]
    assert change(*huge) == found
    assert change(before, before) == 0
    assert change(before[:4], after[:4], before) == Fraction(
        int(sum((wide[1] - wide[0])[:4].ravel() ** 2)) * 11**2, 4 * int(pairs)
    )
    assert np.isclose(change(before, after.astype(float)), float(found))


def test_strangers_are_one_apart(rng):
    rows = rng.normal(size=(500, 3))
    assert abs(change(rows, rng.permutation(rows)) - 1) < 0.1


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: patches_met(0, 16, 3), GeometryError, "length: expected an integer >= 1, got 0"),
        (lambda: patches_met(8, 16, 0.5), GeometryError, "first: expected an integer"),
        (lambda: patches_met_law(8, 0), GeometryError, "patch: expected an integer >= 1, got 0"),
        (lambda: box_law(8, -1, 4), GeometryError, "length: expected an integer >= 1, got -1"),
        (
            lambda: contained_share(17, 16, 224),
            GeometryError,
            "length: expected at most the patch side, for the law in a picture, got 17",
        ),
        (
            lambda: expected_patches(8, 16, 225),
            GeometryError,
            "side: expected a multiple of 16, got 225",
        ),
        (
            lambda: expected_patches(8, 16, 224, continuous=True),
            ValuesError,
            "continuous: expected False with a side, got True",
        ),
        (
            lambda: expected_patches(8, 16, continuous=1),
            ValuesError,
            "continuous: expected an instance of bool",
        ),
        (
            lambda: change(np.ones((2, 3)), np.ones((3, 3))),
            ShapeError,
            "before and after: expected one shape, got (2, 3) and (3, 3)",
        ),
        (
            lambda: change(np.eye(3), np.eye(3), np.eye(2)),
            ShapeError,
            "unit: expected width 3, got width 2",
        ),
        (lambda: change(np.ones((4, 2)), np.eye(4, 2)), ValuesError, "unit: expected rows that d"),
        (
            lambda: change(np.ones((4, 2), int), np.eye(4, 2, dtype=int)),
            ValuesError,
            "unit: expected rows that differ",
        ),
        (lambda: change(np.eye(3), np.full((3, 3), np.inf)), ValuesError, "after: expected f"),
        (
            lambda: change(np.eye(3), np.eye(3) * 1e300),
            ValuesError,
            "before and after: expected distances within the range of floats",
        ),
        (lambda: change(np.eye(3)[0], np.eye(3)[0]), ShapeError, "before: expected axes (tokens"),
    ],
)
def test_what_is_refused(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value).startswith(message)
