"""The evidence of chapter 11 notices a broken test, a broken design and a broken count."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vitbias.claims import chapter11, verify
from vitbias.exact_attention import exact_attention


def refused(claim_id: str, match: str) -> None:
    with pytest.raises(AssertionError, match=match):
        verify(claim_id)


def test_a_program_without_its_masks_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def unmasked(query: Any, key: Any, value: Any, *, mask: Any) -> Any:
        return exact_attention(query, key, value)

    monkeypatch.setattr(chapter11, "exact_attention", unmasked)
    refused("R11.1", "'as declared': 'pass pass FAIL'")


def test_positions_in_the_declared_program_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def positioned(query: Any, key: Any, value: Any, *, mask: Any) -> Any:
        slots = np.arange(len(query))[:, None] ** 2
        return exact_attention(query, key, value + slots, mask=mask)

    monkeypatch.setattr(chapter11, "exact_attention", positioned)
    refused("R11.1", "'as declared': 'pass FAIL pass'")


def test_a_null_test_that_compares_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapter11, "null_vectors", lambda weight: np.zeros((0, 3), dtype=int))
    refused("R11.1", "'bypass': 'pass pass pass'")


def test_a_test_of_permutations_that_only_says_yes_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chapter11, "equivariance_defect", lambda *_: 0)
    refused("R11.1", "'position table': 'pass pass pass'")


def test_patches_that_show_the_direction_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def transposed(pictures: Any, side: int) -> Any:
        return pictures[..., 0]  # rows of pixels instead of patches

    monkeypatch.setattr(chapter11, "patchify", transposed)
    refused("R11.2", "leaks")


def sampled(change: Callable[[Any], Any]) -> Callable[..., Any]:
    plain = chapter11._chance
    return lambda count, trials, p: change(plain(count, trials, p))


def test_probabilities_that_do_not_add_up_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapter11, "_chance", sampled(lambda chance: chance * 9 / 10))
    refused("R11.3", "coverage")


def test_a_collision_in_use_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapter11, "null_vectors", lambda weight: np.array([[1, -1]]))
    refused("R11.5", "least difference")
