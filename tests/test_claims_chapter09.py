"""Chapter 9's evidence notices masks that are not what they should be."""

import numpy as np
import pytest

from vitbias.claims import chapter09, verify
from vitbias.windows import attention_mask, groups


def test_windows_that_wrap_are_noticed(monkeypatch):
    def wrapped(height, width, window, shift=0, **_):
        return attention_mask(height, width, window, shift, wrap=True)

    monkeypatch.setattr(chapter09, "attention_mask", wrapped)
    for claim_id in ("R9.2", "R9.4", "R9.7", "R9.8"):
        with pytest.raises(AssertionError):
            verify(claim_id)


def test_a_missing_shift_is_noticed(monkeypatch):
    def still(side, window, shift=0, **rules):
        return groups(side, window, 0, **rules)

    monkeypatch.setattr(chapter09, "groups", still)
    for claim_id in ("R9.3", "T12"):
        with pytest.raises(AssertionError):
            verify(claim_id)


def test_attention_that_leaks_through_the_mask_is_noticed(monkeypatch):
    def leaking(query, key, value, mask=None):
        return chapter09.np.full_like(value, value.sum())

    monkeypatch.setattr(chapter09, "exact_attention", leaking)
    with pytest.raises(AssertionError, match="outside the reach"):
        verify("R9.5")
    with pytest.raises(AssertionError, match="distance"):
        verify("R9.6")


def test_other_weights_are_noticed(monkeypatch):
    monkeypatch.setattr(chapter09, "exact_softmax", lambda scores: np.zeros(np.shape(scores)))
    with pytest.raises(AssertionError, match="every weight is positive"):
        verify("R9.1")
