"""What breaks a claim on finite or continuous interfaces is noticed by its evidence."""

from fractions import Fraction

import numpy as np
import pytest

from vitbias.alphabets import Count
from vitbias.claims import chapter05_finite, claim
from vitbias.twins import RationalTwins


def test_a_bound_that_claims_too_much_is_noticed(monkeypatch):
    monkeypatch.setattr(chapter05_finite, "entropy_bound", lambda *_, **__: Count(1.0, 0.0, True))
    with pytest.raises(AssertionError):
        claim("T3").evidence()


def test_a_format_with_all_its_patterns_is_noticed(monkeypatch):
    monkeypatch.setattr(chapter05_finite, "float_values", lambda bits, _: 2**bits)
    with pytest.raises(AssertionError, match="values"):
        claim("T3").evidence()


def test_antipodes_that_differ_are_noticed(monkeypatch):
    monkeypatch.setattr(chapter05_finite, "_smallest_gap", lambda *_: 1e-3)
    with pytest.raises(AssertionError, match="antipodes"):
        claim("T2").evidence()


def test_a_lattice_that_misses_vectors_is_noticed(monkeypatch):
    whole = chapter05_finite.kernel_lattice
    monkeypatch.setattr(chapter05_finite, "kernel_lattice", lambda weight: 2 * whole(weight))
    with pytest.raises(AssertionError, match="lattice vectors"):
        claim("V5.3").evidence()


def test_a_bias_that_is_not_folded_is_noticed(monkeypatch):
    whole = chapter05_finite.fold_normalisation
    monkeypatch.setattr(
        chapter05_finite, "fold_normalisation", lambda *a: (whole(*a)[0], np.array(a[1]))
    )
    with pytest.raises(AssertionError, match="folded"):
        claim("V5.4").evidence()


def test_twins_that_only_nearly_collide_are_noticed(monkeypatch):
    whole = chapter05_finite.rational_twins

    def nearly(*arguments):
        found = whole(*arguments)
        second = found.second.copy()
        second[0, 0] += 1
        return RationalTwins(found.first, second, found.denominator, found.reached)

    monkeypatch.setattr(chapter05_finite, "rational_twins", nearly)
    with pytest.raises(AssertionError, match="equal tokens"):
        claim("V5.5").evidence()


def test_the_gap_of_a_linear_network_is_found():
    """f(u) = (u_1, u_2): the antipodes with equal values are the poles."""
    gap = chapter05_finite._smallest_gap(np.eye(3)[:2] * 1e-3, np.zeros(2), np.eye(2))
    assert gap < 1e-12
    assert Fraction(gap) >= 0
