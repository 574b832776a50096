"""Twins stay in the box and have exactly the tokens of the first patches, in rational arithmetic."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vitbias import twins
from vitbias.errors import GeometryError, ShapeError, ValuesError
from vitbias.rank import exact_rank
from vitbias.twins import RationalTwins, rational_twins, rounding_drift


def loop_tokens(weight, patches):
    """Row by row in fractions: a route that shares nothing with FLINT."""
    return [
        [
            sum(
                (Fraction(w) * x for w, x in zip(row, patch, strict=True)),
                Fraction(0),
            )
            for row in weight.tolist()
        ]
        for patch in patches
    ]


def fractions_of(found):
    return [[Fraction(x, found.denominator) for x in row] for row in found.second.tolist()]


def check(weight, patches, found, low=0, high=255):
    second = fractions_of(found)
    first = [[Fraction(int(x)) for x in row] for row in patches]
    assert found.first.tolist() == first
    assert loop_tokens(weight, second) == loop_tokens(weight, first)
    assert all(low <= x <= high for row in second for x in row)
    return np.array(second, dtype=float)


@pytest.mark.parametrize("kind", ["integer", "float32", "float64", "fraction"])
@pytest.mark.parametrize(("width", "raw", "many"), [(3, 11, 7), (1, 2, 5), (5, 7, 13), (11, 13, 3)])
def test_twins_are_exact_and_move(rng, kind, width, raw, many):
    weight = {
        "integer": lambda: rng.integers(-127, 128, (width, raw)),
        "float32": lambda: rng.normal(size=(width, raw)).astype(np.float32),
        "float64": lambda: rng.normal(size=(width, raw)) * 1e-12,
        "fraction": lambda: np.array(
            [[Fraction(int(a), 7) for a in row] for row in rng.integers(-9, 10, (width, raw))]
        ),
    }[kind]()
    patches, targets = rng.integers(64, 192, (2, many, raw))
    found = rational_twins(weight, patches, targets)
    second = check(weight, patches, found)
    assert (abs(second - patches).max(axis=1) > 0).all()
    assert ((found.reached > 0) & (found.reached <= 1)).all()


def test_all_directions_reach_the_nearest_point_of_the_null_space(rng):
    """With every direction and room enough, the twin is the orthogonal projection of the target."""
    weight = rng.integers(-9, 10, (3, 7))
    patches, targets = rng.integers(100, 150, (2, 11, 7))
    found = rational_twins(weight, patches, targets, directions=99, low=-999, high=999)
    wish = (targets - patches).astype(float)
    onto = np.eye(7) - np.linalg.pinv(weight) @ weight
    second = check(weight, patches, found, -999, 999)
    share = found.reached[:, None]
    assert (found.reached > 1 - 1e-5).all()
    assert np.allclose(second, patches + share * (wish @ onto.T), atol=1e-6)


def test_fewer_directions_get_less_far(rng):
    weight = rng.integers(-9, 10, (3, 23))
    patches, targets = rng.integers(100, 150, (2, 17, 23))
    left = []
    for directions in (1, 5, 20):
        found = rational_twins(weight, patches, targets, directions=directions, low=-999, high=999)
        second = check(weight, patches, found, -999, 999)
        left.append(np.linalg.norm(second - targets))
        assert np.linalg.matrix_rank(second - patches, tol=1e-6) == min(directions, 17)
    assert left[0] > left[1] > left[2]


def test_every_step_is_the_longest_that_fits(rng):
    weight = rng.integers(-9, 10, (2, 5))
    patches, targets = rng.integers(0, 256, (2, 40, 5))
    found = rational_twins(weight, patches, targets)
    second = check(weight, patches, found)
    short = (found.reached < 0.999) & (found.reached > 0)
    assert short.sum() > 3
    for row in np.flatnonzero(short):
        room = min(second[row].min(), 255 - second[row].max())
        assert 0 < room < 255 * 2e-6


def test_a_patch_at_the_edge_may_stay():
    """(1, 1) keeps the sum; 0 can only grow and 255 only shrink."""
    weight = np.array([[1, 1]])
    found = rational_twins(weight, [[0, 0], [255, 255], [0, 9]], [[5, 9], [1, 7], [9, 0]])
    second = check(weight, [[0, 0], [255, 255], [0, 9]], found)
    assert second[:2].tolist() == [[0, 0], [255, 255]]
    assert found.reached[:2].tolist() == [0, 0]
    assert np.allclose(second[2], [9, 0], atol=1e-4)


def test_rounding_across_an_edge_puts_the_patch_back(monkeypatch):
    """Were a step too long, no picture would leave the box."""
    monkeypatch.setattr(twins, "_longest_steps", lambda first, *_: np.ones(len(first)))
    found = rational_twins([[1, 1]], [[0, 9], [100, 100]], [[200, 0], [120, 90]], low=0)
    second = check(np.array([[1, 1]]), [[0, 9], [100, 100]], found)
    assert second[0].tolist() == [0, 9] and found.reached.tolist() == [0.0, 1.0]
    assert np.allclose(second[1], [115, 85])


@pytest.mark.parametrize(
    "weight",
    [
        [[1, 2, 3], [2, 4, 6]],
        [[0, 0, 0]],
        [[0, 0, 0], [1, 1, 1]],
        [[1, 2, 3], [1, 2, 3], [1, 2, 3], [3, 2, 1]],
        [[2**80, 1, 2**70], [2**80, 1, 2**70 + 1]],
        [[1, 1, 1], [1, 1, 1 + 2**-40]],
    ],
)
def test_dependent_rows_and_extreme_sizes(weight, rng):
    patches, targets = rng.integers(90, 120, (2, 5, 3))
    found = rational_twins(weight, patches, targets)
    second = check(np.array(weight, dtype=object), patches, found)
    assert (second != patches).any()


def test_a_prime_that_hides_a_row_is_noticed(monkeypatch, rng):
    """Modulo 3 the first two rows agree; the next prime sees three."""
    asked = []

    def primes(_):
        for prime in (3, 2**31 - 1):
            asked.append(prime)
            yield prime

    monkeypatch.setattr(twins, "primes_below", primes)
    weight = np.array([[1, 2, 0, 4], [4, 2, 3, 1], [0, 1, 1, 1]])
    assert exact_rank(weight).rank == 3
    patches, targets = rng.integers(90, 120, (2, 5, 4))
    check(weight, patches, rational_twins(weight, patches, targets))
    assert asked == [3, 2**31 - 1]


@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.lists(st.integers(-5, 5), min_size=5, max_size=5), min_size=width, max_size=width
        )
    ),
    st.integers(0, 2**32 - 1),
)
def test_any_small_matrix(weight, seed):
    patches, targets = np.random.default_rng(seed).integers(0, 256, (2, 3, 5))
    check(np.array(weight), patches, rational_twins(weight, patches, targets))


def test_injective_projections_have_no_twins():
    for weight in ([[1, 0], [0, 1]], [[1, 2], [3, 5], [7, 11]], [[3]]):
        patch = [[1] * len(weight[0])]
        with pytest.raises(GeometryError) as caught:
            rational_twins(weight, patch, patch)
        message = "weight: expected a projection with a null space, got nullity 0"
        assert str(caught.value) == message


def test_no_wish_no_move():
    found = rational_twins([[1, 2, 3]], [[5, 6, 7]], [[5, 6, 7]])
    assert fractions_of(found) == [[5, 6, 7]]


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"weight": [1, 2]}, ShapeError, "weight: expected axes (width, raw), got shape (2,)"),
        ({"weight": [[1, float("nan")]]}, ValuesError, "weight: expected finite numbers"),
        ({"patches": [[1, 256]]}, ValuesError, "patches: expected values in 0 to 255, got 256"),
        ({"patches": [[1, 2.5]]}, ValuesError, "patches: expected integers, got float64 values"),
        ({"targets": [[1, -1]]}, ValuesError, "targets: expected values in 0 to 255, got -1"),
        ({"targets": [[1, 2]] * 2}, ShapeError, "targets: expected shape (1, 2), got shape (2, 2)"),
        ({"directions": 0}, GeometryError, "directions: expected an integer >= 1, got 0"),
        ({"high": 2**65}, ValuesError, "high: expected at most low + 18446744073709551616, got"),
        ({"low": 0.5}, ValuesError, "low: expected integers, got 0.5"),
    ],
)
def test_twins_refuse(changes, kind, message):
    arguments = {"weight": [[1, 1]], "patches": [[1, 2]], "targets": [[2, 1]]} | changes
    with pytest.raises(kind) as caught:
        rational_twins(**arguments)
    assert str(caught.value).startswith(message)


def test_rounding_drift_against_loops(rng):
    for weight in (
        rng.integers(-127, 128, (3, 11)),
        rng.normal(size=(3, 11)).astype(np.float32),
    ):
        patches, targets = rng.integers(64, 192, (2, 7, 11))
        found = rational_twins(weight, patches, targets)
        drift = rounding_drift(weight, found)
        exact = fractions_of(found)
        assert all(
            abs(x - y) <= Fraction(1, 2)
            for row, other in zip(exact, drift.rounded.tolist(), strict=True)
            for x, y in zip(row, other, strict=True)
        )
        before, after = loop_tokens(weight, patches.tolist()), loop_tokens(weight, drift.rounded)
        gaps = [
            abs(a - b)
            for p, q in zip(before, after, strict=True)
            for a, b in zip(p, q, strict=True)
        ]
        assert drift.largest == max(gaps) > 0
        assert drift.token == max(abs(a) for p in before for a in p)
        assert drift.changed == sum(gap != 0 for gap in gaps)
        assert drift.values == len(gaps) == 21


def test_halves_are_rounded_up():
    found = RationalTwins(np.array([[1, 2]], object), np.array([[3, 5]], object), 2, np.ones(1))
    drift = rounding_drift([[1, 1]], found)
    assert drift.rounded.tolist() == [[2, 3]]
    assert (drift.largest, drift.token, drift.changed, drift.values) == (2, 3, 1, 1)


def test_a_row_of_zeros_drifts_nowhere():
    found = RationalTwins(np.array([[1, 2]], object), np.array([[4, 5]], object), 1, np.ones(1))
    drift = rounding_drift([[0.0, 0.0], [0.5, 0.25]], found)
    assert (drift.largest, drift.token, drift.changed) == (Fraction(9, 4), 1, 1)


def test_the_drift_cannot_exceed_half_the_largest_row(rng):
    """|E (rounded - twin)| <= |e_i|_1 / 2, and without moves there is no drift."""
    weight = rng.integers(-9, 10, (2, 5))
    patches, targets = rng.integers(60, 200, (2, 50, 5))
    drift = rounding_drift(weight, rational_twins(weight, patches, targets))
    assert drift.largest <= Fraction(int(abs(weight).sum(axis=1).max()), 2)
    still = rounding_drift(weight, rational_twins(weight, patches, patches))
    assert still.largest == still.changed == 0


def test_drift_refuses():
    found = RationalTwins(np.array([[1, 2]], object), np.array([[4, 5]], object), 1, np.ones(1))
    with pytest.raises(ShapeError, match=r"^weight: expected axes \(width, 2\)"):
        rounding_drift([[1, 2, 3]], found)


@pytest.mark.parametrize("twin", [None, 5, [[1, 2]]])
def test_drift_takes_twins_only(twin):
    with pytest.raises(ValuesError, match=r"^twins: expected "):
        rounding_drift([[1, 2]], twin)


def test_null_vectors_beyond_floats_are_refused():
    weight = [[1, 1, 1], [2**3000, 2**3000 + 1, 2**3000 + 2**2000]]
    with pytest.raises(ValuesError) as caught:
        rational_twins(weight, [[1, 2, 3]], [[3, 1, 9]])
    message = "weight: expected null vectors within the range of floats, got larger ones"
    assert str(caught.value) == message


def test_a_wide_box_far_from_zero():
    low = 2**200
    patches, targets = [[low, low + 9]], [[low + 9, low + 2**60]]
    found = rational_twins([[1, 1]], patches, targets, low=low, high=low + 2**61)
    check(np.array([[1, 1]]), patches, found, low, low + 2**61)


def test_results_are_frozen(rng):
    found = rational_twins([[1, 1]], [[1, 2]], [[2, 1]])
    for result in (found, rounding_drift([[1, 1]], found)):
        for name in vars(result):
            with pytest.raises(AttributeError):
                setattr(result, name, None)


def test_all_pairs_of_a_grid_have_twins():
    weight = np.array([[1, 2, -1]])
    patches = np.array(list(product((50, 120, 200), repeat=3)))
    found = rational_twins(weight, patches, patches[::-1].copy(), directions=2)
    second = check(weight, patches, found)
    same = (patches == patches[::-1]).all(axis=1)
    assert ((second != patches).any(axis=1) | same).all()


def test_drift_reads_numpy_scalars_in_lists() -> None:
    weight = np.float32([[0.1, 0.3, 0.7]])
    found = rational_twins(weight, [[9, 9, 9]], [[100, 90, 80]])
    assert rounding_drift([[*weight[0]]], found).largest == rounding_drift(weight, found).largest


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"first": "text"}, ValuesError),
        ({"second": np.array([[1, 2]])}, ShapeError),
        ({"second": np.array([[0.5, 1, 2]])}, ValuesError),
        ({"denominator": 0}, GeometryError),
    ],
)
def test_drift_refuses_twins_that_are_none(changed: dict[str, Any], error: type) -> None:
    found = rational_twins([[1, 2, 3]], [[9, 9, 9]], [[100, 90, 80]])
    with pytest.raises(error):
        rounding_drift([[1, 2, 3]], replace(found, **changed))
