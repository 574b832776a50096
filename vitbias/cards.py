"""A claim as text: for the page (MyST) and for a terminal.

The card says in words what the theorem block further down a chapter says with symbols.
"""

from dataclasses import dataclass

from vitbias import __version__
from vitbias.claims import TIERS, claim

__all__ = ["ClaimCard", "claim_card"]


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
