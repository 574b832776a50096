"""The evidence of chapter 12 notices a counterexample to each of its propositions."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from vitbias.attention import attention
from vitbias.claims import chapter12, verify
from vitbias.exact_attention import exact_attention
from vitbias.rank import RankReport, exact_rank
from vitbias.windows import attention_mask, ragged_pairs, window_pairs


def refused(claim_id: str, match: str) -> None:
    with pytest.raises(AssertionError, match=match):
        verify(claim_id)


def test_an_interface_that_merges_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_lucky_matrix(weight: Any) -> RankReport:
        report = exact_rank(weight)
        lucky = weight.tolist() == [[0, 2, 1, 2], [0, 1, 0, 2]]
        return RankReport(4, 0, report.certificate) if lucky else report

    monkeypatch.setattr(chapter12, "exact_rank", one_lucky_matrix)
    refused("R12.1", r"\[\[0, 2, 1, 2\], \[0, 1, 0, 2\]\] merges nothing")


def test_a_position_term_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def positioned(query: Any, key: Any, value: Any, **mask: Any) -> Any:
        return exact_attention(query, key, value + np.arange(len(value))[:, None], **mask)

    monkeypatch.setattr(chapter12, "exact_attention", positioned)
    refused("R12.1", "tokens")


def test_one_pair_too_many_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapter12, "window_pairs", lambda n, w: window_pairs(n, w) + (n == 64))
    refused("R12.1", "twice 4, 1")


def test_a_padded_count_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def padded(side: int, window: int) -> Any:
        return ragged_pairs(side, window) if side % window == 0 else window**2 * side**2

    monkeypatch.setattr(chapter12, "ragged_pairs", padded)
    refused("T34", "g = ")


def test_a_program_that_breaks_its_contract_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def positioned(query: Any, key: Any, value: Any) -> Any:
        return attention(query, key, value + np.arange(len(value))[:, None])

    monkeypatch.setattr(chapter12, "attention", positioned)
    refused("R12.2", "defects")


def test_a_window_that_grows_breaks_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    def always_whole(height: int, width: int, window: int) -> Any:
        return attention_mask(height, width, height)

    monkeypatch.setattr(chapter12, "attention_mask", always_whole)
    refused("R12.2", r"\[True, False\] \[False, False\]")


def test_a_choice_that_decides_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def deaf(query: Any, key: Any, value: Any, **mask: Any) -> Any:
        return exact_attention(0 * query, 0 * key, 0 * value, **mask)

    monkeypatch.setattr(chapter12, "exact_attention", deaf)
    refused("RE.11", "tables agree")


def test_a_student_that_learns_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapter12, "Fraction", lambda *_: Fraction(0))
    refused("RE.11", r"\{\(1, 1\): \[0, 0, 0\]")
