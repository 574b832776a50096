"""Every record executes, stands in its chapter, and fails when what it claims is broken."""

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vitbias.claims import ANSWERS, CLAIMS, TIERS, answer, chapter05, chapter07, claim, verify
from vitbias.claims.record import VERDICTS, Answer, Claim, hold
from vitbias.errors import UnknownNameError
from vitbias.exact_attention import exact_attention
from vitbias.rank import RankReport, exact_rank

ROOT = Path(__file__).parents[1]
LABEL = re.compile(r"^:label: ([A-Z]+\d*\.?\d*)$", re.MULTILINE)


def markdown(stem: str) -> str:
    cells = json.loads((ROOT / "notebooks" / f"{stem}.ipynb").read_text())["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


@pytest.mark.parametrize("claim_id", CLAIMS)
def test_evidence_is_found_and_printable(claim_id: str) -> None:
    evidence = verify(claim_id)
    assert evidence
    assert all(isinstance(k, str) and isinstance(v, str) and v for k, v in evidence.items())


@pytest.mark.parametrize("record", CLAIMS.values(), ids=CLAIMS)
def test_records_are_complete(record: Claim) -> None:
    assert record.tier in TIERS
    assert record.statement.endswith(".") and len(record.statement) <= 90
    assert record.assumptions and all(record.assumptions)
    assert record.fails_when
    assert record.anchor == f"notebooks/{record.chapter}.html#{record.id}"


def test_ids_are_unique_over_all_chapters() -> None:
    files = sorted((ROOT / "vitbias/claims").glob("chapter*.py"))
    chapters = [import_module(f"vitbias.claims.{path.stem}") for path in files]
    for kind, known in (("CLAIMS", CLAIMS), ("ANSWERS", ANSWERS)):
        records = [
            (chapter.__name__.rpartition("chapter")[2][:2], record)
            for chapter in chapters
            for record in getattr(chapter, kind, ())
        ]
        assert len(records) == len(known) > 0
        assert all(number == record.chapter[:2] for number, record in records)
    assert all(hasattr(chapter, "CLAIMS") or hasattr(chapter, "ANSWERS") for chapter in chapters)


def test_every_chapter_has_records_and_no_other() -> None:
    stems = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert {record.chapter for record in CLAIMS.values()} == stems


@pytest.mark.parametrize("stem", sorted({record.chapter for record in CLAIMS.values()}))
def test_chapters_and_records_name_the_same_claims(stem: str) -> None:
    labels = LABEL.findall(markdown(stem))
    assert sorted(labels) == sorted(r.id for r in CLAIMS.values() if r.chapter == stem)


@pytest.mark.parametrize("given", ANSWERS.values(), ids=ANSWERS)
def test_answers_are_complete(given: Answer) -> None:
    assert given.verdict in VERDICTS
    assert all(text.endswith(".") and "  " not in text for text in (given.says, given.finding))
    assert len(given.says) <= 160 and len(given.finding) <= 480
    assert all(name in CLAIMS for name in given.settled_by)
    # an opinion or a note on scope can stand without an execution, a verdict cannot
    assert given.settled_by or given.verdict in ("interpretation", "scope note")


def test_every_answer_is_shown_once_in_its_chapter() -> None:
    for given in ANSWERS.values():
        cells = json.loads((ROOT / "notebooks" / f"{given.chapter}.ipynb").read_text())["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        assert len(re.findall(rf'"{re.escape(given.id)}"', code)) == 1, given.id
    every_id = [name for given in ANSWERS.values() for name in (given.id, *given.also)]
    assert len(every_id) == len(set(every_id))


def test_an_unknown_id_gets_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean .*'R7\.1'"):
        claim("R71")
    with pytest.raises(UnknownNameError, match=r"^answer: expected one of "):
        answer("B99")


def test_an_unknown_tier_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="tier"):
        Claim("Z1", "x.", "sure", "data", ("a",), "b", "c", dict)


def test_hold() -> None:
    hold(True, "fine")
    with pytest.raises(AssertionError, match="broken"):
        hold(0, "broken")


def test_a_wrong_rank_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_too_many(weight: object) -> RankReport:
        report = exact_rank(weight)
        return RankReport(report.rank + 1, report.nullity - 1, report.certificate)

    monkeypatch.setattr(chapter05, "exact_rank", one_too_many)
    for claim_id in ("R5.2", "R5.6", "R5.9", "RE.2"):
        with pytest.raises(AssertionError):
            verify(claim_id)


def test_a_position_signal_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_positions(query: Any, key: Any, value: Any) -> Any:
        slots = np.arange(len(query))[:, None]
        return exact_attention(query + slots, key, value)

    monkeypatch.setattr(chapter07, "exact_attention", with_positions)
    for claim_id in ("R7.1", "R7.6"):
        with pytest.raises(AssertionError):
            verify(claim_id)
