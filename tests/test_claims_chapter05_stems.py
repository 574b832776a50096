"""The evidence for stems, merging and variance notices when the library is wrong."""

from dataclasses import replace
from typing import Any

import pytest

from vitbias.claims import chapter05_stems, chapter05_variance, verify
from vitbias.hierarchy import merging_collision
from vitbias.interface import Collision
from vitbias.stems import stem_nullity, stem_rank
from vitbias.variance import linear_residual, retained_variance


def test_a_formula_that_lets_the_kernel_decide_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_kernel(
        height: int, width: int, stride: int, channels: int, kernel: int, embed: int, **_: Any
    ) -> int:
        kept = min(embed, kernel**2 * channels)
        return int(height // stride * (width // stride) * (stride**2 * channels - kept))

    assert by_kernel(224, 224, 16, 3, 16, 192) == stem_nullity(224, 224, 16, 3, 16, 192)
    monkeypatch.setattr(chapter05_stems, "stem_nullity", by_kernel)
    with pytest.raises(AssertionError):
        verify("T6")


def test_a_frequency_left_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fewer(*arguments: Any) -> Any:
        report = stem_rank(*arguments)
        return replace(report, rank=report.rank - 1, nullity=report.nullity + 1)

    monkeypatch.setattr(chapter05_stems, "stem_rank", fewer)
    with pytest.raises(AssertionError):
        verify("T6")


def test_a_step_that_changes_the_length_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def half(*arguments: Any) -> Collision:
        pair = merging_collision(*arguments)
        return replace(pair, second=(pair.first + pair.second) / 2)

    monkeypatch.setattr(chapter05_stems, "merging_collision", half)
    with pytest.raises(AssertionError):
        verify("T17")


def test_a_residual_too_large_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def more(*arguments: Any) -> Any:
        return linear_residual(*arguments) + 1

    monkeypatch.setattr(chapter05_variance, "linear_residual", more)
    with pytest.raises(AssertionError):
        verify("T5")


def test_a_share_above_the_bound_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def more(*arguments: Any) -> Any:
        return retained_variance(*arguments) + 1

    monkeypatch.setattr(chapter05_variance, "retained_variance", more)
    with pytest.raises(AssertionError):
        verify("T5")
