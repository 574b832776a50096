"""What chapter 6 claims fails when a count is broken."""

from typing import Any

import pytest

from vitbias.claims import chapter06
from vitbias.claims.chapter06 import CLAIMS
from vitbias.windows import attention_mask, window_pairs

EVIDENCE = {record.id: record.evidence for record in CLAIMS}


@pytest.mark.parametrize("claim_id", EVIDENCE)
def test_evidence_holds(claim_id: str) -> None:
    assert all(isinstance(value, str) and value for value in EVIDENCE[claim_id]().values())


def test_a_pair_too_many_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_more(*arguments: Any) -> Any:
        mask = attention_mask(*arguments)
        mask[0, -1] = ~mask[0, -1]
        return mask

    monkeypatch.setattr(chapter06, "attention_mask", one_more)
    for claim_id in ("R6.3", "R6.4", "R6.5", "RE.9"):
        with pytest.raises(AssertionError):
            EVIDENCE[claim_id]()


def test_a_wrong_equation_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapter06, "window_pairs", lambda n, w: window_pairs(n, w) + 1)
    with pytest.raises(AssertionError):
        EVIDENCE["RE.7"]()


def test_a_lost_token_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chapter06, "token_count", lambda h, w, p: (h // p) * (w // p) + 1)
    for claim_id in ("R6.1", "R6.2"):
        with pytest.raises(AssertionError):
            EVIDENCE[claim_id]()


def test_an_oblong_grid_that_agrees_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_window(height: int, width: int, window: int, **rules: Any) -> Any:
        return attention_mask(height, width, max(height, width), **rules)

    monkeypatch.setattr(chapter06, "attention_mask", one_window)
    with pytest.raises(AssertionError, match="4 x 12 tokens"):
        EVIDENCE["RE.7"]()
