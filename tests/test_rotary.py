"""Turned queries and keys: by complex numbers, in fractions, and what they leave of the symmetry."""

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vitbias.automorphisms import automorphisms
from vitbias.errors import GeometryError, ShapeError, ValuesError
from vitbias.positions import relative_index
from vitbias.rotary import (
    exact_phases,
    rotary_phases,
    rotary_scores,
    rotate,
    torus_phases,
    turn_classes,
)

FIVE = (Fraction(3, 5), Fraction(4, 5))
TURNS = [FIVE, (Fraction(-5, 13), Fraction(12, 13))]
PLACES = st.integers(-20, 20)


def as_complex(vectors):
    return vectors[..., 0::2] + 1j * vectors[..., 1::2]


@pytest.mark.parametrize("origin", [(0, 0), (3, -7)])
def test_phases_against_the_loop(origin):
    phases = rotary_phases(3, 5, 12, origin=origin, temperature=50)
    assert phases.shape == (15, 6, 2)
    for i, j, k in product(range(3), range(5), range(3)):
        for plane, place in ((k, i + origin[0]), (3 + k, j + origin[1])):
            angle = place * 50 ** (-k / 3)
            found = phases[5 * i + j, plane]
            assert np.allclose(found, [np.cos(angle), np.sin(angle)], rtol=0, atol=1e-13)


def test_torus_phases_close():
    phases = torus_phases(3, 5, 8)
    assert phases.shape == (15, 4, 2)
    angles = [2 * np.pi * k * place / side for place, side in ((2, 3), (4, 5)) for k in (1, 2)]
    assert np.allclose(as_complex(phases[14].reshape(-1)), np.exp(1j * np.array(angles)))
    assert np.allclose(torus_phases(3, 5, 8, origin=(3, -5)), phases)
    assert not np.allclose(torus_phases(3, 5, 8, origin=(1, 0)), phases)


@pytest.mark.parametrize("origin", [(0, 0), (2, -9), (-1, 4)])
def test_exact_phases_against_powers_of_complex_numbers(origin):
    phases = exact_phases(2, 3, TURNS, origin=origin)
    assert phases.shape == (6, 4, 2)
    assert all(type(entry) is Fraction for entry in phases.flat)
    assert ((phases**2).sum(axis=-1) == 1).all()
    unit = np.array([complex(c, s) for c, s in TURNS])
    for i, j in product(range(2), range(3)):
        powers = np.concatenate([unit ** (i + origin[0]), unit ** (j + origin[1])])
        assert np.allclose(as_complex(phases[3 * i + j].astype(float).reshape(-1)), powers)


def test_one_plane_by_hand():
    phases = exact_phases(1, 2, [FIVE])
    assert phases[1].tolist() == [[1, 0], list(FIVE)]
    turned = rotate([[1, 2, 3, 4], [1, 2, 5, 10]], phases)
    # (3 + 4i)/5 · (5 + 10i) = -5 + 10i
    assert turned.tolist() == [[1, 2, 3, 4], [1, 2, -5, 10]]


@given(st.integers(1, 4), st.integers(1, 4), PLACES, PLACES)
def test_scores_know_offsets_only(rows, columns, down, right):
    rng = np.random.default_rng(rows * columns)
    query, key = rng.integers(-3, 4, (2, rows * columns, 8))
    here = rotary_scores(query, key, exact_phases(rows, columns, TURNS))
    there = rotary_scores(query, key, exact_phases(rows, columns, TURNS, origin=(down, right)))
    assert (here == there).all()
    # the definition with offsets: one query at the origin, turned keys around it
    places = list(product(range(rows), range(columns)))
    for (a, (i, j)), (b, (k, m)) in product(enumerate(places), repeat=2):
        turn = exact_phases(1, 1, TURNS, origin=(k - i, m - j))
        assert here[a, b] == (query[a] * rotate(key[b : b + 1], turn)[0]).sum()


def test_float_scores_know_offsets_only(rng):
    query, key = rng.normal(size=(2, 35, 24))
    here = rotary_scores(query, key, rotary_phases(5, 7, 24))
    there = rotary_scores(query, key, rotary_phases(5, 7, 24, origin=(1000, -77)))
    assert np.allclose(here, there, rtol=0, atol=1e-10)
    turned = rotate(query, rotary_phases(5, 7, 24))
    assert np.allclose((turned**2).sum(axis=1), (query**2).sum(axis=1))  # a turn keeps lengths


def test_a_batch_of_heads_is_turned_at_once(rng):
    vectors, phases = rng.normal(size=(2, 3, 6, 8)), rotary_phases(2, 3, 8)
    turned = rotate(vectors, phases)
    assert turned.shape == vectors.shape
    assert np.array_equal(turned[1, 2], rotate(vectors[1, 2], phases))


def brute_force(labels):
    everyone = range(len(labels))
    return sum(
        all(labels[p[i], p[j]] == labels[i, j] for i in everyone for j in everyone)
        for p in permutations(everyone)
    )


def test_who_survives_on_small_grids():
    grids = ((1, 1), (1, 2), (2, 2), (2, 3), (3, 2), (1, 6))
    for rows, columns in grids:
        flat = turn_classes(exact_phases(rows, columns, [FIVE]))
        torus = turn_classes(torus_phases(rows, columns, 4))
        assert brute_force(flat) == automorphisms(flat).order == 1
        assert brute_force(torus) == automorphisms(torus).order == rows * columns
        assert len(np.unique(flat)) == (2 * rows - 1) * (2 * columns - 1)


def test_turn_classes_are_the_offsets():
    """The same partition of pairs as the index of a relative bias."""
    for phases, torus in (
        (rotary_phases(5, 7, 8), False),
        (torus_phases(5, 7, 8), True),
        (exact_phases(5, 7, [FIVE]), False),
    ):
        labels, index = turn_classes(phases), relative_index(5, 7, torus=torus)
        pairs = set(zip(labels.ravel().tolist(), index.ravel().tolist(), strict=True))
        assert len(pairs) == labels.max() + 1 == len(np.unique(index))


@pytest.mark.parametrize("far", [10**3, 10**6, 2**20, -(2**20), 2**40])
def test_turn_classes_do_not_know_the_origin(far):
    torus = turn_classes(torus_phases(5, 7, 8, origin=(far, -far)))
    assert (torus == turn_classes(torus_phases(5, 7, 8))).all()
    if abs(far) <= 2**20:
        flat = turn_classes(rotary_phases(5, 7, 24, origin=(far, -far)))
        assert (flat == turn_classes(rotary_phases(5, 7, 24))).all()


def test_values_at_the_border_of_rounding_are_one():
    """Two turns that differ in the last bits only, on both sides of a multiple of half a unit."""
    angles = np.array([0.0, np.arcsin(0.1234567895), 0.0, np.arcsin(0.1234567895) + 1e-15, 0.5])
    phases = np.stack([np.cos(angles), np.sin(angles)], axis=-1)[:, None]
    labels = turn_classes(phases)
    assert labels[0, 1] == labels[2, 3] == labels[0, 3] != labels[0, 4]


def test_quarter_turns_close_after_four_places():
    assert automorphisms(turn_classes(exact_phases(4, 4, [(0, 1)]))).order == 16
    # on five places inside a border the first and the last look alike: they may be exchanged
    assert brute_force(turn_classes(exact_phases(1, 5, [(0, 1)]))) == 2
    assert brute_force(turn_classes(exact_phases(1, 5, [FIVE]))) == 1


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: rotary_phases(3, 3, 6), GeometryError, "width: expected a multiple of 4, got 6"),
        (lambda: torus_phases(3, 3, 2), GeometryError, "width: expected a multiple of 4, got 2"),
        (lambda: rotary_phases(0, 3, 4), GeometryError, "rows: expected an integer >= 1, got 0"),
        (lambda: torus_phases(3, 2.0, 4), GeometryError, "columns: expected an integer >= 1"),
        (
            lambda: rotary_phases(2, 2, 4, temperature=0.5),
            ValuesError,
            "temperature: expected a number >= 1, got 0.5",
        ),
        (
            lambda: rotary_phases(2**14, 2**14, 4),
            GeometryError,
            "tokens x width: expected at most 67,108,864 entries",
        ),
        (lambda: rotary_phases(2, 2, 4, origin=(1,)), ShapeError, "origin: expected a pair (row"),
        (lambda: rotary_phases(2, 2, 4, origin=(1.5, 0)), GeometryError, "origin: expected an int"),
        (
            lambda: rotary_phases(2, 2, 4, origin=(0, 2**20 + 1)),
            GeometryError,
            "origin: expected places between -1,048,576 and 1,048,576, got 1048577",
        ),
        (
            lambda: exact_phases(2, 2, [(Fraction(3, 5), Fraction(3, 5))]),
            ValuesError,
            "turns: expected squares that sum to 1, got 18/25",
        ),
        (lambda: exact_phases(2, 2, [(0.6, 0.8)]), ValuesError, "turns: expected integers or fr"),
        (lambda: exact_phases(2, 2, [FIVE[:1]]), ShapeError, "turns: expected axes (planes, 2)"),
        (
            lambda: exact_phases(2, 2, [FIVE], origin=(4096, 0)),
            GeometryError,
            "origin: expected places between -4,096 and 4,096, got 4096",
        ),
        (
            lambda: rotate(np.ones((4, 6)), rotary_phases(2, 2, 8)),
            ShapeError,
            "vectors: expected axes (4, 8), got axes (4, 6)",
        ),
        (
            lambda: rotate(np.full((4, 8), np.nan), rotary_phases(2, 2, 8)),
            ValuesError,
            "vectors: expected finite numbers",
        ),
        (
            lambda: rotate([[Fraction(1, 3)] * 4], np.ones((1, 2, 2))),
            ValuesError,
            "vectors: expected integers or floats",
        ),
        (lambda: turn_classes(np.ones((3, 2))), ShapeError, "phases: expected axes (tokens, pl"),
        (
            lambda: turn_classes(np.ones((4097, 1, 2))),
            GeometryError,
            "points: expected at most 4,096 points",
        ),
        (
            lambda: rotary_scores(np.ones((4, 8)), np.ones((3, 8)), rotary_phases(2, 2, 8)),
            ShapeError,
            "vectors: expected axes (4, 8), got axes (3, 8)",
        ),
    ],
)
def test_what_is_refused(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value).startswith(message)


def test_products_beyond_the_floats_are_refused():
    large, ones = np.full((1, 4), 1e200), np.ones((1, 2, 2))
    with pytest.raises(ValuesError, match="vectors"):
        rotate(large, 1e200 * ones)
    with pytest.raises(ValuesError, match="query and key"):
        rotary_scores(large, large, ones)
    with pytest.raises(ValuesError, match="phases"):
        turn_classes(1e300 * ones)
