"""The records of chapter 1 notice when what they claim is broken."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from vitbias.augmentation import augmented, orbit_average
from vitbias.claims import chapter01, verify
from vitbias.exact_attention import exact_softmax
from vitbias.learning import constrained_least_squares, gradient_descent, least_squares


def test_a_missing_image_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_the_last(inputs: Any, targets: Any, group: Any, images: Any = None) -> Any:
        return augmented(inputs, targets, group, images, part=range(len(group) - 1))

    monkeypatch.setattr(chapter01, "augmented", without_the_last)
    for claim_id in ("R1.3", "R1.6", "T13"):
        with pytest.raises(AssertionError):
            verify(claim_id)


def test_averaged_weights_in_place_of_augmentation_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def twirled(inputs: Any, targets: Any) -> Any:
        weights = least_squares(inputs, targets)
        turns = chapter01.TURNS
        return orbit_average(weights, turns, turns) if weights.shape == (6, 6) else weights

    monkeypatch.setattr(chapter01, "least_squares", twirled)
    for claim_id in ("R1.1", "R1.3", "R1.7"):
        with pytest.raises(AssertionError):
            verify(claim_id)


def test_weights_that_leave_the_span_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def drifting(inputs: Any, targets: Any, start: Any, rate: Any, steps: int) -> Any:
        return np.asarray(start) + Fraction(steps, 100)

    monkeypatch.setattr(chapter01, "gradient_descent", drifting)
    with pytest.raises(AssertionError, match="after 1 steps"):
        verify("T14")


def test_one_step_too_many_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def eager(inputs: Any, targets: Any, start: Any, rate: Any, steps: int) -> Any:
        return gradient_descent(inputs, targets, start, rate, steps + 1)

    monkeypatch.setattr(chapter01, "gradient_descent", eager)
    with pytest.raises(AssertionError, match="after 0 steps"):
        verify("T14")


def test_dull_heads_do_not_return_the_blur(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapter01, "exact_softmax", lambda scores: exact_softmax(scores // 10))
    with pytest.raises(AssertionError, match="three sharp heads"):
        verify("R1.7")


def test_a_teacher_without_the_symmetry_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapter01, "LIGHT", np.diag([1, 2, 3, 4, 5, 6]))
    for claim_id in ("R1.1", "R1.4", "R1.7"):
        with pytest.raises(AssertionError):
            verify(claim_id)


def test_other_bands_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapter01, "BANDS", chapter01.TURNS[[0, 1, 2]])
    for claim_id in ("R1.1", "R1.7"):
        with pytest.raises(AssertionError):
            verify(claim_id)


def test_a_constraint_that_is_none_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def free(inputs: Any, targets: Any, basis: Any) -> Any:
        return constrained_least_squares(inputs, targets, np.eye(6, dtype=int))

    monkeypatch.setattr(chapter01, "constrained_least_squares", free)
    with pytest.raises(AssertionError, match="4 and 4"):
        verify("R1.5")


def test_blurred_heads_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapter01, "exact_softmax", lambda scores: exact_softmax(scores // 3))
    with pytest.raises(AssertionError, match="error"):
        verify("T22")


def test_patches_of_another_size_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapter01, "patchify", lambda picture, patch: picture.reshape(-1, 1))
    with pytest.raises(AssertionError, match="shifts"):
        verify("R1.2")


def test_a_gradient_that_sees_the_axes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Numpy:
        def __getattr__(self, name: str) -> Any:
            return (lambda gradient: gradient**3 + 1) if name == "sign" else getattr(np, name)

    monkeypatch.setattr(chapter01, "np", Numpy())
    with pytest.raises(AssertionError, match="signed permutations"):
        verify("T18")
