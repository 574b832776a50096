"""Claims, and answers to sources, as text: for the page (MyST) and for a terminal.

The card says in words what the theorem block further down a chapter says with symbols.
"""

from dataclasses import dataclass

from vitbias import __version__
from vitbias.claims import TIERS, answer, claim

__all__ = ["Answers", "ClaimCard", "answers", "claim_card"]


@dataclass(frozen=True)
class ClaimCard:
    """Renders itself: Markdown where a notebook shows it, plain text elsewhere."""

    claim_id: str

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/markdown": self.markdown, "text/plain": self.text}

    @property
    def markdown(self) -> str:
        """A MyST block of class ``claim-card``."""
        record = claim(self.claim_id)
        mark, _ = TIERS[record.tier]
        lines = [
            f"::::{{div}} claim-card place-{record.place.replace(' ', '-')}",
            f":::{{div}} claim-statement\n{record.statement}\n:::",
            f":::{{div}} claim-evidence tier-{record.tier}\n{mark} {record.tier}\n:::",
            f"**Assumes** {'; '.join(record.assumptions)}.",
            f"**Fails when** {record.fails_when}.",
            f"**Cite as** {record.id} ({{prf:ref}}`{record.id}`), version {__version__}, `{record.anchor}`",
            "::::",
        ]
        return "\n\n".join(lines) + "\n"

    @property
    def text(self) -> str:
        """The same for a terminal, the evidence as a letter."""
        record = claim(self.claim_id)
        _, letter = TIERS[record.tier]
        return (
            f"[{letter}] {record.id}  {record.statement}\n"
            f"    assumes     {'; '.join(record.assumptions)}\n"
            f"    fails when  {record.fails_when}\n"
            f"    address     {record.anchor}"
        )


def claim_card(claim_id: str) -> ClaimCard:
    """The card of one claim.

    Raises
    ------
    UnknownNameError : no such id; the message gives the nearest
    """
    return ClaimCard(claim(claim_id).id)


@dataclass(frozen=True)
class Answers:
    """Statements of the sources with what the book finds of them; renders itself like a card."""

    answer_ids: tuple[str, ...]

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/markdown": self.markdown, "text/plain": self.text}

    @property
    def markdown(self) -> str:
        """One MyST block of class ``answer`` for each statement."""
        blocks = []
        for given in map(answer, self.answer_ids):
            settled = ", ".join(f"{{prf:ref}}`{name}`" for name in given.settled_by)
            ids = ", ".join([given.id, *given.also])
            kind = given.verdict.replace(",", "").replace(" ", "-")
            blocks += [
                ":::{div} answer",
                f"**{ids}** [{given.verdict}]{{.verdict .verdict-{kind}}}"
                f" {given.source}: *{given.says}*",
                f"{given.finding} Settled by {settled}." if settled else given.finding,
                ":::",
            ]
        return "\n\n".join(["::::{div} answers", *blocks, "::::"]) + "\n"

    @property
    def text(self) -> str:
        """The same for a terminal."""
        return "\n".join(
            f"{given.id}  {given.verdict}  {given.source}: {given.says}\n    {given.finding}"
            for given in map(answer, self.answer_ids)
        )


def answers(*answer_ids: str) -> Answers:
    """What the book finds of these statements of the sources.

    Raises
    ------
    UnknownNameError : no such id; the message gives the nearest
    """
    return Answers(tuple(answer(name).id for name in answer_ids))
