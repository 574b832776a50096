"""A card says what its record says, on the page and in a terminal."""

import pytest

from vitbias import __version__
from vitbias.cards import answers, claim_card
from vitbias.claims import ANSWERS, CLAIMS, TIERS, answer, claim
from vitbias.errors import UnknownNameError


@pytest.mark.parametrize("claim_id", CLAIMS)
def test_both_forms_hold_the_whole_record(claim_id: str) -> None:
    record, card = claim(claim_id), claim_card(claim_id)
    mark, letter = TIERS[record.tier]
    for part in (record.statement, record.fails_when, record.anchor, *record.assumptions):
        assert part in card.markdown and part in card.text
    assert f"{mark} {record.tier}" in card.markdown
    assert card.text.startswith(f"[{letter}] {record.id}  ")
    assert f"{{prf:ref}}`{record.id}`), version {__version__}" in card.markdown


def test_a_notebook_shows_markdown_and_a_terminal_text() -> None:
    card = claim_card("R5.4")
    assert card._repr_mimebundle_(include=None, exclude=None) == {
        "text/markdown": card.markdown,
        "text/plain": card.text,
    }


def test_fences_close() -> None:
    lines = claim_card("R7.1").markdown.splitlines()
    assert lines[0].startswith("::::{div} claim-card place-connectivity")
    assert [line for line in lines if line.startswith(":::")].count("::::") == 1
    assert lines.count(":::") == 2


def test_an_unknown_claim_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"'R5\.4'"):
        claim_card("R5.44")


@pytest.mark.parametrize("answer_id", ANSWERS)
def test_an_answer_says_what_its_record_says(answer_id: str) -> None:
    given, shown = answer(answer_id), answers(answer_id)
    for part in (given.says, given.finding, given.source, given.verdict):
        assert part in shown.markdown and part in shown.text
    assert all(f"{{prf:ref}}`{name}`" in shown.markdown for name in given.settled_by)
    assert shown._repr_mimebundle_()["text/plain"] == shown.text
    assert shown.markdown.count(":::") == 2 * (1 + 1)


def test_an_unknown_answer_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"^answer: expected one of "):
        answers("B99")
