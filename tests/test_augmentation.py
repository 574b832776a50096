"""Augmentation by a group: the theorem of chapter 1 by a second route, and what is refused."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vitbias.augmentation import augmented, orbit_average
from vitbias.errors import GeometryError, ShapeError, ValuesError
from vitbias.learning import constrained_least_squares, least_squares, ridge


def turns(size):
    return np.array([np.roll(np.eye(size, dtype=int), turn, axis=0) for turn in range(size)])


def dihedral(size):
    return np.concatenate([turns(size), turns(size)[:, ::-1]])


QUARTER = np.array([np.linalg.matrix_power(np.array([[0, -1], [1, 0]]), k) for k in range(4)])
# a group of rationals whose entries are neither 0 nor 1: a reflection across the line of slope 1/2
SLANTED = np.array([np.eye(2, dtype=object), np.array([[3, 4], [4, -3]]) * Fraction(1, 5)])


@pytest.mark.parametrize("group", [turns(5), dihedral(5), QUARTER, SLANTED], ids=len)
@pytest.mark.parametrize("kind", [None, float])
def test_every_image_is_there_once(group, kind, rng):
    inputs = rng.integers(-3, 4, (3, group.shape[1]))
    targets = rng.integers(-3, 4, (3, group.shape[1]))
    moves = group if kind is None else group.astype(kind)
    seen, answers = augmented(inputs, targets, moves, moves)
    expected = [
        (list(g @ x), list(g @ y)) for g in group for x, y in zip(inputs, targets, strict=True)
    ]
    if kind is None:
        assert [(list(x), list(y)) for x, y in zip(seen, answers, strict=True)] == expected
        assert all(type(entry) is Fraction for entry in seen.flat)
    else:
        flat = np.array([[*x, *y] for x, y in expected], dtype=float)
        assert np.allclose(np.hstack([seen, answers]), flat, atol=1e-12)


def test_targets_stay_without_a_group_of_their_own():
    seen, answers = augmented([[1, 2, 3], [4, 5, 6]], [7, 8], turns(3), part=[2, 0])
    assert seen.tolist() == [[2, 3, 1], [5, 6, 4], [1, 2, 3], [4, 5, 6]]
    assert answers.tolist() == [7, 8, 7, 8]


@pytest.mark.parametrize("group", [turns(2), turns(5), dihedral(3), QUARTER, SLANTED], ids=len)
def test_a_full_orbit_is_the_mean_of_the_inputs(group, rng):
    size = group.shape[1]
    inputs, labels = rng.integers(-3, 4, (2, size)), [Fraction(1), Fraction(-2)]
    seen, means = augmented(inputs, labels, group), orbit_average(inputs, group)
    trained = least_squares(*seen)
    assert (trained == least_squares(means, labels)).all()
    assert (trained == orbit_average(trained, group)).all()
    for penalty in (Fraction(1, 7), 3):
        assert (ridge(*seen, penalty) == ridge(means, labels, penalty)).all()


@settings(max_examples=15)
@given(st.integers(2, 5), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_equivariant_labels_give_the_commutant(size, count, seed):
    rng = np.random.default_rng(seed)
    inputs, targets = rng.integers(-3, 4, (2, count, size))
    group = turns(size)
    trained = least_squares(*augmented(inputs, targets, group, group))
    assert (trained == constrained_least_squares(inputs, targets, group)).all()
    assert all((g @ trained == trained @ g).all() for g in group)


def test_a_part_is_no_orbit_and_a_subgroup_has_its_own():
    group, inputs, targets = turns(6), np.eye(6, dtype=int)[[0, 2]], [[5] * 6, [1, 2, 3, 4, 5, 6]]
    for part, kept in (([0], [0]), ([0, 1, 2], [0]), ([0, 2, 4], [0, 2, 4]), ([0, 3], [0, 3])):
        trained = least_squares(*augmented(inputs, targets, group, group, part=part))
        assert [k for k in range(6) if (group[k] @ trained == trained @ group[k]).all()] == kept


@pytest.mark.parametrize("group", [turns(5), QUARTER, SLANTED], ids=len)
def test_the_twirl_is_the_nearest_that_commutes(group, rng):
    weights = rng.integers(-5, 6, group.shape[1:])
    twirl = orbit_average(weights, group, group)
    assert all((g @ twirl == twirl @ g).all() for g in group)
    assert (orbit_average(twirl, group, group) == twirl).all()
    other = orbit_average(rng.integers(-5, 6, group.shape[1:]), group, group)
    assert ((weights - twirl) * other).sum() == 0  # orthogonal to all that commutes
    moves = group.astype(float)
    assert np.allclose(orbit_average(weights, moves, moves), twirl.astype(float), atol=1e-12)


def test_targets_can_be_narrower_than_inputs():
    signs = np.array([[[1]], [[-1]]] * 2)
    _, answers = augmented([[1, 2]], [[3]], QUARTER, signs)
    assert answers.tolist() == [[3], [-3], [3], [-3]]
    assert orbit_average([[4, 6]], QUARTER, signs).tolist() == [[0, 0]]
    assert orbit_average([4, 6], turns(2)).tolist() == [5, 5]


@pytest.mark.parametrize("group", [turns(5), SLANTED, dihedral(7)], ids=len)
def test_a_group_in_any_order(group, rng):
    order = rng.permutation(len(group))
    inputs = rng.integers(-3, 4, (2, group.shape[1]))
    assert (orbit_average(inputs, group[order]) == orbit_average(inputs, group)).all()


def test_all_permutations_of_four_points():
    group = np.array([np.eye(4, dtype=int)[list(order)] for order in permutations(range(4))])
    assert orbit_average([1, 2, 3, 5], group).tolist() == [Fraction(11, 4)] * 4


SHEAR = np.array([[[1, 0], [0, 1]], [[1, 1], [0, -1]]])


@pytest.mark.parametrize(
    ("changed", "kind", "message"),
    [
        (dict(group=SHEAR), ValuesError, "group: expected orthogonal matrices, got matrix 1"),
        (dict(group=SHEAR * 1.0), ValuesError, "group: expected orthogonal matrices, got matrix 1"),
        (dict(group=QUARTER[:3]), ValuesError, "group: expected a group, each element once, got"),
        (dict(group=QUARTER[1:]), ValuesError, "group: expected a group, each element once, got"),
        (dict(group=QUARTER[[0, 0]]), ValuesError, "each element once, got element 0"),
        (dict(group=QUARTER[[1, 3]] * 1.0), ValuesError, "group: expected a group"),
        (dict(group=turns(3)), ShapeError, "group: expected shape (3, 2, 2), got shape (3, 3, 3)"),
        (dict(group=np.eye(2)), ShapeError, "group: expected axes (elements, rows, columns)"),
        (dict(group=[[[1, 2]]]), ShapeError, "group: expected shape (1, 2, 2), got"),
        (
            dict(target_group=QUARTER[[0, 2, 1, 3]]),
            ValuesError,
            "target_group: expected the products of the group, got another product",
        ),
        (dict(target_group=QUARTER[:2]), ShapeError, "target_group: expected shape (4, 2, 2)"),
        (dict(target_group=QUARTER * 2), ValuesError, "target_group: expected orthogonal"),
        (dict(targets=[[1]]), ShapeError, "targets: expected targets of width 2, got shape (1, 1)"),
        (dict(targets=[1]), ShapeError, "targets: expected targets of width 2, got shape (1,)"),
        (dict(targets=[[1, 2]] * 2), ShapeError, "targets: expected axes (1, outputs) or (1)"),
        (dict(part=[]), GeometryError, "part: expected indices from 0 to 3, at least one, got []"),
        (dict(part=[0, 4]), GeometryError, "part: expected indices from 0 to 3"),
        (dict(part=[-1]), GeometryError, "part: expected an integer >= 0, got -1"),
        (dict(part=2), ShapeError, "part: expected a sequence, got 2"),
    ],
)
def test_what_is_refused(changed, kind, message):
    arguments = dict(inputs=[[1, 2]], targets=[[3, 4]], group=QUARTER, target_group=QUARTER)
    with pytest.raises(kind) as caught:
        augmented(**arguments | changed)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("values", "target_group", "message"),
    [
        (5, None, "values: expected axes (rows, raw) or (raw), got shape ()"),
        (np.ones((1, 2, 2), dtype=int), None, "values: expected axes (rows, raw) or (raw)"),
        ([1, 2], QUARTER, "values: expected 2 rows, as the target group acts on, got shape (2,)"),
        ([[1, 2]], QUARTER, "values: expected 2 rows, as the target group acts on"),
    ],
)
def test_values_that_the_group_does_not_act_on(values, target_group, message):
    with pytest.raises(ShapeError) as caught:
        orbit_average(values, QUARTER, target_group)
    assert message in str(caught.value)


def test_why_other_actions_are_refused():
    """Least norm on the orbit of a shear is not invariant."""
    first = np.array([1, 0])
    weights = least_squares([first, SHEAR[1] @ first], [1, 1])
    assert weights.tolist() == [1, 0]
    assert (weights @ SHEAR[1]).tolist() == [1, 1]


def test_images_beyond_the_range_of_floats_are_refused():
    mirror = np.array([np.eye(2), [[0.6, 0.8], [0.8, -0.6]]])
    most = np.full((1, 2), 1.7e308)
    with pytest.raises(ValuesError, match=r"^inputs: expected numbers of moderate size"):
        augmented(most, [1.0], mirror)
    with pytest.raises(ValuesError, match=r"^targets: expected numbers of moderate size"):
        augmented([[1.0, 2.0]], most, mirror, mirror)
    with pytest.raises(ValuesError, match=r"^values: expected numbers of moderate size"):
        orbit_average([1e308, 1e308], mirror)


def test_a_group_too_large_for_its_table_of_products_is_refused(monkeypatch):
    monkeypatch.setattr("vitbias.augmentation.MOST_ELEMENTS", 4)
    assert len(augmented(np.ones((1, 4)), [1.0], turns(4))[0]) == 4
    with pytest.raises(GeometryError, match="group: expected at most 4 elements, got 5"):
        augmented(np.ones((1, 5)), [1.0], turns(5))
    with pytest.raises(GeometryError, match="group: expected at most 4 elements, got 5"):
        orbit_average(np.ones(5), turns(5))
