"""What chapter 4 claims is noticed when it is broken; its digests are those of the released masks."""

from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from vitbias import windows
from vitbias.claims import chapter04, verify
from vitbias.readers.catalogue import published

RELEASED = np.load(Path(__file__).parent / "data" / "swin_windows.npz")


def test_the_digests_are_those_of_the_recorded_masks():
    for side, digest in chapter04.RECORDED_MASKS.items():
        assert sha256(RELEASED[f"mask_g{side}"].tobytes()).hexdigest()[:16] == digest


def test_a_cut_at_the_wrong_place_is_noticed(monkeypatch):
    def one_late(side, window, shift=0, **rules):
        return windows.groups(side, window, (shift + 1) % window, **rules)

    monkeypatch.setattr(chapter04, "groups", one_late)
    for claim_id in ("R4.2", "R4.4", "T26"):
        with pytest.raises(AssertionError):
            verify(claim_id)


def test_a_mask_that_wraps_around_is_noticed(monkeypatch):
    def without_mask(height, width, window, shift):
        return np.zeros_like(windows.released_mask(height, width, window, shift))

    monkeypatch.setattr(chapter04, "released_mask", without_mask)
    with pytest.raises(AssertionError):
        verify("R4.1")


def test_a_leak_between_windows_is_noticed(monkeypatch):
    exact = chapter04.exact_attention

    def everywhere(query, key, value, mask):
        return exact(query, key, value, mask=np.ones_like(mask))

    monkeypatch.setattr(chapter04, "exact_attention", everywhere)
    with pytest.raises(AssertionError):
        verify("R4.3")


def test_a_misquoted_latency_is_noticed(monkeypatch):
    name = "shifted window, padding"
    monkeypatch.setitem(chapter04.LATENCY, name, (chapter04.Fraction("3.2"), 670))
    with pytest.raises(AssertionError):
        verify("R4.6")


def test_another_description_of_swin_is_noticed(monkeypatch):
    monkeypatch.setattr(chapter04, "published", lambda name: published("Swin-S"))
    with pytest.raises(AssertionError, match="blocks of the stages"):
        verify("R4.1")
