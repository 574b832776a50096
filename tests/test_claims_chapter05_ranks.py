"""The evidence for ranks notices when a certificate says too much."""

from dataclasses import replace
from typing import Any

import pytest

from vitbias.claims import chapter05_ranks, verify
from vitbias.rank import RankReport, certified_rank


def test_a_rank_one_too_large_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def more(weight: Any, *, exact: bool = False) -> RankReport:
        report = certified_rank(weight, exact=exact)
        return replace(report, rank=report.rank + 1)

    monkeypatch.setattr(chapter05_ranks, "certified_rank", more)
    for claim_id in ("V5.1", "V5.2"):
        with pytest.raises(AssertionError):
            verify(claim_id)


def test_evidence_that_poses_as_a_proof_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def proved(weight: Any, *, exact: bool = False) -> RankReport:
        report = certified_rank(weight)
        return replace(report, at_least=report.rank, at_most=report.rank)

    monkeypatch.setattr(chapter05_ranks, "certified_rank", proved)
    with pytest.raises(AssertionError):
        verify("V5.2")
